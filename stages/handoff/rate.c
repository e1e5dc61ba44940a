/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `rate`: messages a second with many under way, by how queues are shared.
 * A pass starts the NIC's workers, runs all agents, stops the workers and looks at
 * what they left. Bare passes give the rate; others sum spans, which have to explain
 * it: agents over the time that each spends on a message.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/handoff/rate_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 7 };
static const char with_spans[PASSES] = { 0, 1, 0, 1, 0, 0, 0 };
#define WAIT_NS 2000000000ull   /* of any one wait of an agent in which nothing goes on */
#define START_S 20.0            /* for a NIC to become ready, or to stop */
#define EXPLAINED 0.15          /* how far spans may be from the rate that they explain */
#define BUSY 0.9                /* from here on the NIC's workers are the limit */
#define TOGETHER 0.8            /* the part of a pass that the mean agent has to work in */

/* What passes gave. */
struct rate_got {
	struct rate_out *out;         /* [agents], of the last pass */
	struct wide_status nic[WIDE_WORKERS_MAX];
	double bare[PASSES], marked[PASSES], explained[PASSES];
	int nbare, nmarked;
	double *queue;                /* [queues] of the bare passes, summed */
	double span_ns[RATE_SPANS];   /* summed over turns */
	double turns;
	double *busy;                 /* [workers], summed over the bare passes */
	double together;              /* the least of all passes */
	uint64_t messages, stale, wrong;
};

/* ---- a pass ---- */

static const char *wait_words(const struct rate_got *g, const struct rate_conf *c, char *buf, size_t len)
{
	uint64_t wqes = 0, cqes = 0;

	for (uint32_t i = 0; i < c->workers; i++) {
		wqes += g->nic[i].wqes;
		cqes += g->nic[i].cqes;
	}
	snprintf(buf, len, "the NIC has done %llu messages and written %llu CQEs", (unsigned long long)wqes, (unsigned long long)cqes);
	return buf;
}

/* How agents ended. */
static int verdict(const struct rate_got *g, const struct rate_conf *c)
{
	const struct rate_out *bad = NULL;
	uint64_t wqes = 0, odd = 0, stale = 0;
	char words[256];
	int safe = strcmp(c->path.order_class, "unsafe");

	for (uint32_t i = 0; i < c->agents; i++)
		if (g->out[i].status != RATE_OK && (!bad || bad->status == RATE_GIVEN_UP))
			bad = &g->out[i];
	if (bad && bad->status == RATE_CQE_ERROR)
		return fs_fail(EREMOTEIO, "agent %d: message %llu: CQE with syndrome 0x%02llx, vendor 0x%02llx%s", (int)(bad - g->out),
			       (unsigned long long)bad->at, (unsigned long long)bad->syndrome, (unsigned long long)bad->vendor,
			       path_order_words(&c->path, words, sizeof(words)));
	if (bad && bad->status == RATE_TIMEOUT)
		return fs_fail(ETIMEDOUT, "agent %d: no completion of message %llu, or no turn, in %.0f s; %s", (int)(bad - g->out),
			       (unsigned long long)bad->at, WAIT_NS / 1e9, wait_words(g, c, words, sizeof(words)));
	if (bad)
		return fs_fail(EPROTO, "agent %d ended without a status", (int)(bad - g->out));
	for (uint32_t i = 0; i < c->workers; i++) {
		wqes += g->nic[i].wqes;
		odd += g->nic[i].odd_doorbells;
		stale += g->nic[i].stale_wqe;
	}
	if (c->path.nic->completes && wqes != c->warmup + c->messages)
		return fs_fail(EPROTO, "%llu messages were posted, and %s", (unsigned long long)(c->warmup + c->messages),
			       wait_words(g, c, words, sizeof(words)));
	if (odd && safe)
		return fs_fail(EBADMSG, "%llu doorbells that announce nothing: foreign, or out of range", (unsigned long long)odd);
	if (stale && safe)
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s", (unsigned long long)stale, c->path.order_class);
	return 0;
}

void rate_nic_fill(const struct rate_conf *c, struct nic_many *many)
{
	int n = pin_cpus();

	memset(many, 0, sizeof(*many));
	many->gpu = c->path.nic_gpu;
	many->gettime = c->path.gettime;
	many->crowded = c->crowded;
	for (uint32_t i = 0; i < c->workers; i++) {
		int k = 0;

		while (k < n && pin_cpu(k) != c->path.nic_cpu)
			k++;
		many->cpus[i] = pin_cpu((k + (int)i) % n);
	}
	many->start_s = many->stop_s = START_S;
}

