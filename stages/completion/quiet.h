/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a completion has to be waited for (HD): one issuer with many queues posts one
 * message at a time, to each queue in turn, and then waits for that queue alone, or
 * makes sure that every queue is done, as a quiet or a fence of a library does: it looks
 * at each queue's counters, and at the CQ of those that have something under way.
 */
#ifndef FS_QUIET_H
#define FS_QUIET_H

#include "stages/handoff/rate.h"

#define FS_QUIET_SCOPES(X) \
	X(OWN, "own", "the queue that was used") \
	X(ALL, "all", "every queue")

enum quiet_scope {
#define X(NAME, word, help) QUIET_##NAME,
	FS_QUIET_SCOPES(X)
#undef X
	QUIET_SCOPES
};

/* A queue's counters, in the issuer's memory: where its shared words would stand. */
enum { QUIET_POSTED = 0, QUIET_DONE = 8 };

struct quiet_args {
	struct rate_args q;          /* queues and payloads; its counts are not used */
	uint64_t messages, warmup, seed;
	uint32_t scope, settle, gap_ticks, dither;
	uint64_t *samples, *submits; /* [messages] each: ticks from intent to noticed, and to rung */
	struct clock_pair *pairs;    /* [2]: around the measured messages */
	struct quiet_out *out;
};

struct quiet_out {
	uint64_t status;             /* enum rate_status */
	uint64_t done, unsettled, poll_ticks;
	uint64_t at, queue, syndrome, vendor; /* what was waited for, or what ended it */
	uint64_t smid;
};

/* Queue `number` of the issuer, as an agent of the rates' loop; its next index is a
 * counter in memory, as for any code that has more queues than registers. */
HD void quiet_queue(const struct quiet_args *a, struct rate_agent *g, uint32_t number)
{
	rate_begin(&a->q, g, 0, number);
	g->pi = ld64(g->share + QUIET_POSTED);
}

HD int quiet_post(const struct quiet_args *a, struct rate_agent *g, const int ord)
{
	uint64_t m = rate_reserve(&a->q, g, 1, FORM_SOLO);

	if (UNLIKELY(g->status != RATE_OK))
		return 0;
	rate_build(&a->q, g, m, POST_INLINE);
	rate_publish(&a->q, g, m + 1, ord, FORM_SOLO);
	st64(g->share + QUIET_POSTED, m + 1);
	return 1;
}

/* Until message m of the queue is done. */
HD int quiet_await(const struct quiet_args *a, struct rate_agent *g, uint64_t m)
{
	rate_done(&a->q, g, m, 0);
	if (UNLIKELY(g->status != RATE_OK))
		return 0;
	polled();
	st64(g->share + QUIET_DONE, m + 1);
	return 1;
}

/* Until every queue is done. */
HD int quiet_all(const struct quiet_args *a, struct rate_agent *g)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < a->q.queues; i++) {
		uint64_t v[2];

		ld64x2(a->q.share + (uint64_t)i * SHARE_BYTES, v);
		if (v[0] == v[1])
			continue;
		quiet_queue(a, g, i);
		if (!quiet_await(a, g, v[0] - 1))
			return 0;
	}
	return 1;
}

/* Ticks between two looks at a CQE that isn't there yet. */
HD uint32_t quiet_poll_ticks(const struct quiet_args *a, struct rate_agent *g)
{
	quiet_queue(a, g, 0);
	return poll_period(g->q.cq + (g->pi & ((1u << g->q.log_ncqe) - 1)) * CQE_SIZE + 56, cqe_lap(g->pi, g->q.log_ncqe), a->q.gettime);
}

HD void quiet_run(const struct quiet_args *a, const int ord)
{
	struct settling set = { clock_pair_read(a->q.gettime), 0, 0, 0, 0 };
	uint64_t rnd = a->seed | 1, m = 0, first = ~(uint64_t)0, end = ~(uint64_t)0;
	uint32_t dither = 0, q = 0;
	struct rate_agent g;

	g.status = RATE_OK;
	while (m != end) {
		uint64_t t0, t1, t2;

		if (end == ~(uint64_t)0 && !(m & 127) && m >= a->warmup) {
			int calm = a->settle ? settled(&set, clock_pair_read(a->q.gettime)) : 1;

			if (calm) {
				a->out->unsettled = calm < 0;
				dither = a->dither ? quiet_poll_ticks(a, &g) : 0;
				first = m;
				end = m + a->messages;
				a->pairs[0] = clock_pair_read(a->q.gettime);
			}
		}
		if (a->gap_ticks)
			wait_ticks(a->gap_ticks / 4 + random_below(&rnd, a->gap_ticks), a->q.gettime);
		t0 = ticks(a->q.gettime);
		quiet_queue(a, &g, q);
		if (UNLIKELY(!quiet_post(a, &g, ord)))
			break;
		t1 = ticks(a->q.gettime);
		if (dither)
			wait_ticks(random_below(&rnd, dither), a->q.gettime);
		if (UNLIKELY(!(a->scope == QUIET_ALL ? quiet_all(a, &g) : quiet_await(a, &g, g.pi - 1))))
			break;
		t2 = ticks(a->q.gettime);
		if (end != ~(uint64_t)0) {
			a->samples[m - first] = t2 - t0;
			a->submits[m - first] = t1 - t0;
		}
		m++;
		q = q + 1 == a->q.queues ? 0 : q + 1;
	}
	a->pairs[1] = clock_pair_read(a->q.gettime);
	a->out->done = m;
	a->out->poll_ticks = dither;
	a->out->at = g.at;
	a->out->queue = q;
	a->out->syndrome = g.syndrome;
	a->out->vendor = g.vendor;
	st64_release_sys(&a->out->status, g.status);
}

/* Pass k of those that use `used` of all queues each, and each queue once: from its first queue
 * on, with its share of the messages. */
HD struct quiet_args quiet_part(const struct quiet_args *all, uint32_t used, uint32_t k)
{
	uint32_t passes = all->q.queues / used, first = k * used;
	uint64_t from = all->messages * k / passes;
	struct quiet_args a = *all;

	a.q.wq += first * a.q.wq_step;
	a.q.dbrec += first * a.q.dbrec_step;
	a.q.db += first * a.q.db_step;
	a.q.cq += first * a.q.cq_step;
	a.q.share += (uint64_t)first * SHARE_BYTES;
	a.q.local += first * a.q.slots_step;
	a.q.remote += first * a.q.slots_step;
	a.q.qpn += first;
	a.q.queues = used;
	a.messages = all->messages * (k + 1) / passes - from;
	a.seed += k;
	a.samples += from;
	a.submits += from;
	a.pairs += 2 * k;
	return a;
}

#define FS_QUIETS(X) \
	X(NONE) X(GPU_FENCE) X(GPU_FENCE_RECORD) X(GPU_RELEASE) X(THREADFENCE) X(SYS_FENCE) X(SYS_FENCE_RECORD) X(SYS_RELEASE)

int quiet_gpu_load(int ord, int device);
int quiet_gpu_run(const struct quiet_args *a, int ord, unsigned beside, int device, double patience_s);

#endif
