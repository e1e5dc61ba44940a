/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a kernel that has a seat (seat.h, gpu.h). */
#ifndef FS_SEAT_CUH
#define FS_SEAT_CUH

#include "stages/place/gpu.h"
#include "stages/queue/hd.h"

enum { SEAT_NS = 20000000 }; /* that a block waits for another one to take the seat */

/*
 * All threads of a block: does this one run the agent? The others wait until somebody
 * does, since as long as they are there the scheduler goes on to further SMs.
 */
static __device__ __forceinline__ int seat_taken(const struct seat s)
{
	__shared__ int mine;

	if (s.sm < 0)
		return 1;
	if (!threadIdx.x) {
		uint64_t begin = wall_ticks_ns();
		uint32_t smid, last;

		asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
		mine = 0;
		if (smid == (uint32_t)s.sm) {
			asm volatile("atom.relaxed.gpu.exch.b32 %0, [%1], %2;" : "=r"(last) : "l"(s.claim), "r"(s.ticket) : "memory");
			mine = last != s.ticket;
			if (mine)
				st32(s.taken, s.ticket);
		} else {
			while (ld32(s.claim) != s.ticket && wall_ticks_ns() - begin < SEAT_NS)
				;
		}
	}
	__syncthreads();
	return mine;
}

#endif
