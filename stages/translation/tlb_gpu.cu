/* SPDX-License-Identifier: Apache-2.0 */
/* The chase of the probe `tlb` on a GPU: many threads write the lines, one follows them. */
extern "C" {
#include "harness/err.h"
#include "stages/place/gpu.h"
#include "stages/translation/chase.h"
}
#include <errno.h>

enum { LAY_THREADS = 256, LAY_BLOCKS_MAX = 4096 };

/* In the order of the cycle, nearly: what is chased first was written first. */
__global__ void __launch_bounds__(LAY_THREADS) lay_kernel(const __grid_constant__ struct lay l)
{
	uint64_t stride = (uint64_t)gridDim.x * LAY_THREADS;

	for (uint64_t k = (uint64_t)blockIdx.x * LAY_THREADS + threadIdx.x; k < l.laid; k += stride)
		lay_line(&l, k);
}

__global__ void __launch_bounds__(32) chase_kernel(const __grid_constant__ struct chase c)
{
	if (!threadIdx.x)
		chase_run(&c);
}

extern "C" int chase_gpu_lay(const struct lay *l, int owner, double patience_s)
{
	uint64_t blocks = (l->laid + LAY_THREADS - 1) / LAY_THREADS;
	struct gpu *g = gpu_of(owner);
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", owner);
	if (blocks > LAY_BLOCKS_MAX)
		blocks = LAY_BLOCKS_MAX;
	lay_kernel<<<(unsigned)blocks, LAY_THREADS, 0, (cudaStream_t)g->issue_stream>>>(*l);
	rc = gpu_error(cudaGetLastError(), "the kernel that lays lines");
	return rc ? rc : gpu_wait(g->issue_stream, patience_s, "the kernel that lays lines");
}

extern "C" int chase_gpu_run(const struct chase *c, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct chase copy = *c;
	void *args[] = { &copy };
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	rc = gpu_launch(g, (const void *)chase_kernel, 32, args, 0, g->issue_stream, "the chase's kernel");
	return rc ? rc : gpu_wait(g->issue_stream, patience_s, "the chase's kernel");
}
