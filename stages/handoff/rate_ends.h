/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Issuers of a rate whose kernel ends with what a CPU has to send for them (HD; submitter=cpu): one kernel a
 * turn, of all issuers. Each finds out of its own memory how far it is, decides on `batch` messages more, and is
 * over; the kernel's end hands over the messages of all, which a worker posts (rate_worker.h), and the next kernel is
 * launched when all of them are done. So every issuer waits for the slowest: that is what a kernel's boundary is.
 *
 * Turn t's messages are those from t * agents * batch on, issuer i's the i-th `batch` of them, of the one
 * queue that the worker has. Payloads are where those of any rate are: in their slots before a pass, or in
 * the WQE.
 *
 * Spans, on the clock that holds from one kernel to the next: intent-handed (an issuer's first instruction to its last
 * reading), handed-noticed (to the first instruction of the next kernel: all that others do for a turn).
 */
#ifndef FS_RATE_ENDS_H
#define FS_RATE_ENDS_H

#include "stages/handoff/rate.h"
#include "stages/issuer/boundary.h"

/* What an issuer's spans are summed in, of those of a turn (enum rate_span). */
enum { ES_HANDED = RS_RUNG, ES_NOTICED = RS_PASSED };

struct ends_args {
	struct rate_out *out;     /* [agents]: `last` is how far each is, all else as a rate's */
	uint64_t *handed;         /* [agents]: with spans, the last reading in a kernel */
	uint64_t warmup, all;     /* messages of each: before those that are measured, and together */
	uint32_t agents, batch;
	int32_t gettime, pad;
};

/* Issuer i's part of a kernel. The last one of a pass only notices. */
HD void ends_issuer(const struct ends_args *a, uint32_t i, const int spans)
{
	uint64_t t = spans ? agent_now(a->gettime) : 0;
	struct rate_out *o = a->out + i;
	uint64_t last = o->last;

	if (spans && last > a->warmup)
		o->ticks[ES_NOTICED] += t - a->handed[i];
	if (last == a->warmup)
		o->begin = boundary_pair(a->gettime);
	if (last == a->all) {
		o->end = boundary_pair(a->gettime);
		o->status = RATE_OK;
		return;
	}
	o->last = last + a->batch;
	if (last < a->warmup)
		return;
	o->messages += a->batch;
	o->turns++;
	if (!spans)
		return;
	a->handed[i] = agent_now(a->gettime);
	o->ticks[ES_HANDED] += a->handed[i] - t;
}

/* On a CPU the calling thread stands for the kernels of all issuers, and runs them one after another; on a GPU
 * it waits. Until no more are launched, or none was for wait_ns in which it looked: what was not done says so. */
void ends_cpu_run(const struct ends_args *a, int spans, struct boundary_words *w, uint64_t wait_ns);

/* Before anything is resident: loads the kernel, of `blocks` of `threads`, and makes it one that can be launched. `a`: the
 * caller's, as long as that is open. */
struct starter;
int ends_gpu_open(struct starter *s, struct ends_args *a, int spans, unsigned blocks, unsigned threads, int device);

#endif
