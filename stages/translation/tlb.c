/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `tlb`: what the number of pages costs a dependent load. One point climbs a
 * whole ladder in one piece of memory (ladder.h), since what is compared has to lie
 * in the same place; its rows are the rungs, the knees that follow pages, with reach
 * and cost of a miss, and the knees that don't.
 */
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/path.h"
#include "stages/place/pages.h"
#include "stages/place/place.h"
#include "stages/suite.h"
#include "stages/translation/chase.h"
#include "stages/translation/ladder.h"
#include "stages/translation/tlb.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_S 60.0
#define SEED 0x5f1e57a6u
/* Lines of a rung that are written: more than any cache holds, so that those that are
 * chased first have left it again. */
#define LAID_MAX (8ull << 20)
/* A warm pass over all lines, or where that would take too long over a part: then no
 * cache keeps anything until the cycle comes round, warm or not. */
#define WARM_WHOLE (512ull << 10)
#define WARM_PART (64ull << 10)
#define WARM_LEAST 4096ull
enum { STEPS_CPU = 4096, STEPS_GPU = 1024 };
#define GPU_SPARE (256ull << 20) /* of a GPU's memory, for what the probe needs besides */

static int tlb_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct tlb_conf c;

	return tlb_resolve(pt, m, &c, why, len);
}

/* ---- memory ---- */

struct tlb_mem {
	const struct tlb_conf *c;
	struct pages host;
	struct buf gpu, samples, pairs, end;
	uint64_t base;
	int pinned, unsettled;
	enum arm arm;        /* what was laid last, and is still there */
	uint64_t lines;      /* 0: nothing */
	char flag[200]; /* what the rows have to say, "": nothing */
};

static void tlb_term(struct tlb_mem *m)
{
	if (m->pinned)
		pages_unpin(&m->host);
	pages_free(&m->host);
	place_free(&m->gpu);
	place_free(&m->samples);
	place_free(&m->pairs);
	place_free(&m->end);
}

/* 1: there is none of the pages that were asked for, and m->flag says so. */
static int host_init(struct tlb_mem *m, struct tlb_conf *c, struct rows *out)
{
	int node = pin_node_of_cpu(c->cpu), some, rc;

	if ((rc = pages_reserve(&m->host, c->bytes, 1ull << c->page_shift)) || (rc = pages_populate(&m->host)) ||
	    (rc = pages_assert_node(&m->host, node, &node)))
		return rc;
	rows_found(out, "node", node < 0 ? "not known" : "%d", node);
	rows_found(out, "huge_pages", "%s", c->page_shift == 12 ? "no" : m->host.hugetlb ? "from the pool" : "transparent");
	if (!pages_as_asked(&m->host, &some, m->flag, sizeof(m->flag)) && !some)
		return 1;
	if (c->device >= 0 && (rc = pages_pin(&m->host)))
		return rc;
	m->pinned = c->device >= 0;
	m->base = (uint64_t)m->host.p;
	return 0;
}

static int gpu_init(struct tlb_mem *m, struct tlb_conf *c)
{
	uint64_t room;
	int rc = cuda_free_bytes(c->owner, &room);

	if (rc)
		return rc;
	if (!c->bytes)
		c->bytes = (room - room / 8) >> c->page_shift << c->page_shift;
	if (c->bytes + GPU_SPARE > room)
		return fs_fail(ENOMEM, "a working set of %llu MiB, and %llu MiB beside it: GPU %d has %llu MiB free",
			       MIB(c->bytes), MIB(GPU_SPARE), c->owner, MIB(room));
	rc = place_alloc(&m->gpu, c->owner, c->bytes, 1ull << c->page_shift, 1);
	m->base = (uint64_t)m->gpu.p;
	return rc;
}

static int tlb_init(struct tlb_mem *m, struct tlb_conf *c, struct rows *out)
{
	int near_ = c->device >= 0 ? c->device : PLACE_HOST, pinned = c->device >= 0, rc;

	m->c = c;
	if (pinned && (rc = cuda_use(c->device, c->owner == c->device ? -1 : c->owner)))
		return rc;
	if ((rc = place_alloc(&m->samples, near_, CHASES * 8, 4096, pinned)) ||
	    (rc = place_alloc(&m->pairs, near_, 2 * sizeof(struct clock_pair), 64, pinned)) ||
	    (rc = place_alloc(&m->end, near_, 16, 64, pinned)))
		return rc;
	return c->owner == PLACE_HOST ? host_init(m, c, out) : gpu_init(m, c);
}

/* ---- one arm at one rung ---- */

static int lay(const struct tlb_mem *m, const struct lay *l)
{
	if (m->c->device >= 0)
		return chase_gpu_lay(l, m->c->owner == PLACE_HOST ? m->c->device : m->c->owner, PATIENCE_S);
	for (uint64_t k = 0; k < l->laid; k++)
		lay_line(l, k);
	return 0;
}

