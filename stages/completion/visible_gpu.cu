/* SPDX-License-Identifier: Apache-2.0 */
/* Writer and reader of `visible` on GPUs: a block each. */
extern "C" {
#include "harness/err.h"
#include "stages/completion/visible.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

static __device__ __forceinline__ uint32_t smid_now(void)
{
	uint32_t smid;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	return smid;
}

template <int FENCE, int WARP>
__global__ void __launch_bounds__(32) write_kernel(const __grid_constant__ struct visible_args a, const uint32_t *stop, uint32_t *ready,
						   const struct seat seat)
{
	struct visible_writer w = { 0, a.seed | 1 };
	const struct coop c = { WARP ? (int)threadIdx.x : 0, WARP ? 32 : 1 };

	if (!seat_taken(seat) || (!WARP && threadIdx.x))
		return;
	if (!c.lane)
		st32_release_sys(ready, 1);
	/* the stop word is the first lane's to read, so that all end in the same turn */
	while (visible_write(&a, &w, FENCE, c) || !coop_from(c, c.lane ? 0 : ld32(stop), 0))
		;
	if (!c.lane)
		visible_written(&a, &w, smid_now());
}

/* NULL: a CPU's fence. */
template <int WARP>
static const void *write_kernel_of(int fence)
{
	switch (fence) {
#define X(NAME, word, help) case FENCE_##NAME: return (const void *)write_kernel<FENCE_##NAME, WARP>;
	FS_FENCES_BOTH(X)
	FS_FENCES_GPU(X)
#undef X
	}
	return NULL;
}

template <int ACQUIRE, int LOADED, int FORM>
__global__ void __launch_bounds__(32) read_kernel(const __grid_constant__ struct visible_args a, const struct seat seat)
{
	if (!seat_taken(seat) || threadIdx.x)
		return;
	a.out->smid = smid_now();
	visible_read(&a, ACQUIRE, LOADED, FORM);
}

#define FORMS(acquire, loaded) { (const void *)read_kernel<acquire, loaded, FORM_VISIBLE_BARE>, \
				 (const void *)read_kernel<acquire, loaded, FORM_VISIBLE_TIMED>, \
				 (const void *)read_kernel<acquire, loaded, FORM_VISIBLE_EARLY> }
static const void *const read_kernels[ACQUIRES][PAYLOAD_LOADS][VISIBLE_FORMS] = {
#define X(NAME, word, help) { FORMS(ACQUIRE_##NAME, LOADED_RELAXED), FORMS(ACQUIRE_##NAME, LOADED_PLAIN) },
	FS_ACQUIRES(X)
#undef X
};
static_assert(FORM_VISIBLE_BARE == 0 && FORM_VISIBLE_TIMED == 1 && FORM_VISIBLE_EARLY == 2 && VISIBLE_FORMS == 3, "as above");
static_assert(LOADED_RELAXED == 0 && LOADED_PLAIN == 1 && PAYLOAD_LOADS == 2, "as above");

extern "C" int visible_gpu_write(const struct visible_args *a, int fence, int warp, int device, double patience_s)
{
	const void *kernel = warp ? write_kernel_of<1>(fence) : write_kernel_of<0>(fence);
	struct gpu *g = gpu_of(device);
	struct visible_args copy = *a;
	int rc;

	if (!g || !kernel)
		return fs_fail(ENODEV, g ? "a GPU has no such fence" : "gpu %d is not in use", device);
	if ((rc = gpu_resident_prepare(g)))
		return rc;
	struct seat seat = gpu_nic_seat(g);
	void *args[] = { &copy, &g->stop, &g->ready, &seat };

	rc = gpu_launch_seat(g, kernel, 32, args, 0, g->nic_stream, &seat, "the writer's kernel");
	return rc ? rc : gpu_resident_ready(g, patience_s, "the writer's kernel");
}

extern "C" int visible_gpu_stop(int device, double patience_s)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_resident_stop(g, patience_s, "the writer's kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}

extern "C" int visible_gpu_load(int acquire, int loaded, int form, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_load(g, read_kernels[acquire][loaded][form], "the reader's kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}

extern "C" int visible_gpu_read(const struct visible_args *a, int acquire, int loaded, int form, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct visible_args copy = *a;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { &copy, &seat };

	rc = gpu_launch_seat(g, read_kernels[acquire][loaded][form], 32, args, 0, g->issue_stream, &seat, "the reader's kernel");
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, "the reader's kernel");
	return rc ? rc : gpu_seated(&seat, "the reader's kernel");
}
