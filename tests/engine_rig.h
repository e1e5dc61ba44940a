/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC's engine over memory made by hand, driven by calls in the
 * test's own thread: a ring, a record, a doorbell, a CQ, two keys, page entries
 * and two pools of pages. Addresses that keys speak of are not those of the
 * memory: whatever forgets to translate is found out. Each object is its own
 * allocation, so that AddressSanitizer sees a step beside it.
 */
#ifndef FS_ENGINE_RIG_H
#define FS_ENGINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "stages/nic/engine.h"
#include "stages/queue/queue.h"
#include "tests/random.h"

#define RIG_QPN 0x5a1234u
#define RIG_LKEY (1u << 8 | 0x11)
#define RIG_RKEY (2u << 8 | 0x22)
#define RIG_LVA 0x0000222233400000ull
#define RIG_RVA 0x0000755566800000ull
enum { RIG_LOCAL, RIG_REMOTE, RIG_SIDES, RIG_KEYS = 3, RIG_BLOCK = 128, RIG_ENTRIES = 4 };

struct rig {
	struct engine e;
	struct engine_state s;
	struct engine_status st; /* its rare counters, and all of them when it is finished */
	struct engine_job job;
	struct sink_conf sink;
	struct queue q;          /* the issuer's view of the same queue */
	struct mkey *keys;
	uint64_t *ptes;          /* pages of each side, local first */
	uint8_t *pool[RIG_SIDES], *pristine[RIG_SIDES];
	uint64_t pool_bytes;
	uint32_t shift, pages;   /* of each side */
	uint64_t *stage;
	uint64_t *cache, *generation; /* of the translation cache, RIG_ENTRIES of them */
	int usual;               /* enum engine_usual: by which code it works */
};

static inline uint32_t rig_key_of(int side) { return side == RIG_LOCAL ? RIG_LKEY : RIG_RKEY; }
static inline uint64_t rig_va(int side) { return side == RIG_LOCAL ? RIG_LVA : RIG_RVA; }

static inline void *rig_alloc(size_t align, size_t bytes)
{
	void *p = aligned_alloc(align, (bytes + align - 1) / align * align);

	assert_non_null(p);
	memset(p, 0, bytes);
	return p;
}

/* Keys and page entries as they should be, for ranges of `len` bytes; entry k of
 * a side leads to page order[k] of its pool (NULL: to page k). */
static inline void rig_tables(struct rig *r, uint64_t len, const uint32_t *order)
{
	uint64_t mask = (1ull << r->shift) - 1;

	memset(r->keys, 0, RIG_KEYS * sizeof(struct mkey));
	for (int i = 0; i < RIG_SIDES; i++) {
		struct mkey *k = &r->keys[rig_key_of(i) >> 8];
		uint32_t rights = i == RIG_LOCAL ? MKEY_LOCAL_READ | MKEY_LOCAL_WRITE : MKEY_REMOTE_READ | MKEY_REMOTE_WRITE;

		k->id = pair32(rig_key_of(i), MKEY_VALID | rights | r->shift << MKEY_SHIFT_BIT);
		k->start = rig_va(i);
		k->len = len;
		k->pages = pair32((uint32_t)i * r->pages, (uint32_t)((len + mask) >> r->shift));
		for (uint32_t p = 0; p < r->pages; p++)
			r->ptes[(uint32_t)i * r->pages + p] =
				((uint64_t)r->pool[i] + ((uint64_t)(order ? order[(uint32_t)i * r->pages + p] : p) << r->shift)) | PTE_PRESENT;
	}
}

/* Back to the beginning: next index m, no WQE, no doorbell, pools as filled. */
static inline void rig_reset(struct rig *r, uint64_t m)
{
	memset((void *)r->e.wq, 0, (size_t)WQEBB << r->e.log_n);
	memset((void *)r->e.dbrec, 0, DBREC_SIZE);
	memset(r->e.db, 0, WQEBB);
	memset(r->e.cq, 0xff, (size_t)CQE_SIZE << r->e.log_ncqe);
	for (int i = 0; i < RIG_SIDES; i++)
		memcpy(r->pool[i], r->pristine[i], r->pool_bytes);
	engine_begin_of(&r->e, &r->s, &r->job, &r->st, r->stage, r->usual, BARE);
	r->s.pi = m;
	r->s.next_db = usual_next(&r->e, m, r->usual);
}

