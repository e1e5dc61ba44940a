/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents of a round trip on GPUs, one thread each: two blocks of one kernel on one
 * device, or a block on either of two.
 */
extern "C" {
#include "harness/err.h"
#include "stages/completion/rtt_gpu.h"
#include "stages/place/gpu.h"
}
#include <errno.h>

/* `role`: of its first block. */
template <int ORD, int MODE, int KIND>
__global__ void __launch_bounds__(32, 1) rtt_kernel(const __grid_constant__ struct rtt_args a, uint32_t role)
{
	__shared__ struct planter planter;
	uint32_t smid;

	if (threadIdx.x)
		return;
	role += blockIdx.x;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	a.out[role].smid = smid;
	if (role == RTT_PUT)
		rtt_issue(&a, 0, ORD, MODE, KIND, HAND_BARE);
	else
		rtt_respond_by(&a, &planter, ORD, MODE, KIND);
}

static const struct { int index; const void *fn; } kernels[] = {
#define X(o, d, k) { (ORD_##o * DOORBELL_MODES + DBM_##d) * POST_KINDS + POST_##k, (const void *)rtt_kernel<ORD_##o, DBM_##d, POST_##k> },
	FS_RTTS(X)
#undef X
};
static_assert(sizeof(kernels) / sizeof(kernels[0]) == ORDERINGS * 2 * 2, "every order stands with both doorbells and kinds");

static const void *kernel_of(struct rtt_choice c)
{
	if (mode_hands(c.mode))
		return rtt_hand_kernel(c);
	for (const auto &k : kernels)
		if (k.index == (c.ord * DOORBELL_MODES + c.mode) * POST_KINDS + c.kind)
			return k.fn;
	return NULL;
}

static const char what[] = "the round trip's kernel";

int rtt_gpu_load(struct rtt_choice c)
{
	int devices[RTT_WAYS] = { c.issuer, c.responder }, rc = 0;

	for (int i = 0; !rc && i < (c.issuer == c.responder ? 1 : RTT_WAYS); i++) {
		struct gpu *g = gpu_of(devices[i]);

		rc = g ? gpu_load(g, kernel_of(c), what) : fs_fail(ENODEV, "gpu %d is not in use", devices[i]);
	}
	return rc;
}

/* `blocks` agents from this role on. */
static int launch(const struct rtt_hand_args *h, struct rtt_choice c, int device, uint32_t role, unsigned blocks, unsigned beside,
		  struct gpu **out)
{
	struct gpu *g = *out = gpu_of(device);
	struct rtt_hand_args copy = *h;
	void *args[] = { &copy, &role }; /* of agents that post themselves the first part of it */

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	return gpu_launch_grid(g, kernel_of(c), blocks, 32, beside, args, 0, g->issue_stream, what);
}

int rtt_gpu_run(const struct rtt_hand_args *h, struct rtt_choice c, double patience_s)
{
	struct gpu *near_, *far_;
	int rc, rc2;

	if (c.issuer == c.responder) {
		rc = launch(h, c, c.issuer, RTT_PUT, RTT_WAYS, c.beside, &near_);
		return rc ? rc : gpu_wait(near_->issue_stream, patience_s, what);
	}
	if ((rc = launch(h, c, c.responder, RTT_REPLY, 1, c.beside, &far_)))
		return rc;
	rc = launch(h, c, c.issuer, RTT_PUT, 1, 0, &near_);
	rc = rc ? rc : gpu_wait(near_->issue_stream, patience_s, what);
	/* an issuer that never ran tells nobody */
	st64_release_sys(rtt_word(&h->r, RTT_OVER), 1);
	rc2 = gpu_wait(far_->issue_stream, patience_s, "the responder's kernel");
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}
