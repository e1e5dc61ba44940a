/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the probe `contended` share: its points on CPUs, a run, and a row's mean. What all points of a test
 * have it defines as CONTENDED_BASE before.
 */
#ifndef FS_CONTENDED_RIG_H
#define FS_CONTENDED_RIG_H

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

static inline double mean_of(const struct rows *rs, const char *stage, const char *interval, const char *metric)
{
	const struct row *r = row_of(rs, stage, interval, metric);

	if (!r)
		fail_msg("no row %s %s %s", stage, interval, metric);
	assert_true(isfinite(r->s.mean) && (r->s.n > 0 || !strcmp(metric, "carried")));
	return r->s.mean;
}

#endif
