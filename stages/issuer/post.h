/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuer: one code for a GPU thread and the CPU thread in its place (HD). It
 * is specialised by literal arguments: ordering, doorbell, kind of WQE, how completions
 * come and whether it is instrumented; stages/issuer/{cpu.c,gpu.cu} make one function of
 * each combination from FS_COMBINATIONS.
 *
 * A pass is a warm-up and a number of measured messages, in blocks. Between two
 * blocks both clocks are read and marks are flushed; where marks are kept the
 * queue is drained there, so that no flush stands inside a message's path.
 *
 * issuer_run (run.h) is the loop that is timed. Unless there are plants it calls nothing and holds nothing
 * that is seldom done: on a GPU a jump over code that is not run costs tens of
 * cycles, and in a kernel that calls others every access first moves its
 * descriptor from a vector register. For the rest it comes back to issuer_lead,
 * which in its turn comes back where all lanes are needed.
 *
 * With a batch, a message's `intent` is where its own turn in the batch comes:
 * the first pays for the reservation, and all wait in built-rung for the last.
 */
#ifndef FS_POST_H
#define FS_POST_H

#include "stages/issuer/run.h"

/* X over every specialised loop: ordering, doorbell, kind. WQEs of two blocks with one
 * doorbell alone: each combination is a kernel. */
#define FS_COMBINATIONS_KIND(X, o, d) X(o, d, INLINE) X(o, d, WRITE) X(o, d, READ) X(o, d, NOP) FS_TWO_BLOCKS_##d(X, o, d)
#define FS_TWO_BLOCKS_RECORD_RING(X, o, d) X(o, d, INLINE2)
#define FS_TWO_BLOCKS_RING_RECORD_RING(X, o, d)
#define FS_TWO_BLOCKS_RING(X, o, d)
#define FS_COMBINATIONS_DB(X, o) \
	FS_COMBINATIONS_KIND(X, o, RECORD_RING) \
	FS_COMBINATIONS_KIND(X, o, RING_RECORD_RING) \
	FS_COMBINATIONS_KIND(X, o, RING)

/* BlueFlame's: X(ordering, doorbell, kind). Release stores are one word's. */
#define FS_FLAMES_KIND(X, o, d) X(o, d, INLINE) X(o, d, WRITE)
HD int flame_built(int ord, int kind)
{
	return ord != ORD_GPU_RELEASE && ord != ORD_SYS_RELEASE && (kind == POST_INLINE || kind == POST_WRITE);
}

/* Of those that hand over to a proxy: X(mode, kind). They order nothing for the NIC. */
#define FS_HANDS_KIND(X, m) X(m, INLINE) X(m, WRITE) X(m, READ) X(m, NOP)
#define FS_HANDS(X) FS_HANDS_KIND(X, TUNED) FS_HANDS_KIND(X, BASELINE)

/* Of those with CQ_OTHER: X(ordering, kind). */
#define FS_OTHER_CQ_KIND(X, o) X(o, INLINE) X(o, WRITE)
HD int other_cq_built(int mode, int kind)
{
	return mode == DBM_RECORD_RING && (kind == POST_INLINE || kind == POST_WRITE);
}

/* ---- payloads ---- */

/* Where message m lies in a buffer. */
HD uint8_t *slot_of(uint8_t *base, const struct issue_args *a, uint64_t m)
{
	return base + ((uint64_t)((uint32_t)m & a->slot_mask) << a->stride_shift);
}

/* The data is ready: nothing of it is on its way when intent is stamped. */
HD void issuer_filled(struct issuer *s)
{
	release_sys();
	fence_sc_gpu();
	s->h.filled++;
}

HD void issuer_checked(struct issuer *s, uint64_t bad)
{
	if (!bad)
		return;
	if (!s->out->wrong_words)
		s->out->wrong_message = s->h.done - 1;
	s->out->wrong_words += bad;
}

/* Does the leader fill and compare by itself? `jobs`: every fill is a job, whatever its size; on a GPU a literal. */
HD int issuer_alone(const struct issue_args *a, int job, const int jobs)
{
	return a->len <= 64 && !(jobs && job == IJ_FILL);
}

/* Small payloads by the leader alone: 1. Others become a job. Source of the data:
 * local for a write, remote for a read. */
HD int issuer_payload(struct issuer *s, int job, const int kind, const int jobs)
{
	const struct issue_args *a = s->a;
	int local = (job == IJ_FILL) == (kind != POST_READ);
	uint64_t m = job == IJ_FILL ? s->h.filled : s->h.done - 1;
	uint8_t *at = slot_of(local ? a->local : a->remote_view, a, m);
	struct coop alone = { 0, 1 };

	if (!issuer_alone(a, job, jobs)) {
		s->job->kind = job;
		s->job->at = at;
		s->job->bytes = a->len;
		s->job->message = m;
		return 0;
	}
	if (job == IJ_FILL) {
		job_fill(at, a->len, m, alone);
		issuer_filled(s);
	} else {
		issuer_checked(s, job_check(at, a->len, m, alone));
	}
	return 1;
}

