/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message rates (HD): many threads, many queues, many messages under way. The loop
 * reserves slots, builds a batch, publishes it and goes on; it waits only for room.
 * How a queue is shared (stages/queue/share.h), the order and whether spans are
 * summed are literals.
 *
 * An agent is a thread, or a warp whose lanes work together. With spans summed the
 * clock is read at four places of a turn, and where one span ends the next begins:
 *   intent-reserved  a slot is reserved, and there is room for it
 *   reserved-built   the WQEs' stores are issued
 *   built-turn       those who reserved before have published (shared queues)
 *   turn-rung        order, record and doorbell
 * So they add up to the agent's whole time; that is bookkeeping. What is evidence is
 * that the bare loop's rate follows from them (rate.c).
 */
#ifndef FS_RATE_H
#define FS_RATE_H

#include "stages/queue/pace.h"
#include "stages/queue/share.h"

enum rate_span { RS_RESERVED, RS_BUILT, RS_TURN, RS_RUNG, RATE_SPANS };

/* Queues lie alike, so many bytes from one to the next; their numbers follow each other. */
struct rate_args {
	uint8_t *wq, *dbrec, *db;
	const uint8_t *cq;
	uint8_t *share;               /* SHARE_BYTES a queue; of no use where a queue is one agent's */
	uint64_t wq_step, dbrec_step, db_step, cq_step;
	uint64_t local, remote;       /* payload slots of queue 0, for either side */
	uint64_t slots_step;
	uint32_t slot_mask, stride_shift; /* message m lies at (m & slot_mask) << stride_shift */
	uint32_t log_n, log_ncqe, qpn, lkey, rkey;
	uint32_t queues, agents, depth, batch, log_signal, len;
	int32_t mode;                 /* enum doorbell_mode */
	int32_t gettime;
	uint32_t consumed;            /* somebody completes messages (not null) */
	int32_t crowded;              /* more threads than CPUs */
	uint64_t warmup, messages;    /* of each agent: whole batches, and whole completions */
	uint64_t wait_ns;             /* of any one wait */
	uint64_t *arrived;            /* agents that have warmed up */
	uint64_t *failed;             /* not 0: an agent has given up, and so do the others */
	struct rate_out *out;         /* [agents] */
};

enum rate_status { RATE_RUNNING, RATE_OK, RATE_TIMEOUT, RATE_CQE_ERROR, RATE_GIVEN_UP };

struct rate_out {
	uint64_t status;
	uint64_t messages, turns;     /* measured */
	uint64_t last;                /* index behind its last message */
	uint64_t at;                  /* message whose completion was waited for when it ended badly */
	uint64_t syndrome, vendor;    /* of the CQE that ended it */
	uint64_t ticks[RATE_SPANS];   /* summed over the turns */
	struct clock_pair begin, end; /* of the measured messages, the last one's completion included */
	uint64_t smid;
};

/* An agent's memory. */
struct rate_agent {
	struct queue q;
	uint8_t *share;
	uint64_t pi;                  /* next index, of a queue that is its own */
	uint64_t local, remote;
	uint64_t last;                /* index behind its last message */
	uint64_t turns, t;            /* t: when the last span ended */
	uint64_t sum[RATE_SPANS];
	uint64_t status, at, syndrome, vendor;
	uint32_t number;              /* the agent's */
};

/* `number` is the agent's, `queue` the one that it works on. */
HD void rate_begin(const struct rate_args *a, struct rate_agent *g, uint32_t number, uint32_t queue)
{
	g->q.wq = a->wq + queue * a->wq_step;
	g->q.dbrec = a->dbrec + queue * a->dbrec_step;
	g->q.db = a->db + queue * a->db_step;
	g->q.cq = a->cq + queue * a->cq_step;
	g->q.ci_word = 0;
	g->q.log_n = a->log_n;
	g->q.log_ncqe = a->log_ncqe;
	g->q.qpn = a->qpn + queue;
	g->q.depth = a->depth;
	g->share = a->share + (uint64_t)queue * SHARE_BYTES;
	g->local = a->local + queue * a->slots_step;
	g->remote = a->remote + queue * a->slots_step;
	g->pi = g->last = g->turns = g->t = 0;
	g->status = RATE_OK;
	g->at = g->syndrome = g->vendor = 0;
	g->number = number;
	for (int i = 0; i < RATE_SPANS; i++)
		g->sum[i] = 0;
}

