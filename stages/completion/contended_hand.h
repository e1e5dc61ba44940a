/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent of a contended message does where a worker posts (HD): it hands a descriptor over for each message, as an
 * issuer of a rate does (stages/handoff/rate_hand.h), into a ring of its own or into the one that all senders share, and
 * knows by the ring's credit what is done. Of the stamps between `reserved` and the doorbell there is one alone: handed over.
 *
 * A trip's put names its payload slot, which is none of its ring's, by the descriptor's offset. So it has to be one that is
 * fetched: what stands inside a WQE is numbered by the worker, which knows a message's index in its ring and no trip.
 */
#ifndef FS_CONTENDED_HAND_H
#define FS_CONTENDED_HAND_H

#include "stages/completion/contended_side.h"

struct cont_hands {
	struct hand_args way[RTT_WAYS]; /* of the senders' rings, and of the responder's alone; each one's `r` is that of its agents */
	uint64_t *phase;                /* the workers' word: enum hand_phase */
	uint64_t fault_at;              /* the timed message that overruns its ring (HAND_FAULTY) */
	uint32_t put_off;               /* from the payload slots of ring 0 to those of trips */
	uint32_t pad;
};

HD int cont_form(const int mode) { return mode == MODE_TUNED ? PROXY_TUNED : PROXY_BASELINE; }
HD uint32_t cont_ring(const struct cont_hands *x, uint32_t number) { return number % x->way[RTT_PUT].r.queues; }

/* The timed message k, as cont_message(). `round`, a literal: it is a trip's put. */
HD void cont_hand_message(const struct cont_hands *x, struct cont_trip *trip, uint64_t k, uint64_t t[CONT_STAMPS], uint64_t *rnd,
			  uint32_t dither, const int round, const int mode, const int instr)
{
	const struct hand_args *h = &x->way[RTT_PUT];
	const uint32_t mask = (1u << h->r.log_n) - 1;
	struct rate_agent *g = &trip->s.g;
	struct hander *s = &trip->s.hand;
	uint64_t m, lap, w0, number;

	t[CONT_INTENT] = ticks(h->r.gettime);
	m = hand_slot(h, g, s, cont_form(mode));
	if (UNLIKELY(g->status != RATE_OK))
		return;
	t[CONT_RESERVED] = ticks(h->r.gettime);
	number = m;
	lap = hand_lap(m, h->r.log_n);
	w0 = round ? hand_word0(lap, h->kind, h->r.len, x->put_off + (uint32_t)rtt_offset(&h->r, k)) : hand_first(h, m, lap);
	if (instr == HAND_FAULTY && k == x->fault_at)
		number += mask + 1ull;
	hand_into(s, m, mask, w0, lap, number, cont_form(mode));
	t[CONT_BUILT] = t[CONT_TURN] = t[CONT_RUNG] = ticks(h->r.gettime);
	g->pi = g->last = m + 1;
	if (dither)
		wait_ticks(random_below(rnd, dither), h->r.gettime);
	if (round) {
		trip->m = m;
		trip->sent++;
		cont_trip_await(trip, mode);
	} else {
		hand_done(h, g, s, m);
	}
	polled();
	t[CONT_NOTICED] = ticks(h->r.gettime);
}

/* Message m, with a payload slot of its ring's. */
HD void cont_hand_into(const struct hand_args *h, const struct hander *s, uint64_t m, const int mode)
{
	uint64_t lap = hand_lap(m, h->r.log_n);

	hand_into(s, m, (1u << h->r.log_n) - 1, hand_first(h, m, lap), lap, m, cont_form(mode));
}

/* A batch of another agent's. */
HD void cont_hand_batch(const struct hand_args *h, struct rate_agent *g, struct hander *s, const int mode)
{
	uint64_t m = hand_slots(h, g, s, h->r.batch, cont_form(mode));

	if (UNLIKELY(g->status != RATE_OK))
		return;
	for (uint32_t i = 0; i < h->r.batch; i++)
		cont_hand_into(h, s, m + i, mode);
	g->pi = g->last = m + h->r.batch;
}

#endif
