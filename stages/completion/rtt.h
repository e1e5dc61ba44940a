/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The round trip of a message (HD): the issuer puts a payload into the responder's memory,
 * the responder sees its last word there and replies through a queue of its own, the issuer
 * sees the reply's last word in its memory. Two agents, two queues, one NIC; both agents
 * poll memory that is their own, and nobody waits for a CQE in what is timed.
 *
 * One message at a time. What an agent does besides stands outside of both spans: payloads
 * that are fetched are written before, every word of what came is compared behind, and then
 * the own CQE is taken, so that a slot is free and an error is seen. The responder says
 * that it looks for message m (RTT_READY) before the issuer decides to send it: none
 * arrives at a responder that is still busy with the one before.
 *
 * The last word seen says nothing of the others by itself: that a NIC writes a payload in
 * the order of its addresses is relied on, not guaranteed, and checked in each message.
 *
 * With `mode` one that hands over (stages/queue/hand.h) a worker of each agent's posts for it: what
 * ends a span is the descriptor's store, and credit is in the place of the CQE.
 */
#ifndef FS_RTT_H
#define FS_RTT_H

#include "stages/completion/rtt_side.h"

HD void rtt_end(const struct rtt_args *a, const struct rtt_side *s, struct rtt_out *o, uint64_t sent)
{
	o->end = clock_pair_read(s->in->gettime);
	o->at = s->g.at;
	o->wait = s->wait;
	o->syndrome = s->g.syndrome;
	o->vendor = s->g.vendor;
	o->seen = s->seen;
	o->sent = sent;
	o->wrong_words = s->wrong_words;
	o->wrong_message = s->wrong_message;
	if (s->g.status != RATE_OK)
		st64(rtt_word(a, RTT_FAILED), 1);
	st64_release_sys(&o->status, s->g.status);
}

/* Is the issuer's message m completed? Of a wait that ran out. */
HD uint64_t rtt_sent_done(const struct rtt_side *s, uint64_t m, const int mode)
{
	if (mode_hands(mode))
		return ld64(s->hand.word) > m;
	return (uint64_t)cqe_reached(ld64(s->g.q.cq + ((uint32_t)m & ((1u << s->g.q.log_ncqe) - 1)) * CQE_SIZE + 56), m);
}

/* `hands`: [RTT_WAYS], or a literal 0 where agents post themselves; `instr`, a literal: HAND_BARE or HAND_FAULTY.
 * The kind is a literal where agents post. */
HD void rtt_issue(const struct rtt_args *a, const struct hand_args *hands, const int ord, const int mode, const int kind, const int instr)
{
	const struct rate_args *q = &a->way[RTT_PUT];
	const struct hand_args *hand = hands ? &hands[RTT_PUT] : 0;
	struct settling set = { clock_pair_read(q->gettime), 0, 0, 0, 0 };
	uint64_t rnd = 1, m = 0, first = ~(uint64_t)0, end = ~(uint64_t)0, sent = 0;
	struct rtt_out *o = &a->out[RTT_PUT];
	uint32_t dither = 0;
	struct rtt_side s;

	rtt_begin(a, &s, RTT_PUT);
	if (hand)
		s.hand = hander_of(hand, 0);
	while (m != end) {
		uint64_t t0, t1, t2;

		if (end == ~(uint64_t)0 && !(m & 127) && m >= a->warmup) {
			int calm = a->settle ? settled(&set, clock_pair_read(q->gettime)) : 1;

			if (calm) {
				o->unsettled = calm < 0;
				dither = rtt_poll_ticks(&s, m, q->gettime);
				first = m;
				end = m + a->messages;
				st64(rtt_word(a, RTT_FIRST), first);
				o->begin = clock_pair_read(q->gettime);
			}
		}
		/* the same pauses in a block with the delay and in the one without */
		if (!(m & (RTT_BLOCK - 1)))
			rnd = (a->seed + (m & ~(uint64_t)(2 * RTT_BLOCK - 1)) * 0x9e3779b97f4a7c15u) | 1;
		rtt_fill(q, &s, m, kind);
		if (UNLIKELY(!rtt_await_ready(a, &s, m)))
			break;
		wait_ticks(a->gap_ticks / 4 + random_below(&rnd, a->gap_ticks), q->gettime);
		t0 = ticks(q->gettime);
		rtt_post(q, hand, &s, ord, mode, kind, instr);
		t1 = ticks(q->gettime);
		if (hand && UNLIKELY(s.g.status != RATE_OK))
			break;
		sent++;
		if (dither)
			wait_ticks(random_below(&rnd, dither), q->gettime);
		if (UNLIKELY(!rtt_await_reply(a, &s, m, mode)))
			break;
		t2 = ticks(q->gettime);
		s.seen++;
		if (UNLIKELY(!rtt_settle(q, hand, &s, m)))
			break;
		if (end != ~(uint64_t)0) {
			a->samples[m - first] = t2 - t0;
			a->submits[m - first] = t1 - t0;
		}
		m++;
	}
	o->first = first;
	o->poll_ticks = dither;
	if (s.g.status == RATE_TIMEOUT && s.wait == RTT_AT_PAYLOAD)
		o->sent_done = rtt_sent_done(&s, m, mode);
	rtt_end(a, &s, o, sent);
	st64_release_sys(rtt_word(a, RTT_OVER), 1);
}

