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
 *      a stale fetch (the writer ordered too little): counted, fetched again;
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

#include "stages/nic/check.h"

/* ---- one message, the leader alone ---- */

/* Can the leader move it alone, with a few whole words and no page in between? */
HD int engine_small(const struct span *src, const struct span *dst, uint32_t bytes)
{
	return bytes <= ENGINE_SMALL && !(bytes & 7) && (src->npages | dst->npages) == 1 &&
	       !((src->off | dst->off) & 7);
}

HD void engine_move_small(const struct span *src, const struct span *dst, uint32_t bytes,
			  struct moments *m, const int instr)
{
	const uint8_t *s = (const uint8_t *)(src->page0 + src->off);
	uint8_t *d = (uint8_t *)(dst->page0 + dst->off);
	uint64_t v[ENGINE_SMALL / 8], all = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < ENGINE_SMALL / 8; i++)
		v[i] = i * 8 < bytes ? ld64(s + i * 8) : 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < ENGINE_SMALL / 8; i++)
		all |= v[i];
	moment_read(m, (uint32_t)all, instr);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < ENGINE_SMALL / 8; i++)
		if (i * 8 < bytes)
			st64(d + i * 8, v[i]);
	moment_written(m, instr);
}

/* Byte `i` of an inline payload, which begins at byte 36 of the WQE. */
HD uint8_t inline_byte(const uint64_t w[WQE_WORDS], uint32_t i)
{
	uint32_t at = 36 + i;
	uint64_t x = at < 40 ? w[4] : at < 48 ? w[5] : at < 56 ? w[6] : w[7];

	return (uint8_t)(x >> (at & 7) * 8);
}

/* What is left of an inline payload from byte `done` on, by bytes. */
HD void engine_inline_odd(const struct work *k, const struct span *dst, uint32_t done)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (; done < k->len; done++)
		st8((void *)span_at(dst, done), inline_byte(k->w, done));
}

/* Can an inline payload be stored by words? */
HD int engine_inline_usual(const struct span *dst)
{
	return (dst->npages == 1) & !(dst->off & 7);
}

HD void engine_inline(const struct work *k, const struct span *dst)
{
	const uint64_t *w = k->w;
	uint64_t p[3] = { w[4] >> 32 | w[5] << 32, w[5] >> 32 | w[6] << 32, w[6] >> 32 | w[7] << 32 };
	uint64_t d = dst->page0 + dst->off;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < 3; i++)
		if (i * 8 + 8 <= k->len)
			st64((void *)(d + i * 8), p[i]);
	if (UNLIKELY(k->len & 7))
		engine_inline_odd(k, dst, k->len & ~7u);
}

/* The CQE's body, its order, and its last word. `bytes` is what was moved. */
HD void engine_cqe(const struct engine *e, struct engine_state *s, uint64_t m, uint64_t w0,
		   uint32_t bytes, uint32_t syndrome, const int instr)
{
	uint8_t *p = e->cq + (uint64_t)(s->cqes & ((1u << e->log_ncqe) - 1)) * CQE_SIZE;
	uint32_t owner = s->cqes >> e->log_ncqe & 1;

	st64x2(p, 0, 0);
	st64x2(p + 16, 0, 0);
	st64x2(p + 32, 0, cqe_word5(bytes));
	st64(p + 48, syndrome ? cqe_word6_error(0, syndrome) : 0);
	release_sys();
	plant(&s->k, MARK_COMPLETED, instr);
	st64_published(p + 56, cqe_word7(ctrl_opcode(w0), e->qpn, m,
					 syndrome ? CQE_REQ_ERR : CQE_REQ, owner));
	s->cqes++;
}

/* The block that ends before message m goes to memory, with a reading of both
 * clocks. Nothing is under way then: the issuer drains at the same places. `e` is
 * the job's copy. */
HD_CALLED void engine_flush(const struct engine *e, const uint64_t *stage, struct engine_job *j,
			    struct coop c, uint64_t m)
{
	uint64_t block = e->sink->block, n = m & (block - 1) ? m & (block - 1) : block;
	uint64_t first = (m - n) % e->flush_keep;
	struct clock_pair *p = e->pairs + (m - n) / block % (e->flush_keep / block);

	*p = clock_pair_read(e->sink->gettime);
	j->kind = EJ_FLUSH;
	j->to = e->marks + first * NIC_SLOTS;
	j->from = stage;
	j->words = n * NIC_SLOTS;
	engine_wide(j, c, BARE);
}

