/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a planted wait takes place, as long as it is meant to, whoever else wants the CPUs while it is found out
 * what one costs. Control: a cost as long as the wait, which is what interrupted rounds once found, and no wait is left.
 */
#include "tests/points.h"

#include "stages/queue/sink.h"
#include <pthread.h>
#include <time.h>

enum { NAPPERS = 6, NAP_NS = 1000, RUN_NS = 10000, WAIT = 50000, TRIES = 8, WAITS = 64, MARK = 3 };

static int over;

/* Sleeps and runs by turns, so that whoever runs beside it is interrupted every few microseconds. */
static void *napper(void *unused)
{
	const struct timespec nap = { 0, NAP_NS };

	(void)unused;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uint64_t t0;

		nanosleep(&nap, NULL);
		t0 = wall_ticks_ns();
		while (wall_ticks_ns() - t0 < RUN_NS)
			;
	}
	return NULL;
}

static void meant(struct planter *p)
{
	struct sink_conf c;

	memset(&c, 0, sizeof(c));
	c.plant[0] = MARK;
	c.plant_ns[0] = WAIT;
	c.plant[1] = -1;
	planter_begin(p, &c);
}

/* ns that a wait lasts, on average */
static double lasts(struct planter *p)
{
	uint64_t t0 = wall_ticks_ns();

	for (int i = 0; i < WAITS; i++)
		planter_wait(p, MARK);
	return (double)(wall_ticks_ns() - t0) / WAITS;
}

static void a_wait_takes_place(void **unused)
{
	pthread_t thread[NAPPERS];
	struct planter p;

	(void)unused;
	for (int i = 0; i < NAPPERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, napper, NULL), 0);
	for (int i = 0; i < TRIES; i++) {
		meant(&p);
		if (p.cost >= WAIT / 5)
			fail_msg("try %d: a wait of %d ns is said to cost %d", i, WAIT, p.cost);
		assert_true(lasts(&p) > WAIT / 2);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < NAPPERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static void a_cost_as_long_leaves_none(void **unused)
{
	double least = WAIT;
	struct planter p;

	(void)unused;
	meant(&p);
	p.cost = WAIT;
	for (int i = 0; i < TRIES; i++) {
		double ns = lasts(&p);

		least = ns < least ? ns : least;
	}
	assert_true(least < WAIT / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_takes_place), cmocka_unit_test(a_cost_as_long_leaves_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
