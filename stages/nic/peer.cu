/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC as a persistent kernel, on another GPU or on other SMs of
 * the issuer's: one warp, whose first lane polls the doorbell and runs the
 * engine, and whose other lanes move payloads.
 */
extern "C" {
#include "harness/err.h"
#include "stages/nic/nic.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
}
#include <errno.h>
#include <stdlib.h>

enum { IDLE_POLLS = 64 }; /* between two looks at the stop word */

template <int INSTR>
__global__ void __launch_bounds__(32)
nic_kernel(const __grid_constant__ struct engine e, const uint32_t *stop, uint32_t *ready, struct engine_status *st)
{
	extern __shared__ uint64_t stage[];
	__shared__ struct engine_job job;
	struct coop c = { (int)threadIdx.x, 32 };

	if (c.lane == 0) {
		struct engine_state s;
		uint32_t idle = 0, smid;

		engine_begin(&e, &s, stage);
		st32_release_sys(ready, 1);
		for (;;) {
			if (engine_poll(&e, &s, &job, c, INSTR))
				idle = 0;
			else if (++idle % IDLE_POLLS == 0 && ld32(stop))
				break;
		}
		engine_finish(&e, &s, &job, c, INSTR);
		asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
		s.st.smid = smid;
		*st = s.st;
		job.kind = EJ_EXIT;
		engine_wide(&e, &job, c, 0, 0);
	} else {
		while (engine_wide(&e, &job, c, 0, 0) != EJ_EXIT)
			;
	}
}

struct nic_run {
	struct gpu *g;
	struct buf status;
	double stop_s;
};

static void peer_free(struct nic_run *r)
{
	place_free(&r->status);
	free(r);
}

static int peer_start(const struct nic_pass *p, struct nic_run **run)
{
	size_t shared = p->instr ? (size_t)p->eng.sink.block * SINK_SLOTS * 8 : 0;
	struct nic_run *r = (struct nic_run *)calloc(1, sizeof(*r));
	struct engine_status *st;
	struct engine e = p->eng;
	int rc;

	if (!r)
		return fs_fail(ENOMEM, "peer NIC: out of memory");
	r->g = gpu_of(p->gpu);
	r->stop_s = p->stop_s;
	rc = r->g ? place_alloc(&r->status, p->gpu, sizeof(*st), 256, 1) : fs_fail(ENODEV, "gpu %d is not in use", p->gpu);
	if (!rc)
		rc = gpu_resident_prepare(r->g);
	if (!rc) {
		st = (struct engine_status *)r->status.p;
		void *args[] = { &e, &r->g->stop, &r->g->ready, &st };

		rc = gpu_launch(r->g, p->instr ? (const void *)nic_kernel<1> : (const void *)nic_kernel<0>, args,
				shared, r->g->nic_stream, "the NIC's kernel");
	}
	if (!rc)
		rc = gpu_resident_ready(r->g, p->start_s, "the NIC's kernel");
	if (rc) {
		free(r); /* memory of a kernel that may run is left to the process's end */
		return rc;
	}
	*run = r;
	return 0;
}

static int peer_stop(struct nic_run *r, struct engine_status *st)
{
	int rc = gpu_resident_stop(r->g, r->stop_s, "the NIC's kernel");

	if (rc)
		return rc; /* it may still use its memory */
	rc = place_read(&r->status, 0, st, sizeof(*st));
	peer_free(r);
	return rc;
}

extern "C" const struct nic nic_peer = {
	NIC_PEER_WORDS,
	.start = peer_start,
	.stop = peer_stop,
};
