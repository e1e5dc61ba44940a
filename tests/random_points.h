/* SPDX-License-Identifier: Apache-2.0 */
/* What a test draws its random points with: the same ones in every run, from a seed that the test sets. */
#ifndef FS_RANDOM_POINTS_H
#define FS_RANDOM_POINTS_H

#include "tests/points.h"
#include "tests/random.h"

static uint64_t seed;

static inline uint64_t below(uint64_t n) { return draw_below(&seed, n); }

static inline void set_number(struct point *pt, const char *name, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	assert_int_equal(fs_point_set(pt, name, text), 0);
}

/* One of the variable's first `words` words: any, since what can't be is refused by the probe. */
static inline void set_word(struct point *pt, const char *name, uint64_t words)
{
	pt->val[fs_var_find(name)] = (struct value){ .word = (int)below(words), .pair = -1 };
}

#endif
