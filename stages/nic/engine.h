/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC's engine, one code for a CPU thread and a GPU thread (HD).
 *
 * It is given base addresses and the doorbell's value and nothing else. It
 * fetches the WQE from memory, checks it as strictly as hardware, walks key and
 * page tables in memory, moves the payload in segments and writes a CQE. After
 * an error the queue flushes: every later WQE ends with syndrome 0x05.
 *
 * Steps, and why each order stands there:
 *   1. the doorbell is polled relaxed and acquired when it has changed: what its
 *      writer released is visible then, the WQE above all;
 *   2. the WQE is fetched as eight relaxed words; an index of an earlier lap is
 *      a stale fetch (the writer ordered too little): counted, fetched again. With
 *      BlueFlame it is taken out of the doorbell's line, if it is all there (flame.h);
 *   3. keys and page entries are loaded as early as their addresses are known,
 *      and the WQE and the keys are checked while those loads are under way: one
 *      thread issues in order and would wait otherwise. Whatever a check refuses
 *      has only been read from inside the tables;
 *   4. payload: relaxed loads, relaxed stores;
 *   5. the CQE's body, then a system-scope release, then its last word: whoever
 *      acquires the owner bit may read the payload.
 */
#ifndef FS_ENGINE_H
#define FS_ENGINE_H

#include "stages/nic/flame.h"
#include "stages/nic/payload.h"

/* The block that ends before the next message becomes a job, with a reading of both
 * clocks. Nothing is under way then: the issuer drains at the same places. */
HD void engine_flush(const struct engine *e, struct engine_state *s, struct engine_job *j)
{
	uint32_t block = s->k.block, n = (uint32_t)engine_message(s) & (block - 1);

	n = n ? n : block;
	e->pairs[s->flush_at / block] = clock_pair_read(s->k.gettime);
	j->kind = EJ_FLUSH;
	j->to = e->marks + (uint64_t)s->flush_at * NIC_SLOTS;
	j->from = sink_stage(&s->k);
	j->words = (uint64_t)n * NIC_SLOTS;
	s->flush_at += block;
	if (s->flush_at >= e->flush_keep)
		s->flush_at = 0;
}

/* Where a payload goes that all lanes move. An inline one is the leader's, only
 * its target's pages count. */
HD void engine_move_job(const struct engine *e, const struct engine_state *s, struct engine_job *j,
			const struct span *near_span, const struct span *far_span)
{
	int rd = s->w.opcode == WQE_READ;

	j->move.src = s->w.inl || rd ? *far_span : *near_span;
	j->move.dst = s->w.inl || !rd ? *far_span : *near_span;
	j->move.bytes = s->w.len;
	j->move.segment = e->segment;
	j->kind = j->move.src.npages == 1 && j->move.dst.npages == 1 ? EJ_NONE : EJ_XLAT;
}

/* After all pages are known: a syndrome of those that only a wide walk finds. */
HD uint32_t engine_walked(const struct engine_state *s, const struct engine_job *j)
{
	uint32_t rd = s->w.opcode == WQE_READ;

	if (j->kind != EJ_XLAT || !j->result)
		return 0;
	return s->w.inl || (j->result & 1) == rd ? (uint32_t)SYND_REMOTE_ACCESS : (uint32_t)SYND_LOCAL_PROT;
}

/* The payload's part behind its translation, if it is the leader's alone; else it
 * becomes a job. `second` is an inline one's second block; NULL, a literal: it has none. */
HD void engine_payload(struct engine_state *s, struct engine_job *j, const uint64_t *second, uint32_t dep,
		       const int instr)
{
	struct moments mo = { &s->k, 0, 0 };

	plant_after(&s->k, MARK_TRANSLATED, dep, instr);
	sink_stamp_after(&s->k, MARK_TRANSLATED, dep, &s->t.translated, instr);
	if (s->w.inl) {
		moment_read(&mo, 0, instr);
		engine_inline_odd_of(&s->w, second, &j->move.dst, 0);
		moment_written(&mo, instr);
	} else if (engine_small(&j->move.src, &j->move.dst, s->w.len)) {
		engine_move_small(&j->move.src, &j->move.dst, s->w.len, &mo, instr);
	} else {
		j->kind = EJ_MOVE;
		j->k = s->k;
		return;
	}
	s->t.read = mo.read;
	s->t.written = mo.written;
}

