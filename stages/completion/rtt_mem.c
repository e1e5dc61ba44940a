/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a round trip: for each way a queue of the sender's and the payloads of
 * both ends, and one table of keys for the NIC that carries both.
 */
#include "harness/err.h"
#include "stages/completion/rtt_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, KEYS = 1 + 2 * RTT_WAYS };

static uint32_t way_key(int way, int remote) { return (uint32_t)(1 + 2 * way + remote) << 8 | (uint32_t)(0x5a + way); }

/* Two keys a way: what its sender reads from, and where it writes to. */
static int keys_init(struct rtt_mem *m, const struct rtt_conf *c)
{
	uint32_t shift = c->rate.path.page_shift, first = 0;
	uint8_t *tmp;
	int rc;

	for (int w = 0; w < RTT_WAYS; w++)
		m->nptes += (uint32_t)((m->way[w].src.bytes >> shift) + (m->way[w].dst.bytes >> shift));
	m->ptes_off = (KEYS * sizeof(struct mkey) + 63) / 64 * 64;
	rc = place_alloc(&m->keys, c->rate.path.place[OBJ_KEYS], m->ptes_off + m->nptes * 8ull, PAGE, c->rate.path.pinned);
	if (rc)
		return rc;
	if (!(tmp = calloc(1, m->keys.bytes)))
		return fs_fail(ENOMEM, "no memory for key tables");
	for (int w = 0; w < RTT_WAYS; w++)
		for (int remote = 0; remote < 2; remote++) {
			const struct buf *b = remote ? &m->way[w].dst : &m->way[w].src;

			rate_key_fill((struct mkey *)tmp, (uint64_t *)(tmp + m->ptes_off), way_key(w, remote),
				      remote ? MKEY_REMOTE_WRITE : MKEY_LOCAL_READ, b, shift, first);
			first += (uint32_t)(b->bytes >> shift);
		}
	rc = place_write(&m->keys, 0, tmp, m->keys.bytes);
	free(tmp);
	return rc;
}

int rtt_mem_init(struct rtt_mem *m, const struct rtt_conf *c)
{
	int near_ = c->choice.issuer >= 0 ? c->choice.issuer : PLACE_HOST, far_ = c->choice.responder >= 0 ? c->choice.responder : PLACE_HOST;
	int pinned = c->rate.path.pinned, rc;
	uint64_t unknown = ~(uint64_t)0;

	for (int w = 0; w < RTT_WAYS; w++)
		if ((rc = rate_mem_alloc(&m->way[w], &c->way[w])))
			return rc;
	if ((rc = keys_init(m, c)) || (rc = place_alloc(&m->samples, near_, c->messages * 8, PAGE, pinned)) ||
	    (rc = place_alloc(&m->submits, near_, c->messages * 8, PAGE, pinned)) ||
	    (rc = place_alloc(&m->spans, far_, c->messages * 8, PAGE, pinned)) ||
	    (rc = place_alloc(&m->words, PLACE_HOST, RTT_WORDS, PAGE, pinned)) ||
	    (rc = place_alloc(&m->out, PLACE_HOST, RTT_WAYS * sizeof(struct rtt_out), 64, pinned)))
		return rc;
	for (int w = 0; w < RTT_WAYS; w++)
		if ((rc = rate_mem_reset(&m->way[w], &c->way[w])))
			return rc;
	return place_write(&m->words, RTT_FIRST, &unknown, sizeof(unknown));
}

void rtt_mem_term(struct rtt_mem *m)
{
	struct buf *all[] = { &m->keys, &m->samples, &m->submits, &m->spans, &m->words, &m->out };

	for (int w = 0; w < RTT_WAYS; w++)
		rate_mem_term(&m->way[w]);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		place_free(all[i]);
}

void rtt_args_fill(const struct rtt_mem *m, const struct rtt_conf *c, struct rtt_args *a)
{
	memset(a, 0, sizeof(*a));
	for (int w = 0; w < RTT_WAYS; w++) {
		struct rate_args *q = &a->way[w];

		rate_args_fill(&m->way[w], &c->way[w], q);
		q->lkey = way_key(w, 0);
		q->rkey = way_key(w, 1);
		if (c->way[w].fault == FAULT_KEY && w == c->bad_way)
			q->rkey ^= 1;
		q->failed = (uint64_t *)(m->words.p + RTT_FAILED);
	}
	a->messages = c->messages;
	a->warmup = c->warmup;
	a->silent_from = c->silent ? c->warmup + c->messages / 2 : ~(uint64_t)0;
	a->settle = (uint32_t)c->rate.path.pinned;
	a->gap_ticks = path_gap_ticks(&c->rate.path);
	a->reply = (uint32_t)c->reply;
	a->delay_ns[0] = (int32_t)c->respond_ns;
	a->delay_ns[1] = (int32_t)c->untold_ns;
	a->samples = (uint64_t *)m->samples.p;
	a->submits = (uint64_t *)m->submits.p;
	a->spans = (uint64_t *)m->spans.p;
	a->words = m->words.p;
	a->out = (struct rtt_out *)m->out.p;
}

/* What lies between a way's two ends, whatever else is there: what the NIC may touch. */
static struct window way_window(const struct rate_mem *m)
{
	const struct buf *low = m->src.p < m->dst.p ? &m->src : &m->dst, *high = low == &m->src ? &m->dst : &m->src;
	struct window w = { (uint64_t)low->p, (uint64_t)(high->p + high->bytes) - (uint64_t)low->p };

	return w;
}

/* From one queue's to the other's, in memory that was allocated for each: it may be backwards. */
static uint64_t step(const uint8_t *from, const uint8_t *to) { return (uint64_t)to - (uint64_t)from; }

void rtt_wide_fill(const struct rtt_mem *m, const struct rtt_conf *c, struct wide *w)
{
	const struct rate_mem *put = &m->way[RTT_PUT], *reply = &m->way[RTT_REPLY];
	struct tables *t = &w->first.tab;

	rate_wide_fill(put, &c->way[RTT_PUT], w);
	t->keys = (const struct mkey *)m->keys.p;
	t->nkeys = KEYS;
	t->ptes = (const uint64_t *)(m->keys.p + m->ptes_off);
	t->nptes = m->nptes;
	for (int i = 0; i < RTT_WAYS; i++)
		t->win[i] = way_window(&m->way[i]);
	w->wq_step = w->dbrec_step = step(put->queue.p, reply->queue.p);
	w->db_step = step(put->db.p, reply->db.p);
	w->cq_step = step(put->cq.p, reply->cq.p);
	w->queues = RTT_WAYS;
}