/* A NIC's marks of one message, in registers. */
struct late { uint64_t seen, started, fetched, translated, read, written, completed; };

/* The payload as a job for all lanes; what is spread over pages is walked first. */
HD uint32_t engine_pages_wide(const struct engine *e, struct engine_job *j, struct coop c, const struct work *k,
			      const struct span *near_span, const struct span *far_span)
{
	uint32_t rd = k->opcode == WQE_READ;
	uint64_t bad;

	j->move.src = rd ? *far_span : *near_span;
	j->move.dst = rd ? *near_span : *far_span;
	j->move.bytes = k->len;
	j->move.segment = e->segment;
	if (j->move.src.npages == 1 && j->move.dst.npages == 1)
		return 0;
	j->kind = EJ_XLAT;
	bad = engine_wide(j, c, BARE);
	if (!bad)
		return 0;
	return (bad & 1) ^ rd ? SYND_LOCAL_PROT : SYND_REMOTE_ACCESS;
}

/* Moves a payload that the WQE points to, or an inline one to an odd target;
 * returns a syndrome of pages that only a wide walk finds. Marks translated, read
 * and written on the way. */
HD uint32_t engine_payload(const struct engine *e, struct engine_state *s, struct engine_job *j,
			   struct coop c, const struct work *k, struct span *near_span,
			   const struct span *far_span, uint32_t dep, struct late *t, const int instr)
{
	struct moments mo = { &s->k, e->sink->gettime, 0, 0 };
	uint32_t rd = k->opcode == WQE_READ, synd;
	int alone = !k->inl && engine_small(near_span, far_span, k->len);

	if (!alone) {
		if (k->inl) /* only the target's pages count */
			*near_span = *far_span;
		synd = engine_pages_wide(e, j, c, k, near_span, far_span);
		if (synd)
			return k->inl ? (uint32_t)SYND_REMOTE_ACCESS : synd;
	}
	plant_after(&s->k, e->sink, MARK_TRANSLATED, dep, instr);
	sink_stamp_after(&s->k, e->sink, MARK_TRANSLATED, dep, &t->translated, instr);
	if (k->inl) {
		moment_read(&mo, 0, instr);
		engine_inline_odd(k, far_span, 0);
		moment_written(&mo, instr);
	} else if (alone) {
		engine_move_small(rd ? far_span : near_span, rd ? near_span : far_span, k->len, &mo, instr);
	} else {
		j->kind = EJ_MOVE;
		j->k = s->k;
		engine_wide(j, c, instr);
		mo.read = j->read;
		mo.written = j->written;
	}
	t->read = mo.read;
	t->written = mo.written;
	return 0;
}

/* The usual inline payload: one page, whole words, and what is left in bytes. */
HD void engine_payload_inline(const struct engine *e, struct engine_state *s, const struct work *k,
			      const struct span *far_span, uint32_t dep, struct late *t, const int instr)
{
	struct moments mo = { &s->k, e->sink->gettime, 0, 0 };

	plant_after(&s->k, e->sink, MARK_TRANSLATED, dep, instr);
	sink_stamp_after(&s->k, e->sink, MARK_TRANSLATED, dep, &t->translated, instr);
	moment_read(&mo, 0, instr);
	engine_inline(k, far_span);
	moment_written(&mo, instr);
	t->read = mo.read;
	t->written = mo.written;
}

/* A message without payload passes the same marks. */
HD void engine_no_payload(const struct engine *e, const struct engine_state *s, struct late *t, const int instr)
{
	plant(&s->k, MARK_TRANSLATED, instr);
	sink_stamp(&s->k, e->sink, MARK_TRANSLATED, &t->translated, instr);
	plant(&s->k, MARK_READ, instr);
	sink_stamp(&s->k, e->sink, MARK_READ, &t->read, instr);
	plant(&s->k, MARK_WRITTEN, instr);
	sink_stamp(&s->k, e->sink, MARK_WRITTEN, &t->written, instr);
}

