/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC on a CPU thread: it runs everywhere. The thread is pinned,
 * polls the doorbell and runs the engine until it is told to stop; all objects
 * that it touches are in host memory.
 */
#include "harness/err.h"
#include "harness/service.h"
#include "stages/nic/nic.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nic_run {
	struct nic_pass p;
	struct engine_job job;
	struct engine_status status;
	uint64_t *stage;
	struct service *service;
};

/* A counter that is full has been raised all the same, and nothing else can be wrong with it. */
void soft_event(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Specialised by what is usual and by how it is instrumented. What was rung before the stop is still
 * worked on. */
HD void soft_serve(struct service *me, struct nic_run *r, const int usual, const int instr)
{
	const struct engine e = r->p.eng;
	struct engine_state s;
	struct coop alone = { 0, 1 };

	engine_begin_of(&e, &s, &r->job, &r->status, r->stage, usual, instr);
	for (;;) {
		int stopping = service_stopping(me);

		if (engine_lead_of(&e, &s, &r->job, usual, instr) != EJ_NONE)
			engine_work(&r->job, alone, instr);
		else if (stopping)
			break;
		else if (r->p.crowded)
			sched_yield();
	}
	if (engine_last_flush(&e, &s, &r->job, instr))
		engine_work(&r->job, alone, instr);
	engine_finish_of(&e, &s, usual);
}

#define SERVES(X) X(USUAL, BARE) X(USUAL, ALL) X(USUAL, FLEX) X(USUAL_TWO, BARE) X(USUAL_TWO, ALL) X(USUAL_TWO, FLEX) \
	X(USUAL_SPARSE, BARE) X(USUAL_FLAME, BARE) X(USUAL_FLAME, ALL) X(USUAL_FLAME, FLEX) \
	X(USUAL_CACHED, BARE) X(USUAL_CACHED, ALL) X(USUAL_CACHED, FLEX)
#define X(usual, instr) \
	static void soft_##usual##_##instr(struct service *me, void *r) \
	{ \
		soft_serve(me, r, usual, instr); \
	}
SERVES(X)
#undef X
static void (*const serves[USUALS][INSTRS])(struct service *, void *) = {
#define X(usual, instr) [usual][instr] = soft_##usual##_##instr,
	SERVES(X)
#undef X
};

static void soft_free(struct nic_run *r)
{
	free(r->stage);
	free(r);
}

static int soft_start(const struct nic_pass *p, struct nic_run **run)
{
	size_t marks = (size_t)p->sink.block * SINK_SLOTS * 8, bytes = marks + cache_bytes(nic_cache_entries(p));
	struct nic_run *r = calloc(1, sizeof(*r));
	int rc;

	if (!r || !(r->stage = aligned_alloc(64, bytes))) {
		free(r);
		return fs_fail(ENOMEM, "soft NIC: out of memory");
	}
	memset(r->stage, 0, bytes);
	r->p = *p;
	r->p.eng.sink = &r->p.sink;
	r->p.eng.cache = near_address((uint8_t *)r->stage + marks);
	rc = service_start(&r->service, "soft NIC", p->cpu, serves[p->usual][p->instr], r, p->start_s);
	if (rc && !r->service)
		soft_free(r);
	*run = r;
	return rc;
}

static int soft_stop(struct nic_run *r, struct engine_status *st)
{
	int rc = service_stop(r->service, r->p.stop_s);

	if (rc)
		return rc; /* the thread still uses r */
	*st = r->status;
	soft_free(r);
	return 0;
}

const struct nic nic_soft = {
	.name = "soft",
	.watcher = "a CPU thread",
	.purpose = "runs everywhere; every object that it touches is in host memory",
	.completes = 1,
	.emulated = 1,
	.start = soft_start,
	.stop = soft_stop,
	.start_many = soft_start_many,
	.stop_many = soft_stop_many,
};
