/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of marks, stages and intervals. */
#include "stages/stage.h"
#include <string.h>

const char *const stage_names[STAGES] = {
	[STAGE_ISSUE] = "issue",
	[STAGE_CROSSING] = "crossing",
	[STAGE_TRANSLATION] = "translation",
	[STAGE_HANDOFF] = "handoff",
	[STAGE_COMPLETION] = "completion",
	[STAGE_QUEUEING] = "queueing",
};

const char *const stage_help[STAGES] = {
	[STAGE_ISSUE] = "from the decision to send to owning a queue slot",
	[STAGE_CROSSING] = "doorbell and completion on their way between the agents",
	[STAGE_TRANSLATION] = "addresses to keys at the issuer, keys and pages at the NIC",
	[STAGE_HANDOFF] = "building the WQE, ordering, ringing, fetching the WQE",
	[STAGE_COMPLETION] = "reading and writing the payload, storing the CQE",
	[STAGE_QUEUEING] = "waiting in the NIC for earlier messages; nil at depth 1 and batch 1",
};

const struct mark_desc mark_table[MARKS] = {
#define X(NAME, name, agent, moment) [MARK_##NAME] = { #name, AGENT_##agent, moment },
	FS_MARKS(X)
#undef X
};

int mark_find(const char *name)
{
	for (int i = 0; i < MARKS; i++)
		if (!strcmp(mark_table[i].name, name))
			return i;
	return -1;
}

#define I(from, to, stage, object) { MARK_##from, MARK_##to, STAGE_##stage, OBJ_##object }

/* The NIC's part, in all of them. */
#define NIC_INTERVALS \
	I(RUNG, SEEN, CROSSING, DB), \
	I(SEEN, STARTED, QUEUEING, NONE), \
	I(STARTED, FETCHED, HANDOFF, QUEUE), \
	I(FETCHED, TRANSLATED, TRANSLATION, KEYS), \
	I(TRANSLATED, READ, COMPLETION, SRC), \
	I(READ, WRITTEN, COMPLETION, DST), \
	I(WRITTEN, COMPLETED, COMPLETION, CQ)
/* Whoever submits, */
#define GPU_SUBMITS \
	I(INTENT, RESERVED, ISSUE, NONE), \
	I(RESERVED, RESOLVED, TRANSLATION, NONE), \
	I(RESOLVED, BUILT, HANDOFF, QUEUE), \
	I(BUILT, RUNG, HANDOFF, QUEUE)
#define HOST_RINGS \
	I(INTENT, RESERVED, ISSUE, NONE), \
	I(RESERVED, RESOLVED, TRANSLATION, NONE), \
	I(RESOLVED, BUILT, HANDOFF, QUEUE), \
	I(BUILT, HANDED, HANDOFF, HAND), \
	I(HANDED, TAKEN, CROSSING, HAND), \
	I(TAKEN, RUNG, HANDOFF, QUEUE)
#define PROXY_SUBMITS \
	I(INTENT, RESERVED, ISSUE, NONE), \
	I(RESERVED, HANDED, HANDOFF, HAND), \
	I(HANDED, TAKEN, CROSSING, HAND), \
	I(TAKEN, RESOLVED, TRANSLATION, NONE), \
	I(RESOLVED, BUILT, HANDOFF, QUEUE), \
	I(BUILT, RUNG, HANDOFF, QUEUE)
/* A kernel's end hands over by itself: nothing of its own is stored for it. */
#define CPU_SUBMITS \
	I(INTENT, RESERVED, ISSUE, NONE), \
	I(RESERVED, HANDED, HANDOFF, NONE), \
	I(HANDED, TAKEN, CROSSING, HAND), \
	I(TAKEN, RESOLVED, TRANSLATION, NONE), \
	I(RESOLVED, BUILT, HANDOFF, QUEUE), \
	I(BUILT, RUNG, HANDOFF, QUEUE)
/* and whoever looks at the CQ. */
#define GPU_NOTICES I(COMPLETED, NOTICED, CROSSING, CQ)
#define CPU_RELAYS \
	I(COMPLETED, CAUGHT, CROSSING, CQ), \
	I(CAUGHT, RELAYED, COMPLETION, RELAY), \
	I(RELAYED, NOTICED, CROSSING, RELAY)

/* What is passed on is a launch. */
#define CPU_LAUNCHES \
	I(COMPLETED, CAUGHT, CROSSING, CQ), \
	I(CAUGHT, RELAYED, COMPLETION, NONE), \
	I(RELAYED, NOTICED, CROSSING, RELAY)

static const struct interval gpu_gpu[] = { GPU_SUBMITS, NIC_INTERVALS, GPU_NOTICES };
static const struct interval gpu_cpu[] = { GPU_SUBMITS, NIC_INTERVALS, CPU_RELAYS };
static const struct interval host_gpu[] = { HOST_RINGS, NIC_INTERVALS, GPU_NOTICES };
static const struct interval host_cpu[] = { HOST_RINGS, NIC_INTERVALS, CPU_RELAYS };
static const struct interval proxy_gpu[] = { PROXY_SUBMITS, NIC_INTERVALS, GPU_NOTICES };
static const struct interval proxy_cpu[] = { PROXY_SUBMITS, NIC_INTERVALS, CPU_RELAYS };
static const struct interval cpu_cpu[] = { CPU_SUBMITS, NIC_INTERVALS, CPU_LAUNCHES };

#define T(t) { t, sizeof(t) / sizeof((t)[0]) }
static const struct { const struct interval *t; int n; } routes[SUBMITTERS][CONSUMERS] = {
	[SUBMITTER_GPU] = { T(gpu_gpu), T(gpu_cpu) },
	[SUBMITTER_HOST_DOORBELL] = { T(host_gpu), T(host_cpu) },
	[SUBMITTER_PROXY] = { T(proxy_gpu), T(proxy_cpu) },
	[SUBMITTER_CPU] = { T(cpu_cpu), T(cpu_cpu) }, /* no kernel runs that could look */
};
_Static_assert(sizeof(proxy_cpu) / sizeof(proxy_cpu[0]) <= INTERVALS_MAX, "the longest route");

int interval_table(struct route r, const struct interval **t)
{
	*t = routes[r.submitter][r.consumer].t;
	return routes[r.submitter][r.consumer].n;
}

int route_helped(struct route r)
{
	return r.submitter != SUBMITTER_GPU || r.consumer == CONSUMER_CPU;
}

enum consumer route_consumer(enum submitter s)
{
	return s == SUBMITTER_PROXY || s == SUBMITTER_CPU ? CONSUMER_CPU : CONSUMER_GPU;
}

enum agent mark_agent(struct route r, enum mark m)
{
	if (m == MARK_RUNG && r.submitter != SUBMITTER_GPU)
		return AGENT_HELPER;
	if ((m == MARK_RESOLVED || m == MARK_BUILT) && (r.submitter == SUBMITTER_PROXY || r.submitter == SUBMITTER_CPU))
		return AGENT_HELPER;
	return mark_table[m].agent;
}

enum mark route_submitted(struct route r)
{
	return r.submitter == SUBMITTER_GPU ? MARK_RUNG : MARK_HANDED;
}

int interval_is_hop(struct route r, const struct interval *i)
{
	return mark_agent(r, i->from) != mark_agent(r, i->to);
}

int route_has(struct route r, enum mark m)
{
	const struct interval *t;
	int n = interval_table(r, &t);

	for (int i = 0; i < n; i++)
		if (t[i].from == m || t[i].to == m)
			return 1;
	return 0;
}
