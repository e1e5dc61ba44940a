/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `contended`: what a point asks for (contended_conf.c), agents on CPUs
 * (contended_cpu.c), what a round trip has besides (contended_trip.c), workers that post (contended_help.c), others on another
 * GPU (contended_far.c), rows (contended_rows.c), the pass and the probe itself (contended.c).
 */
#ifndef FS_CONTENDED_PARTS_H
#define FS_CONTENDED_PARTS_H

#include "stages/completion/contended.h"
#include "stages/handoff/rate_parts.h"

enum { CONT_MESSAGES = 10000, CONT_WARMUP = 1024, CONT_OTHERS_CPU = 63 }; /* where a point says nothing; others at most with issuer=cpu, less a responder */
#define CONT_WAIT_NS 2000000000ull /* of any one wait of an agent in which nothing goes on */

/* A point, resolved. */
struct cont_conf {
	struct rate_conf rate;          /* of all agents: queues, the NIC's workers, CPUs; with round trips the responder's are the last ones */
	struct cont_choice choice;
	uint32_t others, senders, queues; /* senders: the timed one and the others, queues: theirs */
	int reply, silent;              /* of round trips: enum reply_word; fault=no-reply */
	int queue;                      /* enum others_queue */
	uint64_t messages, warmup, pace_ns;
};

/* -EINVAL or -ENODEV with words in `why`. */
int cont_resolve(const struct point *pt, const struct machine *m, struct cont_conf *c, char *why, size_t len);
extern const char *const cont_reads[];

struct cont_mem { struct rate_mem rate; struct buf stamps, words, own, phase; struct { struct buf words, out, spans, mine; } trip; };

/* What a pass gave. */
struct cont_got {
	struct rate_out *out;           /* [agents] */
	struct cont_out own;
	struct rtt_out trip[RTT_WAYS];
	struct wide_status nic[WIDE_WORKERS_MAX];
	struct rate_helped help;
	uint64_t wrong;                 /* payload words at the end that nobody put there */
};

/* A thread each, until all have ended. -EBUSY: one would not. */
int cont_cpu_run(const struct cont_conf *c, const struct cont_trip_args *h, const struct cont_hands *x, double patience_s);
/* How agents and the NIC's workers have ended: 0, or the point has failed, and why. */
int cont_verdict(const struct cont_conf *c, const struct cont_got *g);
/* Rows and their flags. */
int cont_rows(const struct cont_mem *m, const struct cont_conf *c, struct cont_got *g, struct rows *out);

/* ---- the others on another GPU (contended_far.c); where they are on the issuer's these do nothing ---- */

/* What no machine allows, and the fault that only two grids have, which is taken from *fault; the rest, when everything else is resolved. */
int cont_far_legal(const struct point *pt, struct cont_conf *c, int *fault, char *why, size_t len);
int cont_far_resolve(const struct point *pt, const struct machine *m, struct cont_conf *c, char *why, size_t len);
/* In the child, behind cuda_use(). */
int cont_far_use(const struct cont_conf *c);
void cont_far_found(const struct cont_mem *m, const struct cont_conf *c, struct rows *out);

/* ---- round trips (contended_trip.c) ---- */

int cont_trip_init(struct cont_mem *m, const struct cont_conf *c);
void cont_trip_term(struct cont_mem *m);
/* When all of h->a is filled. */
void cont_trip_fill(const struct cont_mem *m, const struct cont_conf *c, struct cont_trip_args *h);
/* As rate_wrong_of(): slots of the senders' queues, less those of the trips' puts, which the agents compare. */
int64_t cont_trip_wrong(const struct cont_mem *m, const struct cont_conf *c, const uint64_t *posted);
/* A responder that has ended for a reason of its own, and a timed one that waited for it in vain; or 0. */
int cont_trip_failed(const struct cont_conf *c, const struct cont_got *g);
/* What agents that ended well have posted and found. */
int cont_trip_verdict(const struct cont_conf *c, const struct cont_got *g);
/* The responder's time, and the rest of it: `ns` are the round trips. */
int cont_trip_rows(const struct cont_mem *m, const struct cont_conf *c, const struct cont_got *g, const double *ns, struct rows *out);

/* ---- workers (contended_help.c): worker 0 serves all senders' rings, 1 the responder's; without any these do nothing ---- */

/* Who posts, before the rate of all agents is resolved, and behind. */
int cont_help_legal(const struct point *pt, const struct cont_conf *c, char *why, size_t len);
int cont_help_resolve(struct cont_conf *c, char *why, size_t len);
int cont_help_init(struct cont_mem *m, const struct cont_conf *c);
/* How agents hand over, once all of h is filled. */
void cont_help_fill(const struct cont_mem *m, const struct cont_conf *c, const struct cont_trip_args *h, struct cont_hands *x);
int cont_help_start(const struct cont_mem *m, const struct cont_conf *c, struct rate_help **h);
/* What they left, by the numbers of the rings as rows and words have them. */
int cont_help_stop(const struct cont_conf *c, struct rate_help *h, struct cont_got *g);
/* How far they are, as a clause behind others. */
const char *cont_help_words(const struct cont_conf *c, const struct cont_got *g, char *buf, size_t len);
/* The busiest one's share of the measured time. */
double cont_help_busy(const struct cont_conf *c, const struct cont_got *g);
int cont_help_rows(const struct cont_conf *c, struct cont_got *g, struct rows *out);

#endif
