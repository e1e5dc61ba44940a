/* SPDX-License-Identifier: Apache-2.0 */
/* Dependent loads of one GPU thread. */
extern "C" {
#include "harness/err.h"
#include "stages/crossing/load.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

__global__ void __launch_bounds__(32) load_kernel(const __grid_constant__ struct load_args a, const struct seat seat)
{
	if (seat_taken(seat) && !threadIdx.x)
		load_loop(&a);
}

extern "C" int load_gpu_run(const struct load_args *a, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct load_args copy = *a;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { &copy, &seat };

	rc = gpu_launch_seat(g, (const void *)load_kernel, 32, args, 0, g->issue_stream, &seat, "the kernel of loads");
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, "the kernel of loads");
	return rc ? rc : gpu_seated(&seat, "the kernel of loads");
}
