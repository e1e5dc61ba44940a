/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table on stdout. A point takes three lines: the means, their shares of the
 * total with the point's id, and a bar of the shares.
 *
 *	  size             total   issue  crossing  translation  handoff  completion
 *	  64             2484.0*  164.0*     264.0*       364.0*   464.0*      564.0*
 *	    3c9ebef69d6a             7 %       11 %         15 %     19 %        23 %
 *	    IIIIIXXXXXXXXTTTTTTTTTTTHHHHHHHHHHHHHHCCCCCCCCCCCCCCCCC
 *
 * Where that doesn't fit into the width, every stage has a line of its own. What
 * is no terminal gets the first form, whatever its width, and nothing is wrapped.
 * A probe without a total has one line a figure. Points that aren't ok say why.
 * Experiments of which nothing was measured for one and the same reason stand
 * together behind the others, under that reason.
 */
#include "bench/bar.h"
#include "bench/table.h"
#include <string.h>
#include <unistd.h>

#define LABEL_MIN 14       /* indent and a point's id */
#define LABEL_MAX 30
#define BAR_MAX 72
#define WIDTH_PLAIN 80     /* of bars, where there is no width */
#define SHOWN_SHARE 0.02   /* queueing has a column from here on */

/* How one experiment is printed. */
struct form {
	FILE *f;
	struct term term;
	const struct table *t;
	int experiment, totals, emulated, rows;
	const char *varied;
	int label, width[COLUMNS], shown[COLUMNS], narrow;
	int bars;                  /* a bar of one stage alone would say nothing */
};

static const char *label_of(const struct form *m, const struct plan_row *pr)
{
	return pr->value[0] ? pr->value : m->t->plan->point[pr->point].pt.id;
}

static char *number(double x, char *buf, size_t len)
{
	snprintf(buf, len, x < 99999.95 ? "%.1f" : "%.0f", x);
	return buf;
}

/* Of any unit: rates of large messages are far below one a microsecond. */
static char *figure(double x, char *buf, size_t len)
{
	snprintf(buf, len, fabs(x) >= 0.1 || x == 0 ? "%.2f" : "%.3g", x);
	return buf;
}

static const char *heading(int column)
{
	return column == TOTAL ? "total" : stage_names[column];
}

/* ---- the form ---- */

static void form_row(struct form *m, const struct plan_row *pr)
{
	const struct line *l = &m->t->line[pr->point];
	int len = term_columns(&m->term, label_of(m, pr));
	char text[32];

	m->rows++;
	m->varied = pr->varied;
	m->totals += l->n[TOTAL] > 0;
	if (len > m->label)
		m->label = len < LABEL_MAX ? len : LABEL_MAX;
	for (int c = 0; c < COLUMNS; c++) {
		double mean = line_mean(l, c);
		int w;

		m->emulated |= l->emulated[c];
		if (isnan(mean))
			continue;
		m->shown[c] |= c != STAGE_QUEUEING || mean >= SHOWN_SHARE * line_mean(l, TOTAL);
		w = (int)strlen(number(mean, text, sizeof text)) + 1; /* the mark */
		if (w < (int)strlen(heading(c)))
			w = (int)strlen(heading(c));
		if (w > m->width[c])
			m->width[c] = w;
	}
}

static void form_of(struct form *m, const struct table *t, int experiment, FILE *f)
{
	int need = 2;

	memset(m, 0, sizeof *m);
	m->f = f;
	term_look(fileno(f), &m->term);
	m->t = t;
	m->experiment = experiment;
	m->varied = "";
	m->label = LABEL_MIN;
	for (int k = 0; k < t->plan->nrows; k++)
		if (t->plan->row[k].experiment == experiment)
			form_row(m, &t->plan->row[k]);
	for (int s = 0; s < STAGES; s++)
		m->bars += m->totals && m->shown[s];
	need += m->label;
	if (!m->totals)
		m->shown[STAGE_QUEUEING] = 0;
	for (int c = 0; c < COLUMNS; c++)
		need += m->shown[c] ? 2 + m->width[c] : 0;
	m->narrow = m->term.width && need > m->term.width;
	m->bars = m->bars > 1 && !m->narrow;
}

/* ---- a point ---- */

static void padded(const struct form *m, const char *text, int columns)
{
	int gap = columns - term_columns(&m->term, text);

	fprintf(m->f, "%s%*s", text, gap > 0 ? gap : 0, "");
}

/* Total first, then the stages. */
static int column_at(int i)
{
	return i ? i - 1 : TOTAL;
}

static void print_means(const struct form *m, const struct line *l)
{
	char text[32];

	for (int i = 0; i < COLUMNS; i++) {
		int c = column_at(i);
		double mean = line_mean(l, c);

		if (!m->shown[c])
			continue;
		if (isnan(mean))
			fprintf(m->f, "  %*s", m->width[c], "");
		else
			fprintf(m->f, "  %*s%c", m->width[c] - 1, number(mean, text, sizeof text),
				l->emulated[c] ? '*' : ' ');
	}
	fputc('\n', m->f);
}

