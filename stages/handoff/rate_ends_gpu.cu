/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of all issuers of a rate whose end hands over (rate_ends.h), bare and with spans. */
extern "C" {
#include "harness/err.h"
#include "stages/handoff/rate_ends.h"
#include "stages/place/start.h"
}
#include <errno.h>

template <int SPANS>
__global__ void __launch_bounds__(RATE_THREADS_MAX, 1) ends_kernel(const __grid_constant__ struct ends_args a)
{
	ends_issuer(&a, blockIdx.x * blockDim.x + threadIdx.x, SPANS);
}

static const void *const kernels[2] = { (const void *)ends_kernel<0>, (const void *)ends_kernel<1> };

extern "C" int ends_gpu_open(struct starter *s, struct ends_args *a, int spans, unsigned blocks, unsigned threads, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? start_open(s, g, kernels[spans], blocks, threads, a) : fs_fail(ENODEV, "gpu %d is not in use", device);
}
