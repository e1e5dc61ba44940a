/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an agent's marks and plants go. Marks are collected for a block of
 * messages in shared memory (a GPU) or a cache-sized array (a CPU), never
 * stored to global memory inside the path, and flushed between blocks.
 *
 * Code is specialised by a literal `instr`:
 *   BARE  no trace of marks, but intent and noticed of an issuer
 *   ALL   every mark, unconditionally, kept in registers and put into the record
 *         when the agent has nothing better to do
 *   FLEX  marks by a mask (rotate), plants and faults: a test at each, which
 *         costs several times the mark itself
 */
#ifndef FS_SINK_H
#define FS_SINK_H

#include "stages/queue/hd.h"
#include "stages/queue/mark.h"

enum { BARE, ALL, FLEX, INSTRS,
	MUTE = INSTRS /* a loop of the BARE code: not even intent and noticed, for rates */ };

/* Columns of an agent's record. */
enum issuer_slot { IS_INTENT, IS_RESERVED, IS_RESOLVED, IS_BUILT, IS_RUNG, IS_NOTICED, IS_POLLS, ISSUER_SLOTS = 8 };
enum nic_slot { NS_SEEN, NS_STARTED, NS_FETCHED, NS_TRANSLATED, NS_READ, NS_WRITTEN, NS_COMPLETED,
	NS_LOOKED /* no mark: lookups << 8 | hits of the translation cache, where there is one */, NIC_SLOTS = 8 };
enum { SINK_SLOTS = 8 };

enum { WAIT_DEBT = 1000 }; /* ns that a wait may be too long and the next ones shorter */
/* Waits of a round, and rounds, that find out what a wait costs. */
#ifdef __CUDA_ARCH__
enum { CALIBRATING = 256, CALIBRATIONS = 5 }; /* its wall clock has steps: the mean of many */
#else
enum { CALIBRATING = 4, CALIBRATIONS = 321, CALIBRATED_NS = 2000 }; /* it may be taken away in any of them: many short ones */
#endif

/* Both readings of a clock at (nearly) one moment. A CPU that is taken away between them
 * would spoil the rate of a block: there the closest of some pairs serves, the first
 * that is close enough ends it. */
struct clock_pair { uint64_t ticks, wall; };
enum { PAIR_TRIES = 8, PAIR_TICKS = 1024 };

HD struct clock_pair clock_pair_read(int gettime)
{
#ifdef __CUDA_ARCH__
	struct clock_pair p;

	p.ticks = ticks(gettime);
	p.wall = wall_ticks_ns();
#else
	struct clock_pair p = { 0, 0 };
	uint64_t least = ~(uint64_t)0;

	for (int i = 0; i < PAIR_TRIES && least > PAIR_TICKS; i++) {
		uint64_t t = ticks(gettime), wall = wall_ticks_ns(), gap = ticks(gettime) - t;

		if (gap < least) {
			least = gap;
			p.ticks = t;
			p.wall = wall;
		}
	}
#endif
	return p;
}

/* marks = rotate: message m shows pair m mod pairs, as two marks. */
enum { ROTATE_MAX = 16 };

struct sink_conf {
	uint32_t all;            /* bit a mark: every message shows these */
	uint32_t rotate;         /* > 0: how many pairs rotate */
	uint32_t pair[ROTATE_MAX]; /* their two bits */
	int32_t plant[2];        /* marks with a wait before them in every second block, -1: none */
	uint32_t plant_ns[2];    /* the second is the one that no checker is told */
	int32_t gettime;         /* CPU: stamp with clock_gettime instead of the TSC */
	uint32_t block;          /* messages between two flushes, a power of two */
};

/* The waits of an agent: in shared memory on a GPU, since a wait is a call and
 * whatever a call is given an address of can't stay in registers. */
struct planter {
	int32_t mark[2];
	int32_t ns[2];
	int64_t debt[2];         /* ns still owed; < 0: the last wait was too long */
	int32_t cost;            /* ns that a wait lasts beyond what it waits for */
};

/* An agent's own part, in its registers. Addresses are of shared memory on a GPU
 * (a 32-bit window), plain pointers on a CPU. */
