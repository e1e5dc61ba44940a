/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare crossing, for both sides (HD): a flag stored where the path stores
 * its doorbell, answered by a flag where the path stores its CQE's last word,
 * with the same polling. And, for rates, 64-byte lines handed over and back,
 * with nothing done to them.
 */
#ifndef FS_PINGPONG_H
#define FS_PINGPONG_H

#include "stages/issuer/post.h"

enum { PP_LINE = 64 };

struct pingpong {
	uint8_t *there, *back;       /* flags, or rings of `entries` lines */
	uint64_t entries;
	uint64_t warmup, messages, wait_ns, seed;
	uint32_t depth, batch, settle, gap_ticks;
	int32_t gettime;
	uint64_t *samples;           /* [messages], ticks from store to noticed */
	struct clock_pair *pairs;    /* [2]: around the measured messages */
	struct pingpong_out *out;
};

struct pingpong_out {
	uint64_t status;             /* enum issue_status */
	uint64_t first, done;
	uint64_t unsettled;          /* 1: the clock's rate was still moving */
	uint64_t span_ticks, spans;  /* the responder's own time, from seen to stored */
	struct clock_pair begin, end; /* the responder's */
	uint64_t smid;
};

/* Where answer v stands: the answers go round a ring, as CQEs do; the other way
 * there is one line, as a doorbell is. */
HD uint8_t *pp_back(const struct pingpong *p, uint64_t v)
{
	return p->back + (v & (p->entries - 1)) * PP_LINE + 56;
}

/* ---- the responder: one look; how many it answered ---- */

struct responder { uint64_t seq, span, spans; struct clock_pair begin; };

HD uint32_t pp_answer_flag(const struct pingpong *p, struct responder *r)
{
	uint64_t v = ld64_poll(p->there);
	uint64_t t;

	if (v == r->seq)
		return 0;
	polled();
	t = ticks(p->gettime); /* the branch has waited for v */
	st64(pp_back(p, v), v);
	r->span += (ticks(p->gettime) - t);
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

struct pinger { uint64_t rnd, polls, poll_ticks; uint32_t dither_ticks; };

/* One flag there and back; ticks, or 0 when no answer came. */
HD uint64_t pp_flag(const struct pingpong *p, struct pinger *s, uint64_t v)
{
	struct waiting wait = { 0, 0 };
	const uint8_t *at = pp_back(p, v);
	uint64_t t0, t1;

	wait_ticks(p->gap_ticks / 4 + random_below(&s->rnd, p->gap_ticks), p->gettime);
	st64(p->there, v);
	t0 = ticks(p->gettime);
	if (s->dither_ticks)
		wait_ticks(random_below(&s->rnd, s->dither_ticks), p->gettime);
	while (ld64_poll(at) != v) {
		if (wait_over(&wait, p->wait_ns))
			return 0;
		relax_cpu();
	}
	polled();
	t1 = ticks(p->gettime);
	s->polls += wait.polls + 1;
	t1 -= t0;
	s->poll_ticks += t1;
	return t1;
}

/* Flags until the clock is steady and the warm-up done, then the measured ones. */
HD void pp_flags(const struct pingpong *p)
{
	struct settling g = { clock_pair_read(p->gettime), 0, 0, 0, 0 };
	struct pinger s = { p->seed | 1, 0, 0, 0 };
	uint64_t v = 0, t, end = ~(uint64_t)0;

	p->out->status = ISSUE_OK;
	for (;;) {
		if (end == ~(uint64_t)0 && v % 128 == 0 && v >= p->warmup) {
			int calm = p->settle ? settled(&g, clock_pair_read(p->gettime)) : 1;

			if (calm) {
				if (s.polls)
					s.dither_ticks = (uint32_t)((float)s.poll_ticks / (float)s.polls);
				p->out->unsettled = calm < 0;
				p->out->first = v;
				end = v + p->messages;
				p->pairs[0] = clock_pair_read(p->gettime);
			}
		}
		if (v == end)
			break;
		t = pp_flag(p, &s, v + 1);
		if (!t) {
			p->out->status = ISSUE_TIMEOUT;
			break;
		}
		if (end != ~(uint64_t)0)
			p->samples[v - p->out->first] = t;
		v++;
	}
	p->pairs[1] = clock_pair_read(p->gettime);
	p->out->done = v;
}

HD void pp_lines(const struct pingpong *p)
{
	uint64_t posted = 0, done = 0, end = p->warmup + p->messages, mask = p->entries - 1;

	p->out->status = ISSUE_OK;
	p->out->first = p->warmup;
	while (done < end) {
		struct waiting wait = { 0, 0 };

		while (posted < end && posted - done + p->batch <= p->depth)
			for (uint32_t i = 0; i < p->batch; i++, posted++)
				pp_store_line(p->there + (posted & mask) * PP_LINE, posted + 1);
		while (ld64_poll(p->back + (done & mask) * PP_LINE + 56) != done + 1) {
			if (wait_over(&wait, p->wait_ns)) {
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
int pingpong_gpu_respond(const struct pingpong *p, int rate, int device, double patience_s, struct pingpong_gpu **run);
int pingpong_gpu_stop(struct pingpong_gpu *run, double patience_s);
int pingpong_gpu_issue(const struct pingpong *p, int rate, int device, double patience_s);

#endif
