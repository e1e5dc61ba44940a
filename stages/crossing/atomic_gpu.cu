/* SPDX-License-Identifier: Apache-2.0 */
/* Fetch-and-adds of one word by GPU threads. */
extern "C" {
#include "harness/err.h"
#include "stages/crossing/atomic.h"
#include "stages/place/gpu.h"
}
#include <errno.h>

enum { MEET_NS = 1000000000 };

/* All blocks are resident (the probe sees to that), so they can wait for each other. */
__device__ void meet(const struct atomic_args *a, struct atomic_out *out)
{
	uint64_t t0 = wall_ticks_ns();

	out->alone = 0;
	fetch_add(a->arrived, 1, 1);
	while (ld64(a->arrived) < a->thread_blocks)
		if (wall_ticks_ns() - t0 > MEET_NS) {
			out->alone = 1;
			return;
		}
}

/* The first thread of each block warms up alone; the others of it wait. */
template <int SYS>
__global__ void __launch_bounds__(1024) atomic_kernel(const __grid_constant__ struct atomic_args a)
{
	struct atomic_out *out = a.out + blockIdx.x;
	uint64_t v = 0;

	if (!threadIdx.x) {
		v = atomic_warm(&a, out, SYS);
		meet(&a, out);
	}
	__syncthreads();
	if (!threadIdx.x)
		out->begin = clock_pair_read(0);
	atomic_loop(&a, v, threadIdx.x | blockIdx.x ? nullptr : a.samples, SYS);
	__syncthreads();
	if (!threadIdx.x)
		out->end = clock_pair_read(0);
}

extern "C" int atomic_gpu_run(const struct atomic_args *a, int sys, unsigned blocks, unsigned threads, int device,
			      double patience_s)
{
	const void *fn = sys ? (const void *)atomic_kernel<1> : (const void *)atomic_kernel<0>;
	struct gpu *g = gpu_of(device);
	struct atomic_args copy = *a;
	void *args[] = { &copy };
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	rc = gpu_launch_grid(g, fn, blocks, threads, 0, args, 0, g->issue_stream, "the kernel of atomics");
	return rc ? rc : gpu_wait(g->issue_stream, patience_s, "the kernel of atomics");
}