HD void engine_put(const struct engine *e, const struct engine_state *s, uint64_t m, const struct late *t, const int instr)
{
	uint64_t at = sink_at(&s->k, e->sink, m);
	uint32_t mask = instr == ALL ? ~0u : s->k.mask;

	if (mask >> MARK_SEEN & 1)
		sink_put(at, NS_SEEN, t->seen);
	if (mask >> MARK_STARTED & 1)
		sink_put(at, NS_STARTED, t->started);
	if (mask >> MARK_FETCHED & 1)
		sink_put(at, NS_FETCHED, t->fetched);
	if (mask >> MARK_TRANSLATED & 1)
		sink_put(at, NS_TRANSLATED, t->translated);
	if (mask >> MARK_READ & 1)
		sink_put(at, NS_READ, t->read);
	if (mask >> MARK_WRITTEN & 1)
		sink_put(at, NS_WRITTEN, t->written);
	if (mask >> MARK_COMPLETED & 1)
		sink_put(at, NS_COMPLETED, t->completed);
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

/* Everything but a usual inline write: other payloads, none, and errors. Returns
 * the syndrome. */
HD uint32_t engine_other(const struct engine *e, struct engine_state *s, struct engine_job *j, struct coop c,
			 const struct work *k, struct late *t, const int instr, int *quiet)
{
	struct span near_span, far_span;
	uint32_t synd, dep = 0;

	if (s->error)
		synd = SYND_FLUSHED;
	else if (!k->len)
		synd = engine_decode(k);
	else if (k->inl)
		synd = engine_check(e, k, &near_span, &far_span, &dep, 1);
	else
		synd = engine_check(e, k, &near_span, &far_span, &dep, 0);
	if (instr == FLEX && e->fault)
		*quiet = engine_spoil(e, s, s->pi, &synd);
	if (!synd && k->len)
		return engine_payload(e, s, j, c, k, &near_span, &far_span, dep, t, instr);
	if (!synd)
		engine_no_payload(e, s, t, instr);
	return synd;
}

/* The end of a message: its CQE, its last mark, its record. */
HD void engine_end(const struct engine *e, struct engine_state *s, uint64_t m, const struct work *k,
		   uint32_t synd, int quiet, struct late *t, const int instr)
{
	s->written = (uint32_t)m + 1;
	/* a good WQE reports only when asked to; a bad one always */
	if (LIKELY(!quiet && (synd || ctrl_fm_ce_se(k->w[1]) & WQE_CQ_UPDATE))) {
		engine_cqe(e, s, m, k->w[0], synd ? 0 : k->len, synd, instr);
		s->completed = (uint32_t)m + 1;
	}
	s->pi++;
	s->next_db = doorbell_value(s->pi + 1, e->qpn);
	if (instr == BARE)
		return;
	t->completed = ticks(e->sink->gettime);
	engine_put(e, s, m, t, instr);
}

/*
 * One message. The usual inline write runs straight through: on a GPU every jump
 * over code that is not run costs tens of cycles. So the end stands twice.
 */
HD void engine_one(const struct engine *e, struct engine_state *s, struct engine_job *j,
		   struct coop c, uint64_t t_seen, const int instr)
{
	struct late t = { t_seen, 0, 0, 0, 0, 0, 0 };
	struct span far_span;
	struct work k;
	uint64_t m = s->pi;
	uint32_t dep = 0, synd;
	int quiet = 0;

	if (instr == FLEX)
		sink_message(&s->k, e->sink, m, instr);
	plant(&s->k, MARK_STARTED, instr);
	sink_stamp(&s->k, e->sink, MARK_STARTED, &t.started, instr);
	engine_fetch(e, s, m, &k);
	plant_after(&s->k, e->sink, MARK_FETCHED, (uint32_t)(k.w[0] | k.w[2] | k.w[4] | k.w[6]), instr);
	sink_stamp_after(&s->k, e->sink, MARK_FETCHED,
			 (uint32_t)(k.w[0] | k.w[2] | k.w[4] | k.w[6]), &t.fetched, instr);
	engine_fields(&k);
	if (LIKELY((k.inl != 0) & (k.len != 0) & (s->error == 0) & !(instr == FLEX && e->fault))) {
		synd = engine_check(e, &k, &far_span, &far_span, &dep, 1);
		if (LIKELY((synd == 0) & engine_inline_usual(&far_span))) {
			engine_payload_inline(e, s, &k, &far_span, dep, &t, instr);
			engine_end(e, s, m, &k, 0, 0, &t, instr);
			return;
		}
	}
	synd = engine_other(e, s, j, c, &k, &t, instr, &quiet);
	if (synd && !s->error)
		s->error = synd;
	engine_end(e, s, m, &k, synd, quiet, &t, instr);
}

/* What the record says instead of the doorbell; behind it is read again. */
HD uint32_t engine_recover(const struct engine *e, struct engine_status *st, uint64_t pi, uint32_t next)
{
	uint32_t rec = 0, n = 1u << e->log_n;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t tries = 0; tries < ENGINE_REFETCH; tries++) {
		rec = dbrec_index(ld32_acquire(e->dbrec + DBREC_SEND));
		if (e->fault == EF_STALE_RECORD && pi >= e->fault_at && tries < 3)
			rec = (uint32_t)pi & INDEX_MASK;
		/* at least as far as the doorbell, at most a ring further */
		if (((rec - next) & INDEX_MASK) <= n)
			break;
		st->stale_record++;
	}
	return rec;
}

