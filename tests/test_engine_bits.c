/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: every bit of a WQE, of a key's entry and of a page entry is checked or
 * used: flipping it changes the CQE or the memory. Those of a WQE that are not
 * are exactly the published ones (WQE_UNCHECKED_*, and what stands behind the
 * last segment or an inline payload): flipping them changes nothing. That holds for
 * WQEs of one basic block and of two, also where the second is the ring's first slot,
 * and for engines of which either is the usual one. Bits that a
 * good access does not need (rights, the end of a range) are shown by one that
 * is illegal before the flip.
 *
 * Controls: an engine that never sees one checked bit, and one that minds an
 * unchecked bit, are reported by the same checker, with that bit.
 */
#include "tests/engine_rig.h"

enum { PAGES = 3, LOG_N = 8, NBYTES = 2 * PAGES << 12 };
#define RANGE (2 * 4096 + 100)   /* the last page is cut */
#define M (5u << LOG_N | 0x2d)   /* some index of a later lap */
#define LAST (6u << LOG_N | 0xff) /* the ring's last slot: of two blocks the second is its first */

/* All that can be seen of a message. */
struct outcome { uint64_t cqes; uint8_t cq[2 * CQE_SIZE], mem[NBYTES]; };

typedef void lie_fn(struct rig *r);

static uint64_t index_now = M;

static void run(struct rig *r, const struct rig_op *o, uint64_t *word, uint64_t flip, lie_fn *lie,
		int instr, struct outcome *out)
{
	uint64_t before, m = index_now;
	uint32_t done;

	rig_reset(r, m);
	rig_put(r, m, o);
	before = *word;
	*word ^= flip;
	if (lie)
		lie(r);
	rig_ring(r, m + post_blocks(o->kind));
	done = rig_poll(r, instr);
	/* one of two blocks whose DS is spoiled may end as two, of one each */
	assert_in_range(done, 1, post_blocks(o->kind));
	*word = before;
	memcpy(out->cq, r->e.cq, sizeof(out->cq));
	out->cqes = r->s.cqes;
	for (int i = 0; i < RIG_SIDES; i++)
		memcpy(out->mem + (size_t)i * r->pool_bytes, r->pool[i], r->pool_bytes);
}

/* Bits of word i of this WQE whose flip may change nothing. */
static uint64_t unchecked(const struct rig_op *o, int i)
{
	uint32_t ds = o->kind == POST_NOP ? wqe_ds_nop() : post_is_inline(o->kind) ? wqe_ds_inline(o->len) :
		      wqe_ds_pointer(o->len), end = ds * WQE_SEG, at = (uint32_t)i * 8;
	uint64_t mask = 0;

	if (i == 1)
		mask = WQE_UNCHECKED_CTRL1;
	if (i == 3)
		mask = WQE_UNCHECKED_RADDR1;
	/* an empty message reaches for nothing: its address and key are not used */
	if ((i == 2 || i == 3) && !o->len)
		mask = ~0ull;
	if (post_is_inline(o->kind))
		end = 36 + o->len;
	/* with an inline segment of nothing or with none, it is the same message */
	if (i == 0 && o->kind == POST_INLINE && !o->len)
		mask = pair32(0, be32(0x01));
	for (uint32_t b = 0; b < 8; b++)
		if (at + b >= end)
			mask |= 0xffull << 8 * b;
	return mask;
}

/* How many bits of the WQE do other than they should; the last of them. */
static int check_wqe(struct rig *r, const struct rig_op *o, lie_fn *lie, int instr, int *bit)
{
	static struct outcome base, now;
	int off = 0;

	run(r, o, rig_wqe(r, index_now), 0, lie, instr, &base);
	for (int i = 0; i < WQE_WORDS * (int)post_blocks(o->kind); i++) {
		uint64_t *w = rig_wqe(r, index_now + (uint64_t)i / WQE_WORDS) + i % WQE_WORDS;
		uint64_t mask = unchecked(o, i);

		for (int b = 0; b < 64; b++) {
			int changed;

			run(r, o, w, 1ull << b, lie, instr, &now);
			changed = memcmp(&base, &now, sizeof(now)) != 0;
			if (changed == (int)(mask >> b & 1)) {
				off++;
				*bit = i * 64 + b;
			}
		}
	}
	return off;
}

static void check_all(struct rig *r, const struct rig_op *o, int n)
{
	int bit = -1;

	for (int k = 0; k < n; k++)
		for (int instr = 0; instr < INSTRS; instr++)
			if (check_wqe(r, &o[k], NULL, instr, &bit))
				fail_msg("kind %d, %u bytes: bit %d of word %d does other than it should", o[k].kind,
					 o[k].len, bit % 64, bit / 64);
}

