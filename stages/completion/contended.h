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
	uint64_t others;                /* messages that the others rang for from begin to end */
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

/* Until the reply is there. What comes of it stands in the agent's status. */
HD void cont_trip_await(struct cont_trip *t)
{
	const uint8_t *at = rtt_last(&t->s, t->k);
	const uint64_t want = rtt_want(&t->s, t->k), mask = t->s.mask;
	const int crowded = t->s.in->crowded;
	struct patience late = { 0, 0 };
	uint32_t polls = 0;

	while (rtt_poll(at, want, mask, &polls, crowded) != want) {
		t->s.g.at = t->k;
		if (rtt_refused(&t->s, t->m) || rate_late(&t->h->r.way[RTT_PUT], &t->s.g, &late)) {
			t->s.wait = RTT_AT_PAYLOAD;
			return;
		}
	}
}

/* Behind the stamps: every word of the reply, and the put's own completion. */
HD void cont_trip_settle(struct cont_trip *t, const int form)
{
	const struct rate_args *q = &t->h->r.way[RTT_PUT];

	t->s.seen++;
	rtt_compare(&t->s, t->k);
	t->s.wait = RTT_AT_CQE;
	rate_done(q, &t->s.g, t->m, form_owns(form) ? 0 : share_word(t->s.g.share, SHARE_TURN));
	polled();
	t->h->mine[t->k & q->slot_mask] = t->m;
}

HD void cont_trip_end(struct cont_trip *t, const int form)
{
	struct rtt_out *o = &t->h->r.out[RTT_PUT];

	/* where others are laps ahead their room says that the put is done, as in rate_done() */
	if (t->s.g.status == RATE_TIMEOUT && t->s.wait == RTT_AT_PAYLOAD)
		o->sent_done = rtt_sent_done(&t->s, t->m, DBM_RECORD_RING) ||
			       (!form_owns(form) && ld64(share_word(t->s.g.share, SHARE_TURN)) > t->m + t->s.g.q.depth);
	rtt_end(&t->h->r, &t->s, o, t->sent);
	st64_release_sys(rtt_word(&t->h->r, RTT_OVER), 1);
}

/* ---- */

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
		cont_trip_await(trip);
	} else {
		rate_done(q, g, m, passed);
	}
	polled();
	t[CONT_NOTICED] = ticks(q->gettime);
}

/* `h`: a literal 0 where no round trips are timed. */
HD void cont_timed(const struct cont_args *a, const struct cont_trip_args *h, const int ord, const int form, const int kind)
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
				dither = h ? rtt_poll_ticks(&trip.s, k, q->gettime) : cont_poll_ticks(trip.s.g.q.cq + 56, q->gettime);
				first = k;
				end = k + a->messages;
				if (h)
					st64(rtt_word(&h->r, RTT_FIRST), first);
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
		cont_message(a, &trip.s.g, h ? &trip : 0, t, &rnd, dither, ord, form, kind);
		if (h && LIKELY(trip.s.g.status == RATE_OK))
			cont_trip_settle(&trip, form);
		if (LIKELY(trip.s.g.status == RATE_OK)) {
			if (end != ~(uint64_t)0)
				for (int i = 0; i < CONT_STAMPS; i++)
					a->stamps[(k - first) * CONT_STAMPS + (uint64_t)i] = t[i];
			k++;
		}
	}
	a->own->end = clock_pair_read(q->gettime);
	a->own->others = cont_others(a) - before;
	a->own->poll_ticks = dither;
	st64_release_sys(a->words + CONT_OVER, 1);
	cont_end(a, &trip.s.g, k);
	if (h) {
		h->r.out[RTT_PUT].first = first;
		cont_trip_end(&trip, form);
	}
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

/* How the agents' code is chosen, and where they run; beside: SMs of the device that a NIC has. far_*: of the others, where they
 * are on another GPU (-1: none of them is); refused: the timed one's launch fails on purpose. */
struct cont_choice { int trip, ord, form, kind, device; unsigned agents, beside; int far_device; unsigned far_agents, far_beside; int refused; };

/* Before a NIC is resident. */
int cont_gpu_load(struct cont_choice c);
/* All agents, a block each, until they have ended, in a grid of each GPU. -EBUSY: one would not. */
int cont_gpu_run(const struct cont_trip_args *h, struct cont_choice c, double patience_s);

#endif
