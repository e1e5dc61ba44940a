/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuer's loop: one code for a GPU thread and the CPU thread in its place
 * (HD). It is specialised by literal arguments: ordering, doorbell, kind of WQE
 * and whether it is instrumented; stages/issuer/{cpu.c,gpu.cu} make one function
 * of each combination from FS_COMBINATIONS.
 *
 * A pass is a warm-up and a number of measured messages, in blocks. Between two
 * blocks both clocks are read and marks are flushed; where marks are kept the
 * queue is drained there, so that no flush stands inside a message's path.
 *
 * With a batch, a message's `intent` is where its own turn in the batch comes:
 * the first pays for the reservation, and all wait in built-rung for the last.
 */
#ifndef FS_POST_H
#define FS_POST_H

#include "stages/queue/coop.h"
#include "stages/queue/queue.h"
#include "stages/queue/pace.h"

/* X over every specialised loop: ordering, doorbell, kind. */
#define FS_COMBINATIONS_KIND(X, o, d) X(o, d, INLINE) X(o, d, WRITE) X(o, d, READ) X(o, d, NOP)
#define FS_COMBINATIONS_DB(X, o) \
	FS_COMBINATIONS_KIND(X, o, RECORD_RING) \
	FS_COMBINATIONS_KIND(X, o, RING_RECORD_RING) \
	FS_COMBINATIONS_KIND(X, o, RING)
#define FS_COMBINATIONS(X) \
	FS_COMBINATIONS_DB(X, NONE) FS_COMBINATIONS_DB(X, GPU_FENCE) \
	FS_COMBINATIONS_DB(X, GPU_FENCE_RECORD) FS_COMBINATIONS_DB(X, GPU_RELEASE) \
	FS_COMBINATIONS_DB(X, THREADFENCE) FS_COMBINATIONS_DB(X, SYS_FENCE) \
	FS_COMBINATIONS_DB(X, SYS_FENCE_RECORD) FS_COMBINATIONS_DB(X, SYS_RELEASE)

struct issue_args {
	struct queue q;
	struct resolver res;
	uint8_t *local, *remote_view; /* local buffer; the remote one, as the issuer reaches it */
	uint32_t slot_mask, stride_shift; /* message m lies at (m & slot_mask) << stride_shift */
	uint32_t len;
	uint32_t batch;
	uint64_t warmup;              /* at least, a multiple of the block */
	uint64_t messages;            /* measured */
	uint64_t wait_ns;             /* deadline of any one wait */
	uint32_t fill;                /* write the source slot before each intent */
	uint32_t check;               /* compare the target slot after each noticed */
	uint32_t consumed;            /* somebody completes messages (not null) */
	uint32_t record;              /* keep marks: drain and flush between blocks */
	uint32_t settle;              /* warm up until the rate of the clock settles */
	uint32_t gap_ticks;           /* random pause before intent: dithers the NIC's poll */
	uint32_t dither;              /* random pause before the first poll of a CQE */
	int32_t ord, mode;            /* for the flexible form, which is not specialised by them */
	uint32_t fault;               /* enum wqe_fault */
	uint64_t fault_at;            /* the message that has it, counted from the first measured */
	uint64_t seed;
	struct sink_conf sink;
	uint64_t *marks;              /* [messages][ISSUER_SLOTS] */
	struct clock_pair *pairs;     /* [1 + blocks], the first before the first measured block */
	struct issue_out *out;
};

enum issue_status { ISSUE_RUNNING, ISSUE_OK, ISSUE_TIMEOUT, ISSUE_CQE_ERROR, ISSUE_ODD_CQE };

struct issue_out {
	uint64_t status;
	uint64_t first;               /* the first measured message */
	uint64_t posted, done;        /* messages, warm-up included */
	uint64_t syndrome, vendor, counter; /* of the CQE that ended it */
	uint64_t wrong_words;         /* payload words that were not the message's */
	uint64_t wrong_message;       /* the first such message */
	uint64_t poll_ticks;          /* mean period of the poll loop */
	uint64_t wall_begin, wall_end; /* around the measured messages */
	uint64_t unsettled;           /* 1: the clock's rate was still moving */
	uint64_t smid;
	uint64_t reloads;             /* of the consumer index from memory */
};