#ifdef __CUDACC__
/* Of the second warp's lanes, between the two meetings of issuer_flame: BlueFlame by eight of them,
 * in one instruction. The first one's release covers what the leader did before they met, as a
 * fence of its own would. */
static __device__ __forceinline__ void issuer_lanes(uint8_t *db, struct planter *planter, struct coop c, const int ord,
						    const int instr)
{
	uint64_t w = flame_hand.w[c.lane & (WQE_WORDS - 1)];

	if (!c.lane) {
		order_doorbell(ord);
		if (instr == FLEX && flame_hand.what == FLAME_PLANTED)
			planter_wait(planter, MARK_RUNG);
	}
	coop_sync(c);
	if (c.lane < WQE_WORDS)
		st64(db + c.lane * 8, w);
}
#endif

/* All lanes: the job that the leader has posted. */
HD void issue_work(struct issue_job *j, struct coop c)
{
	uint64_t r = 0;

	switch (j->kind) {
	case IJ_FILL: job_fill(j->at, j->bytes, j->message, c); break;
	case IJ_CHECK: r = job_check(j->at, j->bytes, j->message, c); break;
	case IJ_FLUSH: job_flush((uint64_t *)j->at, j->from, j->bytes / 8, c); break;
	}
	if (!c.lane)
		j->result = r;
}

/* ---- blocks ---- */

/* Has the warm-up done its part? */
HD int issuer_warmed(struct issuer *s, struct clock_pair p)
{
	const struct issue_args *a = s->a;
	int calm = 1;

	if (a->settle) {
		calm = settled(&s->settling, p);
		if (!calm)
			return 0;
	}
	s->out->unsettled = calm < 0;
	return s->h.done >= a->warmup;
}

/* Ticks between two polls, by polling while nothing is under way. A wait of up to
 * so many before the first poll of a message makes the phase of its polls even. */
HD uint32_t issuer_poll_ticks(struct issuer *s, const int cq)
{
	uint64_t t0;
	uint32_t n = 0;

	if (cq == CQ_RING)
		return poll_period(queue_cqe7(&s->h.q, &s->h.qs), cqe_lap(s->h.qs.polled, s->h.q.log_ncqe), s->h.k.gettime);
	t0 = ticks(s->h.k.gettime);
	poll_covering(queue_cqe7(&s->h.q, &s->h.qs), (uint32_t)s->h.done, 1u << s->h.q.log_n, &n);
	return (uint32_t)(ticks(s->h.k.gettime) - t0) / n;
}

/* Begins a block, or the measured part; 0: everything is done. */
HD int issuer_open(struct issuer *s, const int cq)
{
	const struct issue_args *a = s->a;
	struct posting *h = &s->h;

	if (s->last == ~(uint64_t)0) {
		struct clock_pair p = clock_pair_read(h->k.gettime);

		if (issuer_warmed(s, p)) {
			if (a->dither)
				h->dither_ticks = issuer_poll_ticks(s, cq);
			s->first = h->done;
			s->last = s->first + a->messages;
			if (a->fault)
				h->fault_at = s->first + a->fault_at;
			p = clock_pair_read(h->k.gettime);
			a->pairs[0] = p;
		}
	}
	if (h->done == s->last)
		return 0;
	/* the same pauses in a block with a plant and in the one without */
	h->rnd = (a->seed + ((h->done - (s->first == ~(uint64_t)0 ? 0 : s->first)) & ~(uint64_t)(2 * a->sink.block - 1)) *
		  0x9e3779b97f4a7c15u) | 1;
	s->from = h->done;
	h->end = s->from + a->sink.block;
	h->end = h->end < s->last ? h->end : s->last;
	/* where nobody completes, a batch must not reach over the block's end */
	h->limit = a->record || !a->consumed ? h->end : s->last;
	s->open = 1;
	return 1;
}

/* Ends a block; 1: its marks are to be flushed. */
HD int issuer_close(struct issuer *s)
{
	const struct issue_args *a = s->a;

	s->open = 0;
	if (s->last == ~(uint64_t)0)
		return 0;
	a->pairs[++s->blocks] = clock_pair_read(s->h.k.gettime);
	if (!a->record)
		return 0;
	s->job->kind = IJ_FLUSH;
	s->job->at = (uint8_t *)(a->marks + (s->from - s->first) * ISSUER_SLOTS);
	s->job->from = sink_stage(&s->h.k);
	s->job->bytes = (s->h.done - s->from) * ISSUER_SLOTS * 8;
	return 1;
}