static int start_nic(const struct rate_mem *m, const struct rate_conf *c, struct nic_run **nic)
{
	struct nic_many many;

	*nic = NULL;
	if (!c->workers)
		return 0;
	rate_nic_fill(c, &many);
	rate_wide_fill(m, c, &many.wide);
	return c->path.nic->start_many(&many, nic);
}

static int run_pass(struct rate_mem *m, const struct rate_conf *c, struct rate_got *g, int spans)
{
	unsigned beside = c->path.nic->on_gpu && c->path.nic_gpu == c->path.issuer_gpu ? c->workers : 0;
	int ord = c->path.choice.ord, kind = c->path.choice.kind, dev = c->path.issuer_gpu, rc, rc2 = 0;
	struct rate_args a;
	struct nic_run *nic;
	int64_t wrong;

	rate_args_fill(m, c, &a);
	a.wait_ns = WAIT_NS;
	memset(g->nic, 0, sizeof(g->nic));
	if ((rc = rate_mem_reset(m, c)) || (dev >= 0 && (rc = rate_gpu_load(ord, c->form, kind, spans, dev))) ||
	    (rc = start_nic(m, c, &nic)))
		return rc;
	rc = dev >= 0 ? rate_gpu_run(&a, ord, c->form, kind, spans, c->blocks, c->threads, beside, dev, RATE_PASS_S) :
			rate_cpu_run(c, &a, spans);
	if (nic)
		rc2 = c->path.nic->stop_many(nic, g->nic);
	if (rc == -EBUSY || rc2)
		return rc2 == -EBUSY || !rc ? rc2 : rc;
	if (rc || (rc = place_read(&m->out, 0, g->out, c->agents * sizeof(*g->out))) || (rc = verdict(g, c)))
		return rc;
	if ((wrong = rate_wrong(m, c)) < 0)
		return (int)wrong;
	if (wrong && strcmp(c->path.order_class, "unsafe"))
		return fs_fail(EBADMSG, "%lld wrong words at the end, in %s", (long long)wrong,
			       c->path.nic->completes ? "payloads" : "rings, records and doorbells");
	g->wrong += (uint64_t)wrong;
	return 0;
}

/* ---- what came of it ---- */

static double span_of(const struct rate_out *o) { return (double)(o->end.wall - o->begin.wall); }

/* Adds a pass that went well. */
static int take_pass(const struct rate_conf *c, struct rate_got *g, int spans)
{
	uint64_t first = UINT64_MAX, last = 0;
	double own = 0, all, per = 0;

	for (uint32_t i = 0; i < c->agents; i++) {
		const struct rate_out *o = &g->out[i];

		first = o->begin.wall < first ? o->begin.wall : first;
		last = o->end.wall > last ? o->end.wall : last;
		own += span_of(o);
	}
	if (last <= first)
		return fs_fail(ERANGE, "%llu messages took no time by the agents' clock; legal: more messages", (unsigned long long)c->messages);
	all = (double)(last - first);
	g->together = fmin(g->together, own / all / c->agents);
	g->messages += c->warmup + c->messages;
	for (uint32_t i = 0; i < c->workers; i++)
		g->stale += g->nic[i].stale_wqe;
	if (!spans) {
		g->bare[g->nbare++] = (double)c->messages * 1e3 / all;
		for (uint32_t i = 0; i < c->agents; i++)
			g->queue[c->form == FORM_BLOCK ? i / c->threads : i % c->queues] += (double)g->out[i].messages * 1e3 / span_of(&g->out[i]);
		for (uint32_t i = 0; i < c->workers; i++)
			g->busy[i] += g->nic[i].all ? (double)g->nic[i].busy / (double)g->nic[i].all : 0;
		return 0;
	}
	g->marked[g->nmarked] = (double)c->messages * 1e3 / all;
	for (uint32_t i = 0; i < c->agents; i++) {
		const struct rate_out *o = &g->out[i];
		double rate = span_of(o) / (double)(o->end.ticks - o->begin.ticks), ns = 0;

		for (int k = 0; k < RATE_SPANS; k++) {
			g->span_ns[k] += (double)o->ticks[k] * rate;
			ns += (double)o->ticks[k] * rate;
		}
		g->turns += (double)o->turns;
		per += ns > 0 ? (double)o->messages / ns : 0; /* with a lock some never had their turn */
	}
	g->explained[g->nmarked++] = per * 1e3;
	return 0;
}

/* A row of a mean alone, or of several values. */
static int add_row(struct rows *out, const struct rate_conf *c, const char *stage, const char *metric, const char *unit,
		   const double *x, int n)
{
	struct row *r = path_row(out, &c->path, stage, metric, unit);
	double copy[PASSES];

	if (!r)
		return -ENOMEM;
	if (c->path.nic->emulated && strcmp(unit, "ns"))
		snprintf(r->origin, sizeof(r->origin), "emulated");
	if (n == 1) {
		summary_one(&r->s, x[0]);
		return 0;
	}
	memcpy(copy, x, (size_t)n * sizeof(*x));
	return summary_of(copy, (uint64_t)n, 1, &r->s);
}

