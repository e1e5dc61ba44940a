/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU thread that stands in for a GPU: the same loop, one function for each
 * combination, chosen before anything is timed.
 */
#include "stages/issuer/issuer.h"
#include <errno.h>
#include <stddef.h>

typedef void pass_fn(struct issuer *s);

#define X(o, d, k) \
	static void pass_##o##__##d##__##k##__0(struct issuer *s) \
	{ \
		issuer_pass(s, ORD_##o, DBM_##d, POST_##k, BARE); \
	} \
	static void pass_##o##__##d##__##k##__1(struct issuer *s) \
	{ \
		issuer_pass(s, ORD_##o, DBM_##d, POST_##k, ALL); \
	}
FS_COMBINATIONS(X)
#undef X

static pass_fn *const passes[ORDERINGS][DOORBELL_MODES][POST_KINDS][2] = {
#define X(o, d, k) \
	[ORD_##o][DBM_##d][POST_##k] = { pass_##o##__##d##__##k##__0, pass_##o##__##d##__##k##__1 },
	FS_COMBINATIONS(X)
#undef X
};

#define X(k) \
	static void flex_##k(struct issuer *s) \
	{ \
		issuer_pass(s, s->a->ord, s->a->mode, POST_##k, FLEX); \
	}
FS_POSTS(X)
#undef X

static pass_fn *const flexible[POST_KINDS] = {
#define X(k) [POST_##k] = flex_##k,
	FS_POSTS(X)
#undef X
};

int issuer_cpu_run(const struct issue_args *a, struct issue_choice c, uint64_t *stage)
{
	struct issuer s;
	struct issue_job job;
	struct coop alone = { 0, 1 };

	issuer_begin(&s, a, &job, stage, alone);
	if (c.instr == FLEX)
		flexible[c.kind](&s);
	else
		passes[c.ord][c.mode][c.kind][c.instr](&s);
	return 0;
}
