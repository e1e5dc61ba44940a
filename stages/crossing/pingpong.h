/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare crossing, for both sides (HD): a flag stored where the path stores
 * its doorbell, answered by a flag where the path stores its CQE's last word,
 * with the same polling; with a payload before either flag where one is asked for, released with it and
 * acquired behind it. And, for rates, 64-byte lines handed over and back, with nothing done to them.
 */
#ifndef FS_PINGPONG_H
#define FS_PINGPONG_H

#include "stages/issuer/post.h"

enum { PP_LINE = 64, PP_AHEAD_MAX = 4096 };
enum pp_form { PP_FLAGS, PP_LINES, PP_AHEAD, PP_FORMS };

struct pingpong {
	uint8_t *there, *back;       /* flags, or rings of `entries` lines */
	uint64_t entries;
	uint64_t warmup, messages, wait_ns, seed;
	uint32_t depth, batch, settle, gap_ticks;
	int32_t gettime;
	uint64_t *samples;           /* [messages], ticks from store to noticed */
	struct clock_pair *pairs;    /* [2]: around the measured messages */
	struct pingpong_out *out;
	uint8_t *ahead_there, *ahead_back; /* payloads before the flags, of `ahead` bytes */
	uint32_t ahead;
};

struct pingpong_out {
	uint64_t status;             /* enum issue_status */
	uint64_t first, done;
	uint64_t unsettled;          /* 1: the clock's rate was still moving */
	uint64_t span_ticks, spans;  /* the responder's own time, from seen to stored */
	struct clock_pair begin, end; /* the responder's */
	uint64_t smid;
	uint64_t poll_ticks;         /* period of the issuer's poll loop */
	uint64_t wrong;              /* payloads whose last word was not their flag's */
};

/* Where answer v stands: the answers go round a ring and are the last words of
 * CQEs; the other way there is one line, as a doorbell is. The same poll loops. */
HD uint8_t *pp_back(const struct pingpong *p, uint64_t v)
{
	return p->back + (v & (p->entries - 1)) * PP_LINE + 56;
}

HD uint32_t pp_lap(const struct pingpong *p, uint64_t v)
{
	return (v & p->entries) != 0;
}

/* What goes before flag v, in words of 16 bytes. */
HD void pp_ahead(const struct pingpong *p, uint8_t *to, uint64_t v)
{
	for (uint32_t i = 0; i < p->ahead; i += 16)
		st64x2(to + i, v, v);
}

/* Behind an acquired flag: 0 if the last word is its payload's. */
HD uint32_t pp_behind(const struct pingpong *p, const uint8_t *at, uint64_t v)
{
	return ld64(at + p->ahead - 8) != v;
}

/* ---- the responder: one look; how many it answered. `ahead` is a literal, as below: 1 with payloads ---- */

struct responder { uint64_t seq, span, spans, wrong; struct clock_pair begin; };

HD uint32_t pp_answer_flag(const struct pingpong *p, struct responder *r, const int ahead)
{
	uint64_t v = poll_doorbell(p->there, r->seq), t;

	polled();
	t = ticks(p->gettime); /* the branch has waited for v */
	if (UNLIKELY(v == r->seq))
		return 0;
	if (ahead) { /* its own is the look at what came; payload and order are of the way */
		uint32_t bad = pp_behind(p, p->ahead_there, v);

		r->wrong += bad;
		r->span += ticks_after(p->gettime, bad) - t;
		pp_ahead(p, p->ahead_back, v);
		st64_release_sys(pp_back(p, v - 1), cqe_word7(WQE_WRITE, 0, v - 1, CQE_REQ, pp_lap(p, v - 1)));
	} else {
		st64(pp_back(p, v - 1), cqe_word7(WQE_WRITE, 0, v - 1, CQE_REQ, pp_lap(p, v - 1)));
		r->span += (ticks(p->gettime) - t);
	}
	r->spans++;
	r->seq = v;
	return 1;
}

HD void pp_store_line(uint8_t *line, uint64_t v)
{
	st64x2(line, v, v);
	st64x2(line + 16, v, v);
	st64x2(line + 32, v, v);
	st64(line + 48, v);
	st64_release_sys(line + 56, v);
}

HD uint32_t pp_answer_line(const struct pingpong *p, struct responder *r)
{
	uint64_t off = (r->seq & (p->entries - 1)) * PP_LINE;

	if (ld64_poll(p->there + off + 56) != r->seq + 1)
		return 0;
	polled();
	r->seq++;
	pp_store_line(p->back + off, r->seq);
	return 1;
}

/* ---- the issuer ---- */

struct pinger {
	uint64_t rnd;
	uint64_t v;                  /* flags answered */
	uint64_t end;                /* where the measured ones end; ~0 in the warm-up */
	uint64_t t0;                 /* of the flag under way: when it was stored */
	struct patience late;        /* and how long it is late */
	uint32_t polls;
	uint32_t dither_ticks;
	int sent;                    /* a flag is under way */
};

/*
 * Flags there and back until the next stop: every 128th in the warm-up, or the end.
 * 0: no answer in POLLS_PER_LOOK polls. As in the issuer's loop, nothing seldom is
 * in it.
 */
