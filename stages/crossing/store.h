/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores, for both sides (HD): posted one behind the other, each with a fence
 * behind it or none; and a store that another agent sees and answers with a store
 * of its own.
 */
#ifndef FS_STORE_H
#define FS_STORE_H

#include "stages/queue/pace.h"
#include "stages/vars.h"

enum { STORE_LINES = 64, STORE_LINE = 64 };  /* that posted stores go round */
enum { STORE_BLOCK = 256, FENCED_BLOCK = 32 }; /* stores between two readings of the clock */
enum { STORE_FLOORS = 64 };
enum { SHUTTLES = 128 };                     /* between two looks whether it is time to begin */

struct store_args {
	uint8_t *there, *back;       /* lines of the stores and of the answers */
	uint64_t warmup, messages, wait_ns, seed;
	uint32_t settle, gap_ticks;
	int32_t gettime;
	uint64_t *samples;           /* ticks: [blocks] of posted stores; [2][messages] when they were made, and noticed */
	uint64_t *before;            /* [messages], just before they were made; NULL: not wanted */
	uint64_t *seen;              /* [warmup + messages], the other agent's; NULL: not wanted */
	struct clock_pair *pairs;    /* [2], around what is measured */
	struct store_out *out;
};

struct store_out {
	uint64_t status;             /* 0, or 1: no answer in time */
	uint64_t first, done;        /* stores before the measured ones, and all */
	uint64_t unsettled;
	uint64_t floor_ticks;        /* of STORE_FLOORS empty blocks */
	uint64_t span_ticks, spans;  /* the other agent's own, from seen to answered */
	struct clock_pair begin, end; /* the other agent's */
};

/* ---- posted stores ---- */

/* A sequentially consistent fence of system scope. A CPU's release fence is nothing on
 * x86 and, since a race checker can't see it, part of the next store (st64_published). */
HD void fence_after(const int fence)
{
#ifdef __CUDA_ARCH__
	if (fence == AFTER_RELEASE_GPU)
		release_gpu();
	if (fence == AFTER_RELEASE_SYS)
		release_sys();
	if (fence == AFTER_SC_GPU)
		fence_sc_gpu();
	if (fence == AFTER_SC_SYS)
		asm volatile("fence.sc.sys;" : : : "memory");
#elif defined(__x86_64__)
	if (fence == AFTER_SC_GPU || fence == AFTER_SC_SYS)
		__asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
	if (fence == AFTER_SC_GPU || fence == AFTER_SC_SYS)
		__asm__ volatile("dmb ish" : : : "memory");
#else
	if (fence == AFTER_SC_GPU || fence == AFTER_SC_SYS)
		__sync_synchronize();
#endif
}

/* Store number v, counted from 1. */
HD void store_one(const struct store_args *a, uint64_t v, const int fence)
{
	uint8_t *at = a->there + (v % STORE_LINES) * STORE_LINE;

	if (fence == AFTER_NONE)
		st64(at, v);
	else
		st64_published(at, v);
	fence_after(fence);
}

/* a->messages blocks, of which each has `block` stores; a->warmup is in stores. */
HD void store_posted(const struct store_args *a, const int fence)
{
	const uint32_t block = fence == AFTER_NONE ? STORE_BLOCK : FENCED_BLOCK;
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	uint64_t v = 0, floor = 0, t;
	int calm;

	for (;;) {
		calm = a->settle ? settled(&g, clock_pair_read(a->gettime)) : 1;
		if (calm && v >= a->warmup)
			break;
		for (uint32_t i = 0; i < block; i++)
			store_one(a, ++v, fence);
	}
	a->out->first = v;
	a->out->unsettled = calm < 0;
	a->pairs[0] = clock_pair_read(a->gettime);
	for (uint64_t b = 0; b < a->messages; b++) {
		t = ticks(a->gettime);
		for (uint32_t i = 0; i < block; i++)
			store_one(a, ++v, fence);
		a->samples[b] = ticks(a->gettime) - t;
	}
	a->pairs[1] = clock_pair_read(a->gettime);
	for (int i = 0; i < STORE_FLOORS; i++) {
		t = ticks(a->gettime);
		floor += ticks(a->gettime) - t;
	}
	a->out->floor_ticks = floor;
	a->out->done = v;
}

/* ---- seen and answered ---- */

struct answerer { uint64_t v, span, spans; struct clock_pair begin; };

