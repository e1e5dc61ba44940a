/* SPDX-License-Identifier: Apache-2.0 */
/* The posting loops of rates on a GPU: one kernel for each order, form, payload and
 * whether spans are summed; of WQEs of two blocks where a queue is one thread's. */
extern "C" {
#include "harness/err.h"
#include "stages/handoff/rate.h"
#include "stages/place/gpu.h"
}
#include <errno.h>

/* A block's own words, where threads of a block share a queue. */
static __shared__ uint64_t block_share[SHARE_BYTES / 8];

template <int ORD, int FORM, int KIND, int SPANS>
__global__ void __launch_bounds__(RATE_THREADS_MAX, 1) rate_kernel(const __grid_constant__ struct rate_args a)
{
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, smid;
	struct coop c = { 0, 1 };
	struct rate_agent g;

	if (form_teams(FORM)) {
		c.lane = (int)(threadIdx.x & 31);
		c.nlanes = 32;
		thread /= 32;
	}
	if (FORM == FORM_BLOCK) {
		for (uint32_t i = threadIdx.x; i < SHARE_BYTES / 8; i += blockDim.x)
			block_share[i] = 0;
		__syncthreads();
		rate_begin(&a, &g, thread, blockIdx.x);
		g.share = (uint8_t *)block_share;
	} else {
		rate_begin(&a, &g, thread, thread % a.queues);
	}
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	if (!c.lane)
		a.out[thread].smid = smid;
	rate_run(&a, &g, c, ORD, FORM, KIND, SPANS);
}

static const void *const kernels[ORDERINGS * RATE_FORMS][2][2] = {
#define X(o, f) { \
	{ (const void *)rate_kernel<ORD_##o, FORM_##f, POST_INLINE, 0>, (const void *)rate_kernel<ORD_##o, FORM_##f, POST_INLINE, 1> }, \
	{ (const void *)rate_kernel<ORD_##o, FORM_##f, POST_WRITE, 0>, (const void *)rate_kernel<ORD_##o, FORM_##f, POST_WRITE, 1> } },
	FS_RATES(X)
#undef X
};
#define X(o, f) + (ORD_##o * RATE_FORMS + FORM_##f)
static_assert(0 FS_RATES(X) == ORDERINGS * RATE_FORMS * (ORDERINGS * RATE_FORMS - 1) / 2, "every combination stands once");
#undef X

static const void *const two_kernels[ORDERINGS][2] = {
#define X(o, f) { (const void *)rate_kernel<ORD_##o, FORM_##f, POST_INLINE2, 0>, (const void *)rate_kernel<ORD_##o, FORM_##f, POST_INLINE2, 1> },
	FS_RATES_TWO(X)
#undef X
};
#define X(o, f) + (ORD_##o * RATE_FORMS + FORM_##f)
static_assert(0 FS_RATES_TWO(X) == ORDERINGS * (ORDERINGS - 1) / 2 * RATE_FORMS + ORDERINGS * FORM_SOLO, "every order stands once");
#undef X

/* NULL: two blocks are built for queues that are one thread's (rate_conf.c refuses the others). */
static const void *kernel_of(int ord, int form, int kind, int spans)
{
	if (kind == POST_INLINE2)
		return form == FORM_SOLO ? two_kernels[ord][spans] : NULL;
	return kernels[ord * RATE_FORMS + form][kind == POST_WRITE][spans];
}

int rate_gpu_load(int ord, int form, int kind, int spans, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_load(g, kernel_of(ord, form, kind, spans), "the posting kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}

int rate_gpu_run(const struct rate_args *a, int ord, int form, int kind, int spans, unsigned blocks, unsigned threads,
		 unsigned beside, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct rate_args copy = *a;
	void *args[] = { &copy };
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	rc = gpu_launch_grid(g, kernel_of(ord, form, kind, spans), blocks, threads, beside, args, 0, g->issue_stream, "the posting kernel");
	return rc ? rc : gpu_wait(g->issue_stream, patience_s, "the posting kernel");
}
