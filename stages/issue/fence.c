/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `fence`: what one fence costs with stores under way, in the memory that the
 * path's queue has. `floor` has whole orderings; this has the parts that they should be
 * the sum of (docs/method.md, "Steps between orderings").
 */
#include "stages/issue/fence.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/issue/loop.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <string.h>

/* A gap over which the samples' and the last word's own stores have long arrived. */
enum { SEED = 0x5f1e57a6, GAP_TICKS = 16384, LINE = 64 };
#define PATIENCE_S 60.0

enum side { BOTH, GPU, CPU };
static const enum side sides[FENCES] = {
#define X(NAME, word, help) [FENCE_##NAME] = BOTH,
	FS_FENCES_BOTH(X)
#undef X
#define X(NAME, word, help) [FENCE_##NAME] = GPU,
	FS_FENCES_GPU(X)
#undef X
#define X(NAME, word, help) [FENCE_##NAME] = CPU,
	FS_FENCES_CPU(X)
#undef X
};

/* ", "-joined words of one side. */
#define WORD3(NAME, word, help) ", " word
#define LEGAL(LIST) (&("" FS_FENCES_BOTH(WORD3) LIST(WORD3))[2])

int fence_side(const struct point *pt, int cpu, const char *who, char *why, size_t len)
{
	int fence = fs_word(pt, "fence");
	char word[32];

	if (sides[fence] == (cpu ? GPU : CPU))
		return fs_refuse(EINVAL, why, len, "fence=%s with %s: it has no such instruction; legal: %s",
				 fs_word_text(pt, "fence", word, sizeof(word)), who, cpu ? LEGAL(FS_FENCES_CPU) : LEGAL(FS_FENCES_GPU));
#ifndef __x86_64__
	if (sides[fence] == CPU)
		return fs_refuse(ENODEV, why, len, "fence=%s is an instruction of x86; legal here: none, store-release-sys",
				 fs_word_text(pt, "fence", word, sizeof(word)));
#endif
	return 0;
}

/* The path's point with nobody behind: places and amounts come from there. */
static int fence_resolve(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len)
{
	int cpu = fs_is(pt, "issuer", "cpu"), rc;
	struct point p = *pt;

	if ((rc = fence_side(pt, cpu, cpu ? "issuer=cpu" : "issuer=gpu", why, len)))
		return rc;
	rc = fs_point_set(&p, "nic", "null");
	return rc ? rc : path_resolve(&p, m, c, why, len);
}

static int fence_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct path_conf c;

	return fence_resolve(pt, m, &c, why, len);
}

static void fence_cpu_run(const struct fence_args *a, int fence)
{
	switch (fence) {
#define X(NAME, word, help) case FENCE_##NAME: fence_loop(a, FENCE_##NAME); break;
	FS_FENCES_BOTH(X)
	FS_FENCES_CPU(X)
#undef X
	}
}

struct fence_mem { struct buf ring; struct loop_mem loop; };

static int fence_measure(const struct point *pt, struct fence_mem *m, const struct path_conf *c, struct rows *out)
{
	struct fence_args a;
	char place[32];
	struct row *r;
	int rc;

	memset(&a, 0, sizeof(a));
	if ((rc = place_alloc(&m->ring, c->place[OBJ_QUEUE], FENCE_RING + LINE, 4096, c->pinned)) || (rc = loop_mem_init(&m->loop, c)))
		return rc;
	a.ring = m->ring.p;
	a.word = m->ring.p + FENCE_RING;
	a.stores = (uint32_t)fs_num(pt, "outstanding");
	a.settle = (uint32_t)c->pinned;
	a.gap_ticks = GAP_TICKS;
	a.gettime = c->gettime;
	a.warmup = c->warmup;
	a.messages = c->messages;
	a.seed = SEED;
	a.samples = (uint64_t *)m->loop.samples.p;
	a.pairs = loop_pairs(&m->loop);
	a.unsettled = loop_unsettled(&m->loop);
	if (c->issuer_gpu >= 0)
		rc = fence_gpu_run(&a, fs_word(pt, "fence"), c->issuer_gpu, PATIENCE_S);
	else
		fence_cpu_run(&a, fs_word(pt, "fence"));
	rows_found(out, "queue_mem", "%s", place_name(c->place[OBJ_QUEUE], place, sizeof(place)));
	if (rc || (rc = loop_row(&m->loop, c, "handoff", "fence", out, &r)))
		return rc;
	snprintf(r->link, sizeof(r->link), "%s", link_name(c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST, c->place[OBJ_QUEUE]));
	return 0;
}

static int fence_run(const struct point *pt, struct rows *out)
{
	struct fence_mem m;
	struct path_conf c;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	rc = fence_resolve(pt, suite_machine(), &c, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.cpu)) || (rc = path_use(&c, out)))
		return rc;
	rc = fence_measure(pt, &m, &c, out);
	if (rc == -EBUSY) /* the kernel still runs */
		return rc;
	place_free(&m.ring);
	loop_mem_term(&m.loop);
	return rc;
}

static double fence_patience(const struct point *pt)
{
	(void)pt;
	return 120;
}

static const char *const fence_reads[] = {
	"issuer", "gpu", "fence", "outstanding", "queue_mem", "messages", "warmup", "cpu", "sm", NULL
};

const struct probe probe_fence = {
	.name = "fence",
	.help = "one fence and the store behind it, with stores under way to the queue's memory: what an ordering is made of",
	.reads = fence_reads,
	.check = fence_check,
	.run = fence_run,
	.patience_s = fence_patience,
};
