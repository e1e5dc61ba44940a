/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message at a time, timed from intent to noticed, while other agents post through the same
 * NIC (HD): each into a queue of its own, or all into the timed one's. The queues, how they are
 * shared and what an agent does in a turn are those of a rate (stages/handoff/rate_agent.h).
 *
 * Agent 0 is the timed one. It keeps six stamps of each message, which its own thread takes on one
 * clock, so its intervals add up by construction. The others post batches until it has ended,
 * without a pause or one every pace_ns; how many they have rung for stands in a line each, and is
 * read before and behind the measured messages: that is the load that was carried.
 *
 * Or a round trip at a time: what is posted is a put into memory of a responder's, one more agent, which
 * replies through a queue that nobody else has; the sixth stamp is the reply's. Payloads are numbered by
 * trips there, since a shared queue's index of its message is known to the sender alone, and have slots
 * of their own.
 */
#ifndef FS_CONTENDED_H
#define FS_CONTENDED_H

#include "stages/completion/contended_hand.h"

/* The timed message. `dither`: the phase of the first look at its CQE, or reply, is random below it. `trip`: a literal 0
 * where it is no round trip. */
HD void cont_message(const struct cont_args *a, struct rate_agent *g, struct cont_trip *trip, uint64_t t[CONT_STAMPS], uint64_t *rnd,
		     uint32_t dither, const int ord, const int form, const int kind)
{
	const uint64_t *passed = form_owns(form) ? 0 : share_word(g->share, SHARE_TURN);
	const struct rate_args *q = &a->q;
	uint64_t m;

	t[CONT_INTENT] = ticks(q->gettime);
	m = rate_reserve_for(q, g, 1, form, 1);
	if (UNLIKELY(g->status != RATE_OK))
		return;
	t[CONT_RESERVED] = ticks(q->gettime);
	if (trip)
		cont_trip_build(trip, m, kind);
	else
		rate_build(q, g, m, kind);
	t[CONT_BUILT] = t[CONT_TURN] = ticks(q->gettime);
	if (!form_owns(form)) {
		rate_turn(q, g, m, form);
		if (UNLIKELY(g->status != RATE_OK))
			return;
		t[CONT_TURN] = ticks(q->gettime);
	}
	rate_ring(g, m + 1, ord, q->mode);
	t[CONT_RUNG] = ticks(q->gettime);
	if (!form_owns(form))
		rate_pass(g, m + 1, form);
	g->last = m + 1;
	if (dither)
		wait_ticks(random_below(rnd, dither), q->gettime);
	if (trip) {
		trip->m = m;
		trip->sent++;
		cont_trip_await(trip, DBM_RECORD_RING);
	} else {
		rate_done(q, g, m, passed);
	}
	polled();
	t[CONT_NOTICED] = ticks(q->gettime);
}

/* `h`: a literal 0 where no round trips are timed; `x`: one where the agent posts itself, and then neither `mode` nor `instr` is
 * looked at, else neither ord nor form is. */
