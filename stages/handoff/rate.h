/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message rates (HD): many threads, many queues, many messages under way. The loop
 * reserves slots, builds a batch, publishes it and goes on; it waits only for room.
 * What it is made of stands in rate_agent.h and rate_solo.h.
 */
#ifndef FS_RATE_H
#define FS_RATE_H

#include "stages/handoff/rate_solo.h"

/*
 * The loop. `one` and `consumed` are literals on a GPU, since a test in it is a jump for one of
 * the two: batches of one message whose record and doorbell are stored in this order; and
 * whether somebody completes messages, so that there is something to wait for.
 */
HD void rate_loop(const struct rate_args *a, struct rate_agent *g, uint64_t left, struct coop c, const int ord, const int form,
		  const int kind, const int one, const int consumed, const int spans)
{
	const struct solo s = solo_of(a, g);

	do {
		uint32_t n = one ? 1 : a->batch;
		uint64_t m = 0;

		if (!c.lane)
			m = rate_reserve_of(a, g, n, form, consumed, kind);
		if (form_teams(form)) {
			m = coop_from(c, m, 0);
			g->status = coop_from(c, g->status, 0);
		}
		if (UNLIKELY(g->status != RATE_OK))
			return;
		rate_mark(g, RS_RESERVED, a->gettime, spans);
		if (form == FORM_LOCK && UNLIKELY(m >= g->goal)) { /* others have posted the rest */
			hand_store(share_word(g->share, SHARE_LOCKED), 0, SCOPE_GPU);
			return;
		}
		if (one && LIKELY(solo_fits(a, 1, kind)))
			solo_build(&s, m, 1);
		else if (!one && form == FORM_SOLO && solo_fits(a, SOLO_GROUP, kind))
			solo_build_batch(&s, m, n, SOLO_GROUP);
		else
			for (uint32_t i = (uint32_t)c.lane; i < n; i += (uint32_t)c.nlanes)
				rate_build(a, g, m + i, kind);
		if (form_teams(form))
			coop_sync(c);
		rate_mark(g, RS_BUILT, a->gettime, spans);
		if (!c.lane) {
			if (!form_owns(form) && form != FORM_LOCK) {
				rate_turn(a, g, m, form);
				rate_mark(g, RS_TURN, a->gettime, spans);
			}
			if (LIKELY(g->status == RATE_OK))
				rate_ring_of(g, m + n, ord, one ? DBM_RECORD_RING : a->mode, kind);
			rate_mark(g, RS_RUNG, a->gettime, spans);
			if (!form_owns(form)) {
				if (LIKELY(g->status == RATE_OK))
					rate_pass(g, m + n, form);
				rate_mark(g, RS_PASSED, a->gettime, spans);
			}
		}
		if (form_teams(form))
			g->status = coop_from(c, g->status, 0);
		if (UNLIKELY(g->status != RATE_OK))
			return;
		g->last = m + n;
		g->turns++;
		left -= n;
	} while (form == FORM_LOCK || left);
}

/* A CPU predicts its jumps, and its compiler takes long over loops of which there are many. */
HD void rate_loops(const struct rate_args *a, struct rate_agent *g, uint64_t left, struct coop c, const int ord, const int form,
		   const int kind, const int one, const int spans)
{
#ifdef __CUDA_ARCH__
	if (a->consumed)
		rate_loop(a, g, left, c, ord, form, kind, one, 1, spans);
	else
		rate_loop(a, g, left, c, ord, form, kind, one, 0, spans);
#else
	rate_loop(a, g, left, c, ord, form, kind, one, a->consumed != 0, spans);
#endif
}

/* Posts `left` messages, a multiple of the batch; with a lock until its queue has its goal.
 * All lanes of an agent. */
HD void rate_post(const struct rate_args *a, struct rate_agent *g, uint64_t left, struct coop c, const int ord, const int form,
		  const int kind, const int spans)
{
	int one = !form_teams(form) && a->batch == 1 && a->mode == DBM_RECORD_RING;

	if (spans)
		g->t = ticks(a->gettime);
	if (!left || (form == FORM_SOLO && solo_post(a, g, left, ord, kind, spans)))
		return;
	if (!form_teams(form) && one)
		rate_loops(a, g, left, c, ord, form, kind, 1, spans);
	else
		rate_loops(a, g, left, c, ord, form, kind, 0, spans);
}

/* Until its last message is done. */
HD void rate_drain_of(const struct rate_args *a, struct rate_agent *g, struct coop c, const int form, const int kind)
{
	const uint64_t *passed = form_owns(form) ? 0 : share_word(g->share, SHARE_TURN);

	if (!c.lane && a->consumed && g->last && g->status == RATE_OK) {
		rate_done_of(a, g, g->last - 1, passed, kind);
		polled();
	}
	if (form_teams(form))
		g->status = coop_from(c, g->status, 0);
}

