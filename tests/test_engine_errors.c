/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the software NIC says what is wrong by the syndromes of hardware:
 * opcode, DS, queue number or index 0x02; length 0x01; local key, range, rights
 * or page 0x04; remote ones 0x13. After an error the queue flushes (0x05), and
 * moves nothing. CQEs carry counter, queue number, opcode and the owner bit of
 * their lap. Controls: the same messages without the mistake succeed, and every
 * flushed one would have moved its payload.
 */
#include "tests/engine_rig.h"

enum { PAGES = 3, LOG_N = 4 };
#define RANGE (2 * 4096 + 100)

static struct rig r;

static int setup(void **state)
{
	(void)state;
	rig_open(&r, LOG_N, 12, PAGES, 7);
	rig_tables(&r, RANGE, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&r);
	return 0;
}

static int memory_is_untouched(void)
{
	return !memcmp(r.pool[0], r.pristine[0], r.pool_bytes) && !memcmp(r.pool[1], r.pristine[1], r.pool_bytes);
}

static const struct rig_op plain[] = {
	{ POST_INLINE, 8, 0, 64, 0, 0 }, { POST_INLINE, 28, 0, 64, 0, 0 }, { POST_WRITE, 8, 128, 256, 0, 0 },
	{ POST_WRITE, 5000, 100, 200, 0, 0 }, { POST_READ, 8, 128, 256, 0, 0 }, { POST_READ, 5000, 100, 200, 0, 0 },
};
enum { PLAIN = sizeof(plain) / sizeof(plain[0]) };

/* A mistake in the WQE: word, what is XORed, kinds that have the field. */
static const struct { int word; uint32_t at0, at4; uint32_t syndrome; int kinds; const char *what; } wrongs[] = {
#define ALL (1 << POST_INLINE | 1 << POST_WRITE | 1 << POST_READ)
#define POINTER (1 << POST_WRITE | 1 << POST_READ)
	{ 0, 0x00000020, 0, SYND_LOCAL_QP_OP, ALL, "opcode" },
	{ 0, 0x00000001, 0, SYND_LOCAL_QP_OP, ALL, "opcode with immediate" },
	{ 0, 0x01000000, 0, SYND_LOCAL_QP_OP, ALL, "opmod" },
	{ 0, 0x00000100, 0, SYND_LOCAL_QP_OP, ALL, "index, of another slot" },
	{ 0, 0x00100000, 0, SYND_LOCAL_QP_OP, ALL, "index, of another lap" },
	{ 0, 0, 0x00000100, SYND_LOCAL_QP_OP, ALL, "queue number" },
	{ 0, 0, 0x00000008, SYND_LOCAL_QP_OP, ALL, "DS" },
	{ 0, 0, 0x00000080, SYND_LOCAL_QP_OP, ALL, "reserved beside DS" },
	{ 0, 0, 0x00000004, SYND_LOCAL_QP_OP, ALL, "DS, 3 for 7 or 4 for 0" },
	{ 4, 0x40000000, 0, SYND_LOCAL_LENGTH, POINTER, "length, over 1 GiB" },
	{ 4, 0x00000020, 0, SYND_LOCAL_LENGTH, 1 << POST_INLINE, "length, over what is inline" },
	{ 4, 0x00000010, 0, SYND_LOCAL_LENGTH, 1 << POST_INLINE, "length and DS disagree" },
	{ 4, 0x80000000, 0, SYND_LOCAL_QP_OP, 1 << POST_READ, "an inline read" },
	{ 4, 0, 0x00000001, SYND_LOCAL_PROT, POINTER, "local key, its tag" },
	{ 4, 0, 0x00000200, SYND_LOCAL_PROT, POINTER, "local key, its index" },
	{ 4, 0, 0x80000000, SYND_LOCAL_PROT, POINTER, "local key, beyond the table" },
	{ 5, 0x00010000, 0, SYND_LOCAL_PROT, POINTER, "local address, far off" },
	{ 5, 0, 0x00010000, SYND_LOCAL_PROT, POINTER, "local address" },
	{ 3, 0x00000001, 0, SYND_REMOTE_ACCESS, ALL, "remote key, its tag" },
	{ 3, 0x80000000, 0, SYND_REMOTE_ACCESS, ALL, "remote key, beyond the table" },
	{ 2, 0x00010000, 0, SYND_REMOTE_ACCESS, ALL, "remote address, far off" },
	{ 2, 0, 0x00010000, SYND_REMOTE_ACCESS, ALL, "remote address" },
};

