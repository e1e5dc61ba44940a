/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: where WQEs may have two basic blocks, the NIC for many queues finds where they begin from
 * the DS of those before, by one lane and by 32: mixed WQEs are all done once, in order, with their
 * payloads; what is refused, announced by half, too old or behind an error ends as in the
 * other engine; nothing of a second block is taken for a WQE.
 *
 * The lanes of a warp are threads here, which meet where a warp's lanes do: the code that runs
 * is the NIC's own. Controls: one lane does the same; blocks that look like WQEs where none
 * begins; the same WQEs whole, and in time; a second block of an earlier lap, and a byte that is
 * spoiled afterwards, are found in the payload.
 */
#include <pthread.h>

/* The lanes' meetings, of threads: what is here in the place of coop.h's. */
#define coop_sync coop_sync_alone
#define coop_ballot coop_ballot_alone
#define coop_from coop_from_alone
#include "stages/queue/coop.h"
#undef coop_sync
#undef coop_ballot
#undef coop_from

enum { LANES = 32 };

static struct {
	pthread_barrier_t all;
	uint64_t said[LANES];
} warp;

static inline void coop_sync(struct coop c)
{
	if (c.nlanes > 1)
		pthread_barrier_wait(&warp.all);
}

static inline uint64_t coop_from(struct coop c, uint64_t x, int lane)
{
	if (c.nlanes == 1)
		return x;
	warp.said[c.lane] = x;
	pthread_barrier_wait(&warp.all);
	x = warp.said[lane];
	pthread_barrier_wait(&warp.all);
	return x;
}

static inline uint32_t coop_ballot(struct coop c, int x)
{
	uint32_t all = 0;

	if (c.nlanes == 1)
		return x != 0;
	warp.said[c.lane] = x != 0;
	pthread_barrier_wait(&warp.all);
	for (int i = 0; i < LANES; i++)
		all |= (uint32_t)warp.said[i] << i;
	pthread_barrier_wait(&warp.all);
	return all;
}

#include "tests/wide_rig.h"

static struct wide_rig r;
static int lanes; /* that serve: 1 or LANES */
static uint32_t served;

static void *one_lane(void *arg)
{
	struct coop c = { (int)(intptr_t)arg, LANES };
	struct wide_worker me = r.worker[0];
	uint32_t n;

	if (c.lane) /* each lane its own counts of what is stale */
		me.st.stale_wqe = 0;
	coop_sync(c);
	n = wide_round(&r.w, r.states[0], c, &me, r.c.path.gettime, 1);
	warp.said[c.lane] = me.st.stale_wqe;
	coop_sync(c);
	if (c.lane)
		return NULL;
	me.st.stale_wqe = 0;
	for (int i = 0; i < LANES; i++)
		me.st.stale_wqe += warp.said[i];
	r.worker[0] = me;
	served = n;
	return NULL;
}

