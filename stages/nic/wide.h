/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC for many queues, by all lanes of a warp (a lone lane on a CPU; HD).
 *
 * A worker serves the queues that are its own in turn, at most WIDE_QUOTA messages
 * each, so that a busy queue keeps none waiting for ever. Lanes look at doorbells
 * side by side; what a queue has announced they take message by message, a lane
 * each: fetch, checks, walk, payload. The checks are those of the other engine
 * (check.h), and so are the formats. A message that is refused ends the queue: those
 * before it are done, it completes with its syndrome, those behind it are flushed.
 *
 * Order: each lane's payload and CQE body, then all lanes meet, then a system-scope
 * release each, then the CQEs' last words. Whoever acquires the CQE of message m may
 * read the payloads of m and of all before it, whether or not they asked for a CQE. Of a
 * collapsed CQ's one CQE there is one writer a round, the last lane that has one.
 *
 * It takes no marks: a mark of one lane would make the others wait. What it counts is
 * how long its workers were busy, which says whether the NIC was the limit. A payload
 * has to lie on one page; a longer one is over this NIC's longest message.
 */
#ifndef FS_WIDE_H
#define FS_WIDE_H

#include "stages/nic/payload.h"

enum { WIDE_QUOTA = 64, WIDE_QUEUES_MAX = 1024, WIDE_WORKERS_MAX = 128 };

/* Queues lie alike, so many bytes from one to the next; their numbers follow each other. */
struct wide {
	struct engine first;     /* of queue 0: addresses, sizes, tables; no marks, no scratch */
	uint64_t wq_step, dbrec_step, db_step, cq_step;
	uint32_t queues, workers;
	uint32_t fault;          /* EF_NONE, EF_DEAD, EF_ERROR_CQE, of queue 0 from message fault_at on */
	uint64_t fault_at;
};

/* What a worker remembers of a queue. */
struct wide_queue {
	uint64_t db;             /* the doorbell's last value */
	uint64_t pi;             /* next message */
	uint32_t due;            /* announced and not yet done */
	uint32_t cqes;
	uint32_t error;          /* the first syndrome: flushing since */
	uint32_t pad;
};

struct wide_status {
	uint64_t doorbells, wqes, cqes;
	uint64_t stale_wqe, odd_doorbells;
	uint64_t syndrome;       /* of some queue's first error */
	uint64_t busy, all;      /* ticks: with messages; from the first to the last of them */
	uint64_t turns;          /* times that a queue was served */
	uint64_t smid;
};

/* A worker at work: the same in all lanes, but what it counts. */
struct wide_worker {
	struct wide_status st;   /* each lane its own counts of stale_wqe and cqes; else lane 0's */
	uint64_t began, ended;   /* ticks of the first message's turn and of the last one's end */
	uint32_t worker;
};

HD struct engine wide_engine(const struct wide *w, uint32_t q)
{
	struct engine e = w->first;

	e.wq += q * w->wq_step;
	e.dbrec += q * w->dbrec_step;
	e.db += q * w->db_step;
	e.cq += q * w->cq_step;
	e.qpn += q;
	return e;
}

/* Fetches WQE m; one that is too old is fetched again, bounded; not in a queue that is
 * flushed anyway. */
HD void wide_fetch(const struct engine *e, uint64_t m, struct work *k, int flushed, struct engine_status *stale)
{
	const uint8_t *slot = e->wq + (uint64_t)((uint32_t)m & ((1u << e->log_n) - 1)) * WQEBB;

	engine_fetch(e, m, k);
	while (!flushed && (k->odd & ~CTRL_FREE) && engine_stale(k->w[0], m, e->log_n) &&
	       engine_stale_wait(slot, m, e->log_n, stale))
		engine_fetch(e, m, k);
	engine_fields(k);
}

/* Its checks and walk: 0 or a syndrome. */
HD uint32_t wide_check(const struct engine *e, const struct work *k, struct span *near_span, struct span *far_span)
{
	struct mkey far_key;
	uint32_t synd, dep = 0;

	if (!k->len)
		return engine_decode(k);
	key_load(key_at(&e->tab, k->rkey), &far_key);
	synd = engine_check(e, k, &far_key, near_span, far_span, &dep, k->inl != 0);
	if (!synd && (far_span->npages != 1 || (!k->inl && near_span->npages != 1)))
		return SYND_LOCAL_LENGTH;
	return synd;
}

HD void wide_payload(const struct engine *e, const struct work *k, const struct span *near_span, const struct span *far_span)
{
	struct moments none = { 0, 0, 0 };
	struct coop alone = { 0, 1 };
	struct move mv;

	if (!k->len)
		return;
	if (k->inl) {
		if (engine_inline_words(k))
			engine_inline(k, far_span);
		else
			engine_inline_odd(k, far_span, 0);
		return;
	}
	mv.src = k->opcode == WQE_READ ? *far_span : *near_span;
	mv.dst = k->opcode == WQE_READ ? *near_span : *far_span;
	mv.bytes = k->len;
	mv.segment = e->segment;
	engine_move(&mv, alone, &none, BARE);
}

/* All of a CQE but its last word, which is returned. */
HD uint64_t wide_cqe_body(const struct engine *e, uint8_t *p, uint32_t number, uint64_t m, const struct work *k, uint32_t synd)
{
	st64x2(p, 0, 0);
	st64x2(p + 16, 0, 0);
	st64x2(p + 32, 0, cqe_word5(synd ? 0 : k->len));
	st64(p + 48, synd ? cqe_word6_error(0, synd) : 0);
	return cqe_word7(ctrl_opcode(k->w[0]), e->qpn, m, synd ? CQE_REQ_ERR : CQE_REQ, number >> e->log_ncqe & 1);
}

