/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the probe `path` (path_rows.c) that say what a planted wait has changed: blocks with it and blocks
 * without it alternate, and their differences are taken by pairs.
 */
#include "harness/err.h"
#include "stages/path.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double mean_of(const double *x, uint64_t n)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Of ten pairs or more a tenth of the differences is left out at either end: a stolen
 * time slice in one block is no property of a plant. The interval is that of a trimmed mean
 * (Tukey and McLaughlin, 1963: the deviation of the winsorised values).
 */
int paired_summary(double *d, uint64_t n, struct summary *s)
{
	uint64_t cut = n >= 10 ? n / 10 : 0, kept = n - 2 * cut;
	double mean, half, *w;
	struct summary wins;
	int rc;

	if (!n)
		return fs_fail(EINVAL, "no pair of blocks");
	qsort(d, n, sizeof(*d), by_size);
	if (!(w = malloc(n * sizeof(*w))))
		return fs_fail(ENOMEM, "no memory for pairs of blocks");
	memcpy(w, d, n * sizeof(*w));
	for (uint64_t i = 0; i < cut; i++) {
		w[i] = d[cut];
		w[n - 1 - i] = d[n - 1 - cut];
	}
	mean = mean_of(d + cut, kept);
	rc = summary_of(w, n, 1, &wins);
	if (!rc)
		rc = summary_of(d, n, 1, s);
	if (rc) {
		free(w);
		return rc;
	}
	/* of as many degrees of freedom as are kept, as theirs is; a mean's interval has those of all */
	half = cut ? (wins.ci_hi - wins.ci_lo) / 2 * (double)n / (double)kept * student95((double)kept - 1) / student95((double)n - 1) :
		     (wins.ci_hi - wins.ci_lo) / 2;
	s->mean = mean;
	s->ci_lo = mean - half;
	s->ci_hi = mean + half;
	free(w);
	return rc;
}

/* The same of messages with a wait and without it: n of each, by blocks. */
struct series { const double *planted, *plain; uint64_t n; uint32_t block; };

/* Each pair is a block of either series, which are neighbours or nearly so; t: NULL: a whole stage. */
static int delta_row(struct series x, const char *stage, const struct interval *t, const struct path_conf *c, struct rows *out)
{
	struct row *r = path_row(out, c, stage, "plant_delta", "ns");
	uint64_t blocks = x.n / x.block;
	double *d = malloc((blocks + 1) * sizeof(*d));
	int rc;

	if (!r || !d) {
		free(d);
		return fs_fail(ENOMEM, "no memory for pairs of blocks");
	}
	if (t)
		snprintf(r->interval, sizeof(r->interval), "%s-%s", mark_table[t->from].name, mark_table[t->to].name);
	for (uint64_t i = 0; i < blocks; i++)
		d[i] = mean_of(x.planted + i * x.block, x.block) - mean_of(x.plain + i * x.block, x.block);
	rc = paired_summary(d, blocks, &r->s);
	free(d);
	return rc;
}

int spans_delta_rows(const struct spans *p, const struct spans *b, const struct path_conf *c, struct rows *out)
{
	struct series x = { .n = p->n < b->n ? p->n : b->n, .block = p->block };
	int rc;

	for (int k = 0; k < p->intervals; k++) {
		const struct interval *t = &p->table[k];

		if (interval_is_hop(c->route, t))
			continue;
		x.planted = p->interval[k];
		x.plain = b->interval[k];
		if ((rc = delta_row(x, stage_names[t->stage], t, c, out)))
			return rc;
	}
	x.planted = p->stage[STAGE_CROSSING];
	x.plain = b->stage[STAGE_CROSSING];
	if ((rc = delta_row(x, stage_names[STAGE_CROSSING], NULL, c, out)))
		return rc;
	x.planted = p->total;
	x.plain = b->total;
	return delta_row(x, "total", NULL, c, out);
}

int wall_delta_row(const struct pass *p, uint32_t block, const struct path_conf *c, struct rows *out)
{
	uint64_t n[2] = { 0, 0 }, blocks = p->messages / block;
	struct row *r = path_row(out, c, "-", "plant_wall", "ns");
	double *d = malloc((blocks + 1) * sizeof(*d)), *wall[2] = { NULL, NULL };
	int rc = 0;

	for (int w = 0; w < 2; w++)
		wall[w] = malloc((blocks + 1) * sizeof(*wall[w]));
	if (!r || !d || !wall[0] || !wall[1])
		rc = fs_fail(ENOMEM, "no memory for pairs of blocks");
	for (uint64_t b = 0; !rc && b < blocks; b++) {
		int w = block_planted(p->out.first + b * block, block);

		wall[w][n[w]++] = (double)(int64_t)(p->pairs[b + 1].wall - p->pairs[b].wall) / block;
	}
	n[0] = n[0] < n[1] ? n[0] : n[1];
	for (uint64_t i = 0; !rc && i < n[0]; i++)
		d[i] = wall[1][i] - wall[0][i];
	if (!rc)
		rc = paired_summary(d, n[0], &r->s);
	free(d);
	free(wall[0]);
	free(wall[1]);
	return rc;
}