static int take(struct tlb_mem *m, const struct chase *c, uint64_t should, double *ns)
{
	uint64_t x[CHASES], end[2];
	struct clock_pair p[2];
	double rate;
	int rc;

	if ((rc = place_read(&m->samples, 0, x, sizeof(x))) || (rc = place_read(&m->pairs, 0, p, sizeof(p))) ||
	    (rc = place_read(&m->end, 0, end, sizeof(end))))
		return rc;
	if (end[0] != should)
		return fs_fail(EIO, "the chase came to another line than the cycle has there: the memory was changed");
	rate = m->c->device >= 0 ? (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks) :
	       c->gettime ? 1 : 1 / suite_cpu_clock()->ticks_per_ns;
	for (int i = 0; i < CHASES; i++)
		ns[i] = (double)x[i] * rate / c->steps;
	m->unsettled |= end[1] != 0;
	return 0;
}

static int tlb_measure(void *ctx, enum arm arm, uint64_t lines, double *ns)
{
	struct tlb_mem *m = ctx;
	const struct tlb_conf *c = m->c;
	struct lay l = {
		.base = m->base, .lines = lines, .laid = lines < LAID_MAX ? lines : LAID_MAX, .seed = SEED,
		.page_shift = c->page_shift, .line_shift = c->line_shift, .half_bits = lay_bits(lines),
		.share_shift = arm == ARM_ONE ? 0 : arm == ARM_FOUR ? 2 : c->page_shift - c->line_shift,
	};
	struct chase h = {
		.chases = CHASES, .steps = c->device >= 0 ? STEPS_GPU : STEPS_CPU, .gettime = c->gettime,
		.settle = c->device >= 0 && !m->lines, .samples = (uint64_t *)m->samples.p,
		.pairs = (struct clock_pair *)m->pairs.p, .end = (uint64_t *)m->end.p,
	};
	int rc = 0;

	/* once more, over all lines: they lie there, and have all been warm */
	if (m->lines != lines || m->arm != arm || lines > WARM_WHOLE)
		rc = lay(m, &l);
	if (rc)
		return rc;
	h.start = lay_kth(&l, 0);
	h.warm = lines > WARM_WHOLE ? WARM_PART : lines > WARM_LEAST ? (lines + CHASE_UNROLL - 1) / CHASE_UNROLL * CHASE_UNROLL : WARM_LEAST;
	if (c->device >= 0)
		rc = chase_gpu_run(&h, c->device, PATIENCE_S);
	else
		chase_run(&h);
	m->lines = lines;
	m->arm = arm;
	return rc ? rc : take(m, &h, lay_kth(&l, (h.warm + (uint64_t)h.chases * h.steps) % lines), ns);
}

/* ---- rows ---- */

static struct row *tlb_row(struct rows *out, const struct tlb_mem *m, const char *metric, const char *unit)
{
	struct row *r = rows_add(out);

	if (!r)
		return NULL;
	strcpy(r->stage, "translation");
	snprintf(r->link, sizeof(r->link), "%s", link_name(m->c->device >= 0 ? m->c->device : PLACE_HOST, m->c->owner));
	snprintf(r->metric, sizeof(r->metric), "%s", metric);
	snprintf(r->unit, sizeof(r->unit), "%s", unit);
	if (*m->flag) {
		r->status = FS_FLAGGED;
		strcpy(r->reason_code, "page-size");
		snprintf(r->reason, sizeof(r->reason), "%s", m->flag);
	} else if (m->unsettled) {
		unsettled_flag(r);
	}
	return r;
}

static int rung_rows(const struct ladder *l, const struct tlb_mem *m, struct rows *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct rung *g = &l->rung[i];
		struct row *r = tlb_row(out, m, "latency", "ns");
		int rc = r ? summary_of(g->ns, CHASES, 1, &r->s) : -ENOMEM;

		if (rc)
			return rc;
		snprintf(r->interval, sizeof(r->interval), "%s-%llu-%llu", arm_names[g->arm], (unsigned long long)g->lines,
			 (unsigned long long)g->pages);
	}
	return 0;
}

