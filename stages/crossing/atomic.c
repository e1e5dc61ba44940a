/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `atomic`: what a returning fetch-and-add of one word takes, one after
 * the other, by the word's home and by scope; alone, or with others at the same word.
 */
#include "stages/crossing/atomic.h"
#include "harness/err.h"
#include "harness/probe.h"
#include "stages/crossing/team.h"
#include "stages/crossing/where.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { AUTO_ADDS = 1600 * ATOMIC_BLOCK, AUTO_WARMUP = 4096 };
enum { SM_THREADS = 2048, SM_BLOCKS = 32 }; /* that an SM of sm_80 to sm_100 holds (CUDA C Programming Guide, "Compute Capabilities") */
#define PATIENCE_S 100.0
#define SLOW_NS 3000 /* an add over a link, to say how long a point may take */
#define LINE_NS 20   /* and one of many at the same word */

struct atomic_conf { struct where at; uint64_t adds, blocks, warmup; unsigned threads, groups; int sys; };

static int atomic_who(const struct machine *m, struct atomic_conf *c, char *why, size_t len)
{
	unsigned lanes = (c->threads + 31) / 32 * 32, room;

	if (c->at.issuer_gpu < 0) {
		c->groups *= c->threads;
		c->threads = 1;
		if ((int)c->groups > team_max())
			return fs_refuse(ENODEV, why, len, "%u threads: this process has %d CPUs, one for each", c->groups, team_max());
		return 0;
	}
	room = SM_THREADS / lanes < SM_BLOCKS ? SM_THREADS / lanes : SM_BLOCKS;
	room *= (unsigned)m->gpu[c->at.issuer_gpu].sms;
	if (c->groups > room)
		return fs_refuse(ENODEV, why, len, "blocks=%u of %u threads: they have to run at the same time; legal here: blocks=1..%u",
			      c->groups, c->threads, room);
	if (c->at.mem >= 0 && c->at.mem != c->at.issuer_gpu && !(m->gpu[c->at.issuer_gpu].native_atomics >> c->at.mem & 1))
		return fs_refuse(ENODEV, why, len, "GPU %d has no native atomics in the memory of GPU %d", c->at.issuer_gpu, c->at.mem);
	return 0;
}

static int atomic_resolve(const struct point *pt, const struct machine *m, struct atomic_conf *c, char *why, size_t len)
{
	double all;
	int rc;

	c->threads = (unsigned)number_or(pt, "threads", 1);
	c->groups = (unsigned)number_or(pt, "blocks", 1);
	c->sys = fs_word(pt, "atomic_scope") == SCOPED_SYS;
	c->adds = (uint64_t)number_or(pt, "messages", AUTO_ADDS);
	c->warmup = (uint64_t)number_or(pt, "warmup", AUTO_WARMUP);
	if (c->adds < ATOMIC_BLOCK)
		return fs_refuse(EINVAL, why, len, "messages=%llu: adds are timed in blocks of %d; legal: messages=%d..",
			      (unsigned long long)c->adds, ATOMIC_BLOCK, ATOMIC_BLOCK);
	c->blocks = (c->adds + ATOMIC_BLOCK - 1) / ATOMIC_BLOCK;
	all = (double)(c->adds + c->warmup) * (SLOW_NS + (double)LINE_NS * c->threads * c->groups);
	if (fs_is(pt, "messages", "auto") && all > PATIENCE_S * 1e9 / 20) { /* many threads: fewer of each */
		c->blocks = (uint64_t)(PATIENCE_S * 1e9 / 20 / (SLOW_NS + (double)LINE_NS * c->threads * c->groups)) / ATOMIC_BLOCK;
		c->blocks = c->blocks ? c->blocks : 1;
	} else if (all > PATIENCE_S * 1e9 / 2) {
		return fs_refuse(EINVAL, why, len, "messages=%llu by %u threads each: it would take minutes; legal: fewer of either, or messages=auto",
			      (unsigned long long)c->adds, c->threads * c->groups);
	}
	rc = where_resolve(pt, m, &c->at, why, len);
	return rc ? rc : atomic_who(m, c, why, len);
}

static int atomic_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct atomic_conf c;

	return atomic_resolve(pt, m, &c, why, len);
}

static void cpu_member(struct team *t, int k, void *arg)
{
	const struct atomic_args *a = arg;
	struct atomic_out *out = a->out + k;
	uint64_t v = atomic_warm(a, out, 1);

	if (team_meet(t))
		return;
	out->begin = clock_pair_read(a->gettime);
	atomic_loop(a, v, k ? NULL : a->samples, 1);
	out->end = clock_pair_read(a->gettime);
}