/* One look; 1 when it has seen a store and answered it. */
HD int store_answer(const struct store_args *a, struct answerer *r)
{
	uint64_t v = poll_doorbell(a->there, r->v), seen, answered;

	polled();
	seen = ticks(a->gettime); /* the branch has waited for v */
	if (UNLIKELY(v == r->v))
		return 0;
	st64(a->back, v);
	answered = ticks(a->gettime);
	r->span += answered - seen;
	r->spans++;
	if (a->seen && v <= a->warmup + a->messages)
		a->seen[v - 1] = seen;
	r->v = v;
	return 1;
}

HD void store_answered(const struct store_args *a, const struct answerer *r)
{
	a->out->begin = r->begin;
	a->out->end = clock_pair_read(a->gettime);
	a->out->span_ticks = r->span;
	a->out->spans = r->spans;
}

struct asker { uint64_t rnd, v, end, t0, before; uint32_t dither_ticks; int sent; };

/* Stores until number `stop` is answered; 0: no answer in DOORBELL_LOOKS looks. As in the
 * issuer's loop, nothing seldom is in it. */
HD int store_shuttle(const struct store_args *a, struct asker *st, uint64_t stop)
{
	struct asker s = *st;
	int ok = 1;

	while (s.v < stop) {
		uint64_t w, t1;

		if (LIKELY(!s.sent)) {
			wait_ticks(a->gap_ticks / 4 + random_below(&s.rnd, a->gap_ticks), a->gettime);
			if (a->before)
				s.before = ticks(a->gettime);
			st64(a->there, s.v + 1);
			s.t0 = ticks(a->gettime);
			s.sent = 1;
			if (s.dither_ticks)
				wait_ticks(random_below(&s.rnd, s.dither_ticks), a->gettime);
		}
		w = poll_doorbell(a->back, s.v);
		polled();
		t1 = ticks(a->gettime);
		if (UNLIKELY(w == s.v)) {
			ok = 0;
			break;
		}
		if (s.end != ~(uint64_t)0) {
			a->samples[s.v - a->out->first] = s.t0;
			a->samples[a->messages + s.v - a->out->first] = t1;
			if (a->before)
				a->before[s.v - a->out->first] = s.before;
		}
		s.sent = 0;
		s.v++;
	}
	*st = s;
	return ok;
}

/* The period of a poll of the answers, measured while nothing is under way. */
HD uint32_t store_poll_ticks(const struct store_args *a, uint64_t v)
{
	uint64_t t0 = ticks(a->gettime);

	poll_doorbell(a->back, v);
	return (uint32_t)(ticks(a->gettime) - t0) / DOORBELL_LOOKS;
}

HD void store_ask(const struct store_args *a)
{
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	struct asker s = { a->seed | 1, 0, ~(uint64_t)0, 0, 0, 0, 0 };

	a->out->status = 0;
	a->out->first = 0;
	for (;;) {
		uint64_t left = s.end - s.v, stop = s.v + (left < SHUTTLES ? left : SHUTTLES);
		struct patience late = { 0, 0 };

		if (s.end == ~(uint64_t)0) {
			int calm = a->settle ? settled(&g, clock_pair_read(a->gettime)) : 1;

			stop = s.v < a->warmup && a->warmup - s.v < SHUTTLES ? a->warmup : s.v + SHUTTLES;
			if (calm && s.v >= a->warmup) {
				a->out->unsettled = calm < 0;
				a->out->first = s.v;
				s.dither_ticks = store_poll_ticks(a, s.v);
				s.end = s.v + a->messages;
				stop = s.v + (a->messages < SHUTTLES ? a->messages : SHUTTLES);
				a->pairs[0] = clock_pair_read(a->gettime);
			}
		}
		if (s.v == s.end)
			break;
		while (s.v < stop && !store_shuttle(a, &s, stop))
			if (patience_look(&late) > a->wait_ns) {
				a->out->status = 1;
				stop = s.end = s.v;
			}
	}
	a->pairs[1] = clock_pair_read(a->gettime);
	a->out->done = s.v;
}

/* ---- on GPUs: store_gpu.cu ---- */

int store_gpu_post(const struct store_args *a, int fence, int device, double patience_s);
int store_gpu_ask(const struct store_args *a, int device, double patience_s);
/* The other agent: a resident kernel. */
int store_gpu_answer(const struct store_args *a, int device, double patience_s);
int store_gpu_stop(int device, double patience_s);

#endif
