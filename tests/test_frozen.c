/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a thread that is kept from the CPU at any moment loses nothing. While points
 * run, the issuer, the NIC's thread and whoever else there is are frozen for
 * milliseconds at random moments (a signal whose handler sleeps), now one, now all of
 * them; every point ends well, with all its messages and good payloads. Nor does it
 * matter that the whole process is stopped for longer than any wait is allowed to last,
 * in the middle of one.
 *
 * Controls: threads were frozen, each of them; a doorbell and a CQE that are really lost are
 * found to be; and a NIC that alone is away for longer than a wait ends it.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include "stages/suite.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FREEZES = 150, SEED = 5 };  /* of either agent, at least */
#define ROUND_S 5.0     /* how long points run, */
#define BOUND_S 90.0    /* and at most, until there were so many freezes */

/* ---- who freezes ---- */

static struct freezer {
	pthread_t thread;
	pid_t tid;
	int stop, off;             /* off: nobody is frozen for now */
	uint64_t ns;               /* of the next freeze */
	uint64_t issuer, others;   /* freezes that took place */
	uint64_t rnd;
} freezer;

static uint32_t below(uint64_t *s, uint32_t n)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)((z ^ (z >> 31)) >> 16) % n;
}

static pid_t tid_self(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Runs in the thread that is frozen; only what a handler may call. */
static void on_freeze(int sig)
{
	uint64_t ns = __atomic_load_n(&freezer.ns, __ATOMIC_RELAXED);
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	int keep = errno;

	(void)sig;
	__atomic_fetch_add(tid_self() == getpid() ? &freezer.issuer : &freezer.others, 1, __ATOMIC_RELAXED);
	nanosleep(&t, NULL);
	errno = keep;
}

static void freeze(pid_t tid)
{
	syscall(SYS_tgkill, getpid(), tid, SIGUSR1); /* it may have ended: then nobody is */
}

/* Every thread but this one: how many; at most `room`. */
static int threads_of(pid_t *tid, int room)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != tid_self() && n < room)
			tid[n++] = atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}

static void *freezer_main(void *arg)
{
	pid_t tid[16];

	(void)arg;
	__atomic_store_n(&freezer.tid, tid_self(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&freezer.stop, __ATOMIC_ACQUIRE)) {
		struct timespec pause = { 0, 1000 * below(&freezer.rnd, 2500) };
		int n, all = !below(&freezer.rnd, 5);

		nanosleep(&pause, NULL);
		if (__atomic_load_n(&freezer.off, __ATOMIC_ACQUIRE))
			continue;
		n = threads_of(tid, 16);
		__atomic_store_n(&freezer.ns, 300000 + 1000 * below(&freezer.rnd, 3000), __ATOMIC_RELAXED);
		if (n && !all)
			freeze(tid[below(&freezer.rnd, (uint32_t)n)]);
		for (int i = 0; all && i < n; i++)
			freeze(tid[i]);
	}
	return NULL;
}

static int group_setup(void **state)
{
	struct sigaction sa = { .sa_handler = on_freeze, .sa_flags = SA_RESTART };

	(void)state;
	freezer.rnd = SEED;
	freezer.off = 1;
	if (sigaction(SIGUSR1, &sa, NULL))
		return -1;
	return pthread_create(&freezer.thread, NULL, freezer_main, NULL) ? -1 : 0;
}

static int group_teardown(void **state)
{
	(void)state;
	__atomic_store_n(&freezer.stop, 1, __ATOMIC_RELEASE);
	pthread_join(freezer.thread, NULL);
	return 0;
}

/* ---- points ---- */

static const char *const points[] = {
	"doorbell=ring-record-ring recover_every=1", "doorbell=record-ring recover_every=1", "size=8",
	"doorbell=ring-record-ring recover_every=3 depth=8", "recover_every=2 depth=16 batch=3",
	"doorbell=ring ordering=sys-release", "ordering=none", "depth=4 entries=4 batch=2", "size=300 check=each",
	"op=read size=40 check=each", "op=nop", "size=5000 segment=64 check=end", "metric=rate depth=32 batch=8",
	"metric=rate depth=4 marks=outer", "marks=outer", "marks=rotate", "messages=512 plant=read:2000", "lines=3",
	"probe=pingpong", "probe=pingpong metric=rate depth=8",
};

static void point_make(struct point *pt, const char *text)
{
	int pingpong = !strncmp(text, "probe=pingpong", 14);

	fs_point_init(pt, pingpong ? fs_probe_find("pingpong") : &probe_path);
	point_set(pt, "issuer=cpu nic=soft messages=300 warmup=64");
	point_set(pt, pingpong ? text + 14 + (text[14] == ' ') : text);
	fs_point_id(pt);
}

