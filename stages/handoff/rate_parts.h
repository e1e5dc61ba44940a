/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `rate`: what a point asks for (rate_conf.c), the memory of
 * its queues and what has to stand in it at the end (rate_mem.c), agents on CPUs
 * (rate_cpu.c), and passes and rows (rate.c).
 */
#ifndef FS_RATE_PARTS_H
#define FS_RATE_PARTS_H

#include "stages/handoff/rate.h"
#include "stages/path.h"

enum { RATE_AGENTS_MAX = 16384 };
#define RATE_PASS_S 100.0       /* for the agents of a pass */

/* A point, resolved. */
struct rate_conf {
	struct path_conf path;   /* places, order, payload, CPUs: as the path's */
	int sharing, form;       /* enum sharing, enum share_form */
	uint32_t threads, blocks; /* of a GPU; on a CPU blocks * threads threads */
	uint32_t agents, queues, workers;
	uint32_t log_signal, log_ncqe;
	uint64_t messages, warmup; /* of all agents: each has whole batches, of whole completions */
	uint64_t slots;          /* payload slots of a queue, a power of two */
	int spans;               /* spans are summed in passes of their own */
	int fault;
	int crowded;             /* more threads than CPUs */
};

/* -EINVAL or -ENODEV with words in `why`. */
int rate_resolve(const struct point *pt, const struct machine *m, struct rate_conf *c, char *why, size_t len);
extern const char *const rate_reads[];

struct rate_mem {
	struct buf queue;        /* each queue: WQEs, then the record in a line of its own */
	struct buf db, cq, src, dst, keys;
	struct buf share, words, out;
	size_t record_off, queue_step, db_step, cq_step, slots_step, ptes_off;
	uint32_t nptes;
};

enum { RATE_QPN = 0x000200, RATE_LKEY = 1 << 8 | 0x3c, RATE_RKEY = 2 << 8 | 0x91, RATE_KEYS = 3 };

int rate_mem_init(struct rate_mem *m, const struct rate_conf *c);
/* The same without key tables, for who makes them for several of these. */
int rate_mem_alloc(struct rate_mem *m, const struct rate_conf *c);
/* A key's entry, and its page entries from the first-th on: the whole pages of b. */
void rate_key_fill(struct mkey *keys, uint64_t *ptes, uint32_t key, uint32_t rights, const struct buf *b, uint32_t shift, uint32_t first);
void rate_mem_term(struct rate_mem *m);
/* Before each pass: no doorbell, no WQE, no CQE, no payload at the target. */
int rate_mem_reset(struct rate_mem *m, const struct rate_conf *c);
/* What agents and NIC are given. */
void rate_args_fill(const struct rate_mem *m, const struct rate_conf *c, struct rate_args *a);
void rate_wide_fill(const struct rate_mem *m, const struct rate_conf *c, struct wide *w);
/* All of a NIC's pass but what rate_wide_fill() gives: where its workers run, and its patience. */
void rate_nic_fill(const struct rate_conf *c, struct nic_many *many);
/* After a pass: how many payload words of the target (with nic=null words of the rings)
 * are not what the last messages of each queue put there. < 0: -errno. */
int64_t rate_wrong(const struct rate_mem *m, const struct rate_conf *c);
/* The same by what was posted into each queue, [queues]. */
int64_t rate_wrong_of(const struct rate_mem *m, const struct rate_conf *c, const uint64_t *posted);

/* Agent i's CPU: the issuer's for the first, then those that the NIC's workers leave, as
 * long as there are some. */
int rate_agent_cpu(const struct rate_conf *c, int i);
/* One pass of CPU agents: a thread each, until all have ended. -EBUSY: one would not. */
int rate_cpu_run(const struct rate_conf *c, const struct rate_args *a, int spans);

#endif
