/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `rtt`: what a point asks for (rtt_conf.c), the memory of both
 * queues (rtt_mem.c), agents on CPUs (rtt_cpu.c), workers that post for them (rtt_help.c), rows
 * (rtt_rows.c), the pass and the probe itself (rtt.c).
 */
#ifndef FS_RTT_PARTS_H
#define FS_RTT_PARTS_H

#include "stages/completion/rtt.h"
#include "stages/handoff/rate_parts.h"

enum { RTT_MESSAGES = 10000, RTT_WARMUP = 1024 }; /* where a point says nothing */

/* A point, resolved. */
struct rtt_conf {
	struct rate_conf rate;            /* of both queues: agents, the NIC's workers, CPUs; helpers: none, or one an agent */
	struct rate_conf way[RTT_WAYS];   /* of each alone, as its sender sees it */
	struct rtt_choice choice;
	int reply, silent;                /* enum reply_word; fault=no-reply */
	int bad_way;                      /* whose messages fault=key spoils, or whose worker's fault it is */
	int responder_cpu;
	uint32_t respond_ns, untold_ns;   /* the second is waited too, and no row expects it */
	uint64_t messages, warmup;
};

/* -EINVAL or -ENODEV with words in `why`. */
int rtt_resolve(const struct point *pt, const struct machine *m, struct rtt_conf *c, char *why, size_t len);
/* CPU agents stamp with clock_gettime, or don't. */
void rtt_clock(struct rtt_conf *c, int gettime);
extern const char *const rtt_reads[];

struct rtt_mem {
	struct rate_mem way[RTT_WAYS];    /* without key tables */
	struct buf keys;                  /* both ways' */
	struct buf samples, submits, spans, words, out;
	size_t ptes_off;
	uint32_t nptes;
};

int rtt_mem_init(struct rtt_mem *m, const struct rtt_conf *c);
void rtt_mem_term(struct rtt_mem *m);
void rtt_args_fill(const struct rtt_mem *m, const struct rtt_conf *c, struct rtt_args *a);
/* Both queues, as one NIC is given them. */
void rtt_wide_fill(const struct rtt_mem *m, const struct rtt_conf *c, struct wide *w);

/* ---- workers (rtt_help.c): worker 0 and ring 0 are the issuer's, 1 the responder's; without any these do nothing ---- */

/* How agents hand over, once all of h->r is filled. */
void rtt_hand_fill(const struct rtt_mem *m, const struct rtt_conf *c, struct rtt_hand_args *h);
int rtt_help_start(const struct rtt_mem *m, const struct rtt_conf *c, const struct rtt_args *a, struct rate_help **h);
/* How far both are, as clauses behind others. */
const char *rtt_help_words(const struct rtt_conf *c, const struct rate_helped *got, char *buf, size_t len);
/* Adds a pass that went well; rows of it, of which a put and a reply are a message each. */
void rtt_help_take(const struct rtt_conf *c, struct rate_helped *got);
int rtt_help_rows(const struct rtt_conf *c, struct rate_helped *got, struct rows *out);

/* The issuer on the calling thread, the responder on one of its own, until both have ended. -EBUSY: the
 * responder would not. */
int rtt_cpu_run(const struct rtt_conf *c, const struct rtt_hand_args *h, double patience_s);

/* What a pass gave. */
struct rtt_got {
	struct rtt_out o[RTT_WAYS];
	struct wide_status nic[WIDE_WORKERS_MAX];
	struct rate_helped help;
};

/* Starts the NIC and workers, runs both agents, stops workers and NIC, and looks at how they ended; `got` is
 * nought before. -EBUSY: one still uses the memory. */
int rtt_pass(struct rtt_mem *m, const struct rtt_conf *c, struct rtt_got *got);
/* How agents and workers have ended: 0, or the point has failed, and why. */
int rtt_verdict(const struct rtt_conf *c, const struct rtt_got *got);
int rtt_rows(const struct rtt_mem *m, const struct rtt_conf *c, struct rtt_got *got, struct rows *out);

#endif
