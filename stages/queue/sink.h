/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an agent's marks and plants go. Marks are collected for a block of
 * messages in shared memory (a GPU) or a cache-sized array (a CPU), never
 * stored to global memory inside the path, and flushed between blocks.
 *
 * Bare code (instr = 0) knows nothing of this but the two outer marks of an
 * issuer: `instr` is a literal wherever it is passed.
 */
#ifndef FS_SINK_H
#define FS_SINK_H

#include "stages/queue/hd.h"
#include "stages/queue/mark.h"

/* Columns of an agent's record. */
enum issuer_slot { IS_INTENT, IS_RESERVED, IS_RESOLVED, IS_BUILT, IS_RUNG, IS_NOTICED, IS_POLLS, ISSUER_SLOTS = 8 };
enum nic_slot { NS_SEEN, NS_STARTED, NS_FETCHED, NS_TRANSLATED, NS_READ, NS_WRITTEN, NS_COMPLETED, NIC_SLOTS = 8 };
enum { SINK_SLOTS = 8 };

/* Both readings of a clock at (nearly) one moment. */
struct clock_pair { uint64_t ticks, wall; };

HD struct clock_pair clock_pair_read(int gettime)
{
	struct clock_pair p;

	p.ticks = ticks(gettime);
	p.wall = wall_ticks_ns();
	return p;
}

/* marks = rotate: message m shows pair m mod pairs, as two marks. */
enum { ROTATE_MAX = 16 };

struct sink_conf {
	uint32_t all;            /* bit a mark: every message shows these */
	uint32_t rotate;         /* > 0: how many pairs rotate */
	uint32_t pair[ROTATE_MAX]; /* their two bits */
	int32_t plant[2];        /* marks with a wait before them, -1: none */
	uint32_t plant_ns[2];    /* the second is the one that no checker is told */
	int32_t gettime;         /* CPU: stamp with clock_gettime instead of the TSC */
	uint32_t block;          /* messages between two flushes, a power of two */
};

struct sink {
	uint64_t *stage;         /* [block][SINK_SLOTS] */
	uint32_t mask;           /* the current message's marks */
	int64_t debt[2];         /* ns that the waits still owe, < 0: were too long */
};

HD void sink_message(struct sink *k, const struct sink_conf *c, uint64_t message)
{
	k->mask = c->rotate ? c->pair[message % c->rotate] : c->all;
}

HD void sink_put(struct sink *k, const struct sink_conf *c, uint64_t message, int slot, uint64_t t)
{
	k->stage[(message & (c->block - 1)) * SINK_SLOTS + slot] = t;
}

/*
 * A real wait of `ns`, timed by the wall clock (%globaltimer, or
 * CLOCK_MONOTONIC_RAW), which is not the clock that stamps. That clock is
 * coarse (32 ns on a GPU), so what one wait had too much the next has less: the
 * mean is right to the cost of entering and leaving.
 */
HD void wait_owed(int64_t *debt, uint32_t ns)
{
	uint64_t t0 = wall_ticks_ns(), t;

	*debt += ns;
	do
		t = wall_ticks_ns();
	while ((int64_t)(t - t0) < *debt);
	*debt -= (int64_t)(t - t0);
}

HD void plant(struct sink *k, const struct sink_conf *c, int mark, const int instr)
{
	if (!instr)
		return;
	if (c->plant[0] == mark)
		wait_owed(&k->debt[0], c->plant_ns[0]);
	if (c->plant[1] == mark)
		wait_owed(&k->debt[1], c->plant_ns[1]);
}

#endif