HD void cont_timed_by(const struct cont_args *a, const struct cont_trip_args *h, const struct cont_hands *x, const int ord, const int form,
		      const int kind, const int mode, const int instr)
{
	const struct rate_args *q = &a->q;
	struct settling set = { clock_pair_read(q->gettime), 0, 0, 0, 0 };
	uint64_t rnd = a->seed | 1, k = 0, first = 0, end = ~(uint64_t)0, before = 0, t[CONT_STAMPS];
	struct patience whole = { 0, 0 };
	struct coop alone = { 0, 1 };
	struct cont_trip trip; /* where none are timed the agent in it alone */
	uint32_t dither = 0;

	if (h)
		cont_trip_begin(&trip, h);
	else
		rate_begin(q, &trip.s.g, 0, 0);
	if (x)
		trip.s.hand = hander_of(&x->way[RTT_PUT], 0);
	rate_meet(q, &trip.s.g, alone, form);
	while (k != end && trip.s.g.status == RATE_OK) {
		/* at each message: of a CPU thread that is kept from looking little of the time counts */
		if (UNLIKELY(patience_look(&whole) > q->pass_ns)) {
			a->own->overdue = k + 1;
			trip.s.g.status = RATE_TIMEOUT;
			break;
		}
		if (end == ~(uint64_t)0 && !(k & 127) && k >= a->warmup) {
			int calm = a->settle ? settled(&set, clock_pair_read(q->gettime)) : 1;

			if (calm) {
				a->own->unsettled = calm < 0;
				/* beside a ring's credit nothing is ever stored */
				dither = h ? rtt_poll_ticks(&trip.s, k, q->gettime) :
					 cont_poll_ticks(x ? (const uint8_t *)(trip.s.hand.word + 1) : trip.s.g.q.cq + 56, q->gettime);
				first = k;
				end = k + a->messages;
				if (h)
					st64(rtt_word(&h->r, RTT_FIRST), first);
				if (x)
					st64_release_sys(x->phase, HAND_MEASURED);
				before = cont_others(a);
				a->own->begin = clock_pair_read(q->gettime);
			}
		}
		if (h) {
			trip.k = k;
			if (UNLIKELY(!cont_trip_ready(&trip, kind)))
				break;
			trip.s.wait = RTT_AT_CQE; /* of those before, for room */
		}
		wait_ticks(a->gap_ticks / 4 + random_below(&rnd, a->gap_ticks), q->gettime);
		if (x)
			cont_hand_message(x, &trip, k, t, &rnd, dither, h != 0, mode, instr);
		else
			cont_message(a, &trip.s.g, h ? &trip : 0, t, &rnd, dither, ord, form, kind);
		if (h && LIKELY(trip.s.g.status == RATE_OK))
			cont_trip_settle(&trip, x ? &x->way[RTT_PUT] : 0, form);
		if (LIKELY(trip.s.g.status == RATE_OK)) {
			if (end != ~(uint64_t)0)
				for (int i = 0; i < CONT_STAMPS; i++)
					a->stamps[(k - first) * CONT_STAMPS + (uint64_t)i] = t[i];
			k++;
		}
	}
	a->own->end = clock_pair_read(q->gettime);
	a->own->others = cont_others(a) - before;
	if (x)
		st64_release_sys(x->phase, HAND_ENDED);
	a->own->poll_ticks = dither;
	st64_release_sys(a->words + CONT_OVER, 1);
	cont_end(a, &trip.s.g, k);
	if (h) {
		h->r.out[RTT_PUT].first = first;
		cont_trip_end(&trip, form, mode);
	}
}

HD void cont_timed(const struct cont_args *a, const struct cont_trip_args *h, const int ord, const int form, const int kind)
{
	cont_timed_by(a, h, 0, ord, form, kind, DBM_RECORD_RING, HAND_BARE);
}

/* When the next batch is due, and waits for it: who comes late goes on from now, and catches nothing up. */
HD uint64_t cont_pace(const struct cont_args *a, uint64_t due)
{
	uint64_t now = wall_ticks_ns();

	for (uint32_t n = 1; now < due; n++) {
		relax_turn(n, a->q.crowded);
		now = wall_ticks_ns();
	}
	return (due && now - due < a->pace_ns ? due : now) + a->pace_ns;
}

/* One of the others. */
HD void cont_other(const struct cont_args *a, uint32_t number, const int ord, const int form, const int kind)
{
	const struct rate_args *q = &a->q;
	struct coop alone = { 0, 1 };
	uint64_t posted = 0, due = 0;
	struct rate_agent g;

	rate_begin(q, &g, number, form_owns(form) ? number : 0);
	rate_meet(q, &g, alone, form);
	for (uint32_t turn = 0; g.status == RATE_OK; turn++) {
		uint64_t m;

		if (!(turn % CONT_TURNS_PER_LOOK) && ld64(a->words + CONT_OVER))
			break;
		if (a->pace_ns)
			due = cont_pace(a, due);
		m = rate_reserve_for(q, &g, q->batch, form, 1);
		if (UNLIKELY(g.status != RATE_OK))
			break;
		for (uint32_t i = 0; i < q->batch; i++)
			rate_build(q, &g, m + i, kind);
		if (!form_owns(form))
			rate_turn(q, &g, m, form);
		if (UNLIKELY(g.status != RATE_OK))
			break;
		rate_ring(&g, m + q->batch, ord, q->mode);
		if (!form_owns(form))
			rate_pass(&g, m + q->batch, form);
		g.last = m + q->batch;
		posted += q->batch;
		st64(cont_count(a, number), posted);
	}
	rate_drain(q, &g, alone, form);
	cont_end(a, &g, posted);
}

HD void cont_agent(const struct cont_args *a, uint32_t number, const int ord, const int form, const int kind)
{
	if (number)
		cont_other(a, number, ord, form, kind);
	else
		cont_timed(a, 0, ord, form, kind);
}

/* Of round trips. The responder, the last one, meets nobody: it says itself what it is ready for. */
HD void cont_trip_agent(const struct cont_trip_args *h, uint32_t number, struct planter *p, const int ord, const int form, const int kind)
{
	if (!number)
		cont_timed(&h->a, h, ord, form, kind);
	else if (number < h->a.q.agents)
		cont_other(&h->a, number, ord, form, kind);
	else
		rtt_respond_by(&h->r, p, ord, DBM_RECORD_RING, kind);
}

