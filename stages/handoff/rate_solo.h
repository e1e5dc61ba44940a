/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that has its queue to itself, with short inline messages (HD): several WQEs
 * at a time, straight through.
 *
 * A lone GPU thread issues an instruction in two to three cycles and loses some forty at a
 * jump that is taken, so what a batch costs is what is counted here. A group of WQEs
 * begins at an index that is a multiple of its size, which is a power of two: within it
 * the index, the payload's number and the place of the payload differ in their lowest bits
 * alone, which nothing carries out of, so each is made from the first by one addition,
 * in the byte order in which it stands. What doesn't change stays in registers.
 *
 * The bytes are those of rate_build, stored by the same relaxed, system-scope stores.
 */
#ifndef FS_RATE_SOLO_H
#define FS_RATE_SOLO_H

#include "stages/handoff/rate_agent.h"

enum { SOLO_GROUP = 8, SOLO_HALF = 4 }; /* WQEs of a group */

struct solo {
	uint8_t *wq;
	uint64_t remote;
	uint32_t ring_mask, slot_mask, stride_shift, signal_mask;
	uint32_t qpn_ds, rkey, bytes, number; /* as they stand in a WQE, and a payload's queue */
	uint32_t asks[3];             /* fm_ce_se of the 1st, 2nd and 4th of a group */
};

HD struct solo solo_of(const struct rate_args *a, const struct rate_agent *g)
{
	uint32_t signal = 1u << a->log_signal, asks = be32(WQE_CQ_UPDATE);
	struct solo s;

	s.wq = g->q.wq;
	s.remote = g->remote;
	s.ring_mask = (1u << g->q.log_n) - 1;
	s.slot_mask = a->slot_mask;
	s.stride_shift = a->stride_shift;
	s.signal_mask = signal - 1;
	s.qpn_ds = be32(g->q.qpn << 8 | wqe_ds_inline(a->len));
	s.rkey = be32(a->rkey);
	s.bytes = be32(a->len | WQE_INLINE);
	s.number = g->q.qpn - a->qpn;
	s.asks[0] = signal <= 1 ? asks : 0;
	s.asks[1] = signal <= 2 ? asks : 0;
	s.asks[2] = signal <= 4 ? asks : 0;
	return s;
}

/* Does a point's loop build by groups of k? `len`: the messages'. */
HD int solo_fits(const struct rate_args *a, const uint32_t k, const int kind)
{
	return kind == POST_INLINE && a->len <= WQE_INLINE_SHORT && !(a->batch % k);
}

/* The k WQEs from message m on, a multiple of k; k is a literal. A ring has as many
 * slots as a batch has messages, and so has a group. */
HD void solo_build(const struct solo *s, uint64_t m, const uint32_t k)
{
	uint8_t *p = s->wq + (uint64_t)((uint32_t)m & s->ring_mask) * WQEBB;
	uint64_t at = s->remote + (((uint32_t)m & s->slot_mask) << s->stride_shift);
	uint64_t number = rate_number(s->number, m);
	uint32_t ctrl = be_index_op(m, WQE_WRITE), hi = (uint32_t)(number >> 8), lo = (uint32_t)number << 24;
	uint32_t rhi = be32((uint32_t)(at >> 32)), rlo = be32((uint32_t)at), last;

	last = ((uint32_t)m + k) & s->signal_mask ? 0 : be32(WQE_CQ_UPDATE);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < k; i++) {
		uint32_t asks = i + 1 == k ? last : s->asks[!((i + 1) & 1) + !((i + 1) & 3)];

		st64x2_global(p + i * WQEBB, pair32(ctrl + (i << 16), s->qpn_ds), pair32(asks, 0));
		st64x2_global(p + i * WQEBB + 16, pair32(rhi, rlo + (i << (24 + s->stride_shift))), pair32(s->rkey, 0));
		st64x2_global(p + i * WQEBB + 32, pair32(s->bytes, lo + (i << 24)), pair32(hi, (lo + (i << 24)) | 1));
	}
}

/* A batch that is a multiple of k, and not empty, from message m on. */
HD void solo_build_batch(const struct solo *s, uint64_t m, uint32_t batch, const uint32_t k)
{
	uint64_t end = m + batch;

#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	do {
		solo_build(s, m, k);
		m += k;
	} while (m != end);
}

/*
 * Posts `left` messages where nobody completes them: there is nothing to wait for and
 * nothing that could go wrong. `k`, a literal: WQEs of a group; 1: of a batch, too.
 */
HD void solo_stream(const struct rate_args *a, struct rate_agent *g, uint64_t left, const int ord, const int mode,
		    const uint32_t k, const int spans)
{
	const struct solo s = solo_of(a, g);
	const struct queue q = g->q;
	const uint32_t batch = k == 1 ? 1 : a->batch;
	uint64_t m = g->pi, end = m + left;

	do {
		rate_mark(g, RS_RESERVED, a->gettime, spans);
		if (k == 1)
			solo_build(&s, m, 1);
		else
			solo_build_batch(&s, m, batch, k);
		rate_mark(g, RS_BUILT, a->gettime, spans);
		m += batch;
		doorbell_store(&q, ring_prepare(&q, m, ord, mode), ord);
		rate_mark(g, RS_RUNG, a->gettime, spans);
	} while (LIKELY(m != end));
	g->turns += left / batch;
	g->pi = g->last = end;
}

/* 1: it has posted them. Batches that are no groups, and what waits, are for rate_post. */
HD int solo_post(const struct rate_args *a, struct rate_agent *g, uint64_t left, const int ord, const int kind, const int spans)
{
	if (a->consumed || a->mode != DBM_RECORD_RING || !left)
		return 0;
	if (a->batch == 1 && solo_fits(a, 1, kind))
		solo_stream(a, g, left, ord, DBM_RECORD_RING, 1, spans);
	else if (solo_fits(a, SOLO_GROUP, kind))
		solo_stream(a, g, left, ord, DBM_RECORD_RING, SOLO_GROUP, spans);
	else if (solo_fits(a, SOLO_HALF, kind))
		solo_stream(a, g, left, ord, DBM_RECORD_RING, SOLO_HALF, spans);
	else
		return 0;
	return 1;
}

#endif
