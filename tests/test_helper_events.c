/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: where a consumer that sleeps can't have its event or its epoll, or loses them while it sleeps, the
 * point fails in bounded time and says which of them and why; nothing stays open behind it.
 *
 * Control: the same point goes well before and behind each.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int run(const char *more)
{
	struct point pt;
	struct rows rs;
	int rc;

	point_of(&pt, "issuer=cpu nic=soft consumer=cpu notify=interrupt messages=600 warmup=64");
	point_set(&pt, more);
	rows_init(&rs);
	fs_reason_clear();
	rc = probe_path.run(&pt, &rs);
	rows_free(&rs);
	return rc;
}

static void goes_well(void)
{
	int rc = run("");

	if (rc)
		fail_msg("%d: %s", rc, fs_reason());
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* With room for so many descriptors more. */
static void run_with(int more, const char *says)
{
	int rc, before = lowest_free();
	struct rlimit was, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = (rlim_t)(before + more);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	rc = run("");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	if (rc != -EMFILE || !strstr(fs_reason(), says))
		fail_msg("%d more: %d, %s; expected %d and \"%s\"", more, rc, fs_reason(), -EMFILE, says);
	assert_int_equal(lowest_free(), before);
}

static void what_cannot_be_made_is_said(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	goes_well();
	run_with(0, "eventfd: Too many open files");
	goes_well();
	run_with(1, "helper: epoll: Too many open files");
	goes_well();
}

/* ---- while it sleeps ---- */

struct breaker {
	const char *what;      /* as /proc/self/fd names it */
	const char *instead;   /* what its descriptor is from then on */
	int done, over;
};

static int fd_of(const char *what)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int found = -1;

	while (d && found < 0 && (e = readdir(d))) {
		char to[64] = "", from[300];

		snprintf(from, sizeof(from), "/proc/self/fd/%s", e->d_name);
		if (readlink(from, to, sizeof(to) - 1) > 0 && strstr(to, what))
			found = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

static void *break_it(void *arg)
{
	uint64_t until = deadline_in_s(60);
	struct breaker *b = arg;

	/* each that there is, until the run has ended: one may be broken that nobody waits on any more */
	while (!__atomic_load_n(&b->over, __ATOMIC_ACQUIRE) && !deadline_over(until)) {
		int fd = fd_of(b->what), other;
		struct timespec ms = { 0, 1000000 };

		if (fd < 0)
			continue;
		nanosleep(&ms, NULL); /* it is made in two calls: neither is to fail */
		if (fd_of(b->what) != fd)
			continue;
		other = open(b->instead, O_RDONLY | O_CLOEXEC);
		/* the call itself: ThreadSanitizer takes dup2() behind a thread's back for a fault, which it is meant to be */
		b->done |= other >= 0 && syscall(SYS_dup3, other, fd, O_CLOEXEC) == fd;
		close(other);
	}
	return NULL;
}

static void one_that_breaks_is_said(void **state)
{
	struct breaker b = { .what = "[eventpoll]", .instead = "/dev/null" };
	uint64_t until = deadline_in_s(90);
	int rc, before;
	pthread_t t;

	(void)state;
	if (pin_cpus() < 2)
		skip();
	before = lowest_free();
	assert_int_equal(pthread_create(&t, NULL, break_it, &b), 0);
	rc = run("metric=rate marks=outer messages=2000000"); /* tens of seconds, if nothing broke */
	__atomic_store_n(&b.over, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	assert_true(b.done);
	if (rc != -ETIMEDOUT || !strstr(fs_reason(), "the consumer's epoll failed: Invalid argument"))
		fail_msg("%d: %s", rc, fs_reason());
	assert_false(deadline_over(until));
	assert_int_equal(lowest_free(), before);
	goes_well();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_made_is_said), cmocka_unit_test(one_that_breaks_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
