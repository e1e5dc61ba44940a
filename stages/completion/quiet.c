/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `quiet`: what it costs to know that everything is done, by the number of
 * queues and by whether all of them are looked at.
 */
#include "stages/completion/quiet.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/handoff/rate_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x2f1e57a6, MESSAGES = 10000 };
#define WAIT_NS 2000000000ull
#define START_S 20.0
#define PASS_S 100.0

/* The queues of a rate whose one agent has them all; `used`: of one pass. How far memory
 * lies from an SM depends on its line, and a worker of the NIC on its SM: with lines=N
 * there are N queues and workers whatever `queues` is, and passes use all of them in turn. */
static int quiet_resolve(const struct point *pt, const struct machine *m, struct rate_conf *c, uint32_t *used, char *why, size_t len)
{
	uint32_t queues = fs_is(pt, "queues", "auto") ? 1 : (uint32_t)fs_num(pt, "queues"), lines = (uint32_t)fs_num(pt, "lines");
	struct point p = *pt;
	char text[24];
	int rc;

	/* as many agents as queues, so that memory and workers are sized; one of them runs */
	snprintf(text, sizeof(text), "%u", queues);
	if (fs_point_set(&p, "sharing", "exclusive") || fs_point_set(&p, "queues", "auto") || fs_point_set(&p, "threads", "1") ||
	    fs_point_set(&p, "blocks", "1") || fs_point_set(&p, "depth", "1") || fs_point_set(&p, "marks", "outer") ||
	    fs_point_set(&p, "lines", "1")) {
		snprintf(why, len, "%s", fs_reason());
		return -EINVAL;
	}
	if ((rc = rate_resolve(&p, m, c, why, len)))
		return rc;
	if (c->path.choice.kind != POST_INLINE || !c->path.nic->completes) {
		snprintf(why, len, "quiet posts inline writes to a NIC that completes them; legal: size=0..%d, nic=soft or peer", WQE_INLINE_MAX);
		return -EINVAL;
	}
	if (queues > WIDE_WORKERS_MAX) {
		snprintf(why, len, "queues=%u: each has a worker of the NIC's own, or its share of the CPU; legal: queues=1..%d", queues, WIDE_WORKERS_MAX);
		return -EINVAL;
	}
	if (lines > 1 && lines % queues) {
		snprintf(why, len, "lines=%u with queues=%u: passes use so many queues at a time, and each once; legal: multiples of %u, or 1",
			 lines, queues, queues);
		return -EINVAL;
	}
	*used = queues;
	c->queues = lines > queues ? lines : queues;
	c->crowded = 0; /* of all those agents one runs */
	/* a worker that looks at more doorbells takes longer for one */
	c->workers = c->path.nic->on_gpu ? c->queues : 1;
	c->messages = fs_is(pt, "messages", "auto") ? MESSAGES : (uint64_t)fs_num(pt, "messages");
	c->warmup = fs_is(pt, "warmup", "auto") ? 1024 : (uint64_t)fs_num(pt, "warmup");
	if (c->messages < c->queues / queues) {
		snprintf(why, len, "messages=%llu with lines=%u and queues=%u: some passes would have none; legal: messages=%u..",
			 (unsigned long long)c->messages, lines, queues, c->queues / queues);
		return -EINVAL;
	}
	if (c->messages > 4000000) {
		snprintf(why, len, "messages=%llu: every message's time is kept; legal: 1..4000000", (unsigned long long)c->messages);
		return -EINVAL;
	}
	return 0;
}

struct quiet_mem { struct rate_mem rate; struct buf samples, submits, pairs, out; };

static int quiet_mem_init(struct quiet_mem *m, const struct rate_conf *c)
{
	int issuer = c->path.issuer_gpu >= 0 ? c->path.issuer_gpu : PLACE_HOST, pinned = c->path.pinned, rc;

	if ((rc = rate_mem_init(&m->rate, c)) || (rc = place_alloc(&m->samples, issuer, c->messages * 8, 4096, pinned)) ||
	    (rc = place_alloc(&m->submits, issuer, c->messages * 8, 4096, pinned)) ||
	    (rc = place_alloc(&m->pairs, issuer, 2 * c->queues * sizeof(struct clock_pair), 64, pinned)) ||
	    /* read while the NIC is resident, where no copy may wait for the device */
	    (rc = place_alloc(&m->out, PLACE_HOST, sizeof(struct quiet_out), 64, pinned)))
		return rc;
	return rate_mem_reset(&m->rate, c);
}

