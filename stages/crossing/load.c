/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `load`: what one load takes when nothing is known of its address
 * before the one in front of it has come back, by issuer, by the memory's home
 * and by the size of the working set.
 */
#include "stages/crossing/load.h"
#include "harness/err.h"
#include "harness/probe.h"
#include "stages/crossing/chain.h"
#include "stages/crossing/where.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x5f1e57a6, AUTO_SET = 32 << 20, AUTO_LOADS = 400 * LOAD_BLOCK, AUTO_WARMUP_MAX = 1 << 19 };
#define PATIENCE_S 100.0
#define SLOW_NS 2500 /* a load, to say how long a point may take */

struct load_conf { struct where at; uint64_t bytes, stride, warmup, blocks; uint32_t lines; };

static int load_resolve(const struct point *pt, const struct machine *m, struct load_conf *c, char *why, size_t len)
{
	uint64_t loads = (uint64_t)number_or(pt, "messages", AUTO_LOADS), lines;
	int rc;

	c->bytes = fs_is(pt, "set", "auto") ? AUTO_SET : (uint64_t)fs_num(pt, "set");
	c->stride = (uint64_t)fs_num(pt, "stride");
	lines = c->bytes / c->stride;
	if (lines < 2)
		return fs_refuse(EINVAL, why, len, "set=%llu with stride=%llu: a chain needs two lines; legal: stride=8..%llu",
			      (unsigned long long)c->bytes, (unsigned long long)c->stride, (unsigned long long)c->bytes / 2);
	if (lines > CHAIN_LINES_MAX)
		return fs_refuse(EINVAL, why, len, "set=%llu with stride=%llu: %llu lines; legal: at most %u, by a larger stride or a smaller set",
			      (unsigned long long)c->bytes, (unsigned long long)c->stride, (unsigned long long)lines, CHAIN_LINES_MAX);
	if (loads < LOAD_BLOCK)
		return fs_refuse(EINVAL, why, len, "messages=%llu: loads are timed in blocks of %d; legal: messages=%d..",
			      (unsigned long long)loads, LOAD_BLOCK, LOAD_BLOCK);
	c->lines = (uint32_t)lines;
	c->blocks = (loads + LOAD_BLOCK - 1) / LOAD_BLOCK;
	c->warmup = (uint64_t)number_or(pt, "warmup", c->lines < AUTO_WARMUP_MAX ? c->lines : AUTO_WARMUP_MAX);
	if ((double)(c->warmup + loads) * SLOW_NS > PATIENCE_S * 1e9 / 2)
		return fs_refuse(EINVAL, why, len, "messages=%llu and warmup=%llu: loads over a link would take minutes; legal: at most %.0f in all",
			      (unsigned long long)loads, (unsigned long long)c->warmup, PATIENCE_S * 1e9 / 2 / SLOW_NS);
	rc = where_resolve(pt, m, &c->at, why, len);
	rc = rc ? rc : where_seats(pt, &c->at, -1, why, len);
	return rc ? rc : where_fits(m, c->at.mem, c->bytes, "set", why, len);
}

static int load_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct load_conf c;

	return load_resolve(pt, m, &c, why, len);
}

/* What the loads left behind: rows, once they are shown to have gone all the way. */
static int load_rows(const struct load_conf *c, const struct buf *res, const struct load_args *a,
		     const uint32_t *next, struct rows *out)
{
	const char *link = link_name(where_issuer_place(&c->at), c->at.mem);
	uint64_t *x = malloc(c->blocks * 8);
	struct load_out got;
	struct clock_pair p[2];
	struct row *r = NULL;
	double rate = 0;
	int rc = x ? 0 : fs_fail(ENOMEM, "no memory for samples");

	if (!rc && !(rc = place_read(res, 0, &got, sizeof(got))) && !(rc = place_read(res, 64, p, sizeof(p))))
		rc = place_read(res, (size_t)((uint8_t *)a->samples - res->p), x, c->blocks * 8);
	if (!rc && got.end != (uint64_t)a->start + chain_after(next, got.loads) * c->stride)
		rc = fs_fail(EBADMSG, "%llu loads led somewhere else than the chain does", (unsigned long long)got.loads);
	if (!rc) {
		rate = (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks);
		r = cross_row(out, "crossing", link, "latency", "ns");
		rc = cross_latency(r, x, c->blocks, rate / LOAD_BLOCK);
	}
	if (!rc && got.unsettled)
		unsettled_flag(r);
	if (!rc && (r = cross_row(out, "-", "none", "floor", "ns")))
		summary_one(&r->s, (double)got.floor_ticks * rate / LOAD_FLOORS / LOAD_BLOCK);
	if (!rc) {
		rows_found(out, "lines", "%u", c->lines);
		rows_found(out, "warm_up", "%llu loads%s", (unsigned long long)(got.loads - c->blocks * LOAD_BLOCK),
			   got.loads - c->blocks * LOAD_BLOCK < c->lines ? ", not once round" : "");
	}
	free(x);
	return rc ? rc : r ? 0 : -ENOMEM;
}

static int load_measure(const struct load_conf *c, const uint32_t *next, struct rows *out)
{
	int home = where_issuer_place(&c->at), rc;
	struct buf mem = { 0 }, res = { 0 };
	struct load_args a;

	memset(&a, 0, sizeof(a));
	if ((rc = where_alloc(&mem, &c->at, c->at.mem, (uint64_t)c->lines * c->stride)) ||
	    (rc = place_alloc(&res, home, 4096 + c->blocks * 8, 4096, c->at.pinned)) ||
	    (rc = chain_write(&mem, c->stride, next, c->lines)))
		goto out;
	where_found(out, "mem", &mem);
	a.start = mem.p;
	a.warmup = c->warmup;
	a.blocks = c->blocks;
	a.settle = (uint32_t)(c->at.issuer_gpu >= 0);
	a.gettime = c->at.gettime;
	a.out = (struct load_out *)res.p;
	a.pairs = (struct clock_pair *)(res.p + 64);
	a.samples = (uint64_t *)(res.p + 4096);
	if (c->at.issuer_gpu >= 0)
		rc = load_gpu_run(&a, c->at.issuer_gpu, PATIENCE_S);
	else
		load_loop(&a);
	if (!rc)
		rc = load_rows(c, &res, &a, next, out);
out:
	if (rc != -EBUSY) {
		place_free(&mem);
		place_free(&res);
	}
	return rc;
}

static int load_run(const struct point *pt, struct rows *out)
{
	struct load_conf c;
	char why[256];
	uint32_t *next;
	const char *wrong;
	int rc = load_resolve(pt, suite_machine(), &c, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	if ((rc = where_use(&c.at, out)))
		return rc;
	if (!(next = malloc((size_t)c.lines * sizeof(*next))))
		return fs_fail(ENOMEM, "no memory for a chain");
	chain_draw(next, c.lines, SEED);
	wrong = chain_wrong(next, c.lines);
	rc = wrong ? fs_fail(EBADMSG, "the chain: %s", wrong) : load_measure(&c, next, out);
	free(next);
	return rc;
}

static double load_patience(const struct point *pt)
{
	(void)pt;
	return 2 * PATIENCE_S;
}

static const char *const load_reads[] = {
	"issuer", "gpu", "nic_gpu", "mem", "numa", "set", "stride", "fault", "messages", "warmup", "cpu", "sm", NULL
};

const struct probe probe_load = {
	.name = "load",
	.help = "one load at a time, each from the address that the last one brought: a random cycle through a working set",
	.reads = load_reads,
	.check = load_check,
	.run = load_run,
	.patience_s = load_patience,
};
