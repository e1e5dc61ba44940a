/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent of a rate does in a turn (HD): reserve slots and wait for room, build
 * a batch, wait for its turn, ring, pass the turn on. How a queue is shared
 * (stages/queue/share.h), the order and whether spans are summed are literals.
 *
 * Everything here counts messages: room, turns, who comes next. What a NIC reads counts basic
 * blocks (index, doorbell, record, a CQE's counter); it is made of a message's number where it
 * is stored or read, by the kind of all of a point's WQEs, which is a literal too.
 *
 * An agent is a thread, or a warp whose lanes work together. With spans summed the
 * clock is read at several places of a turn, and where one span ends the next begins:
 *   intent-reserved  a slot is reserved, and there is room for it
 *   reserved-built   the WQEs' stores are issued
 *   built-turn       those who reserved before have published (queues that hand off)
 *   turn-rung        order, record and doorbell
 *   rung-passed      the turn is passed on, or the lock (shared queues)
 * So they add up to the agent's whole time; that is bookkeeping. What is evidence is
 * that the bare loop's rate follows from them (rate.c).
 */
#ifndef FS_RATE_AGENT_H
#define FS_RATE_AGENT_H

#include "stages/queue/pace.h"
#include "stages/queue/share.h"

enum rate_span { RS_RESERVED, RS_BUILT, RS_TURN, RS_RUNG, RS_PASSED, RATE_SPANS };

/* Queues lie alike, so many bytes from one to the next; their numbers follow each other. */
struct rate_args {
	uint8_t *wq, *dbrec, *db;
	const uint8_t *cq;
	uint8_t *share;               /* SHARE_BYTES a queue; of no use where a queue is one agent's */
	uint64_t wq_step, dbrec_step, db_step, cq_step;
	uint64_t local, remote;       /* payload slots of queue 0, for either side */
	uint64_t slots_step;
	uint32_t slot_mask, stride_shift; /* message m lies at (m & slot_mask) << stride_shift */
	uint32_t log_n, log_ncqe, qpn, lkey, rkey; /* log_ncqe 0: a collapsed CQ */
	uint32_t queues, agents, depth, batch, log_signal, len;
	int32_t mode;                 /* enum doorbell_mode */
	int32_t gettime;
	uint32_t consumed;            /* somebody completes messages (not null) */
	int32_t crowded;              /* more threads than CPUs */
	uint64_t warmup, messages;    /* of each agent: whole batches, and whole completions; with
				       * a lock its share of what all draw from */
	uint64_t wait_ns;             /* of any one wait in which nothing goes on */
	uint64_t pass_ns;             /* and of one in which others do */
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
	uint64_t pi;                  /* next message, of a queue that is its own */
	uint64_t goal;                /* messages of its queue, with a lock */
	uint64_t turn;                /* whose turn it was when it reserved */
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
	g->goal = g->turn = ~(uint64_t)0;
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

/*
 * A wait for others: it goes on as long as they do, which `word` shows by changing.
 * Whom an unfair lock passes over for seconds is not stuck. No wait is longer than
 * pass_ns all the same.
 */
struct waiting { struct patience still, whole; uint64_t seen; };

HD int rate_stuck(const struct rate_args *a, struct rate_agent *g, struct waiting *w, const uint64_t *word)
{
	uint64_t now = ld64(word);

	if (now != w->seen) {
		w->seen = now;
		w->still.looked = w->still.waited = 0;
	}
	if (rate_late(a, g, &w->still))
		return 1;
	if (patience_look(&w->whole) <= a->pass_ns)
		return 0;
	g->status = RATE_TIMEOUT;
	return 1;
}

/* CQE `number` tells of an error, or of a queue that is flushed since one: the first of
 * those that are still there is the one to name, which of a collapsed CQ may be a flushed one.
 * m: a message near it. */
HD void rate_blame_of(struct rate_agent *g, uint64_t number, uint64_t m, const int kind)
{
	uint32_t mask = (1u << g->q.log_ncqe) - 1;
	const uint8_t *at = g->q.cq + (uint64_t)((uint32_t)number & mask) * CQE_SIZE;
	uint64_t w7, near_it = post_index(m, kind);

	for (uint32_t k = 1; k <= mask && k <= number; k++) {
		const uint8_t *before = g->q.cq + (uint64_t)((uint32_t)(number - k) & mask) * CQE_SIZE;

		if (cqe_opcode(ld64(before + 56)) != CQE_REQ_ERR)
			break;
		at = before;
	}
	w7 = ld64_acquire(at + 56);
	g->status = RATE_CQE_ERROR;
	g->at = post_message(near_it + (uint64_t)(int64_t)(int16_t)(cqe_counter(w7) - (uint32_t)near_it), kind);
	g->syndrome = cqe_syndrome(ld64(at + 48));
	g->vendor = cqe_vendor(ld64(at + 48));
}

HD void rate_blame(struct rate_agent *g, uint64_t number, uint64_t m) { rate_blame_of(g, number, m, POST_INLINE); }

/* Until message m and all before it are done. A collapsed CQ's one entry says so of all up to its own
 * message, as a ring's slot does that others have gone on with. `passed`: 0 where no later message is
 * published before this wait ends; else the word that says how far others are. */
HD void rate_done_of(const struct rate_args *a, struct rate_agent *g, uint64_t m, const uint64_t *passed, const int kind)
{
	/* the CQE that covers it: every 2^log_signal-th message has one */
	uint64_t number = m >> a->log_signal, counter = post_index(((number + 1) << a->log_signal) - 1, kind), w7;
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
		rate_blame_of(g, number, m, kind);
}

/* The same where every WQE has one block, so that an index is a message's number. */
HD void rate_done(const struct rate_args *a, struct rate_agent *g, uint64_t m, const uint64_t *passed)
{
	rate_done_of(a, g, m, passed, POST_INLINE);
}

/* Takes the lock of its queue; the agent's lane 0. */
HD void rate_lock(const struct rate_args *a, struct rate_agent *g)
{
	struct waiting w = { { 0, 0 }, { 0, 0 }, 0 };

	for (uint32_t k = 1; !lock_try(share_word(g->share, SHARE_LOCKED)); k++) {
		if (!(k % POLLS_PER_LOOK) && rate_stuck(a, g, &w, share_word(g->share, SHARE_RESERVED)))
			return;
		relax_turn(k, a->crowded);
	}
}

/* Reserves n slots and waits for room; the first one's index. The agent's lane 0. With a
 * lock, which it holds then, nothing is reserved once the queue has all its messages. */
HD uint64_t rate_reserve_of(const struct rate_args *a, struct rate_agent *g, uint32_t n, const int form, const int consumed,
			    const int kind)
{
	uint64_t m;

	if (form_owns(form)) {
		m = g->pi;
		g->pi += n;
	} else if (form == FORM_LOCK) {
		rate_lock(a, g);
		if (UNLIKELY(g->status != RATE_OK))
			return 0;
		m = ld64(share_word(g->share, SHARE_RESERVED));
		if (UNLIKELY(m >= g->goal))
			return m;
		st64(share_word(g->share, SHARE_RESERVED), m + n);
	} else {
		m = atom_add64(share_word(g->share, SHARE_RESERVED), n, form_scope(form));
		/* its way is the atomic's, at the same time: rate_turn */
		g->turn = hand_look(share_word(g->share, SHARE_TURN), form_scope(form));
	}
	if (consumed && m + n > g->q.depth)
		rate_done_of(a, g, m + n - g->q.depth - 1, 0, kind);
	return m;
}

HD uint64_t rate_reserve_for(const struct rate_args *a, struct rate_agent *g, uint32_t n, const int form, const int consumed)
{
	return rate_reserve_of(a, g, n, form, consumed, POST_INLINE);
}

HD uint64_t rate_reserve(const struct rate_args *a, struct rate_agent *g, uint32_t n, const int form)
{
	return rate_reserve_for(a, g, n, form, a->consumed != 0);
}

/*
 * Until all that was reserved before m is published. The first look was made together
 * with the reservation, so that it costs nothing where nobody else is there; the fence
 * behind the last look makes an acquire of it.
 *
 * Why that is enough, in the words of PTX's memory consistency model: the turn's word
 * gets each value once, and the value m from the one who published up to m, by a store
 * that releases. The look that reads m and the fence behind it in program order are an
 * acquire pattern, of the same scope, in which both are; the two synchronize. So in
 * causality order all that the other did before (its WQEs, record and doorbell, and
 * those that it had acquired in the same way) comes before all that stands behind the
 * fence here: record and doorbell. Stores to one location that causality orders are in
 * this order in its coherence order, whatever `ordering` is, `none` too: a doorbell
 * never falls back. And causality order is transitive: what the ordering's fence or
 * release makes visible before this doorbell includes the others' WQEs, should the
 * NIC never see their own doorbells. What was built between look and fence are stores to
 * slots that nobody else has, which need no order with the others'. A look that is too
 * early reads another value, and is repeated.
 */
HD void rate_turn(const struct rate_args *a, struct rate_agent *g, uint64_t m, const int form)
{
	uint64_t *word = share_word(g->share, SHARE_TURN), seen = g->turn;
	struct waiting w = { { 0, 0 }, { 0, 0 }, 0 };

	for (uint32_t k = 1; UNLIKELY(seen != m); k++) {
		if (!(k % POLLS_PER_LOOK) && rate_stuck(a, g, &w, word)) {
			g->at = m;
			return;
		}
		relax_turn(k, a->crowded);
		seen = hand_look(word, form_scope(form));
	}
	hand_looked(form_scope(form));
}

/* Order, record and doorbell, for all before message m. */
HD void rate_ring_of(struct rate_agent *g, uint64_t m, const int ord, const int mode, const int kind)
{
	uint64_t v = ring_prepare(&g->q, post_index(m, kind), ord, mode);

	doorbell_store(&g->q, v, ord);
}

HD void rate_ring(struct rate_agent *g, uint64_t m, const int ord, const int mode) { rate_ring_of(g, m, ord, mode, POST_INLINE); }

/* The turn, or the lock, to whoever is next. */
HD void rate_pass(struct rate_agent *g, uint64_t pi, const int form)
{
	if (form == FORM_LOCK) {
		/* the lock's store releases both; who reads this one without the lock
		 * (rate_done) goes by its value alone */
		st64(share_word(g->share, SHARE_TURN), pi);
		hand_store(share_word(g->share, SHARE_LOCKED), 0, SCOPE_GPU);
	} else if (!form_owns(form)) {
		hand_store(share_word(g->share, SHARE_TURN), pi, form_scope(form));
	}
}

HD void rate_publish(const struct rate_args *a, struct rate_agent *g, uint64_t pi, const int ord, const int form)
{
	rate_ring(g, pi, ord, a->mode);
	rate_pass(g, pi, form);
}

/* Message m's WQE, in its slot, or its two. */
HD void rate_build(const struct rate_args *a, struct rate_agent *g, uint64_t m, const int kind)
{
	uint32_t off = ((uint32_t)m & a->slot_mask) << a->stride_shift;
	struct resolved x = { a->lkey, a->rkey, g->remote + off };
	uint64_t w[WQE_WORDS], p = rate_number(g->q.qpn - a->qpn, m);

	/* a payload's number ends in the same bits as the message's, which is all of it that
	 * the control segment has */
	wqe_build_at(&g->q, w, post_index(p, kind), p, &x, g->local + off, a->len, kind);
	w[1] = ((m + 1) & ((1ull << a->log_signal) - 1)) ? wqe_ctrl1(0) : wqe_ctrl1(WQE_CQ_UPDATE);
	wqe_store(&g->q, post_index(m, kind), w, a->len, kind);
	if (kind == POST_INLINE2) {
		wqe_build_second(w, p);
		wqe_store_second(&g->q, post_index(m, kind), w, a->len);
	}
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

#endif
