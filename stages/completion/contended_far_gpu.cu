/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The others of a contended message on another GPU than the timed one's: a grid of their own, which is resident there while the
 * timed one's is here. They meet by words in the timed one's memory, so neither begins without the other.
 */
extern "C" {
#include "harness/err.h"
#include "stages/completion/contended_gpu.h"
#include "stages/place/gpu.h"
}
#include <errno.h>

#define END_S 20.0              /* for the others, once the timed one has ended: each of their waits is of two seconds */

/* Block b is agent 1 + b: 0 is the timed one. */
template <int ORD, int FORM, int KIND>
__global__ void __launch_bounds__(32, 1) cont_far_kernel(const __grid_constant__ struct cont_args a)
{
	uint32_t smid, number = 1 + blockIdx.x;

	if (threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	a.q.out[number].smid = smid;
	cont_other(&a, number, ORD, FORM, KIND);
}

static const struct { int index; const void *fn; } kernels[] = {
#define X(o, f, k) { (ORD_##o * SHARE_FORMS + FORM_##f) * POST_KINDS + POST_##k, (const void *)cont_far_kernel<ORD_##o, FORM_##f, POST_##k> },
	FS_CONTS_FAR(X)
#undef X
};
static_assert(sizeof(kernels) / sizeof(kernels[0]) == ORDERINGS * 2 * 2, "every order stands with both forms and kinds");

static const void *kernel_of(struct cont_choice c)
{
	for (const auto &k : kernels)
		if (k.index == (c.ord * SHARE_FORMS + c.form) * POST_KINDS + c.kind)
			return k.fn;
	return NULL;
}

static const char what[] = "the kernel of the others on another GPU";

int cont_far_load(struct cont_choice c)
{
	struct gpu *g = gpu_of(c.far_device);

	if (!c.far_agents)
		return 0;
	return g ? gpu_load(g, kernel_of(c), what) : fs_fail(ENODEV, "gpu %d is not in use", c.far_device);
}

int cont_far_launch(const struct cont_trip_args *h, struct cont_choice c)
{
	struct gpu *g = gpu_of(c.far_device);
	struct cont_args copy = h->a;
	void *args[] = { &copy };

	if (!c.far_agents)
		return 0;
	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", c.far_device);
	return gpu_launch_grid(g, kernel_of(c), c.far_agents, 32, c.far_beside, args, 0, g->issue_stream, what);
}

/* Agents that run would wait for one that doesn't. */
static int call_off(const struct cont_args *a, int device)
{
	struct gpu *g = gpu_of(device);
	int rc = g ? gpu_raise(g, a->q.failed, what) : 0;

	return g && !rc ? gpu_raise(g, a->words + CONT_OVER, what) : rc;
}

int cont_far_end(const struct cont_trip_args *h, struct cont_choice c, int rc)
{
	struct gpu *g;
	int rc2;

	if (!c.far_agents)
		return rc;
	if (rc)
		call_off(&h->a, c.device); /* where that fails too their waits run out */
	if (!(g = gpu_of(c.far_device)))
		return rc;
	rc2 = gpu_wait(g->issue_stream, END_S, what);
	return rc && rc2 != -EBUSY ? rc : rc2;
}
