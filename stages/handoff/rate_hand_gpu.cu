/* SPDX-License-Identifier: Apache-2.0 */
/* GPU threads that hand messages over to workers: one kernel for each form of a proxy, bare, with spans
 * summed, or with a fault. */
extern "C" {
#include "harness/err.h"
#include "stages/handoff/rate_hand.h"
#include "stages/place/gpu.h"
}
#include <errno.h>

template <int FORM, int INSTR>
__global__ void __launch_bounds__(RATE_THREADS_MAX, 1) hand_kernel(const __grid_constant__ struct hand_args h)
{
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, smid;
	struct rate_agent g;

	rate_begin(&h.r, &g, thread, thread % h.r.queues);
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	h.r.out[thread].smid = smid;
	hand_run(&h, &g, FORM, INSTR);
}

static const void *const kernels[PROXY_FORMS][HAND_INSTRS] = {
	{ (const void *)hand_kernel<PROXY_TUNED, HAND_BARE>, (const void *)hand_kernel<PROXY_TUNED, HAND_SPANS>,
	  (const void *)hand_kernel<PROXY_TUNED, HAND_FAULTY> },
	{ (const void *)hand_kernel<PROXY_BASELINE, HAND_BARE>, (const void *)hand_kernel<PROXY_BASELINE, HAND_SPANS>,
	  (const void *)hand_kernel<PROXY_BASELINE, HAND_FAULTY> },
};
static_assert(PROXY_TUNED == 0 && PROXY_BASELINE == 1 && HAND_BARE == 0 && HAND_SPANS == 1 && HAND_FAULTY == 2,
	      "the table is in the order of the words");

int hand_gpu_load(int form, int instr, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_load(g, kernels[form][instr], "the issuing kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}

int hand_gpu_run(const struct hand_args *h, int form, int instr, unsigned blocks, unsigned threads, unsigned beside, int device,
		 double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct hand_args copy = *h;
	void *args[] = { &copy };
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	rc = gpu_launch_grid(g, kernels[form][instr], blocks, threads, beside, args, 0, g->issue_stream, "the issuing kernel");
	return rc ? rc : gpu_wait(g->issue_stream, patience_s, "the issuing kernel");
}
