/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges plants. Rows of metric plant_delta are planted minus plain means: by
 * interval within an agent, and by stage for the crossing, whose hops straddle
 * two clocks. plant_wall is the growth of wall time per message.
 *
 * A plant belongs to the interval that ends in its mark. If that interval is a
 * hop (`seen`, `noticed`) it belongs to the crossing; at `intent`, which stands
 * before the message begins, it belongs nowhere: only wall time grows.
 */
#include "bench/check.h"
#include "harness/file.h"
#include <stdlib.h>
#include <string.h>

static const char *const claim_names[CLAIMS] = { "own", "other", "crossing", "wall" };

struct check *check_new(const struct plan *p, struct route r, const int cpu[AGENTS])
{
	struct check *c = calloc(1, sizeof *c);
	int v = fs_var_find("plant");

	if (!c)
		return NULL;
	c->plan = p;
	c->route = r;
	c->nplants = p->npoints;
	c->plant = calloc((size_t)p->npoints + 1, sizeof *c->plant);
	if (!c->plant) {
		free(c);
		return NULL;
	}
	for (int i = 0; i < p->npoints; i++) {
		char text[96], *colon;

		c->plant[i].id = p->point[i].pt.id;
		fs_var_format(&fs_vars[v], &p->point[i].pt.val[v], text, sizeof text);
		colon = strchr(text, ':');
		if (colon)
			*colon = '\0';
		c->plant[i].mark = mark_find(text);
		c->plant[i].cpu = cpu[mark_agent(r, (enum mark)c->plant[i].mark)];
		c->plant[i].ns = colon ? atoll(colon + 1) : 0;
	}
	return c;
}

void check_free(struct check *c)
{
	if (c)
		free(c->plant);
	free(c);
}

static struct delta *delta_find(struct plant *p, const char *metric, const char *stage, const char *interval)
{
	for (int i = 0; i < p->ndeltas; i++) {
		struct delta *d = &p->delta[i];

		/* A whole stage is named by itself, an interval by its marks. */
		if (!strcmp(d->metric, metric) && !strcmp(d->interval, interval) &&
		    (!stage || !strcmp(d->stage, stage)))
			return d;
	}
	return NULL;
}

void check_rows(void *arg, int point, int rep, const struct rows *rs)
{
	struct check *c = arg;
	struct plant *p = &c->plant[point];

	(void)rep;
	for (size_t i = 0; i < rs->n; i++) {
		const struct row *r = &rs->row[i];
		struct delta *d;

		if ((r->status != FS_OK && p->status == FS_OK) ||
		    (r->status == FS_FAILED && p->status != FS_FAILED)) {
			p->status = r->status;
			snprintf(p->reason, sizeof p->reason, "%s", r->reason);
		}
		if (r->status == FS_FAILED || r->status == FS_SKIPPED ||
		    (strcmp(r->metric, "plant_delta") && strcmp(r->metric, "plant_wall")))
			continue;
		d = delta_find(p, r->metric, r->stage, r->interval);
		if (!d && p->ndeltas < DELTAS_MAX) {
			d = &p->delta[p->ndeltas++];
			memset(d, 0, sizeof *d);
			snprintf(d->stage, sizeof d->stage, "%s", r->stage);
			snprintf(d->interval, sizeof d->interval, "%s", r->interval);
			snprintf(d->metric, sizeof d->metric, "%s", r->metric);
		}
		if (!d)
			continue;
		d->n++;
		d->mean += (r->s.mean - d->mean) / d->n;
		d->lo += (r->s.ci_lo - d->lo) / d->n;
		d->hi += (r->s.ci_hi - d->hi) / d->n;
	}
}

static void judge(struct plant *p, enum claim claim, const char *stage,
		  const char *interval, const struct delta *d, double expected)
{
	struct judged *j = &p->finding[p->nfindings++];

	memset(j, 0, sizeof *j);
	j->claim = claim;
	snprintf(j->stage, sizeof j->stage, "%s", stage);
	snprintf(j->interval, sizeof j->interval, "%s", interval);
	j->expected = expected;
	j->delta = d ? d->mean : NAN;
	j->lo = d ? d->lo : NAN;
	j->hi = d ? d->hi : NAN;
	j->tolerance = tolerance_ns(p->cpu, claim, (double)p->ns);
	/* The crossing as the plant's own place has the crossing's noise as well. */
	if (claim == CLAIM_CROSSING && expected > 0)
		j->tolerance = fmax(j->tolerance, tolerance_ns(p->cpu, CLAIM_OWN, (double)p->ns));
	j->off = !(fabs(j->delta - expected) <= j->tolerance);
	p->off += j->off;
}

