/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a rate: of the bare passes and of those with spans, and what a reader has to know of them. */
#include "stages/handoff/rate_parts.h"
#include "stages/handoff/rate_ends.h"
#include "harness/pin.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define EXPLAINED 0.15          /* how far spans may be from the rate that they explain */
#define BUSY 0.9                /* from here on the NIC's workers are the limit */
#define TOGETHER 0.8            /* the part of a pass that the mean agent has to work in */

/* A row of a mean alone, or of several values. */
static int add_row(struct rows *out, const struct rate_conf *c, const char *stage, const char *metric, const char *unit,
		   const double *x, int n)
{
	struct row *r = path_row(out, &c->path, stage, metric, unit);
	double copy[RATE_PASSES];

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

/* Of kernels that end: what issuers do, and all that others do until the next kernel begins. */
static int ends_span_rows(const struct rate_conf *c, const struct rate_got *g, struct rows *out)
{
	static const struct { const char *stage, *interval; int span; } spans[] = {
		{ "handoff", "intent-handed", ES_HANDED }, { "-", "handed-noticed", ES_NOTICED }, { "submit", "-", ES_HANDED },
	};

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct row *r = path_row(out, &c->path, spans[i].stage, "latency", "ns");

		if (!r)
			return -ENOMEM;
		snprintf(r->interval, sizeof(r->interval), "%s", spans[i].interval);
		summary_one(&r->s, g->span_ns[spans[i].span] / g->turns);
		r->s.n = (uint64_t)g->turns;
	}
	return 0;
}

static int span_rows(const struct rate_conf *c, const struct rate_got *g, struct rows *out)
{
	static const struct { const char *stage, *interval; } spans[RATE_SPANS] = {
		{ "issue", "intent-reserved" }, { "handoff", "reserved-built" }, { "queueing", "built-turn" }, { "handoff", "turn-rung" },
		{ "queueing", "rung-passed" },
	};
	int handed = c->helpers != 0; /* a descriptor's store is all that an agent has of the handoff */
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
		if (k == RS_BUILT && handed)
			continue;
		if (!(r = path_row(out, &c->path, spans[k].stage, "latency", "ns")))
			return -ENOMEM;
		snprintf(r->interval, sizeof(r->interval), "%s", k == RS_RUNG && handed ? "reserved-handed" : spans[k].interval);
		summary_one(&r->s, mean);
		r->s.n = (uint64_t)g->turns;
	}
	if (!(r = path_row(out, &c->path, "submit", "latency", "ns")))
		return -ENOMEM;
	summary_one(&r->s, submit);
	r->s.n = (uint64_t)g->turns;
	return 0;
}

int rate_spread_row(struct rows *out, const struct rate_conf *c, const char *stage, const char *metric, const char *unit, double *x,
		    uint32_t n, int passes)
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

static int all_rows(const struct rate_conf *c, struct rate_got *g, struct rows *out)
{
	double rate = mean_of(g->bare, g->nbare), stale = (double)g->stale;
	double explained = g->nmarked ? mean_of(g->explained, g->nmarked) : 0;
	char why[256];
	int rc;

	if ((rc = add_row(out, c, "total", "rate", "Mmsg/s", g->bare, g->nbare)) ||
	    (rc = rate_spread_row(out, c, "total", "rate_queue", "Mmsg/s", g->queue, c->queues, g->nbare)))
		return rc;
	if (g->nmarked && ((rc = rate_ending(c) ? ends_span_rows(c, g, out) : span_rows(c, g, out)) ||
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
	if (c->workers && ((rc = rate_spread_row(out, c, "-", "nic_busy", "share", g->busy, c->workers, g->nbare)) ||
			   (rc = add_row(out, c, "handoff", "stale_wqe", "count", &stale, 1))))
		return rc;
	return 0;
}

/* Who shares CPUs. */
static void crowd_words(const struct rate_conf *c, char *why, size_t len)
{
	char workers[48] = "";

	if (c->helpers)
		snprintf(workers, sizeof(workers), ", %u worker%s", c->helpers, c->helpers > 1 ? "s" : "");
	snprintf(why, len, "%u posting threads%s and %u of the NIC share %d CPUs: this is the scheduler's rate",
		 rate_posters(c), workers, c->path.nic->on_gpu ? 0 : c->workers, pin_cpus());
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
		crowd_words(c, why, sizeof(why));
	} else if (c->path.boundary == BOUNDARY_FUTEX && g->help.asleep < ASLEEP_MIN * g->help.launches) {
		code = "awake";
		snprintf(why, sizeof(why), AWAKE_WORDS);
	} else if (g->together < TOGETHER) {
		code = "apart";
		snprintf(why, sizeof(why), "the mean agent worked in %.0f %% of a pass: they did not work together; more messages, or they don't get an equal share",
			 g->together * 100);
	} else if (!c->path.nic->completes) {
		code = "no-back-pressure";
		snprintf(why, sizeof(why), "nobody takes the messages, so nothing holds the %s back: no NIC's rate, but what posting alone allows",
			 c->helpers ? "workers" : "issuers");
	} else if (busy > BUSY) {
		code = "nic-limit";
		snprintf(why, sizeof(why), "the stand-in was the limit: its %u workers were busy %.0f %% of the time", c->workers, busy * 100);
	}
	for (size_t i = 0; code && i < out->n; i++)
		if (!strcmp(out->row[i].unit, "Mmsg/s") || strcmp(code, "no-back-pressure"))
			row_flag(&out->row[i], code, why);
}

int rate_rows(const struct rate_conf *c, struct rate_got *g, struct rows *out)
{
	int rc = all_rows(c, g, out);

	rc = rc ? rc : rate_help_rows(c, &g->help, g->nbare, out);
	rc = rc ? rc : path_freq_rows(&g->before, &g->after, &c->path, out);
	if (!rc)
		rate_flags(c, g, out);
	return rc;
}

void rate_found(const struct rate_conf *c, const struct rate_got *g, struct rows *out)
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
	if (rate_ending(c))
		rows_found(out, "boundary", "%s", boundary_names[c->path.boundary]);
	if (c->helpers)
		rows_found(out, "workers", "%u", c->helpers);
	if (c->helpers && !rate_ending(c))
		rows_found(out, "rings", "%u", c->queues);
	for (uint32_t i = 0; i < c->helpers; i++) {
		snprintf(name, sizeof(name), "worker_%u_cpu", i);
		rows_found(out, name, "%d", c->helper_cpu[i]);
	}
	rows_found(out, "cpu_stamps_with", "%s", c->path.gettime ? "clock_gettime" : "tsc");
}
