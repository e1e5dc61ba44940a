/* SPDX-License-Identifier: Apache-2.0 */
/* A rate's agents on CPUs: a pinned thread each, specialised as the kernels are. */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/service.h"
#include "stages/handoff/rate_parts.h"
#include <errno.h>
#include <stdlib.h>

#define START_S 20.0            /* for a thread to run */

/* A CPU has no fences to choose from: orders differ in which of their stores release. */
#define CPU_ORDERS(X) FS_RATE_FORMS(X, NONE) FS_RATE_FORMS(X, SYS_FENCE) FS_RATE_FORMS(X, SYS_FENCE_RECORD)

static int cpu_order(int ord)
{
	return ord == ORD_NONE ? ORD_NONE : ord == ORD_GPU_FENCE || ord == ORD_SYS_FENCE ? ORD_SYS_FENCE : ORD_SYS_FENCE_RECORD;
}

typedef void rate_fn(const struct rate_args *a, struct rate_agent *g);
#define ALONE ((struct coop){ 0, 1 })
#define X(o, f) \
	static void rate_##o##_##f##_00(const struct rate_args *a, struct rate_agent *g) { rate_run(a, g, ALONE, ORD_##o, FORM_##f, POST_INLINE, 0); } \
	static void rate_##o##_##f##_01(const struct rate_args *a, struct rate_agent *g) { rate_run(a, g, ALONE, ORD_##o, FORM_##f, POST_INLINE, 1); } \
	static void rate_##o##_##f##_10(const struct rate_args *a, struct rate_agent *g) { rate_run(a, g, ALONE, ORD_##o, FORM_##f, POST_WRITE, 0); } \
	static void rate_##o##_##f##_11(const struct rate_args *a, struct rate_agent *g) { rate_run(a, g, ALONE, ORD_##o, FORM_##f, POST_WRITE, 1); }
CPU_ORDERS(X)
#undef X
static rate_fn *const loops[ORDERINGS * RATE_FORMS][2][2] = {
#define X(o, f) [ORD_##o * RATE_FORMS + FORM_##f] = { \
	{ rate_##o##_##f##_00, rate_##o##_##f##_01 }, { rate_##o##_##f##_10, rate_##o##_##f##_11 } },
	CPU_ORDERS(X)
#undef X
};

#define TWO_ORDERS(X) X(NONE) X(SYS_FENCE) X(SYS_FENCE_RECORD)
#define X(o) \
	static void rate_two_##o##_0(const struct rate_args *a, struct rate_agent *g) { rate_run(a, g, ALONE, ORD_##o, FORM_SOLO, POST_INLINE2, 0); } \
	static void rate_two_##o##_1(const struct rate_args *a, struct rate_agent *g) { rate_run(a, g, ALONE, ORD_##o, FORM_SOLO, POST_INLINE2, 1); }
TWO_ORDERS(X)
#undef X
static rate_fn *const two_loops[ORDERINGS][2] = {
#define X(o) [ORD_##o] = { rate_two_##o##_0, rate_two_##o##_1 },
	TWO_ORDERS(X)
#undef X
};

typedef void hand_fn(const struct hand_args *h, struct rate_agent *g);
#define X(f, i) \
	static void hand_##f##_##i(const struct hand_args *h, struct rate_agent *g) { hand_run(h, g, PROXY_##f, HAND_##i); }
FS_RATE_HANDS(X)
#undef X
static hand_fn *const hands[PROXY_FORMS][HAND_INSTRS] = {
#define X(f, i) [PROXY_##f][HAND_##i] = hand_##f##_##i,
	FS_RATE_HANDS(X)
#undef X
};

/* One of the two. */
struct rate_thread {
	const struct rate_args *a;
	const struct hand_args *h;
	struct rate_agent g;
	rate_fn *loop;
	hand_fn *hand;
	struct service *service;
};

static void rate_serve(struct service *s, void *arg)
{
	struct rate_thread *t = arg;

	(void)s;
	if (t->hand)
		t->hand(t->h, &t->g);
	else
		t->loop(t->a, &t->g);
}

int rate_agent_cpu(const struct rate_conf *c, int i)
{
	int n = pin_cpus(), k = 0;

	if (!i)
		return c->path.cpu;
	for (int round = 0; round < 2 * n; round++) {
		int cpu = pin_cpu(round % n);

		if (cpu == c->path.cpu || (c->workers && cpu == c->path.nic_cpu))
			continue;
		if (++k == i)
			return cpu;
	}
	return pin_cpu(i % n);
}

/* All agents as `one`. */
static int run_threads(const struct rate_conf *c, const struct rate_thread *one)
{
	struct rate_thread *t = calloc(c->agents, sizeof(*t));
	const struct rate_args *a = one->a;
	int rc = 0, rc2;

	if (!t)
		return fs_fail(ENOMEM, "no memory for agents");
	for (uint32_t i = 0; !rc && i < c->agents; i++) {
		t[i] = *one;
		rate_begin(a, &t[i].g, i, c->form == FORM_BLOCK ? i / c->threads : i % c->queues);
		rc = service_start(&t[i].service, "posting thread", rate_agent_cpu(c, (int)i), rate_serve, &t[i], START_S);
	}
	if (rc) /* those that run would wait for the others */
		st64(a->failed, 1);
	for (uint32_t i = 0; i < c->agents; i++)
		if (t[i].service && (rc2 = service_stop(t[i].service, RATE_PASS_S)))
			rc = rc2;
	if (rc != -EBUSY)
		free(t);
	return rc;
}

int rate_cpu_run(const struct rate_conf *c, const struct rate_args *a, int spans)
{
	int ord = cpu_order(c->path.choice.ord), kind = c->path.choice.kind;
	struct rate_thread t = {
		.a = a,
		.loop = kind == POST_INLINE2 ? two_loops[ord][spans] : loops[ord * RATE_FORMS + c->form][kind == POST_WRITE][spans],
	};

	return run_threads(c, &t);
}

int rate_cpu_hand(const struct rate_conf *c, const struct hand_args *h, int instr)
{
	struct rate_thread t = { .a = &h->r, .h = h, .hand = hands[c->path.form][instr] };

	return run_threads(c, &t);
}
