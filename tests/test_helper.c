/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a descriptor is taken when both of its halves are there, and of its own lap; a helper's
 * rows say what its CPU was kept for; a consumer that sleeps sleeps, one that polls does not;
 * descriptors are rung for in batches, if that is asked for; and whatever a helper can do wrong
 * ends in bounded time with words that say what. What can't be is refused.
 *
 * Controls: the same points without the fault go well; the same counts with batch=1, and polled.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- descriptors ---- */

static void halves_of_a_descriptor(void **state)
{
	uint64_t slot[2] = { 0, 0 };

	(void)state;
	for (uint32_t log_n = 0; log_n < 4; log_n++)
		for (uint64_t m = 0; m < 64; m++) {
			uint64_t lap = hand_lap(m, log_n), next = hand_lap(m + (1u << log_n), log_n), w0, w1;

			assert_int_not_equal(lap, next);
			if (m < 1u << log_n) /* of an empty ring */
				assert_false(hand_valid(0, lap));
			w0 = hand_word0(lap, POST_WRITE, 0xabcdef, 0xffffffc0u);
			w1 = hand_word1(lap, m);
			assert_true(hand_valid(w0, lap) && hand_valid(w1, lap));
			assert_false(hand_valid(w0, next) || hand_valid(w1, next));
			assert_int_equal(hand_kind(w0), POST_WRITE);
			assert_int_equal(hand_len(w0), 0xabcdef);
			assert_int_equal(hand_off(w0), 0xffffffc0u);
			assert_int_equal(hand_number(w1), m);
			for (int mode = MODE_TUNED; mode < MODES; mode++) {
				hand_post((uint8_t *)slot, w0, w1, mode);
				assert_true(slot[0] == w0 && slot[1] == w1);
			}
		}
	assert_true(hand_len(hand_word0(0, 0, HAND_LEN_MAX, 0)) == HAND_LEN_MAX && HAND_LEN_MAX >= 16 << 20);
}

/* ---- routes ---- */

static void routes_are_whole(void **state)
{
	(void)state;
	for (int s = 0; s < SUBMITTERS; s++)
		for (int c = 0; c < CONSUMERS; c++) {
			struct route r = { (enum submitter)s, (enum consumer)c };
			const struct interval *t;
			int n = interval_table(r, &t), hops = 0;

			assert_in_range(n, 1, INTERVALS_MAX);
			assert_int_equal(t[0].from, MARK_INTENT);
			assert_int_equal(t[n - 1].to, MARK_NOTICED);
			for (int i = 0; i < n; i++) {
				if (i)
					assert_int_equal(t[i].from, t[i - 1].to);
				hops += interval_is_hop(r, &t[i]);
				/* between agents there is nothing but the crossing and its turn in the NIC */
				if (interval_is_hop(r, &t[i]))
					assert_int_equal(t[i].stage, STAGE_CROSSING);
			}
			assert_int_equal(hops, 2 + (s != SUBMITTER_GPU) + (c == CONSUMER_CPU || s == SUBMITTER_CPU));
			assert_true(route_has(r, route_submitted(r)));
			assert_int_equal(mark_agent(r, route_submitted(r)), AGENT_ISSUER);
		}
}

/* ---- points ---- */

static int run(const char *text, struct rows *rs)
{
	struct point pt;

	point_of(&pt, "issuer=cpu nic=soft messages=600 warmup=64");
	point_set(&pt, text);
	rows_init(rs);
	fs_reason_clear();
	return probe_path.run(&pt, rs);
}

static double mean_of_row(const struct rows *rs, const char *stage, const char *metric)
{
	const struct row *r = row_of(rs, stage, "-", metric);

	assert_non_null(r);
	return r->s.mean;
}

static void need_two_cpus(void)
{
	if (pin_cpus() < 2)
		skip();
}

