/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: an issuer never has more under way than the queue's depth; it reads the
 * consumer index from memory only when the one that it knows says full; indices
 * wrap at 16 bits on the wire (and their low halves at 32) while software counts
 * on; and the owner bit tells laps apart. Post and engine run alternately in one
 * thread, so that every interleaving of the two is the test's own. Controls: a
 * word spoiled on the way, and a queue that overruns its ring, are noticed.
 */
#include "tests/engine_rig.h"

#include "stages/issuer/post.h"

enum { LOG_N = 3, N = 1 << LOG_N, SLOTS = 64, STRIDE_SHIFT = 7, PAGES = SLOTS << STRIDE_SHIFT >> 12 };

struct bench {
	struct rig r;
	struct issue_args a;
	struct issue_out out;
	struct issue_job job;
	struct issuer s;
	uint64_t *stage, seed;
};

static void bench_open(struct bench *b, uint64_t start, uint32_t depth, uint32_t batch, uint32_t len)
{
	struct coop alone = { 0, 1 };

	memset(b, 0, sizeof(*b));
	rig_open(&b->r, LOG_N, 12, PAGES, 1);
	/* an issuer takes addresses as they are: ranges begin where the pools do */
	b->r.keys[1].start = (uint64_t)b->r.pool[RIG_LOCAL];
	b->r.keys[2].start = (uint64_t)b->r.pool[RIG_REMOTE];
	b->a.q = b->r.q;
	b->a.q.depth = depth;
	b->a.local = b->r.pool[RIG_LOCAL];
	b->a.remote_view = b->r.pool[RIG_REMOTE];
	b->a.res.remote_base = (uint64_t)b->a.remote_view;
	b->a.res.chunk_shift = 21;
	b->a.res.local_keys[0] = RIG_LKEY;
	b->a.res.remote_keys[0] = RIG_RKEY;
	b->a.slot_mask = SLOTS - 1;
	b->a.stride_shift = STRIDE_SHIFT;
	b->a.len = len;
	b->a.batch = batch;
	b->a.wait_ns = 1000000000;
	b->a.check = b->a.consumed = 1;
	b->a.sink.all = ~0u;
	b->a.sink.plant[0] = b->a.sink.plant[1] = -1;
	b->a.sink.block = RIG_BLOCK;
	b->a.out = &b->out;
	b->stage = rig_alloc(64, RIG_BLOCK * SINK_SLOTS * 8);
	issuer_begin(&b->s, &b->a, &b->job, b->stage, alone);
	rig_reset(&b->r, start);
	b->s.qs.pi = b->s.qs.ci = b->s.done = start;
	st64(b->a.q.ci_word, start);
	b->seed = start + depth;
}

static void bench_close(struct bench *b)
{
	rig_close(&b->r);
	free(b->stage);
}

/* ---- availability ---- */

static void reserve_and_reload(void **state)
{
	static const uint64_t starts[] = { 0, 65533, (1ull << 32) - 3, 1ull << 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint64_t word = starts[i];
		struct queue q = { .ci_word = &word, .depth = 5, .log_n = 3 };
		struct queue_state s = { .pi = starts[i], .ci = starts[i] };

		for (int k = 0; k < 5; k++)
			assert_true(queue_reserve(&q, &s, 1));
		assert_int_equal(s.reloads, 0); /* it knew that there was room */
		assert_false(queue_reserve(&q, &s, 1));
		assert_int_equal(s.reloads, 1);
		assert_int_equal(s.pi, starts[i] + 5); /* refused: nothing is taken */
		word += 3;                             /* somebody else has taken three CQEs */
		assert_false(queue_reserve(&q, &s, 4));
		assert_true(queue_reserve(&q, &s, 3));
		assert_int_equal(s.reloads, 2); /* the known index was enough for that */
		assert_int_equal(s.ci, starts[i] + 3);
		assert_false(queue_reserve(&q, &s, 1));
		/* nobody consumes: a word ahead of all says that all is done */
		word = ~0ull >> 1;
		assert_true(queue_reserve(&q, &s, 5));
		assert_int_equal(s.ci, starts[i] + 8);
	}
}

/* ---- post and engine, in any order ---- */

HD void post(struct bench *b, uint32_t n, const int kind, const int instr)
{
	if (n == 1)
		issuer_post_one(&b->s, ORD_SYS_RELEASE, DBM_RECORD_RING, kind, instr);
	else
		issuer_post_many(&b->s, n, ORD_SYS_RELEASE, DBM_RECORD_RING, kind, instr);
}

/* One random step of the issuer; literal kinds, as everywhere. */
static void step_post(struct bench *b, const int kind, const int instr)
{
	const struct issue_args *a = &b->a;
	uint32_t n = 1 + (uint32_t)rig_below(&b->seed, a->batch);

	if (b->s.qs.pi - b->s.done + n > a->q.depth)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (kind == POST_WRITE || kind == POST_READ)
			issuer_fill(&b->s, b->s.qs.pi + i, kind);
	post(b, n, kind, instr);
	assert_true(b->s.qs.pi - b->s.qs.ci <= a->q.depth);
}