/* A round of worker 0. */
static uint32_t serve(void)
{
	pthread_t t[LANES];

	if (lanes == 1)
		return wide_serve(&r, 0);
	assert_int_equal(pthread_barrier_init(&warp.all, NULL, LANES), 0);
	for (int i = 0; i < LANES; i++)
		assert_int_equal(pthread_create(&t[i], NULL, one_lane, (void *)(intptr_t)i), 0);
	for (int i = 0; i < LANES; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	pthread_barrier_destroy(&warp.all);
	return served;
}

static void open_two(const char *more)
{
	char text[160];

	snprintf(text, sizeof(text), "threads=2 nic_workers=1 depth=32 entries=64 payload=inline size=92 %s", more);
	wide_open(&r, text);
	assert_int_equal(r.w.mixed, 1);
}

/* ---- where WQEs begin ---- */

static uint32_t begins_one_by_one(uint32_t longs, uint32_t n)
{
	uint32_t begins = 0;

	for (uint32_t i = 0; i < n; i += 1 + (longs >> i & 1))
		begins |= 1u << i;
	return begins;
}

static void beginnings_follow_from_the_first(void **state)
{
	uint64_t z = 4711;

	(void)state;
	for (uint32_t n = 1; n <= 16; n++)
		for (uint32_t longs = 0; longs < 1u << n; longs++)
			if (wide_begins(longs, n) != begins_one_by_one(longs, n))
				fail_msg("%#x of %u: %#x", longs, n, wide_begins(longs, n));
	for (int i = 0; i < 200000; i++) {
		uint32_t longs, n;

		z = z * 6364136223846793005u + 1442695040888963407u;
		longs = (uint32_t)(z >> 32) | (i % 3 ? 0 : (uint32_t)(z >> 30));
		n = 1 + (uint32_t)(z >> 7) % 32;
		if (wide_begins(longs, n) != begins_one_by_one(longs, n))
			fail_msg("%#x of %u: %#x", longs, n, wide_begins(longs, n));
	}
	assert_int_equal(wide_begins(0xffffffffu, 32), 0x55555555u);
	assert_int_equal(wide_begins(0, 32), 0xffffffffu);
}

/* ---- WQEs of one block and of two, by turns ---- */

/* WQE number m of queue `q` at an index: `len` bytes, a payload's number of its own. */
static void put(uint32_t q, uint64_t index, uint64_t m, uint32_t len)
{
	struct rate_agent *g = &r.agent[q];
	uint32_t off = (uint32_t)(m & (r.c.slots - 1)) << r.a.stride_shift;
	struct resolved x = { 0, r.a.rkey, g->remote + off };
	int two = len > WQE_INLINE_MAX;
	uint64_t w[WQE_WORDS];

	wqe_build_at(&g->q, w, index, rate_number(q, m), &x, 0, len, POST_INLINE);
	wqe_store(&g->q, index, w, two ? WQE_INLINE_MAX : len, POST_INLINE);
	if (two) {
		wqe_build_second(w, rate_number(q, m));
		wqe_store_second(&g->q, index, w, len);
	}
}

static uint64_t wrong(uint32_t q, uint64_t m, uint32_t len)
{
	return job_check(r.m.dst.p + q * r.m.slots_step + (m & (r.c.slots - 1)) * r.c.path.stride, len, rate_number(q, m), lone);
}

static void mixed_wqes_are_all_done(void **state)
{
	static uint64_t seed = 1;
	uint64_t index = 0, m = 0, k = 0, rounds = lanes > 1 ? 40 : 4000;

	(void)state;
	open_two("");
	for (uint64_t n = 0; n < rounds; n++) {
		uint64_t from = index, first = m, at[32];
		uint32_t len[32];

		for (;;) {
			uint32_t l, blocks;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			l = n % 3 == 0 ? 92 : (uint32_t)(seed >> 40) % 93;
			blocks = l > WQE_INLINE_MAX ? 2 : 1;
			/* a doorbell for a few, or for as many as queue and CQ have room for */
			if (m - first == 32 || index + blocks - from > 64 || (m > first && n % 5 && !((seed >> 20) % 8)))
				break;
			at[m - first] = index;
			len[m - first] = l;
			put(0, index, m++, l);
			index += blocks;
		}
		wide_ring(&r, 0, index);
		while (serve())
			;
		for (uint64_t i = first; i < m; i++, k++) {
			assert_int_equal(wide_syndrome(&r, 0, k), 0);
			assert_int_equal(cqe_counter(wide_cqe(&r, 0, k, 7)), at[i - first] & INDEX_MASK);
			assert_int_equal(wrong(0, i, len[i - first]), 0);
		}
	}
	assert_int_equal(r.states[0][0].pi, index);
	assert_int_equal(r.worker[0].st.wqes, m);
	assert_int_equal(r.worker[0].st.cqes, m);
	assert_int_equal(r.worker[0].st.stale_wqe + r.worker[0].st.odd_doorbells, 0);
	r.m.dst.p[((m - 1) & (r.c.slots - 1)) * r.c.path.stride] ^= 1; /* control: of an empty one nothing is wrong */
	assert_in_range(wrong(0, m - 1, 92), 1, 12);
	wide_close(&r);
}

/* A second block that is, bit for bit, a WQE of two blocks with the index of where it lies. */
static void nothing_in_a_second_block_is_a_wqe(void **state)
{
	(void)state;
	for (int control = 0; control < 2; control++) {
		struct resolved x;
		uint64_t w[WQE_WORDS];

		open_two("");
		for (uint64_t m = 0; m < 20; m++) {
			x = (struct resolved){ 0, r.a.rkey, r.agent[0].remote + (31ull << r.a.stride_shift) };
			put(0, 2 * m, m, control ? 28 : 92);
			wqe_build_at(&r.agent[0].q, w, 2 * m + 1, 99, &x, 0, 92, POST_INLINE2);
			if (control) /* there it is one: it reaches over the next */
				w[0] = wqe_ctrl0(2 * m + 1, WQE_WRITE, r.agent[0].q.qpn, wqe_ds_inline(28)), w[4] = pair32(be32(28 | WQE_INLINE), 0);
			memcpy(queue_slot(&r.agent[0].q, 2 * m + 1), w, sizeof(w));
		}
		wide_ring(&r, 0, 40);
		while (serve())
			;
		assert_int_equal(r.worker[0].st.wqes, control ? 40 : 20);
		assert_int_equal(r.worker[0].st.syndrome, 0);
		/* what it would have written to is as it was */
		assert_int_equal(*(uint8_t *)(r.m.dst.p + (31ull << r.a.stride_shift)) == 0xff, !control);
		wide_close(&r);
	}
}

/* A busy queue: turns are counted in blocks. */
static void a_busy_queue_keeps_none_waiting(void **state)
{
	(void)state;
	wide_open(&r, "threads=2 nic_workers=1 depth=128 entries=256 payload=inline size=92");
	put(0, 0, 0, 28); /* so that the quota ends in the middle of one */
	for (uint64_t m = 1; m < 100; m++)
		put(0, 2 * m - 1, m, 92);
	put(1, 0, 0, 92);
	wide_ring(&r, 0, 199);
	wide_ring(&r, 1, 2);
	assert_int_equal(serve(), 2);
	assert_int_equal(r.states[0][0].pi, WIDE_QUOTA + 1);
	assert_int_equal(wide_syndrome(&r, 1, 0), 0);
	assert_int_equal(wrong(1, 0, 92), 0);
	while (serve())
		;
	assert_int_equal(r.worker[0].st.wqes, 101);
	for (uint64_t m = 0; m < 100; m++)
		assert_int_equal(wrong(0, m, m ? 92 : 28), 0);
	wide_close(&r);
}

/* ---- refusals ---- */

static const struct { uint32_t fault, syndrome; int one; } spoils[] = {
	{ WF_KEY, SYND_REMOTE_ACCESS, 0 }, { WF_LENGTH, SYND_LOCAL_LENGTH, 0 }, { WF_QPN, SYND_LOCAL_QP_OP, 0 },
	{ WF_INDEX, SYND_LOCAL_QP_OP, 0 },
	/* nobody knows how long it is: its second block is one that is flushed */
	{ WF_OPCODE, SYND_LOCAL_QP_OP, 1 }, { WF_DS, SYND_LOCAL_QP_OP, 1 },
};

static void what_is_refused_ends_the_queue(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		uint64_t k;

		open_two("");
		for (uint64_t m = 0; m < 6; m++) {
			put(0, 2 * m, m, 92);
			put(1, 2 * m, m, 92);
		}
		wqe_spoil((uint64_t *)queue_slot(&r.agent[0].q, 6), spoils[i].fault);
		wide_ring(&r, 0, 12);
		wide_ring(&r, 1, 12);
		while (serve())
			;
		for (k = 0; k < 6u + (uint64_t)spoils[i].one; k++)
			assert_int_equal(wide_syndrome(&r, 0, k), k < 3 ? 0 : k == 3 ? spoils[i].syndrome : SYND_FLUSHED);
		assert_false(wide_cqe_there(&r, 0, k));
		assert_int_equal(cqe_counter(wide_cqe(&r, 0, 3, 7)), 6);
		assert_int_equal(cqe_counter(wide_cqe(&r, 0, 4, 7)), spoils[i].one ? 7 : 8);
		assert_int_equal(cqe_counter(wide_cqe(&r, 0, k - 1, 7)), 10);
		for (uint64_t m = 0; m < 6; m++) {
			assert_int_equal(wrong(0, m, 92) == 0, m < 3);
			assert_int_equal(wide_syndrome(&r, 1, m), 0); /* control: the queue beside */
			assert_int_equal(wrong(1, m, 92), 0);
		}
		put(0, 12, 6, 92); /* it stays in error */
		wide_ring(&r, 0, 14);
		while (serve())
			;
		assert_int_equal(wide_syndrome(&r, 0, k), SYND_FLUSHED);
		assert_int_equal(cqe_counter(wide_cqe(&r, 0, k, 7)), 12);
		assert_int_equal(r.worker[0].st.syndrome, spoils[i].syndrome);
		wide_close(&r);
	}
}

