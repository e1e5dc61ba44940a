/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads, one queue (HD): slots are reserved by an atomic add, WQEs are
 * built side by side, and published in the order of the reservations. Who is to
 * publish next stands in a word that goes from hand to hand. As the bad arm: a
 * lock around it all.
 *
 * Nobody keeps a consumer index: a thread that needs message m to be done looks
 * into the CQE of m. The CQ has a slot for each completion that may be under way,
 * and a queue in error completes every later WQE with an error, so nothing that
 * is passed over is lost.
 */
#ifndef FS_SHARE_H
#define FS_SHARE_H

#include "stages/queue/coop.h"
#include "stages/queue/queue.h"

/* X(NAME, word, who works on a queue) */
#define FS_SHARINGS(X) \
	X(EXCLUSIVE, "exclusive", "one thread a queue") \
	X(WARP, "warp", "the lanes of a warp reserve, build and publish together; where there are fewer queues than warps, these hand off to each other") \
	X(BLOCK, "block", "the threads of a block, each for itself, handing off in the order of reservation") \
	X(GPU, "gpu", "threads of the whole GPU, in the same way") \
	X(LOCK, "lock", "threads of the whole GPU, a lock around each batch: known to be bad")

enum sharing {
#define X(NAME, word, help) SHARE_##NAME,
	FS_SHARINGS(X)
#undef X
	SHARINGS
};

/* The words that threads share, a line of its own each. */
enum { SHARE_LINE = 128, SHARE_RESERVED = 0, SHARE_TURN = SHARE_LINE, SHARE_LOCKED = 2 * SHARE_LINE,
	SHARE_BYTES = 3 * SHARE_LINE };

HD uint64_t *share_word(uint8_t *share, int which) { return (uint64_t *)(share + which); }

/*
 * How a loop is made: by a literal each. SOLO and TEAM own their queue: a thread, or
 * a warp; the others share theirs. SYS is GPU among threads of several GPUs; a rate has none.
 */
enum share_form { FORM_SOLO, FORM_TEAM, FORM_TEAMS, FORM_BLOCK, FORM_GPU, FORM_LOCK, RATE_FORMS, FORM_SYS = RATE_FORMS, SHARE_FORMS };

HD int form_owns(const int form) { return form == FORM_SOLO || form == FORM_TEAM; }
HD int form_teams(const int form) { return form == FORM_TEAM || form == FORM_TEAMS; }
HD int form_scope(const int form) { return form == FORM_BLOCK ? SCOPE_BLOCK : form == FORM_SYS ? SCOPE_SYS : SCOPE_GPU; }

/*
 * Is the message done whose CQE should say `counter`? w7 is the last word of the
 * slot that its CQE will stand in: it may hold nothing yet, one of an earlier lap,
 * or a later one, should others have gone on. Indices under way are less than 2^15
 * apart.
 */
HD int cqe_reached(uint64_t w7, uint64_t counter)
{
	uint32_t ahead = (cqe_counter(w7) - (uint32_t)counter) & INDEX_MASK;

	return cqe_opcode(w7) != CQE_INVALID && !(ahead >> 15);
}

#endif
