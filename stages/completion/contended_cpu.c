/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a contended message on CPUs, specialised as the kernels are: a pinned thread each. */
#include "harness/err.h"
#include "harness/service.h"
#include "stages/completion/contended_parts.h"
#include <errno.h>
#include <stdlib.h>

#define START_S 20.0            /* for a thread to run */

/* A CPU has no fences to choose from: orders differ in which of their stores release. */
#define CPU_ORDERS(X) FS_CONT_FORMS(X, NONE) FS_CONT_FORMS(X, SYS_FENCE) FS_CONT_FORMS(X, SYS_FENCE_RECORD)

static int cpu_order(int ord)
{
	return ord == ORD_NONE ? ORD_NONE : ord == ORD_GPU_FENCE || ord == ORD_SYS_FENCE ? ORD_SYS_FENCE : ORD_SYS_FENCE_RECORD;
}

typedef void agent_fn(const struct cont_args *a, uint32_t number);
#define X(o, f, k) static void agent_##o##__##f##__##k(const struct cont_args *a, uint32_t n) { cont_agent(a, n, ORD_##o, FORM_##f, POST_##k); }
CPU_ORDERS(X)
#undef X
static agent_fn *const agents[ORDERINGS][SHARE_FORMS][POST_KINDS] = {
#define X(o, f, k) [ORD_##o][FORM_##f][POST_##k] = agent_##o##__##f##__##k,
	CPU_ORDERS(X)
#undef X
};

struct agent_thread {
	const struct cont_args *a;
	agent_fn *run;
	uint32_t number;
	struct service *service;
};

static void serve(struct service *s, void *arg)
{
	struct agent_thread *t = arg;

	(void)s;
	t->run(t->a, t->number);
}

/* Agents that run would wait for one that doesn't. */
static void call_off(const struct cont_args *a)
{
	st64(a->q.failed, 1);
	st64_release_sys(a->words + CONT_OVER, 1);
}

int cont_cpu_run(const struct cont_conf *c, const struct cont_args *a, double patience_s)
{
	uint32_t n = c->choice.agents;
	struct agent_thread *t = calloc(n, sizeof(*t)); /* not freed while a thread may use it */
	int rc = 0, rc2;

	if (!t)
		return fs_fail(ENOMEM, "no memory for agents");
	for (uint32_t i = 0; !rc && i < n; i++) {
		t[i].a = a;
		t[i].run = agents[cpu_order(c->choice.ord)][c->choice.form][c->choice.kind];
		t[i].number = i;
		rc = service_start(&t[i].service, "posting thread", rate_agent_cpu(&c->rate, (int)i), serve, &t[i], START_S);
	}
	if (rc)
		call_off(a);
	for (uint32_t i = 0; i < n; i++)
		if (t[i].service && (rc2 = service_stop(t[i].service, patience_s)))
			rc = rc2;
	if (rc != -EBUSY)
		free(t);
	return rc;
}