struct sink {
	uint64_t base;           /* [block][SINK_SLOTS] words */
	uint64_t at;             /* the current message's record */
	uint32_t mask;           /* its marks */
	uint32_t plants;         /* bit a mark: there is a wait before it in this message */
	uint32_t armed;          /* the same, in planted blocks */
	uint32_t block;          /* as in the sink_conf, as is */
	int32_t gettime;
	struct planter *planter;
};

HD uint64_t sink_at(const struct sink *k, uint64_t message)
{
	return k->base + (uint64_t)((uint32_t)message & (k->block - 1)) * (SINK_SLOTS * 8);
}

/*
 * Blocks with and without waits, one of each in every two from an even one on, for both agents alike: what drifts is
 * the same in both. Which of the two comes first is the Thue-Morse sequence's choice: by turns, those with waits
 * would have one half of a ring's slots for ever and the others the other, and slots differ in where their
 * lines live (over NVLink by up to 100 ns of a crossing). A block is a power of two, and so its number's digits
 * are the message's.
 */
HD int block_planted(uint64_t message, uint32_t block)
{
	uint32_t b = (uint32_t)message & (0u - block);

	b ^= b >> 16;
	b ^= b >> 8;
	b ^= b >> 4;
	return 0x6996 >> (b & 15) & 1; /* 1 at those of 16 with an odd number of ones */
}

/* The message whose marks come next. */
HD void sink_message(struct sink *k, const struct sink_conf *c, uint64_t message, const int instr)
{
	k->at = sink_at(k, message);
	if (instr == FLEX) {
		k->mask = c->rotate ? c->pair[(uint32_t)message % c->rotate] : c->all;
		if (!((uint32_t)message & (c->block - 1)))
			k->plants = block_planted(message, c->block) ? k->armed : 0;
	}
}

/* Takes a mark, unless this message doesn't show it. */
HD void sink_stamp(const struct sink *k, int mark, uint64_t *t, const int instr)
{
	if (instr == ALL || (instr == FLEX && k->mask >> mark & 1))
		*t = ticks(k->gettime);
}

HD void sink_stamp_after(const struct sink *k, int mark, uint32_t dep, uint64_t *t, const int instr)
{
	if (instr == ALL || (instr == FLEX && k->mask >> mark & 1))
		*t = ticks_after(k->gettime, dep);
}

HD void sink_put(uint64_t at, int slot, uint64_t t)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.shared.b64 [%0], %1;" : : "r"((uint32_t)at + (uint32_t)slot * 8), "l"(t) : "memory");
#else
	((uint64_t *)at)[slot] = t;
#endif
}

/* The block's records, for a flush. */
HD const uint64_t *sink_stage(const struct sink *k)
{
#ifdef __CUDA_ARCH__
	return (const uint64_t *)__cvta_shared_to_generic((size_t)k->base);
#else
	return (const uint64_t *)k->base;
#endif
}

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

/* A real wait of ns from t0 on, timed by the wall clock (%globaltimer, or
 * CLOCK_MONOTONIC_RAW), which is not the clock that stamps. That clock is coarse
 * (32 ns on a GPU), so what one wait had too much the next has less: takes and
 * adds to the debt. Returns when it ended. */
HD uint64_t wait_owed(int64_t *debt, int32_t ns, uint64_t t0)
{
	int64_t owed = *debt + ns;
	uint64_t t;

	do
		t = wall_ticks_ns();
	while ((int64_t)(t - t0) < owed);
	/* a wait that was interrupted is one wait's, or the next ones would not take place */
	*debt = owed - (int64_t)(t - t0) < -WAIT_DEBT ? 0 : owed - (int64_t)(t - t0);
	return t;
}

/* Called, not inlined: a path without plants holds no more of it than a test. */
HD_CALLED void planter_wait(struct planter *p, int mark)
{
	uint64_t t = wall_ticks_ns();

	for (int i = 0; i < 2; i++)
		if (p->mark[i] == mark)
			t = wait_owed(&p->debt[i], p->ns[i] - p->cost, t);
}

HD void plant(const struct sink *k, int mark, const int instr)
{
	if (instr == FLEX && UNLIKELY(k->plants >> mark & 1))
		planter_wait(k->planter, mark);
}

