/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a WQE of an earlier lap, or a slot that nothing was written to, is
 * counted as stale and fetched again until the right one is there; if it never
 * comes, the wait is bounded and ends in 0x02. A doorbell record that is behind
 * is counted and read again; if it stays behind, the doorbell counts. Doorbells that announce nothing are counted
 * and change nothing. Both conventions of the doorbell's value drive the engine.
 * Controls: a WQE in time counts no stale fetch, and one that is merely wrong is
 * not waited for.
 */
#include "tests/engine_rig.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include "harness/service.h"

enum { LOG_N = 4, N = 1 << LOG_N };

static const struct rig_op old_op = { POST_WRITE, 64, 512, 1024, 0, 0 }, new_op = { POST_WRITE, 64, 0, 2048, 0, 0 };

static struct rig r;

static int setup(void **state)
{
	(void)state;
	rig_open(&r, LOG_N, 12, 1, 9);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&r);
	return 0;
}

static int arrived(const struct rig_op *o)
{
	return !memcmp(r.pool[RIG_REMOTE] + o->roff, r.pristine[RIG_LOCAL] + o->loff, o->len);
}

/* ---- WQEs that are late ---- */

static void never_written(void **state)
{
	(void)state;
	for (int instr = 0; instr < INSTRS; instr++)
		for (int empty = 0; empty < 2; empty++) {
			uint64_t m = 7 * N + 3;

			rig_reset(&r, m);
			if (!empty) /* an earlier lap's, good in its time */
				rig_put(&r, m - (instr + 1) * N, &old_op);
			rig_ring(&r, m + 1);
			assert_int_equal(rig_poll(&r, instr), 1);
			assert_int_equal(rig_syndrome(&r, 0, m), SYND_LOCAL_QP_OP);
			assert_in_range(r.st.stale_wqe, ENGINE_REFETCH, ENGINE_REFETCH + 1);
			assert_false(arrived(&old_op));
		}
}

/* control: in time, and wrong in another way than by being old */
static void not_late(void **state)
{
	uint64_t m = 7 * N + 3;

	(void)state;
	rig_reset(&r, m);
	assert_int_equal(rig_one(&r, &new_op, BARE), 0);
	assert_int_equal(r.st.stale_wqe, 0);
	assert_true(arrived(&new_op));
	rig_reset(&r, m);
	rig_put(&r, m, &new_op);
	rig_wqe(&r, m)[0] ^= be32(0x00000100); /* an index of the next slot */
	rig_ring(&r, m + 1);
	assert_int_equal(rig_poll(&r, BARE), 1);
	assert_int_equal(rig_syndrome(&r, 0, m), SYND_LOCAL_QP_OP);
	assert_int_equal(r.st.stale_wqe, 0);
}

/* A second thread that writes the WQE, or the record, some time after `go`. */
struct late_writer { uint64_t m, words[WQE_WORDS]; uint32_t record, go; };

static void write_late(struct service *me, void *arg)
{
	struct late_writer *l = arg;
	uint64_t t;

	while (!__atomic_load_n(&l->go, __ATOMIC_ACQUIRE))
		if (service_stopping(me))
			return;
	for (t = mono_ns(); mono_ns() - t < 30000;)
		relax_cpu();
	if (l->record) {
		st32_published((uint8_t *)r.q.dbrec + DBREC_SEND, dbrec_value(l->record));
		return;
	}
	/* the word with the index last: whoever sees it may read the others */
	for (int i = WQE_WORDS - 1; i; i--)
		st64(rig_wqe(&r, l->m) + i, l->words[i]);
	st64_published(rig_wqe(&r, l->m), l->words[0]);
}

/* A dozen in time, or one at least if the machine has no CPU to spare. */
static int once_more(int k, int in_time, uint64_t until)
{
	return in_time < 12 && (k < 200 || (!in_time && !deadline_over(until)));
}

/* The engine is given its doorbell while the other thread waits. */
static void poll_with(struct late_writer *l, int instr)
{
	struct service *s = NULL;

	assert_int_equal(service_start(&s, "late writer", pin_cpu(pin_cpus() > 1), write_late, l, 10), 0);
	__atomic_store_n(&l->go, 1, __ATOMIC_RELEASE);
	rig_ring(&r, l->m + 1);
	rig_poll(&r, instr);
	assert_int_equal(service_stop(s, 10), 0);
}

