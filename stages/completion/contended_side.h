/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agents of a contended message are given and report, and what the timed one does with a round trip (HD). The
 * loops are contended.h; what an agent does where a worker posts is contended_hand.h.
 */
#ifndef FS_CONTENDED_SIDE_H
#define FS_CONTENDED_SIDE_H

#include "stages/completion/rtt.h"
#include "stages/handoff/rate.h"
#include "stages/queue/sink.h"

#define FS_OTHERS_QUEUES(X) \
	X(PRIVATE, "private", "each posts into a queue of its own") \
	X(SHARED, "shared", "all post into the timed message's queue, and hand off to each other")

#define FS_TRIPS(X) \
	X(ONE_WAY, "one-way", "noticed by its completion") \
	X(ROUND, "round", "a put, noticed by the reply of an agent that saw it in its memory")

enum trip_word {
#define X(NAME, word, help) TRIP_##NAME,
	FS_TRIPS(X)
#undef X
	TRIPS
};

enum { OTHERS_MAX = 64 };          /* the blocks that post beside, on the issuer's GPU or all on another */

enum others_queue {
#define X(NAME, word, help) OTHERS_##NAME,
	FS_OTHERS_QUEUES(X)
#undef X
	OTHERS_QUEUES
};

/* The stamps of a message. */
enum { CONT_INTENT, CONT_RESERVED, CONT_BUILT, CONT_TURN, CONT_RUNG, CONT_NOTICED, CONT_STAMPS };

/* Words in the issuer's memory: whether the others are to end, then a line for each agent's count. */
enum { CONT_OVER = 0, CONT_COUNTS = SHARE_LINE, CONT_TURNS_PER_LOOK = 16 };

struct cont_args {
	struct rate_args q;             /* of all agents: its batch is the others', its messages and warmup are not used */
	uint64_t messages, warmup, seed; /* of the timed one */
	uint64_t pace_ns;               /* from one batch of another agent to its next; 0: none is waited for */
	uint32_t settle, gap_ticks;
	uint64_t *stamps;               /* [messages][CONT_STAMPS], ticks */
	uint8_t *words;
	struct cont_out *own;
};

/* Of the timed agent, beside its rate_out. */
struct cont_out {
	struct clock_pair begin, end;   /* of the measured messages */
	uint64_t others;                /* messages that the others rang for, or handed over, from begin to end */
	uint64_t poll_ticks, unsettled;
	uint64_t overdue;               /* not 0: the pass lasted longer than one may, up to this message */
};

/* Of round trips; `a` first, which is all that others are given. */
struct cont_trip_args {
	struct cont_args a;
	struct rtt_args r;              /* way[RTT_PUT]: a.q with payload slots of the trips; way[RTT_REPLY]: the responder's queue alone */
	uint64_t *mine;                 /* [slot_mask + 1]: the index in its queue of the last trips' puts */
};

/* The timed agent's, of trip k, whose put has index m. */
struct cont_trip { const struct cont_trip_args *h; struct rtt_side s; uint64_t k, m, sent; };

HD uint64_t *cont_count(const struct cont_args *a, uint32_t agent) { return (uint64_t *)(a->words + CONT_COUNTS + (uint64_t)agent * SHARE_LINE); }

HD uint64_t cont_others(const struct cont_args *a)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < a->q.agents; i++)
		sum += ld64(cont_count(a, i));
	return sum;
}

/* How an agent ended; `posted`: in all. */
HD void cont_end(const struct cont_args *a, const struct rate_agent *g, uint64_t posted)
{
	struct rate_out *o = a->q.out + g->number;

	if (g->status != RATE_OK)
		st64(a->q.failed, 1);
	o->messages = posted;
	o->last = g->last;
	o->at = g->at;
	o->syndrome = g->syndrome;
	o->vendor = g->vendor;
	st64_release_sys(&o->status, g->status);
}

