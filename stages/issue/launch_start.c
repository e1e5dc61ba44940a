/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that are started on a CPU, and the starts, on either side. */
#include "harness/err.h"
#include "harness/service.h"
#include "stages/issue/launch_parts.h"
#include "stages/queue/pace.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TRIPS = 2000, POLLS_PER_CLOCK = 1024, SEED = 0x5f1e57a6 };
#define WAIT_S 2.0
#define PATIENCE_S 60.0
#define FALL_ASLEEP_NS 50000

static long futex(uint64_t *word, int op, uint32_t v, const struct timespec *bound)
{
	/* the low half of a counter (both architectures are little-endian) */
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, v, bound, NULL, 0);
}

/* ---- what is started on a CPU ---- */

static void echo_serve(struct service *me, void *arg)
{
	struct launch *l = arg;

	while (!service_stopping(me))
		if (!echo_answer(&l->echo, &l->asked))
			relax_cpu();
}

static void flag_serve(struct service *me, void *arg)
{
	const struct launch_side *s = arg;
	uint64_t seen = 0;

	if (s->first_ns || s->bell_ns) {
		while (!service_stopping(me))
			if (!launch_woken(s, &seen, 1))
				relax_cpu();
	} else {
		while (!service_stopping(me))
			if (!launch_woken(s, &seen, 0))
				relax_cpu();
	}
}

static void futex_serve(struct service *me, void *arg)
{
	const struct timespec bound = { 0, 10000000 }; /* then it looks whether to stop */
	const struct launch_side *s = arg;
	uint64_t seen = 0;

	while (!service_stopping(me))
		if (!launch_woken(s, &seen, 1))
			futex((uint64_t *)s->flag, FUTEX_WAIT, (uint32_t)seen, &bound);
}

static int echo_begin(struct launch *l)
{
	if (l->gpu)
		return launch_gpu_echo(l->gpu, &l->echo, PATIENCE_S);
	l->asked = ld64(l->echo.ask); /* not by the thread: the first question may come before its first look */
	return service_start(&l->thread, "clock", l->c.path.nic_cpu, echo_serve, l, PATIENCE_S);
}

static int resident_begin(struct launch *l)
{
	if (l->gpu)
		return launch_gpu_reside(l->gpu, PATIENCE_S);
	return service_start(&l->thread, "started", l->c.path.nic_cpu, l->c.start == START_FUTEX ? futex_serve : flag_serve,
			     &l->side, PATIENCE_S);
}

static int resident_end(struct launch *l)
{
	return l->gpu ? launch_gpu_stop(l->gpu, PATIENCE_S) : service_stop(l->thread, PATIENCE_S);
}

int launch_clocks(struct launch *l, struct offset *o)
{
	int rc = echo_begin(l), rc2;

	if (rc)
		return rc;
	rc = offset_measure(&l->echo, &l->cpu, &l->agent, TRIPS, o);
	rc2 = resident_end(l);
	return rc2 ? rc2 : rc;
}

/* ---- the starts ---- */

/* The start itself, and nothing else: 0, or what launch_gpu_why() takes. */
static inline __attribute__((always_inline)) int start_one(struct launch *l, uint64_t count, const int start, const int on_gpu)
{
	if (start == START_STREAM)
		return launch_gpu_stream(l->gpu);
	if (start == START_GRAPH)
		return launch_gpu_graph(l->gpu);
	if (on_gpu)
		return launch_gpu_flag(l->gpu, count);
	st64_published((uint64_t *)l->side.flag, count);
	if (start == START_FUTEX)
		l->asleep += futex((uint64_t *)l->side.flag, FUTEX_WAKE, 1, NULL) > 0;
	return 0;
}

static int bell_wait(const struct launch *l, uint64_t last, struct lap *x)
{
	uint64_t until = 0;

	for (unsigned polls = 1; (x->stamp = ld64_poll(l->side.bell)) == last; polls++) {
		if (polls % POLLS_PER_CLOCK == 0) {
			until = until ? until : deadline_in_s(WAIT_S);
			if (deadline_over(until))
				return -ETIMEDOUT;
		}
		relax_cpu();
	}
	x->rung = ticks(l->c.path.gettime);
	return 0;
}

static int end_wait(const struct launch *l, struct lap *x)
{
	uint64_t until = deadline_in_s(WAIT_S);
	int ended;

	while (!(ended = launch_gpu_ended(l->gpu)))
		if (deadline_over(until))
			return -ETIMEDOUT;
	x->ended = ticks(l->c.path.gettime);
	return ended < 0 ? launch_gpu_why(-ended) : 0;
}

/* A pause that puts the next start anywhere in the other's poll, or lets it fall asleep. */
static void start_pause(const struct launch *l, uint64_t *rnd, const int start)
{
	uint64_t until = mono_ns() + FALL_ASLEEP_NS;

	if (start == START_FUTEX)
		while (mono_ns() < until)
			relax_cpu();
	wait_ticks(4096 + random_below(rnd, 16384), l->c.path.gettime);
}

static inline __attribute__((always_inline)) int starts_run(struct launch *l, const int start, const int on_gpu)
{
	uint64_t n = l->c.path.warmup + l->c.path.messages, rnd = SEED, last = ld64(l->side.bell);
	int gettime = l->c.path.gettime;
	struct lap warm;

	for (uint64_t i = 0; i < n; i++) {
		struct lap *x = i < l->c.path.warmup ? &warm : &l->lap[i - l->c.path.warmup];
		int err, rc;

		if (i == l->c.path.warmup)
			l->asleep = 0;
		start_pause(l, &rnd, start);
		x->decided = ticks(gettime);
		err = start_one(l, i + 1, start, on_gpu);
		x->called = ticks(gettime);
		if (err)
			return launch_gpu_why(err);
		rc = bell_wait(l, last, x);
		if (!rc && (start == START_STREAM || start == START_GRAPH))
			rc = end_wait(l, x);
		if (rc)
			return rc == -ETIMEDOUT ? fs_fail(ETIMEDOUT, "start %llu: no doorbell, or no end, in %.0f s",
							  (unsigned long long)i + 1, WAIT_S) : rc;
		last = x->stamp;
	}
	return 0;
}

static int starts(struct launch *l)
{
	int on_gpu = l->c.flag_place != PLACE_HOST;

	switch (l->c.start) {
	case START_STREAM: return starts_run(l, START_STREAM, 0);
	case START_GRAPH: return starts_run(l, START_GRAPH, 0);
	case START_FUTEX: return starts_run(l, START_FUTEX, 0);
	default: return on_gpu ? starts_run(l, START_FLAG, 1) : starts_run(l, START_FLAG, 0);
	}
}

int launch_starts(struct launch *l)
{
	int resident = l->c.start == START_FLAG || l->c.start == START_FUTEX, rc, rc2;

	if (resident && (rc = resident_begin(l)))
		return rc;
	rc = starts(l);
	rc2 = resident ? resident_end(l) : rc ? launch_gpu_drain(l->gpu, PATIENCE_S) : 0;
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}
