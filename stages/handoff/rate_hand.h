/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An issuer of a rate whose messages a helper posts (HD): it hands a descriptor of 16 bytes
 * (stages/queue/hand.h) over for each and goes on; it waits only for room.
 *
 * Back-pressure: a ring has a word of credit in host memory, which its worker stores: how many of
 * its messages are done, in order. Message m is handed over when m less that is below the depth, so
 * a slot of the ring, of the queue behind it and of the payload are all free then.
 *   tuned     the issuer owns its ring, remembers the credit and looks again when it is used up
 *   baseline  issuers share rings: a slot by an atomic, and a look at the credit each time
 *
 * Spans: intent-reserved (a slot, and room for it), reserved-handed (the descriptor's stores).
 */
#ifndef FS_RATE_HAND_H
#define FS_RATE_HAND_H

#include "stages/handoff/rate.h"
#include "stages/queue/hand.h"

enum { RINGS_MAX = 32 };

/* Of a worker that has given up: in the place of its rings' credit. */
#define HAND_OVER (~(uint64_t)0)

/* Rings lie alike, so many bytes from one to the next; ring r is agent a's with a % queues = r. */
struct hand_args {
	struct rate_args r;           /* batch 1; what it says of queues are the helpers' own, but for how
				       * many there are (as rings) and their numbers */
	uint8_t *ring;                /* 1 << r.log_n descriptors each */
	const uint8_t *credit;        /* a word each */
	uint64_t ring_step, credit_step;
	uint64_t fault_at;            /* the message of ring 0 that overruns it (HAND_FAULTY) */
	int32_t kind;                 /* enum post_kind of all messages */
	int32_t pad;
};

/* What a worker's readings go by where nobody knows how many messages it will have: a word of whoever measures. */
enum hand_phase { HAND_WARMUP, HAND_MEASURED, HAND_ENDED };

/* How a loop is made: by a literal each; forms are those of enum proxy_form. */
enum hand_instr { HAND_BARE, HAND_SPANS, HAND_FAULTY, HAND_INSTRS };

/* What an issuer remembers of its ring. */
struct hander {
	uint8_t *ring;
	const uint64_t *word;         /* of credit */
	uint64_t credit;              /* as last seen */
};

HD struct hander hander_of(const struct hand_args *h, uint32_t ring)
{
	struct hander s;

	s.ring = h->ring + ring * h->ring_step;
	s.word = (const uint64_t *)(h->credit + ring * h->credit_step);
	s.credit = 0;
	return s;
}

/* Until fewer than `room` of the messages before m are not done (others of the ring may be further
 * on): 1; 0: it has to end, with the reason in g. */
HD int hand_wait(const struct hand_args *h, struct rate_agent *g, struct hander *s, uint64_t m, uint64_t room)
{
	struct waiting w = { { 0, 0 }, { 0, 0 }, 0 };

	for (uint32_t n = 1;; n++) {
		s->credit = ld64_poll(s->word);
		if (UNLIKELY(s->credit == HAND_OVER))
			g->status = RATE_GIVEN_UP;
		else if ((int64_t)(m - s->credit) < (int64_t)room)
			return 1;
		else if (n % POLLS_PER_LOOK || !rate_stuck(&h->r, g, &w, s->word)) {
			relax_turn(n, h->r.crowded);
			continue;
		}
		g->at = m;
		return 0;
	}
}

/* Until message m of the ring is done. */
HD void hand_done(const struct hand_args *h, struct rate_agent *g, struct hander *s, uint64_t m)
{
	if (UNLIKELY(!hand_wait(h, g, s, m + 1, 1)))
		g->at = m;
}

/* n slots, and room, which is the last one's: the first message's number. What comes of a wait stands in g's status. */
HD uint64_t hand_slots(const struct hand_args *h, struct rate_agent *g, struct hander *s, uint32_t n, const int form)
{
	uint64_t m;

	if (form == PROXY_TUNED) {
		m = g->pi;
		if (UNLIKELY(m + (n - 1) - s->credit >= h->r.depth))
			hand_wait(h, g, s, m + (n - 1), h->r.depth);
		return m;
	}
	m = atom_add64(share_word(g->share, SHARE_RESERVED), n, SCOPE_GPU);
	hand_wait(h, g, s, m + (n - 1), h->r.depth);
	return m;
}

HD uint64_t hand_slot(const struct hand_args *h, struct rate_agent *g, struct hander *s, const int form)
{
	return hand_slots(h, g, s, 1, form);
}

/* The first word of message m's descriptor, and both into its slot of the ring. */
HD uint64_t hand_first(const struct hand_args *h, uint64_t m, uint64_t lap)
{
	return hand_word0(lap, h->kind, h->r.len, ((uint32_t)m & h->r.slot_mask) << h->r.stride_shift);
}

HD void hand_into(const struct hander *s, uint64_t m, uint32_t mask, uint64_t w0, uint64_t lap, uint64_t number, const int form)
{
	hand_post(s->ring + ((uint32_t)m & mask) * HAND_SLOT, w0, hand_word1(lap, number), form == PROXY_TUNED ? MODE_TUNED : MODE_BASELINE);
}

/* Hands `left` messages over, not 0. */
HD void hand_loop(const struct hand_args *h, struct rate_agent *g, struct hander *s, uint64_t left, const int form, const int instr)
{
	const uint32_t mask = (1u << h->r.log_n) - 1;
	const int spans = instr == HAND_SPANS;

	if (spans)
		g->t = ticks(h->r.gettime);
	do {
		uint64_t m = hand_slot(h, g, s, form), lap = hand_lap(m, h->r.log_n), number = m, w0;

		if (UNLIKELY(g->status != RATE_OK))
			return;
		rate_mark(g, RS_RESERVED, h->r.gettime, spans);
		w0 = hand_first(h, m, lap);
		if (instr == HAND_FAULTY && m == h->fault_at && g->q.qpn == h->r.qpn)
			number += mask + 1ull;
		hand_into(s, m, mask, w0, lap, number, form);
		rate_mark(g, RS_RUNG, h->r.gettime, spans);
		g->pi = g->last = m + 1;
		g->turns++;
	} while (--left);
}

/* Its whole run, as rate_run is that of an issuer that posts itself. */
HD void hand_run(const struct hand_args *h, struct rate_agent *g, const int form, const int instr)
{
	struct hander s = hander_of(h, g->q.qpn - h->r.qpn);
	struct rate_out *o = h->r.out + g->number;
	struct clock_pair begin = { 0, 0 };
	struct coop alone = { 0, 1 };

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (int measured = 0; measured < 2; measured++) {
		uint64_t each = measured ? h->r.messages : h->r.warmup;

		if (measured)
			begin = rate_measured(&h->r, g, alone, FORM_SOLO);
		if (g->status == RATE_OK && each)
			hand_loop(h, g, &s, each, form, instr);
		if (g->status == RATE_OK && g->last && hand_wait(h, g, &s, g->last, 1))
			polled();
	}
	rate_report(&h->r, o, g, begin);
}

/* X(form, instr): the loops that there are. */
#define FS_RATE_HANDS_OF(X, f) X(f, BARE) X(f, SPANS) X(f, FAULTY)
#define FS_RATE_HANDS(X) FS_RATE_HANDS_OF(X, TUNED) FS_RATE_HANDS_OF(X, BASELINE)

/* As rate_gpu_run() and rate_gpu_load(). */
int hand_gpu_run(const struct hand_args *h, int form, int instr, unsigned blocks, unsigned threads, unsigned beside, int device,
		 double patience_s);
int hand_gpu_load(int form, int instr, int device);

#endif
