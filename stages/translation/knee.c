/* SPDX-License-Identifier: Apache-2.0 */
/* Which knees a ladder has, and whether they follow pages or lines. */
#include "stages/translation/ladder.h"
#include <stdlib.h>

enum { CURVE_MAX = 128 };

/* What an arm's loads take longer than packed ones, by rung. */
struct curve {
	int n;
	uint64_t pages[CURVE_MAX], lines[CURVE_MAX];
	double level[CURVE_MAX];                     /* the arm's own latency */
	double lo[CURVE_MAX], mid[CURVE_MAX], hi[CURVE_MAX]; /* of the excess */
};

/* A rise of it: rungs `last` and `first` stand before and behind the edge; the plateau
 * before it begins at `from`, the one behind at `top`. */
struct rise { int from, last, first, top, open; };

static void curve_of(const struct ladder *l, enum arm arm, struct curve *c)
{
	c->n = 0;
	for (size_t i = 0; i < l->n && c->n < CURVE_MAX; i++) {
		const struct rung *r = &l->rung[i], *p = r->arm == arm ? ladder_find(l, ARM_PACKED, r->lines) : NULL;

		if (!p)
			continue;
		c->pages[c->n] = r->pages;
		c->lines[c->n] = r->lines;
		c->level[c->n] = r->mid;
		c->lo[c->n] = r->lo - p->hi;
		c->mid[c->n] = r->mid - p->mid;
		c->hi[c->n] = r->hi - p->lo;
		c->n++;
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of x[from..to], both included. */
static double middle(const double *x, int from, int to)
{
	double y[CURVE_MAX];
	int n = to - from + 1;

	for (int i = 0; i < n; i++)
		y[i] = x[from + i];
	qsort(y, (size_t)n, sizeof(*y), by_size);
	return n % 2 ? y[n / 2] : (y[n / 2 - 1] + y[n / 2]) / 2;
}

static double tolerance(const struct curve *c, int i)
{
	double t = KNEE_SHARE * c->level[i];

	return t > KNEE_NS ? t : KNEE_NS;
}

static int above(const struct curve *c, int i, double base)
{
	return c->lo[i] > base && c->mid[i] > base + tolerance(c, i);
}

/* Where the rise that begins at i is over: none of the next rungs is higher still. */
static int top_of(const struct curve *c, int i, int *open)
{
	for (; i + 1 < c->n; i++) {
		int higher = 0;

		for (int k = 1; k < KNEE_RUNGS && i + k < c->n; k++)
			higher |= c->mid[i + k] > c->mid[i] + tolerance(c, i);
		if (!higher)
			break;
	}
	*open = i + 1 >= c->n;
	return i;
}

static int rises_of(const struct curve *c, struct rise *r)
{
	int n = 0, from = 0;

	for (int i = PLATEAU_LEAST; i + 1 < c->n && n < KNEES_MAX; i++) {
		double base = middle(c->mid, from, i - 1);
		int high = 1;

		for (int k = 0; k < KNEE_RUNGS && i + k < c->n; k++)
			high &= above(c, i + k, base);
		if (!high)
			continue;
		r[n] = (struct rise){ .from = from, .last = i - 1, .first = i };
		from = r[n].top = top_of(c, i, &r[n].open);
		n++;
		i = from + PLATEAU_LEAST - 1;
	}
	return n;
}

/* Within half an octave: two rungs of the ladder. */
static int near_(uint64_t a, uint64_t b)
{
	return 2 * a <= 3 * b && 2 * b <= 3 * a;
}

static enum knee_follows judge(const struct curve *one, const struct rise *r, const struct curve *four,
			       const struct rise *q, int nq)
{
	enum knee_follows f = FOLLOWS_NEITHER;

	for (int i = 0; i < nq; i++) {
		if (near_(one->pages[r->first], four->pages[q[i].first]))
			return FOLLOWS_PAGES;
		if (near_(one->lines[r->first], four->lines[q[i].first]))
			f = FOLLOWS_LINES;
	}
	return f;
}

/*
 * What is compared are the plateaus next to the rise, an octave of each: further on the
 * packed lines fill more pages than a cache reaches themselves, and their own misses are
 * then missing in the excess.
 */
static int plateau_end(const struct ladder *l, const struct curve *c, const struct rise *r, int end)
{
	uint32_t share = arm_share_shift(l, ARM_PACKED);

	if (end > r->top + OCTAVE - 1)
		end = r->top + OCTAVE - 1;
	while (end > r->top && c->lines[end] >> share >= c->pages[r->last])
		end--;
	return end;
}

int ladder_knees(const struct ladder *l, struct knee *k)
{
	struct rise r[KNEES_MAX], q[KNEES_MAX];
	struct curve one, four;
	int n, nq;

	curve_of(l, ARM_ONE, &one);
	curve_of(l, ARM_FOUR, &four);
	n = rises_of(&one, r);
	nq = rises_of(&four, q);
	for (int i = 0; i < n; i++) {
		int end = plateau_end(l, &one, &r[i], i + 1 < n ? r[i + 1].last : one.n - 1);
		int from = r[i].last - r[i].from < OCTAVE ? r[i].from : r[i].last - OCTAVE + 1;

		k[i] = (struct knee){
			.follows = judge(&one, &r[i], &four, q, nq),
			.pages_lo = one.pages[r[i].last], .pages_hi = one.pages[r[i].first],
			.lines_lo = one.lines[r[i].last], .lines_hi = one.lines[r[i].first],
			.miss_ns = middle(one.mid, r[i].top, end) - middle(one.mid, from, r[i].last),
			.miss_lo = middle(one.lo, r[i].top, end) - middle(one.hi, from, r[i].last),
			.miss_hi = middle(one.hi, r[i].top, end) - middle(one.lo, from, r[i].last),
			.open = r[i].open,
		};
	}
	return n;
}
