/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the clock that marks are taken with runs at the rate that it is said
 * to, and a counter that lies is turned away. Counters that lie are made up:
 * this machine's may well be good.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"

/* clock.c's witnesses, which clock.h keeps to itself. */
int clock_vouched(const char *source, const char *flags, char *why, size_t len);
int clock_in_step(const double *ticks, const double *ns, size_t n, struct cpu_clock *c);
int clock_cross_check(int cpu_a, int cpu_b, uint64_t skew, uint64_t *backward,
		      uint64_t *rounds);

static uint64_t read_clock(const struct cpu_clock *c)
{
#if defined(__x86_64__)
	if (c->kind == CPU_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	if (c->kind == CPU_CLOCK_TSC) {
		__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t));
		return t;
	}
#endif
	(void)c;
	return mono_ns();
}

static void test_measured_rate_holds_later(void **state)
{
	struct timespec pause = {0, 100000000};
	double best = INFINITY;
	struct cpu_clock c;

	(void)state;
	assert_int_equal(cpu_clock_measure(&c), 0);
	print_message("kind %d, %s: %.6f ticks/ns +- %.1e, step %.2f ns, read %.1f ns\n", c.kind,
		      c.why, c.ticks_per_ns, c.rate_err, c.step_ns, c.read_ns);
	assert_true(c.kind == CPU_CLOCK_TSC || c.kind == CPU_CLOCK_GETTIME);
	assert_true(strlen(c.why) > 0);
	assert_true(c.ticks_per_ns > 0.001 && c.ticks_per_ns < 20);
	assert_true(c.rate_err >= 0 && c.rate_err < 1e-3);
	assert_true(c.step_ns > 0 && c.step_ns < 2000);
	assert_true(c.read_ns > 0 && c.read_ns < 5000);
	/* A wait of 100 ms, measured by both clocks: being switched away between
	 * the two reads spoils one try, not all. */
	for (int i = 0; i < 50 && !(best < 1e-4); i++) {
		uint64_t t0 = read_clock(&c), n0 = mono_ns(), t1, n1;
		double off;

		nanosleep(&pause, NULL);
		t1 = read_clock(&c);
		n1 = mono_ns();
		off = fabs((double)(t1 - t0) / c.ticks_per_ns / (double)(n1 - n0) - 1);
		best = off < best ? off : best;
	}
	assert_true(best < 1e-4);
}