/* Sees the message, and lets nothing follow from it, until the issuer has lost its patience. */
HD void rtt_silence(const struct rtt_args *a, struct rtt_side *s, uint64_t m)
{
	struct patience late = { 0, 0 };

	if (!rtt_await_put(a, s, m))
		return;
	s->seen++;
	for (uint32_t n = 1; !ld64(rtt_word(a, RTT_OVER)) && !ld64(rtt_word(a, RTT_FAILED)); n++) {
		if (!(n % POLLS_PER_LOOK) && patience_look(&late) > s->in->pass_ns)
			return;
		relax_turn(n, s->in->crowded);
	}
}

/* `p`: in shared memory on a GPU. */
HD void rtt_delay_begin(const struct rtt_args *a, struct planter *p)
{
	struct sink_conf c;

	c.gettime = a->way[RTT_REPLY].gettime;
	for (int i = 0; i < 2; i++) {
		c.plant[i] = a->delay_ns[i] ? MARK_SEEN : -1;
		c.plant_ns[i] = (uint32_t)a->delay_ns[i];
	}
	planter_begin(p, &c);
}

HD void rtt_respond(const struct rtt_args *a, const struct hand_args *hands, struct planter *p, const int ord, const int mode, const int kind,
		    const int instr)
{
	const struct rate_args *q = &a->way[RTT_REPLY];
	const struct hand_args *hand = hands ? &hands[RTT_REPLY] : 0;
	const int delays = a->delay_ns[0] || a->delay_ns[1];
	struct rtt_out *o = &a->out[RTT_REPLY];
	uint64_t slot = 0, sent = 0;
	struct rtt_side s;
	int begun = 0;

	rtt_begin(a, &s, RTT_REPLY);
	if (hand)
		s.hand = hander_of(hand, 0);
	if (delays)
		rtt_delay_begin(a, p);
	for (uint64_t m = 0;; m++) {
		const int wait = delays && block_planted(m, RTT_BLOCK);
		uint64_t t0, t1;

		rtt_fill(q, &s, m, kind);
		if (!begun && ld64(rtt_word(a, RTT_FIRST)) != ~(uint64_t)0) {
			begun = 1;
			o->begin = clock_pair_read(q->gettime);
		}
		st64_release_sys(rtt_word(a, RTT_READY), m + 1);
		if (UNLIKELY(m >= a->silent_from)) {
			rtt_silence(a, &s, m);
			break;
		}
		if (UNLIKELY(!rtt_await_put(a, &s, m)))
			break;
		t0 = ticks(q->gettime);
		if (UNLIKELY(wait))
			planter_wait(p, MARK_SEEN);
		rtt_post(q, hand, &s, ord, mode, kind, instr);
		t1 = ticks(q->gettime);
		if (hand && UNLIKELY(s.g.status != RATE_OK))
			break;
		sent++;
		s.seen++;
		a->spans[slot] = t1 - t0;
		slot = slot + 1 == a->messages ? 0 : slot + 1;
		if (UNLIKELY(!rtt_settle(q, hand, &s, m)))
			break;
	}
	rtt_end(a, &s, o, sent);
}

/* A reply's kind, by the put's: a literal each. */
HD void rtt_respond_by(const struct rtt_args *a, struct planter *p, const int ord, const int mode, const int kind)
{
	if (kind == POST_WRITE && a->reply == REPLY_PUT)
		rtt_respond(a, 0, p, ord, mode, POST_WRITE, HAND_BARE);
	else
		rtt_respond(a, 0, p, ord, mode, POST_INLINE, HAND_BARE);
}

/* Both agents where workers post: which of them, and all that a descriptor says, is known at run time alone. */
HD void rtt_hand_over(const struct rtt_hand_args *h, struct planter *p, int role, const int mode, const int instr)
{
	if (role == RTT_PUT)
		rtt_issue(&h->r, h->way, ORD_SYS_RELEASE, mode, h->way[RTT_PUT].kind, instr);
	else
		rtt_respond(&h->r, h->way, p, ORD_SYS_RELEASE, mode, h->way[RTT_REPLY].kind, instr);
}

/* X(order, doorbell, kind): what is built. */
#define FS_RTT_KINDS(X, o, d) X(o, d, INLINE) X(o, d, WRITE)
#define FS_RTT_DOORBELLS(X, o) FS_RTT_KINDS(X, o, RECORD_RING) FS_RTT_KINDS(X, o, RING)
#define FS_RTTS(X) \
	FS_RTT_DOORBELLS(X, NONE) FS_RTT_DOORBELLS(X, GPU_FENCE) FS_RTT_DOORBELLS(X, GPU_FENCE_RECORD) \
	FS_RTT_DOORBELLS(X, GPU_RELEASE) FS_RTT_DOORBELLS(X, THREADFENCE) FS_RTT_DOORBELLS(X, SYS_FENCE) \
	FS_RTT_DOORBELLS(X, SYS_FENCE_RECORD) FS_RTT_DOORBELLS(X, SYS_RELEASE)
/* Where workers post: X(mode, instr). */
#define FS_RTT_HANDS(X) X(TUNED, BARE) X(TUNED, FAULTY) X(BASELINE, BARE) X(BASELINE, FAULTY)

/* How the agents' code is chosen, and where they run. With a mode that hands over neither order nor kind choose. */
struct rtt_choice {
	int ord, mode, kind, instr;
	int issuer, responder;          /* devices */
	unsigned beside;                /* SMs of the responder's that a NIC has */
};

/* Before a NIC is resident. */
int rtt_gpu_load(struct rtt_choice c);
/* Both agents, until they have ended. -EBUSY: one would not. */
int rtt_gpu_run(const struct rtt_hand_args *h, struct rtt_choice c, double patience_s);

#endif
