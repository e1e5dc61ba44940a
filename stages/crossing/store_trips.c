/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that another agent sees and answers, and what can be said of each way. */
#include "stages/crossing/store_probe.h"
#include "harness/err.h"
#include "harness/service.h"
#include "stages/path.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void serve(struct service *me, void *arg)
{
	const struct store_args *a = arg;
	struct answerer r = { .begin = clock_pair_read(a->gettime) };

	while (!service_stopping(me))
		if (!store_answer(a, &r))
			relax_cpu();
	store_answered(a, &r);
}

struct trips {
	struct store_out near_, far_;
	double *total, rate, far_ns;    /* [n], ns */
	uint64_t *raw;                  /* ticks, as store_args' samples */
	const uint64_t *before, *seen;  /* of two CPUs */
};

static int trips_run(const struct store_conf *c, const struct store_args *a, struct store_args *far_)
{
	struct service *s = NULL;
	int rc = c->nic->on_gpu ? store_gpu_answer(far_, c->at.far_gpu, STORE_PATIENCE_S) :
				  service_start(&s, "the answers", c->nic_cpu, serve, far_, STORE_PATIENCE_S), rc2;

	if (rc)
		return rc;
	if (c->at.issuer_gpu >= 0)
		rc = store_gpu_ask(a, c->at.issuer_gpu, STORE_PATIENCE_S);
	else
		store_ask(a);
	rc2 = c->nic->on_gpu ? store_gpu_stop(c->at.far_gpu, STORE_PATIENCE_S) : service_stop(s, STORE_PATIENCE_S);
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}

/* One pass of round trips over a line at `there`. t->total and t->raw have room for all. */
static int trips_take(const struct store_mem *m, const struct store_conf *c, const struct store_args *args,
		      const struct buf *there, struct trips *t)
{
	struct store_args a = *args, *far_ = malloc(sizeof(*far_)); /* not freed while its thread may use it */
	struct clock_pair p[2];
	int rc;

	if (!far_)
		return fs_fail(ENOMEM, "no memory for the other agent");
	a.messages = c->trips;
	a.there = there->p;
	*far_ = a;
	far_->out = (struct store_out *)m->far.p;
	if (!c->at.pinned) { /* two CPUs */
		a.before = (uint64_t *)(m->res.p + RES_SAMPLES) + 2 * c->trips;
		far_->seen = (uint64_t *)(m->far.p + RES_SAMPLES);
		t->before = a.before;
		t->seen = far_->seen;
	}
	if (!(rc = place_set(there, 0)) && !(rc = place_set(&m->back, 0)))
		rc = trips_run(c, &a, far_);
	if (rc != -EBUSY)
		free(far_);
	if (rc || (rc = place_read(&m->res, 0, &t->near_, sizeof(t->near_))) ||
	    (rc = place_read(&m->far, 0, &t->far_, sizeof(t->far_))) || (rc = place_read(&m->res, RES_PAIRS, p, sizeof(p))))
		return rc;
	if (t->near_.status)
		return fs_fail(ETIMEDOUT, "no answer to store %llu in %.0f s", (unsigned long long)t->near_.done + 1, STORE_WAIT_NS / 1e9);
	if ((rc = place_read(&m->res, RES_SAMPLES, t->raw, 2 * c->trips * 8)))
		return rc;
	t->rate = rate_of(p, p + 1);
	t->far_ns = rate_of(&t->far_.begin, &t->far_.end) * (double)t->far_.span_ticks /
		    (double)(t->far_.spans ? t->far_.spans : 1);
	for (uint64_t i = 0; i < c->trips; i++)
		t->total[i] = (double)(t->raw[c->trips + i] - t->raw[i]) * t->rate;
	return 0;
}

static double mean_of(const double *x, uint64_t n)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

static int ns_row(struct rows *out, const char *stage, const char *link, const char *metric, const double *x, uint64_t n, struct row **r)
{
	*r = cross_row(out, stage, link, metric, "ns");
	return *r ? summary_of(x, n, SHUTTLES, &(*r)->s) : -ENOMEM;
}

/*
 * Two CPUs read one clock: the way there is from just before the store until it is seen,
 * the way back from then until the answer is noticed, the other agent's turn included.
 * Whether the CPUs' counters stand apart can't be known better than from the trips
 * themselves: nothing is seen before it was stored, so an offset lies between minus the
 * shortest way there and the shortest way back.
 */
