/* SPDX-License-Identifier: Apache-2.0 */
/* Climbing the ladder: which rungs, and what each gave. */
#include "stages/translation/ladder.h"
#include "harness/err.h"
#include "harness/stats.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const arm_names[ARMS] = { [ARM_ONE] = "one", [ARM_FOUR] = "four", [ARM_PACKED] = "packed" };

uint32_t arm_share_shift(const struct ladder *l, enum arm arm)
{
	return arm == ARM_ONE ? 0 : arm == ARM_FOUR ? 2 : l->page_shift - l->line_shift;
}

/* The k-th rung: octaves of four even steps, so that four times a rung is one too. */
static uint64_t rung_lines(unsigned k)
{
	return (uint64_t)(RUNG_LEAST + k % OCTAVE) << k / OCTAVE;
}

static uint64_t pages_of(const struct ladder *l, enum arm arm, uint64_t lines)
{
	uint32_t s = arm_share_shift(l, arm);

	return (lines + ((uint64_t)1 << s) - 1) >> s;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void interval_of(struct rung *r)
{
	double x[CHASES];

	memcpy(x, r->ns, sizeof(x));
	qsort(x, CHASES, sizeof(*x), by_size);
	r->lo = x[3];
	r->hi = x[CHASES - 4];
	r->mid = quantile_sorted(x, CHASES, 0.5);
}

static int rung_add(struct ladder *l, enum arm arm, uint64_t lines, int tries, ladder_fn *measure, void *ctx)
{
	struct rung *r;
	int rc;

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;

		if (!(r = reallocarray(l->rung, cap, sizeof(*r))))
			return fs_fail(ENOMEM, "no memory for %zu rungs", cap);
		l->rung = r;
		l->cap = cap;
	}
	r = &l->rung[l->n];
	for (int i = 0; i < tries; i++) {
		struct rung try = { .arm = arm, .lines = lines, .pages = pages_of(l, arm, lines) };

		if ((rc = measure(ctx, arm, lines, try.ns)))
			return rc;
		interval_of(&try);
		l->again += i > 0;
		if (!i || try.hi - try.lo < r->hi - r->lo)
			*r = try;
		if (r->hi - r->lo <= RUNG_WIDE * r->mid)
			break;
	}
	l->n++;
	return 0;
}

/* Does an arm have so many lines within the bytes? The arms that count pages begin where
 * each has RUNG_LEAST of them, and end where a warm pass does. */
static int arm_has(const struct ladder *l, enum arm arm, uint64_t lines)
{
	uint64_t pages = pages_of(l, arm, lines);

	if (arm == ARM_PACKED)
		return lines << l->line_shift <= l->bytes;
	return pages << l->page_shift <= l->bytes && pages <= PAGES_MAX && pages >= RUNG_LEAST &&
	       (arm == ARM_ONE || lines % 4 == 0);
}

int ladder_climb(struct ladder *l, ladder_fn *measure, void *ctx)
{
	unsigned k = 0;
	int rc = 0;

	for (;;) {
		uint64_t lines = rung_lines(k);
		int more = arm_has(l, ARM_ONE, lines) || arm_has(l, ARM_FOUR, lines);

		for (int a = 0; a < ARMS && !rc; a++)
			if (arm_has(l, (enum arm)a, lines))
				rc = rung_add(l, (enum arm)a, lines, more ? RUNG_TRIES : 1, measure, ctx);
		if (rc)
			return rc;
		if (!arm_has(l, ARM_PACKED, lines))
			break;
		/* where there is nothing to compare, an octave a step will do; the
		 * arm four begins an octave or two after the arm one */
		k += more || lines < 4 * RUNG_LEAST ? 1 : OCTAVE;
	}
	/* the whole of it, which need not be a rung */
	return ladder_find(l, ARM_PACKED, l->bytes >> l->line_shift) ? 0 :
	       rung_add(l, ARM_PACKED, l->bytes >> l->line_shift, 1, measure, ctx);
}

void ladder_term(struct ladder *l)
{
	free(l->rung);
	l->rung = NULL;
	l->n = l->cap = 0;
}

const struct rung *ladder_find(const struct ladder *l, enum arm arm, uint64_t lines)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->rung[i].arm == arm && l->rung[i].lines == lines)
			return &l->rung[i];
	return NULL;
}