static void judge_plant(struct plant *p, struct route r)
{
	const struct interval *t;
	int n = interval_table(r, &t), in_hop = 0;

	for (int i = 0; i < n; i++) {
		int own = (int)t[i].to == p->mark;
		char name[64];

		if (interval_is_hop(r, &t[i])) {
			in_hop |= own;
			continue;
		}
		snprintf(name, sizeof name, "%s-%s", mark_table[t[i].from].name, mark_table[t[i].to].name);
		judge(p, own ? CLAIM_OWN : CLAIM_OTHER, stage_names[t[i].stage], name,
		      delta_find(p, "plant_delta", NULL, name), own ? (double)p->ns : 0);
	}
	judge(p, CLAIM_CROSSING, stage_names[STAGE_CROSSING], "-",
	      delta_find(p, "plant_delta", stage_names[STAGE_CROSSING], "-"), in_hop ? (double)p->ns : 0);
	judge(p, CLAIM_WALL, "-", "-", delta_find(p, "plant_wall", NULL, "-"), (double)p->ns);
}

int check_conclude(void *arg, int exit_code)
{
	struct check *c = arg;
	int off = 0;

	if (exit_code == FS_EXIT_SKIPPED || exit_code == FS_EXIT_TIMEOUT)
		return exit_code;
	for (int i = 0; i < c->nplants; i++) {
		judge_plant(&c->plant[i], c->route);
		off += c->plant[i].off;
	}
	c->concluded = 1;
	return off ? FS_EXIT_INVALID : exit_code;
}

void plant_print(const struct plant *p, FILE *f)
{
	const struct judged *own = NULL, *wall = NULL, *worst = NULL;
	char plant[64], place[64] = "none", came[32] = "-", other[64] = "-";

	for (int i = 0; i < p->nfindings; i++) {
		const struct judged *j = &p->finding[i];

		if (j->claim == CLAIM_WALL)
			wall = j;
		else if (j->expected > 0)
			own = j;
		else if (!worst || fabs(j->delta) > fabs(worst->delta) || isnan(j->delta))
			worst = j;
	}
	snprintf(plant, sizeof plant, "%s:%lld", mark_table[p->mark].name, p->ns);
	if (own) {
		snprintf(place, sizeof place, "%s %s", own->stage, own->interval);
		snprintf(came, sizeof came, "%.1f", own->delta);
	}
	if (worst)
		snprintf(other, sizeof other, "%.1f %s", worst->delta,
			 strcmp(worst->interval, "-") ? worst->interval : worst->stage);
	fprintf(f, "%-18s %-30s %11s %11.1f  %-32s %s%s%s\n", plant, place, came, wall ? wall->delta : NAN,
		other, p->off ? "OFF" : "ok", p->reason[0] ? ": " : "", p->reason);
}

void finding_print(const struct plant *p, const struct judged *j, FILE *f)
{
	const char *what = j->claim == CLAIM_WALL ? "wall time per message" :
			   strcmp(j->interval, "-") ? j->interval : j->stage;

	if (!j->off)
		return;
	if (isnan(j->delta))
		fprintf(f, "OFF: %s planted, no figure for %s\n", mark_table[p->mark].name, what);
	else if (isnan(j->lo) || isnan(j->hi))
		fprintf(f, "OFF: %s planted, %s grew by %.1f ns instead of %.1f, allowed are %.1f\n",
			mark_table[p->mark].name, what, j->delta, j->expected, j->tolerance);
	else
		fprintf(f, "OFF: %s planted, %s grew by %.1f ns [%.1f, %.1f] instead of %.1f, allowed are %.1f\n",
			mark_table[p->mark].name, what, j->delta, j->lo, j->hi, j->expected, j->tolerance);
}

void check_csv(const struct check *c, FILE *f)
{
	static const char *const columns[] = {
		"point", "mark", "plant_ns", "claim", "stage", "interval", "expected_ns", "delta_ns",
		"ci_lo", "ci_hi", "tolerance_ns", "why", "verdict",
	};

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		csv_text(f, !i, columns[i]);
	csv_end(f);
	for (int i = 0; i < c->nplants; i++)
		for (int k = 0; k < c->plant[i].nfindings; k++) {
			const struct judged *j = &c->plant[i].finding[k];

			csv_text(f, 1, c->plant[i].id);
			csv_text(f, 0, mark_table[c->plant[i].mark].name);
			csv_int(f, 0, c->plant[i].ns);
			csv_text(f, 0, claim_names[j->claim]);
			csv_text(f, 0, j->stage);
			csv_text(f, 0, j->interval);
			csv_num(f, 0, j->expected);
			csv_num(f, 0, j->delta);
			csv_num(f, 0, j->lo);
			csv_num(f, 0, j->hi);
			csv_num(f, 0, j->tolerance);
			csv_text(f, 0, tolerances[c->plant[i].cpu != 0][j->claim].why);
			csv_text(f, 0, j->off ? "off" : "ok");
			csv_end(f);
		}
}
