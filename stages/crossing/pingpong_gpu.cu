/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of the ping-pong on GPUs: one thread each. */
extern "C" {
#include "harness/err.h"
#include "stages/crossing/pingpong.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

enum { IDLE_POLLS = 64 }; /* of lines, between two looks at the stop word */

template <int FORM>
__global__ void __launch_bounds__(32) respond_kernel(const __grid_constant__ struct pingpong p, const uint32_t *stop, uint32_t *ready,
						     const struct seat seat)
{
	struct responder r = { 0, 0, 0, 0, { 0, 0 } };
	uint32_t idle = 0, smid;

	if (!seat_taken(seat) || threadIdx.x)
		return;
	r.begin = clock_pair_read(0);
	st32_release_sys(ready, 1);
	if (FORM == PP_LINES) {
		for (;;) {
			if (pp_answer_line(&p, &r))
				idle = 0;
			else if (++idle % IDLE_POLLS == 0 && ld32(stop))
				break;
		}
	} else {
		while (pp_answer_flag(&p, &r, FORM == PP_AHEAD) || !ld32(stop))
			;
	}
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	p.out->begin = r.begin;
	p.out->end = clock_pair_read(0);
	p.out->span_ticks = r.span;
	p.out->spans = r.spans;
	if (FORM == PP_AHEAD)
		p.out->wrong = r.wrong;
	p.out->smid = smid;
}

template <int FORM>
__global__ void __launch_bounds__(32) issue_kernel(const __grid_constant__ struct pingpong p, const struct seat seat)
{
	uint32_t smid;

	if (!seat_taken(seat) || threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	p.out->smid = smid;
	if (FORM == PP_LINES)
		pp_lines(&p);
	else
		pp_flags(&p, FORM == PP_AHEAD);
}

static const void *const responders[PP_FORMS] = { (const void *)respond_kernel<PP_FLAGS>, (const void *)respond_kernel<PP_LINES>,
						  (const void *)respond_kernel<PP_AHEAD> };
static const void *const issuers[PP_FORMS] = { (const void *)issue_kernel<PP_FLAGS>, (const void *)issue_kernel<PP_LINES>,
					       (const void *)issue_kernel<PP_AHEAD> };
static_assert(PP_FLAGS == 0 && PP_LINES == 1 && PP_AHEAD == 2, "the kernels stand in the order of the enumeration");

/* The responder's device is all that has to be remembered. */
extern "C" int pingpong_gpu_respond(const struct pingpong *p, int form, int device, double patience_s, struct pingpong_gpu **run)
{
	struct gpu *g = gpu_of(device);
	struct pingpong copy = *p;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	if ((rc = gpu_resident_prepare(g)))
		return rc;
	/* the other side's kernel too, should it be this device's */
	if ((rc = gpu_load(g, issuers[form], "the ping-pong's kernel")))
		return rc;
	struct seat seat = gpu_nic_seat(g);
	void *args[] = { &copy, &g->stop, &g->ready, &seat };

	rc = gpu_launch_seat(g, responders[form], 32, args, 0, g->nic_stream,
			     &seat, "the responder's kernel");
	*run = (struct pingpong_gpu *)g;
	return rc ? rc : gpu_resident_ready(g, patience_s, "the responder's kernel");
}

extern "C" int pingpong_gpu_stop(struct pingpong_gpu *run, double patience_s)
{
	return gpu_resident_stop((struct gpu *)run, patience_s, "the responder's kernel");
}

extern "C" int pingpong_gpu_issue(const struct pingpong *p, int form, int device, double patience_s)
{
	struct gpu *g = gpu_of(device);
	struct pingpong copy = *p;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { &copy, &seat };

	rc = gpu_launch_seat(g, issuers[form], 32, args, 0, g->issue_stream,
			     &seat, "the ping-pong's kernel");
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, "the ping-pong's kernel");
	return rc ? rc : gpu_seated(&seat, "the ping-pong's kernel");
}
