/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a payload lands exactly where keys and page entries say, whatever the
 * page size, the order of the pages, the alignment of both ends, the length and
 * the segment; and no other byte changes. The reference is a copy byte by byte
 * through the page entries into a shadow of all memory. Control: a reference
 * that forgets the page entries disagrees.
 */
#include "tests/engine_rig.h"

enum { LOG_N = 3, SEED = 20240607 };

struct walk {
	struct rig r;
	uint64_t seed;
	uint64_t cases, across;  /* those that touch more than one page */
	int naive;               /* the control's reference */
};

/* The shadow of a byte: the pristine copies serve as it. */
static uint8_t *shadow(const struct walk *w, int side, uint64_t off)
{
	if (w->naive)
		return w->r.pristine[side] + off;
	return w->r.pristine[side] + (rig_at(&w->r, side, off) - w->r.pool[side]);
}

static void reference(struct walk *w, uint64_t m, const struct rig_op *o)
{
	for (uint64_t i = 0; i < o->len; i++) {
		if (o->kind == POST_READ)
			*shadow(w, RIG_LOCAL, o->loff + i) = *shadow(w, RIG_REMOTE, o->roff + i);
		else if (o->kind == POST_WRITE)
			*shadow(w, RIG_REMOTE, o->roff + i) = *shadow(w, RIG_LOCAL, o->loff + i);
		else
			*shadow(w, RIG_REMOTE, o->roff + i) = (uint8_t)(payload_word(m, i / 8) >> i % 8 * 8);
	}
}

static int memory_agrees(const struct walk *w)
{
	return !memcmp(w->r.pool[0], w->r.pristine[0], w->r.pool_bytes) &&
	       !memcmp(w->r.pool[1], w->r.pristine[1], w->r.pool_bytes);
}

/* The target and what stands around it, where all memory would take too long. */
static int target_agrees(const struct walk *w, const struct rig_op *o)
{
	int side = o->kind == POST_READ ? RIG_LOCAL : RIG_REMOTE;
	uint64_t at = o->kind == POST_READ ? o->loff : o->roff, guard = 300;
	uint64_t from = at > guard ? at - guard : 0, to = at + o->len + guard;

	to = to < w->r.pool_bytes ? to : w->r.pool_bytes;
	for (uint64_t i = from; i < to; i++)
		if (*rig_at(&w->r, side, i) != *shadow(w, side, i))
			return 0;
	return 1;
}

/* A length: small, or about that of a segment or a page. */
static uint32_t some_len(struct walk *w, uint64_t max)
{
	uint64_t page = 1ull << w->r.shift, seg = w->r.e.segment, len, jitter = draw_below(&w->seed, 40);

	switch (draw_below(&w->seed, 8)) {
	case 0: len = seg + jitter - 20; break;
	case 1: len = 2 * seg + jitter - 20; break;
	case 2: len = page <= 1 << 16 || !draw_below(&w->seed, 50) ? page + jitter - 20 : jitter; break;
	case 3: len = page <= 1 << 12 ? 2 * page + jitter - 20 : jitter; break;
	default: len = draw_below(&w->seed, 301);
	}
	return (uint32_t)(len <= max ? len : len % (max + 1));
}

/* An offset: anywhere, near a page's end, or aligned. */
static uint64_t some_off(struct walk *w, uint64_t len)
{
	uint64_t page = 1ull << w->r.shift, off, end = w->r.pool_bytes - len;

	switch (draw_below(&w->seed, 4)) {
	case 0: off = (1 + draw_below(&w->seed, w->r.pages)) * page - draw_below(&w->seed, 300); break;
	case 1: off = draw_below(&w->seed, w->r.pool_bytes) & ~15ull; break;
	default: off = draw_below(&w->seed, w->r.pool_bytes);
	}
	return off <= end ? off : end - draw_below(&w->seed, end + 1 < 64 ? end + 1 : 64);
}

static void some_op(struct walk *w, struct rig_op *o)
{
	uint64_t page = 1ull << w->r.shift;

	memset(o, 0, sizeof(*o));
	o->kind = (int)draw_below(&w->seed, POST_NOP);
	if (o->kind == POST_INLINE && draw_below(&w->seed, 2))
		o->kind = POST_INLINE2;
	o->len = o->kind == POST_INLINE2 ? 29 + (uint32_t)draw_below(&w->seed, 64) :
		 o->kind == POST_INLINE ? (uint32_t)draw_below(&w->seed, WQE_INLINE_MAX + 1) :
					  some_len(w, w->r.pool_bytes);
	o->loff = some_off(w, o->len);
	o->roff = some_off(w, o->len);
	if (!draw_below(&w->seed, 3)) /* both alike: the wide copy */
		o->loff = (o->loff & ~15ull) | (o->roff & 15);
	if (o->loff + o->len > w->r.pool_bytes)
		o->loff -= 16;
	w->across += o->len && (o->roff / page != (o->roff + o->len - 1) / page ||
				o->loff / page != (o->loff + o->len - 1) / page);
}