static void print_shares(const struct form *m, const struct line *l)
{
	double total = line_mean(l, TOTAL);
	char text[32];

	fprintf(m->f, "  %*s", m->width[TOTAL], "");
	for (int s = 0; s < STAGES; s++) {
		double mean = line_mean(l, s);

		if (!m->shown[s])
			continue;
		snprintf(text, sizeof text, "%.0f %%", 100 * mean / total);
		fprintf(m->f, "  %*s ", m->width[s] - 1, isnan(mean) || !(total > 0) ? "" : text);
	}
	fputc('\n', m->f);
}

static void print_bar(const struct form *m, const struct line *l)
{
	int columns = (m->term.width ? m->term.width : WIDTH_PLAIN) - 5;
	double ns[STAGES];

	if (!m->bars)
		return;
	for (int s = 0; s < STAGES; s++)
		ns[s] = line_mean(l, s);
	fprintf(m->f, "    ");
	bar_print(m->f, &m->term, ns, line_mean(l, TOTAL), columns < BAR_MAX ? columns : BAR_MAX);
	fputc('\n', m->f);
}

static void print_narrow(const struct form *m, const struct line *l)
{
	double total = line_mean(l, TOTAL);
	int room = m->term.width - 33;
	char text[32];

	for (int i = 0; i < COLUMNS; i++) {
		int c = column_at(i);
		double mean = line_mean(l, c);

		if (!m->shown[c] || isnan(mean))
			continue;
		fprintf(m->f, "    %-12s%8s%c", heading(c),
			number(mean, text, sizeof text), l->emulated[c] ? '*' : ' ');
		if (c != TOTAL && total > 0) {
			fprintf(m->f, " %3.0f %%", 100 * mean / total);
			fprintf(m->f, "  ");
			bar_stage(m->f, &m->term, c, room > 4 && mean > 0 ? (int)lrint(room * mean / total) : 0);
		}
		fputc('\n', m->f);
	}
}

/* Stages of a point that has no total to take shares of are figures like others. */
static void print_figures(const struct form *m, const struct line *l)
{
	char what[64], number[32];

	for (int s = 0; s < STAGES; s++) {
		snprintf(what, sizeof what, "latency %s", stage_names[s]);
		if (l->n[s])
			fprintf(m->f, "    %-44s %12.2f ns%s\n", what, line_mean(l, s), l->emulated[s] ? " (emulated)" : "");
	}
	for (int i = 0; i < l->nfigures; i++)
		fprintf(m->f, "    %-44s %12s %s%s\n", l->figure[i].what,
			figure(l->figure[i].sum / l->figure[i].n, number, sizeof number), l->figure[i].unit, l->figure[i].emulated ? " (emulated)" : "");
	if (l->more)
		fprintf(m->f, "    and %d rows more in summary.csv\n", l->more);
}

/* "failed: child ended: signal 11", "flagged: ... (latency issue and 3 rows more)" */
static void print_why(const struct form *m, const struct why *w)
{
	static const enum tint tint[] = {
		[FS_OK] = TINT_GOOD, [FS_FLAGGED] = TINT_WARN, [FS_SKIPPED] = TINT_DIM, [FS_FAILED] = TINT_BAD,
	};
	const char *word = fs_status_names[w->status];
	char text[400], more[32] = "";

	fprintf(m->f, "    ");
	tint_print(m->f, &m->term, tint[w->status], word);
	if (w->rows > 1)
		snprintf(more, sizeof more, " and %d row%s more", w->rows - 1, w->rows == 2 ? "" : "s");
	if (w->where[0])
		snprintf(text, sizeof text, ": %s (%s%s)", w->reason, w->where, more);
	else
		snprintf(text, sizeof text, ": %s", w->reason);
	term_wrap(m->f, text, 4 + (int)strlen(word), 6, m->term.width);
}

static void print_point(const struct form *m, const struct plan_row *pr)
{
	const struct line *l = &m->t->line[pr->point];
	const char *id = m->t->plan->point[pr->point].pt.id;
	int has_total = l->n[TOTAL] > 0;

	fprintf(m->f, "  ");
	if (has_total && !m->narrow) {
		padded(m, label_of(m, pr), m->label);
		print_means(m, l);
		fprintf(m->f, "    %-*s", m->label - 2, pr->value[0] ? id : "");
		print_shares(m, l);
		print_bar(m, l);
	} else {
		padded(m, pr->value[0] ? pr->value : "-", pr->value[0] ? m->label : 1);
		fprintf(m->f, "  %s%s\n", id, l->reps ? "" : "  not measured");
		if (has_total)
			print_narrow(m, l);
	}
	if (!has_total)
		print_figures(m, l);
	for (int i = 0; i < l->nwhys; i++)
		print_why(m, &l->why[i]);
	if (l->more_whys)
		fprintf(m->f, "    and %d rows more that aren't ok, in summary.csv\n", l->more_whys);
}

