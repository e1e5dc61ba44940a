/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of a rate, and of a round trip: a pass beside the agents, how they ended, and rows of what they used. */
#include "harness/err.h"
#include "stages/handoff/rate_parts.h"
#include "stages/issuer/boundary.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELP_S 20.0             /* for a worker to start, or to stop */

struct rate_help { struct worker *worker[WORKERS_MAX]; uint32_t n; };

/* Stops those that run. */
static int stop_all(struct rate_help *h, struct worker_status *st)
{
	int rc = 0;

	for (uint32_t i = 0; i < WORKERS_MAX; i++) {
		int rc2 = h->worker[i] ? worker_stop(h->worker[i], HELP_S, &st[i]) : 0;

		rc = rc ? rc : rc2;
	}
	free(h);
	return rc;
}

int rate_help_add(struct rate_help **out, const struct worker_args *a, int cpu)
{
	struct worker_status st[WORKERS_MAX];
	struct rate_help *h = *out ? *out : calloc(1, sizeof(*h));
	int rc, rc2;

	if (!h)
		return fs_fail(ENOMEM, "no memory for workers");
	*out = h;
	if (!(rc = worker_start(a, cpu, HELP_S, &h->worker[h->n++])))
		return 0;
	*out = NULL;
	rc2 = stop_all(h, st);
	return rc2 ? rc2 : rc;
}

int rate_help_start(const struct rate_mem *m, const struct rate_conf *c, struct rate_help **out)
{
	struct worker_args a;
	int rc = 0;

	*out = NULL;
	for (uint32_t i = 0; !rc && i < c->helpers; i++) {
		rate_worker_fill(m, c, i, &a);
		rc = rate_help_add(out, &a, c->helper_cpu[i]);
	}
	return rc;
}

int rate_help_stop(struct rate_help *h, struct rate_helped *got)
{
	memset(got->st, 0, sizeof(got->st));
	return h ? stop_all(h, got->st) : 0;
}

int rate_help_failed(const struct rate_helped *got, const struct rate_conf *c)
{
	for (uint32_t i = 0; i < c->helpers; i++) {
		const struct worker_status *w = &got->st[i];

		if (w->end == WORKER_OVERRUN)
			return fs_fail(EPROTO, "worker %u: ring %u was overrun: where message %llu should stand it found message %llu", i, w->ring,
				       (unsigned long long)w->at, (unsigned long long)w->found);
		if (w->end == WORKER_CQE_ERROR)
			return fs_fail(EREMOTEIO, "worker %u: ring %u: message %llu: CQE with syndrome 0x%02x, vendor 0x%02x", i, w->ring,
				       (unsigned long long)w->at, w->syndrome, w->vendor);
		if (w->end == WORKER_STRAY)
			return fs_fail(EPROTO, "worker %u: ring %u: where the completion of message %llu should stand it found that of message %llu", i,
				       w->ring, (unsigned long long)w->at, (unsigned long long)w->found);
		/* a GPU's reason is said where its runtime is (rate_ends.c) */
		if (w->end == WORKER_LAUNCH || w->end == WORKER_KERNEL)
			return fs_fail(EIO, "%s %llu failed: %s", w->end == WORKER_LAUNCH ? "launch" : "the kernel of launch",
				       (unsigned long long)w->launches + (w->end == WORKER_LAUNCH), strerror(w->error));
	}
	return 0;
}

int rate_help_verdict(const struct rate_helped *got, const struct rate_conf *c)
{
	uint64_t taken = 0, done = 0, all = c->warmup + c->messages;
	int rc = rate_help_failed(got, c);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < c->helpers; i++) {
		taken += got->st[i].taken;
		done += got->st[i].done;
	}
	/* an agent that waits in vain says so itself, with rate_help_words() */
	if (c->helpers && taken == all && done != all)
		return fs_fail(ETIMEDOUT, "the workers rang for %llu messages, and %llu of them were completed", (unsigned long long)taken,
			       (unsigned long long)done);
	return 0;
}

const char *rate_help_words(const struct rate_helped *got, const struct rate_conf *c, uint32_t ring, char *buf, size_t len)
{
	const struct worker_status *w;

	buf[0] = '\0';
	if (!c->helpers)
		return buf;
	w = &got->st[ring % c->helpers];
	if (rate_ending(c)) {
		snprintf(buf, len, "the worker%s made %llu launches, rang for %llu messages and saw %llu of them completed; ",
			 w->end == WORKER_DIED ? ", whose thread had ended," : "", (unsigned long long)w->launches,
			 (unsigned long long)w->taken, (unsigned long long)w->done);
		return buf;
	}
	snprintf(buf, len, "worker %u, which serves its ring %u%s, rang for %llu and gave credit for %llu messages in all; ", ring % c->helpers, ring,
		 w->end == WORKER_DIED ? ", and whose thread had ended" : "", (unsigned long long)w->taken,
		 (unsigned long long)w->done);
	return buf;
}

void rate_help_take(const struct rate_conf *c, struct rate_helped *got)
{
	got->messages += c->helpers ? (double)c->messages : 0;
	for (uint32_t i = 0; i < c->helpers; i++) {
		const struct worker_status *w = &got->st[i];
		double wall = (double)(w->over.wall - w->begin.wall), cpu = (double)(w->used_over.cpu_ns - w->used_begin.cpu_ns);

		got->cpu_ns += cpu;
		got->cores += wall > 0 ? cpu / wall : 0;
		got->waited += (double)(w->used_over.waited - w->used_begin.waited);
		got->preempted += (double)(w->used_over.preempted - w->used_begin.preempted);
		got->busy[i] += w->ticks ? (double)w->busy / (double)w->ticks : 0;
		got->taken += (double)w->taken;
		got->doorbells += (double)w->doorbells;
		got->launches += (double)w->launches;
		got->asleep += (double)w->asleep;
	}
}

static int mean_row(const struct rate_conf *c, const char *metric, const char *unit, double mean, double n, struct rows *out)
{
	struct row *r = path_row(out, &c->path, "-", metric, unit);

	if (!r)
		return -ENOMEM;
	summary_one(&r->s, mean);
	r->s.n = (uint64_t)n;
	return 0;
}

int rate_help_rows(const struct rate_conf *c, struct rate_helped *got, int passes, struct rows *out)
{
	double n = got->messages;
	int rc;

	if (!c->helpers || !passes)
		return 0;
	if ((rc = mean_row(c, "helper_cpu", "ns/msg", got->cpu_ns / n, n, out)) ||
	    (rc = mean_row(c, "helper_cores", "cores", got->cores / passes, n, out)) ||
	    (rc = mean_row(c, "helper_switches", "count/msg", got->waited / n, n, out)) ||
	    (rc = mean_row(c, "helper_preempted", "count/msg", got->preempted / n, n, out)) ||
	    (rc = mean_row(c, "helper_rings", "count/msg", got->doorbells / got->taken, got->taken, out)) ||
	    (rc = mean_row(c, "helper_batch", "count", got->taken / got->doorbells, got->doorbells, out)))
		return rc;
	if (c->path.boundary == BOUNDARY_FUTEX && (rc = mean_row(c, "asleep", "share", got->asleep / got->launches, got->launches, out)))
		return rc;
	return rate_spread_row(out, c, "-", "helper_busy", "share", got->busy, c->helpers, passes);
}
