/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the engine's translation cache hits and misses as a direct-mapped one of so many
 * entries does: always after the first time where every translation has an entry, never
 * where two that alternate share one, and in any order as a model says that was written
 * apart from it. A hit is checked as a walk is: rights, range and tag of the key. What was
 * deregistered is never used again.
 *
 * Controls: a model of another size disagrees; without the generation the deregistered
 * entry is used, so the test would see one; tables that are spoiled behind the cache's back
 * show that a hit doesn't read them.
 */
#include "tests/engine_rig.h"

enum { LOG_N = 3, KEYS_MOST = 32, PAGES = 4, SEED = 4711 };

struct many {
	struct rig r;
	struct mkey *keys;       /* 1..m local ones, m + 1..2m remote ones, all of the whole range */
	uint32_t m;
	uint64_t *cache;
};

static uint32_t key_of(const struct many *x, int side, uint32_t k)
{
	return (1 + (side == RIG_REMOTE ? x->m : 0) + k) << 8 | (0x30 + k);
}

static void many_open(struct many *x, uint32_t m, uint32_t entries)
{
	memset(x, 0, sizeof(*x));
	rig_open(&x->r, LOG_N, 12, PAGES, 1);
	x->m = m;
	x->keys = rig_alloc(64, (1 + 2 * KEYS_MOST) * sizeof(struct mkey));
	x->cache = rig_alloc(64, cache_bytes(entries));
	for (int side = 0; side < RIG_SIDES; side++)
		for (uint32_t k = 0; k < m; k++) {
			struct mkey *e = &x->keys[key_of(x, side, k) >> 8];

			*e = x->r.keys[rig_key_of(side) >> 8];
			e->id = pair32(key_of(x, side, k), (uint32_t)(e->id >> 32));
		}
	x->r.e.tab.keys = x->keys;
	x->r.e.tab.nkeys = 1 + 2 * m;
	x->r.e.cache = (uint64_t)x->cache;
	x->r.e.cache_mask = entries - 1;
	x->r.usual = USUAL_CACHED;
	rig_reset(&x->r, 0);
}

static void many_close(struct many *x)
{
	free(x->keys);
	free(x->cache);
	rig_close(&x->r);
}

/* The record of message m, by the code that keeps one. */
static uint64_t looked_of(const struct many *x, uint64_t m)
{
	return ((const uint64_t *)x->r.stage)[(m & (RIG_BLOCK - 1)) * SINK_SLOTS + NS_LOOKED];
}

/* A message with these keys, at these offsets; how often it hit. */
static uint32_t hits_of(struct many *x, uint32_t lk, uint32_t rk, uint64_t loff, uint64_t roff, int kind, int instr)
{
	struct resolved to = { key_of(x, RIG_LOCAL, lk), key_of(x, RIG_REMOTE, rk), RIG_RVA + roff };
	uint64_t w[WQE_WORDS], m = x->r.s.pi, before = x->cache[1], looks = x->cache[0];

	wqe_build(&x->r.q, w, m, &to, RIG_LVA + loff, 8, kind);
	wqe_store(&x->r.q, m, w, 8, kind);
	rig_ring(&x->r, m + 1);
	assert_int_equal(rig_poll(&x->r, instr), 1);
	assert_int_equal(rig_syndrome(&x->r, x->r.s.cqes - 1, m), 0);
	assert_int_equal(x->cache[0] - looks, kind == POST_INLINE ? 1 : 2);
	if (instr != BARE)
		assert_int_equal(looked_of(x, m), cache_looked((uint32_t)(x->cache[0] - looks), (uint32_t)(x->cache[1] - before)));
	return (uint32_t)(x->cache[1] - before);
}

/* ---- what a direct-mapped cache does ---- */

static void in_turn(void **state)
{
	(void)state;
	for (uint32_t m = 1; m <= 16; m *= 2)
		for (uint32_t n = 1; n <= 32; n *= 2)
			for (int instr = 0; instr < INSTRS; instr++) {
				uint32_t inl = 0, both = 0, turns = 5;
				struct many x;

				many_open(&x, m, n);
				for (uint32_t i = 0; i < turns * m; i++)
					inl += hits_of(&x, i % m, i % m, 0, 0, POST_INLINE, instr);
				assert_int_equal(inl, n >= m ? (turns - 1) * m : 0);
				rig_reset(&x.r, 0);
				for (uint32_t i = 0; i < turns * m; i++)
					both += hits_of(&x, i % m, i % m, 0, 0, POST_WRITE, instr);
				/* n = m: a local and a remote key share an entry, both are looked up before
				 * either is put, and what misses takes the other's place: one hit of the two */
				assert_int_equal(both, n >= 2 * m ? 2 * (turns - 1) * m : n == m ? (turns - 1) * m : 0);
				many_close(&x);
			}
}