/* What goes wrong with message m; 1: its CQE is lost. */
HD int engine_spoil(const struct engine *e, const struct engine_state *s, uint64_t m, uint32_t *synd)
{
	if (m < e->fault_at)
		return 0;
	if (e->fault == EF_ERROR_CQE && !s->error)
		*synd = SYND_REMOTE_OP;
	if (e->fault == EF_SLOW) {
		int64_t debt = 0;

		wait_owed(&debt, 100000, wall_ticks_ns());
	}
	return e->fault == EF_LOST_CQE && m == e->fault_at;
}

/* Blocks of a usual message. */
HD uint32_t usual_blocks(const int usual) { return usual == USUAL_TWO ? 2 : 1; }

/* What the next doorbell is compared with, when the next WQE's index is pi. */
HD uint64_t usual_next(const struct engine *e, uint64_t pi, const int usual)
{
	return doorbell_value(usual == USUAL_FLAME ? pi : pi + usual_blocks(usual), e->qpn);
}

/* The end of the message that is worked on, whose WQE has so many blocks: its CQE, its
 * last mark, its record. */
HD void engine_end(const struct engine *e, struct engine_state *s, uint32_t synd, int quiet, const uint32_t blocks,
		   const int usual, const int instr)
{
	if (synd && !s->error)
		s->error = synd;
	s->written = (uint32_t)engine_message(s) + 1;
	/* a good WQE reports only when asked to; a bad one always */
	if (!quiet && (synd || ctrl_fm_ce_se(s->w.w[1]) & WQE_CQ_UPDATE)) {
		engine_cqe(e, s, s->pi, s->w.w[0], synd ? 0 : s->w.len, synd, instr);
		s->completed = (uint32_t)engine_message(s) + 1;
	}
	if (instr != BARE) {
		s->t.completed = ticks(s->k.gettime);
		engine_put(s, engine_message(s), &s->t, instr);
	}
	engine_raise(e, engine_message(s));
	s->pi += blocks;
	s->skip += blocks - 1;
	s->due -= blocks;
	s->next_db = usual_next(e, s->pi, usual);
}

/* Is a block of marks full? */
HD int engine_block_ends(const struct engine_state *s, const int instr)
{
	return instr != BARE && !((uint32_t)engine_message(s) & (s->k.block - 1));
}

/*
 * The fast loop: looks at the doorbell, and does the usual messages (inline
 * writes) that it announces. It goes straight through one: on a GPU every jump
 * over code that is not run costs tens of cycles, and every call spoils what is
 * kept in registers. So whatever is seldom ends the loop, and the caller
 * (engine_lead) does it: *sp holds how far the message has got.
 */
