/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the NIC for many queues does what every queue announced, in order, whoever
 * else is busy; it checks a WQE as the other engine does; what is refused completes
 * with its syndrome, all before it is done, all behind it is flushed and moves nothing;
 * completions are written where they were asked for, also where there is one CQE for all; each worker
 * serves its own queues.
 *
 * Controls: the same messages unspoiled complete well; a queue that announces nothing
 * is left alone; a payload that was spoiled after the fact is found.
 */
#include "tests/wide_rig.h"

static struct wide_rig r;

static void put_many(uint32_t agent, uint64_t from, uint64_t to)
{
	for (uint64_t m = from; m < to; m++)
		wide_put(&r, agent, m);
	wide_ring(&r, agent, to);
}

/* ---- turns ---- */

static void a_busy_queue_keeps_none_waiting(void **state)
{
	uint32_t rounds = 0;

	(void)state;
	wide_open(&r, "threads=3 depth=1024 entries=1024 nic_workers=1");
	put_many(0, 0, 1000);
	put_many(2, 0, 1);
	assert_int_equal(wide_serve(&r, 0), 2);
	assert_int_equal(r.states[0][0].pi, WIDE_QUOTA);
	assert_int_equal(r.states[0][2].pi, 1);
	assert_int_equal(wide_syndrome(&r, 2, 0), 0);
	assert_int_equal(wide_slot_wrong(&r, 2, 0), 0);
	/* what is left is done without another doorbell, and one that comes meanwhile counts */
	put_many(0, 1000, 1010);
	while (wide_serve(&r, 0))
		assert_true(++rounds < 100);
	assert_int_equal(r.states[0][0].pi, 1010);
	assert_int_equal(rounds, (1010 - WIDE_QUOTA + WIDE_QUOTA - 1) / WIDE_QUOTA);
	for (uint64_t m = 0; m < 1010; m++) {
		assert_int_equal(wide_syndrome(&r, 0, m), 0);
		assert_int_equal(cqe_counter(wide_cqe(&r, 0, m, 7)), m);
		assert_int_equal(wide_slot_wrong(&r, 0, m), 0);
	}
	assert_int_equal(r.states[0][1].pi, 0); /* control: it said nothing */
	assert_false(wide_cqe_there(&r, 1, 0));
	*(uint8_t *)(r.m.dst.p + 5 * r.c.path.stride) ^= 1; /* control */
	assert_int_equal(wide_slot_wrong(&r, 0, 5), 1);
	wide_close(&r);
}

static void workers_have_queues_of_their_own(void **state)
{
	(void)state;
	wide_open(&r, "threads=7 depth=8 nic_workers=3");
	for (uint32_t q = 0; q < 7; q++)
		put_many(q, 0, 2);
	for (uint32_t w = 0; w < 3; w++) {
		assert_int_equal(wide_serve(&r, w), (7 - w + 2) / 3);
		for (uint32_t q = 0; q < 7; q++)
			assert_int_equal(wide_cqe_there(&r, q, 1), q % 3 <= w);
	}
	wide_close(&r);
}

/* An index is 16 bits wide on the wire; slots and CQEs go round. */
static void indices_wrap(void **state)
{
	uint64_t m = 0;

	(void)state;
	wide_open(&r, "threads=1 depth=32 entries=32 size=24");
	for (uint32_t k = 0; m < 140000; k++) {
		uint32_t n = 1 + k % 32;

		put_many(0, m, m + n);
		wide_serve(&r, 0);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(wide_syndrome(&r, 0, m + i), 0);
			assert_int_equal(wide_slot_wrong(&r, 0, m + i), 0);
		}
		m += n;
	}
	assert_int_equal(r.worker[0].st.wqes, m);
	assert_int_equal(r.worker[0].st.stale_wqe + r.worker[0].st.odd_doorbells, 0);
	wide_close(&r);
}

