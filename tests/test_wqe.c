/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the queue formats are mlx5's: WQEs, doorbell, doorbell record and CQE
 * have their fields where infiniband/mlx5dv.h has them, and codes their values.
 * Bytes are compared twice: with what this file writes by hand, and, where that
 * header is installed, with what its structs and its own functions make. The
 * control flips each byte of a WQE and must be seen by the same comparison.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "stages/queue/queue.h"
#if HAVE_MLX5DV
#include <endian.h>
#include <infiniband/mlx5dv.h>
#endif

#define QPN 0xabcdefu
#define LKEY 0x00123456u
#define RKEY 0x0789abcdu
#define LADDR 0x1122334455667788ull
#define RADDR 0x99aabbccddeeff01ull

/* What is built: the sizes are those around the ends of a segment. */
static const struct shape { int kind; uint32_t len; uint32_t ds; } shapes[] = {
	{ POST_INLINE, 0, 3 }, { POST_INLINE, 4, 3 }, { POST_INLINE, 8, 3 }, { POST_INLINE, 12, 3 },
	{ POST_INLINE, 13, 4 }, { POST_INLINE, 28, 4 },
	{ POST_WRITE, 0, 2 }, { POST_WRITE, 1, 3 }, { POST_WRITE, 1 << 24, 3 },
	{ POST_READ, 0, 2 }, { POST_READ, 4096, 3 }, { POST_NOP, 0, 1 },
	{ POST_INLINE2, 29, 5 }, { POST_INLINE2, 44, 5 }, { POST_INLINE2, 45, 6 }, { POST_INLINE2, 60, 6 },
	{ POST_INLINE2, 61, 7 }, { POST_INLINE2, 76, 7 }, { POST_INLINE2, 77, 8 }, { POST_INLINE2, 92, 8 },
};
enum { BYTES = WQE_BLOCKS_MAX * WQEBB };
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
static const uint64_t messages[] = { 0, 1, 0x1234, 0xffff, 0x10000, 0x123456789a };
#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

static void put_be(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

/* Of message m; of two blocks an odd one, so that one in two wraps in a ring of four. */
static uint64_t index_of(uint64_t m, const struct shape *s) { return s->kind == POST_INLINE2 ? 2 * m + 1 : m; }

static uint8_t opcode_of(int kind)
{
	return kind == POST_NOP ? 0x00 : kind == POST_READ ? 0x10 : 0x08;
}

static void payload_bytes(uint64_t m, uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(payload_word(m, i / 8) >> i % 8 * 8);
}

/* By hand, from the table of the format; returns the bytes that it has. */
static uint32_t by_hand(uint8_t w[BYTES], uint64_t m, const struct shape *s)
{
	memset(w, 0, BYTES);
	put_be(w, (index_of(m, s) & 0xffff) << 8 | opcode_of(s->kind), 4);
	put_be(w + 4, QPN << 8 | s->ds, 4);
	w[11] = 0x08; /* a CQE, please */
	if (s->kind == POST_NOP)
		return 16;
	put_be(w + 16, RADDR, 8);
	put_be(w + 24, RKEY, 4);
	if (post_is_inline(s->kind)) {
		put_be(w + 32, 0x80000000u | s->len, 4);
		payload_bytes(m, w + 36, s->len);
		return 36 + s->len;
	}
	if (s->len) {
		put_be(w + 32, s->len, 4);
		put_be(w + 36, LKEY, 4);
		put_be(w + 40, LADDR, 8);
	}
	return s->ds * 16;
}

/* As the program builds and stores it, over a slot full of `before`. */
static void as_stored(uint8_t w[BYTES], uint64_t m, const struct shape *s, int before)
{
	_Alignas(64) uint8_t ring[4 * WQEBB];
	struct queue q = { .wq = ring, .log_n = 2, .qpn = QPN };
	struct resolved x = { LKEY, RKEY, RADDR };
	uint64_t words[WQE_WORDS], second[WQE_WORDS], at = index_of(m, s), blocks = post_blocks(s->kind);

	memset(ring, before, sizeof(ring));
	wqe_build_at(&q, words, at, m, &x, LADDR, s->len, s->kind);
	wqe_store(&q, at, words, s->len, s->kind);
	if (blocks > 1) {
		wqe_build_second(second, m);
		wqe_store_second(&q, at, second, s->len);
	}
	memcpy(w, ring + (at & 3) * WQEBB, WQEBB);
	memcpy(w + WQEBB, ring + ((at + 1) & 3) * WQEBB, WQEBB); /* behind the last slot is the first */
	for (uint64_t i = 0; i < 4; i++) /* and no other slot was touched */
		for (int b = 0; ((i - at) & 3) >= blocks && b < WQEBB; b++)
			assert_int_equal(ring[i * WQEBB + (uint64_t)b], before);
}

static int same(const uint8_t *got, const uint8_t *want, uint32_t n)
{
	return !memcmp(got, want, n);
}

static void wqe_is_the_format(void **state)
{
	uint8_t got[BYTES], want[BYTES];

	(void)state;
	for (size_t i = 0; i < SHAPES * MESSAGES; i++) {
		const struct shape *s = &shapes[i / MESSAGES];
		uint64_t m = messages[i % MESSAGES];
		uint32_t n = by_hand(want, m, s);

		for (int before = 0; before < 256; before += 0xa5) {
			as_stored(got, m, s, before);
			assert_int_equal(wqe_blocks(s->ds), post_blocks(s->kind));
			assert_true(same(got, want, n));
			/* nothing behind the last segment */
			for (uint32_t b = s->ds * 16; b < BYTES; b++)
				assert_int_equal(got[b], before);
		}
		/* control: each byte counts */
		for (uint32_t b = 0; b < n; b++) {
			want[b] ^= 1;
			assert_false(same(got, want, n));
			want[b] ^= 1;
		}
	}
}

/* What is read out of a control segment is what was put in. */
static void ctrl_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < MESSAGES; i++) {
		uint64_t w = wqe_ctrl0(messages[i], WQE_READ, QPN, 0x3f);

		assert_int_equal(ctrl_index(w), messages[i] & 0xffff);
		assert_int_equal(ctrl_opcode(w), 0x10);
		assert_int_equal(ctrl_qpn(w), QPN);
		assert_int_equal(ctrl_ds(w), 0x3f);
		assert_int_equal(ctrl_opmod(w), 0);
		assert_int_equal(ctrl_ds_rsvd(w), 0);
		assert_int_equal(ctrl_ds_rsvd(w ^ pair32(0, be32(0xc0))), 0xc0);
		assert_int_equal(ctrl_opmod(w ^ be32(0x5a000000)), 0x5a);
	}
	assert_int_equal(ctrl_fm_ce_se(wqe_ctrl1(0xea)), 0xea);
}