HD uint32_t engine_run(const struct engine *ep, struct engine_state *sp, const int usual, const int instr)
{
	const struct engine e = *ep;
	struct engine_state s = *sp;
	const uint32_t blocks = usual_blocks(usual);
	uint32_t why, lookups = 0, hits = 0;
	uint64_t gen = 0;

	for (;;) {
		struct span far_span;
		uint64_t second[WQE_WORDS];
		uint32_t dep = 0, look = 0, got;

		if (!s.due) {
			uint64_t db = poll_doorbell(e.db, s.db);

			/* stamped right behind the loop, whatever has ended it: see issuer_reap */
			polled();
			if (instr != BARE)
				s.t.seen = ticks(s.k.gettime);
			if (UNLIKELY(db == s.db)) {
				why = EW_QUIET;
				break;
			}
			if (instr == FLEX) {
				sink_message(&s.k, e.sink, engine_message(&s), instr);
				plant(&s.k, MARK_SEEN, instr);
				if (s.k.armed >> MARK_SEEN & 1) /* with the wait or without */
					s.t.seen = ticks(s.k.gettime);
			}
			s.doorbells++;
			s.db = db;
			if (UNLIKELY((usual == USUAL_FLAME ? !flame_brings(db, s.next_db) : db != s.next_db) | s.watch)) {
				why = EW_DOORBELL;
				break;
			}
			s.due = blocks;
			s.seen = (uint32_t)engine_message(&s) + 1;
		}
		if (instr == FLEX)
			sink_message(&s.k, e.sink, engine_message(&s), instr);
		plant(&s.k, MARK_STARTED, instr);
		sink_stamp(&s.k, MARK_STARTED, &s.t.started, instr);
		if (usual == USUAL_CACHED) /* behind the doorbell's acquire; it arrives while the WQE does */
			gen = ld64(e.generation);
		if (usual == USUAL_FLAME) {
			if (UNLIKELY(!flame_take(&e, &s, &s.w))) {
				why = EW_QUEUE;
				break;
			}
		} else {
			engine_fetch(&e, s.pi, &s.w);
		}
		/* both at once: the doorbell has announced two */
		got = blocks > 1 ? engine_fetch_second(&e, s.pi, second) : 0;
		got |= (uint32_t)(s.w.w[0] | s.w.w[2] | s.w.w[4] | s.w.w[6]);
		plant_after(&s.k, MARK_FETCHED, got, instr);
		sink_stamp_after(&s.k, MARK_FETCHED, got, &s.t.fetched, instr);
		engine_fields(&s.w);
		/* begun before it is known that this is a usual message: an odd key
		 * leads to entry 0 */
		if (usual != USUAL_CACHED)
			key_load(key_at(&e.tab, s.w.rkey), &s.far_key);
		if (usual == USUAL_FLAME) /* while the key is on its way */
			flame_empty(&e);
		if (UNLIKELY((s.w.inl == 0) | (s.w.len == 0) | (s.error != 0) | (instr == FLEX && e.fault) |
			     !engine_inline_words(&s.w) | (usual != USUAL_SPARSE && !(ctrl_fm_ce_se(s.w.w[1]) & WQE_CQ_UPDATE)) |
			     (blocks > 1 && ((s.due < 2) | (s.w.ds <= WQEBB / WQE_SEG))))) {
			why = EW_OTHER;
			break;
		}
		/* what this refuses, or what lies on two pages, is walked again */
		if (UNLIKELY(((usual == USUAL_CACHED ?
			       engine_check_cached(&e, &s.w, gen, &far_span, &far_span, &dep, &look, 1) :
			       engine_check_of(&e, &s.w, &s.far_key, &far_span, &far_span, &dep, blocks, 1)) != 0) |
			     (far_span.npages != 1))) {
			why = EW_OTHER;
			break;
		}
		engine_payload_of(&s, &s.w, blocks > 1 ? second : 0, &far_span, dep, &s.t, instr);
		s.written = (uint32_t)engine_message(&s) + 1;
		if (usual != USUAL_SPARSE || ctrl_fm_ce_se(s.w.w[1]) & WQE_CQ_UPDATE) {
			s.completed = s.written;
			engine_cqe(&e, &s, s.pi, s.w.w[0], s.w.len, 0, instr);
		}
		if (instr != BARE) {
			s.t.completed = ticks(s.k.gettime);
			engine_put(&s, engine_message(&s), &s.t, instr);
			if (usual == USUAL_CACHED)
				sink_put(sink_at(&s.k, engine_message(&s)), NS_LOOKED, look);
		}
		if (usual == USUAL_CACHED) {
			lookups++;
			hits += look & 1;
		}
		engine_raise(&e, engine_message(&s));
		s.pi += blocks;
		s.skip += blocks - 1;
		s.due -= blocks;
		s.next_db = usual_next(&e, s.pi, usual);
		if (UNLIKELY(engine_block_ends(&s, instr))) {
			why = EW_BLOCK;
			break;
		}
	}
	if (usual == USUAL_CACHED) {
		cache_count(&e, lookups, hits);
		near_st2(e.cache + 16, gen, 0); /* of a message that is done elsewhere */
	}
	*sp = s;
	return why;
}

