/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: a CPU thread that rings for the issuer (host-doorbell), or builds and rings for
 * it (proxy), or looks at the CQ for it and passes completions on; or posts and looks both; or waits for
 * kernels to end, posts what they send and launches the next ones (cpu).
 * All that it touches is host memory.
 */
#ifndef FS_HELPER_H
#define FS_HELPER_H

#include "stages/queue/hand.h"
#include "stages/queue/sink.h"
#include "stages/stage.h"

/* X(NAME, word, how a CPU that looks for completions waits) */
#define FS_NOTIFIES(X) \
	X(POLL, "poll", "it looks at the CQ all the time") \
	X(INTERRUPT, "interrupt", "it arms the CQ and sleeps in epoll until the NIC raises an event")
enum notify {
#define X(NAME, word, help) NOTIFY_##NAME,
	FS_NOTIFIES(X)
#undef X
	NOTIFIES
};

enum { PROXY_BATCH_MAX = 16 };

/* What goes wrong with the helper on purpose, from a message on; the FLEX code's only. */
enum helper_fault {
	HF_NONE,
	HF_STUCK,                /* it takes nothing any more */
	HF_KILLED,               /* it ends */
	HF_DEAF,                 /* it looks at no completion any more */
	HF_LAUNCH,               /* its launches are refused */
};

/* Marks of a message. HS_WOKEN is none: when a sleeping consumer ran again, 0 if it didn't sleep; nor is
 * HS_CALLED: when the launch was back that `relayed` stands before. */
enum helper_slot { HS_TAKEN, HS_RESOLVED, HS_BUILT, HS_RUNG, HS_CAUGHT, HS_RELAYED, HS_WOKEN, HS_CALLED, HELPER_SLOTS };

/* At the end of a block: both clocks, and what the thread has used so far. */
struct helper_pair {
	struct clock_pair at;
	uint64_t cpu_ns;         /* CPU time */
	uint64_t waited, preempted; /* switches of its own accord, and of others' */
	uint64_t sleeps, wakeups; /* in epoll, and those that an event ended; sleeps of submitter=cpu: launches
				   * that found their thread asleep */
	uint64_t launches;
	uint64_t rings;          /* doorbells */
};

/* Of submitter=cpu: how kernels are launched, and what each of them sends. */
struct helper_kernels {
	int boundary;            /* enum boundary (boundary.h) */
	struct starter *start;     /* a GPU's kernel; or */
	struct boundary_words *words; /* a thread in its place, and how far the pass is */
	uint64_t total;          /* messages of the pass */
	uint32_t batch, len, slot_mask, stride_shift;
	int kind;                /* enum post_kind */
};

/* Of a message whose memory is registered for it alone: behind `taken`, and back before its completion is passed on. An error ends the helper,
 * with the reason of its thread. NULL: nothing is. */
struct helper_source { int (*give)(void *arg, uint64_t m); int (*back)(void *arg); void *arg; };

struct helper_args {
	struct queue q;          /* as the NIC sees it; depth and ci_word are not used */
	struct route route;
	const uint8_t *hand;     /* a word like a doorbell, or 1 << q.log_n descriptors */
	uint64_t *progress;      /* messages taken so far, for whoever hands over */
	uint8_t *relay;          /* CQEs for the issuer, 1 << q.log_ncqe */
	struct chunk_keys keys;  /* of a proxy: what messages are resolved with */
	uint32_t chunk_shift;
	uint64_t local, remote;  /* ranges that offsets count from */
	int mode;                /* enum doorbell_mode, by 8 bytes */
	int instr;               /* BARE, ALL or FLEX */
	uint32_t batch;          /* descriptors for one doorbell, at most PROXY_BATCH_MAX */
	int event;               /* eventfd that the NIC raises; -1: the CQ is polled */
	uint64_t *armed;         /* with an event: not 0: the next CQE is to raise it */
	int crowded;             /* it shares its CPU with whom it waits for */
	struct helper_kernels kernels;
	struct helper_source source; /* of a proxy that looks for completions too */
	uint32_t fault;          /* enum helper_fault */
	uint64_t fault_at;       /* the first message that has it */
	struct sink_conf sink;
	uint32_t block, blocks;  /* messages between two entries of `pairs`, whose ring has so many */
	uint32_t keep;           /* messages of `marks`, a multiple of the sink's block; 0: none are kept */
	uint64_t *stage;         /* block * SINK_SLOTS words */
	uint64_t *marks;         /* [keep][HELPER_SLOTS], message m at m % keep */
	struct helper_pair *pairs; /* block b at b % blocks */
};

enum helper_end {
	HELPER_STOPPED,          /* as it was told */
	HELPER_OVERRUN,          /* a descriptor of another message stood where the next one's should */
	HELPER_FOREIGN,          /* what it was handed announces nothing */
	HELPER_EVENT,            /* epoll or the event failed: error */
	HELPER_DIED,             /* killed on purpose */
	HELPER_LAUNCH,           /* a launch failed, */
	HELPER_KERNEL,           /* or a kernel did: error */
	HELPER_CQE,              /* not the next message's good one: w6, w7 */
	HELPER_SOURCE,           /* memory wasn't registered, or not taken back: why */
};

struct helper_status {
	int end;                 /* enum helper_end */
	int error;               /* errno, or a cudaError_t of a kernel's launch or end */
	uint64_t w6, w7;         /* last words of the CQE that ended it */
	uint64_t taken, relayed; /* messages that it has rung for, completions that it has passed on */
	uint64_t launches;
	uint64_t found;          /* of an overrun: the message that stood there */
	char why[160];
	int asleep;              /* it was in epoll when it was stopped */
	int lost;                /* and there was a CQE: the event has not come */
	struct helper_pair begin;
};

struct helper;

/* Starts the thread on `cpu`; `a` is copied, what it points to has to outlive the stop. */
int helper_start(const struct helper_args *a, int cpu, double start_s, struct helper **h);
/* Stops it, bounded, and frees it. -EBUSY when it would not end: then it still uses its memory. */
int helper_stop(struct helper *h, double stop_s, struct helper_status *st);

#endif