/* Its second block isn't announced: it is refused for its DS. */
static void half_of_one_is_refused(void **state)
{
	(void)state;
	for (uint64_t before = 0; before < 32; before += lanes > 1 ? 31 : 1) /* in the last of 32 lanes too */
		for (int whole = 0; whole < 2; whole++) {
			open_two("");
			for (uint64_t i = 0; i < before; i++)
				put(0, i, i, 28);
			put(0, before, before, 60);
			wide_ring(&r, 0, before + 1 + (uint64_t)whole);
			while (serve())
				;
			assert_int_equal(wide_syndrome(&r, 0, before), whole ? 0 : SYND_LOCAL_QP_OP);
			assert_int_equal(wrong(0, before, 60) == 0, whole);
			assert_int_equal(r.states[0][0].pi, before + 1 + (uint64_t)whole);
			for (uint64_t i = 0; i < before; i++)
				assert_int_equal(wide_syndrome(&r, 0, i), 0);
			wide_close(&r);
		}
}

/* A second block in the ring's first slot, of a WQE that begins in its last one. */
static void a_wqe_goes_round_the_end(void **state)
{
	(void)state;
	open_two("");
	put(0, 0, 0, 12);
	for (uint64_t m = 1; m < 32; m++)
		put(0, 2 * m - 1, m, 92);
	wide_ring(&r, 0, 63);
	while (serve())
		;
	put(0, 63, 32, 77);
	wide_ring(&r, 0, 65);
	while (serve())
		;
	assert_int_equal(wide_syndrome(&r, 0, 32), 0);
	assert_int_equal(wrong(0, 32, 77), 0);
	assert_int_equal(r.worker[0].st.wqes, 33);
	wide_close(&r);
}

