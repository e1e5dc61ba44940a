/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependent loads, for both sides (HD): each address is what the load before it
 * has brought, so a block of them takes as long as its loads one after the other.
 */
#ifndef FS_LOAD_H
#define FS_LOAD_H

#include "stages/queue/pace.h"

enum { LOAD_BLOCK = 256 };       /* loads between two readings of the clock */
enum { LOAD_FLOORS = 64 };       /* empty blocks */

struct load_args {
	const uint8_t *start;
	uint64_t warmup, blocks;     /* loads before, at least; blocks of loads */
	uint32_t settle;
	int32_t gettime;
	uint64_t *samples;           /* [blocks], ticks of LOAD_BLOCK loads */
	struct clock_pair *pairs;    /* [2], around the measured blocks */
	struct load_out *out;
};

struct load_out {
	uint64_t loads;              /* warm-up included */
	uint64_t end;                /* the address that they led to */
	uint64_t unsettled;          /* 1: the clock's rate was still moving */
	uint64_t floor_ticks;        /* of LOAD_FLOORS empty blocks */
};

HD uint64_t load_block(uint64_t at)
{
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
	for (int i = 0; i < LOAD_BLOCK; i++)
		at = ld64((const void *)at);
	return at;
}

HD void load_loop(const struct load_args *a)
{
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	uint64_t at = (uint64_t)a->start, n = 0, floor = 0, t;
	int calm;

	for (;; n += LOAD_BLOCK) {
		calm = a->settle ? settled(&g, clock_pair_read(a->gettime)) : 1;
		if (calm && n >= a->warmup)
			break;
		at = load_block(at);
	}
	a->out->unsettled = calm < 0;
	a->pairs[0] = clock_pair_read(a->gettime);
	for (uint64_t b = 0; b < a->blocks; b++) {
		t = ticks_after(a->gettime, (uint32_t)at);
		at = load_block(at);
		a->samples[b] = ticks_after(a->gettime, (uint32_t)at) - t;
	}
	a->pairs[1] = clock_pair_read(a->gettime);
	for (int i = 0; i < LOAD_FLOORS; i++) {
		t = ticks_after(a->gettime, (uint32_t)at);
		floor += ticks_after(a->gettime, (uint32_t)at) - t;
	}
	a->out->loads = n + a->blocks * LOAD_BLOCK;
	a->out->end = at;
	a->out->floor_ticks = floor;
}

/* On a GPU: load_gpu.cu. */
int load_gpu_run(const struct load_args *a, int device, double patience_s);

#endif