static void open_bits(struct rig *r)
{
	rig_open(r, LOG_N, 12, PAGES, 42);
	rig_tables(r, RANGE, NULL);
}

static void wqe_inline(void **state)
{
	static const struct rig_op ops[] = {
		{ POST_INLINE, 1, 0, 64, 0, 0 }, { POST_INLINE, 8, 0, 64, 0, 0 }, { POST_INLINE, 12, 0, 4091, 0, 0 },
		{ POST_INLINE, 13, 0, 77, 0, 0 }, { POST_INLINE, 28, 0, 64, 0, 0 }, { POST_INLINE, 0, 0, 64, 0, 0 },
	};
	struct rig r;

	(void)state;
	open_bits(&r);
	check_all(&r, ops, sizeof(ops) / sizeof(ops[0]));
	r.usual = USUAL_SPARSE; /* does without a CQE what doesn't ask for one, in its fast loop */
	check_all(&r, ops, sizeof(ops) / sizeof(ops[0]));
	rig_close(&r);
}

static void wqe_of_two_blocks(void **state)
{
	static const struct rig_op ops[] = {
		{ POST_INLINE2, 29, 0, 64, 0, 0 }, { POST_INLINE2, 44, 0, 64, 0, 0 }, { POST_INLINE2, 61, 0, 4060, 0, 0 },
		{ POST_INLINE2, 76, 0, 8, 0, 0 }, { POST_INLINE2, 92, 0, 77, 0, 0 }, { POST_INLINE2, 92, 0, 64, 0, 0 },
	};
	struct rig r;

	(void)state;
	open_bits(&r);
	for (int k = 0; k < 4; k++) {
		r.usual = k & 1 ? USUAL_TWO : USUAL;
		index_now = k & 2 ? LAST : M;
		check_all(&r, ops, sizeof(ops) / sizeof(ops[0]));
	}
	/* and the others by an engine that expects two */
	r.usual = USUAL_TWO;
	check_all(&r, (const struct rig_op[]){ { POST_INLINE, 8, 0, 64, 0, 0 }, { POST_WRITE, 300, 4000, 50, 0, 0 } }, 2);
	index_now = M;
	rig_close(&r);
}

static void wqe_pointer(void **state)
{
	static const struct rig_op ops[] = {
		{ POST_WRITE, 8, 128, 256, 0, 0 }, { POST_WRITE, 300, 4000, 50, 0, 0 }, { POST_WRITE, 0, 0, 0, 0, 0 },
	};
	struct rig r;

	(void)state;
	open_bits(&r);
	check_all(&r, ops, sizeof(ops) / sizeof(ops[0]));
	rig_close(&r);
}

static void wqe_read_and_nop(void **state)
{
	static const struct rig_op ops[] = {
		{ POST_READ, 8, 128, 256, 0, 0 }, { POST_READ, 300, 50, 4000, 0, 0 }, { POST_READ, 0, 0, 0, 0, 0 },
		{ POST_NOP, 0, 0, 0, 0, 0 },
	};
	struct rig r;

	(void)state;
	open_bits(&r);
	check_all(&r, ops, sizeof(ops) / sizeof(ops[0]));
	rig_close(&r);
}

/* ---- keys and page entries ---- */

static const struct rig_op accesses[] = {
	{ POST_WRITE, 300, 50, 60, 0, 0 },
	{ POST_READ, 300, 50, 60, 0, 0 },
	{ POST_WRITE, RANGE, 0, 0, 0, 0 },         /* every page, to the last byte */
	{ POST_INLINE, 24, 0, 8000, 0, 0 },
	/* illegal: a byte behind the end, of one range and of the other */
	{ POST_WRITE, 1, RANGE, 0, 0, 0 },
	{ POST_WRITE, 1, 0, RANGE, 0, 0 },
	/* illegal: each key in the other's place, to be read and to be written */
	{ POST_WRITE, 8, 0, 64, 0, RIG_LKEY },
	{ POST_WRITE, 8, 0, 64, RIG_RKEY, 0 },
	{ POST_READ, 8, 0, 64, 0, RIG_LKEY },
	{ POST_READ, 8, 0, 64, RIG_RKEY, 0 },
};
enum { ACCESSES = sizeof(accesses) / sizeof(accesses[0]) };

