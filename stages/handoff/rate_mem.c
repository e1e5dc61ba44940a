/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a rate's queues, and what has to stand in it when a pass is over. */
#include "harness/err.h"
#include "stages/handoff/rate_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, PAGE = 4096 };

static uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

void rate_key_fill(struct mkey *keys, uint64_t *ptes, uint32_t key, uint32_t rights, const struct buf *b, uint32_t shift, uint32_t first)
{
	uint64_t pages = b->bytes >> shift;
	struct mkey *k = keys + (key >> 8);

	k->id = pair32(key, MKEY_VALID | rights | shift << MKEY_SHIFT_BIT);
	k->start = (uint64_t)b->p;
	k->len = pages << shift;
	k->pages = pair32(first, (uint32_t)pages);
	for (uint64_t j = 0; j < pages; j++)
		ptes[first + j] = ((uint64_t)b->p + (j << shift)) | PTE_PRESENT;
}

/* One key for each side's slots, all queues'. */
static int keys_init(struct rate_mem *m, const struct rate_conf *c)
{
	uint32_t shift = c->path.page_shift, pages = (uint32_t)(m->src.bytes >> shift);
	struct mkey *k;
	uint64_t *pte;
	uint8_t *tmp;
	int rc;

	m->nptes = 2 * pages;
	m->ptes_off = round_up(RATE_KEYS * sizeof(struct mkey), LINE);
	rc = place_alloc(&m->keys, c->path.place[OBJ_KEYS], m->ptes_off + m->nptes * 8ull, PAGE, c->path.pinned);
	if (rc)
		return rc;
	tmp = calloc(1, m->keys.bytes);
	if (!tmp)
		return fs_fail(ENOMEM, "no memory for key tables");
	k = (struct mkey *)tmp;
	pte = (uint64_t *)(tmp + m->ptes_off);
	rate_key_fill(k, pte, RATE_LKEY, MKEY_LOCAL_READ, &m->src, shift, 0);
	rate_key_fill(k, pte, RATE_RKEY, MKEY_REMOTE_WRITE, &m->dst, shift, pages);
	rc = place_write(&m->keys, 0, tmp, m->keys.bytes);
	free(tmp);
	return rc;
}

/* A source slot holds its own number; a message that is inside its WQE has its own. */
static uint64_t slot_number(uint32_t queue, uint64_t slot) { return rate_number(queue, slot); }

static int fill_sources(struct rate_mem *m, const struct rate_conf *c)
{
	struct coop alone = { 0, 1 };
	uint8_t *tmp;
	int rc;

	if (c->path.choice.kind != POST_WRITE)
		return 0;
	tmp = calloc(1, m->src.bytes);
	if (!tmp)
		return fs_fail(ENOMEM, "no memory for payloads");
	for (uint32_t q = 0; q < c->queues; q++)
		for (uint64_t s = 0; s < c->slots; s++)
			job_fill(tmp + q * m->slots_step + s * c->path.stride, c->path.size, slot_number(q, s), alone);
	rc = place_write(&m->src, 0, tmp, m->src.bytes);
	free(tmp);
	return rc;
}

/* Rings of descriptors and their credit: in host memory, where workers reach them. */
static int hand_alloc(struct rate_mem *m, const struct rate_conf *c)
{
	int rc;

	if (!c->helpers)
		return 0;
	/* an end hands over by itself, but a worker counts what is done in the same words */
	m->hand_step = round_up((size_t)HAND_SLOT << c->path.log_n, PAGE) + LINE;
	rc = place_alloc(&m->hand, PLACE_HOST, m->hand_step * c->queues, PAGE, c->path.pinned);
	return rc ? rc : place_alloc(&m->credit, PLACE_HOST, (size_t)SHARE_LINE * c->queues, PAGE, c->path.pinned);
}

