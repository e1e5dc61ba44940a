/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fence and the store that waits for it (HD), with stores under way before: what
 * an ordering of the path is made of, each part alone. The store belongs to it: a
 * fence is over when what stands behind it goes on.
 */
#ifndef FS_FENCE_H
#define FS_FENCE_H

#include "stages/queue/pace.h"
#include <stddef.h>

/* X(NAME, word, what it is). A GPU's, and those of an x86 CPU. */
#define FS_FENCES_BOTH(X) \
	X(NONE, "none", "the store alone, relaxed") \
	X(STORE_RELEASE_SYS, "store-release-sys", "st.release.sys; on a CPU a release store")
#define FS_FENCES_GPU(X) \
	X(RELEASE_GPU, "release-gpu", "fence.release.gpu") \
	X(SC_GPU, "sc-gpu", "fence.sc.gpu, which __threadfence() is") \
	X(STORE_RELEASE_GPU, "store-release-gpu", "st.release.gpu") \
	X(RELEASE_SYS, "release-sys", "fence.release.sys") \
	X(SC_SYS, "sc-sys", "fence.sc.sys, which __threadfence_system() is")
#define FS_FENCES_CPU(X) \
	X(SFENCE, "sfence", "SFENCE") \
	X(MFENCE, "mfence", "MFENCE") \
	X(LOCK, "lock", "a LOCK-prefixed addition to the thread's own stack")
#define FS_FENCES(X) FS_FENCES_BOTH(X) FS_FENCES_GPU(X) FS_FENCES_CPU(X)

enum fence {
#define X(NAME, word, help) FENCE_##NAME,
	FS_FENCES(X)
#undef X
	FENCES
};

enum { FENCE_RING = 64 << 10 }; /* bytes that the stores go round */

struct fence_args {
	uint8_t *ring;              /* FENCE_RING bytes, where queue_mem puts them */
	uint8_t *word;              /* the store behind the fence: a line of its own in the same memory */
	uint32_t stores;            /* of 16 B, under way when the fence begins */
	uint32_t settle, gap_ticks;
	int32_t gettime;
	uint64_t warmup, messages, seed;
	uint64_t *samples;          /* [messages], ticks */
	struct clock_pair *pairs;   /* [2] around the measured ones */
	uint64_t *unsettled;
};

/* `f` is a literal. The fences of the other side are refused before. */
HD void fence_store(uint8_t *p, uint64_t v, const int f)
{
#ifdef __CUDA_ARCH__
	if (f == FENCE_RELEASE_GPU)
		release_gpu();
	if (f == FENCE_SC_GPU)
		fence_sc_gpu();
	if (f == FENCE_RELEASE_SYS)
		release_sys();
	if (f == FENCE_SC_SYS)
		asm volatile("fence.sc.sys;" : : : "memory");
	if (f == FENCE_STORE_RELEASE_GPU)
		st64_release_gpu(p, v);
	else if (f == FENCE_STORE_RELEASE_SYS)
		st64_release_sys(p, v);
	else
		st64(p, v);
#else
#ifdef __x86_64__
	uint32_t own = 0;

	if (f == FENCE_SFENCE)
		__asm__ volatile("sfence" : : : "memory");
	if (f == FENCE_MFENCE)
		__asm__ volatile("mfence" : : : "memory");
	if (f == FENCE_LOCK)
		__asm__ volatile("lock; addl $0, %0" : "+m"(own) : : "memory", "cc");
#endif
	if (f == FENCE_STORE_RELEASE_SYS)
		st64_release_sys(p, v);
	else
		st64(p, v);
#endif
}

HD void fence_loop(const struct fence_args *a, const int f)
{
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	uint64_t m = 0, end = ~(uint64_t)0, first = 0, rnd = a->seed | 1;
	uint32_t at = 0;

	for (;; m++) {
		uint64_t t0;

		if (end == ~(uint64_t)0 && m % 128 == 0 && m >= a->warmup) {
			int calm = a->settle ? settled(&g, clock_pair_read(a->gettime)) : 1;

			if (calm) {
				*a->unsettled = calm < 0;
				first = m;
				end = m + a->messages;
				a->pairs[0] = clock_pair_read(a->gettime);
			}
		}
		if (m == end)
			break;
		wait_ticks(a->gap_ticks / 4 + random_below(&rnd, a->gap_ticks), a->gettime);
		for (uint32_t i = 0; i < a->stores; i++, at = (at + 16) % FENCE_RING)
			st64x2(a->ring + at, m, m + i);
		t0 = ticks(a->gettime);
		fence_store(a->word, m, f);
		t0 = ticks(a->gettime) - t0;
		if (end != ~(uint64_t)0)
			a->samples[m - first] = t0;
	}
	a->pairs[1] = clock_pair_read(a->gettime);
}

/* Refuses the point's fence where it is the other side's; `who` is the setting that makes it so. */
struct point;
int fence_side(const struct point *pt, int cpu, const char *who, char *why, size_t len);

/* On a GPU: fence_gpu.cu. */
int fence_gpu_run(const struct fence_args *a, int fence, int device, double patience_s);

#endif