/* A few messages in one doorbell, and what they have done. 0: it disagrees. */
static int some_batch(struct walk *w, int whole)
{
	struct rig_op o[3];
	uint64_t at[4] = { w->r.s.pi }, cqe = w->r.s.cqes, n = 1 + draw_below(&w->seed, 3);
	int agrees = 1;

	for (uint64_t i = 0; i < n; i++) {
		some_op(w, &o[i]);
		rig_put(&w->r, at[i], &o[i]);
		at[i + 1] = at[i] + post_blocks(o[i].kind);
	}
	if (draw_below(&w->seed, 2))
		rig_ring(&w->r, at[n]);
	else /* the other convention: the last WQE's own words */
		st64(w->r.q.db, rig_wqe(&w->r, at[n - 1])[0]);
	assert_int_equal(rig_poll(&w->r, (int)draw_below(&w->seed, INSTRS)), n);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(rig_syndrome(&w->r, cqe + i, at[i]), 0);
		assert_int_equal(cqe_byte_cnt(rig_cqe(&w->r, cqe + i)[5]), o[i].len);
		reference(w, at[i], &o[i]);
		w->cases++;
	}
	for (uint64_t i = 0; i < n; i++)
		agrees &= target_agrees(w, &o[i]);
	return agrees && (!whole || memory_agrees(w));
}

static void shuffle(struct walk *w, uint32_t *order)
{
	for (uint32_t side = 0; side < RIG_SIDES; side++) {
		uint32_t *p = order + side * w->r.pages;

		for (uint32_t i = 0; i < w->r.pages; i++) {
			uint32_t k = (uint32_t)draw_below(&w->seed, i + 1);

			p[i] = p[k];
			p[k] = i;
		}
	}
}

/* Many batches over many page tables and segments. */
static void walk(uint32_t shift, uint32_t pages, int tables, int batches, int every)
{
	uint32_t order[2 * 16];
	struct walk w = { .seed = SEED + shift };

	rig_open(&w.r, LOG_N, shift, pages, shift);
	for (int t = 0; t < tables; t++) {
		shuffle(&w, order);
		rig_tables(&w.r, w.r.pool_bytes, order);
		w.r.e.segment = 64u << draw_below(&w.seed, 7);
		w.r.usual = (int)draw_below(&w.seed, USUALS);
		rig_reset(&w.r, draw_below(&w.seed, 70000));
		for (int b = 0; b < batches; b++)
			if (!some_batch(&w, b % every == 0 || b == batches - 1))
				fail_msg("page 2^%u, segment %u, table %d, batch %d: memory differs", shift,
					 w.r.e.segment, t, b);
	}
	assert_int_equal(w.r.st.stale_wqe, 0);
	print_message("pages of 2^%u: %llu messages, %llu of them over a page's end\n", shift,
		      (unsigned long long)w.cases, (unsigned long long)w.across);
	assert_true(w.across * 20 > w.cases);
	rig_close(&w.r);
}

static void small_pages(void **state)
{
	(void)state;
	walk(12, 6, 40, 100, 1);
}

static void middle_pages(void **state)
{
	(void)state;
	walk(16, 3, 10, 100, 10);
}

static void large_pages(void **state)
{
	(void)state;
	walk(21, 2, 4, 100, 100);
}

/* Every length of an inline payload at every offset around a page's end. */
static void inline_everywhere(void **state)
{
	static const uint32_t order[] = { 1, 0, 1, 0 };
	struct walk w = { .seed = 1 };

	(void)state;
	rig_open(&w.r, LOG_N, 12, 2, 3);
	rig_tables(&w.r, w.r.pool_bytes, order);
	for (uint32_t len = 0; len <= WQE_INLINE_TWO; len++)
		for (uint64_t off = 4096 - 104; off < 4096 + 16; off++) {
			struct rig_op o = { len > WQE_INLINE_MAX ? POST_INLINE2 : POST_INLINE, len, 0, off, 0, 0 };

			w.r.usual = (int)(off / 8 % USUALS);
			w.r.s.next_db = doorbell_value(w.r.s.pi + usual_blocks(w.r.usual), RIG_QPN);
			reference(&w, w.r.s.pi, &o);
			assert_int_equal(rig_one(&w.r, &o, (int)(off % INSTRS)), 0);
			assert_true(target_agrees(&w, &o));
		}
	assert_true(memory_agrees(&w));
	rig_close(&w.r);
}

/* control */
static void pages_that_are_forgotten_are_seen(void **state)
{
	static const uint32_t order[] = { 1, 0, 2, 0, 2, 1 };
	struct walk w = { .seed = SEED };
	int seen = 0;

	(void)state;
	rig_open(&w.r, LOG_N, 12, 3, 5);
	rig_tables(&w.r, w.r.pool_bytes, order);
	w.naive = 1;
	for (int b = 0; b < 20; b++)
		seen += !some_batch(&w, 1);
	assert_true(seen >= 19);
	rig_close(&w.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_pages), cmocka_unit_test(middle_pages), cmocka_unit_test(large_pages),
		cmocka_unit_test(inline_everywhere), cmocka_unit_test(pages_that_are_forgotten_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
