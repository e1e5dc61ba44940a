/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine does with a message that the fast loop has left: anything but a usual one (HD). */
#ifndef FS_ENGINE_OTHER_H
#define FS_ENGINE_OTHER_H

#include "stages/nic/engine_parts.h"

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

#endif