static void who_sleeps_sleeps(void **state)
{
	struct rows rs;
	int tries = 10, fewer = 0;

	(void)state;
	need_two_cpus();
	assert_int_equal(run("consumer=cpu", &rs), 0);
	assert_null(row_of(&rs, "-", "-", "sleeps"));
	assert_null(row_of(&rs, "crossing", "-", "wakeup"));
	assert_true(mean_of_row(&rs, "-", "helper_cpu") > 0);
	rows_free(&rs);
	/* one message at a time: it sleeps for each, unless the CQE was faster than its way to sleep; and
	 * switches for each sleep, unless what it waits for comes before it is asleep */
	while (tries-- && !fewer) {
		double sleeps;

		assert_int_equal(run("consumer=cpu notify=interrupt", &rs), 0);
		sleeps = mean_of_row(&rs, "-", "sleeps");
		assert_true(mean_of_row(&rs, "-", "wakeups") <= sleeps);
		fewer = sleeps > 0.5 && mean_of_row(&rs, "-", "helper_switches") > 0.5 &&
			row_of(&rs, "crossing", "-", "wakeup") && mean_of_row(&rs, "crossing", "wakeup") > 0;
		rows_free(&rs);
	}
	assert_true(fewer);
}

/* Runs in the thread that is held up. */
static void on_hold(int sig)
{
	struct timespec ms = { 0, 1000000 };
	int keep = errno;

	(void)sig;
	nanosleep(&ms, NULL);
	errno = keep;
}

/* Holds up each thread but the first, which issues, and itself, again and again: behind a helper that is away descriptors
 * gather, however the machine shares its CPUs. */