int rate_mem_alloc(struct rate_mem *m, const struct rate_conf *c)
{
	uint64_t page = 1ull << c->path.page_shift, n = 1ull << c->path.log_n, bytes;
	int issuer = c->path.issuer_gpu >= 0 ? c->path.issuer_gpu : PLACE_HOST, pinned = c->path.pinned, rc;
	const int *place = c->path.place;

	memset(m, 0, sizeof(*m));
	m->record_off = n * WQEBB;
	/* a line more than whole pages: the queues' first lines don't lie in one set of a cache */
	m->queue_step = round_up(m->record_off + LINE, PAGE) + LINE;
	m->db_step = DB_STRIDE;
	m->cq_step = round_up((CQE_SIZE << c->log_ncqe), PAGE) + LINE;
	m->slots_step = c->slots * c->path.stride;
	bytes = round_up(m->slots_step * c->queues, page);
	if ((rc = place_alloc(&m->queue, place[OBJ_QUEUE], m->queue_step * c->queues, PAGE, pinned)) ||
	    (rc = place_alloc(&m->db, place[OBJ_DB], m->db_step * c->queues, PAGE, pinned)) ||
	    (rc = place_alloc(&m->cq, place[OBJ_CQ], m->cq_step * c->queues, PAGE, pinned)) ||
	    (rc = place_alloc(&m->src, place[OBJ_SRC], bytes, page, pinned)) ||
	    (rc = place_alloc(&m->dst, place[OBJ_DST], bytes, page, pinned)) ||
	    (rc = place_alloc(&m->share, issuer, (size_t)SHARE_BYTES * c->queues, PAGE, pinned)) ||
	    (rc = place_alloc(&m->words, issuer, 2 * SHARE_LINE, PAGE, pinned)) ||
	    (rc = place_alloc(&m->out, issuer, c->agents * sizeof(struct rate_out), PAGE, pinned)) ||
	    (rc = hand_alloc(m, c)) || (rc = rate_ends_init(m, c)))
		return rc;
	return fill_sources(m, c);
}

int rate_mem_init(struct rate_mem *m, const struct rate_conf *c)
{
	int rc = rate_mem_alloc(m, c);

	return rc ? rc : keys_init(m, c);
}

void rate_mem_term(struct rate_mem *m)
{
	struct buf *all[] = { &m->queue, &m->db, &m->cq, &m->src, &m->dst, &m->keys, &m->share, &m->words, &m->out, &m->hand, &m->credit };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		place_free(all[i]);
	rate_ends_term(m);
}

int rate_mem_reset(struct rate_mem *m, const struct rate_conf *c)
{
	int rc;

	/* zero: no WQE was ever written, no doorbell rung; 0xff: every CQE invalid, no payload */
	if ((rc = place_set(&m->queue, 0)) || (rc = place_set(&m->db, 0)) || (rc = place_set(&m->cq, 0xff)) ||
	    (rc = place_set(&m->dst, 0xff)) || (rc = place_set(&m->share, 0)) || (rc = place_set(&m->words, 0)))
		return rc;
	/* nothing handed over, nothing done */
	if (c->helpers && ((rc = place_set(&m->hand, 0)) || (rc = place_set(&m->credit, 0))))
		return rc;
	return place_set(&m->out, 0);
}

void rate_args_fill(const struct rate_mem *m, const struct rate_conf *c, struct rate_args *a)
{
	memset(a, 0, sizeof(*a));
	a->wq = m->queue.p;
	a->dbrec = m->queue.p + m->record_off;
	a->db = m->db.p;
	a->cq = m->cq.p;
	a->share = m->share.p;
	a->wq_step = a->dbrec_step = m->queue_step;
	a->db_step = m->db_step;
	a->cq_step = m->cq_step;
	a->local = (uint64_t)m->src.p;
	a->remote = (uint64_t)m->dst.p;
	a->slots_step = m->slots_step;
	a->slot_mask = (uint32_t)(c->slots - 1);
	a->stride_shift = (uint32_t)__builtin_ctzll(c->path.stride);
	a->log_n = c->path.log_n;
	a->log_ncqe = c->log_ncqe;
	a->qpn = RATE_QPN;
	a->lkey = RATE_LKEY;
	a->rkey = c->fault == FAULT_KEY ? RATE_RKEY ^ 1 : RATE_RKEY;
	a->queues = c->queues;
	a->agents = c->agents;
	a->depth = c->path.depth;
	a->batch = c->path.batch;
	a->log_signal = c->log_signal;
	a->len = c->path.size;
	a->mode = c->path.choice.mode;
	a->gettime = c->path.gettime;
	a->crowded = c->crowded;
	a->consumed = (uint32_t)c->path.nic->completes;
	a->pass_ns = (uint64_t)(0.8 * RATE_PASS_S * 1e9); /* it ends before it is given up */
	a->warmup = rate_each(c, c->warmup);
	a->messages = rate_each(c, c->messages);
	a->arrived = (uint64_t *)m->words.p;
	a->failed = (uint64_t *)(m->words.p + SHARE_LINE);
	a->out = (struct rate_out *)m->out.p;
}