/* The payload's number of a queue's message: queues don't have the same. */
HD uint64_t rate_number(uint32_t queue, uint64_t m) { return (uint64_t)queue << 30 | (m & ((1u << 30) - 1)); }

/* A wait that goes on: 1 when it has to end, with the reason in g. */
HD int rate_late(const struct rate_args *a, struct rate_agent *g, struct patience *late)
{
	if (ld64(a->failed)) {
		g->status = RATE_GIVEN_UP;
		return 1;
	}
	if (patience_look(late) <= a->wait_ns)
		return 0;
	g->status = RATE_TIMEOUT;
	return 1;
}

/* CQE `number` tells of an error, or of a queue that is flushed since one: the first of
 * those that are still there is the one to name. m: a message near it. */
HD void rate_blame(struct rate_agent *g, uint64_t number, uint64_t m)
{
	uint32_t mask = (1u << g->q.log_ncqe) - 1;
	const uint8_t *at = g->q.cq + (uint64_t)((uint32_t)number & mask) * CQE_SIZE;
	uint64_t w7;

	for (uint32_t k = 1; k <= mask && k <= number; k++) {
		const uint8_t *before = g->q.cq + (uint64_t)((uint32_t)(number - k) & mask) * CQE_SIZE;

		if (cqe_opcode(ld64(before + 56)) != CQE_REQ_ERR)
			break;
		at = before;
	}
	w7 = ld64_acquire(at + 56);
	g->status = RATE_CQE_ERROR;
	g->at = m + (uint64_t)(int64_t)(int16_t)(cqe_counter(w7) - (uint32_t)m);
	g->syndrome = cqe_syndrome(ld64(at + 48));
	g->vendor = cqe_vendor(ld64(at + 48));
}

/* Until message m and all before it are done. `passed`: 0 where no later message is
 * published before this wait ends; else the word that says how far others are. */
HD void rate_done(const struct rate_args *a, struct rate_agent *g, uint64_t m, const uint64_t *passed)
{
	/* the CQE that covers it: every 2^log_signal-th message has one */
	uint64_t number = m >> a->log_signal, counter = ((number + 1) << a->log_signal) - 1, w7;
	struct patience late = { 0, 0 };
	const uint8_t *at = g->q.cq + (uint64_t)((uint32_t)number & ((1u << g->q.log_ncqe) - 1)) * CQE_SIZE + 56;

	for (uint32_t n = 1;; n++) {
		w7 = ld64_poll(at);
		if (cqe_reached(w7, counter))
			break;
		if (!(n % POLLS_PER_LOOK)) {
			/* others may be laps ahead, so that the slot says nothing; they had to
			 * find room, which says that this message is done */
			if (passed && ld64(passed) > m + g->q.depth)
				return;
			if (rate_late(a, g, &late)) {
				g->at = m;
				return;
			}
		}
		relax_turn(n, a->crowded);
	}
	if (UNLIKELY(cqe_opcode(w7) != CQE_REQ))
		rate_blame(g, number, m);
}

