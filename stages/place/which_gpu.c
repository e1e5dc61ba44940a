/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/place/which_gpu.h"
#include "harness/err.h"
#include <errno.h>

int gpu_named(const struct machine *m, const char *var, int g, char *why, size_t len)
{
	return g < m->ngpus ? 0 : fs_refuse(ENODEV, why, len, "%s=%d: this machine has GPU 0..%d", var, g, m->ngpus - 1);
}

int gpu_there(const struct machine *m, int g, const char *asked, const char *otherwise, char *why, size_t len)
{
	if (!m->ngpus)
		return fs_refuse(ENODEV, why, len, "%s needs a GPU: %s; without one: %s", asked,
				 m->gpu_reason[0] ? m->gpu_reason : "none found", otherwise);
	return gpu_named(m, "gpu", g, why, len);
}

int gpu_of_nic(const struct point *pt, const struct machine *m)
{
	int g = (int)fs_num(pt, "gpu");

	if (fs_is(pt, "nic_gpu", "gpu"))
		return g;
	if (!fs_is(pt, "nic_gpu", "auto"))
		return (int)fs_num(pt, "nic_gpu");
	return g < m->ngpus ? machine_far(m, g) : g;
}

int gpu_of_nic_there(const struct point *pt, const struct machine *m, int from, const char *legal, int *g, char *why, size_t len)
{
	int number = !fs_is(pt, "nic_gpu", "gpu") && !fs_is(pt, "nic_gpu", "auto"), rc;

	*g = gpu_of_nic(pt, m);
	if ((rc = gpu_named(m, number ? "nic_gpu" : "gpu", *g, why, len)))
		return rc;
	if (from >= 0 && *g != from && !(m->gpu[from].peers >> *g & 1))
		return fs_refuse(ENODEV, why, len, "GPU %d can't reach the memory of GPU %d (no peer access)%s", from, *g, legal);
	return 0;
}
