/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a round trip. Each agent's spans are scaled by its own clock's rate, so that
 * the issuer's less the responder's needs no common clock: it is both ways together.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/completion/rtt_parts.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BACK 0.01               /* what of a known delay may be lost on its way back */

/* Messages in ns, by number. */
struct series { double *rtt, *submit, *span, *ways; uint64_t n; };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int series_init(struct series *s, uint64_t n)
{
	s->n = n;
	s->rtt = malloc(n * sizeof(double));
	s->submit = malloc(n * sizeof(double));
	s->span = malloc(n * sizeof(double));
	s->ways = malloc(n * sizeof(double));
	return s->rtt && s->submit && s->span && s->ways ? 0 : fs_fail(ENOMEM, "no memory for samples");
}

static void series_term(struct series *s)
{
	free(s->rtt);
	free(s->submit);
	free(s->span);
	free(s->ways);
}

/* n samples in ticks of the agent's clock; sample i stands at (first + i) % n. */
static int read_ns(const struct buf *b, uint64_t n, uint64_t first, const struct rtt_out *o, const char *agent, double *ns)
{
	double rate = (double)(o->end.wall - o->begin.wall) / (double)(o->end.ticks - o->begin.ticks);
	uint64_t *x;
	int rc;

	if (o->end.ticks <= o->begin.ticks || o->end.wall <= o->begin.wall)
		return fs_fail(ERANGE, "the messages took no time by the %s's clock; legal: more messages", agent);
	if (!(x = malloc(n * sizeof(*x))))
		return fs_fail(ENOMEM, "no memory for samples");
	rc = place_read(b, 0, x, n * sizeof(*x));
	for (uint64_t i = 0; !rc && i < n; i++)
		ns[i] = (double)x[(first + i) % n] * rate;
	free(x);
	return rc;
}

static int series_read(const struct rtt_mem *m, const struct rtt_out *o, struct series *s)
{
	int rc;

	if ((rc = read_ns(&m->samples, s->n, 0, &o[RTT_PUT], "issuer", s->rtt)) ||
	    (rc = read_ns(&m->submits, s->n, 0, &o[RTT_PUT], "issuer", s->submit)) ||
	    (rc = read_ns(&m->spans, s->n, o[RTT_PUT].first, &o[RTT_REPLY], "responder", s->span)))
		return rc;
	for (uint64_t i = 0; i < s->n; i++)
		s->ways[i] = s->rtt[i] - s->span[i];
	return 0;
}

/* Of the messages whose reply was delayed, where some are; of all else. `x` is left alone. */
static int span_row(const struct rtt_conf *c, const struct series *s, const double *x, uint64_t first, const char *stage, const char *metric,
		    int emulated, struct rows *out)
{
	int delays = c->respond_ns || c->untold_ns, rc;
	double *some = malloc(s->n * sizeof(*some));
	struct row *r = path_row(out, &c->rate.path, stage, metric, "ns");
	uint64_t n = 0;

	if (!some || !r) {
		free(some);
		return fs_fail(ENOMEM, "no memory for samples");
	}
	for (uint64_t i = 0; i < s->n; i++)
		if (!delays || block_planted(first + i, RTT_BLOCK))
			some[n++] = x[i];
	rc = summary_of(some, n, RTT_BLOCK, &r->s);
	free(some);
	path_origin(r, &c->rate.path, emulated);
	return rc;
}

/* The median of a block: a CPU thread that lost its CPU in one message of it has no say. Sorts x. */
static double block_median(double *x)
{
	qsort(x, RTT_BLOCK, sizeof(*x), by_size);
	return (x[RTT_BLOCK / 2 - 1] + x[RTT_BLOCK / 2]) / 2;
}

