/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flag behind its payload (HD): a writer stores the words of message m and then a flag of
 * value m; a reader that is already running polls the flag, and reads the payload as soon as it
 * sees m. A word that is older then is what a missing order looks like.
 *
 * The writer goes on when the reader has said so: its acknowledgement is released behind the
 * loads and acquired before the next stores, both of system scope, so that a newer word can't
 * be seen whatever the order under test is. Neither stands between payload and flag, or
 * between the look that sees the flag and the loads behind it.
 */
#ifndef FS_VISIBLE_H
#define FS_VISIBLE_H

#include "stages/issue/fence.h"
#include "stages/queue/coop.h"

/* X(NAME, word, how the reader polls, and what stands between flag and payload) */
#define FS_ACQUIRES(X) \
	X(NONE, "none", "relaxed looks, then nothing; unsafe control") \
	X(FENCE_GPU, "fence-gpu", "relaxed looks, then fence.acquire.gpu") \
	X(FENCE_SYS, "fence-sys", "relaxed looks, then fence.acquire.sys; a CPU's looks acquire") \
	X(LOAD, "load", "each look an ld.acquire.sys")

enum acquire {
#define X(NAME, word, help) ACQUIRE_##NAME,
	FS_ACQUIRES(X)
#undef X
	ACQUIRES
};

/* What is done too early: the controls that have to be counted. */
#define EARLY_WORDS "none|writer|reader"
enum visible_early { EARLY_NONE, EARLY_WRITER, EARLY_READER };
enum { EARLY_TICKS = 4096 };         /* that it is too early by: more than a poll's period over a link */

/* How the reader loads the payload. */
#define PAYLOAD_LOAD_WORDS "relaxed|plain"
enum payload_load { LOADED_RELAXED, LOADED_PLAIN, PAYLOAD_LOADS };

/* The reader's loops: with nothing but the order between flag and payload, with the clock there, and early. */
#define FS_VISIBLE_FORMS(X) X(BARE) X(TIMED) X(EARLY)
enum visible_form {
#define X(NAME) FORM_VISIBLE_##NAME,
	FS_VISIBLE_FORMS(X)
#undef X
	VISIBLE_FORMS
};

enum visible_status { VISIBLE_OK = 1, VISIBLE_TIMEOUT };
#define VISIBLE_NOT_YET (~(uint64_t)0) /* in the acknowledgement's word: no reader runs yet */

struct visible_args {
	uint8_t *payload, *flag, *ack;
	uint64_t words, stride;      /* of the payload: 8 bytes each, every so many bytes */
	uint64_t warmup, messages, wait_ns, seed;
	uint32_t settle, gap_ticks, early;
	int32_t gettime;
	uint64_t *samples;           /* [messages], ticks from the flag seen to the last word's arrival; TIMED alone */
	struct clock_pair *pairs;    /* [2]: around the measured messages */
	struct visible_out *out;     /* the reader's */
	struct visible_far *far_;    /* the writer's */
};

struct visible_out {
	uint64_t status;             /* enum visible_status */
	uint64_t done, unsettled;    /* messages seen, with the warm-up */
	uint64_t violated, first;    /* measured messages with an older word, and the first of them (from 1) */
	uint64_t stale, newer;       /* older words; words that are neither older nor the message's */
	uint64_t smid;
};

struct visible_far { uint64_t written, smid; };

/* ---- the writer: a thread, or a warp whose first lane has the flag ---- */

struct visible_writer { uint64_t m, rnd; };

HD void visible_fill(const struct visible_args *a, uint64_t m, struct coop c)
{
	for (uint64_t i = (uint64_t)c.lane; i < a->words; i += (uint64_t)c.nlanes)
		st64(a->payload + i * a->stride, payload_word(m, i));
	coop_sync(c);
}

/* One look whether the reader is through with the last message, of DOORBELL_LOOKS polls; 1 if it
 * was, and the next one is written. `fence` is a literal. */
HD int visible_write(const struct visible_args *a, struct visible_writer *w, const int fence, struct coop c)
{
	uint64_t go = 0;

	if (!c.lane) {
		go = poll_doorbell(a->ack, w->m ? w->m - 1 : VISIBLE_NOT_YET) == w->m;
		polled();
		if (go)
			wait_ticks(a->gap_ticks / 4 + random_below(&w->rnd, a->gap_ticks), a->gettime);
	}
	if (!coop_from(c, go, 0))
		return 0;
	coop_sync(c); /* what the first lane has acquired is the others' too */
	w->m++;
	if (UNLIKELY(a->early == EARLY_WRITER)) {
		if (!c.lane) {
			fence_store(a->flag, w->m, fence);
			wait_ticks(EARLY_TICKS, a->gettime);
		}
		coop_sync(c);
		visible_fill(a, w->m, c);
		return 1;
	}
	visible_fill(a, w->m, c);
	if (!c.lane)
		fence_store(a->flag, w->m, fence);
	return 1;
}

HD void visible_written(const struct visible_args *a, const struct visible_writer *w, uint64_t smid)
{
	a->far_->written = w->m;
	a->far_->smid = smid;
}

/* ---- the reader: one thread ---- */

struct visible_seen { uint64_t stale, newer; };

