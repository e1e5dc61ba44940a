/* SPDX-License-Identifier: Apache-2.0 */
/* One fence with stores under way, on a GPU. */
extern "C" {
#include "harness/err.h"
#include "stages/issue/fence.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

template <int FENCE>
__global__ void __launch_bounds__(32) fence_kernel(const __grid_constant__ struct fence_args a, const struct seat seat)
{
	if (seat_taken(seat) && !threadIdx.x)
		fence_loop(&a, FENCE);
}

/* NULL: a CPU's. */
static const void *kernel_of(int fence)
{
	switch (fence) {
#define X(NAME, word, help) case FENCE_##NAME: return (const void *)fence_kernel<FENCE_##NAME>;
	FS_FENCES_BOTH(X)
	FS_FENCES_GPU(X)
#undef X
	}
	return NULL;
}

extern "C" int fence_gpu_run(const struct fence_args *a, int fence, int device, double patience_s)
{
	const void *kernel = kernel_of(fence);
	struct gpu *g = gpu_of(device);
	struct fence_args copy = *a;
	int rc;

	if (!g || !kernel)
		return fs_fail(ENODEV, g ? "a GPU has no such fence" : "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { &copy, &seat };

	rc = gpu_launch_seat(g, kernel, 32, args, 0, g->issue_stream, &seat, "the fence's kernel");
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, "the fence's kernel");
	return rc ? rc : gpu_seated(&seat, "the fence's kernel");
}
