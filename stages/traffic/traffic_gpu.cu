/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a load: a piece is read, written or copied by a few blocks and is over. */
extern "C" {
#include "stages/traffic/traffic.h"
#include "stages/place/gpu.h"
}
#include <cuda_runtime.h>

enum { THREADS = 512, AHEAD = 8 };

/* Loads are volatile: what is read and not used would be left out. */
template <int KIND>
__global__ void __launch_bounds__(THREADS) traffic_kernel(uint4 *dst, const uint4 *src)
{
	const uint32_t n = TRAFFIC_PIECE / sizeof(uint4), step = TRAFFIC_BLOCKS * THREADS;

	for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += step * AHEAD) {
		uint4 v[AHEAD];

#pragma unroll
		for (int k = 0; k < AHEAD; k++) {
			uint32_t at = i + (uint32_t)k * step;

			v[k] = make_uint4(at, at, at, at);
			if (KIND != TRAFFIC_SM_WRITE && at < n)
				asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
					     : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w) : "l"(src + at));
		}
#pragma unroll
		for (int k = 0; k < AHEAD; k++) {
			uint32_t at = i + (uint32_t)k * step;

			if (KIND != TRAFFIC_SM_READ && at < n)
				dst[at] = v[k];
		}
	}
}

int traffic_gpu_kernel(int kind, void *dst, const void *src, void *stream)
{
	const void *fn = kind == TRAFFIC_SM_READ ? (const void *)traffic_kernel<TRAFFIC_SM_READ> :
			 kind == TRAFFIC_SM_WRITE ? (const void *)traffic_kernel<TRAFFIC_SM_WRITE> : (const void *)traffic_kernel<TRAFFIC_HBM>;
	void *args[] = { &dst, &src };
	int device, all = 0, rc;

	/* All shared memory of an SM, so that no block of a victim stands on one with it: the two
	 * would share what issues their accesses, and no link has a part in that. */
	if ((rc = gpu_error(cudaGetDevice(&device), "a kernel of the load")) ||
	    (rc = gpu_error(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "a kernel of the load")) ||
	    (rc = gpu_error(cudaFuncSetAttribute(fn, cudaFuncAttributeMaxDynamicSharedMemorySize, all), "a kernel of the load")))
		return rc;
	return gpu_error(cudaLaunchKernel(fn, dim3(TRAFFIC_BLOCKS), dim3(THREADS), args, (size_t)all, (cudaStream_t)stream), "a kernel of the load");
}
