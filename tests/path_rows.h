/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of a point of the probe `path` must be: they hold together (stages add up to the total,
 * submit to the issuer's intervals, numbers are in order, words are legal), and none is missing. For tests
 * that run points; tests/test_path_points.c has the control.
 */
#ifndef FS_PATH_ROWS_H
#define FS_PATH_ROWS_H

#include "tests/points.h"

#include "stages/path_layout.h"
#include "stages/suite.h"
#include <math.h>

static inline double path_mean_of(const struct rows *rs, const char *stage, const char *interval)
{
	const struct row *r = row_of(rs, stage, interval, "latency");

	return r ? r->s.mean : NAN;
}

static inline int path_close_to(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-3;
}

/* NULL, or what is wrong with the sums. */
static inline const char *path_sums_wrong(const struct rows *rs, struct route r)
{
	const struct interval *t;
	int n = interval_table(r, &t);
	char name[64];
	double stages = 0, total = path_mean_of(rs, "total", "-"), submit = 0;

	for (int k = 0; k < STAGES; k++)
		stages += path_mean_of(rs, stage_names[k], "-");
	if (!path_close_to(stages, total))
		return "stages don't add up to the total";
	for (int k = 0; k < n; k++) {
		snprintf(name, sizeof(name), "%s-%s", mark_table[t[k].from].name, mark_table[t[k].to].name);
		submit += path_mean_of(rs, stage_names[t[k].stage], name);
		if (t[k].to == route_submitted(r))
			break;
	}
	if (!path_close_to(submit, path_mean_of(rs, "submit", "-")))
		return "the issuer's intervals don't add up to submit";
	if (!path_close_to(path_mean_of(rs, "issue", "intent-reserved"), path_mean_of(rs, "issue", "-")))
		return "issue is not its only interval";
	return NULL;
}

static inline int path_word_of(const char *w, const char *list)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "|%s|", w);
	return strstr(list, buf) != NULL;
}

/* NULL, or what is wrong with a row. */
static inline const char *path_row_wrong(const struct row *r, const struct path_conf *c)
{
	const struct summary *s = &r->s;
	/* with ordering=none even stale fetches are legal, if they are said */
	int may_flag = !strcmp(c->order_class, "unsafe");

	/* rung before `rung`: the crossing is a lower bound, and says so */
	may_flag |= (c->choice.mode == DBM_RING_RECORD_RING || (c->recover_every && c->depth > 1)) &&
		    !strcmp(r->stage, "crossing");

	/* an issuer that lost its CPU between two words of a line: tests/test_flame.c says how often */
	may_flag |= doorbell_is_flame(c->choice.mode) && !strcmp(r->reason_code, "from-queue");

	/* a third thread where there are two CPUs */
	may_flag |= c->crowded && !strcmp(r->reason_code, "crowded");

	/* a thread in a kernel's place that others kept from falling asleep */
	may_flag |= c->route.submitter == SUBMITTER_CPU && !strcmp(r->reason_code, "awake");

	if (r->status != FS_OK && !(r->status == FS_FLAGGED && may_flag && *r->reason))
		return "its status";
	if (!path_word_of(r->stage, "|issue|crossing|translation|handoff|completion|queueing|total|submit|-|"))
		return "its stage";
	if (!path_word_of(r->link, "|none|host|-|")) /* nothing lives on a GPU here */
		return "its link";
	if (!path_word_of(r->origin, "|measured|emulated|") || strcmp(r->order_class, c->order_class))
		return "its origin or order class";
	if (!path_word_of(r->unit, "|ns|Mmsg/s|GB/s|count|ns/msg|count/msg|cores|MHz|share|"))
		return "its unit";
	/* what a kernel doesn't tell is an empty cell with a reason */
	if (!strcmp(r->unit, "MHz") && isnan(s->mean))
		return !strcmp(r->reason_code, "absent") && *r->reason ? NULL : "it has no number and no reason";
	if (!s->n || isnan(s->mean))
		return "it has no number";
	/* (a rate is over all messages, its distribution over whole blocks) */
	if (!strcmp(r->metric, "rate") || !strcmp(r->metric, "goodput"))
		return s->mean > 0 && !(s->ci_lo > s->mean) && !(s->ci_hi < s->mean) ? NULL : "it is no rate, or outside its interval";
	if (!isnan(s->min) && (s->min > s->p50 + 1e-9 || s->p50 > s->max + 1e-9 || s->mean < s->min - 1e-6 || s->mean > s->max + 1e-6))
		return "min, median, mean and max are not in order";
	if (!isnan(s->ci_lo) && (s->ci_lo > s->mean + 1e-6 || s->ci_hi < s->mean - 1e-6))
		return "the mean is not in its interval";
	/* spans of one clock can't be negative; hops and differences can */
	if (!strcmp(r->metric, "latency") && strcmp(r->stage, "crossing") && s->mean < 0)
		return "it is negative";
	return NULL;
}

