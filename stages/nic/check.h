/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the software NIC fetches a WQE and how strict it is with it (HD): the stale
 * ones, the fields, what hardware would answer, and the walk of keys and pages.
 */
#ifndef FS_CHECK_H
#define FS_CHECK_H

#include "stages/nic/engine_types.h"

/* What a WQE's first ctrl words may differ in from the expected ones: opcode and
 * DS, which are decoded. */
#define CTRL_FREE 0xff000000ff000000ull

/* An earlier lap's index in this slot, or nothing ever written there? */
HD int engine_stale(uint64_t w0, uint64_t m, uint32_t log_n)
{
	uint32_t lap = (1u << log_n) - 1, index = ctrl_index(w0);

	return w0 == 0 || (index != (uint32_t)(m & INDEX_MASK) && (index & lap) == ((uint32_t)m & lap));
}

/* After a fetch that found something else: waits, bounded, while the slot shows an
 * earlier lap. 1: it is worth fetching again. */
HD int engine_stale_wait(const uint8_t *slot, uint64_t m, uint32_t log_n, struct engine_status *st)
{
	for (uint32_t tries = 0; tries < ENGINE_REFETCH; tries++) {
		st->stale_wqe++;
		/* acquire: the other words are fetched after this one */
		if (!engine_stale(ld64_acquire(slot), m, log_n))
			return 1;
	}
	return 0;
}

/* The number of the message that is worked on. */
HD uint64_t engine_message(const struct engine_state *s) { return s->pi - s->skip; }

/* Blocks of the WQE that is worked on, by its DS; no more than are announced. One that is
 * refused for its DS has one: nobody knows where the next begins. */
HD uint32_t engine_blocks(const struct engine_state *s)
{
	return s->w.ds > WQEBB / WQE_SEG && s->w.ds <= WQE_BLOCKS_MAX * (WQEBB / WQE_SEG) &&
	       s->w.opcode == WQE_WRITE && s->due >= 2 ? 2 : 1;
}

/* Fetches the first block of the WQE of index m once, whatever it finds. */
HD void engine_fetch(const struct engine *e, uint64_t m, struct work *k)
{
	const uint8_t *p = e->wq + (uint64_t)((uint32_t)m & ((1u << e->log_n) - 1)) * WQEBB;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (int i = 0; i < WQE_WORDS; i += 2)
		ld64x2(p + i * 8, k->w + i);
	k->odd = k->w[0] ^ wqe_ctrl0(m, 0, e->qpn, 0);
}

/* Fetches its second one, which lies in the ring's next slot. It has no index: that it
 * is of an earlier lap shows in its payload alone, as with any payload. Gives what a mark
 * behind it depends on. */
HD uint32_t engine_fetch_second(const struct engine *e, uint64_t m, uint64_t w[WQE_WORDS])
{
	const uint8_t *p = e->wq + (uint64_t)((uint32_t)(m + 1) & ((1u << e->log_n) - 1)) * WQEBB;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (int i = 0; i < WQE_WORDS; i += 2)
		ld64x2(p + i * 8, w + i);
	return (uint32_t)(w[0] | w[2] | w[4] | w[6]);
}

/* Fetches again what was stale, bounded. 1: it has. */
HD int engine_refetch(const struct engine *e, struct engine_state *s, struct work *k)
{
	const uint8_t *p = e->wq + (uint64_t)((uint32_t)s->pi & ((1u << e->log_n) - 1)) * WQEBB;
	int again = 0;

	while ((k->odd & ~CTRL_FREE) && engine_stale(k->w[0], s->pi, e->log_n) &&
	       engine_stale_wait(p, s->pi, e->log_n, s->st)) {
		engine_fetch(e, s->pi, k);
		again = 1;
	}
	return again;
}

/* Takes the fields apart; no check yet. */
HD void engine_fields(struct work *k)
{
	k->opcode = (uint32_t)(k->odd >> 24) & 0xff;
	k->ds = (uint32_t)(k->odd >> 56);
	k->raddr = be64(k->w[2]);
	k->rkey = be32((uint32_t)k->w[3]);
	k->len = k->ds >= 3 ? be32((uint32_t)k->w[4]) : 0;
	k->inl = k->len >> 31;
	k->len &= ~WQE_INLINE;
	k->lkey = be32((uint32_t)(k->w[4] >> 32));
	k->laddr = be64(k->w[5]);
}

/* 0, or the syndrome that a NIC would give to the WQE itself, of which so many blocks
 * are announced; a literal in the fast loop. */
