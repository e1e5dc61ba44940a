/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetch-and-adds of one word, for both sides (HD): each thread's adds depend on
 * each other, since the address of one comes from the value of the one before.
 */
#ifndef FS_ATOMIC_H
#define FS_ATOMIC_H

#include "stages/queue/pace.h"

enum { ATOMIC_BLOCK = 64 };      /* adds between two readings of the clock */

/* One for each thread block, or CPU thread: its first thread's. */
struct atomic_out {
	struct clock_pair begin, end; /* around its measured adds */
	uint64_t warm_adds;           /* that it made before, alone of its block */
	uint64_t unsettled;
	uint64_t alone;               /* 1: it did not wait until the others were there */
};

struct atomic_args {
	uint8_t *word;
	uint64_t warmup, blocks;     /* adds before; blocks of adds, by each thread */
	uint32_t settle;
	int32_t gettime;
	uint64_t *samples;           /* [blocks], of the very first thread */
	struct atomic_out *out;      /* [thread blocks] */
	uint64_t *arrived;           /* on a GPU: how many thread blocks are warm */
	uint64_t thread_blocks;
};

/* Returns the value before. */
HD uint64_t fetch_add(void *p, uint64_t x, const int sys)
{
#ifdef __CUDA_ARCH__
	uint64_t v;

	if (sys)
		asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;" : "=l"(v) : "l"(p), "l"(x) : "memory");
	else
		asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(v) : "l"(p), "l"(x) : "memory");
	return v;
#else
	(void)sys;
	return __atomic_fetch_add((uint64_t *)p, x, __ATOMIC_RELAXED);
#endif
}

/* The sum stays below 2^63, so the address is always the same one, which nobody
 * but the thread that has waited for the value can know. */
HD uint64_t atomic_block(const struct atomic_args *a, uint64_t v, const int sys)
{
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
	for (int i = 0; i < ATOMIC_BLOCK; i++)
		v = fetch_add(a->word + (v >> 63 << 3), 1, sys);
	return v;
}

/* Before the measured adds, by the first thread of each block alone. Returns the last value. */
HD uint64_t atomic_warm(const struct atomic_args *a, struct atomic_out *out, const int sys)
{
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	uint64_t v = 0, n = 0;
	int calm;

	for (;; n += ATOMIC_BLOCK) {
		calm = a->settle ? settled(&g, clock_pair_read(a->gettime)) : 1;
		if (calm && n >= a->warmup)
			break;
		v = atomic_block(a, v, sys);
	}
	out->unsettled = calm < 0;
	out->warm_adds = n;
	return v;
}

/* The measured adds; `samples` is NULL for all threads but the first. */
HD void atomic_loop(const struct atomic_args *a, uint64_t v, uint64_t *samples, const int sys)
{
	for (uint64_t b = 0; b < a->blocks; b++) {
		uint64_t t = ticks_after(a->gettime, (uint32_t)v);

		v = atomic_block(a, v, sys);
		t = ticks_after(a->gettime, (uint32_t)v) - t;
		if (samples)
			samples[b] = t;
	}
}

/* On a GPU: atomic_gpu.cu. */
int atomic_gpu_run(const struct atomic_args *a, int sys, unsigned blocks, unsigned threads, int device, double patience_s);

#endif