/* Fetches again what was stale. */
HD void engine_again(const struct engine *e, struct engine_state *s, const int instr)
{
	if (!engine_refetch(e, s, &s->w))
		return;
	sink_stamp_after(&s->k, MARK_FETCHED, (uint32_t)(s->w.w[0] | s->w.w[2] | s->w.w[4] | s->w.w[6]), &s->t.fetched, instr);
	engine_fields(&s->w);
	key_load(key_at(&e->tab, s->w.rkey), &s->far_key);
}

/* Fetches what was not in the doorbell's line. */
HD void engine_from_queue(const struct engine *e, struct engine_state *s, const int instr)
{
	uint32_t got;

	flame_fetch(e, s);
	got = (uint32_t)(s->w.w[0] | s->w.w[2] | s->w.w[4] | s->w.w[6]);
	plant_after(&s->k, MARK_FETCHED, got, instr);
	sink_stamp_after(&s->k, MARK_FETCHED, got, &s->t.fetched, instr);
	engine_fields(&s->w);
	key_load(key_at(&e->tab, s->w.rkey), &s->far_key);
}

/* The checks of one that the fast loop has left, by way of the cache. */
HD uint32_t engine_check_other(const struct engine *e, const struct work *k, struct span *near_span, struct span *far_span,
			       uint32_t *dep, uint32_t *look)
{
	uint64_t left[2];
	uint32_t synd;

	near_ld2(e->cache + 16, left);
	if (k->inl)
		synd = engine_check_cached(e, k, left[0], near_span, far_span, dep, look, 1);
	else
		synd = engine_check_cached(e, k, left[0], near_span, far_span, dep, look, 0);
	cache_count(e, *look >> 8, *look & 0xff);
	return synd;
}

/* A message that the fast loop has fetched and left, s->w and s->t: another
 * payload than a usual inline one, none, or an error. It may become a job. */
HD void engine_other(const struct engine *e, struct engine_state *s, struct engine_job *j, const int usual,
		     const int instr)
{
	struct span near_span, far_span;
	uint32_t synd, dep = 0, look = 0;
	int quiet = 0;

	if (s->error)
		synd = SYND_FLUSHED;
	else if (!s->w.len)
		synd = engine_decode(&s->w);
	else if (usual == USUAL_CACHED)
		synd = engine_check_other(e, &s->w, &near_span, &far_span, &dep, &look);
	else
		synd = engine_check(e, &s->w, &s->far_key, &near_span, &far_span, &dep, s->w.inl != 0);
	if (instr == FLEX && e->fault)
		quiet = engine_spoil(e, s, engine_message(s), &synd);
	if (usual == USUAL_CACHED && instr != BARE)
		sink_put(sink_at(&s->k, engine_message(s)), NS_LOOKED, look);
	if (!synd && s->w.len) {
		s->quiet = (uint32_t)quiet;
		engine_move_job(e, s, j, &near_span, &far_span);
		if (j->kind == EJ_XLAT)
			return;
		engine_payload(s, j, 0, dep, instr);
		if (j->kind == EJ_MOVE)
			return;
	} else if (!synd) {
		engine_no_payload(s, &s->t, instr);
	}
	engine_end(e, s, synd, quiet, 1, usual, instr);
}

/* The same of one whose WQE has two blocks, which an inline write alone may have. */
HD void engine_other_two(const struct engine *e, struct engine_state *s, struct engine_job *j, const int usual,
			 const int instr)
{
	uint32_t synd = SYND_FLUSHED, dep = engine_fetch_second(e, s->pi, j->second);
	struct span far_span;
	int quiet = 0;

	sink_stamp_after(&s->k, MARK_FETCHED, dep, &s->t.fetched, instr);
	if (usual == USUAL_CACHED) { /* walked for, whatever the cache holds */
		key_load(key_at(&e->tab, s->w.rkey), &s->far_key);
		if (instr != BARE)
			sink_put(sink_at(&s->k, engine_message(s)), NS_LOOKED, 0);
	}
	if (!s->error)
		synd = engine_check_of(e, &s->w, &s->far_key, &far_span, &far_span, &dep, 2, 1);
	if (instr == FLEX && e->fault)
		quiet = engine_spoil(e, s, engine_message(s), &synd);
	if (!synd) {
		s->quiet = (uint32_t)quiet;
		engine_move_job(e, s, j, &far_span, &far_span);
		if (j->kind == EJ_XLAT)
			return;
		engine_payload(s, j, j->second, dep, instr);
	}
	engine_end(e, s, synd, quiet, 2, usual, instr);
}