/* The next n messages of a queue, at most a lane each. All lanes. */
HD void wide_messages(const struct wide *w, const struct engine *e, struct wide_queue *s, uint32_t n, uint32_t q,
		      struct coop c, struct wide_worker *me)
{
	uint64_t m = s->pi + (uint32_t)c.lane, w7 = 0;
	struct span near_span, far_span;
	struct engine_status stale;
	uint32_t synd = 0, bad, wants, writes, number;
	int mine = (uint32_t)c.lane < n, first = c.nlanes;
	uint8_t *p = e->cq;
	struct work k;

	/* a lane without a message moves nothing: no span of its is looked at */
	near_span.page0 = near_span.off = far_span.page0 = far_span.off = 0;
	near_span.shift = near_span.pte = near_span.npages = far_span.shift = far_span.pte = far_span.npages = 0;
	near_span.more = far_span.more = 0;
	stale.stale_wqe = 0;
	k.len = 0;
	k.w[0] = k.w[1] = 0;
	if (mine) {
		wide_fetch(e, m, &k, s->error != 0, &stale);
		synd = s->error ? (uint32_t)SYND_FLUSHED : wide_check(e, &k, &near_span, &far_span);
		if (UNLIKELY(w->fault == EF_ERROR_CQE) && !q && m >= w->fault_at && !synd)
			synd = SYND_REMOTE_OP;
		me->st.stale_wqe += stale.stale_wqe;
	}
	bad = coop_ballot(c, mine && synd);
	if (UNLIKELY(bad)) {
		first = lowest_bit(bad);
		if (!s->error)
			s->error = (uint32_t)coop_from(c, synd, first);
		if (c.lane > first)
			synd = SYND_FLUSHED;
	}
	if (mine && c.lane < first)
		wide_payload(e, &k, &near_span, &far_span);
	/* a good WQE reports only when asked to; a bad one always */
	wants = coop_ballot(c, mine && (synd || (ctrl_fm_ce_se(k.w[1]) & WQE_CQ_UPDATE)));
	number = s->cqes + bits_of(wants & ((1u << c.lane) - 1));
	writes = c.nlanes > 1 && !e->log_ncqe && wants ? 1u << highest_bit(wants) : wants;
	p += (uint64_t)(number & ((1u << e->log_ncqe) - 1)) * CQE_SIZE;
	if (writes >> c.lane & 1)
		w7 = wide_cqe_body(e, p, number, m, &k, synd);
	coop_sync(c);
	release_sys();
	if (writes >> c.lane & 1)
		st64_published(p + 56, w7);
	s->cqes += bits_of(wants);
	s->pi += n;
	s->due -= n;
}

/* What a doorbell's value announces. */
HD void wide_doorbell(const struct engine *e, struct wide_queue *s, uint64_t db, struct wide_worker *me)
{
	uint32_t due = (doorbell_next(db) - (uint32_t)s->pi) & INDEX_MASK;

	s->db = db;
	me->st.doorbells++;
	if (ctrl_qpn(db) != e->qpn || due > 1u << e->log_n)
		me->st.odd_doorbells++;
	else
		s->due = due;
}

/* A queue's turn. `state` is the worker's memory of it. */
HD void wide_turn(const struct wide *w, uint32_t q, uint64_t db, struct wide_queue *state, struct coop c, struct wide_worker *me)
{
	const struct engine e = wide_engine(w, q);
	struct wide_queue s = *state;
	uint32_t left = WIDE_QUOTA, cqes = s.cqes;
	uint64_t pi = s.pi;

	polled();
	if (db != s.db)
		wide_doorbell(&e, &s, db, me);
	if (UNLIKELY(w->fault == EF_DEAD) && !q && s.pi >= w->fault_at)
		s.due = 0;
	while (s.due && left) {
		uint32_t n = s.due < left ? s.due : left;

		n = n < (uint32_t)c.nlanes ? n : (uint32_t)c.nlanes;
		wide_messages(w, &e, &s, n, q, c, me);
		left -= n;
	}
	me->st.turns++;
	me->st.wqes += s.pi - pi;
	me->st.cqes += s.cqes - cqes;
	if (s.error)
		me->st.syndrome = s.error;
	coop_sync(c);
	if (!c.lane)
		*state = s;
	coop_sync(c);
}

/*
 * Looks once at all doorbells of a worker and serves what there is; how many queues
 * had something. states[i] is of the worker's i-th queue, zeroed before.
 */
HD uint32_t wide_round(const struct wide *w, struct wide_queue *states, struct coop c, struct wide_worker *me, int gettime)
{
	uint32_t mine = (w->queues - me->worker + w->workers - 1) / w->workers, served = 0;

	for (uint32_t i = 0; i < mine; i += (uint32_t)c.nlanes) {
		uint32_t j = i + (uint32_t)c.lane, q = me->worker + j * w->workers, some;
		uint64_t db = 0, t0;
		int has = 0;

		if (j < mine) {
			db = ld64_poll(w->first.db + q * w->db_step);
			has = db != states[j].db || states[j].due;
		}
		some = coop_ballot(c, has);
		if (!some)
			continue;
		t0 = ticks(gettime);
		if (!me->st.turns)
			me->began = t0;
		while (some) {
			int l = lowest_bit(some);

			some &= some - 1;
			wide_turn(w, me->worker + (i + (uint32_t)l) * w->workers, coop_from(c, db, l), states + i + l, c, me);
			served++;
		}
		me->ended = ticks(gettime);
		me->st.busy += me->ended - t0;
	}
	return served;
}

/* All lanes' counts together; lane 0's are whole afterwards. */
HD void wide_finish(struct wide_worker *me, struct coop c)
{
	me->st.stale_wqe = coop_sum(me->st.stale_wqe, c);
	me->st.all = me->ended - me->began;
}

#endif
