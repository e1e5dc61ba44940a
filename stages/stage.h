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

/* What an interval touches: where its link comes from. The last two are a helper's: what is
 * handed to it, and what it passes on. */
enum object { OBJ_NONE, OBJ_QUEUE, OBJ_DB, OBJ_CQ, OBJ_SRC, OBJ_DST, OBJ_KEYS, OBJ_HAND, OBJ_RELAY, OBJECTS };
enum { OBJECTS_PLACED = OBJ_KEYS + 1 }; /* those that every path has */

/* X(NAME, word, who does what) */
#define FS_SUBMITTERS(X) \
	X(GPU, "gpu", "the issuer builds and rings") \
	X(HOST_DOORBELL, "host-doorbell", "the issuer builds the WQE, a CPU thread rings") \
	X(PROXY, "proxy", "the issuer posts a descriptor of 16 B, a CPU thread builds and rings") \
	X(CPU, "cpu", "the issuer's kernel ends, a CPU thread builds, rings, and launches the next one")
enum submitter {
#define X(NAME, word, help) SUBMITTER_##NAME,
	FS_SUBMITTERS(X)
#undef X
	SUBMITTERS
};
/* X(NAME, word, who looks at the CQ) */
#define FS_CONSUMERS(X) \
	X(GPU, "gpu", "the issuer") \
	X(CPU, "cpu", "a CPU thread, which passes completions on to the issuer")
enum consumer {
#define X(NAME, word, help) CONSUMER_##NAME,
	FS_CONSUMERS(X)
#undef X
	CONSUMERS
};

/* Who posts and who looks for completions: the path that a message takes. */
struct route { enum submitter submitter; enum consumer consumer; };
/* Does a CPU thread take part that is neither issuer nor NIC? */
int route_helped(struct route r);
/* Who looks at the CQ where nobody says: a proxy's issuer knows of none, and a kernel that has ended can't. */
enum consumer route_consumer(enum submitter s);
/* Whose a mark is: of some it depends on the submitter. */
enum agent mark_agent(struct route r, enum mark m);
/* By when the issuer is done with submitting. */
enum mark route_submitted(struct route r);

enum { INTERVALS_MAX = 16 };
struct interval { enum mark from, to; enum stage stage; enum object object; };
/* The intervals of a route in the order of the path, at most INTERVALS_MAX; returns how many.
 * Neighbouring ones share a mark, the first starts at intent, the last ends at
 * noticed. An interval whose marks belong to different agents is a hop. */
int interval_table(struct route r, const struct interval **t);
int interval_is_hop(struct route r, const struct interval *i);
/* Does a mark stand in it? */
int route_has(struct route r, enum mark m);

#endif