static void quiet_mem_term(struct quiet_mem *m)
{
	place_free(&m->samples);
	place_free(&m->submits);
	place_free(&m->pairs);
	place_free(&m->out);
	rate_mem_term(&m->rate);
}

/* A CPU has no fences to choose from: orders differ in which of their stores release. */
static void quiet_cpu(const struct quiet_args *a, int ord)
{
	if (ord == ORD_NONE)
		quiet_run(a, ORD_NONE);
	else if (ord == ORD_GPU_FENCE || ord == ORD_SYS_FENCE)
		quiet_run(a, ORD_SYS_FENCE);
	else
		quiet_run(a, ORD_SYS_FENCE_RECORD);
}

static int quiet_verdict(const struct rate_conf *c, const struct quiet_out *o, const struct wide_status *st)
{
	uint64_t stale = 0;
	char words[256];

	for (uint32_t i = 0; i < c->workers; i++)
		stale += st[i].stale_wqe;
	if (o->status == RATE_CQE_ERROR)
		return fs_fail(EREMOTEIO, "queue %llu, message %llu: CQE with syndrome 0x%02llx, vendor 0x%02llx%s", (unsigned long long)o->queue,
			       (unsigned long long)o->at, (unsigned long long)o->syndrome, (unsigned long long)o->vendor,
			       path_order_words(&c->path, words, sizeof(words)));
	if (o->status == RATE_TIMEOUT)
		return fs_fail(ETIMEDOUT, "queue %llu: no completion of message %llu in %.0f s", (unsigned long long)o->queue,
			       (unsigned long long)o->at, WAIT_NS / 1e9);
	if (o->status != RATE_OK)
		return fs_fail(EPROTO, "the issuer ended without a status");
	if (stale && strcmp(c->path.order_class, "unsafe"))
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s", (unsigned long long)stale, c->path.order_class);
	return 0;
}

/* The issuer's passes, one after the other; what ended the last one is in *o. */
static int quiet_passes(const struct quiet_mem *m, const struct rate_conf *c, const struct quiet_args *all, uint32_t used,
			unsigned beside, struct quiet_out *o)
{
	int ord = c->path.choice.ord, dev = c->path.issuer_gpu, unsettled = 0, rc;

	for (uint32_t k = 0; k < c->queues / used; k++) {
		struct quiet_args a = quiet_part(all, used, k);

		if ((rc = place_set(&m->out, 0)))
			return rc;
		rc = dev >= 0 ? quiet_gpu_run(&a, ord, beside, dev, PASS_S) : 0;
		if (dev < 0)
			quiet_cpu(&a, ord);
		if (rc || (rc = place_read(&m->out, 0, o, sizeof(*o))))
			return rc;
		unsettled |= o->unsettled != 0;
		o->unsettled = (uint64_t)unsettled;
		o->queue += k * used;
		if (o->status != RATE_OK)
			return 0;
	}
	return 0;
}

/* Starts the NIC, runs the issuer, stops the NIC. */
static int quiet_pass(const struct quiet_mem *m, const struct rate_conf *c, const struct quiet_args *all, uint32_t used,
		      struct quiet_out *o)
{
	unsigned beside = c->path.nic->on_gpu && c->path.nic_gpu == c->path.issuer_gpu ? c->workers : 0;
	int dev = c->path.issuer_gpu, rc, rc2;
	struct wide_status st[WIDE_WORKERS_MAX];
	struct nic_many many;
	struct nic_run *nic;

	memset(st, 0, sizeof(st));
	memset(&many, 0, sizeof(many));
	rate_wide_fill(&m->rate, c, &many.wide);
	many.gpu = c->path.nic_gpu;
	many.gettime = c->path.gettime;
	many.cpus[0] = c->path.nic_cpu;
	many.start_s = many.stop_s = START_S;
	if ((dev >= 0 && (rc = quiet_gpu_load(c->path.choice.ord, dev))) || (rc = c->path.nic->start_many(&many, &nic)))
		return rc;
	rc = quiet_passes(m, c, all, used, beside, o);
	rc2 = c->path.nic->stop_many(nic, st);
	if (rc2 == -EBUSY || !rc)
		rc = rc2;
	return rc ? rc : quiet_verdict(c, o, st);
}

