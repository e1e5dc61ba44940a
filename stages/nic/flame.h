/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BlueFlame at the software NIC (HD): the WQE comes in the doorbell's line and isn't fetched.
 *
 * A line arrives as words, in any order, and a NIC that is memory sees it grow. No WQE may be
 * put together from two messages, or from what has not been written. So:
 *   - whoever has taken a line empties it, words 1 to 7, before it completes the message.
 *     With one message under way the next one's line is stored only after that;
 *   - a line is whole when none of these words is empty. Then every store of its message has
 *     arrived, and nothing of it can come later. All seven count, also behind the last segment;
 *   - a word of a WQE may have that value of its own (all ones). Such a line is never whole:
 *     after some looks the WQE is fetched from the queue, and its copy there explains the empty
 *     words. If that arrives late, it changes nothing;
 *   - what is neither whole nor explained in bounded time, and whatever else rings, is worked on from the
 *     queue, and the line is shut: what is still on its way could be taken for a later message's.
 * None of this rests on the order of the stores, but for the copy in the queue: that is
 * fetched as ever, behind an acquire of the doorbell.
 */
#ifndef FS_FLAME_H
#define FS_FLAME_H

#include "stages/nic/check.h"

enum { FLAME_LOOKS = 64 };     /* at a line that is not whole, before the queue is asked */

/* Is this the first word of a WQE of one block, and that of the next index? `expected`: of
 * the engine_state, its next_db. */
HD int flame_brings(uint64_t db, uint64_t expected)
{
	uint64_t odd = db ^ expected;

	return !(odd & ~CTRL_FREE) & ((uint32_t)(odd >> 56) - 1 < WQEBB / WQE_SEG);
}

HD void flame_load(const struct engine *e, uint64_t w[WQE_WORDS])
{
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (int i = 0; i < WQE_WORDS; i += 2)
		ld64x2(e->db + i * 8, w + i);
}

HD int flame_whole(const uint64_t w[WQE_WORDS])
{
	return (w[1] != FLAME_EMPTY) & (w[2] != FLAME_EMPTY) & (w[3] != FLAME_EMPTY) & (w[4] != FLAME_EMPTY) &
	       (w[5] != FLAME_EMPTY) & (w[6] != FLAME_EMPTY) & (w[7] != FLAME_EMPTY);
}

HD void flame_empty(const struct engine *e)
{
	st64(e->db + 8, FLAME_EMPTY);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (int i = 2; i < WQE_WORDS; i += 2)
		st64x2(e->db + i * 8, FLAME_EMPTY, FLAME_EMPTY);
}

/* Takes the WQE of the next index out of the line: 1; 0: it isn't there, or not all of it. */
HD int flame_take(const struct engine *e, const struct engine_state *s, struct work *k)
{
	k->odd = s->db ^ s->next_db;
	if (UNLIKELY(!flame_brings(s->db, s->next_db)))
		return 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (int looks = FLAME_LOOKS; looks; looks--) {
		flame_load(e, k->w);
		if (LIKELY(flame_whole(k->w))) {
			k->w[0] = s->db;
			return 1;
		}
	}
	return 0;
}

/* Is each word of the line there, or empty as its copy k in the queue is? */
HD int flame_explained(const uint64_t w[WQE_WORDS], const struct work *k)
{
	uint32_t words = k->odd & ~CTRL_FREE ? 0 : (uint32_t)(k->odd >> 56) * 2, missing = 0;

	for (uint32_t i = 1; i < WQE_WORDS; i++)
		missing |= (uint32_t)(w[i] == FLAME_EMPTY && !(i < words && k->w[i] == FLAME_EMPTY));
	return !missing;
}

/* The doorbell that was just seen is not to be used as a line: the NIC recovers, or the line is shut. */
HD int flame_shut(const struct engine *e, const struct engine_state *s)
{
	return s->watch & WATCH_SHUT || (e->recover_every && s->doorbells % e->recover_every == 0);
}

/* The WQE of the next index, which flame_take didn't give: from the queue, into s->w. When it
 * comes back nothing of this message can arrive in the line any more, or the line is shut. */
HD void flame_fetch(const struct engine *e, struct engine_state *s)
{
	uint64_t w[WQE_WORDS];
	uint32_t tries = ENGINE_REFETCH;

	s->st->from_queue++;
	engine_fetch(e, s->pi, &s->w);
	engine_refetch(e, s, &s->w);
	if (s->watch & WATCH_SHUT)
		return;
	if (!flame_brings(s->db, doorbell_value(s->pi, e->qpn)))
		tries = 0; /* rung in another way: whether a line is on its way nobody knows */
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (; tries; tries--) {
		flame_load(e, w);
		if (flame_explained(w, &s->w)) {
			flame_empty(e);
			return;
		}
	}
	s->watch |= WATCH_SHUT;
}

#endif
