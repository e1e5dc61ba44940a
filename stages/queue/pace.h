/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pace of a measuring loop: random pauses that keep two poll loops from
 * locking in phase, a warm-up that lasts until the clock's rate is steady, and how
 * long a wait has lasted. HD.
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
	LOOK_NS_MAX = 100000000,
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

/* Ticks between two polls of a CQE that doesn't come, by POLLS_PER_LOOK of them; on a
 * CPU, which may be taken away in one such look, the median of three. */
HD uint32_t poll_period(const uint8_t *at, uint32_t lap, int gettime)
{
	uint32_t n = 0;
	uint64_t t0 = ticks(gettime);
#ifdef __CUDA_ARCH__
	poll_cqe(at, lap, &n);
	return (uint32_t)(ticks(gettime) - t0) / n;
#else
	uint64_t least = ~(uint64_t)0, most = 0, sum = 0;

	for (int i = 0; i < 3; i++) {
		uint64_t t1, each;

		n = 0;
		poll_cqe(at, lap, &n);
		t1 = ticks(gettime);
		each = (t1 - t0) / n;
		least = each < least ? each : least;
		most = each > most ? each : most;
		sum += each;
		t0 = t1;
	}
	return (uint32_t)(sum - least - most);
#endif
}

/*
 * How long a wait has lasted, by looks at the wall clock; all zero: it begins. Time in
 * which a CPU thread was kept from looking counts LOOK_NS_MAX a look at most: whoever
 * it waits for may have been kept too (a process or a machine that was stopped and goes
 * on), and is given the time to answer.
 */
struct patience { uint64_t looked, waited; };

HD uint64_t patience_look(struct patience *p)
{
	uint64_t now = wall_ticks_ns();
#ifdef __CUDA_ARCH__
	p->looked = p->looked ? p->looked : now; /* since when */
	return now - p->looked;
#else
	uint64_t step = p->looked ? now - p->looked : 0;

	p->looked = now;
	p->waited += step < LOOK_NS_MAX ? step : (uint64_t)LOOK_NS_MAX;
	return p->waited;
#endif
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