static int span_rows(const struct rate_conf *c, const struct rate_got *g, struct rows *out)
{
	static const struct { const char *stage, *interval; } spans[RATE_SPANS] = {
		{ "issue", "intent-reserved" }, { "handoff", "reserved-built" }, { "queueing", "built-turn" }, { "handoff", "turn-rung" },
		{ "queueing", "rung-passed" },
	};
	double submit = 0;
	struct row *r;

	for (int k = 0; k < RATE_SPANS; k++) {
		double mean = g->span_ns[k] / g->turns;

		if (k != RS_PASSED)
			submit += mean;
		if (k == RS_TURN && (form_owns(c->form) || c->form == FORM_LOCK))
			continue; /* nobody else's turn */
		if (k == RS_PASSED && form_owns(c->form))
			continue; /* and nobody to pass it to */
		if (!(r = path_row(out, &c->path, spans[k].stage, "latency", "ns")))
			return -ENOMEM;
		snprintf(r->interval, sizeof(r->interval), "%s", spans[k].interval);
		summary_one(&r->s, mean);
		r->s.n = (uint64_t)g->turns;
	}
	if (!(r = path_row(out, &c->path, "submit", "latency", "ns")))
		return -ENOMEM;
	summary_one(&r->s, submit);
	r->s.n = (uint64_t)g->turns;
	return 0;
}

static int spread_row(struct rows *out, const struct rate_conf *c, const char *stage, const char *metric, const char *unit,
		      double *x, uint32_t n, int passes)
{
	struct row *r = path_row(out, &c->path, stage, metric, unit);

	if (!r)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		x[i] /= passes;
	snprintf(r->origin, sizeof(r->origin), "%s", c->path.nic->emulated ? "emulated" : "measured");
	if (n > 1)
		return summary_of(x, n, 1, &r->s);
	summary_one(&r->s, x[0]);
	return 0;
}