enum issue_job_kind { IJ_EXIT, IJ_FILL, IJ_CHECK, IJ_FLUSH };
struct issue_job {
	struct planter planter;
	int kind;
	uint8_t *at;
	const uint64_t *from;
	uint64_t bytes, message;
};

/* Wide work of an issuer; all lanes of its warp meet here. The leader gets the
 * job's result, the others the job's kind, so that they know when to leave. */
HD_CALLED uint64_t issue_wide(const struct issue_job *j, struct coop c)
{
	uint64_t r = 0;
	int kind;

	coop_sync();
	kind = j->kind;
	switch (kind) {
	case IJ_FILL: job_fill(j->at, j->bytes, j->message, c); break;
	case IJ_CHECK: r = job_check(j->at, j->bytes, j->message, c); break;
	case IJ_FLUSH: job_flush((uint64_t *)j->at, j->from, j->bytes / 8, c); break;
	}
	coop_sync();
	return c.lane ? (uint64_t)kind : r;
}

/* Small payloads, by the leader alone. Outside of the path, and called, so that
 * they don't stand between its instructions. */
HD_CALLED uint64_t issue_check_small(const uint8_t *at, uint32_t len, uint64_t m)
{
	struct coop alone = { 0, 1 };

	return job_check(at, len, m, alone);
}

HD_CALLED void issue_fill_small(uint8_t *at, uint32_t len, uint64_t m)
{
	struct coop alone = { 0, 1 };

	job_fill(at, len, m, alone);
}

struct issuer {
	const struct issue_args *a;
	struct issue_out *out;
	struct issue_job *job;
	struct coop c;
	struct queue_state qs;
	struct sink k;
	uint64_t done;
	uint64_t rnd;
	uint64_t polls, poll_ticks;   /* over the warm-up, for the dither */
	uint32_t dither_ticks;
	uint64_t first;               /* first measured message; ~0 in the warm-up */
	uint64_t fault_at;            /* message whose WQE is spoiled; ~0: none */
};

HD uint64_t issuer_wide(struct issuer *s, int kind, uint8_t *at, const uint64_t *from, uint64_t bytes, uint64_t m)
{
	s->job->kind = kind;
	s->job->at = at;
	s->job->from = from;
	s->job->bytes = bytes;
	s->job->message = m;
	return issue_wide(s->job, s->c);
}

/* Source of the data: local for a write, remote for a read. */
HD uint8_t *slot_of(uint8_t *base, const struct issue_args *a, uint64_t m)
{
	return base + ((uint64_t)((uint32_t)m & a->slot_mask) << a->stride_shift);
}

HD void issuer_fill(struct issuer *s, uint64_t m, const int kind)
{
	const struct issue_args *a = s->a;
	uint8_t *at = slot_of(kind == POST_READ ? a->remote_view : a->local, a, m);

	if (a->len <= 64)
		issue_fill_small(at, a->len, m);
	else
		issuer_wide(s, IJ_FILL, at, 0, a->len, m);
	/* the data is ready: nothing of it is on its way when intent is stamped */
	release_sys();
	fence_sc_gpu();
}

HD void issuer_check(struct issuer *s, uint64_t m, const int kind)
{
	const struct issue_args *a = s->a;
	uint8_t *at = slot_of(kind == POST_READ ? a->local : a->remote_view, a, m);
	uint64_t bad;

	bad = a->len <= 64 ? issue_check_small(at, a->len, m) : issuer_wide(s, IJ_CHECK, at, 0, a->len, m);
	if (UNLIKELY(bad)) {
		if (!s->out->wrong_words)
			s->out->wrong_message = m;
		s->out->wrong_words += bad;
	}
}

