/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's loop. Which stores ring, whether a fault may come, whether it is handed descriptors or the ends of kernels
 * and what its readings go by are literals.
 *
 * Order: what the issuer released is acquired with each half of its descriptor, and released again
 * with record and doorbell; the NIC's release of a CQE is acquired with it and released with
 * the credit. The issuer overwrites a descriptor only behind a credit that came after it was read.
 *
 * Its clock is read behind each round in which it found nothing, so not at all in between: a worker
 * that is the limit reads none.
 */
#include "stages/handoff/rate_worker.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "stages/issuer/launches.h"
#include <stdlib.h>

struct worker {
	struct worker_args a;
	struct worker_status st;
	uint64_t done, next;     /* of all its rings; at how many the next reading is due */
	uint64_t quiet;          /* ticks, when the last round without work ended */
	uint64_t since, first, last; /* ticks: it has been busy since, 0: it isn't; of all its busy times */
	uint64_t phase, window;  /* by a word: as it was last seen; busy ticks, once it has ended */
	int over;
	const struct service *me; /* the thread's; `service` is its owner's */
	struct service *service;
};

/* Ends with a reason, which whoever waits for credit is told. */
static uint32_t worker_gives_up(struct worker *w, const struct worker_ring *r, enum worker_end why, uint64_t at, uint64_t found)
{
	w->st.end = (int)why;
	w->st.ring = r->number;
	w->st.at = at;
	w->st.found = found;
	w->over = 1;
	for (uint32_t i = 0; why != WORKER_DIED && i < w->a.rings; i++)
		st64_published(w->a.ring[i].credit, HAND_OVER);
	return 0;
}

HD void worker_ring_up(struct worker *w, struct worker_ring *r, uint32_t n, const int mode)
{
	uint64_t v = ring_prepare(&r->q, r->pi + n, ORD_SYS_RELEASE, mode);

	doorbell_store(&r->q, v, ORD_SYS_RELEASE);
	r->pi += n;
	w->st.taken += n;
	w->st.doorbells++;
	if (w->a.completes)
		return;
	r->done = r->pi;
	w->done += n;
	st64_published(r->credit, r->done);
}

/* The WQE of message m, which w0 describes. A payload's number is its ring's and its own. */
HD void worker_build(const struct worker *w, const struct worker_ring *r, uint64_t m, uint64_t w0)
{
	struct resolved x = { w->a.lkey, w->a.rkey, r->remote + hand_off(w0) };
	int kind = hand_kind(w0);
	uint64_t wqe[WQE_WORDS];

	wqe_build_at(&r->q, wqe, m, rate_number(r->number, m), &x, r->local + hand_off(w0), hand_len(w0), kind);
	wqe_store(&r->q, m, wqe, hand_len(w0), kind);
}

/* Descriptors of a ring that are there, up to a batch. How many. */
HD uint32_t worker_take(struct worker *w, struct worker_ring *r, const int mode, const int faulty)
{
	uint32_t n, mask = (1u << r->q.log_n) - 1;

	for (n = 0; n < w->a.batch; n++) {
		uint64_t m = r->pi + n, lap = hand_lap(m, r->q.log_n), w0, w1;
		const uint8_t *slot = r->hand + ((uint32_t)m & mask) * HAND_SLOT;

		w1 = ld64_acquire(slot + 8);
		w0 = ld64_acquire(slot);
		if (!(hand_valid(w0, lap) & hand_valid(w1, lap)))
			break;
		if (faulty && r == w->a.ring && m >= w->a.fault_at) {
			if (w->a.fault == WKF_STUCK)
				break;
			return worker_gives_up(w, r, WORKER_DIED, m, 0);
		}
		if (UNLIKELY(hand_number(w1) != m))
			return worker_gives_up(w, r, WORKER_OVERRUN, m, hand_number(w1));
		worker_build(w, r, m, w0);
	}
	if (n)
		worker_ring_up(w, r, n, mode);
	return n;
}

/* A CQE that is no good one of the next message. */
static uint32_t worker_blame(struct worker *w, const struct worker_ring *r, uint64_t w6, uint64_t w7)
{
	if (cqe_opcode(w7) == CQE_REQ)
		return worker_gives_up(w, r, WORKER_STRAY, r->done, r->done + (((uint64_t)cqe_counter(w7) - r->done) & INDEX_MASK));
	w->st.syndrome = cqe_syndrome(w6);
	w->st.vendor = cqe_vendor(w6);
	return worker_gives_up(w, r, WORKER_CQE_ERROR, r->done, 0);
}

