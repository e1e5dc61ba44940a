/* SPDX-License-Identifier: Apache-2.0 */
/* The bare posting loop on a GPU. */
extern "C" {
#include "harness/err.h"
#include "stages/issue/floor.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

template <int ORD, int MODE>
__global__ void __launch_bounds__(32) floor_kernel(const __grid_constant__ struct floor_args a, const struct seat seat)
{
	if (seat_taken(seat) && !threadIdx.x)
		floor_loop(&a, ORD, MODE);
}

static const void *const kernels[ORDERINGS * WORD_DOORBELLS] = {
#define X(o, d) (const void *)floor_kernel<ORD_##o, DBM_##d>,
	FS_FLOORS(X)
#undef X
};
#define X(o, d) + (ORD_##o * WORD_DOORBELLS + DBM_##d)
static_assert(0 FS_FLOORS(X) == ORDERINGS * WORD_DOORBELLS * (ORDERINGS * WORD_DOORBELLS - 1) / 2,
	      "every combination stands once");
#undef X

extern "C" int floor_gpu_run(const struct floor_args *a, int ord, int mode, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct floor_args copy = *a;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { &copy, &seat };

	rc = gpu_launch_seat(g, kernels[ord * WORD_DOORBELLS + mode], 32, args, 0, g->issue_stream, &seat, "the floor's kernel");
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, "the floor's kernel");
	return rc ? rc : gpu_seated(&seat, "the floor's kernel");
}
