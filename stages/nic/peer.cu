/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC as a persistent kernel, on another GPU or on other SMs of
 * the issuer's: one thread polls the doorbell and runs the engine, a warp moves
 * payloads (coop.h).
 */
extern "C" {
#include "harness/err.h"
#include "stages/nic/nic.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>
#include <stdlib.h>

struct nic_args {
	struct engine e;
	struct sink_conf sink;
};

/* The engine's memory. */
static __shared__ struct {
	struct engine e;
	struct engine_state s;
	struct engine_job job;
	struct engine_status counts;
} nic;

template <int USUAL_, int INSTR>
__global__ void __launch_bounds__(AGENT_THREADS, 1)
nic_kernel(const __grid_constant__ struct nic_args args, const uint32_t *stop, uint32_t *ready, struct engine_status *st,
	   const struct seat seat)
{
	extern __shared__ __align__(16) uint64_t stage[]; /* the cache is accessed by two words */
	struct coop c = { (int)threadIdx.x - 32, 32 };
	uint32_t smid;

	if (!seat_taken(seat))
		return;
	if (c.lane >= 0) {
		for (;;) {
			agent_meet();
			if (nic.job.kind == EJ_EXIT)
				return;
			engine_work(&nic.job, c, INSTR);
			agent_meet();
		}
	}
	if (threadIdx.x)
		return;
	nic.e = args.e;
	nic.e.sink = &args.sink;
	if (USUAL_ == (int)USUAL_CACHED) /* behind the marks */
		nic.e.cache = near_address(stage + (INSTR == BARE ? 0 : args.sink.block * SINK_SLOTS));
	engine_begin_of(&nic.e, &nic.s, &nic.job, &nic.counts, stage, USUAL_, INSTR);
	st32_release_sys(ready, 1);
	for (int last = 0;;) {
		int kind;

		do
			kind = engine_lead_of(&nic.e, &nic.s, &nic.job, USUAL_, INSTR);
		while (kind == EJ_NONE && !ld32(stop));
		/* stopped: what is left of a block is flushed, once */
		if (kind == EJ_NONE && (last || !engine_last_flush(&nic.e, &nic.s, &nic.job, INSTR)))
			break;
		last = kind == EJ_NONE;
		agent_meet();
		agent_meet();
	}
	nic.job.kind = EJ_EXIT;
	agent_meet();
	engine_finish_of(&nic.e, &nic.s, USUAL_);
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	nic.counts.smid = smid;
	*st = nic.counts;
}

static const void *const kernels[USUALS][INSTRS] = {
#define EACH(usual) \
	{ (const void *)nic_kernel<usual, BARE>, (const void *)nic_kernel<usual, ALL>, (const void *)nic_kernel<usual, FLEX> }
	EACH(USUAL), EACH(USUAL_TWO), { (const void *)nic_kernel<USUAL_SPARSE, BARE> }, EACH(USUAL_FLAME), EACH(USUAL_CACHED)
};
static_assert(USUAL == 0 && USUAL_TWO == 1 && USUAL_SPARSE == 2 && USUAL_FLAME == 3 && USUAL_CACHED == 4,
	      "the kernels stand in the order of the enumeration");

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
	size_t shared = (p->instr ? (size_t)p->sink.block * SINK_SLOTS * 8 : 0) + cache_bytes(nic_cache_entries(p));
	struct nic_run *r = (struct nic_run *)calloc(1, sizeof(*r));
	struct engine_status *st;
	struct nic_args a = { p->eng, p->sink };
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
		struct seat seat = gpu_nic_seat(r->g);
		void *args[] = { &a, &r->g->stop, &r->g->ready, &st, &seat };

		rc = gpu_launch_seat(r->g, kernels[p->usual][p->instr], AGENT_THREADS, args,
				     shared, r->g->nic_stream, &seat, "the NIC's kernel");
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
	.start_many = peer_start_many,
	.stop_many = peer_stop_many,
};