HD int pp_shuttle(const struct pingpong *p, struct pinger *st, uint64_t stop, const int ahead)
{
	struct pinger s = *st;
	int ok = 1;

	while (s.v < stop) {
		const uint8_t *at = pp_back(p, s.v);
		uint32_t lap = pp_lap(p, s.v);
		uint64_t w7, t1;

		if (LIKELY(!s.sent)) {
			wait_ticks(p->gap_ticks / 4 + random_below(&s.rnd, p->gap_ticks), p->gettime);
			if (ahead) {
				s.t0 = ticks(p->gettime);
				pp_ahead(p, p->ahead_there, s.v + 1);
				st64_release_sys(p->there, s.v + 1);
			} else {
				st64(p->there, s.v + 1);
				s.t0 = ticks(p->gettime);
			}
			s.sent = 1;
			s.polls = 0;
			if (s.dither_ticks)
				wait_ticks(random_below(&s.rnd, s.dither_ticks), p->gettime);
		}
		w7 = poll_cqe(at, lap, &s.polls);
		polled();
		t1 = ticks(p->gettime);
		if (UNLIKELY(!cqe_valid(w7, lap))) {
			ok = 0;
			break;
		}
		t1 -= s.t0;
		if (s.end != ~(uint64_t)0)
			p->samples[s.v - p->out->first] = t1;
		if (ahead)
			p->out->wrong += pp_behind(p, p->ahead_back, s.v + 1);
		s.sent = 0;
		s.v++;
	}
	*st = s;
	return ok;
}

/* Nothing has come for a while: is it too long? */
HD int pp_too_late(const struct pingpong *p, struct pinger *s)
{
	if (s->polls <= POLLS_PER_LOOK)
		s->late.looked = s->late.waited = 0;
	return patience_look(&s->late) > p->wait_ns;
}

/* As issuer_poll_ticks. */
HD uint32_t pp_poll_ticks(const struct pingpong *p, uint64_t v)
{
	return poll_period(pp_back(p, v), pp_lap(p, v), p->gettime);
}

/* Flags until the clock is steady and the warm-up done, then the measured ones. */
HD void pp_flags(const struct pingpong *p, const int ahead)
{
	struct settling g = { clock_pair_read(p->gettime), 0, 0, 0, 0 };
	struct pinger s = { p->seed | 1, 0, ~(uint64_t)0, 0, { 0, 0 }, 0, 0, 0 };

	p->out->status = ISSUE_OK;
	for (;;) {
		uint64_t stop = s.v + 128 < s.end ? s.v + 128 : s.end;

		if (s.end == ~(uint64_t)0) {
			int calm = p->settle ? settled(&g, clock_pair_read(p->gettime)) : 1;

			if (calm && s.v >= p->warmup) {
				p->out->unsettled = calm < 0;
				p->out->first = s.v;
				s.dither_ticks = pp_poll_ticks(p, s.v);
				s.end = s.v + p->messages;
				stop = s.v + 128 < s.end ? s.v + 128 : s.end;
				p->pairs[0] = clock_pair_read(p->gettime);
			}
		}
		if (s.v == s.end)
			break;
		while (s.v < stop)
			if (!pp_shuttle(p, &s, stop, ahead) && pp_too_late(p, &s)) {
				p->out->status = ISSUE_TIMEOUT;
				stop = s.end = s.v;
			}
	}
	p->pairs[1] = clock_pair_read(p->gettime);
	p->out->poll_ticks = s.dither_ticks;
	p->out->done = s.v;
}

HD void pp_lines(const struct pingpong *p)
{
	uint64_t posted = 0, done = 0, end = p->warmup + p->messages, mask = p->entries - 1;

	p->out->status = ISSUE_OK;
	p->out->first = p->warmup;
	while (done < end) {
		struct patience late = { 0, 0 };
		uint32_t polls = 0;

		while (posted < end && posted - done + p->batch <= p->depth)
			for (uint32_t i = 0; i < p->batch; i++, posted++)
				pp_store_line(p->there + (posted & mask) * PP_LINE, posted + 1);
		while (ld64_poll(p->back + (done & mask) * PP_LINE + 56) != done + 1) {
			if (!(++polls % POLLS_PER_LOOK) && patience_look(&late) > p->wait_ns) {
				p->out->status = ISSUE_TIMEOUT;
				p->out->done = done;
				return;
			}
			relax_cpu();
		}
		polled();
		if (done == p->warmup)
			p->pairs[0] = clock_pair_read(p->gettime);
		done++;
	}
	p->pairs[1] = clock_pair_read(p->gettime);
	p->out->done = done;
}

/* ---- on GPUs: pingpong_gpu.cu ---- */

struct pingpong_gpu;
int pingpong_gpu_respond(const struct pingpong *p, int form, int device, double patience_s, struct pingpong_gpu **run);
int pingpong_gpu_stop(struct pingpong_gpu *run, double patience_s);
int pingpong_gpu_issue(const struct pingpong *p, int form, int device, double patience_s);

#endif
