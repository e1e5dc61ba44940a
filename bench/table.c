/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain table at the end of a run: one line a point of each experiment with
 * the mean of every stage over the repetitions and its share of the total (means,
 * since medians don't add). A probe without a total gets one line a figure.
 * Flagged, failed and skipped points say why. Everything else is in the files.
 */
#include "bench/bench.h"
#include "stages/stage.h"
#include <stdlib.h>
#include <string.h>

#define TOTAL STAGES
#define COLUMNS (STAGES + 1)
#define FIGURES 24

struct figure { char what[96], unit[12]; double sum; int n, emulated; };

struct line {
	double sum[COLUMNS];
	int n[COLUMNS];
	int emulated[COLUMNS];          /* holds spans of a stand-in */
	struct figure figure[FIGURES];
	int nfigures, more;             /* `more` rows found no place */
	enum fs_status status;          /* the worst */
	char reason[256];
};

struct table { const struct plan *plan; struct line *line; };

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

static void figure_add(struct line *l, const struct row *r)
{
	char what[96];
	int i;

	snprintf(what, sizeof what, "%s%s%s%s%s", r->metric, strcmp(r->stage, "-") ? " " : "",
		 strcmp(r->stage, "-") ? r->stage : "", strcmp(r->interval, "-") ? " " : "",
		 strcmp(r->interval, "-") ? r->interval : "");
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

void table_rows(void *arg, int point, int rep, const struct rows *rs)
{
	struct table *t = arg;
	struct line *l = &t->line[point];

	(void)rep;
	for (size_t i = 0; i < rs->n; i++) {
		const struct row *r = &rs->row[i];
		int c = column(r);

		/* Of the reasons, the worst one's; of equals, the first. */
		if ((r->status == FS_FAILED && l->status != FS_FAILED) ||
		    (r->status != FS_OK && l->status == FS_OK)) {
			l->status = r->status;
			snprintf(l->reason, sizeof l->reason, "%s", r->reason);
		}
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

static void print_cell(FILE *f, const struct line *l, int c)
{
	double total = l->n[TOTAL] ? l->sum[TOTAL] / l->n[TOTAL] : NAN;
	double mean = l->n[c] ? l->sum[c] / l->n[c] : NAN;

	char mark = l->emulated[c] ? '*' : ' ';

	if (isnan(mean))
		fprintf(f, " %16s", "");
	else if (c == TOTAL || !(total > 0))
		fprintf(f, " %10.1f%c", mean, mark);
	else
		fprintf(f, " %9.1f%c %3.0f %%", mean, mark, 100 * mean / total);
}

static void print_line(FILE *f, const struct plan *p, const struct plan_row *pr, const struct line *l)
{
	int has_total = l->n[TOTAL] > 0;

	fprintf(f, "  %-20s %s", pr->value[0] ? pr->value : "-", p->point[pr->point].pt.id);
	if (has_total) {
		print_cell(f, l, TOTAL);
		for (int s = 0; s < STAGES; s++)
			print_cell(f, l, s);
	}
	if (l->status != FS_OK)
		fprintf(f, "  %s: %s", fs_status_names[l->status], l->reason);
	fputc('\n', f);
	if (has_total)
		return;
	for (int i = 0; i < l->nfigures; i++)
		fprintf(f, "    %-44s %12.2f %s%s\n", l->figure[i].what, l->figure[i].sum / l->figure[i].n,
			l->figure[i].unit, l->figure[i].emulated ? " (emulated)" : "");
	if (l->more)
		fprintf(f, "    and %d rows more in summary.csv\n", l->more);
}

void table_print(const struct table *t, FILE *f)
{
	const struct plan *p = t->plan;

	for (int e = 0; e < p->nexp; e++) {
		int totals = 0, rows = 0;
		const char *varied = "-";

		for (int k = 0; k < p->nrows; k++)
			if (p->row[k].experiment == e) {
				totals += t->line[p->row[k].point].n[TOTAL] > 0;
				varied = p->row[k].varied;
				rows++;
			}
		if (!rows)
			continue;
		fprintf(f, "%s (probe %s%s)\n", p->exp[e].title ? p->exp[e].title : p->exp[e].name,
			p->exp[e].probe ? p->exp[e].probe : "path", totals ? "; means in ns and share of total" : "");
		if (totals) {
			fprintf(f, "  %-20s %-12s %10s ", varied[0] ? varied : "-", "point", "total");
			for (int s = 0; s < STAGES; s++)
				fprintf(f, " %16s", stage_names[s]);
			fputc('\n', f);
		}
		for (int k = 0; k < p->nrows; k++)
			if (p->row[k].experiment == e)
				print_line(f, p, &p->row[k], &t->line[p->row[k].point]);
		if (totals)
			fprintf(f, "  * holds spans of a software NIC: emulated\n");
		fputc('\n', f);
	}
}
