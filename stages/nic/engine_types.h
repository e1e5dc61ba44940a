/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the software NIC's engine is given, what it remembers and what it counts
 * (HD). The engine itself is engine.h.
 */
#ifndef FS_ENGINE_TYPES_H
#define FS_ENGINE_TYPES_H

#include "stages/nic/move.h"

enum {
	ENGINE_REFETCH = 1 << 17,  /* stale fetches before a WQE counts as bad */
	ENGINE_SMALL = 64,         /* bytes that the leader moves alone */
};

/* What the engine does wrong on purpose; the FLEX code's only. */
enum engine_fault {
	EF_NONE, EF_DEAD, EF_LOST_DOORBELL, EF_STALE_RECORD, EF_ERROR_CQE, EF_LOST_CQE, EF_SLOW, EF_LOST_EVENT
};

struct engine {
	const uint8_t *wq;       /* WQEBBs, 1 << log_n of them */
	const uint8_t *dbrec;
	uint8_t *db;             /* a word; with BlueFlame a line, which the engine empties */
	uint8_t *cq;             /* CQEs, 1 << log_ncqe of them */
	uint32_t log_n, log_ncqe;
	uint32_t qpn;
	uint32_t segment;        /* bytes of one DMA */
	uint32_t recover_every;  /* every so many doorbells the record is read instead; 0: never */
	uint32_t fault;          /* enum engine_fault */
	uint64_t fault_at;       /* the message that it meets first */
	struct tables tab;
	uint64_t *xlat;          /* scratch for page addresses, xlat_pages for each side */
	uint32_t xlat_pages;
	/* the translation cache (cache.h), which USUAL_CACHED alone has */
	uint64_t cache;          /* its address in near memory, set by the NIC */
	uint32_t cache_mask;     /* entries, less one: a power of two */
	uint32_t cache_shift;    /* log2 of the page that a tag speaks of */
	uint64_t cache_from[2];  /* addresses that pages are counted from: of local buffers, of remote ones */
	const uint8_t *generation; /* goes up when something is deregistered */
	uint32_t flush_keep;     /* messages that `marks` holds, a multiple of the block */
	uint64_t *marks;         /* [flush_keep][NIC_SLOTS], message m at m % flush_keep */
	struct clock_pair *pairs; /* one a block, block b at b % (flush_keep / block) */
	const struct sink_conf *sink;
	uint64_t *armed;         /* of an engine on a CPU: not 0 there: the next CQE raises the event; NULL: nobody sleeps */
	int event;               /* an eventfd */
};

/* What the messages of a pass usually are, so that the fast loop does them straight
 * through: a literal. Whatever they are, the engine does them right. */
enum engine_usual {
	USUAL = 0,               /* inline writes of one block */
	USUAL_TWO = 1,           /* inline writes of two */
	USUAL_SPARSE = 2,        /* of one, and not each asks for a CQE; BARE alone */
	USUAL_FLAME = 3,         /* of one, which come in the doorbell's line */
	USUAL_CACHED = 4,        /* as USUAL, by way of the translation cache */
	USUALS = 5,
};

/* What it counted; written to memory when it stops. */
struct engine_status {
	uint64_t doorbells, wqes, cqes;
	uint64_t stale_wqe;      /* fetches that found an earlier lap */
	uint64_t stale_record;   /* recoveries that found a record behind the doorbell */
	uint64_t odd_doorbells;  /* values that announce nothing: foreign, or out of range */
	uint64_t from_queue;     /* WQEs that should have come in the doorbell's line and were fetched */
	uint64_t last[NIC_SLOTS]; /* messages that reached each mark */
	uint64_t lookups, hits;  /* of the translation cache */
	uint64_t syndrome;       /* of the first error, 0: none */
	uint64_t smid;           /* the SM that ran it */
	struct clock_pair begin; /* both clocks when it started */
};

/* A WQE on its way through the engine. */
struct work {
	uint64_t w[WQE_WORDS];   /* the WQE */
	uint64_t odd;            /* its ctrl words against those expected */
	uint32_t ds, opcode, len, rkey, lkey, inl;
	uint64_t raddr, laddr;
};

/* A NIC's marks of one message. */
struct late { uint64_t seen, started, fetched, translated, read, written, completed; };

/* The engine's own memory, shared memory on a GPU. The fast loop (engine_run) holds
 * a copy in registers and writes it back when it ends; what is seldom counted is
 * in `st`. */
struct engine_state {
	uint64_t db;             /* the last value seen */
	uint64_t next_db;        /* what one more message's doorbell would be, by DOCA's convention; with
				  * USUAL_FLAME its WQE's first word but for opcode and DS, 0: it is fetched */
	uint64_t pi;             /* index of the next WQE to work on */
	uint32_t skip;           /* blocks that the WQEs so far had beyond their first */
	uint32_t due;            /* WQEBBs that are announced and not yet worked on */
	uint32_t cqes;           /* CQEs written */
	uint32_t doorbells;
	uint32_t error;          /* syndrome of the first error: flushing since */
	uint32_t watch;          /* every doorbell is looked at closely: bits of enum engine_watch */
	uint32_t quiet;          /* this message's CQE is lost on purpose */
	uint32_t flush_at;       /* where in `marks` the next block goes */
	uint32_t seen, written, completed; /* messages that got so far */
	struct engine_status *st; /* the rare counters */
	struct sink k;
	struct late t;           /* of the next message, as far as it got */
	struct work w;           /* its WQE, if it isn't a usual one */
	struct mkey far_key;     /* and what its remote key names */
};

enum engine_watch {
	WATCH_ALL = 1,           /* there may be a fault, or a recovery */
	WATCH_SHUT = 2,          /* nothing is taken from the doorbell's line any more */
};

/* Why the fast loop has come back. */
enum engine_why {
	EW_QUIET,                /* no doorbell in DOORBELL_LOOKS looks */
	EW_DOORBELL,             /* one that is not simply the next message's */
	EW_OTHER,                /* a message that is fetched and not a usual inline write */
	EW_BLOCK,                /* a block of marks is full */
	EW_QUEUE,                /* a message whose WQE is not (all) in the doorbell's line */
};

#endif