/* A collapsed CQ: its one entry says how far the NIC is, and nothing of what it hasn't done. */
static void one_cqe_speaks_for_all_before_it(void **state)
{
	uint64_t m = 0;

	(void)state;
	wide_open(&r, "threads=1 depth=32 entries=32 size=24 cq=collapsed");
	assert_int_equal(r.a.log_ncqe, 0);
	for (uint32_t k = 0; m < 140000; k++) {
		uint32_t n = 1 + k % 32;

		assert_false(cqe_reached(wide_cqe(&r, 0, 0, 7), m));
		put_many(0, m, m + n);
		wide_serve(&r, 0);
		for (uint32_t i = 0; i < 64; i++)
			assert_int_equal(cqe_reached(wide_cqe(&r, 0, 0, 7), m + i), i < n);
		m += n;
	}
	assert_int_equal(r.worker[0].st.cqes, m);
	rate_done(&r.a, &r.agent[0], m - 1, 0);
	assert_int_equal(r.agent[0].status, RATE_OK);
	rate_done(&r.a, &r.agent[0], m, 0); /* control: of one that nobody has posted */
	assert_int_equal(r.agent[0].status, RATE_TIMEOUT);
	/* asked for once in a while, it covers what went before */
	wide_close(&r);
	wide_open(&r, "threads=1 depth=32 entries=32 batch=8 signal=8 cq=collapsed");
	put_many(0, 0, 12);
	wide_serve(&r, 0);
	assert_int_equal(r.worker[0].st.cqes, 1);
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(cqe_reached(wide_cqe(&r, 0, 0, 7), i), i < 8);
	wide_close(&r);
}

/* ---- refusals ---- */

static const struct { const char *point; uint32_t fault, syndrome; } spoils[] = {
	{ "size=8", WF_OPCODE, SYND_LOCAL_QP_OP }, { "size=8", WF_DS, SYND_LOCAL_QP_OP },
	{ "size=8", WF_QPN, SYND_LOCAL_QP_OP }, { "size=8", WF_INDEX, SYND_LOCAL_QP_OP },
	{ "size=8", WF_KEY, SYND_REMOTE_ACCESS }, { "size=8", WF_LENGTH, SYND_LOCAL_LENGTH },
	{ "size=200", WF_LKEY, SYND_LOCAL_PROT }, { "size=200", WF_KEY, SYND_REMOTE_ACCESS },
	{ "size=200", WF_LENGTH, SYND_LOCAL_LENGTH }, { "size=200", WF_OPCODE, SYND_LOCAL_QP_OP },
};

static void what_is_refused_ends_the_queue(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "threads=2 depth=16 entries=16 %s", spoils[i].point);
		wide_open(&r, text);
		for (uint64_t m = 0; m < 6; m++)
			wide_put(&r, 0, m);
		wqe_spoil(wide_wqe(&r, 0, 3), spoils[i].fault);
		wide_ring(&r, 0, 6);
		put_many(1, 0, 6);
		wide_serve(&r, 0);
		for (uint64_t m = 0; m < 6; m++) {
			assert_int_equal(wide_syndrome(&r, 0, m), m < 3 ? 0 : m == 3 ? spoils[i].syndrome : SYND_FLUSHED);
			assert_int_equal(wide_slot_wrong(&r, 0, m) == 0, m < 3);
			assert_int_equal(wide_syndrome(&r, 1, m), 0); /* control: the queue beside */
			assert_int_equal(wide_slot_wrong(&r, 1, m), 0);
		}
		/* it stays in error */
		put_many(0, 6, 7);
		wide_serve(&r, 0);
		assert_int_equal(wide_syndrome(&r, 0, 6), SYND_FLUSHED);
		assert_int_equal(r.worker[0].st.syndrome, spoils[i].syndrome);
		wide_close(&r);
	}
}

