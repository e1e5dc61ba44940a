/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the table at the end of a run shows of each point: the mean of every
 * stage over the repetitions (means, since medians don't add), a figure for each
 * row of a probe without a total, and every reason for which rows aren't ok.
 * Everything else is in the files.
 */
#include "bench/table.h"
#include <stdlib.h>
#include <string.h>

struct table *table_new(const struct plan *p)
{
	struct table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->plan = p;
	t->line = calloc((size_t)p->npoints + 1, sizeof *t->line);
	if (!t->line) {
		free(t);
		return NULL;
	}
	return t;
}

void table_free(struct table *t)
{
	if (t)
		free(t->line);
	free(t);
}

double line_mean(const struct line *l, int column)
{
	return l->n[column] ? l->sum[column] / l->n[column] : NAN;
}

/* Column of a row that is a whole stage's latency, or -1. */
static int column(const struct row *r)
{
	if (strcmp(r->interval, "-") || strcmp(r->metric, "latency"))
		return -1;
	if (!strcmp(r->stage, "total"))
		return TOTAL;
	for (int s = 0; s < STAGES; s++)
		if (!strcmp(r->stage, stage_names[s]))
			return s;
	return -1;
}

/* "latency crossing", "plant_delta handoff built-rung" */
static void name_of(const struct row *r, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s%s%s", r->metric, strcmp(r->stage, "-") ? " " : "",
		 strcmp(r->stage, "-") ? r->stage : "", strcmp(r->interval, "-") ? " " : "",
		 strcmp(r->interval, "-") ? r->interval : "");
}

static void figure_add(struct line *l, const struct row *r)
{
	char what[96];
	int i;

	name_of(r, what, sizeof what);
	for (i = 0; i < l->nfigures && strcmp(l->figure[i].what, what); i++)
		;
	if (i == FIGURES) {
		l->more++;
		return;
	}
	if (i == l->nfigures) {
		l->nfigures++;
		snprintf(l->figure[i].what, sizeof l->figure[i].what, "%s", what);
		snprintf(l->figure[i].unit, sizeof l->figure[i].unit, "%s", r->unit);
	}
	l->figure[i].emulated |= !strcmp(r->origin, "emulated");
	l->figure[i].sum += r->s.mean;
	l->figure[i].n++;
}

static void why_add(struct line *l, const struct row *r)
{
	struct why *w;
	int i;

	for (i = 0; i < l->nwhys; i++)
		if (l->why[i].status == r->status && !strcmp(l->why[i].reason, r->reason))
			break;
	if (i == WHYS) {
		l->more_whys++;
		return;
	}
	w = &l->why[i];
	if (i == l->nwhys) {
		char where[96];

		l->nwhys++;
		w->status = r->status;
		snprintf(w->reason, sizeof w->reason, "%s", r->reason);
		name_of(r, where, sizeof where);
		snprintf(w->where, sizeof w->where, "%.47s", where);
	}
	w->rows++;
}

void table_rows(void *arg, int point, int rep, const struct rows *rs)
{
	struct table *t = arg;
	struct line *l = &t->line[point];
	enum fs_status worst = rows_worst(rs);

	(void)rep;
	l->reps++;
	if (worst == FS_FAILED || (worst == FS_FLAGGED && l->status != FS_FAILED) ||
	    (worst == FS_SKIPPED && l->status == FS_OK))
		l->status = worst;
	for (size_t i = 0; i < rs->n; i++) {
		const struct row *r = &rs->row[i];
		int c = column(r);

		if (r->status != FS_OK)
			why_add(l, r);
		if (r->status == FS_FAILED || r->status == FS_SKIPPED || isnan(r->s.mean))
			continue;
		if (c >= 0) {
			l->emulated[c] |= !strcmp(r->origin, "emulated");
			l->sum[c] += r->s.mean;
			l->n[c]++;
		} else
			figure_add(l, r);
	}
}
