/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pace of a measuring loop: random pauses that keep two poll loops from
 * locking in phase, and a warm-up that lasts until the clock's rate is steady. HD.
 */
#ifndef FS_PACE_H
#define FS_PACE_H

#include "stages/queue/sink.h"
#include "stages/queue/wqe.h"

enum {
	POLLS_PER_LOOK = 256,      /* polls of a CQE between two looks at the deadline */
	DOORBELL_LOOKS = 1024,     /* at a quiet doorbell between two looks at the stop word: the
				    * way there and back is long beside a poll */
	SETTLE_LOOKS_MAX = 20000,
};

/*
 * The poll loops, the same ones for the path and for what it is compared with.
 * They hold nothing that is not needed in every turn: the period of a poll is a
 * part of the crossing, and on a GPU a turn is a load and some ten cycles an
 * instruction. What has ended them is stamped right behind them by the caller.
 */

/* The last word of a CQE, until it is of this lap, or *polls, which counts, reaches
 * a multiple of POLLS_PER_LOOK. */
HD uint64_t poll_cqe(const uint8_t *at, uint32_t lap, uint32_t *polls)
{
	uint64_t w7;

	for (;;) {
		w7 = ld64_poll(at);
		++*polls;
		if (cqe_valid(w7, lap) | !(*polls % POLLS_PER_LOOK))
			return w7;
		relax_cpu();
	}
}

/* The last word of a collapsed CQ's one CQE, until it covers `index`; as above. */
HD uint64_t poll_covering(const uint8_t *at, uint32_t index, uint32_t window, uint32_t *polls)
{
	uint64_t w7;

	for (;;) {
		w7 = ld64_poll(at);
		++*polls;
		if (cqe_covers(w7, index, window) | !(*polls % POLLS_PER_LOOK))
			return w7;
		relax_cpu();
	}
}

/* A doorbell, until it is another one than `old`; DOORBELL_LOOKS looks at most. */
HD uint64_t poll_doorbell(const uint8_t *at, uint64_t old)
{
	uint32_t looks = 0;
	uint64_t db;

	for (;;) {
		db = ld64_poll(at);
		looks++;
		if ((db != old) | (looks == DOORBELL_LOOKS))
			return db;
		relax_cpu();
	}
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
