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
 */
#ifndef FS_CONTENDED_H
#define FS_CONTENDED_H

#include "stages/handoff/rate.h"
#include "stages/queue/sink.h"

#define FS_OTHERS_QUEUES(X) \
	X(PRIVATE, "private", "each posts into a queue of its own") \
	X(SHARED, "shared", "all post into the timed message's queue, and hand off to each other")

enum { OTHERS_MAX = 64 };          /* the blocks that post beside */

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

/* The timed message. `dither`: the phase of the first look at its CQE is random below it. */
HD void cont_message(const struct cont_args *a, struct rate_agent *g, uint64_t t[CONT_STAMPS], uint64_t *rnd, uint32_t dither,
		     const int ord, const int form, const int kind)
{
	const uint64_t *passed = form_owns(form) ? 0 : share_word(g->share, SHARE_TURN);
	const struct rate_args *q = &a->q;
	uint64_t m;

	t[CONT_INTENT] = ticks(q->gettime);
	m = rate_reserve_for(q, g, 1, form, 1);
	if (UNLIKELY(g->status != RATE_OK))
		return;
	t[CONT_RESERVED] = ticks(q->gettime);
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
	rate_done(q, g, m, passed);
	polled();
	t[CONT_NOTICED] = ticks(q->gettime);
}

HD void cont_timed(const struct cont_args *a, const int ord, const int form, const int kind)
{
	const struct rate_args *q = &a->q;
	struct settling set = { clock_pair_read(q->gettime), 0, 0, 0, 0 };
	uint64_t rnd = a->seed | 1, k = 0, first = 0, end = ~(uint64_t)0, before = 0, t[CONT_STAMPS];
	struct patience whole = { 0, 0 };
	struct coop alone = { 0, 1 };
	struct rate_agent g;
	uint32_t dither = 0;

	rate_begin(q, &g, 0, 0);
	rate_meet(q, &g, alone, form);
	while (k != end && g.status == RATE_OK) {
		/* at each message: of a CPU thread that is kept from looking little of the time counts */
		if (UNLIKELY(patience_look(&whole) > q->pass_ns)) {
			a->own->overdue = k + 1;
			g.status = RATE_TIMEOUT;
			break;
		}
		if (end == ~(uint64_t)0 && !(k & 127) && k >= a->warmup) {
			int calm = a->settle ? settled(&set, clock_pair_read(q->gettime)) : 1;

			if (calm) {
				a->own->unsettled = calm < 0;
				dither = cont_poll_ticks(g.q.cq + 56, q->gettime);
				first = k;
				end = k + a->messages;
				before = cont_others(a);
				a->own->begin = clock_pair_read(q->gettime);
			}
		}
		wait_ticks(a->gap_ticks / 4 + random_below(&rnd, a->gap_ticks), q->gettime);
		cont_message(a, &g, t, &rnd, dither, ord, form, kind);
		if (LIKELY(g.status == RATE_OK)) {
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
	cont_end(a, &g, k);
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
		cont_timed(a, ord, form, kind);
}

/* X(order, form, kind): what is built. */
#define FS_CONT_KINDS(X, o, f) X(o, f, INLINE) X(o, f, WRITE)
#define FS_CONT_FORMS(X, o) FS_CONT_KINDS(X, o, SOLO) FS_CONT_KINDS(X, o, GPU)
#define FS_CONTS(X) \
	FS_CONT_FORMS(X, NONE) FS_CONT_FORMS(X, GPU_FENCE) FS_CONT_FORMS(X, GPU_FENCE_RECORD) \
	FS_CONT_FORMS(X, GPU_RELEASE) FS_CONT_FORMS(X, THREADFENCE) FS_CONT_FORMS(X, SYS_FENCE) \
	FS_CONT_FORMS(X, SYS_FENCE_RECORD) FS_CONT_FORMS(X, SYS_RELEASE)

/* How the agents' code is chosen, and where they run. */
struct cont_choice { int ord, form, kind, device; unsigned agents, beside; /* SMs of the device that a NIC has */ };

/* Before a NIC is resident. */
int cont_gpu_load(struct cont_choice c);
/* All agents, a block each, until they have ended. -EBUSY: one would not. */
int cont_gpu_run(const struct cont_args *a, struct cont_choice c, double patience_s);

#endif