/* The marks of a message before its doorbell, in registers. */
struct early { uint64_t intent, reserved, resolved, built; };

HD void issuer_put(const struct issuer *s, uint64_t at, const struct early *t, const int instr)
{
	uint32_t mask = s->k.mask;

	if (instr == ALL || (instr == FLEX && mask >> MARK_INTENT & 1) || (instr == BARE && s->a->record))
		sink_put(at, IS_INTENT, t->intent);
	if (instr == ALL || (instr == FLEX && mask >> MARK_RESERVED & 1))
		sink_put(at, IS_RESERVED, t->reserved);
	if (instr == ALL || (instr == FLEX && mask >> MARK_RESOLVED & 1))
		sink_put(at, IS_RESOLVED, t->resolved);
	if (instr == ALL || (instr == FLEX && mask >> MARK_BUILT & 1))
		sink_put(at, IS_BUILT, t->built);
}

/* One message of a batch, up to its WQE; the first one (a literal) reserves for
 * all n. */
HD void issuer_build(struct issuer *s, uint64_t m, const int first, uint32_t n, struct early *t, const int kind,
		     const int instr)
{
	const struct issue_args *a = s->a;
	const struct sink_conf *c = &a->sink;
	uint64_t off = (uint64_t)((uint32_t)m & a->slot_mask) << a->stride_shift;
	uint64_t laddr = (uint64_t)a->local + off, w[WQE_WORDS];
	struct resolved x;

	if (instr == FLEX)
		sink_message(&s->k, c, m, instr);
	plant(&s->k, MARK_INTENT, instr);
	if (instr == BARE)
		t->intent = a->record ? ticks(c->gettime) : 0;
	else
		sink_stamp(&s->k, c, MARK_INTENT, &t->intent, instr);
	if (first)
		queue_reserve(&a->q, &s->qs, n);
	plant(&s->k, MARK_RESERVED, instr);
	/* if the index was loaded, a branch has waited for it */
	sink_stamp(&s->k, c, MARK_RESERVED, &t->reserved, instr);
	x = resolve(&a->res, off, kind);
	plant_after(&s->k, c, MARK_RESOLVED, x.lkey ^ x.rkey, instr);
	sink_stamp_after(&s->k, c, MARK_RESOLVED, x.lkey ^ x.rkey, &t->resolved, instr);
	wqe_build(&a->q, w, m, &x, laddr, a->len, kind);
	if (instr == FLEX && m == s->fault_at)
		wqe_spoil(w, a->fault);
	plant(&s->k, MARK_BUILT, instr);
	wqe_store(&a->q, m, w, a->len, kind);
	sink_stamp(&s->k, c, MARK_BUILT, &t->built, instr);
}

/* Order and doorbell; when it was rung. */
HD uint64_t issuer_ring(struct issuer *s, uint64_t pi, const int ord, const int mode, const int instr)
{
	const struct issue_args *a = s->a;
	uint64_t v = ring_prepare(&a->q, pi, ord, mode);

	plant(&s->k, MARK_RUNG, instr);
	doorbell_store(&a->q, v, ord);
	return instr == BARE ? 0 : ticks(a->sink.gettime);
}

/* Posts one message. Its marks stay in registers until its doorbell is rung. */
HD void issuer_post_one(struct issuer *s, const int ord, const int mode, const int kind, const int instr)
{
	uint64_t m = s->qs.pi, rung;
	struct early t = { 0, 0, 0, 0 };

	if (instr != BARE || s->a->record)
		s->k.at = sink_at(&s->k, &s->a->sink, m);
	issuer_build(s, m, 1, 1, &t, kind, instr);
	rung = issuer_ring(s, m + 1, ord, mode, instr);
	issuer_put(s, s->k.at, &t, instr);
	if (instr == ALL || (instr == FLEX && s->k.mask >> MARK_RUNG & 1))
		sink_put(s->k.at, IS_RUNG, rung);
}

