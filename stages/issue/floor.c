/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `floor`: the bare posting loop of an inline write, to set beside the
 * path's submit at the same placement and order.
 */
#include "stages/issue/floor.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/issue/loop.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>
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

struct floor_mem { struct path_mem path; struct loop_mem loop; };

static int floor_measure(struct floor_mem *m, const struct path_conf *c, struct rows *out)
{
	struct floor_args a;
	struct row *r;
	int rc;

	memset(&a, 0, sizeof(a));
	if ((rc = path_mem_init(&m->path, c)) || (rc = path_mem_reset(&m->path, c)) || (rc = loop_mem_init(&m->loop, c)))
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
	a.samples = (uint64_t *)m->loop.samples.p;
	a.pairs = loop_pairs(&m->loop);
	a.unsettled = loop_unsettled(&m->loop);
	if (c->issuer_gpu >= 0)
		rc = floor_gpu_run(&a, c->choice.ord, c->choice.mode, c->issuer_gpu, PATIENCE_S);
	else
		floors[c->choice.ord][c->choice.mode](&a);
	return rc ? rc : loop_row(&m->loop, c, "submit", "floor", out, &r);
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
	loop_mem_term(&m.loop);
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
