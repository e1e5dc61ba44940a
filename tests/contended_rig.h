/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the probe `contended` share: its points on CPUs, a run, one that ends in a fault, and a row's mean.
 * What all points of a test have it defines as CONTENDED_BASE before.
 */
#ifndef FS_CONTENDED_RIG_H
#define FS_CONTENDED_RIG_H

#include "harness/clock.h"
#include "stages/completion/contended_parts.h"
#include "tests/points.h"
#include <math.h>

#ifndef CONTENDED_BASE
#define CONTENDED_BASE ""
#endif

extern const struct probe probe_contended;

static inline void contended_of(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_contended);
	point_set(pt, "issuer=cpu nic=soft depth=16 " CONTENDED_BASE);
	point_set(pt, text);
	fs_point_id(pt);
}

static inline int run(const char *text, struct rows *rs)
{
	struct point pt;

	contended_of(&pt, text);
	rows_init(rs);
	fs_reason_clear();
	return probe_contended.run(&pt, rs);
}

/* A point whose fault ends it with this error and these words, in bounded time; `more`: NULL, or others of them. */
struct faulty { const char *text; int code; const char *says, *more; };

static inline void faulty_ends(const struct faulty *f)
{
	const char *more = f->more ? f->more : "";
	uint64_t until = deadline_in_s(100);
	struct rows rs;
	int rc = run(f->text, &rs);

	rows_free(&rs);
	if (rc != -f->code || !strstr(fs_reason(), f->says) || !strstr(fs_reason(), more))
		fail_msg("%s: %d, %s; expected %d, \"%s\" and \"%s\"", f->text, rc, fs_reason(), -f->code, f->says, more);
	assert_true(strlen(fs_reason()) < sizeof(((struct row *)0)->reason)); /* it isn't cut where it is kept */
	assert_false(deadline_over(until));
}

static inline double mean_of(const struct rows *rs, const char *stage, const char *interval, const char *metric)
{
	const struct row *r = row_of(rs, stage, interval, metric);

	if (!r)
		fail_msg("no row %s %s %s", stage, interval, metric);
	assert_true(isfinite(r->s.mean) && (r->s.n > 0 || !strcmp(metric, "carried")));
	return r->s.mean;
}

#endif
