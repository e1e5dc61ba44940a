/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of a round trip: one on either side, each with its agent's ring and queue and no more to
 * do than one message at a time. They are those of a rate (stages/handoff/rate_worker.h).
 */
#include "stages/completion/rtt_parts.h"

void rtt_hand_fill(const struct rtt_mem *m, const struct rtt_conf *c, struct rtt_hand_args *h)
{
	for (int w = 0; c->rate.helpers && w < RTT_WAYS; w++) {
		rate_hand_fill(&m->way[w], &c->way[w], &h->way[w]);
		h->way[w].r = h->r.way[w];
		if (w != c->bad_way)
			h->way[w].fault_at = ~(uint64_t)0;
	}
}

static void worker_fill(const struct rtt_mem *m, const struct rtt_conf *c, const struct rtt_args *a, int w, struct worker_args *x)
{
	rate_worker_fill(&m->way[w], &c->way[w], 0, x);
	/* of two queues and rings the w-th */
	x->ring[0].number = (uint32_t)w;
	x->ring[0].q.qpn += (uint32_t)w;
	x->lkey = a->way[w].lkey;
	x->rkey = a->way[w].rkey;
	if (w != c->bad_way)
		x->fault = WKF_NONE;
}

int rtt_help_start(const struct rtt_mem *m, const struct rtt_conf *c, const struct rtt_args *a, struct rate_help **h)
{
	struct worker_args x;
	int rc = 0;

	*h = NULL;
	for (int w = 0; !rc && w < (int)c->rate.helpers; w++) {
		worker_fill(m, c, a, w, &x);
		rc = rate_help_add(h, &x, c->rate.helper_cpu[w]);
	}
	return rc;
}

/* Shorter than those of a rate: there are two, and a row's reason has to hold what the agents say too. */
const char *rtt_help_words(const struct rtt_conf *c, const struct rate_helped *got, char *buf, size_t len)
{
	const struct worker_status *put = &got->st[RTT_PUT], *reply = &got->st[RTT_REPLY];

	buf[0] = '\0';
	if (c->rate.helpers)
		snprintf(buf, len, "%s%s; workers rang for %llu puts and %llu replies (%llu and %llu done)",
			 put->end == WORKER_DIED ? "; the issuer's worker had ended" : "",
			 reply->end == WORKER_DIED ? "; the responder's worker had ended" : "", (unsigned long long)put->taken,
			 (unsigned long long)reply->taken, (unsigned long long)put->done, (unsigned long long)reply->done);
	return buf;
}

/* As a rate with as many messages as both workers had measured ones. */
static struct rate_conf both(const struct rtt_conf *c)
{
	struct rate_conf r = c->rate;

	r.messages = RTT_WAYS * c->messages;
	return r;
}

void rtt_help_take(const struct rtt_conf *c, struct rate_helped *got)
{
	struct rate_conf r = both(c);

	rate_help_take(&r, got);
}

int rtt_help_rows(const struct rtt_conf *c, struct rate_helped *got, struct rows *out)
{
	struct rate_conf r = both(c);

	return rate_help_rows(&r, got, 1, out);
}
