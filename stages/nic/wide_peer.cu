/* SPDX-License-Identifier: Apache-2.0 */
/* The software NIC for many queues as a persistent kernel: a block of one warp a worker; one
 * kernel where every WQE has one block, one where some may have two. */
extern "C" {
#include "harness/err.h"
#include "stages/nic/nic.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
}
#include <errno.h>
#include <stdlib.h>

enum { LOOKS = 64 }; /* rounds without a message between two looks at the stop word */

/* `ready` counts the workers that see doorbells. */
template <int MIXED>
__global__ void __launch_bounds__(32, 1)
wide_kernel(const __grid_constant__ struct wide w, const uint32_t *stop, uint32_t *ready, uint32_t *up, struct wide_status *st)
{
	extern __shared__ struct wide_queue states[];
	uint32_t mine = (w.queues + w.workers - 1) / w.workers, idle = 0, smid;
	struct coop c = { (int)threadIdx.x, 32 };
	struct wide_worker me = {};

	me.worker = blockIdx.x;
	for (uint32_t i = threadIdx.x; i < mine; i += 32)
		states[i] = {};
	coop_sync(c);
	/* the last worker to come says that all are there */
	if (!c.lane && atomicAdd(up, 1u) == w.workers - 1)
		st32_release_sys(ready, 1);
	for (;;) {
		if (wide_round(&w, states, c, &me, 0, MIXED))
			idle = 0;
		else if (++idle % LOOKS == 0 && coop_ballot(c, ld32(stop) != 0))
			break;
	}
	wide_finish(&me, c);
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	me.st.smid = smid;
	if (!c.lane)
		st[blockIdx.x] = me.st;
}

struct nic_run {
	struct gpu *g;
	struct buf status;     /* wide_status of each worker, then the count of those that are up */
	uint32_t workers;
	double stop_s;
};

int peer_start_many(const struct nic_many *p, struct nic_run **run)
{
	uint32_t workers = p->wide.workers, each = (p->wide.queues + workers - 1) / workers;
	struct nic_run *r = (struct nic_run *)calloc(1, sizeof(*r));
	struct wide w = p->wide;
	struct wide_status *st;
	uint32_t *up;
	int rc;

	if (!r)
		return fs_fail(ENOMEM, "peer NIC: out of memory");
	r->g = gpu_of(p->gpu);
	r->workers = workers;
	r->stop_s = p->stop_s;
	rc = r->g ? place_alloc(&r->status, p->gpu, workers * sizeof(*st) + 256, 256, 1) :
		    fs_fail(ENODEV, "gpu %d is not in use", p->gpu);
	if (!rc)
		rc = gpu_resident_prepare(r->g);
	if (!rc) {
		st = (struct wide_status *)r->status.p;
		up = (uint32_t *)(st + workers);
		void *args[] = { &w, &r->g->stop, &r->g->ready, &up, &st };

		rc = gpu_launch_grid(r->g, w.mixed ? (const void *)wide_kernel<1> : (const void *)wide_kernel<0>, workers, 32, 0, args, each * sizeof(struct wide_queue),
				     r->g->nic_stream, "the NIC's kernel");
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

int peer_stop_many(struct nic_run *r, struct wide_status *st)
{
	int rc = gpu_resident_stop(r->g, r->stop_s, "the NIC's kernel");

	if (rc)
		return rc; /* it may still use its memory */
	rc = place_read(&r->status, 0, st, r->workers * sizeof(*st));
	place_free(&r->status);
	free(r);
	return rc;
}