/* Reserves n slots and waits for room; the first one's index. The agent's lane 0. */
HD uint64_t rate_reserve(const struct rate_args *a, struct rate_agent *g, uint32_t n, const int form)
{
	struct patience late = { 0, 0 };
	uint64_t m;

	if (form == FORM_LOCK)
		for (uint32_t k = 1; !lock_try(share_word(g->share, SHARE_LOCKED), SCOPE_GPU); k++) {
			if (!(k % POLLS_PER_LOOK) && rate_late(a, g, &late))
				return 0;
			relax_turn(k, a->crowded);
		}
	if (form_owns(form)) {
		m = g->pi;
		g->pi += n;
	} else {
		m = atom_add64(share_word(g->share, SHARE_RESERVED), n, form_scope(form));
	}
	if (a->consumed && m + n > g->q.depth)
		rate_done(a, g, m + n - g->q.depth - 1, 0);
	return m;
}

/* Until all that was reserved before m is published. */
HD void rate_turn(const struct rate_args *a, struct rate_agent *g, uint64_t m, const int form)
{
	uint64_t *word = share_word(g->share, SHARE_TURN);
	struct patience late = { 0, 0 };

	for (uint32_t k = 1; hand_load(word, form_scope(form)) != m; k++) {
		if (!(k % POLLS_PER_LOOK) && rate_late(a, g, &late)) {
			g->at = m;
			return;
		}
		relax_turn(k, a->crowded);
	}
}

HD void rate_publish(const struct rate_args *a, struct rate_agent *g, uint64_t pi, const int ord, const int form)
{
	uint64_t v = ring_prepare(&g->q, pi, ord, a->mode);

	doorbell_store(&g->q, v, ord);
	if (!form_owns(form))
		hand_store(share_word(g->share, SHARE_TURN), pi, form_scope(form));
	if (form == FORM_LOCK)
		hand_store(share_word(g->share, SHARE_LOCKED), 0, SCOPE_GPU);
}

/* WQE m, in its slot. */
HD void rate_build(const struct rate_args *a, struct rate_agent *g, uint64_t m, const int kind)
{
	uint32_t off = ((uint32_t)m & a->slot_mask) << a->stride_shift;
	struct resolved x = { a->lkey, a->rkey, g->remote + off };
	uint64_t w[WQE_WORDS], p = rate_number(g->q.qpn - a->qpn, m);

	/* a payload's number ends in the same bits as the index, which is all of it that
	 * the control segment has */
	wqe_build(&g->q, w, p, &x, g->local + off, a->len, kind);
	w[1] = ((m + 1) & ((1ull << a->log_signal) - 1)) ? wqe_ctrl1(0) : wqe_ctrl1(WQE_CQ_UPDATE);
	wqe_store(&g->q, m, w, a->len, kind);
}

HD void rate_mark(struct rate_agent *g, int span, int32_t gettime, const int spans)
{
	uint64_t t;

	if (!spans)
		return;
	t = ticks(gettime);
	g->sum[span] += t - g->t;
	g->t = t;
}

/* Posts `left` messages, a multiple of the batch; all lanes of an agent. */
HD void rate_post(const struct rate_args *a, struct rate_agent *g, uint64_t left, struct coop c, const int ord, const int form,
		  const int kind, const int spans)
{
	if (spans)
		g->t = ticks(a->gettime);
	while (left) {
		uint32_t n = a->batch;
		uint64_t m = 0;

		if (!c.lane)
			m = rate_reserve(a, g, n, form);
		if (form_teams(form)) {
			m = coop_from(c, m, 0);
			g->status = coop_from(c, g->status, 0);
		}
		if (UNLIKELY(g->status != RATE_OK))
			return;
		rate_mark(g, RS_RESERVED, a->gettime, spans);
		for (uint32_t i = (uint32_t)c.lane; i < n; i += (uint32_t)c.nlanes)
			rate_build(a, g, m + i, kind);
		if (form_teams(form))
			coop_sync(c);
		rate_mark(g, RS_BUILT, a->gettime, spans);
		if (!c.lane) {
			if (!form_owns(form) && form != FORM_LOCK)
				rate_turn(a, g, m, form);
			rate_mark(g, RS_TURN, a->gettime, spans);
			if (LIKELY(g->status == RATE_OK))
				rate_publish(a, g, m + n, ord, form);
			rate_mark(g, RS_RUNG, a->gettime, spans);
		}
		if (form_teams(form))
			g->status = coop_from(c, g->status, 0);
		if (UNLIKELY(g->status != RATE_OK))
			return;
		g->last = m + n;
		g->turns++;
		left -= n;
	}
}