/* A payload that reaches into another page is over the longest message. */
static void one_page_is_the_most(void **state)
{
	(void)state;
	for (int over = 0; over < 2; over++) {
		uint64_t *w;

		wide_open(&r, "threads=1 depth=16 size=256");
		wide_put(&r, 0, 0);
		w = wide_wqe(&r, 0, 0);
		w[2] = be64((uint64_t)r.m.dst.p + 4096 - 256 + (uint64_t)over * 8);
		wide_ring(&r, 0, 1);
		wide_serve(&r, 0);
		assert_int_equal(wide_syndrome(&r, 0, 0), over ? SYND_LOCAL_LENGTH : 0);
		wide_close(&r);
	}
}

static void what_comes_late_is_counted(void **state)
{
	(void)state;
	wide_open(&r, "threads=1 depth=16 entries=16");
	put_many(0, 0, 3);
	wide_serve(&r, 0);
	assert_int_equal(r.worker[0].st.stale_wqe, 0);
	wide_put(&r, 0, 3 + 16 - 16); /* of the lap before: never overwritten */
	wide_ring(&r, 0, 3 + 16);
	wide_serve(&r, 0);
	/* slots 3..15 were never written, the first of them ends the queue, bounded */
	assert_in_range(r.worker[0].st.stale_wqe, ENGINE_REFETCH, ENGINE_REFETCH + 1);
	assert_int_equal(wide_syndrome(&r, 0, 3), 0);
	assert_int_equal(wide_syndrome(&r, 0, 4), SYND_LOCAL_QP_OP);
	assert_int_equal(wide_syndrome(&r, 0, 5), SYND_FLUSHED);
	wide_close(&r);
}

static void doorbells_that_announce_nothing(void **state)
{
	(void)state;
	wide_open(&r, "threads=2 depth=16 entries=16");
	wide_put(&r, 0, 0);
	st64(r.agent[0].q.db, doorbell_value(1, r.agent[1].q.qpn));
	assert_int_equal(wide_serve(&r, 0), 1);
	st64(r.agent[0].q.db, doorbell_value(18, r.agent[0].q.qpn));
	assert_int_equal(wide_serve(&r, 0), 1);
	assert_int_equal(r.worker[0].st.odd_doorbells, 2);
	assert_int_equal(r.worker[0].st.wqes, 0);
	wide_ring(&r, 0, 1); /* control */
	assert_int_equal(wide_serve(&r, 0), 1);
	assert_int_equal(r.worker[0].st.odd_doorbells, 2);
	assert_int_equal(r.worker[0].st.wqes, 1);
	wide_close(&r);
}

/* ---- completions on request ---- */

static void every_kth_is_reported(void **state)
{
	(void)state;
	wide_open(&r, "threads=1 depth=64 batch=8 signal=4");
	put_many(0, 0, 18);
	wide_serve(&r, 0);
	for (uint64_t k = 0; k < 4; k++) {
		assert_int_equal(wide_syndrome(&r, 0, k), 0);
		assert_int_equal(cqe_counter(wide_cqe(&r, 0, k, 7)), 4 * k + 3);
	}
	assert_false(wide_cqe_there(&r, 0, 4));
	for (uint64_t m = 0; m < 18; m++)
		assert_int_equal(wide_slot_wrong(&r, 0, m), 0);
	/* a refused one always */
	wide_put(&r, 0, 18);
	wqe_spoil(wide_wqe(&r, 0, 18), WF_KEY);
	wide_ring(&r, 0, 19);
	wide_serve(&r, 0);
	assert_int_equal(wide_syndrome(&r, 0, 4), SYND_REMOTE_ACCESS);
	assert_int_equal(cqe_counter(wide_cqe(&r, 0, 4, 7)), 18);
	wide_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_queue_keeps_none_waiting),
		cmocka_unit_test(workers_have_queues_of_their_own),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(one_cqe_speaks_for_all_before_it),
		cmocka_unit_test(what_is_refused_ends_the_queue),
		cmocka_unit_test(one_page_is_the_most),
		cmocka_unit_test(what_comes_late_is_counted),
		cmocka_unit_test(doorbells_that_announce_nothing),
		cmocka_unit_test(every_kth_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