static int one_way_rows(const struct store_conf *c, const struct trips *t, double *x, struct rows *out)
{
	const uint64_t *seen = t->seen + t->near_.first;
	double least[2] = { 0, 0 };
	struct row *r;
	int rc;

	for (int back = 0; back < 2; back++) {
		for (uint64_t i = 0; i < c->trips; i++) {
			x[i] = t->rate * (double)(int64_t)(back ? t->raw[c->trips + i] - seen[i] : seen[i] - t->before[i]);
			if (!i || x[i] < least[back])
				least[back] = x[i];
		}
		if ((rc = ns_row(out, "crossing", "host", back ? "one_way_back" : "one_way", x, c->trips, &r)))
			return rc;
		if (least[back] < 0) {
			r->status = FS_FLAGGED;
			snprintf(r->reason_code, sizeof(r->reason_code), "clocks-apart");
			snprintf(r->reason, sizeof(r->reason), "a store was seen %.0f ns before it was made: the CPUs' clocks stand apart",
				 -least[back]);
		}
	}
	if (!(r = cross_row(out, "-", "none", "offset_bound", "ns")))
		return -ENOMEM;
	summary_one(&r->s, (least[0] + least[1]) / 2);
	return 0;
}

static int trip_rows(const struct store_mem *m, const struct store_conf *c, const struct store_args *a, struct trips *t,
		     double *x, struct rows *out)
{
	const char *link = link_name(where_issuer_place(&c->at), c->nic->on_gpu ? c->at.far_gpu : PLACE_HOST);
	int far_gpu_line = c->at.mem == c->far_home, rc;
	struct buf mirror = { 0 };
	double half = NAN, mean;
	struct row *r;

	if (c->same_kind && c->at.issuer_gpu >= 0 && !far_gpu_line) { /* the symmetrical trip first */
		if (!(rc = place_alloc(&mirror, c->far_home, STORE_LINES * STORE_LINE, 4096, c->at.pinned)) &&
		    !(rc = trips_take(m, c, a, &mirror, t)))
			half = (mean_of(t->total, c->trips) - t->far_ns) / 2;
		if (rc != -EBUSY)
			place_free(&mirror);
		if (rc)
			return rc;
	}
	if ((rc = trips_take(m, c, a, &m->there, t)) || (rc = ns_row(out, "total", "none", "latency", t->total, c->trips, &r)))
		return rc;
	if (t->near_.unsettled)
		unsettled_flag(r);
	for (uint64_t i = 0; i < c->trips; i++)
		x[i] = t->total[i] - t->far_ns;
	mean = mean_of(x, c->trips);
	if ((rc = ns_row(out, "crossing", link, "latency", x, c->trips, &r)))
		return rc;
	if (t->near_.unsettled)
		unsettled_flag(r);
	if (!(r = cross_row(out, "-", "none", "responder", "ns")))
		return -ENOMEM;
	summary_one(&r->s, t->far_ns);
	r->s.n = t->far_.spans;
	if (t->seen)
		return one_way_rows(c, t, x, out);
	if (!c->same_kind) {
		rows_found(out, "one_way", "not known: a GPU and a CPU share no clock, and the ways differ");
		return 0;
	}
	if (!(r = cross_row(out, "crossing", link, "one_way", "ns")))
		return -ENOMEM;
	summary_one(&r->s, far_gpu_line ? mean / 2 : mean - half);
	snprintf(r->origin, sizeof(r->origin), "fitted");
	return 0;
}

int store_trips(const struct store_mem *m, const struct store_conf *c, const struct store_args *a, struct rows *out)
{
	double *x = malloc(c->trips * sizeof(*x));
	struct trips t;
	int rc;

	memset(&t, 0, sizeof(t));
	t.total = malloc(c->trips * sizeof(*t.total));
	t.raw = malloc(2 * c->trips * sizeof(*t.raw));
	rc = x && t.total && t.raw ? trip_rows(m, c, a, &t, x, out) : fs_fail(ENOMEM, "no memory for samples");
	free(x);
	free(t.total);
	free(t.raw);
	return rc;
}