/* All lanes have done the message's job: on with it. */
HD void engine_resume(const struct engine *e, struct engine_state *s, struct engine_job *j, const int usual,
		      const int instr)
{
	if (j->kind == EJ_XLAT) {
		uint32_t synd = engine_walked(s, j), blocks = engine_blocks(s);

		j->kind = EJ_NONE;
		if (!synd)
			engine_payload(s, j, j->second, 0, instr);
		if (j->kind != EJ_MOVE)
			engine_end(e, s, synd, (int)s->quiet, blocks, usual, instr);
		return;
	} else {
		s->t.read = j->read;
		s->t.written = j->written;
		j->kind = EJ_NONE;
	}
	engine_end(e, s, 0, (int)s->quiet, 1, usual, instr); /* an inline payload is never moved by all */
}

/* What the record says instead of the doorbell; one that is behind is read again. If it
 * stays behind, the doorbell counts: whoever rings, writes the record and rings again
 * may be kept from the second and third for any time, and the third has the first's
 * value, so that it can't be seen here as hardware would see it. */
HD uint32_t engine_recover(const struct engine *e, struct engine_status *st, uint64_t pi, uint32_t next)
{
	uint32_t n = 1u << e->log_n;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t tries = 0; tries < ENGINE_REFETCH; tries++) {
		uint32_t rec = dbrec_index(ld32_acquire(e->dbrec + DBREC_SEND));

		if (e->fault == EF_STALE_RECORD && pi >= e->fault_at && tries < 3)
			rec = (uint32_t)pi & INDEX_MASK;
		/* at least as far as the doorbell, at most a ring further */
		if (((rec - next) & INDEX_MASK) <= n)
			return rec;
		st->stale_record++;
	}
	return next;
}

/* How many WQEBBs a doorbell announces that is not simply the next one's. */
HD uint32_t engine_announced(const struct engine *e, struct engine_status *st, uint64_t db,
				    uint64_t pi, uint32_t doorbells)
{
	uint32_t next = doorbell_next(db), due;

	if (ctrl_qpn(db) != e->qpn) {
		st->odd_doorbells++;
		return 0;
	}
	if (e->recover_every && doorbells % e->recover_every == 0)
		next = engine_recover(e, st, pi, next);
	due = (next - (uint32_t)pi) & INDEX_MASK;
	if (due > 1u << e->log_n) {
		st->odd_doorbells++;
		return 0;
	}
	return due;
}

/* What a doorbell is worth that the fast loop has left. */
HD void engine_doorbell(const struct engine *e, struct engine_state *s, const int usual, const int instr)
{
	if (instr == FLEX && e->fault == EF_DEAD && engine_message(s) >= e->fault_at)
		return;
	if (instr == FLEX && e->fault == EF_LOST_DOORBELL && engine_message(s) == e->fault_at)
		return;
	s->due = usual != USUAL_FLAME && s->db == s->next_db && !e->recover_every ? usual_blocks(usual) :
		  engine_announced(e, s->st, s->db, s->pi, s->doorbells);
	if (usual == USUAL_FLAME && s->due && flame_shut(e, s))
		s->next_db = 0;
	/* of messages: as many as there are if they are usual ones */
	s->seen = (uint32_t)engine_message(s) + s->due / usual_blocks(usual);
}

/*
 * The leader: goes on until all lanes are needed, and leaves that as a job; or until
 * the doorbell is quiet: EJ_NONE. Between two looks at the doorbell nothing is known
 * of later ones: with several messages outstanding, waiting for a busy engine is
 * part of rung-seen.
 */
