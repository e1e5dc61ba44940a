/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of marks, stages and intervals. */
#include "stages/stage.h"
#include <string.h>

const char *const stage_names[STAGES] = {
	[STAGE_ISSUE] = "issue",
	[STAGE_CROSSING] = "crossing",
	[STAGE_TRANSLATION] = "translation",
	[STAGE_HANDOFF] = "handoff",
	[STAGE_COMPLETION] = "completion",
	[STAGE_QUEUEING] = "queueing",
};

const char *const stage_help[STAGES] = {
	[STAGE_ISSUE] = "from the decision to send to owning a queue slot",
	[STAGE_CROSSING] = "doorbell and completion on their way between the agents",
	[STAGE_TRANSLATION] = "addresses to keys at the issuer, keys and pages at the NIC",
	[STAGE_HANDOFF] = "building the WQE, ordering, ringing, fetching the WQE",
	[STAGE_COMPLETION] = "reading and writing the payload, storing the CQE",
	[STAGE_QUEUEING] = "waiting in the NIC for earlier messages; nil at depth 1 and batch 1",
};

const struct mark_desc mark_table[MARKS] = {
#define X(NAME, name, agent, moment) [MARK_##NAME] = { #name, AGENT_##agent, moment },
	FS_MARKS(X)
#undef X
};

int mark_find(const char *name)
{
	for (int i = 0; i < MARKS; i++)
		if (!strcmp(mark_table[i].name, name))
			return i;
	return -1;
}

#define I(from, to, stage, object) { MARK_##from, MARK_##to, STAGE_##stage, OBJ_##object }

/* gpu: the issuer does everything up to the doorbell. */
static const struct interval path_gpu[] = {
	I(INTENT, RESERVED, ISSUE, NONE),
	I(RESERVED, RESOLVED, TRANSLATION, NONE),
	I(RESOLVED, BUILT, HANDOFF, QUEUE),
	I(BUILT, RUNG, HANDOFF, QUEUE),
	I(RUNG, SEEN, CROSSING, DB),
	I(SEEN, STARTED, QUEUEING, NONE),
	I(STARTED, FETCHED, HANDOFF, QUEUE),
	I(FETCHED, TRANSLATED, TRANSLATION, KEYS),
	I(TRANSLATED, READ, COMPLETION, SRC),
	I(READ, WRITTEN, COMPLETION, DST),
	I(WRITTEN, COMPLETED, COMPLETION, CQ),
	I(COMPLETED, NOTICED, CROSSING, CQ),
};

int interval_table(enum submitter s, const struct interval **t)
{
	switch (s) {
	case SUBMITTER_GPU:
		*t = path_gpu;
		return sizeof(path_gpu) / sizeof(path_gpu[0]);
	default: /* those with a helper come with the helper */
		*t = NULL;
		return 0;
	}
}

int interval_is_hop(const struct interval *i)
{
	return mark_table[i->from].agent != mark_table[i->to].agent;
}
