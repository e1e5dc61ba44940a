/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of the stores on GPUs: one thread each. */
extern "C" {
#include "harness/err.h"
#include "stages/crossing/store.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

template <int FENCE>
__global__ void __launch_bounds__(32) post_kernel(const __grid_constant__ struct store_args a, const struct seat seat)
{
	if (seat_taken(seat) && !threadIdx.x)
		store_posted(&a, FENCE);
}

static const void *const post_kernels[AFTERS] = {
	(const void *)post_kernel<AFTER_NONE>, (const void *)post_kernel<AFTER_RELEASE_GPU>,
	(const void *)post_kernel<AFTER_RELEASE_SYS>, (const void *)post_kernel<AFTER_SC_GPU>,
	(const void *)post_kernel<AFTER_SC_SYS>,
};
static_assert(AFTER_NONE == 0 && AFTER_SC_SYS == AFTERS - 1, "in the order of the words");

__global__ void __launch_bounds__(32) ask_kernel(const __grid_constant__ struct store_args a, const struct seat seat)
{
	if (seat_taken(seat) && !threadIdx.x)
		store_ask(&a);
}

__global__ void __launch_bounds__(32) answer_kernel(const __grid_constant__ struct store_args a, const uint32_t *stop,
						    uint32_t *ready, const struct seat seat)
{
	struct answerer r = { 0, 0, 0, { 0, 0 } };

	if (!seat_taken(seat) || threadIdx.x)
		return;
	r.begin = clock_pair_read(0);
	st32_release_sys(ready, 1);
	while (store_answer(&a, &r) || !ld32(stop))
		;
	store_answered(&a, &r);
}

/* One kernel with `a` and its seat as arguments, to its end. */
static int run(const struct store_args *a, const void *fn, int device, double patience_s, const char *what)
{
	struct gpu *g = gpu_of(device);
	struct store_args copy = *a;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { &copy, &seat };

	rc = gpu_launch_seat(g, fn, 32, args, 0, g->issue_stream, &seat, what);
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, what);
	return rc ? rc : gpu_seated(&seat, what);
}

extern "C" int store_gpu_post(const struct store_args *a, int fence, int device, double patience_s)
{
	return run(a, post_kernels[fence], device, patience_s, "the kernel of stores");
}

extern "C" int store_gpu_ask(const struct store_args *a, int device, double patience_s)
{
	return run(a, (const void *)ask_kernel, device, patience_s, "the kernel of answered stores");
}

extern "C" int store_gpu_answer(const struct store_args *a, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct store_args copy = *a;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	/* the other side's kernel too, should it be this device's */
	if ((rc = gpu_resident_prepare(g)) || (rc = gpu_load(g, (const void *)ask_kernel, "the kernel of answered stores")))
		return rc;
	struct seat seat = gpu_nic_seat(g);
	void *args[] = { &copy, &g->stop, &g->ready, &seat };

	rc = gpu_launch_seat(g, (const void *)answer_kernel, 32, args, 0, g->nic_stream, &seat, "the answering kernel");
	return rc ? rc : gpu_resident_ready(g, patience_s, "the answering kernel");
}

extern "C" int store_gpu_stop(int device, double patience_s)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_resident_stop(g, patience_s, "the answering kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}