/* How many bits of n words of the tables can be flipped unseen. */
static int check_table(struct rig *r, uint64_t *words, int n, lie_fn *lie, int *bit)
{
	static struct outcome base[ACCESSES], now;
	int off = 0;

	for (int a = 0; a < ACCESSES; a++)
		run(r, &accesses[a], words, 0, lie, 0, &base[a]);
	for (int b = 0; b < n * 64; b++) {
		int seen = 0;

		for (int a = 0; a < ACCESSES && !seen; a++) {
			run(r, &accesses[a], words + b / 64, 1ull << b % 64, lie, 0, &now);
			seen = memcmp(&base[a], &now, sizeof(now)) != 0;
		}
		if (!seen) {
			off++;
			*bit = b;
		}
	}
	return off;
}

static void key_entries(void **state)
{
	static const uint32_t keys[] = { RIG_LKEY, RIG_RKEY };
	struct rig r;
	int bit = -1;

	(void)state;
	open_bits(&r);
	for (int i = 0; i < 2; i++)
		if (check_table(&r, (uint64_t *)&r.keys[keys[i] >> 8], 4, NULL, &bit))
			fail_msg("bit %d of word %d of key %d's entry shows nowhere", bit % 64, bit / 64, i);
	rig_close(&r);
}

static void page_entries(void **state)
{
	/* not in order, so that neighbours are not each other's stand-in */
	static const uint32_t order[2 * PAGES] = { 2, 0, 1, 1, 2, 0 };
	struct rig r;
	int bit = -1;

	(void)state;
	open_bits(&r);
	for (int i = 0; i < 2; i++) {
		rig_tables(&r, RANGE, i ? order : NULL);
		if (check_table(&r, r.ptes, 2 * PAGES, NULL, &bit))
			fail_msg("bit %d of page entry %d shows nowhere", bit % 64, bit / 64);
	}
	rig_close(&r);
}

/* ---- controls ---- */

/* An engine for which one bit of the WQE, of a key's length, of a page entry
 * always reads as it should be. */
static void blind_to_reserved_ds(struct rig *r) { rig_wqe(r, M)[0] &= ~pair32(0, be32(0x40)); }
static void blind_to_opmod(struct rig *r) { rig_wqe(r, M)[0] &= ~(uint64_t)be32(0x01000000); }
static void blind_to_length(struct rig *r) { r->keys[RIG_LKEY >> 8].len &= ~1ull; }
static void blind_to_page_bit(struct rig *r) { r->ptes[PAGES] &= ~(1ull << 11); }
static void blind_to_second_block(struct rig *r) { rig_wqe(r, M)[WQE_WORDS + 3] &= ~1ull; }
/* And one that minds the signature, which is published as unchecked. */
static void minds_signature(struct rig *r)
{
	if (rig_wqe(r, M)[1] & 0xff)
		rig_wqe(r, M)[0] ^= (uint64_t)be32(0x40);
}

static void liars_are_found_out(void **state)
{
	static const struct rig_op op = { POST_WRITE, 8, 128, 256, 0, 0 }, two = { POST_INLINE2, 92, 0, 64, 0, 0 };
	struct rig r;
	int bit = -1;

	(void)state;
	open_bits(&r);
	assert_int_equal(check_wqe(&r, &op, blind_to_reserved_ds, 0, &bit), 1);
	assert_true(1ull << bit == pair32(0, be32(0x40)));
	assert_int_equal(check_wqe(&r, &op, blind_to_opmod, 0, &bit), 1);
	assert_true(1ull << bit == be32(0x01000000));
	assert_int_equal(check_wqe(&r, &two, blind_to_second_block, 0, &bit), 1);
	assert_int_equal(bit, (WQE_WORDS + 3) * 64);
	assert_int_equal(check_wqe(&r, &op, minds_signature, 0, &bit), 8);
	assert_in_range(bit, 64, 71);
	assert_int_equal(check_table(&r, (uint64_t *)&r.keys[RIG_LKEY >> 8], 4, blind_to_length, &bit), 1);
	assert_int_equal(bit, 128);
	assert_int_equal(check_table(&r, r.ptes, 2 * PAGES, blind_to_page_bit, &bit), 1);
	assert_int_equal(bit, PAGES * 64 + 11);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wqe_inline), cmocka_unit_test(wqe_of_two_blocks), cmocka_unit_test(wqe_pointer), cmocka_unit_test(wqe_read_and_nop),
		cmocka_unit_test(key_entries), cmocka_unit_test(page_entries), cmocka_unit_test(liars_are_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