/* Completions of a ring that are there: each is counted, and what they give back goes to its issuers. */
HD uint32_t worker_reap(struct worker *w, struct worker_ring *r)
{
	uint32_t n = 0, mask = (1u << r->q.log_ncqe) - 1;

	for (; n < WORKER_REAPS; n++) {
		const uint8_t *cqe = r->q.cq + ((uint32_t)r->done & mask) * CQE_SIZE;
		uint64_t w7 = ld64_poll(cqe + 56);

		if (!cqe_valid(w7, cqe_lap(r->done, r->q.log_ncqe)))
			break;
		if (UNLIKELY(cqe_opcode(w7) != CQE_REQ || cqe_counter(w7) != (r->done & INDEX_MASK)))
			return worker_blame(w, r, ld64(cqe + 48), w7);
		r->done++;
	}
	if (n) {
		w->done += n;
		st64_published(r->credit, r->done);
	}
	return n;
}

/* The warm-up is over, or all is. */
static void worker_reading(struct worker *w, int over)
{
	*(over ? &w->st.over : &w->st.begin) = clock_pair_read(w->a.gettime);
	*(over ? &w->st.used_over : &w->st.used_begin) = thread_usage_now();
}

static void worker_counted(struct worker *w)
{
	int over = w->next == w->a.all;

	worker_reading(w, over);
	w->next = over ? ~(uint64_t)0 : w->a.all;
}

/* The round that found something began where the last one without work ended. */
static void worker_busy(struct worker *w)
{
	if (w->since)
		return;
	w->since = w->quiet;
	w->first = w->first ? w->first : w->since;
}

static void worker_idle(struct worker *w)
{
	w->quiet = ticks(w->a.gettime);
	if (!w->since)
		return;
	w->last = w->quiet;
	w->st.busy += w->last - w->since;
	w->since = 0;
}

/* By a word: what was measured ends, or begins, with the round that did something or nothing. */
static void worker_turns(struct worker *w, uint64_t phase, uint32_t did)
{
	uint64_t now;

	if (did)
		worker_busy(w);
	else
		worker_idle(w);
	now = ticks(w->a.gettime);
	if (w->phase < HAND_MEASURED) {
		worker_reading(w, 0);
		w->st.busy = 0;
		w->since = w->since ? now : 0;
		w->first = now;
		w->st.measured = w->done;
	}
	if (phase == HAND_ENDED) {
		worker_reading(w, 1);
		w->window = w->st.busy + (w->since ? now - w->since : 0);
		w->st.ticks = now - w->first;
		w->st.measured = w->done - w->st.measured;
	}
	w->phase = phase;
}

/* ---- of kernels that end ---- */

/* The first kernel, and each when all that the last one sent is done. */
HD void worker_launch(struct worker *w, const int boundary, const int faulty)
{
	const struct worker_ring *r = w->a.ring;
	int err;

	if (faulty && w->a.fault == WKF_LAUNCH && r->pi >= w->a.fault_at)
		err = launches_refused(boundary);
	else
		err = launches_begin(w->a.kernels, w->st.launches + 1, &w->st.asleep, boundary);
	if (UNLIKELY(err)) {
		w->st.error = err;
		worker_gives_up(w, r, WORKER_LAUNCH, r->pi, 0);
		return;
	}
	w->st.launches++;
	launches_begun(w->a.kernels, w->st.launches, boundary);
}

/* A kernel is under way: has it ended? Posts what it sends. How many messages. */
HD uint32_t worker_end(struct worker *w, struct worker_ring *r, const int boundary, const int mode, const int faulty)
{
	const struct helper_kernels *k = w->a.kernels;
	int ended = launches_ended(k, w->st.launches, boundary);

	if (!ended || (faulty && w->a.fault == WKF_STUCK && r->pi >= w->a.fault_at))
		return 0;
	if (UNLIKELY(ended < 0)) {
		w->st.error = -ended;
		return worker_gives_up(w, r, WORKER_KERNEL, r->pi, 0);
	}
	polled();
	if (faulty && w->a.fault == WKF_KILLED && r->pi >= w->a.fault_at)
		return worker_gives_up(w, r, WORKER_DIED, r->pi, 0);
	if (UNLIKELY(r->pi == k->total)) { /* the last one had nothing to send */
		w->over = 1;
		return 0;
	}
	for (uint64_t m = r->pi; m < r->pi + k->batch; m++)
		worker_build(w, r, m, hand_word0(0, k->kind, k->len, ((uint32_t)m & k->slot_mask) << k->stride_shift));
	worker_ring_up(w, r, k->batch, mode);
	return k->batch;
}