/* The other thread may itself be late on a busy machine: then the bound ends it,
 * with its syndrome and no payload. Some attempt must come in time. */
static void written_late(void **state)
{
	uint64_t until = deadline_in_s(60);
	int in_time = 0, bounded = 0;

	(void)state;
	assert_int_equal(pin_self(pin_cpu(0)), 0);
	for (int k = 0; once_more(k, in_time, until); k++) {
		struct late_writer l = { .m = 7 * N + 3 };

		rig_reset(&r, l.m);
		rig_put(&r, l.m, &new_op);
		memcpy(l.words, rig_wqe(&r, l.m), WQEBB);
		memset(rig_wqe(&r, l.m), 0, WQEBB);
		if (k & 1)
			rig_put(&r, l.m - N, &old_op);
		poll_with(&l, k % INSTRS);
		assert_int_equal(r.s.cqes, 1);
		assert_false(arrived(&old_op));
		assert_true(r.st.stale_wqe <= 2 * ENGINE_REFETCH);
		if (rig_syndrome(&r, 0, l.m)) {
			assert_int_equal(rig_syndrome(&r, 0, l.m), SYND_LOCAL_QP_OP);
			assert_false(arrived(&new_op));
			bounded++;
		} else {
			assert_true(arrived(&new_op));
			in_time += r.st.stale_wqe > 0;
		}
	}
	print_message("late WQEs: %d fetched again until they came, %d given up\n", in_time, bounded);
	assert_true(in_time > 0);
}

/* ---- records ---- */

static void record_set(uint64_t pi)
{
	st32((uint8_t *)r.q.dbrec + DBREC_SEND, dbrec_value(pi));
}

/* Every third doorbell the record is what counts, and only then. */
static void record_is_read_in_its_turn(void **state)
{
	uint64_t m;

	(void)state;
	r.e.recover_every = 3;
	rig_reset(&r, 0xfffa);
	for (m = 0xfffa; m < 0xfffa + 8; m++)
		rig_put(&r, m, &new_op);
	record_set(0x3000); /* nonsense, which nobody reads yet */
	for (m = 0xfffa; m < 0xfffc; m++) {
		rig_ring(&r, m + 1);
		assert_int_equal(rig_poll(&r, BARE), 1);
	}
	record_set(0xfffa + 6); /* further than the third doorbell says, and over the wrap */
	rig_ring(&r, 0xfffd);
	assert_int_equal(rig_poll(&r, BARE), 4);
	assert_int_equal(r.s.pi, 0xfffa + 6);
	/* what the record gave away already is not done again */
	rig_ring(&r, 0xfffa + 5);
	assert_int_equal(rig_poll(&r, BARE), 0);
	rig_ring(&r, 0xfffa + 7);
	assert_int_equal(rig_poll(&r, BARE), 1);
	assert_int_equal(r.st.stale_record, 0);
	assert_int_equal(r.s.cqes, 7);
}

static void record_stays_behind(void **state)
{
	(void)state;
	r.e.recover_every = 1;
	for (int instr = 0; instr < INSTRS; instr++) {
		rig_reset(&r, 5);
		for (uint64_t m = 5; m < 8; m++)
			rig_put(&r, m, &new_op);
		record_set(5);
		rig_ring(&r, 6);
		assert_int_equal(rig_poll(&r, instr), 1); /* bounded, and nothing is lost */
		assert_int_equal(r.st.stale_record, ENGINE_REFETCH);
		assert_int_equal(rig_syndrome(&r, 0, 5), 0);
		/* the next one, with a good record */
		record_set(7);
		rig_ring(&r, 7);
		assert_int_equal(rig_poll(&r, instr), 1);
		assert_int_equal(r.st.stale_record, ENGINE_REFETCH);
		assert_int_equal(rig_syndrome(&r, 1, 6), 0);
	}
}