/* Posts n messages and rings once; their marks are put away one by one. */
HD void issuer_post_many(struct issuer *s, uint32_t n, const int ord, const int mode, const int kind,
			 const int instr)
{
	const struct sink_conf *c = &s->a->sink;
	uint64_t m = s->qs.pi, rung;
	struct early t = { 0, 0, 0, 0 };

	if (instr != BARE || s->a->record)
		s->k.at = sink_at(&s->k, c, m);
	issuer_build(s, m, 1, n, &t, kind, instr);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 1; i < n; i++) {
		if (instr != BARE || s->a->record) {
			issuer_put(s, s->k.at, &t, instr);
			s->k.at = sink_at(&s->k, c, m + i);
		}
		issuer_build(s, m + i, 0, n, &t, kind, instr);
	}
	rung = issuer_ring(s, m + n, ord, mode, instr);
	if (instr != BARE || s->a->record)
		issuer_put(s, s->k.at, &t, instr);
	if (instr == BARE)
		return;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < n; i++) {
		sink_message(&s->k, c, m + i, instr);
		if (instr == ALL || s->k.mask >> MARK_RUNG & 1)
			sink_put(s->k.at, IS_RUNG, rung);
	}
}

/* What a CQE says that is not the next message's good one. */
HD_CALLED uint64_t issue_odd_cqe(struct issue_out *o, uint64_t w7, const uint8_t *cqe6)
{
	uint64_t w6 = ld64(cqe6);

	o->counter = cqe_counter(w7);
	if (cqe_opcode(w7) == CQE_REQ)
		return ISSUE_ODD_CQE;
	o->syndrome = cqe_syndrome(w6);
	o->vendor = cqe_vendor(w6);
	return ISSUE_CQE_ERROR;
}

/* Waits for one completion. Returns an issue_status. */
HD uint64_t issuer_reap(struct issuer *s, const int kind, const int instr)
{
	const struct issue_args *a = s->a;
	const struct queue *q = &a->q;
	struct waiting wait = { 0, 0 };
	uint64_t w7, t0, m = s->done;

	t0 = ticks(a->sink.gettime);
	while (!(w7 = queue_poll(q, &s->qs))) {
		if (wait_over(&wait, a->wait_ns))
			return ISSUE_TIMEOUT;
		relax_cpu();
	}
	polled();
	plant(&s->k, MARK_NOTICED, instr);
	if (instr != BARE || a->record) {
		uint64_t t = ticks(a->sink.gettime); /* the loop has ended on w7: it is here */

		if (a->q.depth > 1)
			sink_message(&s->k, &a->sink, m, instr);
		if (instr != FLEX || s->k.mask >> MARK_NOTICED & 1)
			sink_put(s->k.at, IS_NOTICED, t);
		if (instr != BARE)
			sink_put(s->k.at, IS_POLLS, wait.polls + 1);
	}
	if (a->dither && s->first == ~(uint64_t)0) {
		s->polls += wait.polls + 1;
		s->poll_ticks += ticks(a->sink.gettime) - t0;
	}
	if (UNLIKELY((cqe_opcode(w7) != CQE_REQ) | (cqe_counter(w7) != (uint32_t)(m & INDEX_MASK)) |
		     (cqe_qpn(w7) != q->qpn)))
		return issue_odd_cqe(s->out, w7, queue_cqe6(q, &s->qs));
	queue_take(q, &s->qs, w7);
	s->done++;
	if (a->check)
		issuer_check(s, m, kind);
	return ISSUE_OK;
}