/* ---- too old ---- */

static void what_comes_late_is_counted(void **state)
{
	(void)state;
	open_two("");
	for (uint64_t m = 0; m < 3; m++)
		put(0, 2 * m, m, 92);
	wide_ring(&r, 0, 12); /* three more that were never written */
	while (serve())
		;
	/* the first of them ends the queue, bounded; nobody waits for those behind it, of one block for all that is known */
	assert_in_range(r.worker[0].st.stale_wqe, ENGINE_REFETCH, ENGINE_REFETCH + 1);
	for (uint64_t k = 0; k < 9; k++)
		assert_int_equal(wide_syndrome(&r, 0, k), k < 3 ? 0 : k == 3 ? SYND_LOCAL_QP_OP : SYND_FLUSHED);
	assert_false(wide_cqe_there(&r, 0, 9));
	assert_int_equal(r.states[0][0].pi, 12);
	wide_close(&r);
}

static struct late_writer { uint64_t index, m; uint32_t len; int go; } late;

static void *write_late(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&late.go, __ATOMIC_ACQUIRE))
		sched_yield();
	/* the second block first, as a writer that orders it would have it */
	{
		struct resolved x = { 0, r.a.rkey, r.agent[0].remote + ((late.m & (r.c.slots - 1)) << r.a.stride_shift) };
		uint64_t w[WQE_WORDS], *at = (uint64_t *)queue_slot(&r.agent[0].q, late.index);

		wqe_build_second(w, rate_number(0, late.m));
		wqe_store_second(&r.agent[0].q, late.index, w, late.len);
		wqe_build_at(&r.agent[0].q, w, late.index, rate_number(0, late.m), &x, 0, late.len, POST_INLINE);
		for (int i = 1; i < WQE_WORDS; i++)
			st64(at + i, w[i]);
		st64_release_sys(at, w[0]);
	}
	return NULL;
}

/* Longer than the one of the lap before was: what follows begins elsewhere than it seemed. */
static void one_that_comes_late_is_done_as_it_is(void **state)
{
	(void)state;
	for (int control = 0; control < 2; control++) {
		pthread_t t;

		open_two("");
		for (uint64_t i = 0; i < 64; i++)
			put(0, i, i, 20);
		wide_ring(&r, 0, 64);
		while (serve())
			;
		assert_int_equal(r.worker[0].st.wqes, 64);
		late = (struct late_writer){ 64 + 2, 66, 92, 0 };
		put(0, 64, 64, 92);
		put(0, 68, 67, 12);
		put(0, 69, 68, 92);
		assert_int_equal(pthread_create(&t, NULL, write_late, NULL), 0);
		__atomic_store_n(&late.go, 1, __ATOMIC_RELEASE);
		if (control) /* in time */
			assert_int_equal(pthread_join(t, NULL), 0);
		wide_ring(&r, 0, 71);
		while (serve())
			;
		if (!control)
			assert_int_equal(pthread_join(t, NULL), 0);
		else
			assert_int_equal(r.worker[0].st.stale_wqe, 0);
		if (!r.worker[0].st.syndrome) { /* it came while somebody waited for it, or before */
			assert_int_equal(r.worker[0].st.wqes, 64 + 4);
			assert_int_equal(wrong(0, 64, 92) + wrong(0, 67, 12) + wrong(0, 68, 92), 0);
			/* or between the looks of two lanes, in no order: then the second block is the old one, as the payload says */
			assert_true(!wrong(0, 66, 92) || (!control && !r.worker[0].st.stale_wqe));
		} else {
			assert_false(control);
			assert_in_range(r.worker[0].st.stale_wqe, ENGINE_REFETCH, 2 * ENGINE_REFETCH);
			assert_int_equal(wide_syndrome(&r, 0, 65), SYND_LOCAL_QP_OP);
		}
		wide_close(&r);
	}
}

