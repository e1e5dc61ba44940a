/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents of a round trip on GPUs that hand their messages over to workers, a thread each, as
 * those of rtt_gpu.cu: one kernel for each form of a proxy, bare or with a ring that is overrun.
 */
extern "C" {
#include "stages/completion/rtt_gpu.h"
}

/* `role`: of its first block. */
template <int MODE, int INSTR>
__global__ void __launch_bounds__(32, 1) rtt_handing_kernel(const __grid_constant__ struct rtt_hand_args h, uint32_t role)
{
	__shared__ struct planter planter;
	uint32_t smid;

	if (threadIdx.x)
		return;
	role += blockIdx.x;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	h.r.out[role].smid = smid;
	rtt_hand_over(&h, &planter, (int)role, MODE, INSTR);
}

const void *rtt_hand_kernel(struct rtt_choice c)
{
#define X(m, i) \
	if (c.mode == MODE_##m && c.instr == HAND_##i) \
		return (const void *)rtt_handing_kernel<MODE_##m, HAND_##i>;
	FS_RTT_HANDS(X)
#undef X
	return NULL;
}
