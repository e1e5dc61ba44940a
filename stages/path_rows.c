/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of spans (path_spans.c): of intervals, stages, submit and total; and what all rows of the path share. */
#include "harness/err.h"
#include "stages/path.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct row *path_row(struct rows *out, const struct path_conf *c, const char *stage,
		     const char *metric, const char *unit)
{
	struct row *r = rows_add(out);

	if (!r)
		return NULL;
	snprintf(r->stage, sizeof(r->stage), "%s", stage);
	snprintf(r->metric, sizeof(r->metric), "%s", metric);
	snprintf(r->unit, sizeof(r->unit), "%s", unit);
	snprintf(r->order_class, sizeof(r->order_class), "%s", c->order_class);
	return r;
}

void path_origin(struct row *r, const struct path_conf *c, int emulated)
{
	snprintf(r->origin, sizeof(r->origin), "%s", emulated && c->nic->emulated ? "emulated" : "measured");
}

static int agent_place(const struct path_conf *c, enum agent a)
{
	return a == AGENT_NIC ? c->place[OBJ_KEYS] : a == AGENT_ISSUER && c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST;
}

/* Which link an interval crosses: from its agent to the object that it touches. */
const char *path_link(const struct path_conf *c, const struct interval *t)
{
	int from = agent_place(c, mark_agent(c->route, t->from)), to = agent_place(c, mark_agent(c->route, t->to));
	/* with BlueFlame what is fetched is in the doorbell's line */
	int object = t->to == MARK_FETCHED && doorbell_is_flame(c->choice.mode) ? OBJ_DB : (int)t->object;
	int place = c->place[object];

	if (t->object == OBJ_NONE)
		return "none";
	if (interval_is_hop(c->route, t)) /* the store goes there, the poll comes from the other side */
		return place == to ? link_name(from, to) : link_name(to, place);
	return link_name(to, place);
}

/* Summary of those samples that are there; marks = rotate leaves gaps. */
int spans_summary(const double *x, uint64_t n, uint32_t block, struct summary *s)
{
	double *y = malloc((n ? n : 1) * sizeof(*y));
	uint64_t k = 0;
	int rc;

	if (!y)
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < n; i++)
		if (!isnan(x[i]))
			y[k++] = x[i];
	summary_none(s);
	rc = k ? summary_of(y, k, k == n ? block : block / 8, s) : 0;
	free(y);
	return rc;
}

/* With one pair of marks a message, sums exist as sums of means alone. */
static void rotate_stages(const struct spans *s, struct summary iv[], struct summary stage[STAGES],
			  const struct summary *total, struct summary *submit)
{
	double mean[STAGES] = { 0 }, var[STAGES] = { 0 }, own = 0, own_var = 0, sub = 0, sub_var = 0;
	uint64_t n[STAGES] = { 0 }, sub_n = 0;

	for (int k = 0; k < s->intervals; k++) {
		double h = (iv[k].ci_hi - iv[k].ci_lo) / 2;

		if (interval_is_hop(s->route, &s->table[k]))
			continue;
		mean[s->table[k].stage] += iv[k].mean;
		var[s->table[k].stage] += h * h;
		n[s->table[k].stage] = iv[k].n;
		own += iv[k].mean;
		own_var += h * h;
		if (mark_table[s->table[k].to].agent == AGENT_ISSUER) {
			sub_n = iv[k].n;
			sub += iv[k].mean;
			sub_var += h * h;
		}
	}
	n[STAGE_CROSSING] = total->n;
	mean[STAGE_CROSSING] = total->mean - own;
	var[STAGE_CROSSING] = own_var + (total->ci_hi - total->ci_lo) * (total->ci_hi - total->ci_lo) / 4;
	for (int k = 0; k < STAGES; k++) {
		summary_none(&stage[k]);
		stage[k].n = n[k];
		stage[k].mean = mean[k];
		stage[k].ci_lo = mean[k] - sqrt(var[k]);
		stage[k].ci_hi = mean[k] + sqrt(var[k]);
	}
	summary_none(submit);
	submit->n = sub_n;
	submit->mean = sub;
	submit->ci_lo = sub - sqrt(sub_var);
	submit->ci_hi = sub + sqrt(sub_var);
}

