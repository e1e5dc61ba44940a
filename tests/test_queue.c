/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: an issuer never has more under way than the queue's depth; it reads the
 * consumer index from memory only when the one that it knows says full; indices
 * wrap at 16 bits on the wire (and their low halves at 32) while software counts
 * on, also where WQEs go along with their doorbells; the owner bit tells laps apart; and a message of two basic blocks takes two
 * indices and may begin in the ring's last slot. Post and engine run alternately in one
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

/* Begins with message `start`; `blocks` of each WQE. Of two, the first index is odd, so
 * that every fourth WQE is the ring's last slot and its first. */
static void bench_open_of(struct bench *b, uint64_t start, uint32_t depth, uint32_t batch, uint32_t len, uint32_t blocks)
{
	uint64_t index = blocks > 1 ? 2 * start + 1 : start;

	memset(b, 0, sizeof(*b));
	rig_open(&b->r, LOG_N, 12, PAGES, 1);
	/* an issuer takes addresses as they are: ranges begin where the pools do */
	b->r.keys[1].start = (uint64_t)b->r.pool[RIG_LOCAL];
	b->r.keys[2].start = (uint64_t)b->r.pool[RIG_REMOTE];
	b->a.q = b->r.q;
	b->a.q.depth = depth * blocks;
	b->a.local = b->r.pool[RIG_LOCAL];
	b->a.remote_view = b->r.pool[RIG_REMOTE];
	b->a.chunk_shift = 21;
	b->a.keys.local[0] = RIG_LKEY;
	b->a.keys.remote[0] = RIG_RKEY;
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
	issuer_begin(&b->s, &b->a, &b->job, b->stage, BARE);
	b->r.usual = blocks > 1 && start % 2 ? USUAL_TWO : USUAL;
	rig_reset(&b->r, index);
	b->r.s.skip = (uint32_t)(index - start);
	b->s.h.qs.pi = b->s.h.qs.ci = index;
	b->s.h.done = b->s.h.filled = start;
	b->s.h.record = 1;
	st64(b->a.q.ci_word, index);
	b->seed = start + depth;
}

static void bench_open(struct bench *b, uint64_t start, uint32_t depth, uint32_t batch, uint32_t len)
{
	bench_open_of(b, start, depth, batch, len, 1);
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
		assert_false(queue_reserve(&q, &s, 1));
		queue_reload(&q, &s);
		assert_int_equal(s.reloads, 1);
		assert_false(queue_reserve(&q, &s, 1));
		assert_int_equal(s.pi, starts[i] + 5); /* refused: nothing is taken */
		word += 3;                             /* somebody else has taken three CQEs */
		assert_false(queue_reserve(&q, &s, 1)); /* not yet known */
		queue_reload(&q, &s);
		assert_false(queue_reserve(&q, &s, 4));
		assert_true(queue_reserve(&q, &s, 3));
		assert_int_equal(s.ci, starts[i] + 3);
		assert_false(queue_reserve(&q, &s, 1));
		/* nobody consumes: a word ahead of all says that all is done */
		word = ~0ull >> 1;
		queue_reload(&q, &s);
		assert_true(queue_reserve(&q, &s, 5));
		assert_int_equal(s.ci, starts[i] + 8);
	}
}

/* ---- post and engine, in any order ---- */

HD void post(struct bench *b, uint32_t n, const int kind, const int instr)
{
	struct posting *h = &b->s.h;

	if (b->r.usual == USUAL_FLAME) {
		assert_true(issuer_post_one(&b->s, h, NULL, 0, WQE_INLINE_MAX, ORD_SYS_FENCE, DBM_BLUEFLAME, kind, instr));
		return;
	}
	assert_true(n == 1 ? issuer_post_one(&b->s, h, NULL, 0, WQE_INLINE_MAX, ORD_SYS_RELEASE, DBM_RECORD_RING, kind, instr) :
			     issuer_post_many(&b->s, h, n, NULL, WQE_INLINE_MAX, ORD_SYS_RELEASE, DBM_RECORD_RING, kind, instr));
}