static inline void rig_open(struct rig *r, uint32_t log_n, uint32_t shift, uint32_t pages, uint64_t seed)
{
	size_t page = (size_t)1 << shift;

	memset(r, 0, sizeof(*r));
	r->shift = shift;
	r->pages = pages;
	r->pool_bytes = (uint64_t)pages << shift;
	r->keys = rig_alloc(64, RIG_KEYS * sizeof(struct mkey));
	r->ptes = rig_alloc(64, 2ull * pages * 8);
	for (int i = 0; i < RIG_SIDES; i++) {
		r->pool[i] = rig_alloc(page, r->pool_bytes);
		r->pristine[i] = rig_alloc(page, r->pool_bytes);
		for (uint64_t k = 0; k < r->pool_bytes / 8; k++)
			((uint64_t *)r->pristine[i])[k] = draw_next(&seed);
		r->e.tab.win[i].base = (uint64_t)r->pool[i];
		r->e.tab.win[i].bytes = r->pool_bytes;
	}
	r->e.wq = r->q.wq = rig_alloc(64, (size_t)WQEBB << log_n);
	r->e.cq = rig_alloc(64, (size_t)CQE_SIZE << log_n);
	r->q.cq = r->e.cq;
	r->e.dbrec = r->q.dbrec = rig_alloc(64, DBREC_SIZE);
	r->e.db = r->q.db = rig_alloc(64, WQEBB);
	r->q.ci_word = rig_alloc(64, 8);
	r->e.log_n = r->e.log_ncqe = r->q.log_n = r->q.log_ncqe = log_n;
	r->q.depth = 1u << log_n;
	r->e.qpn = r->q.qpn = RIG_QPN;
	r->e.segment = 4096;
	r->e.tab.keys = r->keys;
	r->e.tab.nkeys = RIG_KEYS;
	r->e.tab.ptes = r->ptes;
	r->e.tab.nptes = 2 * pages;
	r->e.xlat_pages = pages + 1;
	r->e.xlat = rig_alloc(64, 2ull * r->e.xlat_pages * 8);
	r->e.flush_keep = 2 * RIG_BLOCK;
	r->e.marks = rig_alloc(64, r->e.flush_keep * NIC_SLOTS * 8ull);
	r->e.pairs = rig_alloc(64, 2 * sizeof(struct clock_pair));
	r->cache = rig_alloc(64, cache_bytes(RIG_ENTRIES));
	r->generation = rig_alloc(64, 8);
	r->e.cache = (uint64_t)r->cache;
	r->e.cache_mask = RIG_ENTRIES - 1;
	r->e.cache_shift = shift;
	r->e.cache_from[0] = RIG_LVA;
	r->e.cache_from[1] = RIG_RVA;
	r->e.generation = (const uint8_t *)r->generation;
	r->e.sink = &r->sink;
	r->sink.block = RIG_BLOCK;
	r->sink.plant[0] = r->sink.plant[1] = -1;
	r->sink.all = ~0u;
	r->stage = rig_alloc(64, RIG_BLOCK * SINK_SLOTS * 8);
	rig_tables(r, r->pool_bytes, NULL);
	rig_reset(r, 0);
}

static inline void rig_close(struct rig *r)
{
	for (int i = 0; i < RIG_SIDES; i++) {
		free(r->pool[i]);
		free(r->pristine[i]);
	}
	free(r->keys);
	free(r->ptes);
	free((void *)r->e.wq);
	free(r->e.cq);
	free((void *)r->e.dbrec);
	free(r->e.db);
	free(r->q.ci_word);
	free(r->e.xlat);
	free(r->e.marks);
	free(r->e.pairs);
	free(r->stage);
	free(r->cache);
	free(r->generation);
}

/* What a message does: offsets in the two ranges. */
struct rig_op { int kind; uint32_t len; uint64_t loff, roff; uint32_t lkey, rkey; };

/* Puts the WQE of index m in its slot, with a payload that says m; nothing is rung. */
static inline void rig_put(struct rig *r, uint64_t m, const struct rig_op *o)
{
	struct resolved x = { o->lkey ? o->lkey : RIG_LKEY, o->rkey ? o->rkey : RIG_RKEY, 0 };
	uint64_t w[WQE_WORDS], second[WQE_WORDS];

	x.raddr = (x.rkey == RIG_LKEY ? RIG_LVA : RIG_RVA) + o->roff;
	wqe_build(&r->q, w, m, &x, (x.lkey == RIG_RKEY ? RIG_RVA : RIG_LVA) + o->loff, o->len, o->kind);
	wqe_store(&r->q, m, w, o->len, o->kind);
	if (post_blocks(o->kind) > 1) {
		wqe_build_second(second, m);
		wqe_store_second(&r->q, m, second, o->len);
	}
}