/* One of the others that hands over. A loop of its own: calls that those who post don't make would change how these are compiled. */
HD void cont_hand_other(const struct cont_args *a, const struct cont_hands *x, uint32_t number, const int mode)
{
	const struct hand_args *h = &x->way[RTT_PUT];
	struct hander s = hander_of(h, cont_ring(x, number));
	struct coop alone = { 0, 1 };
	uint64_t posted = 0, due = 0;
	struct rate_agent g;

	rate_begin(&h->r, &g, number, cont_ring(x, number));
	rate_meet(&h->r, &g, alone, FORM_SOLO);
	for (uint32_t turn = 0; g.status == RATE_OK; turn++) {
		if (!(turn % CONT_TURNS_PER_LOOK) && ld64(a->words + CONT_OVER))
			break;
		if (a->pace_ns)
			due = cont_pace(a, due);
		cont_hand_batch(h, &g, &s, mode);
		if (UNLIKELY(g.status != RATE_OK))
			break;
		posted += h->r.batch;
		st64(cont_count(a, number), posted);
	}
	if (g.status == RATE_OK && g.last)
		hand_done(h, &g, &s, g.last - 1);
	cont_end(a, &g, posted);
}

/* The same where workers post, which release record and doorbell. `round`, a literal: round trips. */
HD void cont_hand_agent(const struct cont_trip_args *h, const struct cont_hands *x, uint32_t number, struct planter *p, const int round,
			const int mode, const int instr)
{
	if (!number)
		cont_timed_by(&h->a, round ? h : 0, x, ORD_SYS_RELEASE, FORM_SOLO, POST_WRITE, mode, instr);
	else if (!round || number < h->a.q.agents)
		cont_hand_other(&h->a, x, number, mode);
	else
		rtt_respond(&h->r, x->way, p, ORD_SYS_RELEASE, mode, x->way[RTT_REPLY].kind, HAND_BARE);
}

/* X(order, form, kind): what is built. SYS is for queues that are shared with another GPU, on either side. */
#define FS_CONT_KINDS(X, o, f) X(o, f, INLINE) X(o, f, WRITE)
#define FS_CONT_FORMS(X, o) FS_CONT_KINDS(X, o, SOLO) FS_CONT_KINDS(X, o, GPU)
#define FS_CONT_GPU_FORMS(X, o) FS_CONT_FORMS(X, o) FS_CONT_KINDS(X, o, SYS)
#define FS_CONT_FAR_FORMS(X, o) FS_CONT_KINDS(X, o, SOLO) FS_CONT_KINDS(X, o, SYS)
#define FS_CONT_ORDERS(FORMS, X) \
	FORMS(X, NONE) FORMS(X, GPU_FENCE) FORMS(X, GPU_FENCE_RECORD) FORMS(X, GPU_RELEASE) \
	FORMS(X, THREADFENCE) FORMS(X, SYS_FENCE) FORMS(X, SYS_FENCE_RECORD) FORMS(X, SYS_RELEASE)
#define FS_CONTS(X) FS_CONT_ORDERS(FS_CONT_GPU_FORMS, X)
#define FS_CONTS_FAR(X) FS_CONT_ORDERS(FS_CONT_FAR_FORMS, X) /* the others' */

/* Where workers post: X(trip, mode, instr). */
#define FS_CONT_HANDS_OF(X, t) X(t, TUNED, BARE) X(t, TUNED, FAULTY) X(t, BASELINE, BARE) X(t, BASELINE, FAULTY)
#define FS_CONT_HANDS(X) FS_CONT_HANDS_OF(X, ONE_WAY) FS_CONT_HANDS_OF(X, ROUND)

/* How the agents' code is chosen, and where they run; beside: SMs of the device that a NIC has. With a mode that hands over
 * neither order, form nor kind choose. far_*: of the others, where they are on another GPU (-1: none of them is); refused: the
 * timed one's launch fails on purpose. */
struct cont_choice {
	int trip, ord, form, kind, mode, instr, device;
	unsigned agents, beside;
	int far_device;
	unsigned far_agents, far_beside;
	int refused;
};

/* Before a NIC is resident. */
int cont_gpu_load(struct cont_choice c);
/* All agents, a block each (x: of those that hand over), until they have ended, in a grid of each GPU. -EBUSY: one would not. */
int cont_gpu_run(const struct cont_trip_args *h, const struct cont_hands *x, struct cont_choice c, double patience_s);

#endif
