/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agents of a round trip are given and report, and what each of them does with a
 * message (HD): its own queue as an agent of a rate has it, the other's payloads in its
 * memory. Where workers post, it hands its messages over as an issuer of a rate does, by a ring of
 * its own, and knows by the ring's credit what is done. The loops are rtt.h.
 */
#ifndef FS_RTT_SIDE_H
#define FS_RTT_SIDE_H

#include "stages/handoff/rate_hand.h"

#define FS_REPLIES(X) \
	X(PUT, "put", "as many bytes back as came") \
	X(SIGNAL, "signal", "8 B inside the WQE, whatever came")

enum reply_word {
#define X(NAME, word, help) REPLY_##NAME,
	FS_REPLIES(X)
#undef X
	REPLIES
};

enum { RTT_PUT, RTT_REPLY, RTT_WAYS };

/* Words between the agents and the host, in memory that all reach, a line each. */
enum {
	RTT_READY = 0,                  /* the responder looks for all messages below */
	RTT_FIRST = SHARE_LINE,         /* the first measured message; before it is known ~0 */
	RTT_OVER = 2 * SHARE_LINE,      /* not 0: no message comes any more */
	RTT_FAILED = 3 * SHARE_LINE,    /* not 0: one has given up, and so does the other */
	RTT_WORDS = 4 * SHARE_LINE,
};

enum { RTT_BLOCK = 16 };                /* messages with the delay, then as many without */

/* What an agent waited for when it ended badly. */
enum rtt_wait { RTT_AT_READY, RTT_AT_PAYLOAD, RTT_AT_CQE };

struct rtt_args {
	struct rate_args way[RTT_WAYS]; /* queue 0 of each is its sender's; its counts are not used */
	uint64_t messages, warmup, seed;
	uint64_t silent_from;           /* from this message on nobody replies; ~0: never */
	uint32_t settle, gap_ticks, reply;
	int32_t delay_ns[2];            /* before the replies of half of the blocks; the second is the one that no row is told of */
	uint64_t *samples, *submits;    /* [messages] each: ticks from intent to the reply acquired, and to rung */
	uint64_t *spans;                /* [messages]: the responder's, from seen to rung; message m's at m % messages */
	uint8_t *words;
	struct rtt_out *out;            /* [RTT_WAYS]: of the issuer, of the responder */
};

/* The same and, where workers post, how each agent hands over; `r` first, which is all that others are given. */
struct rtt_hand_args {
	struct rtt_args r;
	struct hand_args way[RTT_WAYS]; /* its `r` is r.way's; depth 1 */
};

struct rtt_out {
	uint64_t status;                /* enum rate_status */
	uint64_t at, wait;              /* message, and what of it was waited for */
	uint64_t syndrome, vendor;      /* of the CQE that ended it */
	uint64_t sent_done;             /* at a reply that didn't come: 1, the put had its CQE */
	uint64_t first, seen, sent;     /* the first measured message; payloads that came; that were rung for */
	uint64_t wrong_words, wrong_message; /* payload words that were not the message's, and the first such message */
	uint64_t unsettled, poll_ticks;
	struct clock_pair begin, end;   /* of the measured messages */
	uint64_t smid;
};

/* An agent: its queue, and where the other's payloads come to lie. */
struct rtt_side {
	struct rate_agent g;
	const struct rate_args *in;
	const uint8_t *last;            /* the last word of slot 0 */
	uint64_t word, mask;            /* its number, and which of its bytes a payload has */
	uint64_t from;                  /* the sender's number in a payload's */
	uint64_t seen, wrong_words, wrong_message, wait;
	struct hander hand;             /* where a worker posts */
};

HD uint64_t *rtt_word(const struct rtt_args *a, int which) { return (uint64_t *)(a->words + which); }

/* The sender of way `out`. */
HD void rtt_begin(const struct rtt_args *a, struct rtt_side *s, const int out)
{
	uint32_t tail = a->way[!out].len & 7;

	rate_begin(&a->way[out], &s->g, 0, 0);
	s->g.q.qpn += (uint32_t)out; /* so that the ways' payloads differ too */
	s->in = &a->way[!out];
	s->from = (uint64_t)!out;
	s->word = (s->in->len + 7) / 8 - 1;
	s->mask = tail ? (1ull << tail * 8) - 1 : ~(uint64_t)0;
	s->last = (const uint8_t *)s->in->remote + s->word * 8;
	s->seen = s->wrong_words = s->wrong_message = s->wait = 0;
}

