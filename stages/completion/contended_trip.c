/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What round trips beside others have that one message hasn't: the responder, its queue, payload slots of
 * the trips. Queues 0.. are the senders', the last one is the responder's, and behind its payload slots
 * are the puts'. All of it lies where the timed agent's do.
 */
#include "harness/err.h"
#include "stages/completion/contended_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, BATCH = 16 };

static int round_trips(const struct cont_conf *c) { return c->choice.trip == TRIP_ROUND; }

int cont_trip_init(struct cont_mem *m, const struct cont_conf *c)
{
	int near_ = c->choice.device >= 0 ? c->choice.device : PLACE_HOST, pinned = c->rate.path.pinned, rc;
	uint64_t unknown = ~(uint64_t)0;

	if (!round_trips(c))
		return 0;
	if ((rc = place_alloc(&m->trip.words, near_, RTT_WORDS, PAGE, pinned)) ||
	    (rc = place_alloc(&m->trip.out, near_, RTT_WAYS * sizeof(struct rtt_out), PAGE, pinned)) ||
	    (rc = place_alloc(&m->trip.spans, near_, c->messages * 8, PAGE, pinned)) ||
	    (rc = place_alloc(&m->trip.mine, near_, c->rate.slots * 8, PAGE, pinned)))
		return rc;
	if ((rc = place_set(&m->trip.words, 0)) || (rc = place_set(&m->trip.out, 0)) || (rc = place_set(&m->trip.mine, 0xff)))
		return rc;
	return place_write(&m->trip.words, RTT_FIRST, &unknown, sizeof(unknown));
}

void cont_trip_term(struct cont_mem *m)
{
	place_free(&m->trip.words);
	place_free(&m->trip.out);
	place_free(&m->trip.spans);
	place_free(&m->trip.mine);
}

void cont_trip_fill(const struct cont_mem *m, const struct cont_conf *c, struct cont_trip_args *h)
{
	struct rate_args *put = &h->r.way[RTT_PUT], *reply = &h->r.way[RTT_REPLY];
	uint64_t last = c->queues;

	memset(&h->r, 0, sizeof(h->r));
	h->mine = (uint64_t *)m->trip.mine.p;
	if (!round_trips(c))
		return;
	h->a.q.failed = (uint64_t *)(m->trip.words.p + RTT_FAILED); /* one word for all of them */
	*put = *reply = h->a.q;
	put->local += (last + 1) * put->slots_step;
	put->remote += (last + 1) * put->slots_step;
	reply->wq += last * reply->wq_step;
	reply->dbrec += last * reply->dbrec_step;
	reply->db += last * reply->db_step;
	reply->cq += last * reply->cq_step;
	reply->share += last * SHARE_BYTES;
	reply->local += last * reply->slots_step;
	reply->remote += last * reply->slots_step;
	reply->qpn += (uint32_t)last - RTT_REPLY; /* rtt_begin() adds the way's number */
	reply->rkey = RATE_RKEY;                  /* fault=key is of what is sent */
	if (c->reply == REPLY_SIGNAL)
		reply->len = 8;
	h->r.messages = c->messages;
	h->r.warmup = c->warmup;
	h->r.silent_from = c->silent ? c->warmup + c->messages / 2 : ~(uint64_t)0;
	h->r.settle = h->a.settle;
	h->r.gap_ticks = h->a.gap_ticks;
	h->r.reply = (uint32_t)c->reply;
	h->r.spans = (uint64_t *)m->trip.spans.p;
	h->r.words = m->trip.words.p;
	h->r.out = (struct rtt_out *)m->trip.out.p;
}

static int is_mine(const uint64_t *mine, uint64_t slots, uint64_t i)
{
	for (uint64_t k = 0; k < slots; k++)
		if (mine[k] == i)
			return 1;
	return 0;
}

int64_t cont_trip_wrong(const struct cont_mem *m, const struct cont_conf *c, const uint64_t *posted)
{
	uint64_t slots = c->rate.slots, *mine = malloc(slots * sizeof(*mine)), mask = slots - 1;
	int rc = 0, fetched = c->choice.kind == POST_WRITE;
	uint8_t *copy = malloc(m->rate.dst.bytes);
	struct coop alone = { 0, 1 };
	int64_t bad = 0;

	if (!mine || !copy)
		rc = fs_fail(ENOMEM, "no memory to check payloads");
	if (!rc && !(rc = place_read(&m->trip.mine, 0, mine, slots * sizeof(*mine))))
		rc = place_read(&m->rate.dst, 0, copy, m->rate.dst.bytes);
	for (uint32_t q = 0; !rc && q < c->queues; q++)
		for (uint64_t i = posted[q] > slots ? posted[q] - slots : 0; i < posted[q]; i++)
			if (q || !is_mine(mine, slots, i))
				bad += (int64_t)job_check(copy + q * m->rate.slots_step + (i & mask) * c->rate.path.stride, c->rate.path.size,
							  rate_number(q, fetched ? i & mask : i), alone);
	free(mine);
	free(copy);
	return rc ? rc : bad;
}