static void doorbell_and_record(void **state)
{
	static const struct { uint64_t first; uint32_t ds, next; } last[] = {
		{ 0, 1, 1 }, { 41, 3, 42 }, { 41, 4, 42 }, { 41, 5, 43 }, { 41, 8, 43 }, { 41, 9, 44 },
		{ 0xffff, 4, 0 }, { 0xffff, 5, 1 }, { 0x2ffff, 3, 0 },
	};
	uint8_t b[8];
	uint64_t v;
	uint32_t rec;

	(void)state;
	for (size_t i = 0; i < MESSAGES; i++) {
		/* DOCA: the next free index, DS 0 */
		v = doorbell_value(messages[i], QPN);
		memcpy(b, &v, 8);
		assert_int_equal((uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3], (messages[i] & 0xffff) << 8);
		assert_int_equal((uint32_t)b[4] << 24 | b[5] << 16 | b[6] << 8 | b[7], QPN << 8);
		assert_int_equal(doorbell_next(v), messages[i] & 0xffff);
		rec = dbrec_value(messages[i]);
		memcpy(b, &rec, 4);
		assert_int_equal((uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3], messages[i] & 0xffff);
		assert_int_equal(dbrec_index(rec), messages[i] & 0xffff);
	}
	/* rdma-core: the last WQE's own words; basic blocks are counted */
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		assert_int_equal(doorbell_next(wqe_ctrl0(last[i].first, WQE_WRITE, QPN, last[i].ds)), last[i].next);
	assert_int_equal(DBREC_RECV, 0);
	assert_int_equal(DBREC_SEND, 4);
	assert_int_equal(DBREC_SIZE, 8);
}

/* A CQE by its words, as bytes. */
static void cqe_bytes(uint8_t c[64], uint32_t vendor, uint32_t syndrome, uint64_t index, uint32_t opcode, uint32_t owner)
{
	uint64_t w[8] = { 0 };

	w[5] = cqe_word5(0x01020304);
	w[6] = cqe_word6_error(vendor, syndrome);
	w[7] = cqe_word7(WQE_WRITE, QPN, index, opcode, owner);
	memcpy(c, w, 64);
}