/* A wait that stands behind a load: it begins when the value has arrived, or it
 * would hide the load's latency. So that this is all that differs, blocks without
 * the wait see the value arrive at the same place. */
HD void plant_after(const struct sink *k, int mark, uint32_t dep, const int instr)
{
	if (instr == FLEX && UNLIKELY(k->armed >> mark & 1))
		ticks_after(k->gettime, dep);
	plant(k, mark, instr);
}

/* One wait, or as many marks as stand around one, behind a random pause: the
 * phase against the steps of the wall clock is as it is in the path. */
HD void planter_try(const struct sink *k, uint64_t *rnd, int wait)
{
	wait_ticks(random_below(rnd, 256), k->gettime);
	ticks(k->gettime);
	if (wait)
		plant(k, 0, FLEX);
	ticks(k->gettime);
}

/* ns that so many turns take, with their waits or without. */
HD int64_t planter_turns(struct planter *p, const struct sink *k, int wait, int turns)
{
	uint64_t rnd = 0x9e3779b97f4a7c15u, t0 = wall_ticks_ns();

	p->debt[0] = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (int i = 0; i < turns; i++)
		planter_try(k, &rnd, wait);
	/* what is still owed would have been waited too */
	return (int64_t)(wall_ticks_ns() - t0) + p->debt[0];
}

/* Finds out what a wait lasts beyond what it is meant to (entering it, leaving it,
 * the steps of its clock), by the clock that times it: waits of the planted
 * length, less the same turns without. The median of several rounds, on a CPU of
 * many short ones, of no more than 8 us: where others want the CPU too, most of the longer ones would be
 * interrupted (threads that sleep and run by turns of 10 to 100 us made 25 us of 0.05), and the cost found
 * would be as long as the wait, which then wouldn't take place. The first one fetches the code. */
HD void planter_begin(struct planter *p, const struct sink_conf *c)
{
	const struct sink k = { 0, 0, 0, 1, 1, 1, c->gettime, p };
	int32_t ns = (int32_t)(c->plant[0] >= 0 ? c->plant_ns[0] : c->plant_ns[1]), cost[CALIBRATIONS];

#ifdef __CUDA_ARCH__
	/* of long waits fewer: what they cost matters less */
	int turns = ns > 20000 ? CALIBRATING / 32 : CALIBRATING;
#else
	int turns = CALIBRATING;

	/* nor does it grow with their length */
	ns = ns < CALIBRATED_NS ? ns : CALIBRATED_NS;
#endif

	p->mark[0] = 0;
	p->mark[1] = -2; /* no mark */
	p->ns[0] = ns;
	p->ns[1] = 0;
	p->cost = 0;
	for (int round = -1; round < CALIBRATIONS; round++) {
		int64_t all = planter_turns(p, &k, 1, turns) - planter_turns(p, &k, 0, turns);
		int32_t x = (int32_t)(all / turns) - ns;
		int i = round;

		if (round < 0)
			continue;
		for (; i > 0 && cost[i - 1] > x; i--)
			cost[i] = cost[i - 1];
		cost[i] = x;
	}
	p->cost = cost[CALIBRATIONS / 2];
	for (int i = 0; i < 2; i++) {
		p->mark[i] = c->plant[i];
		p->ns[i] = (int32_t)c->plant_ns[i];
		p->debt[i] = 0;
	}
}

/* `stage`: block * SINK_SLOTS words; with `p` in shared memory on a GPU. */
HD void sink_begin(struct sink *k, const struct sink_conf *c, uint64_t *stage, struct planter *p, const int instr)
{
#ifdef __CUDA_ARCH__
	/* opaque, so that it is kept and not made again at every mark */
	asm volatile("mov.b64 %0, %1;" : "=l"(k->base) : "l"((uint64_t)__cvta_generic_to_shared(stage)));
#else
	k->base = (uint64_t)stage;
#endif
	k->at = k->base;
	k->mask = 0;
	k->plants = k->armed = 0;
	k->block = c->block;
	k->gettime = c->gettime;
	k->planter = p;
	for (int i = 0; i < 2; i++)
		if (c->plant[i] >= 0)
			k->armed |= 1u << c->plant[i];
	if (instr == FLEX && k->armed)
		planter_begin(p, c);
}

#endif