static int atomic_rows(const struct atomic_conf *c, const struct buf *word, const struct atomic_out *got,
		       const uint64_t *x, struct rows *out)
{
	const char *link = link_name(where_issuer_place(&c->at), c->at.mem);
	uint64_t adds = (uint64_t)c->threads * c->groups * c->blocks * ATOMIC_BLOCK, sum = adds, value, from = UINT64_MAX, to = 0;
	int rc = place_read(word, 0, &value, sizeof(value)), unsettled = 0, alone = 0;
	struct row *r, *rate;

	for (unsigned i = 0; i < c->groups; i++) {
		sum += got[i].warm_adds;
		from = got[i].begin.wall < from ? got[i].begin.wall : from;
		to = got[i].end.wall > to ? got[i].end.wall : to;
		unsettled |= got[i].unsettled != 0;
		alone |= got[i].alone != 0;
	}
	if (!rc && value != sum)
		rc = fs_fail(EBADMSG, "the word holds %llu after %llu adds of 1", (unsigned long long)value, (unsigned long long)sum);
	if (!rc && alone)
		rc = fs_fail(ETIMEDOUT, "the blocks did not all run at the same time");
	if (rc)
		return rc;
	r = cross_row(out, "crossing", link, "latency", "ns");
	rc = cross_latency(r, x, c->blocks, (double)(got[0].end.wall - got[0].begin.wall) /
			   (double)(got[0].end.ticks - got[0].begin.ticks) / ATOMIC_BLOCK);
	if (!rc && unsettled)
		unsettled_flag(r);
	rate = rc ? NULL : cross_row(out, "crossing", link, "rate", "Madd/s");
	if (!rate)
		return rc ? rc : -ENOMEM;
	summary_one(&rate->s, (double)adds * 1e3 / (double)(to - from));
	rows_found(out, "adds", "%llu, and the word says so", (unsigned long long)sum);
	rows_found(out, "at_one_word", "%u threads", c->threads * c->groups);
	if (c->at.issuer_gpu >= 0 && c->at.mem == PLACE_HOST)
		rows_found(out, "host_native_atomics", "%d", suite_machine()->gpu[c->at.issuer_gpu].host_native_atomics);
	return 0;
}

static int atomic_measure(const struct atomic_conf *c, struct rows *out)
{
	size_t outs = c->groups * sizeof(struct atomic_out), bytes = 64 + outs + c->blocks * 8;
	struct buf word = { 0 }, res = { 0 };
	struct atomic_args *a = calloc(1, sizeof(*a)); /* not freed while a thread may use it */
	uint8_t *copy = malloc(bytes);
	int rc = a && copy ? 0 : fs_fail(ENOMEM, "no memory for samples");

	if (rc || (rc = where_alloc(&word, &c->at, c->at.mem, 4096)) ||
	    (rc = place_alloc(&res, where_issuer_place(&c->at), bytes, 4096, c->at.pinned)))
		goto out;
	where_found(out, "mem", &word);
	a->word = word.p;
	a->warmup = c->warmup;
	a->blocks = c->blocks;
	a->settle = (uint32_t)(c->at.issuer_gpu >= 0);
	a->gettime = c->at.gettime;
	a->arrived = (uint64_t *)res.p;
	a->thread_blocks = c->groups;
	a->out = (struct atomic_out *)(res.p + 64);
	a->samples = (uint64_t *)(res.p + 64 + outs);
	if (c->at.issuer_gpu >= 0)
		rc = atomic_gpu_run(a, c->sys, c->groups, c->threads, c->at.issuer_gpu, PATIENCE_S);
	else
		rc = team_run((int)c->groups, c->at.cpu, cpu_member, a, PATIENCE_S);
	if (!rc && !(rc = place_read(&res, 0, copy, bytes)))
		rc = atomic_rows(c, &word, (const struct atomic_out *)(copy + 64), (const uint64_t *)(copy + 64 + outs), out);
out:
	free(copy);
	if (rc != -EBUSY) {
		place_free(&word);
		place_free(&res);
		free(a);
	}
	return rc;
}

static int atomic_run(const struct point *pt, struct rows *out)
{
	struct atomic_conf c;
	char why[256];
	int rc = atomic_resolve(pt, suite_machine(), &c, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	rc = where_use(&c.at, out);
	return rc ? rc : atomic_measure(&c, out);
}

static double atomic_patience(const struct point *pt)
{
	(void)pt;
	return 2 * PATIENCE_S;
}

static const char *const atomic_reads[] = {
	"issuer", "gpu", "nic_gpu", "mem", "numa", "atomic_scope", "threads", "blocks", "fault", "messages", "warmup", "cpu", NULL
};

const struct probe probe_atomic = {
	.name = "atomic",
	.help = "a returning fetch-and-add of one word after the other, alone or with other threads at the same word",
	.reads = atomic_reads,
	.check = atomic_check,
	.run = atomic_run,
	.patience_s = atomic_patience,
};