/* Another writing of the same rule: an entry remembers who was there last. */
static uint32_t model(uint64_t last[KEYS_MOST * 2], uint32_t entries, uint32_t index, uint64_t page)
{
	uint64_t me = (uint64_t)index * 1000 + page + 1, *e = &last[(index + page) % entries];
	uint32_t hit = *e == me;

	*e = me;
	return hit;
}

static void any_order(void **state)
{
	uint64_t seed = SEED;
	int other = 0;

	(void)state;
	for (uint32_t n = 1; n <= 32; n *= 2) {
		uint64_t last[KEYS_MOST * 2] = { 0 }, wrong[KEYS_MOST * 2] = { 0 };
		uint32_t m = 16, hits = 0;
		struct many x;

		many_open(&x, m, n);
		for (int i = 0; i < 3000; i++) {
			uint32_t lk = (uint32_t)draw_below(&seed, m), rk = (uint32_t)draw_below(&seed, m), want;
			uint64_t lp = draw_below(&seed, PAGES), rp = draw_below(&seed, PAGES);
			int kind = draw_below(&seed, 2) ? POST_INLINE : POST_WRITE, instr = (int)draw_below(&seed, INSTRS);
			uint32_t near_hit, far_hit;

			/* both are looked up before either is put */
			near_hit = kind == POST_WRITE && last[(1 + lk + lp) % n] == (1 + lk) * 1000ull + lp + 1;
			far_hit = model(last, n, 1 + m + rk, rp);
			if (kind == POST_WRITE) /* what is put last stays */
				last[(1 + lk + lp) % n] = near_hit ? last[(1 + lk + lp) % n] : (1 + lk) * 1000ull + lp + 1;
			want = near_hit + far_hit;
			other += model(wrong, 2 * n, 1 + m + rk, rp) != far_hit;
			assert_int_equal(hits_of(&x, lk, rk, lp << 12, rp << 12, kind, instr), want);
			hits += want;
		}
		if (n > 1)
			assert_true(hits > 0);
		many_close(&x);
	}
	assert_true(other > 100); /* control */
}

/* ---- what a hit must not get by ---- */

/* One remote message after another, by way of an entry that is there. */
static uint32_t try_op(struct rig *r, const struct rig_op *o, int instr)
{
	return rig_one(r, o, instr);
}

static void a_hit_is_checked_as_a_walk_is(void **state)
{
	static const struct { struct rig_op o; uint32_t says; } bad[] = {
		{ { POST_INLINE, 8, 0, (uint64_t)PAGES << 12, 0, 0 }, SYND_REMOTE_ACCESS },       /* behind the range */
		{ { POST_INLINE, 8, 0, ((uint64_t)PAGES << 12) - 4, 0, 0 }, SYND_REMOTE_ACCESS }, /* half of it */
		{ { POST_INLINE, 8, 0, 0, 0, RIG_RKEY ^ 1 }, SYND_REMOTE_ACCESS },                /* another tag */
		{ { POST_INLINE, 8, 0, 0, 0, RIG_LKEY }, SYND_REMOTE_ACCESS },                    /* a local key */
		{ { POST_WRITE, 8, 0, 0, RIG_LKEY ^ 0x80, 0 }, SYND_LOCAL_PROT },
		{ { POST_WRITE, 8, 0, 0, RIG_RKEY, 0 }, SYND_LOCAL_PROT },
		{ { POST_WRITE, 4096, ((uint64_t)PAGES << 12) - 4095, 0, 0, 0 }, SYND_LOCAL_PROT },
		{ { POST_WRITE, 12288, 4096, 8192, 0, 0 }, SYND_REMOTE_ACCESS },
	};
	static const struct rig_op good[] = { { POST_WRITE, 8, 0, 0, 0, 0 }, { POST_INLINE, 8, 0, 0, 0, 0 },
					      { POST_WRITE, 8, 12288, 12288, 0, 0 }, { POST_WRITE, 8, 4096, 8192, 0, 0 } };
	struct rig r;

	(void)state;
	rig_open(&r, LOG_N, 12, PAGES, 1);
	r.usual = USUAL_CACHED;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (int instr = 0; instr < INSTRS; instr++) {
			rig_reset(&r, 0);
			for (int k = 0; k < 2; k++) /* all of them are there then; and are good, the control */
				for (size_t g = 0; g < sizeof(good) / sizeof(good[0]); g++)
					assert_int_equal(try_op(&r, &good[g], instr), 0);
			assert_int_equal(try_op(&r, &bad[i].o, instr), bad[i].says);
			assert_int_equal(try_op(&r, &good[0], instr), SYND_FLUSHED);
		}
	/* a key that may be read from but not written to: in the cache by a read */
	r.keys[2].id ^= (uint64_t)MKEY_REMOTE_WRITE << 32;
	for (int instr = 0; instr < INSTRS; instr++) {
		static const struct rig_op read = { POST_READ, 8, 0, 0, 0, 0 };

		rig_reset(&r, 0);
		assert_int_equal(try_op(&r, &read, instr), 0);
		assert_int_equal(try_op(&r, &read, instr), 0);
		assert_int_equal(r.cache[1], 2);
		assert_int_equal(try_op(&r, &good[0], instr), SYND_REMOTE_ACCESS);
	}
	rig_close(&r);
}