static void record_comes_late(void **state)
{
	uint64_t until = deadline_in_s(60);
	int in_time = 0;

	(void)state;
	assert_int_equal(pin_self(pin_cpu(0)), 0);
	r.e.recover_every = 1;
	for (int k = 0; once_more(k, in_time, until); k++) {
		struct late_writer l = { .m = 5, .record = 6 };

		rig_reset(&r, 5);
		rig_put(&r, 5, &new_op);
		record_set(5);
		poll_with(&l, k % INSTRS);
		assert_true(r.st.stale_record <= ENGINE_REFETCH);
		assert_int_equal(r.s.cqes, 1);
		assert_int_equal(rig_syndrome(&r, 0, 5), 0);
		/* at the bound the other thread was late, and the doorbell has counted */
		in_time += r.st.stale_record > 0 && r.st.stale_record < ENGINE_REFETCH;
	}
	assert_true(in_time > 0);
}

/* ---- doorbells ---- */

static void odd_doorbells(void **state)
{
	static const uint64_t odd[] = { 0x10, 0x10 + N + 2, 0xfff0, 0x8010 };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		rig_reset(&r, 0x11);
		rig_put(&r, 0x11, &new_op);
		st64(r.q.db, doorbell_value(odd[i], RIG_QPN));
		assert_int_equal(rig_poll(&r, (int)i % INSTRS), 0);
		assert_int_equal(r.st.odd_doorbells, 1);
		/* the same value again is no other doorbell */
		assert_int_equal(rig_poll(&r, (int)i % INSTRS), 0);
		assert_int_equal(r.st.odd_doorbells, 1);
		/* somebody else's */
		st64(r.q.db, doorbell_value(0x12, RIG_QPN + 1));
		assert_int_equal(rig_poll(&r, (int)i % INSTRS), 0);
		assert_int_equal(r.st.odd_doorbells, 2);
		assert_int_equal(r.s.cqes, 0);
		assert_int_equal(r.s.pi, 0x11);
		rig_ring(&r, 0x12); /* control */
		assert_int_equal(rig_poll(&r, (int)i % INSTRS), 1);
		assert_int_equal(r.st.odd_doorbells, 2);
		assert_true(arrived(&new_op));
	}
	/* a whole ring at once is the most that is legal */
	rig_reset(&r, 0xfff8);
	for (uint64_t m = 0; m < N; m++)
		rig_put(&r, 0xfff8 + m, &new_op);
	rig_ring(&r, 0xfff8 + N);
	assert_int_equal(rig_poll(&r, BARE), N);
	assert_int_equal(r.st.odd_doorbells, 0);
}

/* Batches of 1..N over the wrap, announced by the next index or by the last
 * WQE's own words; both have the same effect. */
static void both_conventions(void **state)
{
	static const struct rig_op ops[] = {
		{ POST_NOP, 0, 0, 0, 0, 0 }, { POST_INLINE, 28, 0, 64, 0, 0 }, { POST_INLINE, 4, 0, 64, 0, 0 },
		{ POST_WRITE, 64, 0, 2048, 0, 0 }, { POST_READ, 64, 0, 2048, 0, 0 },
	};

	(void)state;
	for (int own = 0; own < 2; own++) {
		uint64_t m = 0xffff - 40, cqe = 0;

		rig_reset(&r, m);
		for (uint32_t k = 0; k < 200; k++) {
			uint32_t batch = 1 + k % N;

			for (uint32_t i = 0; i < batch; i++)
				rig_put(&r, m + i, &ops[(m + i) % 5]);
			st64(r.q.db, own ? rig_wqe(&r, m + batch - 1)[0] : doorbell_value(m + batch, RIG_QPN));
			assert_int_equal(rig_poll(&r, (int)(k % INSTRS)), batch);
			for (uint32_t i = 0; i < batch; i++)
				assert_int_equal(rig_syndrome(&r, cqe + i, m + i), 0);
			m += batch;
			cqe += batch;
		}
		assert_int_equal(r.s.cqes, cqe);
		assert_int_equal(r.st.odd_doorbells, 0);
		assert_int_equal(r.st.stale_wqe, 0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(never_written), T(not_late), T(written_late), T(record_is_read_in_its_turn),
		T(record_stays_behind), T(record_comes_late), T(odd_doorbells), T(both_conventions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