HD uint32_t engine_decode_of(const struct work *k, const uint32_t blocks)
{
	/* which DS an opcode may have, a bit each */
	uint32_t legal = k->opcode == WQE_WRITE ? blocks > 1 ? 0x1fc : 0x1c :
			 k->opcode == WQE_READ ? 0x0c : k->opcode == WQE_NOP ? 0x02 : 0;
	uint32_t ds_max = blocks > 1 ? 8 : 4, inline_max = blocks > 1 ? WQE_INLINE_TWO : WQE_INLINE_MAX;
	uint32_t bad_op, bad_len;

	bad_op = (uint32_t)((k->odd & ~CTRL_FREE) != 0) | (uint32_t)(k->ds > ds_max) | (~(legal >> (k->ds & 31)) & 1) |
		 ((uint32_t)(blocks > 1 ? k->ds >= 4 : k->ds == 4) & (k->inl ^ 1)) |
		 (k->inl & (uint32_t)(k->opcode != WQE_WRITE));
	bad_len = k->inl ? (uint32_t)(k->len > inline_max) | (uint32_t)(wqe_ds_inline(k->len) != k->ds) :
			   (uint32_t)(k->ds >= 3) & ((uint32_t)(k->len == 0) | (uint32_t)(k->len > WQE_LEN_MAX));
	return bad_op ? (uint32_t)SYND_LOCAL_QP_OP : bad_len ? (uint32_t)SYND_LOCAL_LENGTH : 0u;
}

/* The same of one that may have one block. */
HD uint32_t engine_decode(const struct work *k) { return engine_decode_of(k, 1); }

/* One side's translation on its way through the cache (cache.h). */
struct cached {
	struct mkey key;         /* of the cache, or of the walk */
	uint64_t pte;
	uint64_t at;             /* its entry's place */
	uint64_t page;           /* and tag */
	uint32_t hit;
};

/*
 * The WQE's own checks, keys and first pages: two dependent loads, both sides at
 * once, with the checks in between. Fills the spans when it returns 0; *dep
 * depends on the last loads; `far_key` is the remote key's entry. `inl` is k->inl as a literal, so that neither kind
 * pays for the other's branches; `near_span` is left alone by an inline one. `blocks` is
 * as for engine_decode_of. `far_c` and `near_c`: what the cache held of either side, which is
 * not loaded then, and what was loaded where it held nothing; NULL, literals: there is no cache.
 */
HD uint32_t engine_check_by(const struct engine *e, const struct work *k, const struct mkey *far_key,
			    struct span *near_span, struct span *far_span, uint32_t *dep, struct cached *far_c,
			    struct cached *near_c, const uint32_t blocks, const int inl)
{
	const struct tables *t = &e->tab;
	uint32_t rd = k->opcode == WQE_READ, wrong_far, wrong_near = 0, synd;
	struct mkey near_key = { 0, 0, 0, 0 };
	struct reach far_reach, near_reach;
	const uint64_t *at;
	uint64_t pf, pn = 0;

	if (!inl && near_c)
		near_key = near_c->key;
	if (!inl && !(near_c && near_c->hit))
		key_load(key_at(t, k->lkey), &near_key);
	synd = engine_decode_of(k, blocks);
	at = key_span(t, far_key, k->raddr, k->len, far_span);
	if (far_c && LIKELY(far_c->hit))
		pf = far_c->pte;
	else
		pf = ld64(at);
	if (!inl) {
		at = key_span(t, &near_key, k->laddr, k->len, near_span);
		if (near_c && LIKELY(near_c->hit))
			pn = near_c->pte;
		else
			pn = ld64(at);
		near_reach = reach_of(t, near_span->shift);
		wrong_near = key_wrong(t, &near_key, k->lkey, rd ? MKEY_LOCAL_WRITE : MKEY_LOCAL_READ, k->laddr, k->len) |
			     (uint32_t)(near_span->npages > e->xlat_pages);
	}
	far_reach = reach_of(t, far_span->shift);
	wrong_far = key_wrong(t, far_key, k->rkey, rd ? MKEY_REMOTE_READ : MKEY_REMOTE_WRITE, k->raddr, k->len) |
		    (uint32_t)(far_span->npages > e->xlat_pages);
	if (!inl) {
		wrong_near |= (uint32_t)!pte_ok(&near_reach, pn, near_span->shift);
		near_span->page0 = pn & ~PTE_PRESENT;
		near_span->more = e->xlat;
		if (near_c) {
			near_c->key = near_key;
			near_c->pte = pn;
		}
	}
	wrong_far |= (uint32_t)!pte_ok(&far_reach, pf, far_span->shift);
	far_span->page0 = pf & ~PTE_PRESENT;
	far_span->more = e->xlat + e->xlat_pages;
	if (far_c)
		far_c->pte = pf;
	*dep = (uint32_t)pf | (uint32_t)pn;
	return synd ? synd : wrong_near ? (uint32_t)SYND_LOCAL_PROT : wrong_far ? (uint32_t)SYND_REMOTE_ACCESS : 0u;
}

HD uint32_t engine_check_of(const struct engine *e, const struct work *k, const struct mkey *far_key,
			    struct span *near_span, struct span *far_span, uint32_t *dep, const uint32_t blocks,
			    const int inl)
{
	return engine_check_by(e, k, far_key, near_span, far_span, dep, 0, 0, blocks, inl);
}

HD uint32_t engine_check(const struct engine *e, const struct work *k, const struct mkey *far_key,
			 struct span *near_span, struct span *far_span, uint32_t *dep, const int inl)
{
	return engine_check_of(e, k, far_key, near_span, far_span, dep, 1, inl);
}

#endif