/* ---- ends ---- */

/* What a CQE says that is not the next message's good one. */
HD uint64_t issue_odd_cqe(struct issuer *s)
{
	struct issue_out *o = s->out;
	uint64_t w6 = ld64(queue_cqe6(&s->h.q, &s->h.qs));

	o->counter = cqe_counter(s->h.w7);
	if (cqe_opcode(s->h.w7) == CQE_REQ)
		return ISSUE_ODD_CQE;
	o->syndrome = cqe_syndrome(w6);
	o->vendor = cqe_vendor(w6);
	return ISSUE_CQE_ERROR;
}

/* Nothing has come for a while: is it too long? */
HD int issuer_too_late(struct issuer *s)
{
	if (s->late_done != s->h.done) {
		s->late_done = s->h.done;
		s->late.looked = s->late.waited = 0;
	}
	return patience_look(&s->late) > s->a->wait_ns;
}

HD void issuer_finish(struct issuer *s, uint64_t status, const int kind)
{
	struct issue_out *o = s->out;

	o->poll_ticks = s->h.dither_ticks;
	o->first = s->first;
	o->posted = post_message(s->h.qs.pi, kind);
	o->done = s->h.done;
	o->reloads = s->h.qs.reloads;
	o->status = status;
	s->job->kind = IJ_EXIT;
}

/* ---- the leader ---- */

/* Goes on with the pass until there is wide work, which it leaves in the job. */
HD void issuer_lead(struct issuer *s, const int ord, const int mode, const int kind, const int cq, const int instr, const int jobs)
{
	uint32_t why;

	if (s->job->kind == IJ_FILL)
		issuer_filled(s);
	if (s->job->kind == IJ_CHECK)
		issuer_checked(s, s->job->result);
	for (;;) {
		if (s->open && s->h.done == s->h.end && issuer_close(s))
			return;
		if (!s->open && !issuer_open(s, cq)) {
			issuer_finish(s, ISSUE_OK, kind);
			return;
		}
		why = issuer_run(s, ord, mode, kind, cq, instr);
		if (why == IW_FILL || why == IW_CHECK) {
			if (!issuer_payload(s, why == IW_FILL ? IJ_FILL : IJ_CHECK, kind, jobs))
				return;
		} else if (why == IW_CQE) {
			issuer_finish(s, issue_odd_cqe(s), kind);
			return;
		} else if (why != IW_DONE && issuer_too_late(s)) {
			issuer_finish(s, ISSUE_TIMEOUT, kind);
			return;
		}
	}
}

/* `s`, `job` and `stage` (block * SINK_SLOTS words) in shared memory on a GPU. */
HD void issuer_begin(struct issuer *s, const struct issue_args *a, struct issue_job *job, uint64_t *stage,
		     const int instr)
{
	struct posting *h = &s->h;

	s->a = a;
	s->out = a->out;
	s->job = job;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (int i = 0; i < RESOLVER_CHUNKS; i++) { /* a loop: as one assignment it is hundreds of instructions */
		s->keys.remote[i] = a->keys.remote[i];
		s->keys.local[i] = a->keys.local[i];
	}
	s->fresh = a->fresh;
	s->fresh_at = a->fresh_at;
	s->first = s->last = ~(uint64_t)0;
	s->from = s->blocks = s->late_done = s->late.looked = s->late.waited = 0;
	s->open = 0;
	job->kind = IJ_NONE;
	h->q = a->q;
	h->qs.pi = h->qs.ci = h->qs.polled = 0;
	h->qs.reloads = 0;
	sink_begin(&h->k, &a->sink, stage, &job->planter, instr);
	h->res.remote_base = (uint64_t)a->remote_view;
	h->res.keys = keys_address(&s->keys);
	h->res.chunk_shift = a->chunk_shift;
	h->local = (uint64_t)a->local;
	h->done = h->end = h->limit = h->filled = h->w7 = 0;
	h->rnd = 1;
	h->fault_at = ~(uint64_t)0;
	h->slot_mask = a->slot_mask;
	h->stride_shift = a->stride_shift;
	h->len = a->len;
	h->batch = a->batch;
	h->gap_ticks = a->gap_ticks;
	h->dither_ticks = 0;
	h->polls = 0;
	h->intent = 0;
	h->again = h->held = 0;
	h->consumed = a->consumed != 0;
	h->record = a->record != 0;
	h->fill = a->fill != 0;
	h->check = a->check != 0;
	s->settling.p0 = clock_pair_read(h->k.gettime);
	s->settling.ticks = s->settling.wall = 0;
	s->settling.calm = s->settling.looks = 0;
}

#endif
