/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readings of two clocks at once say: at both ends of each block an agent reads its own clock and
 * its wall clock (a CPU's is CLOCK_MONOTONIC_RAW, a GPU's %globaltimer, which all of its SMs share).
 */
#include "stages/path.h"
#include <math.h>

double pairs_rate(const struct clock_pair *p, uint64_t n, uint64_t block)
{
	const struct clock_pair *a = p + block, *b = p + block + 1;

	if (block + 1 >= n || b->wall - a->wall < RATE_SPAN_NS) {
		a = p;
		b = p + n - 1;
	}
	return b->ticks == a->ticks ? NAN : (double)(b->wall - a->wall) / (double)(b->ticks - a->ticks);
}

/* Differences are taken in whole numbers: a wall clock in ns is too long for a double. */
static double from_one(const struct clock_pair *p, uint64_t ticks, double rate, uint64_t since)
{
	return (double)(int64_t)(p->wall - since) + (double)(int64_t)(ticks - p->ticks) * rate;
}

double pairs_at(const struct clock_pair *p, uint64_t n, uint64_t block, uint64_t ticks, uint64_t since)
{
	double rate = pairs_rate(p, n, block), at = from_one(p + block, ticks, rate, since);

	/* each reading is up to a step early: with a whole pass's rate the mean of two is nearer */
	return block + 1 < n ? (at + from_one(p + block + 1, ticks, rate, since)) / 2 : at;
}
