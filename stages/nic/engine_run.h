/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's fast loop (HD): usual messages, straight through. */
#ifndef FS_ENGINE_RUN_H
#define FS_ENGINE_RUN_H

#include "stages/nic/engine_parts.h"

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

#endif