/* ns_a_tick: [passes]. */
static int quiet_row(const struct rate_conf *c, const struct buf *b, const char *stage, const double *ns_a_tick, uint32_t passes,
		     int unsettled, struct rows *out)
{
	uint64_t *x = malloc(c->messages * 8);
	double *ns = malloc(c->messages * sizeof(*ns));
	struct row *r = NULL;
	int rc = x && ns ? place_read(b, 0, x, c->messages * 8) : fs_fail(ENOMEM, "no memory for samples");

	for (uint32_t k = 0; !rc && k < passes; k++)
		for (uint64_t i = c->messages * k / passes; i < c->messages * (k + 1) / passes; i++)
			ns[i] = (double)x[i] * ns_a_tick[k];
	if (!rc && !(r = path_row(out, &c->path, stage, "latency", "ns")))
		rc = -ENOMEM;
	if (!rc)
		rc = summary_of(ns, c->messages, 128, &r->s);
	if (!rc && c->path.nic->emulated && !strcmp(stage, "total"))
		snprintf(r->origin, sizeof(r->origin), "emulated"); /* it holds the NIC's spans */
	if (!rc && unsettled)
		unsettled_flag(r);
	free(x);
	free(ns);
	return rc;
}

static int quiet_measure(struct quiet_mem *m, const struct rate_conf *c, uint32_t used, int scope, struct rows *out)
{
	double ns_a_tick[WIDE_WORKERS_MAX];
	struct clock_pair p[2];
	struct quiet_args a;
	struct quiet_out o;
	int rc;

	memset(&a, 0, sizeof(a));
	memset(&o, 0, sizeof(o));
	if ((rc = quiet_mem_init(m, c)))
		return rc;
	rate_args_fill(&m->rate, c, &a.q);
	a.q.wait_ns = WAIT_NS;
	a.messages = c->messages;
	a.warmup = c->warmup;
	a.seed = SEED;
	a.scope = (uint32_t)scope;
	a.settle = (uint32_t)c->path.pinned;
	a.gap_ticks = path_gap_ticks(&c->path);
	a.dither = 1;
	a.samples = (uint64_t *)m->samples.p;
	a.submits = (uint64_t *)m->submits.p;
	a.pairs = (struct clock_pair *)m->pairs.p;
	a.out = (struct quiet_out *)m->out.p;
	if ((rc = quiet_pass(m, c, &a, used, &o)))
		return rc;
	for (uint32_t k = 0; k < c->queues / used; k++) {
		if ((rc = place_read(&m->pairs, k * sizeof(p), p, sizeof(p))))
			return rc;
		ns_a_tick[k] = (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks);
	}
	if ((rc = quiet_row(c, &m->submits, "submit", ns_a_tick, c->queues / used, o.unsettled != 0, out)) ||
	    (rc = quiet_row(c, &m->samples, "total", ns_a_tick, c->queues / used, o.unsettled != 0, out)))
		return rc;
	rows_found(out, "poll_ticks", "%llu", (unsigned long long)o.poll_ticks);
	rows_found(out, "nic_workers", "%u", c->workers);
	rows_found(out, "passes", "%u", c->queues / used);
	rows_found(out, "order_class", "%s", c->path.order_class);
	return 0;
}

static int quiet_probe(const struct point *pt, struct rows *out)
{
	struct quiet_mem m;
	struct rate_conf c;
	uint32_t used = 0;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	rc = quiet_resolve(pt, suite_machine(), &c, &used, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.path.cpu)))
		return rc;
	if (c.path.pinned && (rc = cuda_use(c.path.issuer_gpu, c.path.nic_gpu)))
		return rc;
	rc = quiet_measure(&m, &c, used, fs_word(pt, "scope"), out);
	if (rc != -EBUSY) /* else an agent would not stop and still uses it */
		quiet_mem_term(&m);
	return rc;
}

static int quiet_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct rate_conf c;
	uint32_t used;

	return quiet_resolve(pt, m, &c, &used, why, len);
}

static double quiet_patience(const struct point *pt)
{
	double passes = (double)fs_num(pt, "lines");

	return PASS_S * (passes > 1 ? passes : 1) + 2 * START_S + 20;
}

static const char *const quiet_reads[] = {
	"nic", "issuer", "gpu", "nic_gpu", "queues", "scope", "ordering", "doorbell", "entries", "size", "queue_mem", "db_mem", "cq_mem",
	"dst_mem", "page", "fault", "lines", "messages", "warmup", "cpu", "nic_cpu", NULL
};

const struct probe probe_quiet = {
	.name = "quiet",
	.help = "one message, and what it costs to know that its queue, or every queue, is done",
	.reads = quiet_reads,
	.check = quiet_check,
	.run = quiet_probe,
	.patience_s = quiet_patience,
};
