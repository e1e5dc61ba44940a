/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/service.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct service {
	const char *name;
	int cpu, stop, ready, ended;
	void (*fn)(struct service *, void *);
	void *arg;
	pthread_t thread;
};

struct thread_usage thread_usage_now(void)
{
	struct thread_usage u = { 0, 0, 0 };
	struct timespec t;
	struct rusage r;

	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		u.cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (!getrusage(RUSAGE_THREAD, &r)) {
		u.waited = (uint64_t)r.ru_nvcsw;
		u.preempted = (uint64_t)r.ru_nivcsw;
	}
	return u;
}

int service_stopping(const struct service *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
}

static void *service_main(void *p)
{
	struct service *s = p;

	if (s->cpu >= 0)
		pin_self(s->cpu);
	__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	s->fn(s, s->arg);
	__atomic_store_n(&s->ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Waits for a flag of the thread's. */
static int await(const int *flag, double patience_s)
{
	uint64_t until = deadline_in_s(patience_s);

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
		if (deadline_over(until))
			return -ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

int service_start(struct service **out, const char *name, int cpu, void (*fn)(struct service *, void *),
		  void *arg, double patience_s)
{
	struct service *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fs_fail(ENOMEM, "%s: out of memory", name);
	s->name = name;
	s->cpu = cpu;
	s->fn = fn;
	s->arg = arg;
	rc = pthread_create(&s->thread, NULL, service_main, s);
	if (rc) {
		free(s);
		return fs_fail(rc, "%s: no thread: %s", name, strerror(rc));
	}
	*out = s;
	if (await(&s->ready, patience_s))
		return fs_fail(ETIMEDOUT, "%s: its thread did not start in %.0f s", name, patience_s);
	return 0;
}

int service_stop(struct service *s, double patience_s)
{
	/* what was done before, a doorbell for one, is there when the stop is seen */
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	if (await(&s->ended, patience_s))
		return fs_fail(EBUSY, "%s: its thread did not stop in %.0f s", s->name, patience_s);
	pthread_join(s->thread, NULL);
	free(s);
	return 0;
}