HD uint64_t rtt_offset(const struct rate_args *q, uint64_t m) { return (uint64_t)((uint32_t)m & q->slot_mask) << q->stride_shift; }
HD const uint8_t *rtt_last(const struct rtt_side *s, uint64_t m) { return s->last + rtt_offset(s->in, m); }
HD uint64_t rtt_want(const struct rtt_side *s, uint64_t m) { return payload_word(rate_number((uint32_t)s->from, m), s->word) & s->mask; }

/* A payload's last word, until it is there, or *polls, which counts, reaches a multiple of
 * POLLS_PER_LOOK. Both agents', as the loops of pace.h. */
HD uint64_t rtt_poll(const uint8_t *at, uint64_t want, uint64_t mask, uint32_t *polls, int crowded)
{
	for (;;) {
		uint64_t v = ld64_poll(at) & mask;

		++*polls;
		if ((v == want) | !(*polls % POLLS_PER_LOOK))
			return v;
		relax_turn(*polls, crowded);
	}
}

/* Ticks between two polls of a word that doesn't come: the least of some, in most of which a
 * CPU thread keeps its CPU, and gives it to nobody. */
HD uint32_t rtt_poll_ticks(const struct rtt_side *s, uint64_t m, int gettime)
{
	uint64_t least = ~(uint64_t)0;

	for (int i = 0; i < 3; i++) {
		uint64_t t0 = ticks(gettime), each;
		uint32_t n = 0;

		rtt_poll(rtt_last(s, m), ~(uint64_t)1, ~(uint64_t)0, &n, 0); /* no payload's word */
		each = (ticks(gettime) - t0) / n;
		least = each < least ? each : least;
	}
	return (uint32_t)least;
}

/* ---- outside of what is timed ---- */

/* The source of message m, where one is fetched; nothing of it is on its way afterwards. */
HD void rtt_fill(const struct rate_args *q, const struct rtt_side *s, uint64_t m, const int kind)
{
	struct coop alone = { 0, 1 };

	if (kind != POST_WRITE)
		return;
	job_fill((uint8_t *)s->g.local + rtt_offset(q, m), q->len, rate_number(!s->from, m), alone);
	release_sys();
	fence_sc_gpu();
}

/* Compares every word of what has come. */
HD void rtt_compare(struct rtt_side *s, uint64_t m)
{
	struct coop alone = { 0, 1 };
	uint64_t bad = job_check((const uint8_t *)s->in->remote + rtt_offset(s->in, m), s->in->len, rate_number((uint32_t)s->from, m), alone);

	if (UNLIKELY(bad)) {
		if (!s->wrong_words)
			s->wrong_message = m;
		s->wrong_words += bad;
	}
}

/* The same, and takes the CQE of what was sent, or its credit: `hand`, a literal 0 where the agent posts itself. */
HD int rtt_settle(const struct rate_args *q, const struct hand_args *hand, struct rtt_side *s, uint64_t m)
{
	rtt_compare(s, m);
	s->wait = RTT_AT_CQE;
	if (!hand)
		rate_done(q, &s->g, m, 0);
	else if (UNLIKELY(!hand_wait(hand, &s->g, &s->hand, m + 1, 1)))
		s->g.at = m;
	if (UNLIKELY(s->g.status != RATE_OK))
		return 0;
	polled();
	return 1;
}

/* Until the responder looks for message m. */
HD int rtt_await_ready(const struct rtt_args *a, struct rtt_side *s, uint64_t m)
{
	struct patience late = { 0, 0 };

	s->wait = RTT_AT_READY;
	for (uint32_t n = 1; ld64_poll(rtt_word(a, RTT_READY)) <= m; n++) {
		if (!(n % POLLS_PER_LOOK) && rate_late(&a->way[RTT_PUT], &s->g, &late)) {
			s->g.at = m;
			return 0;
		}
		relax_turn(n, s->in->crowded);
	}
	polled();
	return 1;
}

/* ---- the spans ---- */