/* Ticks between two looks at a word that doesn't change; of a CPU, which may be taken away, the least of three. */
HD uint32_t cont_poll_ticks(const uint8_t *at, int gettime)
{
	uint64_t least = ~(uint64_t)0;

	for (int i = 0; i < 3; i++) {
		uint64_t t0 = ticks(gettime), each;

		for (int n = 0; n < 64 && ld64_poll(at) != 1; n++) /* no CQE ends in such a word */
			relax_turn(1, 0);
		each = (ticks(gettime) - t0) / 64;
		least = each < least ? each : least;
	}
	return (uint32_t)least;
}

/* ---- a round trip ---- */

HD void cont_trip_begin(struct cont_trip *t, const struct cont_trip_args *h)
{
	t->h = h;
	t->k = t->m = t->sent = 0;
	rtt_begin(&h->r, &t->s, RTT_PUT);
	t->s.wait = RTT_AT_CQE; /* what of a wait for the others is said */
}

/* Before the decision to send: nothing of the payload is on its way, and the responder looks for it. */
HD int cont_trip_ready(struct cont_trip *t, const int kind)
{
	rtt_fill(&t->h->r.way[RTT_PUT], &t->s, t->k, kind);
	return rtt_await_ready(&t->h->r, &t->s, t->k);
}

/* WQE m, with the payload of the trip. */
HD void cont_trip_build(struct cont_trip *t, uint64_t m, const int kind)
{
	const struct rate_args *q = &t->h->r.way[RTT_PUT];
	uint64_t off = rtt_offset(q, t->k), w[WQE_WORDS];
	struct resolved x = { q->lkey, q->rkey, t->s.g.remote + off };

	wqe_build_at(&t->s.g.q, w, m, rate_number(RTT_PUT, t->k), &x, t->s.g.local + off, q->len, kind);
	wqe_store(&t->s.g.q, m, w, q->len, kind);
}

/* Until the reply is there. What comes of it stands in the agent's status. `mode`, a literal: one that hands over, or another. */
HD void cont_trip_await(struct cont_trip *t, const int mode)
{
	const uint8_t *at = rtt_last(&t->s, t->k);
	const uint64_t want = rtt_want(&t->s, t->k), mask = t->s.mask;
	const int crowded = t->s.in->crowded;
	struct patience late = { 0, 0 };
	uint32_t polls = 0;

	while (rtt_poll(at, want, mask, &polls, crowded) != want) {
		t->s.g.at = t->k;
		if ((mode_hands(mode) ? rtt_left(&t->s) : rtt_refused(&t->s, t->m)) || rate_late(&t->h->r.way[RTT_PUT], &t->s.g, &late)) {
			t->s.wait = RTT_AT_PAYLOAD;
			return;
		}
	}
}

/* Behind the stamps: every word of the reply, and the put's own completion, or credit: `hand`, a literal 0 where the agent posts itself. */
HD void cont_trip_settle(struct cont_trip *t, const struct hand_args *hand, const int form)
{
	const struct rate_args *q = &t->h->r.way[RTT_PUT];

	t->s.seen++;
	rtt_compare(&t->s, t->k);
	t->s.wait = RTT_AT_CQE;
	if (!hand)
		rate_done(q, &t->s.g, t->m, form_owns(form) ? 0 : share_word(t->s.g.share, SHARE_TURN));
	else
		hand_done(hand, &t->s.g, &t->s.hand, t->m);
	polled();
	t->h->mine[t->k & q->slot_mask] = t->m;
}

HD void cont_trip_end(struct cont_trip *t, const int form, const int mode)
{
	struct rtt_out *o = &t->h->r.out[RTT_PUT];

	/* where others are laps ahead their room says that the put is done, as in rate_done() */
	if (t->s.g.status == RATE_TIMEOUT && t->s.wait == RTT_AT_PAYLOAD)
		o->sent_done = rtt_sent_done(&t->s, t->m, mode) ||
			       (!form_owns(form) && ld64(share_word(t->s.g.share, SHARE_TURN)) > t->m + t->s.g.q.depth);
	rtt_end(&t->h->r, &t->s, o, t->sent);
	st64_release_sys(rtt_word(&t->h->r, RTT_OVER), 1);
}

#endif
