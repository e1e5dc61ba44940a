/* SPDX-License-Identifier: Apache-2.0 */
/* A point of the probe `launch`, between its parts: what is asked, memory and rows are
 * in launch.c, what is started and the starts in launch_start.c. */
#ifndef FS_LAUNCH_PARTS_H
#define FS_LAUNCH_PARTS_H

#include "stages/issue/launch.h"
#include "stages/path.h"

struct launch_conf { struct path_conf path; int start, flag_place; uint32_t first_ns, bell_ns; };

/* Readings of one start, in ticks of the CPU, and the agent's stamp. */
struct lap { uint64_t decided, called, rung, ended, stamp; };

struct launch {
	struct launch_conf c;
	struct buf flag, words, counts;
	struct launch_side side;
	struct echo echo;
	uint64_t asked;                  /* questions that a CPU's agent has answered; its own */
	struct timeline cpu, agent;
	struct offset before, after;
	struct launch_gpu *gpu;
	struct service *thread;
	struct lap *lap;                 /* [messages] */
	uint64_t asleep, starts;
	uint64_t mono_zero;              /* CLOCK_MONOTONIC_RAW at cpu.zero */
};

/* Round trips between the clocks, by an agent that runs for them alone. */
int launch_clocks(struct launch *l, struct offset *o);
/* All starts of the point, one at a time. Both: -EBUSY when something may still run, and
 * all memory has to stay; -ETIMEDOUT. */
int launch_starts(struct launch *l);

#endif