/* ---- deregistration ---- */

/* A message, then its key's entry is taken away, and another message. `told`: the generation goes
 * up. What the second one ends with. */
static uint32_t after_deregistration(struct rig *r, int side, int kind, int told, int instr)
{
	struct rig_op o = { kind, 8, 64, 64, 0, 0 };
	struct mkey was = r->keys[rig_key_of(side) >> 8];
	uint32_t synd;

	rig_reset(r, 0);
	assert_int_equal(rig_one(r, &o, instr), 0);
	assert_int_equal(rig_one(r, &o, instr), 0);
	assert_true(r->cache[1] > 0);
	memset(&r->keys[rig_key_of(side) >> 8], 0, sizeof(was));
	if (told)
		st64_release_sys(r->generation, ld64(r->generation) + 1);
	synd = rig_one(r, &o, instr);
	r->keys[rig_key_of(side) >> 8] = was;
	return synd;
}

static void what_was_deregistered_is_never_used(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, LOG_N, 12, PAGES, 1);
	r.usual = USUAL_CACHED;
	for (int instr = 0; instr < INSTRS; instr++) {
		assert_int_equal(after_deregistration(&r, RIG_REMOTE, POST_INLINE, 1, instr), SYND_REMOTE_ACCESS);
		assert_int_equal(after_deregistration(&r, RIG_REMOTE, POST_WRITE, 1, instr), SYND_REMOTE_ACCESS);
		assert_int_equal(after_deregistration(&r, RIG_LOCAL, POST_WRITE, 1, instr), SYND_LOCAL_PROT);
		/* control: nobody tells the cache, and it is used */
		assert_int_equal(after_deregistration(&r, RIG_REMOTE, POST_INLINE, 0, instr), 0);
		assert_int_equal(after_deregistration(&r, RIG_LOCAL, POST_WRITE, 0, instr), 0);
	}
	rig_close(&r);
}

/* The same key for other memory: what lies behind the new page entries is written to, and
 * nothing behind the old ones. */
static void a_key_that_is_given_again_means_its_new_memory(void **state)
{
	static const struct rig_op o = { POST_INLINE, 8, 0, 128, 0, 0 };
	struct rig r;

	(void)state;
	rig_open(&r, LOG_N, 12, PAGES, 1);
	r.usual = USUAL_CACHED;
	for (int told = 0; told < 2; told++) {
		uint64_t was, now;

		rig_reset(&r, 0);
		assert_int_equal(rig_one(&r, &o, ALL), 0);
		was = *(uint64_t *)(r.pool[1] + 128);
		r.ptes[PAGES] = ((uint64_t)r.pool[1] + 4096) | PTE_PRESENT; /* page 0 of the range is page 1 of the pool */
		if (told)
			st64_release_sys(r.generation, ld64(r.generation) + 1);
		assert_int_equal(rig_one(&r, &o, ALL), 0);
		now = *(uint64_t *)(r.pool[1] + 128);
		/* control: untold, it goes to the old page */
		assert_int_equal(now == was, told);
		assert_int_equal(*(uint64_t *)(r.pool[1] + 4096 + 128) == payload_word(1, 0), told);
		r.ptes[PAGES] = (uint64_t)r.pool[1] | PTE_PRESENT;
	}
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_turn), cmocka_unit_test(any_order), cmocka_unit_test(a_hit_is_checked_as_a_walk_is),
		cmocka_unit_test(what_was_deregistered_is_never_used),
		cmocka_unit_test(a_key_that_is_given_again_means_its_new_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
