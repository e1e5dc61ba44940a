/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare posting loop (HD): the same stores, orders and doorbell as the path,
 * with no reservation, no availability check, no look-up of keys and no
 * completion. What submitting costs at least.
 */
#ifndef FS_FLOOR_H
#define FS_FLOOR_H

#include "stages/queue/pace.h"
#include "stages/queue/queue.h"

#define FS_FLOORS_DB(X, o) X(o, RECORD_RING) X(o, RING_RECORD_RING) X(o, RING)
#define FS_FLOORS(X) \
	FS_FLOORS_DB(X, NONE) FS_FLOORS_DB(X, GPU_FENCE) FS_FLOORS_DB(X, GPU_FENCE_RECORD) \
	FS_FLOORS_DB(X, GPU_RELEASE) FS_FLOORS_DB(X, THREADFENCE) FS_FLOORS_DB(X, SYS_FENCE) \
	FS_FLOORS_DB(X, SYS_FENCE_RECORD) FS_FLOORS_DB(X, SYS_RELEASE)

struct floor_args {
	struct queue q;
	struct resolved to;
	uint32_t len, settle, gap_ticks;
	int32_t gettime;
	uint64_t warmup, messages, seed;
	uint64_t *samples;          /* [messages], ticks */
	struct clock_pair *pairs;   /* [2] around the measured messages */
	uint64_t *unsettled;
};

HD void floor_loop(const struct floor_args *a, const int ord, const int mode)
{
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	uint64_t m = 0, end = ~(uint64_t)0, first = 0, rnd = a->seed | 1;

	for (;; m++) {
		uint64_t w[WQE_WORDS];
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
		t0 = ticks(a->gettime);
		wqe_build(&a->q, w, m, &a->to, 0, a->len, POST_INLINE);
		wqe_store(&a->q, m, w, a->len, POST_INLINE);
		doorbell_store(&a->q, ring_prepare(&a->q, m + 1, ord, mode), ord);
		t0 = ticks(a->gettime) - t0;
		if (end != ~(uint64_t)0)
			a->samples[m - first] = t0;
	}
	a->pairs[1] = clock_pair_read(a->gettime);
}

/* On a GPU: floor_gpu.cu. */
int floor_gpu_run(const struct floor_args *a, int ord, int mode, int device, double patience_s);

#endif