static void print_head(const struct form *m)
{
	fprintf(m->f, "  ");
	padded(m, m->varied[0] ? m->varied : "point", m->label);
	for (int i = 0; i < COLUMNS; i++) {
		int c = column_at(i);

		if (m->shown[c])
			fprintf(m->f, "  %*s%s", m->width[c] - 1, heading(c),
				(int)strlen(heading(c)) < m->width[c] ? " " : "");
	}
	fputc('\n', m->f);
}

static void print_experiment(const struct form *m)
{
	const struct experiment *e = &m->t->plan->exp[m->experiment];
	char title[512];

	snprintf(title, sizeof title, "%s (probe %s%s)", e->title ? e->title : e->name,
		 e->probe ? e->probe : "path", m->totals ? "; means in ns and share of total" : "");
	term_wrap(m->f, title, 0, 2, m->term.width);
	if (m->totals && !m->narrow)
		print_head(m);
	for (int k = 0; k < m->t->plan->nrows; k++)
		if (m->t->plan->row[k].experiment == m->experiment)
			print_point(m, &m->t->plan->row[k]);
	if (m->bars) { /* the narrow form names each bar */
		fprintf(m->f, "  ");
		bar_legend(m->f, &m->term, m->shown);
		fputc('\n', m->f);
	}
	if (m->totals && m->width[STAGE_QUEUEING] && !m->shown[STAGE_QUEUEING])
		fprintf(m->f, "  queueing: below 2 %% of every total\n");
	if (m->totals && m->emulated) {
		fprintf(m->f, "  ");
		term_wrap(m->f, "* holds spans of a software NIC: emulated", 2, 4, m->term.width);
	}
	fputc('\n', m->f);
}

/* ---- experiments of which nothing was measured ---- */

/* The reason for which every point of it was skipped, if there is one. */
static const char *skipped_whole(const struct table *t, int experiment, int *points)
{
	const char *reason = NULL;

	*points = 0;
	for (int k = 0; k < t->plan->nrows; k++) {
		const struct line *l = &t->line[t->plan->row[k].point];

		if (t->plan->row[k].experiment != experiment)
			continue;
		if (l->nwhys != 1 || l->why[0].status != FS_SKIPPED || l->why[0].rows != l->reps || l->n[TOTAL] || l->nfigures)
			return NULL;
		if (reason && strcmp(reason, l->why[0].reason))
			return NULL;
		reason = l->why[0].reason;
		++*points;
	}
	return reason;
}

static void print_skipped(const struct table *t, const struct term *term, FILE *f)
{
	int headed = 0, points, again;

	for (int e = 0; e < t->plan->nexp; e++) {
		const char *reason = skipped_whole(t, e, &points);
		char text[700];

		for (int before = 0; reason && before < e; before++) {
			const char *other = skipped_whole(t, before, &again);

			if (other && !strcmp(other, reason))
				reason = NULL;
		}
		if (!reason)
			continue;
		if (!headed++)
			fprintf(f, "not measured here\n");
		fprintf(f, "  ");
		tint_print(f, term, TINT_DIM, "skipped");
		snprintf(text, sizeof text, ": %s", reason);
		term_wrap(f, text, 9, 4, term->width);
		for (int k = e; k < t->plan->nexp; k++) {
			const struct experiment *x = &t->plan->exp[k];
			const char *its = skipped_whole(t, k, &points);

			if (!its || strcmp(its, reason))
				continue;
			snprintf(text, sizeof text, "%s (probe %s): %d point%s", x->title ? x->title : x->name,
				 x->probe ? x->probe : "path", points, points == 1 ? "" : "s");
			fprintf(f, "    ");
			term_wrap(f, text, 4, 6, term->width);
		}
	}
	if (headed)
		fputc('\n', f);
}

void table_print(const struct table *t, FILE *f)
{
	int n[FS_FAILED + 1] = { 0 }, measured = 0, at, points;
	struct term term;
	char text[160];

	term_look(fileno(f), &term);
	for (int e = 0; e < t->plan->nexp; e++) {
		struct form m;

		form_of(&m, t, e, f);
		if (m.rows && !skipped_whole(t, e, &points))
			print_experiment(&m);
	}
	print_skipped(t, &term, f);
	for (int i = 0; i < t->plan->npoints; i++) {
		measured += t->line[i].reps > 0;
		n[t->line[i].status] += t->line[i].reps > 0;
	}
	at = snprintf(text, sizeof text, "%d point%s: %d ok, %d flagged, %d skipped, %d failed", t->plan->npoints,
		      t->plan->npoints == 1 ? "" : "s", n[FS_OK], n[FS_FLAGGED], n[FS_SKIPPED], n[FS_FAILED]);
	if (measured < t->plan->npoints)
		snprintf(text + at, sizeof text - (size_t)at, ", %d not measured", t->plan->npoints - measured);
	term_wrap(f, text, 0, 2, term.width);
}