HD void rate_drain(const struct rate_args *a, struct rate_agent *g, struct coop c, const int form)
{
	rate_drain_of(a, g, c, form, POST_INLINE);
}

/* All agents begin together. */
HD void rate_meet(const struct rate_args *a, struct rate_agent *g, struct coop c, const int form)
{
	struct waiting w = { { 0, 0 }, { 0, 0 }, 0 };

	if (!c.lane) {
		atom_add64(a->arrived, 1, SCOPE_SYS);
		for (uint32_t k = 1; ld64(a->arrived) < a->agents; k++) {
			if (!(k % POLLS_PER_LOOK) && rate_stuck(a, g, &w, a->arrived))
				break;
			relax_turn(k, a->crowded);
		}
	}
	if (form_teams(form))
		g->status = coop_from(c, g->status, 0);
}

/* Of a count of each agent, what all agents of this one's queue have together. */
HD uint64_t rate_goal(const struct rate_args *a, const struct rate_agent *g, uint64_t each)
{
	return each * ((a->agents - (g->q.qpn - a->qpn) + a->queues - 1) / a->queues);
}

/* Warmed up: all meet, and counts begin anew; when that was. */
HD struct clock_pair rate_measured(const struct rate_args *a, struct rate_agent *g, struct coop c, const int form)
{
	struct clock_pair begin;

	if (g->status == RATE_OK)
		rate_meet(a, g, c, form);
	begin = clock_pair_read(a->gettime);
	for (int i = 0; i < RATE_SPANS; i++)
		g->sum[i] = 0;
	g->turns = 0;
	return begin;
}

/* How it ended, to where it stands; by its first lane. */
HD void rate_report(const struct rate_args *a, struct rate_out *o, const struct rate_agent *g, struct clock_pair begin)
{
	if (g->status != RATE_OK)
		st64(a->failed, 1);
	o->end = clock_pair_read(a->gettime);
	o->begin = begin;
	o->messages = g->turns * a->batch;
	o->turns = g->turns;
	o->last = g->last;
	o->at = g->at;
	o->syndrome = g->syndrome;
	o->vendor = g->vendor;
	for (int i = 0; i < RATE_SPANS; i++)
		o->ticks[i] = g->sum[i];
	st64_release_sys(&o->status, g->status);
}

/* An agent's whole run: warm-up and measured messages by the same code, so that it is
 * there when it counts. */
HD void rate_run(const struct rate_args *a, struct rate_agent *g, struct coop c, const int ord, const int form, const int kind,
		 const int spans)
{
	struct rate_out *o = a->out + g->number;
	struct clock_pair begin = { 0, 0 };
	uint64_t each = a->warmup;

	g->goal = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (int measured = 0; measured < 2; measured++) {
		if (measured) {
			begin = rate_measured(a, g, c, form);
			each = a->messages;
		}
		/* an unfair lock doesn't give equal shares: all draw from one count */
		g->goal += rate_goal(a, g, each);
		if (g->status == RATE_OK)
			rate_post(a, g, each, c, ord, form, kind, spans);
		rate_drain_of(a, g, c, form, kind);
	}
	if (c.lane)
		return;
	rate_report(a, o, g, begin);
}

/* X(order, form): the loops that there are, for inline and for fetched payloads,
 * with and without spans. WQEs of two blocks have those of SOLO alone (FS_RATES_TWO). */
#define FS_RATE_FORMS(X, o) X(o, SOLO) X(o, TEAM) X(o, TEAMS) X(o, BLOCK) X(o, GPU) X(o, LOCK)
#define FS_RATES(X) \
	FS_RATE_FORMS(X, NONE) FS_RATE_FORMS(X, GPU_FENCE) FS_RATE_FORMS(X, GPU_FENCE_RECORD) \
	FS_RATE_FORMS(X, GPU_RELEASE) FS_RATE_FORMS(X, THREADFENCE) FS_RATE_FORMS(X, SYS_FENCE) \
	FS_RATE_FORMS(X, SYS_FENCE_RECORD) FS_RATE_FORMS(X, SYS_RELEASE)
#define FS_RATES_TWO(X) \
	X(NONE, SOLO) X(GPU_FENCE, SOLO) X(GPU_FENCE_RECORD, SOLO) X(GPU_RELEASE, SOLO) \
	X(THREADFENCE, SOLO) X(SYS_FENCE, SOLO) X(SYS_FENCE_RECORD, SOLO) X(SYS_RELEASE, SOLO)

enum { RATE_THREADS_MAX = 256 }; /* of a block: its loop needs more registers than more would have */

/* One pass on a GPU: `blocks` of `threads`, which make up the agents, beside the
 * blocks of a NIC on the same device. Returns when all have ended. */
int rate_gpu_run(const struct rate_args *a, int ord, int form, int kind, int spans, unsigned blocks, unsigned threads,
		 unsigned beside, int device, double patience_s);
/* Before a NIC is resident. */
int rate_gpu_load(int ord, int form, int kind, int spans, int device);

#endif
