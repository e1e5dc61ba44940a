/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU thread that stands in for a GPU: the same loop, one function for each
 * combination, chosen before anything is timed.
 */
#include "stages/issuer/issuer.h"
#include <errno.h>
#include <stddef.h>

typedef void lead_fn(struct issuer *s);

#define X(o, d, k) \
	static void lead_##o##__##d##__##k##__0(struct issuer *s) \
	{ \
		issuer_lead(s, ORD_##o, DBM_##d, POST_##k, BARE); \
	} \
	static void lead_##o##__##d##__##k##__1(struct issuer *s) \
	{ \
		issuer_lead(s, ORD_##o, DBM_##d, POST_##k, ALL); \
	}
FS_COMBINATIONS(X)
#undef X

static lead_fn *const leads[ORDERINGS][DOORBELL_MODES][POST_KINDS][2] = {
#define X(o, d, k) \
	[ORD_##o][DBM_##d][POST_##k] = { lead_##o##__##d##__##k##__0, lead_##o##__##d##__##k##__1 },
	FS_COMBINATIONS(X)
#undef X
};

#define X(k) \
	static void flex_##k(struct issuer *s) \
	{ \
		issuer_lead(s, s->a->ord, s->a->mode, POST_##k, FLEX); \
	}
FS_POSTS(X)
#undef X

static lead_fn *const flexible[POST_KINDS] = {
#define X(k) [POST_##k] = flex_##k,
	FS_POSTS(X)
#undef X
};

int issuer_cpu_run(const struct issue_args *a, struct issue_choice c, uint64_t *stage)
{
	struct issuer s;
	struct issue_job job;
	struct coop alone = { 0, 1 };
	lead_fn *lead = c.instr == FLEX ? flexible[c.kind] : leads[c.ord][c.mode][c.kind][c.instr];

	issuer_begin(&s, a, &job, stage, c.instr);
	for (;;) {
		lead(&s);
		if (job.kind == IJ_EXIT)
			break;
		issue_work(&job, alone);
	}
	return 0;
}
