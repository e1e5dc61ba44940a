/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `quiet` on a GPU: one thread. */
extern "C" {
#include "harness/err.h"
#include "stages/completion/quiet.h"
#include "stages/place/gpu.h"
}
#include <errno.h>

template <int ORD>
__global__ void __launch_bounds__(32, 1) quiet_kernel(const __grid_constant__ struct quiet_args a)
{
	uint32_t smid;

	if (threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	a.out->smid = smid;
	quiet_run(&a, ORD);
}

static const void *const kernels[ORDERINGS] = {
#define X(o) (const void *)quiet_kernel<ORD_##o>,
	FS_QUIETS(X)
#undef X
};
#define X(o) + ORD_##o
static_assert(0 FS_QUIETS(X) == ORDERINGS * (ORDERINGS - 1) / 2, "every order stands once");
#undef X

int quiet_gpu_load(int ord, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_load(g, kernels[ord], "the posting kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}

int quiet_gpu_run(const struct quiet_args *a, int ord, unsigned beside, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct quiet_args copy = *a;
	void *args[] = { &copy };
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	rc = gpu_launch_grid(g, kernels[ord], 1, 32, beside, args, 0, g->issue_stream, "the posting kernel");
	return rc ? rc : gpu_wait(g->issue_stream, patience_s, "the posting kernel");
}