/* What the issuer sees of the responder's delay: by blocks with it and without, the nearest of either together. */
static int delta_row(const struct rtt_conf *c, const struct series *s, uint64_t first, struct rows *out)
{
	uint64_t blocks = s->n / RTT_BLOCK, n[2] = { 0, 0 };
	double *d = malloc(2 * (blocks + 1) * sizeof(*d)), half, off, told = c->respond_ns;
	struct row *r = path_row(out, &c->rate.path, "-", "respond_delta", "ns");
	char why[256];
	int rc;

	if (!d || !r) {
		free(d);
		return fs_fail(ENOMEM, "no memory for pairs of blocks");
	}
	for (uint64_t i = 0; i < blocks; i++) {
		int w = block_planted(first + i * RTT_BLOCK, RTT_BLOCK);
		double x[RTT_BLOCK];

		memcpy(x, s->rtt + i * RTT_BLOCK, sizeof(x));
		d[(uint64_t)(1 - w) * (blocks + 1) + n[w]++] = block_median(x);
	}
	n[0] = n[0] < n[1] ? n[0] : n[1];
	for (uint64_t i = 0; i < n[0]; i++)
		d[i] -= d[blocks + 1 + i];
	rc = paired_summary(d, n[0], &r->s);
	free(d);
	if (rc)
		return rc;
	half = (r->s.ci_hi - r->s.ci_lo) / 2;
	off = fabs(r->s.mean - told);
	if (off > BACK * told + half) {
		snprintf(why, sizeof(why), "a responder's delay of %.0f ns came back as %.0f ns, %.0f to %.0f: more than %.0f %% off", told, r->s.mean,
			 r->s.ci_lo, r->s.ci_hi, BACK * 100);
		row_flag(r, "delay", why);
	}
	return 0;
}

static int count_row(const struct rtt_conf *c, const char *metric, uint64_t n, struct rows *out)
{
	struct row *r = path_row(out, &c->rate.path, "-", metric, "count");

	if (!r)
		return -ENOMEM;
	summary_one(&r->s, (double)n);
	return 0;
}

/* Who shares CPUs. */
static void crowd_words(const struct rtt_conf *c, char *why, size_t len)
{
	const char *agents = c->choice.issuer < 0 ? "issuer, responder" : "", *workers = "";

	if (c->rate.helpers)
		workers = *agents ? ", both workers" : "both workers";
	snprintf(why, len, "%s%s and %u threads of the NIC share %d CPUs: these are the scheduler's times", agents, workers,
		 c->rate.path.nic->on_gpu ? 0 : c->rate.workers, pin_cpus());
}

static void flags(const struct rtt_conf *c, const struct rtt_out *o, struct rows *out)
{
	uint64_t wrong = o[RTT_PUT].wrong_words + o[RTT_REPLY].wrong_words;
	char why[256] = "", words[256];
	const char *code = NULL;

	if (wrong) {
		code = "wrong";
		snprintf(why, sizeof(why), "%llu payload words were not the message's when its last word was%s", (unsigned long long)wrong,
			 path_order_words(&c->rate.path, words, sizeof(words)));
	} else if (c->rate.crowded) {
		code = "crowded";
		crowd_words(c, why, sizeof(why));
	} else if (c->choice.issuer >= 0 && c->choice.issuer == c->choice.responder && o[RTT_PUT].smid == o[RTT_REPLY].smid) {
		code = "one-sm";
		snprintf(why, sizeof(why), "issuer and responder were both on SM %llu: they took turns", (unsigned long long)o[RTT_PUT].smid);
	}
	for (size_t i = 0; i < out->n; i++) {
		if (code && strcmp(out->row[i].metric, "wrong_words"))
			row_flag(&out->row[i], code, why);
		if (o[RTT_PUT].unsettled && !strcmp(out->row[i].unit, "ns"))
			unsettled_flag(&out->row[i]);
	}
}

int rtt_rows(const struct rtt_mem *m, const struct rtt_conf *c, struct rtt_got *got, struct rows *out)
{
	const struct rtt_out *o = got->o;
	uint64_t first = o[RTT_PUT].first;
	struct series s;
	int rc;

	if ((rc = series_init(&s, c->messages)) || (rc = series_read(m, o, &s)) ||
	    (rc = span_row(c, &s, s.rtt, first, "total", "rtt", 1, out)) || (rc = span_row(c, &s, s.submit, first, "submit", "latency", 0, out)) ||
	    (rc = span_row(c, &s, s.span, first, "-", "responder", 0, out)) || (rc = span_row(c, &s, s.ways, first, "-", "both_ways", 1, out)) ||
	    ((c->respond_ns || c->untold_ns) && (rc = delta_row(c, &s, first, out))) ||
	    (rc = count_row(c, "wrong_words", o[RTT_PUT].wrong_words + o[RTT_REPLY].wrong_words, out)) ||
	    (rc = rtt_help_rows(c, &got->help, out)))
		goto out;
	flags(c, o, out);
out:
	series_term(&s);
	return rc;
}