HD int engine_lead_of(const struct engine *e, struct engine_state *s, struct engine_job *j, const int usual,
		      const int instr)
{
	if (j->kind == EJ_FLUSH) {
		j->kind = EJ_NONE;
	} else if (j->kind != EJ_NONE) {
		engine_resume(e, s, j, usual, instr);
		if (j->kind != EJ_NONE)
			return j->kind;
		if (engine_block_ends(s, instr)) {
			engine_flush(e, s, j);
			return j->kind;
		}
	}
	for (;;) {
		uint32_t why = engine_run(e, s, usual, instr);

		if (why == EW_QUIET)
			return EJ_NONE;
		if (why == EW_DOORBELL) {
			engine_doorbell(e, s, usual, instr);
			continue;
		}
		if (why == EW_OTHER || (usual == USUAL_FLAME && why == EW_QUEUE)) {
			if (usual == USUAL_FLAME && why == EW_QUEUE)
				engine_from_queue(e, s, instr);
			else
				engine_again(e, s, instr);
			if (UNLIKELY(engine_blocks(s) > 1))
				engine_other_two(e, s, j, usual, instr);
			else
				engine_other(e, s, j, usual, instr);
			if (j->kind != EJ_NONE)
				return j->kind;
		}
		if (engine_block_ends(s, instr)) {
			engine_flush(e, s, j);
			return j->kind;
		}
	}
}

HD int engine_lead(const struct engine *e, struct engine_state *s, struct engine_job *j, const int instr)
{
	return engine_lead_of(e, s, j, USUAL, instr);
}

/* `stage`: block * SINK_SLOTS words; all of it in shared memory on a GPU. */
HD void engine_begin_of(const struct engine *e, struct engine_state *s, struct engine_job *j,
			struct engine_status *st, uint64_t *stage, const int usual, const int instr)
{
	/* a doorbell of zero has never been rung: qpn 0 is nobody's */
	s->db = 0;
	s->pi = 0;
	s->next_db = usual_next(e, 0, usual);
	s->skip = s->due = s->cqes = s->doorbells = s->error = s->seen = s->written = s->completed = 0;
	s->flush_at = s->quiet = 0;
	s->watch = e->fault || e->recover_every ? WATCH_ALL : 0;
	if (usual == USUAL_FLAME)
		flame_empty(e);
	s->t.seen = s->t.started = s->t.fetched = s->t.translated = s->t.read = s->t.written = s->t.completed = 0;
	s->st = st;
	st->stale_wqe = st->stale_record = st->odd_doorbells = st->from_queue = 0;
	st->lookups = st->hits = 0;
	if (usual == USUAL_CACHED)
		cache_clear(e);
	st->begin = clock_pair_read(e->sink->gettime);
	sink_begin(&s->k, e->sink, stage, &j->planter, instr);
	j->kind = EJ_NONE;
	j->tab = e->tab;
}

HD void engine_begin(const struct engine *e, struct engine_state *s, struct engine_job *j,
		     struct engine_status *st, uint64_t *stage, const int instr)
{
	engine_begin_of(e, s, j, st, stage, USUAL, instr);
}

/* What is left of a block becomes a job: 1. Once. */
HD int engine_last_flush(const struct engine *e, struct engine_state *s, struct engine_job *j, const int instr)
{
	if (instr == BARE || !((uint32_t)engine_message(s) & (s->k.block - 1)))
		return 0;
	engine_flush(e, s, j);
	return 1;
}

/* Completes the counters. */
HD void engine_finish_of(const struct engine *e, struct engine_state *s, const int usual)
{
	uint64_t n[2];

	if (usual == USUAL_CACHED) {
		near_ld2(e->cache, n);
		s->st->lookups = n[0];
		s->st->hits = n[1];
	}
	s->st->doorbells = s->doorbells;
	s->st->wqes = engine_message(s);
	s->st->cqes = s->cqes;
	s->st->syndrome = s->error;
	s->st->last[NS_SEEN] = s->seen;
	s->st->last[NS_STARTED] = s->st->last[NS_FETCHED] = engine_message(s);
	s->st->last[NS_TRANSLATED] = s->st->last[NS_READ] = s->st->last[NS_WRITTEN] = s->written;
	s->st->last[NS_COMPLETED] = s->completed;
}

#endif
