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
 * Where WQEs may have two basic blocks (`mixed`, a literal) a lane doesn't know what is its
 * own before it knows how long all before are. So each fetches a block, and where WQEs begin
 * follows from the first one on: a beginning whose DS says so has the next block too. A
 * block in which none begins is its neighbour's second one, whatever stands in it. The quota
 * counts blocks then.
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
	uint32_t mixed;          /* WQEs may have two blocks; which of its codes a NIC runs */
	uint64_t fault_at;
};

/* What a worker remembers of a queue. */
struct wide_queue {
	uint64_t db;             /* the doorbell's last value */
	uint64_t pi;             /* next index */
	uint32_t due;            /* blocks that are announced and not yet done */
	uint32_t cqes;
	uint32_t error;          /* the first syndrome: flushing since */
	uint32_t skip;           /* blocks that WQEs so far had beyond their first */
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

/* Where WQEs begin in n blocks of which the first one is a beginning: a bit each. `longs`: the
 * blocks that would have the next one too if they were beginnings. In a row of these they and
 * second blocks take turns, and the row's first is a beginning, as the block before it isn't
 * long: of a row, those that are an even number of places behind its first. */
HD uint32_t wide_begins(uint32_t longs, uint32_t n)
{
	const uint32_t even = 0x55555555u;
	uint32_t rows = longs & ~(longs << 1) & even; /* where rows begin, at even places */
	uint32_t from_even = longs & ~(longs + rows); /* such a row carries itself away */
	uint32_t has_next = (from_even & even) | (longs & ~from_even & ~even);

	return ~(has_next << 1) & (~0u >> (32 - n));
}

/* Has a WQE the next block too, when so many are announced? The rule of engine_blocks, whose
 * code is timed and stays as it is. */
HD int wide_is_long(const struct work *k, uint32_t due)
{
	return k->ds > WQEBB / WQE_SEG && k->ds <= WQE_BLOCKS_MAX * (WQEBB / WQE_SEG) && k->opcode == WQE_WRITE && due >= 2;
}

/* What the lanes have found in a queue's next blocks: where WQEs begin, which of those have
 * two blocks, and how many blocks there are in all. */
struct wide_found { uint32_t begins, twos, blocks; };

/* Fetches n blocks, a lane each, and for a WQE of two its second. Which DS counts is known from
 * the first lane on, so of WQEs that are too old the first one has to come before the others
 * are looked at; bounded, and not in a queue that is flushed anyway. All lanes. */
HD struct wide_found wide_find(const struct engine *e, const struct wide_queue *s, uint32_t n, struct work *k,
			       uint64_t second[WQE_WORDS], struct coop c, struct engine_status *stale)
{
	uint64_t at = s->pi + (uint32_t)c.lane;
	const uint8_t *slot = e->wq + (uint64_t)((uint32_t)at & ((1u << e->log_n) - 1)) * WQEBB;
	int mine = (uint32_t)c.lane < n, again = 0, give_up = s->error != 0, own;
	uint32_t longs, old;
	struct wide_found f;

	k->odd = 0;
	for (int i = 0; i < WQE_WORDS; i++)
		k->w[i] = 0;
	if (mine)
		engine_fetch(e, at, k);
	for (;;) {
		engine_fields(k);
		longs = coop_ballot(c, mine && wide_is_long(k, s->due - (uint32_t)c.lane));
		f.begins = wide_begins(longs, n);
		own = f.begins >> c.lane & 1;
		old = coop_ballot(c, own && (k->odd & ~CTRL_FREE) && engine_stale(k->w[0], at, e->log_n));
		if (LIKELY(!old) || give_up)
			break;
		if (c.lane == lowest_bit(old)) {
			give_up = !engine_stale_wait(slot, at, e->log_n, stale);
			if (!give_up)
				engine_fetch(e, at, k);
			again = 1;
		}
		give_up = (int)coop_from(c, (uint64_t)give_up, lowest_bit(old));
	}
	f.twos = f.begins & longs;
	f.blocks = n + (f.twos >> (n - 1) & 1);
	for (int i = 0; i < WQE_WORDS; i++)
		second[i] = coop_from(c, k->w[i], (c.lane + 1) & (c.nlanes - 1));
	/* the last lane's lies outside; and behind a WQE that was too old it may have been so too */
	if (UNLIKELY((f.twos >> c.lane & 1) && (again || c.lane + 1 >= (int)n)))
		engine_fetch_second(e, at, second);
	return f;
}

/* Its checks and walk, of one that has so many blocks: 0 or a syndrome. */
HD uint32_t wide_check(const struct engine *e, const struct work *k, struct span *near_span, struct span *far_span,
		       const uint32_t blocks)
{
	struct mkey far_key;
	uint32_t synd, dep = 0;

	if (!k->len)
		return engine_decode_of(k, blocks);
	key_load(key_at(&e->tab, k->rkey), &far_key);
	synd = engine_check_of(e, k, &far_key, near_span, far_span, &dep, blocks, k->inl != 0);
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

/* The same of a WQE of two blocks. */
HD void wide_payload_two(const struct work *k, const uint64_t second[WQE_WORDS], const struct span *far_span)
{
	uint64_t copy[WQE_WORDS]; /* that it is taken by bytes here is no reason for `second` to lie in memory */

	if (engine_inline_words(k)) {
		engine_inline_two(k, second, far_span);
		return;
	}
	for (int i = 0; i < WQE_WORDS; i++)
		copy[i] = second[i];
	engine_inline_odd_of(k, copy, far_span, 0);
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

/* The message that begins at an index: at s->pi, and where every WQE has one block at any. */
HD uint64_t wide_message(const struct wide_queue *s, uint64_t index, const int mixed) { return mixed ? index - s->skip : index; }

/* The next n blocks of a queue, at most a lane each; all WQEs that begin in them. How many
 * blocks these have. All lanes. */
HD uint32_t wide_messages(const struct wide *w, const struct engine *e, struct wide_queue *s, uint32_t n, uint32_t q,
			  struct coop c, struct wide_worker *me, const int mixed)
{
	uint64_t at = s->pi + (uint32_t)c.lane, m = at, w7 = 0, second[WQE_WORDS];
	struct wide_found f = { 0, 0, n };
	struct span near_span, far_span;
	struct engine_status stale;
	uint32_t synd = 0, bad, wants, writes, number, blocks = 1;
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
	if (mixed) {
		f = wide_find(e, s, n, &k, second, c, &stale);
		mine = f.begins >> c.lane & 1;
		blocks = 1 + (f.twos >> c.lane & 1);
		m = s->pi - s->skip + bits_of(f.begins & ((1u << c.lane) - 1));
		me->st.stale_wqe += stale.stale_wqe;
	}
	if (mine) {
		if (!mixed)
			wide_fetch(e, m, &k, s->error != 0, &stale);
		synd = s->error ? (uint32_t)SYND_FLUSHED : wide_check(e, &k, &near_span, &far_span, mixed ? blocks : 1);
		if (UNLIKELY(w->fault == EF_ERROR_CQE) && !q && m >= w->fault_at && !synd)
			synd = SYND_REMOTE_OP;
		if (!mixed)
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
	if (mixed && blocks > 1 && c.lane < first)
		wide_payload_two(&k, second, &far_span);
	else if (mine && c.lane < first)
		wide_payload(e, &k, &near_span, &far_span);
	/* a good WQE reports only when asked to; a bad one always */
	wants = coop_ballot(c, mine && (synd || (ctrl_fm_ce_se(k.w[1]) & WQE_CQ_UPDATE)));
	number = s->cqes + bits_of(wants & ((1u << c.lane) - 1));
	writes = c.nlanes > 1 && !e->log_ncqe && wants ? 1u << highest_bit(wants) : wants;
	p += (uint64_t)(number & ((1u << e->log_ncqe) - 1)) * CQE_SIZE;
	if (writes >> c.lane & 1)
		w7 = wide_cqe_body(e, p, number, at, &k, synd);
	coop_sync(c);
	release_sys();
	if (writes >> c.lane & 1)
		st64_published(p + 56, w7);
	s->cqes += bits_of(wants);
	if (mixed)
		s->skip += f.blocks - bits_of(f.begins);
	s->pi += f.blocks;
	s->due -= f.blocks;
	return f.blocks;
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
HD void wide_turn(const struct wide *w, uint32_t q, uint64_t db, struct wide_queue *state, struct coop c, struct wide_worker *me,
		  const int mixed)
{
	const struct engine e = wide_engine(w, q);
	struct wide_queue s = *state;
	uint32_t left = WIDE_QUOTA, cqes = s.cqes;
	uint64_t m = wide_message(&s, s.pi, mixed);

	polled();
	if (db != s.db)
		wide_doorbell(&e, &s, db, me);
	if (UNLIKELY(w->fault == EF_DEAD) && !q && m >= w->fault_at)
		s.due = 0;
	while (s.due && left) {
		uint32_t n = s.due < left ? s.due : left;

		n = n < (uint32_t)c.nlanes ? n : (uint32_t)c.nlanes;
		n = wide_messages(w, &e, &s, n, q, c, me, mixed);
		left -= mixed && n > left ? left : n; /* the last WQE may end a block behind it */
	}
	me->st.turns++;
	me->st.wqes += wide_message(&s, s.pi, mixed) - m;
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
 * had something. states[i] is of the worker's i-th queue, zeroed before. `mixed` is w->mixed.
 */
HD uint32_t wide_round(const struct wide *w, struct wide_queue *states, struct coop c, struct wide_worker *me, int gettime,
		       const int mixed)
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
			wide_turn(w, me->worker + (i + (uint32_t)l) * w->workers, coop_from(c, db, l), states + i + l, c, me, mixed);
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
