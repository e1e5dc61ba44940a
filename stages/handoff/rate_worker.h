/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a CPU thread that posts for the issuers of a rate, or for an agent of a round trip. It
 * serves its rings in turn; each ring has a queue of its own at the NIC. A ring's turn: the completions
 * that are there, at most WORKER_REAPS, and their credit by one store; then descriptors that are there,
 * up to `batch`, whose WQEs it builds, and one doorbell for them. All that it touches is host memory.
 *
 * Where kernels end for their messages (submitter=cpu, rate_ends.h) a worker has one queue, and no ring: it launches a kernel, sees it end,
 * posts what that sends with one doorbell, and launches the next one behind the last completion.
 */
#ifndef FS_RATE_WORKER_H
#define FS_RATE_WORKER_H

#include "harness/service.h"
#include "stages/handoff/rate_hand.h"
#include "stages/issuer/helper.h"

enum { WORKERS_MAX = 8, WORKER_REAPS = 64 };

/* A ring, its queue, and how far they are. */
struct worker_ring {
	struct queue q;          /* as the NIC sees it; depth and ci_word are not used */
	const uint8_t *hand;     /* 1 << q.log_n descriptors */
	uint64_t *credit;
	uint64_t local, remote;  /* its payload slots on either side: what descriptors' offsets count from */
	uint64_t pi, done;       /* messages that are rung for, and that are done */
	uint32_t number;         /* the ring's, of all; its payloads' too */
};

enum worker_fault {
	WKF_NONE,
	WKF_STUCK,               /* it takes nothing of its first ring any more */
	WKF_KILLED,              /* it ends without a word */
	WKF_LAUNCH,              /* its launches are refused */
};

struct worker_args {
	struct worker_ring ring[RINGS_MAX];
	uint32_t rings;          /* 1.. */
	const struct helper_kernels *kernels; /* of one ring, whose descriptors nobody stores; NULL: issuers store them */
	uint32_t batch;          /* descriptors for one doorbell, at most */
	uint32_t lkey, rkey;
	int mode;                /* enum doorbell_mode, by 8 bytes */
	int completes;           /* 0: nobody completes messages, and they are done when they are rung for */
	int gettime, crowded;
	uint64_t warmup, all;    /* messages of its rings: before those that are measured, and together; not used with: */
	const uint64_t *phase;   /* 0, or the word that says what is measured: enum hand_phase */
	int fault;               /* enum worker_fault */
	uint64_t fault_at;       /* the first message of its first ring that has it */
};

enum worker_end {
	WORKER_STOPPED,          /* as it was told */
	WORKER_OVERRUN,          /* a descriptor of another message stood where the next one's should */
	WORKER_CQE_ERROR,
	WORKER_STRAY,            /* a completion of another message than the next one */
	WORKER_DIED,             /* killed on purpose */
	WORKER_LAUNCH,           /* a launch failed, */
	WORKER_KERNEL,           /* or a kernel did: error */
};

struct worker_status {
	int end;                 /* enum worker_end; of all but the first: */
	uint32_t ring;           /* where, as numbered of all */
	uint64_t at, found;      /* the message, and the one that stood in its place */
	uint32_t syndrome, vendor; /* of the CQE */
	uint64_t taken, done;    /* messages */
	uint64_t doorbells;
	uint64_t launches, asleep; /* of kernels, and those that found their thread asleep */
	int error;               /* an errno, or a cudaError_t */
	uint64_t busy, ticks;    /* ticks from the beginning of a round that found something to the end of the first that
				  * found nothing; from the first of these to the last */
	struct clock_pair begin, over; /* when the last message of the warm-up was done, and the last of all; by a phase: when that
				  * changed, and busy and ticks are of what lies between, too */
	uint64_t measured;       /* messages that were done in between, by a phase alone */
	struct thread_usage used_begin, used_over; /* by then */
};

struct worker;

/* Starts the thread on `cpu`; `a` is copied, what it points to has to outlive the stop. */
int worker_start(const struct worker_args *a, int cpu, double start_s, struct worker **w);
/* Stops it when it has nothing to do, bounded, and frees it. -EBUSY when it would not end: then it still uses
 * its memory. */
int worker_stop(struct worker *w, double stop_s, struct worker_status *st);

#endif