void rate_wide_fill(const struct rate_mem *m, const struct rate_conf *c, struct wide *w)
{
	struct engine *e = &w->first;

	memset(w, 0, sizeof(*w));
	e->wq = m->queue.p;
	e->dbrec = m->queue.p + m->record_off;
	e->db = m->db.p;
	e->cq = m->cq.p;
	e->log_n = c->path.log_n;
	e->log_ncqe = c->log_ncqe;
	e->qpn = RATE_QPN;
	e->segment = c->path.segment;
	e->tab.keys = (const struct mkey *)m->keys.p;
	e->tab.nkeys = RATE_KEYS;
	e->tab.ptes = (const uint64_t *)(m->keys.p + m->ptes_off);
	e->tab.nptes = m->nptes;
	e->tab.win[0].base = (uint64_t)m->src.p;
	e->tab.win[0].bytes = m->src.bytes;
	e->tab.win[1].base = (uint64_t)m->dst.p;
	e->tab.win[1].bytes = m->dst.bytes;
	e->xlat_pages = ~0u >> 1; /* no walk is too wide: what is over one page is refused as too long */
	w->wq_step = w->dbrec_step = m->queue_step;
	w->db_step = m->db_step;
	w->cq_step = m->cq_step;
	w->queues = c->queues;
	w->workers = c->workers;
	w->mixed = post_blocks(c->path.choice.kind) > 1;
	w->fault = c->fault == FAULT_DEAD_NIC ? EF_DEAD : c->fault == FAULT_ERROR_CQE ? EF_ERROR_CQE : EF_NONE;
	w->fault_at = (c->warmup + c->messages / 2) / c->queues;
}

void rate_hand_fill(const struct rate_mem *m, const struct rate_conf *c, struct hand_args *h)
{
	memset(h, 0, sizeof(*h));
	rate_args_fill(m, c, &h->r);
	h->ring = m->hand.p;
	h->credit = m->credit.p;
	h->ring_step = m->hand_step;
	h->credit_step = SHARE_LINE;
	h->kind = c->path.choice.kind;
	/* in the middle of what is measured: messages of ring 0 */
	h->fault_at = rate_agents_of(c, 0) * (h->r.warmup + h->r.messages / 2);
}

void rate_worker_fill(const struct rate_mem *m, const struct rate_conf *c, uint32_t i, struct worker_args *w)
{
	struct rate_args a;

	rate_args_fill(m, c, &a);
	memset(w, 0, sizeof(*w));
	for (uint32_t r = i; r < c->queues; r += c->helpers) {
		struct worker_ring *ring = &w->ring[w->rings++];

		ring->q = (struct queue){
			.wq = a.wq + r * a.wq_step, .dbrec = a.dbrec + r * a.dbrec_step, .db = a.db + r * a.db_step,
			.cq = a.cq + r * a.cq_step, .log_n = a.log_n, .log_ncqe = a.log_ncqe, .qpn = a.qpn + r,
		};
		ring->hand = m->hand.p + r * m->hand_step;
		ring->credit = (uint64_t *)(m->credit.p + r * SHARE_LINE);
		ring->local = a.local + r * a.slots_step;
		ring->remote = a.remote + r * a.slots_step;
		ring->number = r;
		w->warmup += rate_agents_of(c, r) * a.warmup;
		w->all += rate_agents_of(c, r) * (a.warmup + a.messages);
	}
	w->kernels = rate_ends_kernels(m);
	w->batch = c->path.proxy_batch;
	w->lkey = a.lkey;
	w->rkey = a.rkey;
	w->mode = a.mode;
	w->completes = c->path.nic->completes;
	w->gettime = a.gettime;
	w->crowded = a.crowded;
	w->fault = i ? WKF_NONE : c->fault == FAULT_STUCK_WORKER ? WKF_STUCK : c->fault == FAULT_KILLED_WORKER ? WKF_KILLED :
		   c->fault == FAULT_FAILED_LAUNCH ? WKF_LAUNCH : WKF_NONE;
	w->fault_at = rate_agents_of(c, 0) * (a.warmup + a.messages / 2);
}

