/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a round trip on CPUs, specialised as the kernels are; they post themselves or hand over. */
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

typedef void issue_fn(const struct rtt_hand_args *h);
typedef void respond_fn(const struct rtt_hand_args *h, struct planter *p);
struct agents { issue_fn *issue; respond_fn *respond; };

#define X(o, d, k) \
	static void issue_##o##__##d##__##k(const struct rtt_hand_args *h) { rtt_issue(&h->r, 0, ORD_##o, DBM_##d, POST_##k, HAND_BARE); } \
	static void respond_##o##__##d##__##k(const struct rtt_hand_args *h, struct planter *p) \
	{ \
		rtt_respond_by(&h->r, p, ORD_##o, DBM_##d, POST_##k); \
	}
CPU_ORDERS(X)
#undef X
static const struct agents agents[ORDERINGS][DOORBELL_MODES][POST_KINDS] = {
#define X(o, d, k) [ORD_##o][DBM_##d][POST_##k] = { issue_##o##__##d##__##k, respond_##o##__##d##__##k },
	CPU_ORDERS(X)
#undef X
};

#define X(m, i) \
	static void issue_##m##_##i(const struct rtt_hand_args *h) { rtt_hand_over(h, NULL, RTT_PUT, MODE_##m, HAND_##i); } \
	static void respond_##m##_##i(const struct rtt_hand_args *h, struct planter *p) { rtt_hand_over(h, p, RTT_REPLY, MODE_##m, HAND_##i); }
FS_RTT_HANDS(X)
#undef X
static const struct agents hands[MODES - DOORBELL_MODES][HAND_INSTRS] = {
#define X(m, i) [MODE_##m - DOORBELL_MODES][HAND_##i] = { issue_##m##_##i, respond_##m##_##i },
	FS_RTT_HANDS(X)
#undef X
};

static const struct agents *agents_of(struct rtt_choice c)
{
	return mode_hands(c.mode) ? &hands[c.mode - DOORBELL_MODES][c.instr] : &agents[cpu_order(c.ord)][c.mode][c.kind];
}

struct responder_thread {
	struct rtt_hand_args h;
	struct planter planter;
	respond_fn *respond;
};

static void serve(struct service *s, void *arg)
{
	struct responder_thread *t = arg;

	(void)s;
	t->respond(&t->h, &t->planter);
}

int rtt_cpu_run(const struct rtt_conf *c, const struct rtt_hand_args *h, double patience_s)
{
	struct responder_thread *t = calloc(1, sizeof(*t)); /* not freed while its thread may use it */
	const struct agents *by = agents_of(c->choice);
	struct service *service = NULL;
	int rc, rc2 = 0;

	if (!t)
		return fs_fail(ENOMEM, "no memory for the responder");
	t->h = *h;
	t->respond = by->respond;
	rc = service_start(&service, "responder", c->responder_cpu, serve, t, START_S);
	if (!rc)
		by->issue(h);
	else /* should it run all the same */
		st64_release_sys(rtt_word(&h->r, RTT_OVER), 1);
	if (service)
		rc2 = service_stop(service, patience_s);
	if (rc2 != -EBUSY)
		free(t);
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}
