/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a plant may be from where it belongs: the one table of tolerances,
 * each with its reason. A limit is the larger of `ns` and `share` of the plant.
 */
#ifndef FS_TOLERANCE_H
#define FS_TOLERANCE_H

#include <math.h>

enum claim {
	CLAIM_OWN,       /* the interval that ends in the plant's mark grows by it */
	CLAIM_OTHER,     /* no other interval changes */
	CLAIM_CROSSING,  /* nor do the hops, taken together */
	CLAIM_WALL,      /* wall time per message grows by it */
	CLAIMS
};

struct tolerance { double ns, share; const char *why; };

/* [0]: a GPU thread waits, [1]: a CPU thread does */
static const struct tolerance tolerances[2][CLAIMS] = {
	{
		{ 16, 0.05, "the wait ends on a timer step: up to one step too long" },
		{ 16, 0, "half the 32 ns step of %globaltimer" },
		{ 48, 0, "two hops, each with the phase of a poll loop, and the total: three steps of 16" },
		{ 5, 0.02, "a block of messages under one reading, and many blocks: the step averages out" },
	}, {
		{ 100, 0.05, "the waiting loop overshoots by up to a turn, on a core shared with others" },
		{ 100, 0.02, "caches and frequency differ between two blocks" },
		{ 300, 0.06, "two hops and the total, each as above" },
		{ 100, 0.02, "as above: a block that was interrupted lengthens every message a little" },
	},
};

static inline double tolerance_ns(int cpu, enum claim c, double plant_ns)
{
	const struct tolerance *t = &tolerances[cpu != 0][c];

	return fmax(t->ns, t->share * plant_ns);
}

#endif
