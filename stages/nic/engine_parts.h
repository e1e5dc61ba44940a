/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine's fast loop (engine_run.h) and its way round that loop (engine_other.h)
 * have in common: a message's payload as a job, its end, a block of marks (HD).
 */
#ifndef FS_ENGINE_PARTS_H
#define FS_ENGINE_PARTS_H

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

#endif
