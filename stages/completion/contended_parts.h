/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `contended`: what a point asks for (contended_conf.c), agents on CPUs
 * (contended_cpu.c), rows (contended_rows.c), the pass and the probe itself (contended.c).
 */
#ifndef FS_CONTENDED_PARTS_H
#define FS_CONTENDED_PARTS_H

#include "stages/completion/contended.h"
#include "stages/handoff/rate_parts.h"

enum { CONT_MESSAGES = 10000, CONT_WARMUP = 1024, CONT_OTHERS_CPU = 63 }; /* where a point says nothing; others at most with issuer=cpu */

/* A point, resolved. */
struct cont_conf {
	struct rate_conf rate;          /* of all agents: queues, the NIC's workers, CPUs */
	struct cont_choice choice;
	uint32_t others;
	int queue;                      /* enum others_queue */
	uint64_t messages, warmup, pace_ns;
};

/* -EINVAL or -ENODEV with words in `why`. */
int cont_resolve(const struct point *pt, const struct machine *m, struct cont_conf *c, char *why, size_t len);
extern const char *const cont_reads[];

struct cont_mem { struct rate_mem rate; struct buf stamps, words, own; };

/* What a pass gave. */
struct cont_got {
	struct rate_out *out;           /* [agents] */
	struct cont_out own;
	struct wide_status nic[WIDE_WORKERS_MAX];
	uint64_t wrong;                 /* payload words at the end that nobody put there */
};

/* A thread each, until all have ended. -EBUSY: one would not. */
int cont_cpu_run(const struct cont_conf *c, const struct cont_args *a, double patience_s);
/* How agents and the NIC's workers have ended: 0, or the point has failed, and why. */
int cont_verdict(const struct cont_conf *c, const struct cont_got *g);
/* Rows and their flags. */
int cont_rows(const struct cont_mem *m, const struct cont_conf *c, const struct cont_got *g, struct rows *out);

#endif