/* Of the second block alone: it has no index, so its payload says so. */
static void a_stale_second_block_is_seen(void **state)
{
	uint64_t w[WQE_WORDS];

	(void)state;
	open_two("");
	for (uint64_t m = 0; m < 4; m++)
		put(0, 2 * m, m, 92);
	wqe_build_second(w, rate_number(0, 77));
	wqe_store_second(&r.agent[0].q, 2, w, 92);
	wide_ring(&r, 0, 8);
	while (serve())
		;
	for (uint64_t m = 0; m < 4; m++) {
		assert_int_equal(wide_syndrome(&r, 0, m), 0);
		assert_int_equal(wrong(0, m, 92) != 0, m == 1);
	}
	assert_int_equal(r.worker[0].st.stale_wqe, 0);
	wide_close(&r);
}

/* Faults are told by messages, completions by where they were asked for, CQEs by indices. */
static void messages_are_counted_not_blocks(void **state)
{
	(void)state;
	for (uint64_t fault = 0; fault < 2; fault++) {
		uint64_t each = fault ? 1 : 4;

		open_two(fault ? "" : "batch=8 signal=4");
		r.w.fault = fault ? EF_ERROR_CQE : EF_NONE;
		r.w.fault_at = 9;
		for (uint64_t m = 0; m < 12; m++)
			wide_put(&r, 0, m);
		wide_ring(&r, 0, 24);
		while (serve())
			;
		assert_int_equal(r.worker[0].st.wqes, 12);
		assert_int_equal(r.worker[0].st.cqes, 12 / each);
		for (uint64_t k = 0; k < 12 / each; k++) {
			assert_int_equal(wide_syndrome(&r, 0, k), !fault || k < 9 ? 0 : k == 9 ? SYND_REMOTE_OP : SYND_FLUSHED);
			assert_int_equal(cqe_counter(wide_cqe(&r, 0, k, 7)), 2 * (each * (k + 1) - 1));
		}
		rate_done_of(&r.a, &r.agent[0], 7, 0, POST_INLINE2);
		assert_int_equal(r.agent[0].status, RATE_OK);
		rate_done_of(&r.a, &r.agent[0], 11, 0, POST_INLINE2);
		assert_int_equal(r.agent[0].status, fault ? RATE_CQE_ERROR : RATE_OK);
		if (fault) /* the first that is still there */
			assert_int_equal(r.agent[0].at, 9);
		wide_close(&r);
	}
	open_two("");
	r.w.fault = EF_DEAD;
	r.w.fault_at = 5;
	for (uint64_t m = 0; m < 8; m++) {
		wide_put(&r, 0, m);
		wide_ring(&r, 0, 2 * m + 2);
		serve();
	}
	assert_int_equal(r.worker[0].st.wqes, 5);
	wide_close(&r);
}

static int by_one(void **state)
{
	(void)state;
	lanes = 1;
	return 0;
}

static int by_all(void **state)
{
	(void)state;
	lanes = LANES;
	return 0;
}

#define BOTH(f) { #f, f, by_one, NULL, NULL }, { #f " (32 lanes)", f, by_all, NULL, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beginnings_follow_from_the_first),
		BOTH(mixed_wqes_are_all_done),
		BOTH(nothing_in_a_second_block_is_a_wqe),
		BOTH(a_busy_queue_keeps_none_waiting),
		BOTH(what_is_refused_ends_the_queue),
		BOTH(half_of_one_is_refused),
		BOTH(a_wqe_goes_round_the_end),
		BOTH(what_comes_late_is_counted),
		BOTH(one_that_comes_late_is_done_as_it_is),
		BOTH(a_stale_second_block_is_seen),
		BOTH(messages_are_counted_not_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