/* Until its last message is done. */
HD void rate_drain(const struct rate_args *a, struct rate_agent *g, struct coop c, const int form)
{
	const uint64_t *passed = form_owns(form) ? 0 : share_word(g->share, SHARE_TURN);

	if (!c.lane && a->consumed && g->last && g->status == RATE_OK) {
		rate_done(a, g, g->last - 1, passed);
		polled();
	}
	if (form_teams(form))
		g->status = coop_from(c, g->status, 0);
}

/* All agents begin together. */
HD void rate_meet(const struct rate_args *a, struct rate_agent *g, struct coop c, const int form)
{
	struct patience late = { 0, 0 };

	if (!c.lane) {
		atom_add64(a->arrived, 1, SCOPE_SYS);
		for (uint32_t k = 1; ld64(a->arrived) < a->agents; k++) {
			if (!(k % POLLS_PER_LOOK) && rate_late(a, g, &late))
				break;
			relax_turn(k, a->crowded);
		}
	}
	if (form_teams(form))
		g->status = coop_from(c, g->status, 0);
}

/* An agent's whole run. */
HD void rate_run(const struct rate_args *a, struct rate_agent *g, struct coop c, const int ord, const int form, const int kind,
		 const int spans)
{
	struct rate_out *o = a->out + g->number;
	struct clock_pair begin;

	rate_post(a, g, a->warmup, c, ord, form, kind, 0);
	rate_drain(a, g, c, form);
	if (g->status == RATE_OK)
		rate_meet(a, g, c, form);
	begin = clock_pair_read(a->gettime);
	g->turns = 0;
	if (g->status == RATE_OK)
		rate_post(a, g, a->messages, c, ord, form, kind, spans);
	if (g->status == RATE_OK)
		rate_drain(a, g, c, form);
	if (c.lane)
		return;
	if (g->status != RATE_OK)
		st64(a->failed, 1);
	o->end = clock_pair_read(a->gettime);
	o->begin = begin;
	o->messages = a->messages;
	o->turns = g->turns;
	o->last = g->last;
	o->at = g->at;
	o->syndrome = g->syndrome;
	o->vendor = g->vendor;
	for (int i = 0; i < RATE_SPANS; i++)
		o->ticks[i] = g->sum[i];
	st64_release_sys(&o->status, g->status);
}

/* X(order, form): the loops that there are, for inline and for fetched payloads,
 * with and without spans. */
#define FS_RATE_FORMS(X, o) X(o, SOLO) X(o, TEAM) X(o, TEAMS) X(o, BLOCK) X(o, GPU) X(o, LOCK)
#define FS_RATES(X) \
	FS_RATE_FORMS(X, NONE) FS_RATE_FORMS(X, GPU_FENCE) FS_RATE_FORMS(X, GPU_FENCE_RECORD) \
	FS_RATE_FORMS(X, GPU_RELEASE) FS_RATE_FORMS(X, THREADFENCE) FS_RATE_FORMS(X, SYS_FENCE) \
	FS_RATE_FORMS(X, SYS_FENCE_RECORD) FS_RATE_FORMS(X, SYS_RELEASE)

enum { RATE_THREADS_MAX = 256 }; /* of a block: its loop needs more registers than more would have */

/* One pass on a GPU: `blocks` of `threads`, which make up the agents, beside the
 * blocks of a NIC on the same device. Returns when all have ended. */
int rate_gpu_run(const struct rate_args *a, int ord, int form, int kind, int spans, unsigned blocks, unsigned threads,
		 unsigned beside, int device, double patience_s);
/* Before a NIC is resident. */
int rate_gpu_load(int ord, int form, int kind, int spans, int device);

#endif
