/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks, intervals, stages and links as one table: what a message passes, which
 * agent stamps it, which stage a span belongs to and which object it touches.
 */
#ifndef FS_STAGE_H
#define FS_STAGE_H

#include "stages/queue/mark.h"
#include <stddef.h>

enum stage {
	STAGE_ISSUE, STAGE_CROSSING, STAGE_TRANSLATION, STAGE_HANDOFF, STAGE_COMPLETION,
	STAGE_QUEUEING, STAGES
};
extern const char *const stage_names[STAGES];
extern const char *const stage_help[STAGES];

enum agent { AGENT_ISSUER, AGENT_HELPER, AGENT_NIC, AGENTS };
struct mark_desc { const char *name; enum agent agent; const char *moment; };
extern const struct mark_desc mark_table[MARKS];
int mark_find(const char *name); /* -1 */

/* What an interval touches: where its link comes from. */
enum object { OBJ_NONE, OBJ_QUEUE, OBJ_DB, OBJ_CQ, OBJ_SRC, OBJ_DST, OBJ_KEYS, OBJECTS };

enum submitter { SUBMITTER_GPU, SUBMITTER_HOST_DOORBELL, SUBMITTER_PROXY, SUBMITTER_CPU, SUBMITTERS };

struct interval { enum mark from, to; enum stage stage; enum object object; };
/* The intervals of a submitter in the order of the path; returns how many.
 * Neighbouring ones share a mark, the first starts at intent, the last ends at
 * noticed. An interval whose marks belong to different agents is a hop. */
int interval_table(enum submitter s, const struct interval **t);
int interval_is_hop(const struct interval *i);

#endif
