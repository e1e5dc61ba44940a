/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a round trip beside others on a GPU, as those of contended_gpu.cu; the last block replies, which
 * is the second one where the others are on another GPU. */
extern "C" {
#include "stages/completion/contended_gpu.h"
}

template <int ORD, int FORM, int KIND>
__global__ void __launch_bounds__(32, 1) cont_trip_kernel(const __grid_constant__ struct cont_trip_args h)
{
	__shared__ struct planter planter;
	uint32_t smid, number = blockIdx.x == gridDim.x - 1 ? h.a.q.agents : blockIdx.x;

	if (threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	h.a.q.out[number].smid = smid;
	cont_trip_agent(&h, number, &planter, ORD, FORM, KIND);
}

static const struct { int index; const void *fn; } kernels[] = {
#define X(o, f, k) { (ORD_##o * SHARE_FORMS + FORM_##f) * POST_KINDS + POST_##k, (const void *)cont_trip_kernel<ORD_##o, FORM_##f, POST_##k> },
	FS_CONTS(X)
#undef X
};
static_assert(sizeof(kernels) / sizeof(kernels[0]) == ORDERINGS * 3 * 2, "every order stands with all forms and kinds");

const void *cont_trip_kernel_of(struct cont_choice c)
{
	for (const auto &k : kernels)
		if (k.index == (c.ord * SHARE_FORMS + c.form) * POST_KINDS + c.kind)
			return k.fn;
	return NULL;
}
