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

#include "stages/nic/engine_other.h"
#include "stages/nic/engine_run.h"

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