static void wrong_wqes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++)
		for (int k = 0; k < INSTRS * PLAIN; k++) {
			const struct rig_op *o = &plain[k / INSTRS];
			uint64_t m = 3u << LOG_N | 5;
			uint32_t got;

			if (!(wrongs[i].kinds >> o->kind & 1))
				continue;
			rig_reset(&r, m);
			rig_put(&r, m, o);
			rig_wqe(&r, m)[wrongs[i].word] ^= pair32(be32(wrongs[i].at0), be32(wrongs[i].at4));
			rig_ring(&r, m + 1);
			assert_int_equal(rig_poll(&r, k % INSTRS), 1);
			got = rig_syndrome(&r, 0, m);
			if (got != wrongs[i].syndrome || r.s.error != got)
				fail_msg("%s, kind %d, %u bytes: syndrome 0x%02x, should be 0x%02x", wrongs[i].what, o->kind,
					 o->len, got, wrongs[i].syndrome);
			assert_true(memory_is_untouched());
		}
	for (int k = 0; k < INSTRS * PLAIN; k++) { /* control */
		rig_reset(&r, 0);
		assert_int_equal(rig_one(&r, &plain[k / INSTRS], k % INSTRS), 0);
		assert_false(memory_is_untouched());
	}
}

/* Lengths that are no fault of a key: none, and more than a message may have. */
static void wrong_lengths(void **state)
{
	struct rig_op o = { POST_WRITE, 0, 0, 0, 0, 0 };

	(void)state;
	/* an empty pointer write has no data segment; with one it is wrong */
	rig_reset(&r, 0);
	rig_put(&r, 0, &o);
	rig_wqe(&r, 0)[0] ^= pair32(0, be32(0x01));
	rig_ring(&r, 1);
	assert_int_equal(rig_poll(&r, 0), 1);
	assert_int_equal(rig_syndrome(&r, 0, 0), SYND_LOCAL_LENGTH);
	rig_reset(&r, 0); /* control */
	assert_int_equal(rig_one(&r, &o, 0), 0);
	o.len = WQE_LEN_MAX + 1;
	rig_reset(&r, 0);
	assert_int_equal(rig_one(&r, &o, 0), SYND_LOCAL_LENGTH);
	o.len = WQE_LEN_MAX; /* a legal length; it is the range that is too short */
	rig_reset(&r, 0);
	assert_int_equal(rig_one(&r, &o, 0), SYND_LOCAL_PROT);
}

/* WQEs of two blocks: half announced, or followed by others. After an error each is flushed
 * as one message, whatever it would have been. */
static void two_blocks(void **state)
{
	static const struct rig_op two = { POST_INLINE2, 92, 0, 64, 0, 0 }, one = { POST_INLINE, 28, 0, 640, 0, 0 };

	(void)state;
	for (int k = 0; k < USUALS * INSTRS; k++) {
		uint64_t m = (7u << LOG_N) - 3;

		r.usual = k / INSTRS;
		rig_reset(&r, m);
		rig_put(&r, m, &two);
		rig_ring(&r, m + 1); /* half of it */
		assert_int_equal(rig_poll(&r, k % INSTRS), 1);
		assert_int_equal(rig_syndrome(&r, 0, m), SYND_LOCAL_QP_OP);
		assert_true(memory_is_untouched());
		rig_reset(&r, m);
		rig_put(&r, m, &one);
		rig_put(&r, m + 1, &two);
		rig_put(&r, m + 3, &one); /* behind the wrap */
		rig_put(&r, m + 4, &two);
		rig_ring(&r, m + 6); /* control: all of them */
		assert_int_equal(rig_poll(&r, k % INSTRS), 4);
		assert_int_equal(rig_syndrome(&r, 0, m), 0);
		assert_int_equal(rig_syndrome(&r, 1, m + 1), 0);
		assert_int_equal(rig_syndrome(&r, 2, m + 3), 0);
		assert_int_equal(rig_syndrome(&r, 3, m + 4), 0);
		rig_reset(&r, m);
		rig_put(&r, m, &one);
		rig_put(&r, m + 1, &two);
		rig_put(&r, m + 3, &one);
		rig_put(&r, m + 4, &two);
		rig_wqe(&r, m)[3] ^= be32(1);
		rig_ring(&r, m + 6);
		assert_int_equal(rig_poll(&r, k % INSTRS), 4);
		assert_int_equal(rig_syndrome(&r, 0, m), SYND_REMOTE_ACCESS);
		assert_int_equal(rig_syndrome(&r, 1, m + 1), SYND_FLUSHED);
		assert_int_equal(rig_syndrome(&r, 2, m + 3), SYND_FLUSHED);
		assert_int_equal(rig_syndrome(&r, 3, m + 4), SYND_FLUSHED);
		assert_true(memory_is_untouched());
	}
	r.usual = USUAL;
}