static void step_reap(struct bench *b, const int kind, const int instr)
{
	if (queue_poll(&b->a.q, &b->s.qs))
		assert_int_equal(issuer_reap(&b->s, kind, instr), ISSUE_OK);
}

static void mix(struct bench *b, uint64_t messages, const int kind, const int instr)
{
	uint64_t end = b->s.done + messages, most = 0, quiet = 0;

	while (b->s.done < end) {
		uint64_t was = b->s.done + b->s.qs.pi;

		switch (rig_below(&b->seed, 3)) {
		case 0: step_post(b, kind, instr); break;
		case 1: rig_poll(&b->r, BARE); break;
		case 2: step_reap(b, kind, instr); break;
		}
		most = b->s.qs.pi - b->s.done > most ? b->s.qs.pi - b->s.done : most;
		assert_true(most <= b->a.q.depth);
		quiet = was == b->s.done + b->s.qs.pi ? quiet + 1 : 0;
		assert_true(quiet < 1000);
	}
	assert_int_equal(most, b->a.q.depth); /* and it did get that far */
	assert_int_equal(b->out.wrong_words, 0);
	assert_int_equal(b->r.st.stale_wqe, 0);
	assert_int_equal(b->r.st.odd_doorbells, 0);
	assert_int_equal(b->r.s.error, 0);
	assert_int_equal(ld64(b->a.q.ci_word), b->s.done);
	assert_int_equal(b->s.qs.polled, messages); /* one CQE each */
}

/* Together 200,000 messages, many laps of a ring of eight. */
static void wraps(void **state)
{
	static const uint64_t starts[] = { 0, 65530, (1ull << 32) - 20, (1ull << 40) + 65535 };
	static const uint32_t depths[] = { 1, 5, N };
	struct bench b;

	(void)state;
	for (int k = 0; k < 12; k++) {
		uint32_t depth = depths[k % 3], batch = k % 3 ? 1 + (uint32_t)k % 3 : 1;
		uint64_t n = 66700 / 4;

		bench_open(&b, starts[k / 3], depth, batch, k & 1 ? 24 : 120);
		switch (k % 4) {
		case 0: mix(&b, n, POST_WRITE, BARE); break;
		case 1: mix(&b, n, POST_INLINE, ALL); break;
		case 2: mix(&b, n, POST_READ, FLEX); break;
		case 3: b.a.check = 0; mix(&b, n, POST_NOP, BARE); break;
		}
		bench_close(&b);
	}
	bench_open(&b, 65000, N, 3, 24); /* and once the whole 16 bits through */
	mix(&b, 140000, POST_INLINE, BARE);
	bench_close(&b);
}

/* ---- controls ---- */

static void a_spoiled_word_is_seen(void **state)
{
	struct bench b;

	(void)state;
	for (uint64_t byte = 0; byte < 120; byte += 7) {
		bench_open(&b, 65535, 4, 1, 120);
		issuer_fill(&b.s, 65535, POST_WRITE);
		post(&b, 1, POST_WRITE, BARE);
		assert_int_equal(rig_poll(&b.r, BARE), 1);
		b.r.pool[RIG_REMOTE][((65535 & (SLOTS - 1)) << STRIDE_SHIFT) + byte] ^= 0x40;
		assert_int_equal(issuer_reap(&b.s, POST_WRITE, BARE), ISSUE_OK);
		assert_int_equal(b.out.wrong_words, 1);
		assert_int_equal(b.out.wrong_message, 65535);
		bench_close(&b);
	}
}

/* A depth over the ring's size: what is overwritten is not taken for good. */
static void an_overrun_is_seen(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 0, 2 * N, 1, 24);
	for (int i = 0; i < N + 3; i++)
		post(&b, 1, POST_INLINE, BARE);
	assert_int_equal(rig_poll(&b.r, BARE), 0); /* more than a ring: nothing that is legal */
	assert_int_equal(b.r.st.odd_doorbells, 1);
	/* the engine is told a legal number: the first slots are of the next lap */
	rig_ring(&b.r, N);
	assert_int_equal(rig_poll(&b.r, BARE), N);
	assert_int_equal(b.r.s.error, SYND_LOCAL_QP_OP);
	assert_int_equal(issuer_reap(&b.s, POST_INLINE, BARE), ISSUE_CQE_ERROR);
	assert_int_equal(b.out.syndrome, SYND_LOCAL_QP_OP);
	bench_close(&b);
}

/* A CQE of the lap before is not taken twice. */
static void an_old_cqe_is_not_taken(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 100, N, 1, 24);
	for (int i = 0; i < 3 * N; i++) {
		assert_int_equal(queue_poll(&b.a.q, &b.s.qs), 0);
		post(&b, 1, POST_INLINE, BARE);
		assert_int_equal(queue_poll(&b.a.q, &b.s.qs), 0);
		assert_int_equal(rig_poll(&b.r, BARE), 1);
		assert_int_not_equal(queue_poll(&b.a.q, &b.s.qs), 0);
		assert_int_equal(issuer_reap(&b.s, POST_INLINE, BARE), ISSUE_OK);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserve_and_reload), cmocka_unit_test(wraps), cmocka_unit_test(a_spoiled_word_is_seen),
		cmocka_unit_test(an_overrun_is_seen), cmocka_unit_test(an_old_cqe_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
