/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that post for contended messages: those of a rate (stages/handoff/rate_worker.h). One serves the rings of all
 * senders, whether each has its own or all share one; a responder's ring has one of its own, so that in either arm it waits for
 * nobody. The last ring, and the queue behind it, is the responder's.
 */
#include "harness/err.h"
#include "stages/completion/contended_parts.h"
#include <errno.h>
#include <string.h>

enum { PAGE = 4096 };

static int round_trips(const struct cont_conf *c) { return c->choice.trip == TRIP_ROUND; }

int cont_help_legal(const struct point *pt, const struct cont_conf *c, char *why, size_t len)
{
	uint32_t most = RINGS_MAX - 1 - (uint32_t)round_trips(c), size = (uint32_t)fs_num(pt, "size");
	int shared = c->queue == OTHERS_SHARED;

	if (fs_is(pt, "submitter", "gpu"))
		return 0;
	if (!fs_is(pt, "submitter", "proxy"))
		return fs_refuse(EINVAL, why, len, "submitter=host-doorbell and cpu beside others aren't built; legal: submitter=gpu, proxy");
	if (shared && fs_is(pt, "proxy", "tuned"))
		return fs_refuse(EINVAL, why, len, "proxy=tuned with others_queue=shared: such a ring has one producer; legal: proxy=baseline, or others_queue=private");
	if (!shared && c->others > most)
		return fs_refuse(EINVAL, why, len, "others=%u with submitter=proxy and others_queue=private: each has a ring%s, of which there are %d; legal: others=0..%u, or proxy=baseline with others_queue=shared",
				 c->others, round_trips(c) ? ", and so has the responder" : "", RINGS_MAX, most);
	if (fs_num(pt, "workers") != 1)
		return fs_refuse(EINVAL, why, len, "workers=%lld: one serves all senders' rings%s; legal: workers=1", (long long)fs_num(pt, "workers"),
				 round_trips(c) ? ", and one more the responder's" : "");
	if (round_trips(c) && (fs_is(pt, "payload", "inline") || (fs_is(pt, "payload", "auto") && size <= WQE_INLINE_MAX)))
		return fs_refuse(EINVAL, why, len, "size=%u inside the WQE with trip=round and submitter=proxy: a worker numbers such a payload by its ring, and a put is known by its trip; legal: payload=pointer",
				 size);
	return 0;
}

int cont_help_resolve(struct cont_conf *c, char *why, size_t len)
{
	const struct path_conf *path = &c->rate.path;
	uint64_t slots = c->rate.slots * path->stride * (c->rate.queues + 1ull);

	c->choice.mode = path_issuer_mode(path);
	c->choice.instr = c->rate.fault == FAULT_RING_OVERRUN ? HAND_FAULTY : HAND_BARE;
	if (c->rate.helpers && round_trips(c) && slots > 1ull << 32)
		return fs_refuse(EINVAL, why, len, "depth=%u, size=%u and others=%u with trip=round and submitter=proxy: a descriptor reaches 4096 MiB of payload slots, and these are %llu; legal: less of any",
				 path->depth, path->size, c->others, (unsigned long long)(slots >> 20));
	return 0;
}

int cont_help_init(struct cont_mem *m, const struct cont_conf *c)
{
	int rc;

	if (!c->rate.helpers)
		return 0;
	rc = place_alloc(&m->phase, PLACE_HOST, SHARE_LINE, PAGE, c->rate.path.pinned);
	return rc ? rc : place_set(&m->phase, 0);
}

void cont_help_fill(const struct cont_mem *m, const struct cont_conf *c, const struct cont_trip_args *h, struct cont_hands *x)
{
	struct hand_args *put = &x->way[RTT_PUT], *reply = &x->way[RTT_REPLY];

	memset(x, 0, sizeof(*x));
	if (!c->rate.helpers)
		return;
	rate_hand_fill(&m->rate, &c->rate, put);
	put->r = h->a.q;
	*reply = *put;
	reply->r = h->r.way[RTT_REPLY];
	reply->ring += c->queues * reply->ring_step;
	reply->credit += c->queues * reply->credit_step;
	if (c->reply == REPLY_SIGNAL)
		reply->kind = POST_INLINE;
	x->phase = (uint64_t *)m->phase.p;
	x->fault_at = c->warmup + c->messages / 2;
	x->put_off = (uint32_t)(h->r.way[RTT_PUT].local - h->a.q.local);
}

/* Worker w: what a worker of all rings would have, less those that aren't its own. */
static void worker_fill(const struct cont_mem *m, const struct cont_conf *c, uint32_t w, struct worker_args *a)
{
	struct rate_conf all = c->rate;

	all.helpers = 1;
	rate_worker_fill(&m->rate, &all, 0, a);
	a->phase = (const uint64_t *)m->phase.p;
	a->fault_at = c->warmup + c->messages / 2;
	a->rings = w ? 1 : c->queues;
	if (!w)
		return;
	a->ring[0] = a->ring[c->queues];
	a->ring[0].number = RTT_REPLY; /* of payloads inside WQEs */
	a->rkey = RATE_RKEY;           /* fault=key is of what is sent */
	a->fault = WKF_NONE;
}

int cont_help_start(const struct cont_mem *m, const struct cont_conf *c, struct rate_help **h)
{
	struct worker_args a;
	int rc = 0;

	*h = NULL;
	for (uint32_t w = 0; !rc && w < c->rate.helpers; w++) {
		worker_fill(m, c, w, &a);
		rc = rate_help_add(h, &a, c->rate.helper_cpu[w]);
	}
	return rc;
}

int cont_help_stop(const struct cont_conf *c, struct rate_help *h, struct cont_got *g)
{
	int rc = rate_help_stop(h, &g->help);

	g->help.st[1].ring = c->queues;
	return rc;
}

const char *cont_help_words(const struct cont_conf *c, const struct cont_got *g, char *buf, size_t len)
{
	static const char *const ended[] = { "", ", whose thread had ended," };
	const struct worker_status *put = &g->help.st[0], *reply = &g->help.st[1];
	size_t at;

	buf[0] = '\0';
	if (!c->rate.helpers)
		return buf;
	at = (size_t)snprintf(buf, len, "; the senders' worker%s rang for %llu messages (%llu done)", ended[put->end == WORKER_DIED],
			      (unsigned long long)put->taken, (unsigned long long)put->done);
	if (c->rate.helpers > 1 && at < len)
		snprintf(buf + at, len - at, ", the responder's for %llu (%llu done)", (unsigned long long)reply->taken,
			 (unsigned long long)reply->done);
	return buf;
}

double cont_help_busy(const struct cont_conf *c, const struct cont_got *g)
{
	double most = 0;

	for (uint32_t i = 0; i < c->rate.helpers; i++) {
		const struct worker_status *w = &g->help.st[i];
		double busy = w->ticks ? (double)w->busy / (double)w->ticks : 0;

		most = busy > most ? busy : most;
	}
	return most;
}

/* As a rate with as many messages as were done meanwhile: nobody knew before how many the others would have. */
int cont_help_rows(const struct cont_conf *c, struct cont_got *g, struct rows *out)
{
	struct rate_conf r = c->rate;

	r.messages = 0;
	for (uint32_t i = 0; i < r.helpers; i++)
		r.messages += g->help.st[i].measured;
	if (r.helpers && !r.messages)
		return fs_fail(ERANGE, "the workers saw no message done while the measured ones lasted; legal: more messages");
	rate_help_take(&r, &g->help);
	return rate_help_rows(&r, &g->help, 1, out);
}