/* Writes the source of the next n messages. */
HD void fill(struct bench *b, uint32_t n, const int kind)
{
	struct coop alone = { 0, 1 };

	while (b->s.h.filled < b->s.h.qs.pi + n)
		if (!issuer_payload(&b->s, IJ_FILL, kind, 0)) {
			issue_work(&b->job, alone);
			issuer_filled(&b->s);
		}
}

/* Takes a completion that is there: what the loop says, and compares the payload. */
HD uint32_t reap(struct bench *b, const int kind, const int instr)
{
	struct coop alone = { 0, 1 };
	uint32_t why = issuer_reap(&b->s, &b->s.h, kind, CQ_RING, instr);

	if (why == IW_DONE && b->a.check && !issuer_payload(&b->s, IJ_CHECK, kind, 0)) {
		issue_work(&b->job, alone);
		issuer_checked(&b->s, b->job.result);
	}
	return why;
}

/* One look at the next CQE. */
static int looked(const struct bench *b)
{
	return cqe_valid(ld64_acquire(queue_cqe7(&b->a.q, &b->s.h.qs)), cqe_lap(b->s.h.qs.polled, b->a.q.log_ncqe));
}

/* One random step of the issuer; literal kinds, as everywhere. */
static void step_post(struct bench *b, const int kind, const int instr)
{
	const struct issue_args *a = &b->a;
	uint32_t n = 1 + (uint32_t)draw_below(&b->seed, a->batch);

	if ((post_message(b->s.h.qs.pi, kind) - b->s.h.done + n) * post_blocks(kind) > a->q.depth)
		return;
	if (kind == POST_WRITE || kind == POST_READ)
		fill(b, n, kind);
	post(b, n, kind, instr);
	assert_true(b->s.h.qs.pi - b->s.h.qs.ci <= a->q.depth);
}

static void step_reap(struct bench *b, const int kind, const int instr)
{
	if (looked(b))
		assert_int_equal(reap(b, kind, instr), IW_DONE);
}

