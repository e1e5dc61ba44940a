/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues, agents and the NIC for many queues in the test's own thread: nothing runs
 * but what the test calls, in the order in which it calls it.
 */
#ifndef FS_WIDE_RIG_H
#define FS_WIDE_RIG_H

#include "tests/points.h"

#include "stages/handoff/rate_parts.h"
#include "stages/suite.h"
#include <stdlib.h>

extern const struct probe probe_rate;

static inline void rate_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_rate);
	point_set(pt, "issuer=cpu");
	point_set(pt, text);
	fs_point_id(pt);
}

struct wide_rig {
	struct rate_conf c;
	struct rate_mem m;
	struct rate_args a;
	struct wide w;
	struct wide_queue *states[WIDE_WORKERS_MAX];
	struct wide_worker worker[WIDE_WORKERS_MAX];
	struct rate_agent agent[64];
};

static const struct coop lone = { 0, 1 };

static inline void wide_open(struct wide_rig *r, const char *text)
{
	struct point pt;
	char why[256] = "";

	memset(r, 0, sizeof(*r));
	rate_point(&pt, text);
	if (rate_resolve(&pt, suite_machine(), &r->c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	assert_int_equal(rate_mem_init(&r->m, &r->c), 0);
	assert_int_equal(rate_mem_reset(&r->m, &r->c), 0);
	rate_args_fill(&r->m, &r->c, &r->a);
	r->a.wait_ns = 20000000;
	rate_wide_fill(&r->m, &r->c, &r->w);
	for (uint32_t i = 0; i < r->c.workers; i++) {
		r->worker[i].worker = i;
		r->states[i] = calloc(r->c.queues, sizeof(struct wide_queue));
		assert_non_null(r->states[i]);
	}
	for (uint32_t i = 0; i < r->c.agents; i++)
		rate_begin(&r->a, &r->agent[i], i, r->c.form == FORM_BLOCK ? i / r->c.threads : i % r->c.queues);
}

static inline void wide_close(struct wide_rig *r)
{
	for (uint32_t i = 0; i < r->c.workers; i++)
		free(r->states[i]);
	rate_mem_term(&r->m);
}

static inline uint32_t wide_serve(struct wide_rig *r, uint32_t worker)
{
	return wide_round(&r->w, r->states[worker], lone, &r->worker[worker], r->c.path.gettime, (int)r->w.mixed);
}

static inline uint64_t *wide_wqe(struct wide_rig *r, uint32_t q, uint64_t m)
{
	return (uint64_t *)(r->a.wq + q * r->a.wq_step + (m & ((1u << r->a.log_n) - 1)) * WQEBB);
}

/* Word `w` of CQE number k. */
static inline uint64_t wide_cqe(struct wide_rig *r, uint32_t q, uint64_t k, int w)
{
	return ld64(r->a.cq + q * r->a.cq_step + (k & ((1u << r->a.log_ncqe) - 1)) * CQE_SIZE + w * 8);
}

static inline int wide_cqe_there(struct wide_rig *r, uint32_t q, uint64_t k)
{
	return cqe_valid(wide_cqe(r, q, k, 7), cqe_lap(k, r->a.log_ncqe));
}

/* 0, or its syndrome. */
static inline uint32_t wide_syndrome(struct wide_rig *r, uint32_t q, uint64_t k)
{
	assert_true(wide_cqe_there(r, q, k));
	return cqe_opcode(wide_cqe(r, q, k, 7)) == CQE_REQ ? 0 : cqe_syndrome(wide_cqe(r, q, k, 6));
}

/* Wrong payload words of slot s, if it has message m. */
static inline uint64_t wide_slot_wrong(struct wide_rig *r, uint32_t q, uint64_t m)
{
	return job_check(r->m.dst.p + q * r->m.slots_step + (m & (r->c.slots - 1)) * r->c.path.stride, r->c.path.size,
			 r->c.path.choice.kind == POST_WRITE ? rate_number(q, m & (r->c.slots - 1)) : rate_number(q, m), lone);
}

/* Builds message m of an agent's queue without reserving it, and rings for all up to `pi`. */
static inline void wide_put(struct wide_rig *r, uint32_t agent, uint64_t m)
{
	rate_build(&r->a, &r->agent[agent], m, r->c.path.choice.kind);
}
static inline void wide_ring(struct wide_rig *r, uint32_t agent, uint64_t pi)
{
	struct queue *q = &r->agent[agent].q;

	record_store(q, pi, ORD_SYS_FENCE_RECORD);
	doorbell_store(q, doorbell_value(pi, q->qpn), ORD_SYS_FENCE_RECORD);
}

#endif