/* Messages of queue q: those of its agents. */
static uint64_t posted_of(const struct rate_conf *c, uint32_t q)
{
	return rate_agents_of(c, q) * rate_each(c, c->warmup + c->messages);
}

static int64_t wrong_payload(const struct rate_conf *c, uint32_t q, uint64_t posted, const uint8_t *at)
{
	uint64_t first = posted > c->slots ? posted - c->slots : 0, bad = 0;
	struct coop alone = { 0, 1 };

	for (uint64_t i = first; i < posted; i++) {
		uint64_t s = i & (c->slots - 1);

		bad += job_check(at + s * c->path.stride, c->path.size,
				 c->path.choice.kind == POST_WRITE ? slot_number(q, s) : rate_number(q, i), alone);
	}
	return (int64_t)bad;
}

/* Nobody has taken anything: the ring holds the last messages, record and doorbell
 * announce them. */
static int64_t wrong_ring(const struct rate_mem *m, const struct rate_conf *c, uint32_t q, uint64_t posted, const uint8_t *at)
{
	int kind = c->path.choice.kind, rc;
	uint64_t span = (uint64_t)WQEBB * post_blocks(kind), n = ((uint64_t)WQEBB << c->path.log_n) / span, bad = 0, db;
	struct queue queue = { .qpn = RATE_QPN + q };
	uint32_t words = (post_is_inline(kind) ? wqe_ds_inline(c->path.size) : wqe_ds_pointer(c->path.size)) * 2, rec;

	for (uint64_t i = posted > n ? posted - n : 0; i < posted; i++) {
		uint64_t off = q * m->slots_step + (i & (c->slots - 1)) * c->path.stride, want[WQE_BLOCKS_MAX * WQE_WORDS];
		struct resolved x = { RATE_LKEY, RATE_RKEY, (uint64_t)m->dst.p + off };

		wqe_build_at(&queue, want, post_index(i, kind), rate_number(q, i), &x, (uint64_t)m->src.p + off, c->path.size, kind);
		want[1] = wqe_ctrl1((i + 1) & ((1ull << c->log_signal) - 1) ? 0 : WQE_CQ_UPDATE);
		wqe_build_second(want + WQE_WORDS, rate_number(q, i));
		for (uint32_t k = 0; k < words && k * 8 < span; k++)
			bad += memcmp(at + (i & (n - 1)) * span + k * 8, &want[k], 8) != 0;
	}
	posted = post_index(posted, kind);
	memcpy(&rec, at + m->record_off + DBREC_SEND, 4);
	if ((rc = place_read(&m->db, q * m->db_step, &db, 8)))
		return rc;
	bad += db != doorbell_value(posted, RATE_QPN + q);
	bad += c->path.choice.mode != DBM_RING && dbrec_index(rec) != (posted & INDEX_MASK);
	return (int64_t)bad;
}

int64_t rate_wrong_of(const struct rate_mem *m, const struct rate_conf *c, const uint64_t *posted)
{
	const struct buf *b = c->path.nic->completes ? &m->dst : &m->queue;
	uint8_t *copy = malloc(b->bytes);
	int64_t bad = 0;
	int rc;

	if (!copy)
		return fs_fail(ENOMEM, "no memory to check payloads");
	if ((rc = place_read(b, 0, copy, b->bytes))) {
		free(copy);
		return rc;
	}
	for (uint32_t q = 0; q < c->queues && bad >= 0; q++) {
		int64_t x = c->path.nic->completes ? wrong_payload(c, q, posted[q], copy + q * m->slots_step) :
						     wrong_ring(m, c, q, posted[q], copy + q * m->queue_step);

		bad = x < 0 ? x : bad + x;
	}
	free(copy);
	return bad;
}

int64_t rate_wrong(const struct rate_mem *m, const struct rate_conf *c)
{
	uint64_t *posted = malloc(c->queues * sizeof(*posted));
	int64_t bad;

	if (!posted)
		return fs_fail(ENOMEM, "no memory to check payloads");
	for (uint32_t q = 0; q < c->queues; q++)
		posted[q] = posted_of(c, q);
	bad = rate_wrong_of(m, c, posted);
	free(posted);
	return bad;
}