/* The bytes of the messages that the rate counts; none where none is moved. */
static inline const char *path_goodput_wrong(const struct rows *rs, const struct path_conf *c)
{
	const struct row *rate = row_of(rs, "total", "-", "rate"), *bytes = row_of(rs, "total", "-", "goodput");
	int none = c->metric != METRIC_RATE || !c->nic->completes || c->choice.kind == POST_NOP || !c->size;

	if (none || !bytes)
		return none == !bytes ? NULL : "a goodput where no payload goes, or none where it does";
	return fabs(bytes->s.mean * 1e9 - rate->s.mean * 1e6 * c->size) <= 1e-9 * bytes->s.mean * 1e9 &&
	       !strcmp(bytes->origin, rate->origin) && bytes->s.n == rate->s.n ? NULL : "the goodput is not the rate's";
}

/* Rows of one kind that a point of these marks has to give. */
static inline const char *path_rows_missing(const struct rows *rs, const struct path_conf *c)
{
	const struct interval *t;
	int n = interval_table(c->route, &t);
	char name[64];

	if (c->metric == METRIC_RATE && !row_of(rs, "total", "-", "rate"))
		return "no rate";
	/* rotating, a total comes once in a turn */
	if (c->metric == METRIC_LATENCY && c->nic->completes && (c->marks != MARKS_ROTATE || c->messages > (uint64_t)n) && !row_of(rs, "total", "-", "latency"))
		return "no total";
	if (c->nic->completes && !row_of(rs, "handoff", "-", "stale_wqe"))
		return "no count of stale fetches";
	if (c->nic->completes && doorbell_is_flame(c->choice.mode) != !!row_of(rs, "handoff", "-", "from_queue"))
		return "no count of WQEs from the queue, or one where none goes another way";
	if (c->nic->completes && c->recover_every && !row_of(rs, "handoff", "-", "stale_record"))
		return "no count of stale records";
	for (int k = 0; c->marks == MARKS_ALL && k < n; k++) {
		snprintf(name, sizeof(name), "%s-%s", mark_table[t[k].from].name, mark_table[t[k].to].name);
		if ((c->nic->completes || mark_agent(c->route, t[k].to) == AGENT_ISSUER) && t[k].to != MARK_NOTICED &&
		    !row_of(rs, stage_names[t[k].stage], name, "latency"))
			return "an interval is missing";
	}
	return NULL;
}

/* NULL, or what is wrong with the rows of a point that ran. */
static inline const char *path_rows_wrong(const struct rows *rs, const struct path_conf *c)
{
	const char *what;

	for (size_t i = 0; i < rs->n; i++) {
		if ((what = path_row_wrong(&rs->row[i], c)))
			return what;
		if (!strcmp(rs->row[i].metric, "latency") && c->marks == MARKS_ALL && rs->row[i].s.n != c->messages)
			return "a row has not one sample a message";
	}
	if ((what = path_rows_missing(rs, c)) || (what = path_goodput_wrong(rs, c)))
		return what;
	return c->nic->completes && c->marks == MARKS_ALL ? path_sums_wrong(rs, c->route) : NULL;
}

/* Runs a point and looks at its rows; fails the test where it is refused, or they don't hold together. */
static inline void path_run(const struct point *pt)
{
	struct path_conf c;
	struct rows rs;
	char why[256], text[512];
	const char *what = NULL;
	int rc;

	assert_int_equal(path_resolve(pt, suite_machine(), &c, why, sizeof(why)), 0);
	rows_init(&rs);
	fs_reason_clear();
	rc = probe_path.run(pt, &rs);
	if (rc || (what = path_rows_wrong(&rs, &c)))
		fail_msg("%s: %s", fs_point_text(pt, text, sizeof(text)), rc ? fs_reason() : what);
	rows_free(&rs);
}

#endif