/* 0, or the point's error; all its messages must be there. */
static int run(const struct point *pt)
{
	struct rows rs;
	int rc;

	rows_init(&rs);
	fs_reason_clear();
	rc = pt->probe->run(pt, &rs);
	if (!rc && pt->probe == &probe_path && fs_is(pt, "metric", "latency") && fs_is(pt, "plant", "none") &&
	    !fs_is(pt, "marks", "rotate"))
		assert_int_equal(row_of(&rs, "total", "-", "latency")->s.n, fs_num(pt, "messages"));
	rows_free(&rs);
	return rc;
}

static void nothing_is_lost(void **state)
{
	uint64_t until = deadline_in_s(ROUND_S), bound = deadline_in_s(BOUND_S);
	size_t n = sizeof(points) / sizeof(points[0]), k = 0;

	(void)state;
	freezer.issuer = freezer.others = 0;
	__atomic_store_n(&freezer.off, 0, __ATOMIC_RELEASE);
	for (; (k < n || !deadline_over(until) || freezer.issuer < FREEZES || freezer.others < FREEZES) &&
	     !deadline_over(bound); k++) {
		struct point pt;
		int rc;

		point_make(&pt, points[k % n]);
		rc = run(&pt);
		if (rc)
			fail_msg("%s: %d: %s", points[k % n], rc, fs_reason());
	}
	__atomic_store_n(&freezer.off, 1, __ATOMIC_RELEASE);
	print_message("%zu points; the issuer was frozen %llu times, others %llu times\n", k,
		      (unsigned long long)freezer.issuer, (unsigned long long)freezer.others);
	assert_true(k >= n);
	assert_true(freezer.issuer >= FREEZES && freezer.others >= FREEZES);
}

/* control: what is lost is missed, with the same freezes around it */
static void losses_are_found(void **state)
{
	struct point pt;

	(void)state;
	__atomic_store_n(&freezer.off, 0, __ATOMIC_RELEASE);
	point_make(&pt, "fault=lost-doorbell");
	assert_int_equal(run(&pt), -ETIMEDOUT);
	point_make(&pt, "fault=lost-cqe depth=2");
	assert_int_equal(run(&pt), -EPROTO);
	__atomic_store_n(&freezer.off, 1, __ATOMIC_RELEASE);
}

/* ---- longer than any wait ---- */

/* From another process: first the NIC's thread is frozen for some 100 ms, so that the
 * issuer waits; then, in the middle of it, everything is stopped for longer than a wait may last. */
static pid_t stopper_start(int stop)
{
	pid_t parent = getpid(), pid = fork();
	struct timespec t = { 0, 150000000 }, away = { 2, 700000000 };

	if (pid)
		return pid;
	nanosleep(&t, NULL); /* the point runs, its NIC is frozen by now */
	if (stop) {
		kill(parent, SIGSTOP);
		nanosleep(&away, NULL);
		kill(parent, SIGCONT);
	}
	_exit(0);
}

/* Freezes the NIC's thread, the one that isn't this, the issuer or the freezer, once. */
static void *nic_freeze(void *arg)
{
	uint64_t until = deadline_in_s(20), before = __atomic_load_n(&freezer.others, __ATOMIC_ACQUIRE);
	pid_t tid[16];

	__atomic_store_n(&freezer.ns, *(uint64_t *)arg, __ATOMIC_RELAXED);
	usleep(40000); /* not while it starts: nobody waits for a completion then */
	while (__atomic_load_n(&freezer.others, __ATOMIC_ACQUIRE) == before && !deadline_over(until)) {
		int n = threads_of(tid, 16);

		for (int i = 0; i < n; i++)
			if (tid[i] != getpid() && tid[i] != __atomic_load_n(&freezer.tid, __ATOMIC_ACQUIRE))
				freeze(tid[i]);
		usleep(2000);
	}
	return NULL;
}

/* A long point while its NIC is frozen for `ns`, and the process stopped or not. */
static int away(uint64_t ns, int stop)
{
	struct point pt;
	pthread_t t;
	pid_t pid;
	int rc;

	point_make(&pt, "messages=200000 check=none");
	assert_int_equal(pthread_create(&t, NULL, nic_freeze, &ns), 0);
	pid = stopper_start(stop);
	rc = run(&pt);
	pthread_join(t, NULL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return rc;
}

static void stopped_for_longer_than_a_wait(void **state)
{
	(void)state;
	assert_int_equal(away(1200000000u, 1), 0);
}

/* control */
static void away_for_longer_than_a_wait(void **state)
{
	int rc = 0;

	(void)state;
	for (int i = 0; i < 10 && !rc; i++) /* it may hit the NIC between two passes */
		rc = away(7000000000u, 0);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_non_null(strstr(fs_reason(), "no completion of message"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost), cmocka_unit_test(losses_are_found),
		cmocka_unit_test(stopped_for_longer_than_a_wait), cmocka_unit_test(away_for_longer_than_a_wait),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
