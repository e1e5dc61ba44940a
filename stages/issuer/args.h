/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an issuer is given, what it remembers and what it reports (HD). Its loop is
 * run.h, the pass around it post.h.
 */
#ifndef FS_ISSUE_ARGS_H
#define FS_ISSUE_ARGS_H

#include "stages/queue/coop.h"
#include "stages/queue/hand.h"
#include "stages/queue/pace.h"
#include "stages/queue/queue.h"

struct issue_args {
	struct queue q;
	struct chunk_keys keys;
	uint32_t chunk_shift;
	uint8_t *local, *remote_view; /* local buffer; the remote one, as the issuer reaches it */
	uint32_t slot_mask, stride_shift; /* message m lies at (m & slot_mask) << stride_shift */
	uint32_t len;
	uint32_t batch;
	uint32_t signal;              /* every so manieth asks for a CQE, a power of two; CQ_OTHER alone may have more than 1 */
	uint32_t collapsed;           /* the CQ is; CQ_OTHER alone */
	uint64_t warmup;              /* at least, a multiple of the block */
	uint64_t messages;            /* measured */
	uint64_t wait_ns;             /* deadline of any one wait */
	uint32_t fill;                /* write the source slot before each intent */
	uint32_t check;               /* compare the target slot after each noticed */
	uint32_t hooked;              /* every fill is a job: a hook's (issuer.h), or a copy follows (staging.h); a CPU's alone */
	uint32_t consumed;            /* somebody completes messages (not null) */
	uint32_t record;              /* keep marks: drain and flush between blocks */
	uint32_t settle;              /* warm up until the rate of the clock settles */
	uint32_t gap_ticks;           /* random pause before intent: dithers the NIC's poll */
	uint32_t fresh;               /* bytes written behind that pause, right before intent; a multiple of 16 */
	uint8_t *fresh_at;            /* to the issuer's own memory */
	uint32_t dither;              /* random pause before the first poll of a CQE */
	int32_t ord, mode;            /* for the flexible form, which is not specialised by them */
	uint32_t fault;               /* enum wqe_fault */
	uint64_t fault_at;            /* the message that has it, counted from the first measured */
	uint64_t seed;
	struct sink_conf sink;
	uint64_t *marks;              /* [messages][ISSUER_SLOTS] */
	struct clock_pair *pairs;     /* [1 + blocks], the first before the first measured block */
	struct issue_out *out;
	/* of one that hands over (hand.h): */
	uint8_t *hand;                /* the ring of descriptors, 1 << q.log_n */
	uint64_t *tail;               /* MODE_BASELINE: who shares the ring takes slots here; in its own memory */
	const uint64_t *progress;     /* and how far the proxy is; in the host's */
};

enum issue_status { ISSUE_OK = 1 /* 0: it has not ended */, ISSUE_TIMEOUT, ISSUE_CQE_ERROR, ISSUE_ODD_CQE,
	ISSUE_UNLAUNCHED /* submitter=cpu: a launch failed */ };

struct issue_out {
	uint64_t status;
	uint64_t first;               /* the first measured message */
	uint64_t posted, done;        /* messages, warm-up included */
	uint64_t syndrome, vendor, counter; /* of the CQE that ended it */
	uint64_t wrong_words;         /* payload words that were not the message's */
	uint64_t wrong_message;       /* the first such message */
	uint64_t poll_ticks;          /* mean period of the poll loop */
	uint64_t unsettled;           /* 1: the clock's rate was still moving */
	uint64_t smid;
	uint64_t reloads;             /* of the consumer index from memory */
};

/* What the loop keeps in registers. */
struct posting {
	struct queue q;
	struct queue_state qs;
	struct resolver res;
	struct sink k;
	uint64_t local;               /* address of the local buffer */
	uint64_t done;                /* messages completed */
	uint64_t end, limit;          /* comes back when so many are done; posts no further */
	uint64_t filled;              /* messages whose source is written */
	uint64_t rnd;
	uint64_t fault_at;            /* message whose WQE is spoiled; ~0: none */
	uint64_t w7;                  /* of the CQE that was not the next one */
	uint64_t intent;              /* of the message that found no room and tries again */
	uint32_t slot_mask, stride_shift, len, batch;
	uint32_t gap_ticks, dither_ticks;
	uint32_t polls;               /* of the completion that is waited for */
	uint8_t consumed, record, fill, check;
	uint8_t again;                /* the next message tries again */
	uint8_t held;                 /* and has its slot already */
};

/* Why the loop has come back. */
enum issuer_why {
	IW_DONE,                      /* `end` is reached */
	IW_FILL,                      /* the source of message `filled` is to be written */
	IW_CHECK,                     /* the payload of message done-1 is to be compared */
	IW_FULL,                      /* no room: nobody has completed anything */
	IW_LATE,                      /* no completion in POLLS_PER_LOOK polls */
	IW_CQE,                       /* one that is not the next message's good one */
};

/* Wide work: what all lanes do together. */
enum issue_job_kind { IJ_NONE, IJ_EXIT, IJ_FILL, IJ_CHECK, IJ_FLUSH, IJ_STAGE };
struct issue_job {
	struct planter planter;
	int kind;
	uint8_t *at;
	const uint64_t *from;
	uint64_t bytes, message;
	uint64_t result;              /* the leader's */
};

/* An issuer's own memory: shared memory on a GPU. */
struct issuer {
	const struct issue_args *a;
	struct issue_out *out;
	struct issue_job *job;
	struct posting h;
	struct chunk_keys keys;       /* a copy */
	uint8_t *fresh_at;
	uint32_t fresh;
	uint64_t first;               /* first measured message; ~0 in the warm-up */
	uint64_t last;                /* where the measured ones end; ~0 in the warm-up */
	uint64_t from;                /* the block's first message */
	uint64_t blocks;              /* measured so far */
	uint64_t late_done;           /* the wait that is under way: at which message */
	struct patience late;         /* and for how long */
	struct settling settling;
	int open;                     /* a block is under way */
};

#endif
