/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a contended message on a GPU: one thread each, in a block of its own, so that the
 * scheduler puts them on SMs of their own while there are some. */
extern "C" {
#include "harness/err.h"
#include "stages/completion/contended_gpu.h"
#include "stages/place/start.h"
}
#include <errno.h>

template <int ORD, int FORM, int KIND>
__global__ void __launch_bounds__(32, 1) cont_kernel(const __grid_constant__ struct cont_args a)
{
	uint32_t smid;

	if (threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	a.q.out[blockIdx.x].smid = smid;
	cont_agent(&a, blockIdx.x, ORD, FORM, KIND);
}

static const struct { int index; const void *fn; } kernels[] = {
#define X(o, f, k) { (ORD_##o * SHARE_FORMS + FORM_##f) * POST_KINDS + POST_##k, (const void *)cont_kernel<ORD_##o, FORM_##f, POST_##k> },
	FS_CONTS(X)
#undef X
};
static_assert(sizeof(kernels) / sizeof(kernels[0]) == ORDERINGS * 3 * 2, "every order stands with all forms and kinds");

static const void *kernel_of(struct cont_choice c)
{
	if (mode_hands(c.mode))
		return cont_hand_kernel_of(c);
	if (c.trip == TRIP_ROUND)
		return cont_trip_kernel_of(c);
	for (const auto &k : kernels)
		if (k.index == (c.ord * SHARE_FORMS + c.form) * POST_KINDS + c.kind)
			return k.fn;
	return NULL;
}

static const char what[] = "the kernel of contended messages";

int cont_gpu_load(struct cont_choice c)
{
	struct gpu *g = gpu_of(c.device);
	int rc = g ? gpu_load(g, kernel_of(c), what) : fs_fail(ENODEV, "gpu %d is not in use", c.device);

	return rc ? rc : cont_far_load(c);
}

int cont_gpu_run(const struct cont_trip_args *h, const struct cont_hands *x, struct cont_choice c, double patience_s)
{
	struct gpu *g = gpu_of(c.device);
	struct cont_trip_args copy = *h;
	struct cont_hands hands = *x;
	void *args[] = { &copy, &hands }; /* a kernel takes what it has: the second where workers post, without round trips the first part of the first */
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", c.device);
	if ((rc = cont_far_launch(h, c)))
		return rc;
	rc = c.refused ? gpu_error(START_REFUSED, "injected: the kernel of contended messages") :
			 gpu_launch_grid(g, kernel_of(c), c.agents - c.far_agents, 32, c.beside, args, 0, g->issue_stream, what);
	return cont_far_end(h, c, rc ? rc : gpu_wait(g->issue_stream, patience_s, what));
}