/* A range from its first byte to its last, and one byte more, on either side. */
static void ranges(void **state)
{
	static const uint32_t lens[] = { 1, 8, 20, 4096, RANGE };

	(void)state;
	for (int kind = 0; kind < POST_NOP; kind++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			struct rig_op o = { kind, lens[i], RANGE - lens[i], RANGE - lens[i], 0, 0 };

			if (kind == POST_INLINE && lens[i] > WQE_INLINE_MAX)
				continue;
			rig_reset(&r, 0);
			assert_int_equal(rig_one(&r, &o, 0), 0);
			o.roff++;
			rig_reset(&r, 0);
			assert_int_equal(rig_one(&r, &o, 0), SYND_REMOTE_ACCESS);
			o.roff = (uint64_t)-1; /* a byte before the range */
			rig_reset(&r, 0);
			assert_int_equal(rig_one(&r, &o, 0), SYND_REMOTE_ACCESS);
			o.roff = 0;
			o.loff++;
			rig_reset(&r, 0);
			assert_int_equal(rig_one(&r, &o, 0), kind == POST_INLINE ? 0 : SYND_LOCAL_PROT);
			assert_int_equal(memory_is_untouched(), kind != POST_INLINE);
		}
}

/* Each right is asked for by one operation, on one side, and by no other. */
static void rights(void **state)
{
	(void)state;
	for (int k = 0; k < PLAIN; k++)
		for (uint32_t flags = 0; flags < 32; flags++) {
			const struct rig_op *o = &plain[k];
			uint32_t local = o->kind == POST_READ ? MKEY_LOCAL_WRITE : MKEY_LOCAL_READ;
			uint32_t remote = o->kind == POST_READ ? MKEY_REMOTE_READ : MKEY_REMOTE_WRITE;
			uint64_t id = r.keys[1].id;

			r.keys[1].id = pair32(RIG_LKEY, flags | 12 << MKEY_SHIFT_BIT);
			rig_reset(&r, 0);
			assert_int_equal(rig_one(&r, o, 0), o->kind == POST_INLINE ||
					 (flags & (local | MKEY_VALID)) == (local | MKEY_VALID) ? 0 : SYND_LOCAL_PROT);
			r.keys[1].id = id;
			id = r.keys[2].id;
			r.keys[2].id = pair32(RIG_RKEY, flags | 12 << MKEY_SHIFT_BIT);
			rig_reset(&r, 0);
			assert_int_equal(rig_one(&r, o, 0),
					 (flags & (remote | MKEY_VALID)) == (remote | MKEY_VALID) ? 0 : SYND_REMOTE_ACCESS);
			r.keys[2].id = id;
		}
}

/* An entry that contradicts itself is no use, whatever it is used for. */
static void key_entries(void **state)
{
	static const struct { int word; uint64_t spoil; const char *what; } spoils[] = {
		{ 0, 1ull << 32, "not valid" }, { 0, 0x20ull << 32, "a flag that means nothing" },
		{ 0, 1ull << 40, "a page size that is none" }, { 1, 8, "a start inside a page" },
		{ 2, 1ull << 13, "longer than its pages" }, { 3, 1ull << 63, "pages beyond the table" },
		{ 3, 1ull << 20, "a first page beyond the table" }, { 3, 2ull << 32, "another number of pages" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++)
		for (int k = 0; k < 2 * PLAIN; k++) {
			const struct rig_op *o = &plain[k / 2];
			uint64_t *word = (uint64_t *)&r.keys[1 + (k & 1)] + spoils[i].word;
			uint32_t want = k & 1 ? SYND_REMOTE_ACCESS : o->kind == POST_INLINE ? 0 : SYND_LOCAL_PROT, got;

			rig_reset(&r, 0);
			*word ^= spoils[i].spoil;
			got = rig_one(&r, o, BARE);
			*word ^= spoils[i].spoil;
			if (got != want)
				fail_msg("%s, key %d: syndrome 0x%02x, should be 0x%02x", spoils[i].what, 1 + (k & 1), got, want);
			assert_int_equal(memory_is_untouched(), got != 0);
		}
}

/* A page that is not there, the first of a range or a later one, is the fault of
 * the side that it is on. */
static void pages(void **state)
{
	static const struct rig_op ops[] = {
		{ POST_INLINE, 28, 0, 4090, 0, 0 }, { POST_WRITE, 300, 4000, 4000, 0, 0 },
		{ POST_READ, 300, 4000, 4000, 0, 0 }, { POST_WRITE, 40, 4080, 4080, 0, 0 },
		{ POST_READ, 40, 4080, 4080, 0, 0 },
	};
	static const uint64_t spoils[] = { 1, 0x800, 1ull << 62, 1ull << 40 };

	(void)state;
	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		for (uint32_t page = 0; page < 2 * PAGES; page++)
			for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
				int remote = page >= PAGES, used = page % PAGES < 2;
				uint32_t want = !used || (!remote && ops[k].kind == POST_INLINE) ? 0 :
						remote ? SYND_REMOTE_ACCESS : SYND_LOCAL_PROT, got;

				rig_reset(&r, 0);
				r.ptes[page] ^= spoils[i];
				got = rig_one(&r, &ops[k], 0);
				r.ptes[page] ^= spoils[i];
				if (got != want)
					fail_msg("operation %zu, page entry %u ^ %llx: syndrome 0x%02x, should be 0x%02x", k,
						 page, (unsigned long long)spoils[i], got, want);
				assert_int_equal(memory_is_untouched(), got != 0);
			}
	/* more pages than the engine has room for */
	r.e.xlat_pages = 1;
	rig_reset(&r, 0);
	assert_int_equal(rig_one(&r, &ops[0], 0), SYND_REMOTE_ACCESS);
	rig_reset(&r, 0);
	assert_int_equal(rig_one(&r, &ops[1], 0), SYND_LOCAL_PROT);
	r.e.xlat_pages = PAGES + 1;
}