static double mean_of(const double *x, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

static int rate_rows(const struct rate_conf *c, struct rate_got *g, struct rows *out)
{
	double rate = mean_of(g->bare, g->nbare), stale = (double)g->stale;
	double explained = g->nmarked ? mean_of(g->explained, g->nmarked) : 0;
	char why[256];
	int rc;

	if ((rc = add_row(out, c, "total", "rate", "Mmsg/s", g->bare, g->nbare)) ||
	    (rc = spread_row(out, c, "total", "rate_queue", "Mmsg/s", g->queue, c->queues, g->nbare)))
		return rc;
	if (g->nmarked && ((rc = span_rows(c, g, out)) ||
			   (rc = add_row(out, c, "total", "rate_marks", "Mmsg/s", g->marked, g->nmarked)) ||
			   (rc = add_row(out, c, "total", "rate_explained", "Mmsg/s", g->explained, g->nmarked))))
		return rc;
	/* the last row is the one that was just added */
	if (g->nmarked && fabs(explained / rate - 1) > EXPLAINED) {
		double marks = mean_of(g->marked, g->nmarked);

		snprintf(why, sizeof(why), "the spans explain %.3g Mmsg/s of agents at work all the time, the bare loop does %.3g: they differ by more than %.0f %%; %s",
			 explained, rate, EXPLAINED * 100,
			 fabs(explained / marks - 1) > EXPLAINED ? "agents don't work side by side" : "with spans it is another rate: reading clocks may change the loop");
		row_flag(&out->row[out->n - 1], "unexplained", why);
	}
	if (c->workers && ((rc = spread_row(out, c, "-", "nic_busy", "share", g->busy, c->workers, g->nbare)) ||
			   (rc = add_row(out, c, "handoff", "stale_wqe", "count", &stale, 1))))
		return rc;
	return 0;
}

/* What a reader of any of these rows has to know. */
static void rate_flags(const struct rate_conf *c, const struct rate_got *g, struct rows *out)
{
	char why[320] = "", words[256];
	const char *code = NULL;
	double busy = 0;

	for (uint32_t i = 0; i < c->workers; i++)
		busy += g->busy[i] / c->workers;
	if (g->stale || g->wrong) {
		code = "stale";
		snprintf(why, sizeof(why), "%llu stale WQE fetches and %llu wrong payload words in %llu messages%s",
			 (unsigned long long)g->stale, (unsigned long long)g->wrong, (unsigned long long)g->messages,
			 path_order_words(&c->path, words, sizeof(words)));
	} else if (c->crowded) {
		code = "crowded";
		snprintf(why, sizeof(why), "%u posting threads and %u of the NIC share %d CPUs: this is the scheduler's rate",
			 c->path.issuer_gpu < 0 ? c->agents : 0, c->path.nic->on_gpu ? 0 : c->workers, pin_cpus());
	} else if (g->together < TOGETHER) {
		code = "apart";
		snprintf(why, sizeof(why), "the mean agent worked in %.0f %% of a pass: they did not work together; more messages, or they don't get an equal share",
			 g->together * 100);
	} else if (!c->path.nic->completes) {
		code = "no-back-pressure";
		snprintf(why, sizeof(why), "nobody takes the messages, so nothing holds the issuers back: no NIC's rate, but what posting alone allows");
	} else if (busy > BUSY) {
		code = "nic-limit";
		snprintf(why, sizeof(why), "the stand-in was the limit: its %u workers were busy %.0f %% of the time", c->workers, busy * 100);
	}
	for (size_t i = 0; code && i < out->n; i++)
		if (!strcmp(out->row[i].unit, "Mmsg/s") || strcmp(code, "no-back-pressure"))
			row_flag(&out->row[i], code, why);
}

static void found(const struct rate_conf *c, const struct rate_got *g, struct rows *out)
{
	static const char *const objects[OBJECTS_PLACED] = { "-", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem", "keys_mem" };
	char name[32];

	for (int i = OBJ_QUEUE; i < OBJECTS_PLACED; i++)
		rows_found(out, objects[i], "%s", place_name(c->path.place[i], name, sizeof(name)));
	rows_found(out, "agents", "%u", c->agents);
	rows_found(out, "queues", "%u", c->queues);
	rows_found(out, "nic_workers", "%u", c->workers);
	rows_found(out, "messages", "%llu", (unsigned long long)c->messages);
	rows_found(out, "warmup", "%llu", (unsigned long long)c->warmup);
	rows_found(out, "messages_done", "%llu", (unsigned long long)g->messages);
	rows_found(out, "order_class", "%s", c->path.order_class);
	rows_found(out, "issuer", "%s", place_name(c->path.issuer_gpu, name, sizeof(name)));
	rows_found(out, "cpu_stamps_with", "%s", c->path.gettime ? "clock_gettime" : "tsc");
}

static int measure(struct rate_mem *m, const struct rate_conf *c, struct rate_got *g, struct rows *out)
{
	int rc = 0;

	g->out = calloc(c->agents, sizeof(*g->out));
	g->queue = calloc(c->queues, sizeof(*g->queue));
	g->busy = calloc(WIDE_WORKERS_MAX, sizeof(*g->busy));
	g->together = 1;
	if (!g->out || !g->queue || !g->busy)
		return fs_fail(ENOMEM, "no memory for agents");
	rc = rate_mem_init(m, c);
	for (int i = 0; !rc && i < PASSES; i++) {
		if (with_spans[i] && !c->spans)
			continue;
		rc = run_pass(m, c, g, with_spans[i]);
		rc = rc ? rc : take_pass(c, g, with_spans[i]);
	}
	if (!rc)
		rc = rate_rows(c, g, out);
	if (!rc)
		rate_flags(c, g, out);
	return rc;
}

static int rate_probe(const struct point *pt, struct rows *out)
{
	struct rate_got g;
	struct rate_conf c;
	struct rate_mem m;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	memset(&g, 0, sizeof(g));
	rc = rate_resolve(pt, suite_machine(), &c, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.path.cpu)))
		return rc;
	cuda_inject(c.fault == FAULT_GPU_MEMORY ? INJECT_MEMORY : c.fault == FAULT_GPU_STICKY ? INJECT_STICKY :
		    c.fault == FAULT_GPU_LOST ? INJECT_LOST : INJECT_NONE);
	if (c.path.pinned && (rc = cuda_use(c.path.issuer_gpu, c.path.nic_gpu)))
		return rc;
	rc = measure(&m, &c, &g, out);
	found(&c, &g, out);
	if (rc != -EBUSY) /* else an agent or a worker would not stop and still uses it */
		rate_mem_term(&m);
	free(g.out);
	free(g.queue);
	free(g.busy);
	return rc;
}

static int rate_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct rate_conf c;

	return rate_resolve(pt, m, &c, why, len);
}

static double rate_patience(const struct point *pt)
{
	(void)pt;
	return PASSES * (RATE_PASS_S + 2 * START_S);
}

const struct probe probe_rate = {
	.name = "rate",
	.help = "messages a second with many under way: threads, blocks and queues, how they share them, and what a turn's spans explain of it",
	.reads = rate_reads,
	.check = rate_check,
	.run = rate_probe,
	.patience_s = rate_patience,
};
