/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pace of a measuring loop: random pauses that keep two poll loops from
 * locking in phase, and a warm-up that lasts until the clock's rate is steady. HD.
 */
#ifndef FS_PACE_H
#define FS_PACE_H

#include "stages/queue/sink.h"

enum {
	POLLS_PER_LOOK = 256,      /* polls between two looks at the deadline */
	SETTLE_LOOKS_MAX = 20000,
};

/* xorshift64: Marsaglia, Xorshift RNGs, 2003. *rnd is not 0. */
HD uint32_t random_below(uint64_t *rnd, uint32_t below)
{
	*rnd ^= *rnd << 13;
	*rnd ^= *rnd >> 7;
	*rnd ^= *rnd << 17;
	return (uint32_t)((*rnd >> 32) * (uint64_t)below >> 32);
}

HD void wait_ticks(uint32_t n, int gettime)
{
	uint64_t t0 = ticks(gettime);

	while (ticks(gettime) - t0 < n)
		;
}

/* A bounded wait's bookkeeping: looks at the wall clock now and then. */
struct waiting { uint64_t wall0; uint32_t polls; };

HD int wait_over(struct waiting *w, uint64_t wait_ns)
{
	uint64_t now;

	if (++w->polls % POLLS_PER_LOOK)
		return 0;
	now = wall_ticks_ns();
	if (!w->wall0)
		w->wall0 = now;
	return now - w->wall0 > wait_ns;
}

/* Has the ratio of the two clocks stayed within 0.5 % over four spans of 100 us
 * or more? (The clock of an idle SM is a fraction of a busy one's.) */
struct settling { struct clock_pair p0; uint64_t ticks, wall; uint32_t calm, looks; };

/* 1: steady; -1: it never was, and there is no end to waiting; 0: not yet. */
HD int settled(struct settling *g, struct clock_pair p)
{
	uint64_t t = p.ticks - g->p0.ticks, w = p.wall - g->p0.wall, a, b;

	if (g->calm >= 4)
		return 1;
	if (g->looks++ >= SETTLE_LOOKS_MAX)
		return -1;
	if (w < 100000)
		return 0;
	/* t / w against ticks / wall, crosswise: spans are far below 2^32 */
	a = t * g->wall;
	b = g->ticks * w;
	g->calm = (a > b ? a - b : b - a) < b / 256 + b / 1024 ? g->calm + 1 : 0;
	g->ticks = t;
	g->wall = w;
	g->p0 = p;
	return 0;
}

#endif