/* What follows a mistake is flushed, whatever it is, in one doorbell or later. */
static void flushes(void **state)
{
	static const struct rig_op wrong = { POST_WRITE, 8, 0, 0, RIG_LKEY + 1, 0 };

	(void)state;
	for (int batch = 0; batch < 2; batch++) {
		rig_reset(&r, 0);
		for (uint64_t m = 0; m < 8; m++) {
			rig_put(&r, m, m == 2 ? &wrong : &plain[m % PLAIN]);
			if (!batch) {
				rig_ring(&r, m + 1);
				assert_int_equal(rig_poll(&r, 0), 1);
			}
		}
		if (batch) {
			rig_ring(&r, 8);
			assert_int_equal(rig_poll(&r, 0), 8);
		}
		assert_int_equal(r.s.cqes, 8);
		for (uint64_t m = 0; m < 8; m++)
			assert_int_equal(rig_syndrome(&r, m, m), m < 2 ? 0 : m == 2 ? SYND_LOCAL_PROT : SYND_FLUSHED);
		assert_int_equal(r.s.error, SYND_LOCAL_PROT);
	}
	/* a bad one reports though nobody asked for a CQE, a good one does not */
	rig_reset(&r, 0);
	for (uint64_t m = 0; m < 3; m++) {
		rig_put(&r, m, m == 1 ? &wrong : &plain[2]);
		rig_wqe(&r, m)[1] = 0;
	}
	rig_ring(&r, 3);
	assert_int_equal(rig_poll(&r, 0), 3);
	assert_int_equal(r.s.cqes, 2);
	assert_int_equal(rig_syndrome(&r, 0, 1), SYND_LOCAL_PROT);
	assert_int_equal(rig_syndrome(&r, 1, 2), SYND_FLUSHED);
}

/* Fields over many laps of the ring, and over the wrap of the 16-bit counter. */
static void cqe_fields_over_laps(void **state)
{
	uint64_t first = 0xffff - (3u << LOG_N);

	(void)state;
	rig_reset(&r, first);
	for (uint64_t i = 0; i < 8u << LOG_N; i++) {
		const struct rig_op *o = &plain[i % PLAIN];
		const uint64_t *c;

		assert_int_equal(rig_one(&r, o, (int)(i % INSTRS)), 0);
		c = rig_cqe(&r, i);
		assert_int_equal(cqe_owner(c[7]), i >> LOG_N & 1);
		assert_int_equal(cqe_counter(c[7]), (first + i) & 0xffff);
		assert_int_equal(cqe_byte_cnt(c[5]), o->len);
		assert_int_equal((uint8_t)c[7], o->kind == POST_READ ? WQE_READ : WQE_WRITE);
		/* control: a lap later it is not valid */
		assert_false(cqe_valid(c[7], cqe_lap(i + (1u << LOG_N), LOG_N)));
	}
	assert_int_equal(r.s.pi - first, 8u << LOG_N);
	assert_int_equal(r.st.stale_wqe, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(wrong_wqes), T(wrong_lengths), T(two_blocks), T(ranges), T(rights), T(key_entries), T(pages), T(flushes), T(cqe_fields_over_laps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