static inline uint64_t *rig_wqe(struct rig *r, uint64_t m)
{
	return (uint64_t *)(r->q.wq + (m & ((1u << r->e.log_n) - 1)) * WQEBB);
}

static inline void rig_ring(struct rig *r, uint64_t next) { st64(r->q.db, doorbell_value(next, RIG_QPN)); }

static inline int rig_lead(struct rig *r, int instr)
{
	switch (r->usual * INSTRS + instr) {
	case USUAL * INSTRS + BARE: return engine_lead(&r->e, &r->s, &r->job, BARE);
	case USUAL * INSTRS + ALL: return engine_lead(&r->e, &r->s, &r->job, ALL);
	case USUAL * INSTRS + FLEX: return engine_lead(&r->e, &r->s, &r->job, FLEX);
	case USUAL_TWO * INSTRS + BARE: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_TWO, BARE);
	case USUAL_TWO * INSTRS + ALL: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_TWO, ALL);
	case USUAL_TWO * INSTRS + FLEX: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_TWO, FLEX);
	case USUAL_FLAME * INSTRS + BARE: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_FLAME, BARE);
	case USUAL_FLAME * INSTRS + ALL: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_FLAME, ALL);
	case USUAL_FLAME * INSTRS + FLEX: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_FLAME, FLEX);
	case USUAL_CACHED * INSTRS + BARE: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_CACHED, BARE);
	case USUAL_CACHED * INSTRS + ALL: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_CACHED, ALL);
	case USUAL_CACHED * INSTRS + FLEX: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_CACHED, FLEX);
	default: return engine_lead_of(&r->e, &r->s, &r->job, USUAL_SPARSE, BARE); /* it has no other */
	}
}

/* Works until the doorbell is quiet, by code that is specialised so; how many
 * messages. */
static inline uint32_t rig_poll(struct rig *r, int instr)
{
	struct coop alone = { 0, 1 };
	uint64_t m = engine_message(&r->s);

	while (rig_lead(r, instr) != EJ_NONE)
		engine_work(&r->job, alone, FLEX);
	return (uint32_t)(engine_message(&r->s) - m);
}

/* CQE number i, by words. */
static inline const uint64_t *rig_cqe(const struct rig *r, uint64_t i)
{
	return (const uint64_t *)(r->e.cq + (i & ((1u << r->e.log_ncqe) - 1)) * CQE_SIZE);
}

/* The syndrome of CQE i, which must be the one of message m; 0: a good one. */
static inline uint32_t rig_syndrome(const struct rig *r, uint64_t i, uint64_t m)
{
	const uint64_t *c = rig_cqe(r, i);

	assert_true(cqe_valid(c[7], cqe_lap(i, r->e.log_ncqe)));
	assert_int_equal(cqe_counter(c[7]), m & INDEX_MASK);
	assert_int_equal(cqe_qpn(c[7]), RIG_QPN);
	if (cqe_opcode(c[7]) == CQE_REQ) {
		assert_int_equal(c[6], 0);
		return 0;
	}
	assert_int_equal(cqe_opcode(c[7]), CQE_REQ_ERR);
	assert_int_equal(cqe_byte_cnt(c[5]), 0);
	assert_int_not_equal(cqe_syndrome(c[6]), 0);
	return cqe_syndrome(c[6]);
}

/* Posts one message, rings, and gives its syndrome. */
static inline uint32_t rig_one(struct rig *r, const struct rig_op *o, int instr)
{
	uint64_t m = r->s.pi, i = r->s.cqes;

	rig_put(r, m, o);
	rig_ring(r, m + post_blocks(o->kind));
	assert_int_equal(rig_poll(r, instr), 1);
	assert_int_equal(r->s.cqes, i + 1);
	return rig_syndrome(r, i, m);
}

/* Where a byte of a range lies, by the page entries alone. */
static inline uint8_t *rig_at(const struct rig *r, int side, uint64_t off)
{
	uint64_t page = r->ptes[(uint32_t)side * r->pages + (off >> r->shift)] & ~(uint64_t)PTE_PRESENT;

	return (uint8_t *)(page + (off & ((1ull << r->shift) - 1)));
}

#endif
