/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel whose end hands over (boundary.h): one warp, since payloads are filled and looked at by
 * all lanes and nothing in it polls. */
extern "C" {
#include "harness/err.h"
#include "stages/issuer/boundary.h"
#include "stages/place/start.h"
}
#include <errno.h>

enum { WARP = 32 };

template <int INSTR>
__global__ void __launch_bounds__(WARP, 1) boundary_kernel_of(const __grid_constant__ struct boundary_args a)
{
	struct coop c = { (int)threadIdx.x, WARP };

	boundary_kernel(&a, c, INSTR);
}

static const void *const kernels[INSTRS + 1] = {
	(const void *)boundary_kernel_of<BARE>, (const void *)boundary_kernel_of<ALL>,
	(const void *)boundary_kernel_of<FLEX>, (const void *)boundary_kernel_of<MUTE>,
};
static_assert(BARE == 0 && ALL == 1 && FLEX == 2 && MUTE == 3, "kernels stand in the order of the enumeration");

extern "C" int boundary_gpu_open(struct starter *s, struct boundary_args *a, int instr, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? start_open(s, g, kernels[instr], 1, WARP, a) : fs_fail(ENODEV, "gpu %d is not in use", device);
}