static void *hold_them(void *over)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	while (!__atomic_load_n((int *)over, __ATOMIC_ACQUIRE)) {
		struct timespec pause = { 0, 2000000 };
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;

		while (d && (e = readdir(d)))
			if (atoi(e->d_name) > 0 && atoi(e->d_name) != self && atoi(e->d_name) != getpid()) {
				syscall(SYS_tgkill, getpid(), atoi(e->d_name), SIGUSR1);
				nanosleep(&pause, NULL);
			}
		if (d)
			closedir(d);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void batches_are_rung_for_once(void **state)
{
	struct sigaction hold = { .sa_handler = on_hold, .sa_flags = SA_RESTART }, was;
	struct rows rs;
	int tries = 20, fewer = 0, over = 0;
	pthread_t t;

	(void)state;
	need_two_cpus();
	assert_int_equal(sigaction(SIGUSR1, &hold, &was), 0);
	assert_int_equal(pthread_create(&t, NULL, hold_them, &over), 0);
	assert_int_equal(run("submitter=proxy depth=64 metric=rate marks=outer messages=20000", &rs), 0);
	assert_true(mean_of_row(&rs, "-", "helper_rings") > 0.999); /* control */
	rows_free(&rs);
	/* as many as are there: at times all of them, at times one */
	while (tries-- && !fewer) {
		assert_int_equal(run("submitter=proxy proxy_batch=16 depth=64 metric=rate marks=outer messages=20000", &rs), 0);
		fewer = mean_of_row(&rs, "-", "helper_rings") < 0.995;
		/* (the ring that ends a block may have begun in it) */
		assert_true(mean_of_row(&rs, "-", "helper_rings") >= 1 / 16.0 - 1e-3);
		rows_free(&rs);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	sigaction(SIGUSR1, &was, NULL);
#ifndef __SANITIZE_THREAD__ /* which keeps a signal back from a thread that calls nothing */
	assert_true(fewer);
#endif
}

/* ---- faults ---- */

static void faults_end_with_words(void **state)
{
	static const struct { const char *text; int rc; const char *says; } faults[] = {
		{ "submitter=proxy fault=stuck-worker", -ETIMEDOUT, "handed" },
		{ "submitter=host-doorbell fault=stuck-worker", -ETIMEDOUT, "the helper rang for" },
		{ "submitter=proxy fault=killed-worker", -ETIMEDOUT, "thread had ended" },
		{ "submitter=host-doorbell fault=killed-worker consumer=cpu", -ETIMEDOUT, "thread had ended" },
		{ "submitter=proxy proxy=baseline fault=ring-overrun", -ETIMEDOUT, "overrun" },
		{ "submitter=proxy fault=lost-doorbell", -ETIMEDOUT, "the helper rang for" },
		{ "submitter=proxy fault=dead-nic", -ETIMEDOUT, "passed on" },
		{ "consumer=cpu fault=deaf-consumer", -ETIMEDOUT, "the consumer passed on" },
		{ "consumer=cpu notify=interrupt fault=lost-wakeup", -ETIMEDOUT, "raised no event" },
		{ "consumer=cpu notify=interrupt fault=lost-cqe", -ETIMEDOUT, "the consumer passed on" },
		{ "submitter=proxy fault=error-cqe", -EREMOTEIO, "syndrome 0x14" },
		{ "submitter=host-doorbell consumer=cpu fault=key", -EREMOTEIO, "syndrome 0x13" },
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint64_t until = deadline_in_s(60);
		char without[160];
		struct rows rs;
		int rc = run(faults[i].text, &rs);

		rows_free(&rs);
		if (rc != faults[i].rc || !strstr(fs_reason(), faults[i].says))
			fail_msg("%s: %d, %s; expected %d and \"%s\"", faults[i].text, rc, fs_reason(), faults[i].rc, faults[i].says);
		assert_false(deadline_over(until));
		snprintf(without, sizeof(without), "%s fault=none", faults[i].text);
		rc = run(without, &rs);
		rows_free(&rs);
		if (rc)
			fail_msg("%s: %s", without, fs_reason());
	}
}

/* ---- refusals ---- */

static void what_cannot_be_is_refused(void **state)
{
	static const struct { const char *text, *says; } refusals[] = {
		{ "proxy=baseline", "submitter=proxy" }, { "proxy_batch=2", "submitter=proxy" },
		{ "submitter=host-doorbell proxy_batch=2", "submitter=proxy" },
		{ "submitter=proxy ordering=none", "releases" }, { "submitter=proxy batch=4 depth=4", "proxy_batch" },
		{ "notify=interrupt", "consumer=cpu" }, { "submitter=proxy notify=interrupt", "never sleeps" },
		{ "consumer=cpu nic=null", "nobody completes" }, { "submitter=proxy payload=inline size=29", "one basic block" },
		{ "submitter=proxy doorbell=blueflame", "BlueFlame" }, { "consumer=cpu cq=collapsed", "cq=ring" },
		{ "consumer=cpu metric=rate marks=outer signal=4 depth=8", "signal=1" }, { "submitter=proxy marks=rotate", "marks=all" },
		{ "submitter=host-doorbell registration=staged", "persistent" }, { "submitter=proxy consumer=gpu registration=staged", "consumer=auto" }, { "fault=stuck-worker", "helper" },
		{ "fault=ring-overrun", "submitter=proxy" }, { "fault=deaf-consumer", "consumer=cpu" },
		{ "consumer=cpu fault=lost-wakeup", "notify=interrupt" }, { "submitter=proxy fault=opcode", "the issuer builds none" },
		{ "plant=taken:5000 messages=600", "submitter=" }, { "plant=caught:5000 messages=600", "consumer=cpu" },
		{ "submitter=proxy queue_mem=gpu", "can't reach GPU memory" },
		{ "issuer=gpu nic=peer submitter=host-doorbell db_mem=peer", "can't reach GPU memory" },
		{ "issuer=gpu nic=peer consumer=cpu cq_mem=gpu", "consumer=cpu" },
	};
	struct machine none = { .cpus = 2 };
	struct path_conf c;
	struct point pt;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		point_of(&pt, "issuer=cpu nic=soft");
		point_set(&pt, refusals[i].text);
		assert_int_equal(point_refused(&pt, &none, refusals[i].says), -EINVAL);
	}
	if (pin_cpus() < 2)
		return;
	point_of(&pt, "issuer=cpu nic=soft submitter=proxy");
	point_set(&pt, pin_cpu(0) == 0 ? "cpu=0 helper_cpu=0" : "cpu=auto");
	if (pin_cpu(0) == 0)
		assert_int_equal(path_resolve(&pt, &none, &c, why, sizeof(why)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_of_a_descriptor), cmocka_unit_test(routes_are_whole),
		cmocka_unit_test(who_sleeps_sleeps), cmocka_unit_test(batches_are_rung_for_once),
		cmocka_unit_test(faults_end_with_words), cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
