/* SPDX-License-Identifier: Apache-2.0 */
/* Host pages that GPUs reach, and how much memory a GPU has left. */
#include "harness/err.h"
#include "stages/place/gpu.h"
#include "stages/place/pages.h"
#include <cuda_runtime_api.h>
#include <errno.h>

int pages_pin(const struct pages *g)
{
	struct cudaPointerAttributes at;
	int rc = gpu_error(cudaHostRegister(g->p, g->bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
			   "host memory for the GPU");

	if (rc)
		return rc;
	rc = gpu_error(cudaPointerGetAttributes(&at, g->p), "pointer attributes");
	if (!rc && (at.type != cudaMemoryTypeHost || at.devicePointer != at.hostPointer))
		rc = fs_fail(EFAULT, "pinned memory is of type %d, or has another address on the GPU", at.type);
	if (rc)
		pages_unpin(g);
	return rc;
}

void pages_unpin(const struct pages *g)
{
	cudaHostUnregister(g->p);
}