int cont_trip_failed(const struct cont_conf *c, const struct cont_got *g)
{
	const struct rtt_out *put = &g->trip[RTT_PUT], *reply = &g->trip[RTT_REPLY];
	double wait_s = CONT_WAIT_NS / 1e9;
	char words[256], workers[192];

	if (!round_trips(c) || g->own.overdue)
		return 0;
	if (reply->status == RATE_CQE_ERROR)
		return fs_fail(EREMOTEIO, "reply %llu: CQE with syndrome 0x%02llx, vendor 0x%02llx%s", (unsigned long long)reply->at,
			       (unsigned long long)reply->syndrome, (unsigned long long)reply->vendor,
			       path_order_words(&c->rate.path, words, sizeof(words)));
	if (reply->status == RATE_TIMEOUT && reply->wait == RTT_AT_CQE)
		return fs_fail(ETIMEDOUT, "reply %llu: no completion in %.0f s%s", (unsigned long long)reply->at, wait_s,
			       cont_help_words(c, g, workers, sizeof(workers)));
	if (reply->status == RATE_TIMEOUT)
		return fs_fail(ETIMEDOUT, "message %llu: the responder saw none, and nobody said that there is none", (unsigned long long)reply->at);
	if (put->status == RATE_TIMEOUT && put->wait == RTT_AT_READY)
		return fs_fail(ETIMEDOUT, "message %llu: the responder was not ready for it in %.0f s", (unsigned long long)put->at, wait_s);
	if (put->status == RATE_TIMEOUT && put->wait == RTT_AT_PAYLOAD)
		return fs_fail(ETIMEDOUT, "message %llu: no reply in %.0f s; %s%s; the responder has seen %llu puts and %s %llu replies",
			       (unsigned long long)put->at, wait_s,
			       put->sent_done ? "its put is completed" : "the NIC has not completed its put",
			       cont_help_words(c, g, workers, sizeof(workers)), (unsigned long long)reply->seen,
			       c->rate.helpers ? "handed over" : "rung for", (unsigned long long)reply->sent);
	return 0;
}

int cont_trip_verdict(const struct cont_conf *c, const struct cont_got *g)
{
	int safe = strcmp(c->rate.path.order_class, "unsafe");

	if (!round_trips(c))
		return 0;
	if (g->trip[RTT_REPLY].status != RATE_OK)
		return fs_fail(EPROTO, "the responder ended without a status");
	if (g->trip[RTT_REPLY].sent != g->out[0].messages)
		return fs_fail(EPROTO, "%llu puts were posted, and %llu replies", (unsigned long long)g->out[0].messages,
			       (unsigned long long)g->trip[RTT_REPLY].sent);
	for (int w = 0; w < RTT_WAYS; w++)
		if (g->trip[w].wrong_words && safe)
			return fs_fail(EBADMSG, "%llu wrong payload words behind the last one, first in %s %llu, in a point whose order is %s",
				       (unsigned long long)g->trip[w].wrong_words, w == RTT_PUT ? "reply" : "put",
				       (unsigned long long)g->trip[w].wrong_message, c->rate.path.order_class);
	return 0;
}

static int series_row(const struct cont_conf *c, const char *metric, const double *ns, int emulated, struct rows *out)
{
	struct row *r = path_row(out, &c->rate.path, "-", metric, "ns");

	if (!r)
		return -ENOMEM;
	path_origin(r, &c->rate.path, emulated);
	return summary_of(ns, c->messages, BATCH, &r->s);
}

int cont_trip_rows(const struct cont_mem *m, const struct cont_conf *c, const struct cont_got *g, const double *ns, struct rows *out)
{
	const struct rtt_out *o = &g->trip[RTT_REPLY];
	double rate = (double)(o->end.wall - o->begin.wall) / (double)(o->end.ticks - o->begin.ticks);
	uint64_t n = c->messages, first = g->trip[RTT_PUT].first, *x;
	double *span, *ways;
	struct row *r;
	int rc;

	if (o->end.ticks <= o->begin.ticks || o->end.wall <= o->begin.wall)
		return fs_fail(ERANGE, "the messages took no time by the responder's clock; legal: more messages");
	x = malloc(n * sizeof(*x));
	span = malloc(2 * n * sizeof(*span));
	if (!x || !span)
		rc = fs_fail(ENOMEM, "no memory for samples");
	else
		rc = place_read(&m->trip.spans, 0, x, n * sizeof(*x));
	ways = span + n;
	for (uint64_t i = 0; !rc && i < n; i++) {
		span[i] = (double)x[(first + i) % n] * rate;
		ways[i] = ns[i] - span[i];
	}
	if (!rc && !(rc = series_row(c, "responder", span, 0, out)))
		rc = series_row(c, "both_ways", ways, 1, out);
	free(x);
	free(span);
	if (rc)
		return rc;
	if (!(r = path_row(out, &c->rate.path, "-", "wrong_words", "count")))
		return -ENOMEM;
	summary_one(&r->s, (double)(g->trip[RTT_PUT].wrong_words + g->trip[RTT_REPLY].wrong_words));
	return 0;
}
