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
	EF_NONE, EF_DEAD, EF_LOST_DOORBELL, EF_STALE_RECORD, EF_ERROR_CQE, EF_LOST_CQE, EF_SLOW
};

struct engine {
	const uint8_t *wq;       /* WQEBBs, 1 << log_n of them */
	const uint8_t *dbrec;
	const uint8_t *db;
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
	uint32_t flush_keep;     /* messages that `marks` holds, a multiple of the block */
	uint64_t *marks;         /* [flush_keep][NIC_SLOTS], message m at m % flush_keep */
	struct clock_pair *pairs; /* one a block, block b at b % (flush_keep / block) */
	const struct sink_conf *sink;
};

/* What it counted; written to memory when it stops. */
struct engine_status {
	uint64_t doorbells, wqes, cqes;
	uint64_t stale_wqe;      /* fetches that found an earlier lap */
	uint64_t stale_record;   /* recoveries that found a record behind the doorbell */
	uint64_t odd_doorbells;  /* values that announce nothing: foreign, or out of range */
	uint64_t last[NIC_SLOTS]; /* messages that reached each mark */
	uint64_t syndrome;       /* of the first error, 0: none */
	uint64_t smid;           /* the SM that ran it */
	struct clock_pair begin; /* both clocks when it started */
};

/* In registers on a GPU: kept small, since a spilled word is read back through
 * the cache that every acquire empties. What is seldom counted is in memory. */
struct engine_state {
	uint64_t db;             /* the last value seen */
	uint64_t next_db;        /* what one more message's doorbell would be, by DOCA's convention */
	uint64_t pi;             /* next message to work on */
	uint32_t cqes;           /* CQEs written */
	uint32_t doorbells;
	uint32_t error;          /* syndrome of the first error: flushing since */
	uint32_t seen, written, completed; /* messages that got so far */
	struct engine_status *st; /* the rare counters */
	struct sink k;
};

#endif