static int interval_rows(const struct spans *s, const struct path_conf *c, struct summary iv[], struct rows *out)
{
	for (int k = 0; k < s->intervals; k++) {
		const struct interval *t = &s->table[k];
		struct row *r;

		if (!iv[k].n)
			continue;
		r = path_row(out, c, stage_names[t->stage], "latency", "ns");
		if (!r)
			return -ENOMEM;
		snprintf(r->interval, sizeof(r->interval), "%s-%s", mark_table[t->from].name, mark_table[t->to].name);
		snprintf(r->link, sizeof(r->link), "%s", path_link(c, t));
		r->s = iv[k];
		path_origin(r, c, mark_table[t->to].agent == AGENT_NIC && !interval_is_hop(c->route, t));
	}
	return 0;
}

static int whole_row(const char *stage, const struct summary *s, const struct path_conf *c, int emulated, struct rows *out)
{
	struct row *r;

	if (!s->n || isnan(s->mean))
		return 0;
	r = path_row(out, c, stage, "latency", "ns");
	if (!r)
		return -ENOMEM;
	r->s = *s;
	path_origin(r, c, emulated);
	return 0;
}

/* Does a stage hold a NIC's own span? */
static int stage_emulated(const struct spans *s, int stage)
{
	for (int k = 0; k < s->intervals; k++)
		if ((int)s->table[k].stage == stage && !interval_is_hop(s->route, &s->table[k]) &&
		    mark_table[s->table[k].to].agent == AGENT_NIC)
			return 1;
	return 0;
}

int spans_rows(const struct spans *s, const struct path_conf *c, struct rows *out)
{
	struct summary iv[INTERVALS_MAX], stage[STAGES], total, submit;
	int rc, all = c->marks == MARKS_ALL;

	if ((rc = spans_summary(s->total, s->n, s->block, &total)) ||
	    (rc = spans_summary(s->submit, s->n, s->block, &submit)))
		return rc;
	for (int k = 0; k < s->intervals; k++)
		if ((rc = spans_summary(s->interval[k], s->n, s->block, &iv[k])))
			return rc;
	for (int k = 0; k < STAGES; k++)
		if ((rc = spans_summary(s->stage[k], all ? s->n : 0, s->block, &stage[k])))
			return rc;
	if (c->marks == MARKS_ROTATE)
		rotate_stages(s, iv, stage, &total, &submit);
	if (c->marks != MARKS_OUTER && (rc = interval_rows(s, c, iv, out)))
		return rc;
	for (int k = 0; k < STAGES && c->marks != MARKS_OUTER; k++)
		if ((rc = whole_row(stage_names[k], &stage[k], c, stage_emulated(s, k), out)))
			return rc;
	if (c->marks != MARKS_OUTER && (rc = whole_row("submit", &submit, c, 0, out)))
		return rc;
	return whole_row("total", &total, c, 1, out);
}

/* A row of the crossing from those samples that are there; none without any. */
static int crossing_row(const struct spans *s, const double *x, const char *metric, const struct path_conf *c, struct rows *out)
{
	struct summary sum;
	struct row *r;
	int rc;

	if ((rc = spans_summary(x, s->n, s->block, &sum)) || !sum.n)
		return rc;
	if (!(r = path_row(out, c, stage_names[STAGE_CROSSING], metric, "ns")))
		return -ENOMEM;
	r->s = sum;
	path_origin(r, c, 0);
	return 0;
}

int spans_helper_rows(const struct spans *s, const struct path_conf *c, struct rows *out)
{
	int rc = 0;

	if (c->marks == MARKS_OUTER)
		return 0;
	if (c->notify == NOTIFY_INTERRUPT)
		rc = crossing_row(s, s->wakeup, "wakeup", c, out);
	if (!rc && c->route.submitter == SUBMITTER_CPU)
		rc = crossing_row(s, s->call, "launch_call", c, out);
	return rc;
}
