/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a contended message on CPUs, specialised as the kernels are: a pinned thread each. */
#include "harness/err.h"
#include "harness/service.h"
#include "stages/completion/contended_parts.h"
#include <errno.h>
#include <stdlib.h>

#define START_S 20.0            /* for a thread to run */
#define CALLED_OFF_S 0.1        /* for each of the others when one would not end */

/* A CPU has no fences to choose from: orders differ in which of their stores release. */
#define CPU_ORDERS(X) FS_CONT_FORMS(X, NONE) FS_CONT_FORMS(X, SYS_FENCE) FS_CONT_FORMS(X, SYS_FENCE_RECORD)

static int cpu_order(int ord)
{
	return ord == ORD_NONE ? ORD_NONE : ord == ORD_GPU_FENCE || ord == ORD_SYS_FENCE ? ORD_SYS_FENCE : ORD_SYS_FENCE_RECORD;
}

struct agents;
typedef void agent_fn(struct agents *all, uint32_t number);

struct agent_thread {
	agent_fn *run;
	uint32_t number;
	struct service *service;
	struct agents *all;
};

/* Not freed while a thread may use it. */
struct agents { struct cont_trip_args h; struct cont_hands x; struct planter planter; struct agent_thread t[2 + CONT_OTHERS_CPU]; };

#define X(o, f, k) \
	static void agent_##o##__##f##__##k(struct agents *all, uint32_t n) { cont_agent(&all->h.a, n, ORD_##o, FORM_##f, POST_##k); } \
	static void trip_##o##__##f##__##k(struct agents *all, uint32_t n) \
	{ \
		cont_trip_agent(&all->h, n, &all->planter, ORD_##o, FORM_##f, POST_##k); \
	}
CPU_ORDERS(X)
#undef X
static agent_fn *const agents[TRIPS][ORDERINGS][SHARE_FORMS][POST_KINDS] = {
#define X(o, f, k) \
	[TRIP_ONE_WAY][ORD_##o][FORM_##f][POST_##k] = agent_##o##__##f##__##k, \
	[TRIP_ROUND][ORD_##o][FORM_##f][POST_##k] = trip_##o##__##f##__##k,
	CPU_ORDERS(X)
#undef X
};

#define X(t, m, i) \
	static void hand_##t##_##m##_##i(struct agents *all, uint32_t n) \
	{ \
		cont_hand_agent(&all->h, &all->x, n, &all->planter, TRIP_##t == TRIP_ROUND, MODE_##m, HAND_##i); \
	}
FS_CONT_HANDS(X)
#undef X
static agent_fn *const hands[TRIPS][MODES - DOORBELL_MODES][HAND_INSTRS] = {
#define X(t, m, i) [TRIP_##t][MODE_##m - DOORBELL_MODES][HAND_##i] = hand_##t##_##m##_##i,
	FS_CONT_HANDS(X)
#undef X
};

static agent_fn *agent_of(struct cont_choice c)
{
	return mode_hands(c.mode) ? hands[c.trip][c.mode - DOORBELL_MODES][c.instr] : agents[c.trip][cpu_order(c.ord)][c.form][c.kind];
}

static void serve(struct service *s, void *arg)
{
	struct agent_thread *t = arg;

	(void)s;
	t->run(t->all, t->number);
}

/* Agents that run would wait for one that doesn't. */
static void call_off(const struct cont_args *a)
{
	st64(a->q.failed, 1);
	st64_release_sys(a->words + CONT_OVER, 1);
}

/* Waits for all, and for none as long again once one would not end. */
static int stop_all(struct agents *all, uint32_t n, double patience_s)
{
	int rc = 0, rc2;

	for (uint32_t i = 0; i < n; i++)
		if (all->t[i].service && (rc2 = service_stop(all->t[i].service, rc == -EBUSY ? CALLED_OFF_S : patience_s))) {
			if (rc != -EBUSY)
				call_off(&all->h.a);
			rc = rc2;
		}
	return rc;
}

int cont_cpu_run(const struct cont_conf *c, const struct cont_trip_args *h, const struct cont_hands *x, double patience_s)
{
	struct agents *all = calloc(1, sizeof(*all));
	uint32_t n = c->choice.agents;
	int rc = 0, rc2;

	if (!all)
		return fs_fail(ENOMEM, "no memory for agents");
	all->h = *h;
	all->x = *x;
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct agent_thread *t = &all->t[i];

		t->all = all;
		t->run = agent_of(c->choice);
		t->number = i;
		rc = service_start(&t->service, "posting thread", rate_agent_cpu(&c->rate, (int)i), serve, t, START_S);
	}
	if (rc)
		call_off(&all->h.a);
	rc2 = stop_all(all, n, patience_s);
	rc = rc2 ? rc2 : rc;
	if (rc != -EBUSY)
		free(all);
	return rc;
}