/* Runs until `end` messages are done; posts no further than `limit`. */
HD uint64_t issuer_run_to(struct issuer *s, uint64_t end, uint64_t limit, const int ord,
			  const int mode, const int kind, const int instr)
{
	const struct issue_args *a = s->a;
	uint32_t depth = a->q.depth;

	while (s->done < end) {
		/* with nobody completing, what is posted is done */
		while (s->qs.pi < limit && s->qs.pi - s->done + a->batch <= depth &&
		       (a->consumed || s->done < end)) {
			uint32_t n = limit - s->qs.pi < a->batch ? (uint32_t)(limit - s->qs.pi) : a->batch;

			if (kind != POST_NOP && kind != POST_INLINE && a->fill)
				for (uint32_t i = 0; i < n; i++)
					issuer_fill(s, s->qs.pi + i, kind);
			if (a->gap_ticks)
				wait_ticks(a->gap_ticks / 4 + random_below(&s->rnd, a->gap_ticks), a->sink.gettime);
			if (LIKELY(n == 1))
				issuer_post_one(s, ord, mode, kind, instr);
			else
				issuer_post_many(s, n, ord, mode, kind, instr);
			if (!a->consumed)
				s->done = s->qs.pi;
		}
		if (a->consumed) {
			uint64_t st;

			if (s->dither_ticks)
				wait_ticks(random_below(&s->rnd, s->dither_ticks), a->sink.gettime);
			st = issuer_reap(s, kind, instr);
			if (st != ISSUE_OK)
				return st;
		}
	}
	return ISSUE_OK;
}

/* Has the warm-up done its part? */
HD int issuer_warmed(struct issuer *s, struct settling *g, struct clock_pair p)
{
	const struct issue_args *a = s->a;
	int calm = 1;

	if (a->settle) {
		calm = settled(g, p);
		if (!calm)
			return 0;
	}
	s->out->unsettled = calm < 0;
	return s->done >= a->warmup;
}

/* The whole pass; the leader's. */
HD void issuer_pass(struct issuer *s, const int ord, const int mode, const int kind, const int instr)
{
	const struct issue_args *a = s->a;
	uint64_t st = ISSUE_OK, end = ~(uint64_t)0, from, to, b = 0;
	struct clock_pair p = clock_pair_read(a->sink.gettime);
	struct settling g = { p, 0, 0, 0, 0 };

	for (;;) {
		if (end == ~(uint64_t)0 && issuer_warmed(s, &g, p)) {
			if (a->dither && s->polls)
				s->dither_ticks = (uint32_t)((float)s->poll_ticks / (float)s->polls);
			s->first = s->done;
			end = s->first + a->messages;
			if (a->fault)
				s->fault_at = s->first + a->fault_at;
			p = clock_pair_read(a->sink.gettime);
			a->pairs[0] = p;
			s->out->wall_begin = p.wall;
		}
		if (s->done == end)
			break;
		from = s->done;
		to = from + a->sink.block;
		to = to < end ? to : end;
		/* with nobody completing, a batch must not reach over the block's end */
		st = issuer_run_to(s, to, a->record || !a->consumed ? to : end, ord, mode, kind, instr);
		p = clock_pair_read(a->sink.gettime);
		if (st != ISSUE_OK)
			break;
		if (end == ~(uint64_t)0)
			continue;
		a->pairs[++b] = p;
		if (a->record)
			issuer_wide(s, IJ_FLUSH, (uint8_t *)(a->marks + (from - s->first) * ISSUER_SLOTS),
				    sink_stage(&s->k), (to - from) * ISSUER_SLOTS * 8, 0);
	}
	s->out->wall_end = p.wall;
	s->out->poll_ticks = s->dither_ticks;
	s->out->first = s->first;
	s->out->posted = s->qs.pi;
	s->out->done = s->done;
	s->out->reloads = s->qs.reloads;
	s->out->status = st;
}

HD void issuer_begin(struct issuer *s, const struct issue_args *a, struct issue_job *job,
		     uint64_t *stage, struct coop c)
{
	s->a = a;
	s->out = a->out;
	s->job = job;
	s->c = c;
	s->qs.pi = s->qs.ci = s->qs.polled = s->qs.reloads = 0;
	sink_begin(&s->k, &a->sink, stage, &job->planter);
	s->done = 0;
	s->rnd = a->seed | 1;
	s->polls = s->poll_ticks = 0;
	s->dither_ticks = 0;
	s->first = s->fault_at = ~(uint64_t)0;
}

#endif