/* Completions while messages are under way, and behind the last one the next kernel; else that kernel's end. */
HD uint32_t worker_turn(struct worker *w, struct worker_ring *r, const int boundary, const int mode, const int faulty)
{
	uint32_t n;

	if (r->done == r->pi)
		return worker_end(w, r, boundary, mode, faulty);
	n = worker_reap(w, r);
	if (!w->over && r->done == r->pi)
		worker_launch(w, boundary, faulty);
	return n;
}

static void worker_kernels_begin(struct worker *w, const int boundary, const int faulty)
{
	if (boundary != BOUNDARY_FUTEX && (w->st.error = start_here(w->a.kernels->start)))
		worker_gives_up(w, w->a.ring, WORKER_LAUNCH, 0, 0);
	else
		worker_launch(w, boundary, faulty);
}

/* What it is handed, in the place of an enum boundary: descriptors, and its readings go by a count or by a phase's word. */
enum { BY_COUNT = -2, BY_PHASE = -1 };

HD void worker_serve(struct worker *w, const int mode, const int faulty, const int boundary)
{
	uint32_t idle = 0;

	w->quiet = ticks(w->a.gettime);
	if (boundary >= 0)
		worker_kernels_begin(w, boundary, faulty);
	while (!w->over) {
		int stopping = service_stopping(w->me);
		uint32_t did = 0;

		for (uint32_t i = 0; i < w->a.rings && !w->over; i++) {
			struct worker_ring *r = &w->a.ring[i];

			if (boundary >= 0) {
				did |= worker_turn(w, r, boundary, mode, faulty);
				continue;
			}
			if (w->a.completes)
				did |= worker_reap(w, r);
			if (LIKELY(!w->over))
				did |= worker_take(w, r, mode, faulty);
		}
		if (boundary == BY_PHASE) {
			uint64_t phase = ld64_acquire(w->a.phase);

			if (UNLIKELY(phase != w->phase))
				worker_turns(w, phase, did);
		} else if (UNLIKELY(w->done >= w->next)) {
			worker_counted(w);
		}
		if (did) {
			worker_busy(w);
			idle = 0;
			continue;
		}
		worker_idle(w);
		if (stopping)
			break;
		relax_turn(++idle, w->a.crowded);
	}
	worker_idle(w);
}

#define FS_WORKERS_OF(X, b) \
	X(RECORD_RING, 0, b) X(RECORD_RING, 1, b) X(RING_RECORD_RING, 0, b) X(RING_RECORD_RING, 1, b) X(RING, 0, b) X(RING, 1, b)
#define FS_WORKERS(X) \
	FS_WORKERS_OF(X, BY_COUNT) FS_WORKERS_OF(X, BY_PHASE) FS_WORKERS_OF(X, BOUNDARY_STREAM) FS_WORKERS_OF(X, BOUNDARY_GRAPH) \
	FS_WORKERS_OF(X, BOUNDARY_FUTEX)
#define X(d, f, b) \
	static void serve_##d##_##f##_##b(struct worker *w) { worker_serve(w, DBM_##d, f, b); }
FS_WORKERS(X)
#undef X
static void (*const serves[BOUNDARIES - BY_COUNT][WORD_DOORBELLS][2])(struct worker *) = {
#define X(d, f, b) [b - BY_COUNT][DBM_##d][f] = serve_##d##_##f##_##b,
	FS_WORKERS(X)
#undef X
};

static void worker_main(struct service *me, void *arg)
{
	struct worker *w = arg;
	const struct helper_kernels *k = w->a.kernels;

	w->me = me;
	w->next = w->a.warmup;
	if (!w->next && !w->a.phase)
		worker_counted(w);
	serves[(k ? k->boundary : w->a.phase ? (int)BY_PHASE : (int)BY_COUNT) - (int)BY_COUNT][w->a.mode][w->a.fault != WKF_NONE](w);
	/* one that was killed says nothing */
	if (k && w->st.end != WORKER_DIED)
		st64_published(&k->words->over, 1);
	if (w->phase == HAND_ENDED)
		w->st.busy = w->window;
	else
		w->st.ticks = w->last - w->first;
	for (uint32_t i = 0; i < w->a.rings; i++)
		w->st.done += w->a.ring[i].done;
}

int worker_start(const struct worker_args *a, int cpu, double start_s, struct worker **out)
{
	struct worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return fs_fail(ENOMEM, "worker: out of memory");
	w->a = *a;
	rc = service_start(&w->service, "worker", cpu, worker_main, w, start_s);
	if (rc && !w->service)
		free(w);
	else
		*out = w;
	return rc;
}

int worker_stop(struct worker *w, double stop_s, struct worker_status *st)
{
	int rc = service_stop(w->service, stop_s);

	if (rc)
		return rc; /* the thread still uses w */
	*st = w->st;
	free(w);
	return 0;
}
