/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `rate`: what a point asks for (rate_conf.c; of workers and their rings
 * rate_conf_rings.c), the memory of its queues and what has to stand in it at the end (rate_mem.c),
 * agents on CPUs (rate_cpu.c), kernels of them that end (rate_ends.c), workers beside them (rate_help.c), passes (rate.c) and rows (rate_rows.c).
 */
#ifndef FS_RATE_PARTS_H
#define FS_RATE_PARTS_H

#include "stages/handoff/rate_worker.h"
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
	int crowded;             /* more threads than CPUs, or a worker shares one */
	uint32_t helpers;        /* workers that post for the agents; 0: these post themselves. Agent a hands over to ring a % queues,
				  * which worker r % helpers serves, into queue r; or, where kernels end, all agents to the one worker */
	int helper_cpu[WORKERS_MAX];
};

/* Are agents kernels that end for their messages (submitter=cpu)? */
static inline int rate_ending(const struct rate_conf *c) { return c->path.route.submitter == SUBMITTER_CPU; }
/* CPU threads that are agents, or stand for them. */
static inline uint32_t rate_posters(const struct rate_conf *c) { return c->path.issuer_gpu >= 0 ? 0 : rate_ending(c) ? 1 : c->agents; }
/* Of all agents' messages, each one's. */
static inline uint64_t rate_each(const struct rate_conf *c, uint64_t messages) { return messages / c->agents; }
/* Agents of queue q. */
uint32_t rate_agents_of(const struct rate_conf *c, uint32_t q);

/* In rate_conf_rings.c: workers and rings, when agents are known; where the workers run, when all are. */
int rate_resolve_rings(const struct point *pt, struct rate_conf *c, char *why, size_t len);
void rate_resolve_helper_cpus(const struct point *pt, const struct machine *m, struct rate_conf *c);
/* -EINVAL or -ENODEV with words in `why`. */
int rate_resolve(const struct point *pt, const struct machine *m, struct rate_conf *c, char *why, size_t len);
extern const char *const rate_reads[];

struct rate_ends;
struct rate_mem {
	struct rate_ends *ends;  /* NULL: no kernel ends for its messages */
	struct buf queue;        /* each queue: WQEs, then the record in a line of its own */
	struct buf db, cq, src, dst, keys;
	struct buf share, words, out;
	struct buf hand, credit; /* with workers: rings of descriptors, and a line each for its credit */
	size_t record_off, queue_step, db_step, cq_step, slots_step, ptes_off, hand_step;
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
/* The same with workers: to agents, and to worker i. */
void rate_hand_fill(const struct rate_mem *m, const struct rate_conf *c, struct hand_args *h);
void rate_worker_fill(const struct rate_mem *m, const struct rate_conf *c, uint32_t i, struct worker_args *w);
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
/* The same of agents that hand over; `instr`: enum hand_instr. */
int rate_cpu_hand(const struct rate_conf *c, const struct hand_args *h, int instr);

/* ---- kernels that end (rate_ends.c); where agents run these do nothing ---- */

int rate_ends_init(struct rate_mem *m, const struct rate_conf *c);
void rate_ends_term(struct rate_mem *m);
/* Before anything of a pass is resident. */
int rate_ends_open(const struct rate_mem *m, const struct rate_conf *c, int spans);
/* What their worker is given; NULL: there are none. */
const struct helper_kernels *rate_ends_kernels(const struct rate_mem *m);
/* Until no more are launched, or none was for wait_ns. */
void rate_ends_run(const struct rate_mem *m, const struct rate_conf *c, int spans, uint64_t wait_ns);
/* Behind the worker's end: why a launch or a kernel failed, and until the last one has ended. -EBUSY: it would not. */
int rate_ends_stop(const struct rate_mem *m, const struct rate_conf *c, const struct worker_status *w);
/* Behind the NIC's end. */
void rate_ends_close(const struct rate_mem *m, const struct rate_conf *c);

/* ---- workers (rate_help.c); without any these do nothing ---- */

/* What passes gave of them; sums are of bare passes, of the measured messages. */
struct rate_helped {
	struct worker_status st[WORKERS_MAX]; /* of the last pass */
	double busy[WORKERS_MAX];
	double cpu_ns, cores, waited, preempted;
	double messages, taken, doorbells, launches, asleep;  /* taken and behind it: of whole passes */
};

struct rate_help;
/* One more worker; *h is NULL before the first. If it can't be, none runs any more, and *h is NULL again. */
int rate_help_add(struct rate_help **h, const struct worker_args *a, int cpu);
/* Starts the workers of a pass. */
int rate_help_start(const struct rate_mem *m, const struct rate_conf *c, struct rate_help **h);
/* Stops them, each bounded. -EBUSY: one would not end. */
int rate_help_stop(struct rate_help *h, struct rate_helped *got);
/* A worker's own failure in words, or 0. */
int rate_help_failed(const struct rate_helped *got, const struct rate_conf *c);
/* The same, or messages that nobody completed. */
int rate_help_verdict(const struct rate_helped *got, const struct rate_conf *c);
/* How far a ring's worker is, as a clause that ends in "; ": for a wait that ran out. "" without workers. */
const char *rate_help_words(const struct rate_helped *got, const struct rate_conf *c, uint32_t ring, char *buf, size_t len);
/* Adds a bare pass that went well. */
void rate_help_take(const struct rate_conf *c, struct rate_helped *got);
/* Rows of so many bare passes. */
int rate_help_rows(const struct rate_conf *c, struct rate_helped *got, int passes, struct rows *out);

/* ---- what passes gave (rate.c), and the rows of it (rate_rows.c) ---- */

enum { RATE_PASSES = 7 };
struct rate_got {
	struct rate_out *out;         /* [agents], of the last pass */
	struct wide_status nic[WIDE_WORKERS_MAX];
	struct rate_helped help;
	double bare[RATE_PASSES], marked[RATE_PASSES], explained[RATE_PASSES];
	int nbare, nmarked;
	double *queue;                /* [queues] of the bare passes, summed */
	double span_ns[RATE_SPANS];   /* summed over turns */
	double turns;
	double *busy;                 /* [NIC's workers], summed over the bare passes */
	double together;              /* the least of all passes */
	struct freq before, after;    /* of the last pass, where CPUs take part */
	uint64_t messages, stale, wrong;
	uint64_t found_wrong;         /* of the last pass */
};

/* Rows and facts of passes that went well; all of them flagged where a reader has to know something. */
int rate_rows(const struct rate_conf *c, struct rate_got *g, struct rows *out);
void rate_found(const struct rate_conf *c, const struct rate_got *g, struct rows *out);
/* A row of n values, each a sum over so many passes. */
int rate_spread_row(struct rows *out, const struct rate_conf *c, const char *stage, const char *metric, const char *unit, double *x,
		    uint32_t n, int passes);

#endif
