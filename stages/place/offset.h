/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far an agent's clock is from this CPU's: round trips to an agent that does
 * nothing but stamp (the agent's side is HD). Its stamp lies between the CPU's
 * readings around the trip, so the shortest trip knows the offset best: to half of
 * itself and a step of the agent's clock. The method of NTP (RFC 5905, section 8)
 * with both of the agent's stamps in one.
 */
#ifndef FS_OFFSET_H
#define FS_OFFSET_H

#include "stages/queue/hd.h"

/* The words of a trip, a line each in host memory that both reach. They belong to the
 * caller and outlive the agent. */
struct echo {
	uint64_t *ask;       /* counts questions */
	uint64_t *answer;    /* the stamp that answers the last one; 0: none yet */
	uint64_t *step;      /* of the agent's clock, in its units; the agent writes it before it answers */
	uint64_t skew;       /* a test's: the agent's clock is ahead by so many units */
	int32_t gettime;     /* a CPU agent stamps with clock_gettime */
};

/* A clock as ns since its `zero`: units are counted from there before they become a
 * double, which has no room for ns since an epoch. */
struct timeline { uint64_t zero; double ns_per_unit; };

static inline double timeline_ns(const struct timeline *t, uint64_t stamp)
{
	return (double)(int64_t)(stamp - t->zero) * t->ns_per_unit;
}

/* An agent's own clock: %globaltimer in ns on a GPU, which all its SMs share; on a CPU
 * the one that marks are taken with, in ticks. */
HD uint64_t agent_now(int gettime)
{
#ifdef __CUDA_ARCH__
	(void)gettime;
	return wall_ticks_ns();
#else
	return ticks(gettime);
#endif
}

enum { STEP_READS = 1 << 16 };

/* The smallest step seen in a bounded number of readings; 0: it didn't move. */
HD uint64_t agent_step(int gettime)
{
	uint64_t last = agent_now(gettime), least = 0;

	for (uint32_t i = 0; i < STEP_READS; i++) {
		uint64_t t = agent_now(gettime);

		if (t != last && (!least || t - last < least))
			least = t - last;
		last = t;
	}
	return least;
}

/* The agent, one look: was it asked? The branch has waited for the word. */
HD int echo_answer(const struct echo *e, uint64_t *asked)
{
	uint64_t v = ld64_poll(e->ask);

	if (v == *asked)
		return 0;
	*asked = v;
	st64(e->answer, agent_now(e->gettime) + e->skew);
	return 1;
}

/* ---- the CPU's side: offset.c ---- */

struct offset {
	double at_ns;        /* when, on the CPU's timeline */
	double ns;           /* the agent's timeline less the CPU's */
	double error_ns;     /* it is known to this, either way */
	double trip_ns;      /* the shortest trip */
};

/*
 * Asks `trips` times, or as often as half a second allows, with random pauses in between
 * that keep two poll loops from falling into step. If agent->zero is 0 it becomes the first stamp. -ETIMEDOUT when an
 * answer is missing for 2 s.
 */
int offset_measure(const struct echo *e, const struct timeline *cpu, struct timeline *agent, unsigned trips, struct offset *o);
/* The offset at a time between two measurements, by the clocks' constant rates; good
 * to offset_error(). */
double offset_at(const struct offset *before, const struct offset *after, double at_ns);
double offset_error(const struct offset *before, const struct offset *after);
/* How much faster the agent's clock runs, in parts per million of the CPU's. */
double offset_drift_ppm(const struct offset *before, const struct offset *after);

#endif