static void test_measuring_is_short_and_leaves_the_affinity(void **state)
{
	cpu_set_t before, after;
	struct cpu_clock c;
	uint64_t t0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	t0 = mono_ns();
	assert_int_equal(cpu_clock_measure(&c), 0);
	assert_true(mono_ns() - t0 < 30000000000ull); /* 0.1 s where nobody else runs */
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

static void test_kernels_word(void **state)
{
	const char *good = ": fpu tsc msr constant_tsc nonstop_tsc rdtscp";
	char why[64];

	(void)state;
	assert_true(clock_vouched("tsc", "", why, sizeof(why)));
	assert_true(clock_vouched("kvm-clock", good, why, sizeof(why)));
	assert_true(clock_vouched("", good, why, sizeof(why)));
	/* The kernel has rejected the TSC, whatever the flags say. */
	assert_false(clock_vouched("hpet", good, why, sizeof(why)));
	assert_non_null(strstr(why, "hpet"));
	assert_false(clock_vouched("acpi_pm", good, why, sizeof(why)));
	/* Stops in deep sleep. */
	assert_false(clock_vouched("kvm-clock", ": tsc constant_tsc", why, sizeof(why)));
	assert_false(clock_vouched("", "", why, sizeof(why)));
}

enum { POINTS = 200 };

/* A counter at 2.1 ticks/ns watched for 50 ms, read with up to 40 ns of jitter. */
static void counter_make_up(double *ticks, double *ns)
{
	srand(7);
	for (int i = 0; i < POINTS; i++) {
		ns[i] = 250000.0 * i;
		ticks[i] = 2.1 * (ns[i] + rand() % 41 - 20);
	}
}

static void test_steady_counter_is_taken(void **state)
{
	double ticks[POINTS], ns[POINTS];
	struct cpu_clock c = {0};

	(void)state;
	counter_make_up(ticks, ns);
	assert_int_equal(clock_in_step(ticks, ns, POINTS, &c), 1);
	assert_true(fabs(c.ticks_per_ns - 2.1) < 2.1e-6);
	assert_true(c.rate_err > 0 && c.rate_err < 1e-5);
}

static void test_jumping_counter_is_refused(void **state)
{
	double ticks[POINTS], ns[POINTS];
	struct cpu_clock c = {0};

	(void)state;
	counter_make_up(ticks, ns);
	for (int i = POINTS / 2; i < POINTS; i++)
		ticks[i] += 2.1 * 20000; /* 20 us, once */
	assert_int_equal(clock_in_step(ticks, ns, POINTS, &c), 0);
	assert_non_null(strstr(c.why, "strays"));
}

static void test_counter_that_changes_its_rate_is_refused(void **state)
{
	double ticks[POINTS], ns[POINTS];
	struct cpu_clock c = {0};

	(void)state;
	counter_make_up(ticks, ns);
	/* 40 ppm faster in the second half: 1 us at the end, the residuals of
	 * one straight line stay below what jitter alone may show. */
	for (int i = POINTS / 2; i < POINTS; i++)
		ticks[i] += 4e-5 * 2.1 * (ns[i] - ns[POINTS / 2]);
	assert_int_equal(clock_in_step(ticks, ns, POINTS, &c), 0);
	assert_non_null(strstr(c.why, "rate"));
}

static void test_standing_counter_is_no_clock(void **state)
{
	double ticks[POINTS], ns[POINTS];
	struct cpu_clock c = {0};

	(void)state;
	counter_make_up(ticks, ns);
	memset(ticks, 0, sizeof(ticks));
	assert_int_equal(clock_in_step(ticks, ns, POINTS, &c), -EIO);
	counter_make_up(ticks, ns);
	assert_int_equal(clock_in_step(ticks, ns, 3, &c), -EIO);
	assert_true(strlen(fs_reason()) > 0);
}

static void test_cpus_that_differ_are_seen(void **state)
{
	uint64_t backward = 0, rounds = 0;
	struct cpu_clock c;
	int cpus[2], n = 0;
	cpu_set_t set;

	(void)state;
	assert_int_equal(cpu_clock_measure(&c), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	if (n < 2 || c.kind != CPU_CLOCK_TSC)
		skip();
	assert_int_equal(clock_cross_check(cpus[0], cpus[1], 0, &backward, &rounds), 0);
	assert_true(backward == 0);
	/* The same CPUs, one of them made 1 ms late: no handing over takes as
	 * long, so it must show; tried again where the CPUs are overloaded. */
	for (int i = 0; i < 300 && !backward; i++)
		assert_int_equal(clock_cross_check(cpus[0], cpus[1],
						   (uint64_t)(1e6 * c.ticks_per_ns),
						   &backward, &rounds), 0);
	assert_true(backward > 0);
	assert_true((double)backward <= 1e6 * c.ticks_per_ns);
	/* A CPU that isn't there is said, not waited for. */
	assert_true(clock_cross_check(cpus[0], CPU_SETSIZE - 1, 0, &backward, &rounds) < 0);
}

/* Whoever has pinned itself to one CPU compares those that the process may use. */
static void test_a_pinned_thread_compares_all(void **state)
{
	struct cpu_clock c;
	cpu_set_t was;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(was), &was), 0);
	assert_int_equal(cpu_clock_measure(&c), 0);
	if (pin_cpus() < 2 || c.kind != CPU_CLOCK_TSC)
		skip();
	assert_int_equal(pin_self(pin_cpu(0)), 0);
	for (int tries = 0; tries < 10; tries++) { /* rounds of two threads on busy CPUs may not meet */
		assert_int_equal(cpu_clock_measure(&c), 0);
		if (c.kind == CPU_CLOCK_TSC && strstr(c.why, "CPUs agree"))
			break;
	}
	assert_int_equal(sched_setaffinity(0, sizeof(was), &was), 0);
	assert_non_null(strstr(c.why, "CPUs agree"));
}

static void test_wall_and_deadlines(void **state)
{
	uint64_t w = wall_ns(), d = deadline_in_s(0.02), t0 = mono_ns();

	(void)state;
	assert_true(w / 1000000000u <= (uint64_t)time(NULL) + 1);
	assert_true(w / 1000000000u + 60 >= (uint64_t)time(NULL));
	assert_false(deadline_over(t0 + 60000000000u));
	while (!deadline_over(d))
		usleep(1000);
	assert_true(mono_ns() - t0 >= 19000000u);
}

static void test_disturbances_only_grow(void **state)
{
	struct disturb a, b;

	(void)state;
	disturb_read(&a);
	for (int i = 0; i < 20; i++)
		usleep(1000); /* gives the CPU up each time */
	disturb_read(&b);
	assert_true(b.voluntary >= a.voluntary + 10);
	assert_true(b.involuntary >= a.involuntary);
	assert_true(b.steal_ticks >= a.steal_ticks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measured_rate_holds_later),
		cmocka_unit_test(test_measuring_is_short_and_leaves_the_affinity),
		cmocka_unit_test(test_kernels_word),
		cmocka_unit_test(test_steady_counter_is_taken),
		cmocka_unit_test(test_jumping_counter_is_refused),
		cmocka_unit_test(test_counter_that_changes_its_rate_is_refused),
		cmocka_unit_test(test_standing_counter_is_no_clock),
		cmocka_unit_test(test_cpus_that_differ_are_seen),
		cmocka_unit_test(test_a_pinned_thread_compares_all),
		cmocka_unit_test(test_wall_and_deadlines),
		cmocka_unit_test(test_disturbances_only_grow),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