/* There is room: the CQE of the message before was taken. */
HD void rtt_send(const struct rate_args *q, struct rtt_side *s, const int ord, const int mode, const int kind)
{
	uint64_t m = rate_reserve_for(q, &s->g, 1, FORM_SOLO, 0);

	rate_build(q, &s->g, m, kind);
	rate_ring(&s->g, m + 1, ord, mode);
}

/* There is room here too, which a tuned ring remembers and a baseline one looks up all the same. What comes of
 * that look stands in s's status. */
HD void rtt_hand(const struct hand_args *hand, struct rtt_side *s, const int mode, const int instr)
{
	const int form = mode == MODE_TUNED ? PROXY_TUNED : PROXY_BASELINE;
	uint64_t m = hand_slot(hand, &s->g, &s->hand, form), lap = hand_lap(m, hand->r.log_n), number = m;
	const uint32_t mask = (1u << hand->r.log_n) - 1;

	if (UNLIKELY(s->g.status != RATE_OK))
		return;
	if (instr == HAND_FAULTY && m == hand->fault_at)
		number += mask + 1ull;
	hand_into(&s->hand, m, mask, hand_first(hand, m, lap), lap, number, form);
	s->g.pi = m + 1;
}

/* By `mode`: rings, or hands over. */
HD void rtt_post(const struct rate_args *q, const struct hand_args *hand, struct rtt_side *s, const int ord, const int mode,
		 const int kind, const int instr)
{
	if (mode_hands(mode))
		rtt_hand(hand, s, mode, instr);
	else
		rtt_send(q, s, ord, mode, kind);
}

/* Of an agent that hands over: its worker has given up, which has a reason of its own. */
HD int rtt_left(struct rtt_side *s)
{
	if (ld64_poll(s->hand.word) != HAND_OVER)
		return 0;
	s->g.status = RATE_GIVEN_UP;
	return 1;
}

/* Of an agent that posts itself: its message m has ended in an error. */
HD int rtt_refused(struct rtt_side *s, uint64_t m)
{
	uint64_t w7 = ld64_poll(s->g.q.cq + (uint64_t)((uint32_t)m & ((1u << s->g.q.log_ncqe) - 1)) * CQE_SIZE + 56);

	if (!cqe_reached(w7, m) || cqe_opcode(w7) == CQE_REQ)
		return 0;
	rate_blame(&s->g, m, m);
	return 1;
}

/* A reply that has been waited for in vain for a while: 1 when that has to end, with the reason in s. */
HD int rtt_late(const struct rtt_args *a, struct rtt_side *s, uint64_t m, struct patience *late, const int mode)
{
	s->g.at = m;
	if (mode_hands(mode) ? rtt_left(s) : rtt_refused(s, m))
		return 1;
	return rate_late(&a->way[RTT_PUT], &s->g, late);
}

/* Until the reply to message m is there. */
HD int rtt_await_reply(const struct rtt_args *a, struct rtt_side *s, uint64_t m, const int mode)
{
	const uint8_t *at = rtt_last(s, m);
	const uint64_t want = rtt_want(s, m), mask = s->mask;
	const int crowded = s->in->crowded;
	struct patience late = { 0, 0 };
	uint32_t polls = 0;

	while (rtt_poll(at, want, mask, &polls, crowded) != want)
		if (rtt_late(a, s, m, &late, mode)) {
			s->wait = RTT_AT_PAYLOAD;
			return 0;
		}
	polled();
	return 1;
}

/* Until message m is there; 0 also when none comes any more. */
HD int rtt_await_put(const struct rtt_args *a, struct rtt_side *s, uint64_t m)
{
	const uint8_t *at = rtt_last(s, m);
	const uint64_t want = rtt_want(s, m), mask = s->mask;
	const int crowded = s->in->crowded;
	struct patience late = { 0, 0 };
	uint32_t polls = 0;

	while (rtt_poll(at, want, mask, &polls, crowded) != want) {
		if (ld64(rtt_word(a, RTT_OVER)))
			return 0;
		if (ld64(rtt_word(a, RTT_FAILED)))
			s->g.status = RATE_GIVEN_UP;
		else if (patience_look(&late) > s->in->pass_ns) /* nobody else has gone on for so long */
			s->g.status = RATE_TIMEOUT;
		else
			continue;
		s->wait = RTT_AT_PAYLOAD;
		s->g.at = m;
		return 0;
	}
	polled();
	return 1;
}

#endif