/* Says more of a row than its numbers do; a flag that stands there stays. */
static void remark(struct row *r, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void remark(struct row *r, const char *code, const char *fmt, ...)
{
	va_list ap;

	if (r->status != FS_OK)
		return;
	snprintf(r->reason_code, sizeof(r->reason_code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(r->reason, sizeof(r->reason), fmt, ap);
	va_end(ap);
}

static void span(struct row *r, const char *name, int k, double mid, double lo, double hi)
{
	summary_one(&r->s, mid);
	r->s.ci_lo = lo;
	r->s.ci_hi = hi;
	snprintf(r->interval, sizeof(r->interval), "%s-%d", name, k);
}

/* A knee that follows pages: how far the cache reaches, and what missing it costs. */
static int ours(const struct knee *k, int number, const struct tlb_mem *m, struct rows *out)
{
	double page = (double)(1ull << m->c->page_shift), lo = (double)k->pages_lo, hi = (double)k->pages_hi;
	struct row *r = tlb_row(out, m, "reach", "B");

	if (!r)
		return -ENOMEM;
	span(r, "knee", number, (lo + hi) / 2 * page, lo * page, hi * page);
	if (!(r = tlb_row(out, m, "reach_pages", "count")))
		return -ENOMEM;
	span(r, "knee", number, (lo + hi) / 2, lo, hi);
	if (!(r = tlb_row(out, m, "miss", "ns")))
		return -ENOMEM;
	span(r, "knee", number, k->miss_ns, k->miss_lo, k->miss_hi);
	if (k->open)
		remark(r, "still-rising", "a lower bound: latency still rises where the ladder ends");
	return 0;
}

/* One that doesn't, in pages all the same. */
static int other(const struct knee *k, int number, const struct tlb_mem *m, struct rows *out)
{
	struct row *r = tlb_row(out, m, "other_knee", "count");

	if (!r)
		return -ENOMEM;
	span(r, "other", number, (double)(k->pages_lo + k->pages_hi) / 2, (double)k->pages_lo, (double)k->pages_hi);
	if (k->follows == FOLLOWS_LINES)
		remark(r, "follows-lines", "no translation cache's: with four lines a page it stands at the same number of lines, %llu to %llu",
		       (unsigned long long)k->lines_lo, (unsigned long long)k->lines_hi);
	else
		remark(r, "unconfirmed", "no translation cache's for sure: with four lines a page it isn't seen again");
	return 0;
}

static int knee_rows(const struct ladder *l, const struct tlb_mem *m, struct rows *out)
{
	uint64_t most = (m->c->bytes >> m->c->page_shift) < PAGES_MAX ? m->c->bytes >> m->c->page_shift : PAGES_MAX;
	int n, mine = 0, rest = 0, rc = 0;
	struct knee k[KNEES_MAX];
	struct row *r;

	n = ladder_knees(l, k);
	for (int i = 0; i < n && !rc; i++)
		rc = k[i].follows == FOLLOWS_PAGES ? ours(&k[i], ++mine, m, out) : other(&k[i], ++rest, m, out);
	if (rc || mine)
		return rc;
	if (!(r = tlb_row(out, m, "reach", "B")))
		return -ENOMEM;
	remark(r, "none-found", "none found: no knee follows pages between %d and %llu pages of %llu KiB", RUNG_LEAST,
	       (unsigned long long)most, 1ull << m->c->page_shift >> 10);
	return 0;
}

/* ---- the probe ---- */

static int skip(struct rows *out, const struct tlb_mem *m)
{
	struct row *r = rows_add(out);

	if (!r)
		return -ENOMEM;
	r->status = FS_SKIPPED;
	strcpy(r->reason_code, "page-size");
	snprintf(r->reason, sizeof(r->reason), "%s", m->flag);
	return 0;
}

static int tlb_run(const struct point *pt, struct rows *out)
{
	struct ladder l;
	struct tlb_conf c;
	struct tlb_mem m;
	char why[256];
	int rc = tlb_resolve(pt, suite_machine(), &c, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	memset(&m, 0, sizeof(m));
	memset(&l, 0, sizeof(l));
	c.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.cpu)))
		return rc;
	rc = tlb_init(&m, &c, out);
	if (rc == 1)
		rc = skip(out, &m);
	else if (!rc) {
		rows_found(out, "set", "%llu", (unsigned long long)c.bytes);
		rows_found(out, "page", "%llu", 1ull << c.page_shift);
		rows_found(out, "line", "%u", 1u << c.line_shift);
		l.bytes = c.bytes;
		l.page_shift = c.page_shift;
		l.line_shift = c.line_shift;
		rc = ladder_climb(&l, tlb_measure, &m);
		rows_found(out, "measured_again", "%u", l.again);
		rc = rc ? rc : rung_rows(&l, &m, out);
		rc = rc ? rc : knee_rows(&l, &m, out);
	}
	ladder_term(&l);
	if (rc != -EBUSY) /* a kernel that didn't end may still use it */
		tlb_term(&m);
	return rc;
}

static double tlb_patience(const struct point *pt)
{
	(void)pt;
	return 600;
}

/* Rungs and their warm passes, and beyond them a lay of LAID_MAX lines an octave. By some
 * runs on two CPU cores; a GPU's chase costs more a load, its lay next to nothing. */
static double tlb_guess(const struct point *pt)
{
	double set = fs_is(pt, "set", "auto") ? SET_AUTO_HOST : (double)fs_num(pt, "set");

	return 0.3 + (set > 4e9 ? 4 : set / 1e9) * 5;
}

static const char *const tlb_reads[] = { "issuer", "gpu", "mem", "set", "host_page", "cpu", NULL };

const struct probe probe_tlb = {
	.name = "tlb",
	.help = "dependent loads against the pages and the lines that they touch: reach and miss of translation caches",
	.reads = tlb_reads,
	.check = tlb_check,
	.run = tlb_run,
	.patience_s = tlb_patience,
	.guess_s = tlb_guess,
};