/* The word that was stored last comes first. Literals: `loaded`, enum payload_load; `early`: a look at
 * the flag follows, and must not be made before these loads. */
HD struct visible_seen visible_compare(const struct visible_args *a, uint64_t m, const int loaded, const int early)
{
	struct visible_seen s = { 0, 0 };

#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
	for (uint64_t k = 0; k < a->words; k++) {
		uint64_t i = a->words - 1 - k;
		const uint8_t *at = a->payload + i * a->stride;
		uint64_t v = loaded == LOADED_PLAIN ? ld64_plain(at) : early ? ld64_poll(at) : ld64(at);

		s.stale += v >> 24 < m;
		s.newer += (v >> 24 >= m) & (v != payload_word(m, i));
	}
	return s;
}

HD uint64_t visible_look(const uint8_t *flag, const int acquire)
{
	if (acquire == ACQUIRE_LOAD)
		return ld64_acquire(flag);
	return acquire == ACQUIRE_FENCE_SYS ? ld64_poll(flag) : ld64(flag);
}

HD void visible_acquire(const int acquire)
{
	if (acquire == ACQUIRE_FENCE_GPU)
		hand_looked(SCOPE_GPU);
	if (acquire == ACQUIRE_FENCE_SYS)
		polled();
}

/* The flag, until it is m; DOORBELL_LOOKS looks at most. */
HD uint64_t visible_poll(const struct visible_args *a, uint64_t m, const int acquire)
{
	uint32_t looks = 0;
	uint64_t v;

	for (;;) {
		v = visible_look(a->flag, acquire);
		looks++;
		if ((v == m) | (looks == DOORBELL_LOOKS))
			return v;
		relax_cpu();
	}
}

/* Message m: 1, and what was read of it, or 0: it didn't come. *took: the ticks that reading took, of TIMED. */
HD int visible_take(const struct visible_args *a, uint64_t m, struct visible_seen *s, uint64_t *took, const int acquire,
		    const int loaded, const int form)
{
	struct patience late = { 0, 0 };
	uint64_t t0 = 0, v;

	for (;;) {
		if (form == FORM_VISIBLE_EARLY) {
			*s = visible_compare(a, m, loaded, 1);
			wait_ticks(EARLY_TICKS, a->gettime);
			v = visible_look(a->flag, acquire);
		} else {
			v = visible_poll(a, m, acquire);
		}
		if (LIKELY(v == m))
			break;
		if (patience_look(&late) > a->wait_ns)
			return 0;
	}
	if (form == FORM_VISIBLE_TIMED)
		t0 = ticks(a->gettime); /* the branch has waited for v */
	visible_acquire(acquire);
	if (form != FORM_VISIBLE_EARLY)
		*s = visible_compare(a, m, loaded, 0);
	if (form == FORM_VISIBLE_TIMED)
		*took = ticks_after(a->gettime, (uint32_t)(s->stale + s->newer)) - t0;
	return 1;
}

/* Until the clock is steady and the warm-up done, then the measured ones. All but `a` are literals. */
HD void visible_read(const struct visible_args *a, const int acquire, const int loaded, const int form)
{
	struct settling g = { clock_pair_read(a->gettime), 0, 0, 0, 0 };
	uint64_t m = 1, first = ~(uint64_t)0, end = ~(uint64_t)0, status = VISIBLE_OK;
	uint64_t violated = 0, at = 0, stale = 0, newer = 0;

	a->out->unsettled = 0;
	st64_release_sys(a->ack, 0); /* it runs: the first message may come */
	for (;; m++) {
		struct visible_seen s = { 0, 0 };
		uint64_t took = 0;

		if (end == ~(uint64_t)0 && !((m - 1) & 127) && m > a->warmup) {
			int calm = a->settle ? settled(&g, clock_pair_read(a->gettime)) : 1;

			if (calm) {
				a->out->unsettled = calm < 0;
				first = m;
				end = m + a->messages;
				a->pairs[0] = clock_pair_read(a->gettime);
			}
		}
		if (m == end)
			break;
		if (UNLIKELY(!visible_take(a, m, &s, &took, acquire, loaded, form))) {
			status = VISIBLE_TIMEOUT;
			break;
		}
		st64_release_sys(a->ack, m); /* the words have come: they were compared */
		if (end == ~(uint64_t)0)
			continue;
		if (form == FORM_VISIBLE_TIMED)
			a->samples[m - first] = took;
		at = !violated && s.stale ? m - first + 1 : at;
		violated += s.stale != 0;
		stale += s.stale;
		newer += s.newer;
	}
	a->pairs[1] = clock_pair_read(a->gettime);
	a->out->done = m - 1;
	a->out->violated = violated;
	a->out->first = at;
	a->out->stale = stale;
	a->out->newer = newer;
	a->out->status = status;
}

/* ---- on GPUs: visible_gpu.cu ---- */

/* The writer: a resident kernel. */
int visible_gpu_write(const struct visible_args *a, int fence, int warp, int device, double patience_s);
int visible_gpu_stop(int device, double patience_s);
/* The reader's kernel, before anything is resident; and run to its end. */
int visible_gpu_load(int acquire, int loaded, int form, int device);
int visible_gpu_read(const struct visible_args *a, int acquire, int loaded, int form, int device, double patience_s);

#endif