/* How many messages a doorbell announces that is not simply the next one's;
 * `e` is the job's copy. */
HD_CALLED uint32_t engine_announced(const struct engine *e, struct engine_status *st, uint64_t db,
				    uint64_t pi, uint32_t doorbells)
{
	uint32_t next = doorbell_next(db), todo;

	if (ctrl_qpn(db) != e->qpn) {
		st->odd_doorbells++;
		return 0;
	}
	if (e->recover_every && doorbells % e->recover_every == 0)
		next = engine_recover(e, st, pi, next);
	todo = (next - (uint32_t)pi) & INDEX_MASK;
	if (todo > 1u << e->log_n) {
		st->odd_doorbells++;
		return 0;
	}
	return todo;
}

/*
 * Looks at the doorbell once; works on what it announces. How many messages.
 * Between two looks nothing is known of later doorbells: with several messages
 * outstanding, waiting for a busy engine is part of rung-seen.
 */
HD uint32_t engine_poll(const struct engine *e, struct engine_state *s, struct engine_job *j,
			struct coop c, const int instr)
{
	uint64_t db = ld64_poll(e->db), t_seen = 0;
	uint32_t todo = 1;

	if (db == s->db)
		return 0;
	if (instr == FLEX && e->fault == EF_DEAD && s->pi >= e->fault_at)
		return 0;
	polled();
	plant(&s->k, MARK_SEEN, instr);
	if (instr != BARE)
		t_seen = ticks(e->sink->gettime); /* the branch has waited for db */
	s->db = db;
	s->doorbells++;
	if (instr == FLEX && e->fault == EF_LOST_DOORBELL && s->pi == e->fault_at)
		return 0;
	if (UNLIKELY(db != s->next_db || e->recover_every))
		todo = engine_announced(j->eng, s->st, db, s->pi, s->doorbells);
	s->seen = (uint32_t)s->pi + todo;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < todo; i++) {
		engine_one(e, s, j, c, t_seen, instr);
		if (instr != BARE && UNLIKELY(!((uint32_t)s->pi & (e->sink->block - 1))))
			engine_flush(j->eng, sink_stage(&s->k), j, c, s->pi);
	}
	return todo;
}

/* `stage`: block * SINK_SLOTS words; it, `j` and `st` in shared memory on a GPU.
 * `eng`: the same engine in memory, for what is called. */
HD void engine_begin(const struct engine *e, struct engine_state *s, struct engine_job *j,
		     const struct engine *eng, struct engine_status *st, uint64_t *stage)
{
	/* a doorbell of zero has never been rung: qpn 0 is nobody's */
	s->db = 0;
	s->pi = 0;
	s->next_db = doorbell_value(1, e->qpn);
	s->cqes = s->doorbells = s->error = s->seen = s->written = s->completed = 0;
	s->st = st;
	st->stale_wqe = st->stale_record = st->odd_doorbells = 0;
	st->begin = clock_pair_read(e->sink->gettime);
	sink_begin(&s->k, e->sink, stage, &j->planter);
	j->eng = eng;
	j->tab = e->tab;
	j->gettime = e->sink->gettime;
}

/* Flushes what is left of a block, and completes the counters. */
HD void engine_finish(const struct engine *e, struct engine_state *s, struct engine_job *j,
		      struct coop c, const int instr)
{
	if (instr != BARE && (uint32_t)s->pi & (e->sink->block - 1))
		engine_flush(j->eng, sink_stage(&s->k), j, c, s->pi);
	s->st->doorbells = s->doorbells;
	s->st->wqes = s->pi;
	s->st->cqes = s->cqes;
	s->st->syndrome = s->error;
	s->st->last[NS_SEEN] = s->seen;
	s->st->last[NS_STARTED] = s->st->last[NS_FETCHED] = s->pi;
	s->st->last[NS_TRANSLATED] = s->st->last[NS_READ] = s->st->last[NS_WRITTEN] = s->written;
	s->st->last[NS_COMPLETED] = s->completed;
}

#endif