static void cqe_fields(void **state)
{
	uint8_t c[64];
	uint64_t w[8];

	(void)state;
	for (uint32_t k = 0; k < 32; k++) {
		cqe_bytes(c, 0x77, 0x13, 0x3beef, k >> 1, k & 1);
		memcpy(w, c, 64);
		assert_int_equal(c[44] << 24 | c[45] << 16 | c[46] << 8 | c[47], 0x01020304);
		assert_int_equal(c[54], 0x77);
		assert_int_equal(c[55], 0x13);
		assert_int_equal(c[56], WQE_WRITE);
		assert_int_equal(c[57] << 16 | c[58] << 8 | c[59], QPN);
		assert_int_equal(c[60] << 8 | c[61], 0xbeef);
		assert_int_equal(c[62], 0);
		assert_int_equal(c[63], (k >> 1) << 4 | (k & 1));
		assert_int_equal(cqe_byte_cnt(w[5]), 0x01020304);
		assert_int_equal(cqe_vendor(w[6]), 0x77);
		assert_int_equal(cqe_syndrome(w[6]), 0x13);
		assert_int_equal(cqe_qpn(w[7]), QPN);
		assert_int_equal(cqe_counter(w[7]), 0xbeef);
		assert_int_equal(cqe_opcode(w[7]), k >> 1);
		assert_int_equal(cqe_owner(w[7]), k & 1);
		/* of this lap, and not invalid: a ring of four */
		for (uint64_t ci = 0; ci < 16; ci++)
			assert_int_equal(!!cqe_valid(w[7], cqe_lap(ci, 2)), k >> 1 != 15 && (k & 1) == ((ci & 4) != 0));
	}
	memset(w, 0xff, sizeof(w)); /* what a ring is filled with at first */
	assert_false(cqe_valid(w[7], 0) || cqe_valid(w[7], 1));
}

/* A collapsed CQE speaks for its own index and for those before it, over the wrap of 16 bits;
 * and for none when nothing has been written. */
static void collapsed_cqe_covers(void **state)
{
	static const uint32_t at[] = { 0, 1, 1000, 0x7fff, 0x8000, 0xfffe, 0xffff };
	static const uint32_t windows[] = { 1, 4, 1024, 32768 };

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		for (size_t k = 0; k < sizeof(windows) / sizeof(windows[0]); k++)
			for (uint32_t d = 0; d < windows[k]; d++) {
				uint64_t w7 = cqe_word7(WQE_WRITE, QPN, at[i] + d, CQE_REQ, d & 1);

				assert_true(cqe_covers(w7, at[i], windows[k]));
				w7 = cqe_word7(WQE_WRITE, QPN, (uint64_t)at[i] + 0x10000 - 1 - d, CQE_REQ, d & 1);
				assert_false(cqe_covers(w7, at[i], windows[k]));
			}
	assert_false(cqe_covers(~0ull, 0, 1)); /* what it is filled with at first */
	assert_false(cqe_covers(~0ull, 7, 8));
}

/* Which messages ask: by hand. */
static void who_asks(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 64; k *= 2)
		for (uint64_t last = 1; last < 150; last += 7) {
			struct asking a = { k - 1, last };

			for (uint64_t m = 0; m < last + 2 * k; m++) {
				uint64_t next = m;

				assert_int_equal(!!message_asks(&a, m), (m + 1) % k == 0 || m + 1 == last);
				while ((next + 1) % k && next + 1 != last)
					next++;
				assert_int_equal(message_asking(&a, m), next);
			}
		}
}

