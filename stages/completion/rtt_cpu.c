/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a round trip on CPUs, specialised as the kernels are. */
#include "harness/err.h"
#include "harness/service.h"
#include "stages/completion/rtt_parts.h"
#include <errno.h>
#include <stdlib.h>

#define START_S 20.0            /* for a thread to run */

/* A CPU has no fences to choose from: orders differ in which of their stores release. */
#define CPU_ORDERS(X) FS_RTT_DOORBELLS(X, NONE) FS_RTT_DOORBELLS(X, SYS_FENCE) FS_RTT_DOORBELLS(X, SYS_FENCE_RECORD)

static int cpu_order(int ord)
{
	return ord == ORD_NONE ? ORD_NONE : ord == ORD_GPU_FENCE || ord == ORD_SYS_FENCE ? ORD_SYS_FENCE : ORD_SYS_FENCE_RECORD;
}

typedef void issue_fn(const struct rtt_args *a);
typedef void respond_fn(const struct rtt_args *a, struct planter *p);
#define X(o, d, k) \
	static void issue_##o##__##d##__##k(const struct rtt_args *a) { rtt_issue(a, ORD_##o, DBM_##d, POST_##k); } \
	static void respond_##o##__##d##__##k(const struct rtt_args *a, struct planter *p) { rtt_respond_by(a, p, ORD_##o, DBM_##d, POST_##k); }
CPU_ORDERS(X)
#undef X
static const struct { issue_fn *issue; respond_fn *respond; } agents[ORDERINGS][DOORBELL_MODES][POST_KINDS] = {
#define X(o, d, k) [ORD_##o][DBM_##d][POST_##k] = { issue_##o##__##d##__##k, respond_##o##__##d##__##k },
	CPU_ORDERS(X)
#undef X
};

struct responder_thread {
	struct rtt_args a;
	struct planter planter;
	respond_fn *respond;
};

static void serve(struct service *s, void *arg)
{
	struct responder_thread *t = arg;

	(void)s;
	t->respond(&t->a, &t->planter);
}

int rtt_cpu_run(const struct rtt_conf *c, const struct rtt_args *a, double patience_s)
{
	struct responder_thread *t = calloc(1, sizeof(*t)); /* not freed while its thread may use it */
	int ord = cpu_order(c->choice.ord), mode = c->choice.mode, kind = c->choice.kind, rc, rc2 = 0;
	struct service *service = NULL;

	if (!t)
		return fs_fail(ENOMEM, "no memory for the responder");
	t->a = *a;
	t->respond = agents[ord][mode][kind].respond;
	rc = service_start(&service, "responder", c->responder_cpu, serve, t, START_S);
	if (!rc)
		agents[ord][mode][kind].issue(a);
	else /* should it run all the same */
		st64_release_sys(rtt_word(a, RTT_OVER), 1);
	if (service)
		rc2 = service_stop(service, patience_s);
	if (rc2 != -EBUSY)
		free(t);
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}
