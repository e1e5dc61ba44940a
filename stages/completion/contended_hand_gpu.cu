/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents of a contended message, and of a round trip beside others, that hand over to workers on a GPU, as those of
 * contended_gpu.cu: one kernel for each form of a proxy and either trip, bare or with a ring that is overrun.
 */
extern "C" {
#include "stages/completion/contended_gpu.h"
}

template <int ROUND, int MODE, int INSTR>
__global__ void __launch_bounds__(32, 1) cont_hand_kernel(const __grid_constant__ struct cont_trip_args h, const __grid_constant__ struct cont_hands x)
{
	__shared__ struct planter planter;
	uint32_t smid;

	if (threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	h.a.q.out[blockIdx.x].smid = smid;
	cont_hand_agent(&h, &x, blockIdx.x, &planter, ROUND, MODE, INSTR);
}
static_assert(sizeof(struct cont_trip_args) + sizeof(struct cont_hands) <= 4096, "arguments that every launch takes");

const void *cont_hand_kernel_of(struct cont_choice c)
{
#define X(t, m, i) \
	if (c.trip == TRIP_##t && c.mode == MODE_##m && c.instr == HAND_##i) \
		return (const void *)cont_hand_kernel<TRIP_##t == TRIP_ROUND, MODE_##m, HAND_##i>;
	FS_CONT_HANDS(X)
#undef X
	return NULL;
}
