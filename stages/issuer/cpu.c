/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU thread that stands in for a GPU: the same loop, one function for each
 * combination, chosen before anything is timed. On a CPU several orderings are the same
 * code (hd.h: fences are nothing, releases of either scope are release stores), so each
 * of the three that differ is compiled once.
 */
#include "stages/issuer/issuer.h"
#include <errno.h>
#include <stddef.h>

typedef void lead_fn(struct issuer *s);

/* Record and doorbell relaxed; the doorbell released; both released. */
#define CPU_ORDERINGS(X, more) X(NONE, more) X(GPU_FENCE, more) X(SYS_RELEASE, more)
static const int cpu_ordering[ORDERINGS] = {
	[ORD_NONE] = ORD_NONE,
	[ORD_GPU_FENCE] = ORD_GPU_FENCE, [ORD_SYS_FENCE] = ORD_GPU_FENCE,
	[ORD_GPU_FENCE_RECORD] = ORD_SYS_RELEASE, [ORD_GPU_RELEASE] = ORD_SYS_RELEASE,
	[ORD_THREADFENCE] = ORD_SYS_RELEASE, [ORD_SYS_FENCE_RECORD] = ORD_SYS_RELEASE,
	[ORD_SYS_RELEASE] = ORD_SYS_RELEASE,
};
#define EVERY_DOORBELL(o, X) FS_COMBINATIONS_DB(X, o) FS_FLAMES_KIND(X, o, BLUEFLAME)
#define OTHER_CQ(o, X) FS_OTHER_CQ_KIND(X, o)

#define X(o, d, k) \
	static void lead_##o##__##d##__##k##__0(struct issuer *s) \
	{ \
		issuer_lead(s, ORD_##o, DBM_##d, POST_##k, CQ_RING, BARE, s->a->hooked); \
	} \
	static void lead_##o##__##d##__##k##__1(struct issuer *s) \
	{ \
		issuer_lead(s, ORD_##o, DBM_##d, POST_##k, CQ_RING, ALL, s->a->hooked); \
	}
CPU_ORDERINGS(EVERY_DOORBELL, X)
#undef X

static lead_fn *const leads[ORDERINGS][DOORBELL_MODES][POST_KINDS][2] = {
#define X(o, d, k) \
	[ORD_##o][DBM_##d][POST_##k] = { lead_##o##__##d##__##k##__0, lead_##o##__##d##__##k##__1 },
	CPU_ORDERINGS(EVERY_DOORBELL, X)
#undef X
};

#define X(o, k) \
	static void other_##o##__##k##__0(struct issuer *s) \
	{ \
		issuer_lead(s, ORD_##o, DBM_RECORD_RING, POST_##k, CQ_OTHER, BARE, s->a->hooked); \
	} \
	static void other_##o##__##k##__1(struct issuer *s) \
	{ \
		issuer_lead(s, ORD_##o, DBM_RECORD_RING, POST_##k, CQ_OTHER, ALL, s->a->hooked); \
	}
CPU_ORDERINGS(OTHER_CQ, X)
#undef X

static lead_fn *const others[ORDERINGS][POST_KINDS][2] = {
#define X(o, k) [ORD_##o][POST_##k] = { other_##o##__##k##__0, other_##o##__##k##__1 },
	CPU_ORDERINGS(OTHER_CQ, X)
#undef X
};

#define X(k) \
	static void flex_##k(struct issuer *s) \
	{ \
		issuer_lead(s, s->a->ord, word_doorbell(s->a->mode), POST_##k, CQ_RING, FLEX, s->a->hooked); \
	}
FS_POSTS(X)
#undef X
#define X(o, k) \
	static void flex_other_##k(struct issuer *s) \
	{ \
		issuer_lead(s, s->a->ord, word_doorbell(s->a->mode), POST_##k, CQ_OTHER, FLEX, s->a->hooked); \
	}
FS_OTHER_CQ_KIND(X, any)
#undef X
#define X(o, d, k) \
	static void flex_##d##_##k(struct issuer *s) \
	{ \
		issuer_lead(s, s->a->ord, DBM_##d, POST_##k, CQ_RING, FLEX, s->a->hooked); \
	}
FS_FLAMES_KIND(X, any, BLUEFLAME)
#undef X

static lead_fn *const flexible[CQ_USES][POST_KINDS] = {
#define X(k) [CQ_RING][POST_##k] = flex_##k,
	FS_POSTS(X)
#undef X
#define X(o, k) [CQ_OTHER][POST_##k] = flex_other_##k,
	FS_OTHER_CQ_KIND(X, any)
#undef X
};

static lead_fn *const flexible_flames[POST_KINDS] = {
#define X(o, d, k) [POST_##k] = flex_##d##_##k,
	FS_FLAMES_KIND(X, any, BLUEFLAME)
#undef X
};

#define X(m, k) \
	static void hand_##m##_##k##_0(struct issuer *s) { issuer_lead(s, ORD_NONE, MODE_##m, POST_##k, CQ_RING, BARE, s->a->hooked); } \
	static void hand_##m##_##k##_1(struct issuer *s) { issuer_lead(s, ORD_NONE, MODE_##m, POST_##k, CQ_RING, ALL, s->a->hooked); } \
	static void hand_##m##_##k##_2(struct issuer *s) { issuer_lead(s, ORD_NONE, MODE_##m, POST_##k, CQ_RING, FLEX, s->a->hooked); }
FS_HANDS(X)
#undef X
static lead_fn *const hands[MODES][POST_KINDS][INSTRS] = {
#define X(m, k) [MODE_##m][POST_##k] = { hand_##m##_##k##_0, hand_##m##_##k##_1, hand_##m##_##k##_2 },
	FS_HANDS(X)
#undef X
};

static lead_fn *lead_of(struct issue_choice c)
{
	if (mode_hands(c.mode))
		return hands[c.mode][c.kind][c.instr];
	if (c.instr == FLEX && doorbell_is_flame(c.mode))
		return flexible_flames[c.kind];
	if (c.instr == FLEX)
		return flexible[c.cq][c.kind];
	c.ord = cpu_ordering[c.ord];
	return c.cq == CQ_OTHER ? others[c.ord][c.kind][c.instr] : leads[c.ord][c.mode][c.kind][c.instr];
}

int issuer_cpu_run(const struct issue_args *a, struct issue_choice c, uint64_t *stage, const struct issue_hook *hook,
		   const struct issue_staging *staging)
{
	struct issuer s;
	struct issue_job job;
	struct coop alone = { 0, 1 };
	lead_fn *lead = lead_of(c);
	uint64_t t0;
	int rc;

	issuer_begin(&s, a, &job, stage, c.instr);
	for (;;) {
		lead(&s);
		if (job.kind == IJ_EXIT)
			break;
		if (staging && job.kind == IJ_FILL) {
			staging_fill(&s, staging);
			issue_work(&job, alone);
			t0 = staging_begin(&s, staging);
			staging_work(&job, alone);
			staging_end(&s, staging, t0);
		} else if (a->hooked && job.kind == IJ_FILL) {
			if ((rc = hook->ready(hook->arg, job.message)))
				return rc;
		} else {
			issue_work(&job, alone);
		}
	}
	return 0;
}