#if HAVE_MLX5DV
static void codes_are_the_headers(void **state)
{
	(void)state;
	assert_int_equal(WQE_NOP, MLX5_OPCODE_NOP);
	assert_int_equal(WQE_WRITE, MLX5_OPCODE_RDMA_WRITE);
	assert_int_equal(WQE_READ, MLX5_OPCODE_RDMA_READ);
	assert_int_equal(WQEBB, MLX5_SEND_WQE_BB);
	assert_int_equal(WQE_CQ_UPDATE, MLX5_WQE_CTRL_CQ_UPDATE);
	assert_int_equal(WQE_INLINE, (uint32_t)MLX5_INLINE_SEG);
	assert_int_equal(DBREC_RECV, 4 * MLX5_RCV_DBR);
	assert_int_equal(DBREC_SEND, 4 * MLX5_SND_DBR);
	assert_int_equal(CQE_REQ, MLX5_CQE_REQ);
	assert_int_equal(CQE_REQ_ERR, MLX5_CQE_REQ_ERR);
	assert_int_equal(CQE_RESP_ERR, MLX5_CQE_RESP_ERR);
	assert_int_equal(CQE_INVALID, MLX5_CQE_INVALID);
	assert_int_equal(SYND_LOCAL_LENGTH, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
	assert_int_equal(SYND_LOCAL_QP_OP, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	assert_int_equal(SYND_LOCAL_PROT, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	assert_int_equal(SYND_FLUSHED, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	assert_int_equal(SYND_LOCAL_ACCESS, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
	assert_int_equal(SYND_REMOTE_INVALID, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	assert_int_equal(SYND_REMOTE_ACCESS, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	assert_int_equal(SYND_REMOTE_OP, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	assert_int_equal(WQE_SEG, sizeof(struct mlx5_wqe_ctrl_seg));
	assert_int_equal(WQE_SEG, sizeof(struct mlx5_wqe_raddr_seg));
	assert_int_equal(WQE_SEG, sizeof(struct mlx5_wqe_data_seg));
	assert_int_equal(CQE_SIZE, sizeof(struct mlx5_cqe64));
	assert_int_equal(CQE_SIZE, sizeof(struct mlx5_err_cqe));
}

/* Through the header's structs and its own setters. */
static uint32_t by_header(uint8_t w[BYTES], uint64_t m, const struct shape *s)
{
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_raddr_seg raddr = { htobe64(RADDR), htobe32(RKEY), 0 };
	struct mlx5_wqe_data_seg data;
	struct mlx5_wqe_inl_data_seg inl = { htobe32(s->len | MLX5_INLINE_SEG) };

	memset(w, 0, BYTES);
	memset(&ctrl, 0, sizeof(ctrl));
	mlx5dv_set_ctrl_seg(&ctrl, (uint16_t)index_of(m, s), opcode_of(s->kind), 0, QPN, MLX5_WQE_CTRL_CQ_UPDATE,
			    (uint8_t)s->ds, 0, 0);
	memcpy(w, &ctrl, 16);
	if (s->kind == POST_NOP)
		return 16;
	memcpy(w + 16, &raddr, 16);
	if (post_is_inline(s->kind)) {
		memcpy(w + 32, &inl, sizeof(inl));
		payload_bytes(m, w + 32 + sizeof(inl), s->len);
		return 32 + (uint32_t)sizeof(inl) + s->len;
	}
	if (s->len) {
		mlx5dv_set_data_seg(&data, s->len, LKEY, LADDR);
		memcpy(w + 32, &data, 16);
	}
	return s->ds * 16;
}

static void wqe_is_the_headers(void **state)
{
	uint8_t got[BYTES], want[BYTES];

	(void)state;
	for (size_t i = 0; i < SHAPES * MESSAGES; i++) {
		const struct shape *s = &shapes[i / MESSAGES];
		uint64_t m = messages[i % MESSAGES];
		uint32_t n = by_header(want, m, s);

		as_stored(got, m, s, 0);
		assert_true(same(got, want, n));
		want[i % n] ^= 0x10; /* control */
		assert_false(same(got, want, n));
	}
}

static void cqe_is_the_headers(void **state)
{
	struct mlx5_cqe64 c;
	struct mlx5_err_cqe e;

	(void)state;
	for (uint32_t k = 0; k < 32; k++) {
		cqe_bytes((uint8_t *)&c, 0x77, 0x13, 0x3beef, k >> 1, k & 1);
		memcpy(&e, &c, sizeof(e));
		assert_int_equal(be32toh(c.byte_cnt), 0x01020304);
		assert_int_equal(be32toh(c.sop_drop_qpn), WQE_WRITE << 24 | QPN);
		assert_int_equal(be16toh(c.wqe_counter), 0xbeef);
		assert_int_equal(mlx5dv_get_cqe_opcode(&c), k >> 1);
		assert_int_equal(mlx5dv_get_cqe_owner(&c), k & 1);
		assert_int_equal(e.syndrome, 0x13);
		assert_int_equal(e.vendor_err_synd, 0x77);
		assert_int_equal(be32toh(e.s_wqe_opcode_qpn), WQE_WRITE << 24 | QPN);
	}
	/* control: the fields lie where they do, and not beside it */
	assert_int_equal(offsetof(struct mlx5_cqe64, byte_cnt), 44);
	assert_int_equal(offsetof(struct mlx5_cqe64, op_own), 63);
	assert_int_equal(offsetof(struct mlx5_err_cqe, syndrome), 55);
}
#else
static void codes_are_the_headers(void **state)
{
	(void)state;
	print_message("infiniband/mlx5dv.h is not installed: not compared with it\n");
	skip();
}
#define wqe_is_the_headers codes_are_the_headers
#define cqe_is_the_headers codes_are_the_headers
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wqe_is_the_format), cmocka_unit_test(ctrl_fields),
		cmocka_unit_test(doorbell_and_record), cmocka_unit_test(cqe_fields),
		cmocka_unit_test(collapsed_cqe_covers), cmocka_unit_test(who_asks),
		cmocka_unit_test(codes_are_the_headers), cmocka_unit_test(wqe_is_the_headers),
		cmocka_unit_test(cqe_is_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
