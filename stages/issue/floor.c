/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `floor`: the bare posting loop of an inline write, to set beside the
 * path's submit at the same placement and order.
 */
#include "stages/issue/floor.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x5f1e57a6 };
#define PATIENCE_S 60.0

/* The path's point with nobody behind: places and sizes come from there. */
static int floor_resolve(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len)
{
	struct point p = *pt;
	int rc = fs_point_set(&p, "nic", "null");

	return rc ? rc : path_resolve(&p, m, c, why, len);
}

static int floor_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct path_conf c;
	int rc = floor_resolve(pt, m, &c, why, len);

	if (!rc && doorbell_is_flame(c.choice.mode))
		return fs_refuse(EINVAL, why, len, "floor stores doorbells of 8 bytes; legal: doorbell=record-ring, ring-record-ring, ring");
	if (!rc && c.choice.kind != POST_INLINE) {
		snprintf(why, len, "floor posts inline writes; legal: size=0..%d", WQE_INLINE_MAX);
		return -EINVAL;
	}
	return rc;
}

typedef void floor_fn(const struct floor_args *a);
#define X(o, d) static void floor_##o##__##d(const struct floor_args *a) { floor_loop(a, ORD_##o, DBM_##d); }
FS_FLOORS(X)
#undef X
static floor_fn *const floors[ORDERINGS][WORD_DOORBELLS] = {
#define X(o, d) [ORD_##o][DBM_##d] = floor_##o##__##d,
	FS_FLOORS(X)
#undef X
};

struct floor_mem { struct path_mem path; struct buf samples, pairs; };

static int floor_rows(const struct floor_mem *m, const struct path_conf *c, struct rows *out)
{
	uint64_t *x = malloc(c->messages * 8);
	double *ns = malloc(c->messages * sizeof(*ns)), rate;
	struct clock_pair p[3];
	struct row *r;
	int rc;

	if (!x || !ns) {
		rc = fs_fail(ENOMEM, "no memory for samples");
		goto out;
	}
	if ((rc = place_read(&m->samples, 0, x, c->messages * 8)) || (rc = place_read(&m->pairs, 0, p, sizeof(p))))
		goto out;
	rate = (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks);
	for (uint64_t i = 0; i < c->messages; i++)
		ns[i] = (double)x[i] * rate;
	r = path_row(out, c, "submit", "floor", "ns");
	rc = r ? summary_of(ns, c->messages, 128, &r->s) : -ENOMEM;
	if (r && p[2].ticks) /* the word behind the pairs */
		unsettled_flag(r);
out:
	free(x);
	free(ns);
	return rc;
}

static int floor_measure(struct floor_mem *m, const struct path_conf *c, struct rows *out)
{
	int issuer = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST, rc;
	struct floor_args a;

	memset(&a, 0, sizeof(a));
	if ((rc = path_mem_init(&m->path, c)) || (rc = path_mem_reset(&m->path, c)) ||
	    (rc = place_alloc(&m->samples, issuer, c->messages * 8, 4096, c->pinned)) ||
	    (rc = place_alloc(&m->pairs, issuer, 4 * sizeof(struct clock_pair), 64, c->pinned)))
		return rc;
	a.q.wq = m->path.queue.p;
	a.q.dbrec = m->path.queue.p + m->path.record_off;
	a.q.db = m->path.db.p;
	a.q.log_n = c->log_n;
	a.q.qpn = PATH_QPN;
	a.to.rkey = PATH_RKEY;
	a.to.raddr = (uint64_t)m->path.dst.p;
	a.len = c->size;
	a.settle = (uint32_t)c->pinned;
	a.gap_ticks = 2048;
	a.gettime = c->gettime;
	a.warmup = c->warmup;
	a.messages = c->messages;
	a.seed = SEED;
	a.samples = (uint64_t *)m->samples.p;
	a.pairs = (struct clock_pair *)m->pairs.p;
	a.unsettled = (uint64_t *)(a.pairs + 2);
	if (c->issuer_gpu >= 0)
		rc = floor_gpu_run(&a, c->choice.ord, c->choice.mode, c->issuer_gpu, PATIENCE_S);
	else
		floors[c->choice.ord][c->choice.mode](&a);
	return rc ? rc : floor_rows(m, c, out);
}

static int floor_run(const struct point *pt, struct rows *out)
{
	struct floor_mem m;
	struct path_conf c;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	rc = floor_resolve(pt, suite_machine(), &c, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.cpu)) || (rc = path_use(&c, out)))
		return rc;
	rc = floor_measure(&m, &c, out);
	if (rc == -EBUSY) /* a kernel that didn't end may still use it */
		return rc;
	place_free(&m.samples);
	place_free(&m.pairs);
	path_mem_term(&m.path);
	return rc;
}

static double floor_patience(const struct point *pt)
{
	(void)pt;
	return 120;
}

static const char *const floor_reads[] = {
	"issuer", "gpu", "size", "ordering", "doorbell", "entries", "queue_mem", "db_mem", "messages", "warmup", "cpu", "sm", NULL
};

const struct probe probe_floor = {
	.name = "floor",
	.help = "the bare posting loop: the path's stores, orders and doorbell, with no reservation and no check",
	.reads = floor_reads,
	.check = floor_check,
	.run = floor_run,
	.patience_s = floor_patience,
};