static void mix(struct bench *b, uint64_t messages, const int kind, const int instr)
{
	uint64_t end = b->s.h.done + messages, most = 0, quiet = 0, under_way;

	while (b->s.h.done < end) {
		uint64_t was = b->s.h.done + b->s.h.qs.pi;

		switch (draw_below(&b->seed, 3)) {
		case 0: step_post(b, kind, instr); break;
		case 1: rig_poll(&b->r, BARE); break;
		case 2: step_reap(b, kind, instr); break;
		}
		under_way = b->s.h.qs.pi - b->s.h.qs.ci;
		most = under_way > most ? under_way : most;
		assert_true(most <= b->a.q.depth);
		quiet = was == b->s.h.done + b->s.h.qs.pi ? quiet + 1 : 0;
		assert_true(quiet < 1000);
	}
	assert_int_equal(most, b->a.q.depth); /* and it did get that far */
	assert_int_equal(b->out.wrong_words, 0);
	assert_int_equal(b->r.st.stale_wqe, 0);
	assert_int_equal(b->r.st.odd_doorbells, 0);
	assert_int_equal(b->r.s.error, 0);
	assert_int_equal(post_message(ld64(b->a.q.ci_word), kind), b->s.h.done);
	assert_int_equal(b->s.h.qs.polled, messages); /* one CQE each */
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

/* Two blocks a message: the same, for each of the sizes that end a segment, by engines that
 * expect two and by others. */
static void wraps_of_two_blocks(void **state)
{
	static const uint64_t starts[] = { 32767 - 20, 32768 - 21, (1ull << 31) - 9, (1ull << 40) + 32760 };
	static const uint32_t lens[] = { 29, 44, 60, 76, 92, 53 }, depths[] = { 1, 2, N / 2 };
	struct bench b;

	(void)state;
	for (uint32_t k = 0; k < 24; k++) {
		bench_open_of(&b, starts[k % 4], depths[k % 3], 1 + k % 3 % depths[k % 3], lens[k % 6], 2);
		switch (k % INSTRS) {
		case BARE: mix(&b, 2000, POST_INLINE2, BARE); break;
		case ALL: mix(&b, 2000, POST_INLINE2, ALL); break;
		case FLEX: mix(&b, 2000, POST_INLINE2, FLEX); break;
		}
		bench_close(&b);
	}
	for (uint32_t k = 0; k < 2; k++) { /* the whole 16 bits */
		bench_open_of(&b, 32500 + k, N / 2, 3, 92, 2);
		mix(&b, 70000, POST_INLINE2, BARE);
		bench_close(&b);
	}
}

/* BlueFlame: one under way, each out of its line. */
static void wraps_of_lines(void **state)
{
	static const uint64_t starts[] = { 0, 65530, (1ull << 32) - 20, (1ull << 40) + 65535 };
	struct bench b;

	(void)state;
	for (uint32_t k = 0; k < 9; k++) {
		bench_open(&b, starts[k % 4], 1, 1, k % 3 == 1 ? 120 : 24);
		b.r.usual = USUAL_FLAME;
		rig_reset(&b.r, starts[k % 4]);
		switch (k % 3) {
		case 0: mix(&b, k ? 5000 : 140000, POST_INLINE, BARE); break;
		case 1: mix(&b, 5000, POST_WRITE, ALL); break;
		case 2: mix(&b, 5000, POST_INLINE, FLEX); break;
		}
		assert_int_equal(b.r.st.from_queue, 0);
		bench_close(&b);
	}
}

/* ---- controls ---- */

static void a_spoiled_word_is_seen(void **state)
{
	struct bench b;

	(void)state;
	for (uint64_t byte = 0; byte < 120; byte += 7) {
		bench_open(&b, 65535, 4, 1, 120);
		fill(&b, 1, POST_WRITE);
		post(&b, 1, POST_WRITE, BARE);
		assert_int_equal(rig_poll(&b.r, BARE), 1);
		b.r.pool[RIG_REMOTE][((65535 & (SLOTS - 1)) << STRIDE_SHIFT) + byte] ^= 0x40;
		assert_int_equal(reap(&b, POST_WRITE, BARE), IW_DONE);
		assert_int_equal(b.out.wrong_words, 1);
		assert_int_equal(b.out.wrong_message, 65535);
		bench_close(&b);
	}
}

/* Of the second block too, which has no index of its own: one of an earlier lap. */
static void a_stale_second_block_is_seen(void **state)
{
	struct bench b;

	(void)state;
	for (uint64_t start = 60; start < 68; start++) {
		uint64_t at = 2 * start + 1;

		bench_open_of(&b, start, 4, 1, 92, 2);
		post(&b, 1, POST_INLINE2, BARE);
		wqe_build_second((uint64_t *)queue_slot(&b.a.q, at + 1), start - N / 2);
		assert_int_equal(rig_poll(&b.r, BARE), 1);
		assert_int_equal(reap(&b, POST_INLINE2, BARE), IW_DONE);
		assert_int_equal(b.out.wrong_words, 8); /* words 4 to 11, whose low bytes say which message */
		assert_int_equal(b.r.st.stale_wqe, 0);  /* as method.md says: the engine can't know */
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
	assert_int_equal(reap(&b, POST_INLINE, BARE), IW_CQE);
	assert_int_equal(issue_odd_cqe(&b.s), ISSUE_CQE_ERROR);
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
		assert_int_equal(looked(&b), 0);
		post(&b, 1, POST_INLINE, BARE);
		assert_int_equal(looked(&b), 0);
		assert_int_equal(rig_poll(&b.r, BARE), 1);
		assert_int_not_equal(looked(&b), 0);
		assert_int_equal(reap(&b, POST_INLINE, BARE), IW_DONE);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserve_and_reload), cmocka_unit_test(wraps), cmocka_unit_test(wraps_of_two_blocks), cmocka_unit_test(wraps_of_lines),
		cmocka_unit_test(a_spoiled_word_is_seen), cmocka_unit_test(a_stale_second_block_is_seen),
		cmocka_unit_test(an_overrun_is_seen), cmocka_unit_test(an_old_cqe_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
