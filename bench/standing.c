/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which points of an interrupted run stand. A file points/ID.REP.csv is whole or
 * not there, so its being there decides, and its rows say whether the point
 * failed: a failed one is measured again, since what made it fail is often what
 * ended the run. Skipped and flagged ones are results.
 */
#include "bench/resume.h"
#include "harness/file.h"
#include <errno.h>

struct look {
	const struct plan *plan;
	const struct options *opt;
	unsigned char *stands;
	int *seq;
	void (*visit)(void *arg, int point, int rep, const struct rows *rs);
	void *arg;
};

static int look_at(const struct look *l, int point, int rep)
{
	const char *id = l->plan->point[point].pt.id;
	struct resume *u = l->opt->from;
	char path[4096];
	struct rows rs;
	int err, seq = 0;

	rows_init(&rs);
	snprintf(path, sizeof path, "%s/points/%s.%d.csv", l->opt->dir, id, rep);
	err = summary_rows_read(path, id, rep, &rs, &seq);
	if (seq > *l->seq)
		*l->seq = seq;
	if (err == -ENOENT) {
		u->missing++;
		err = 0;
	} else if (err) {
		fs_fail(-err, "%s; without that file the point is measured again", fs_reason());
	} else if (rows_worst(&rs) == FS_FAILED) {
		u->failed++;
	} else {
		u->kept++;
		l->stands[point * l->opt->repeat + rep - 1] = 1;
		if (l->visit)
			l->visit(l->arg, point, rep, &rs);
	}
	rows_free(&rs);
	return err;
}

int standing_read(const struct plan *p, const struct options *o, unsigned char *stands, int *seq,
		  void (*visit)(void *arg, int point, int rep, const struct rows *rs), void *arg)
{
	struct look l = { p, o, stands, seq, visit, arg };
	int err = 0;

	if (!o->from || !o->from->run)
		return 0;
	for (int i = 0; i < p->npoints && !err; i++)
		for (int rep = 1; rep <= o->repeat && !err; rep++)
			err = look_at(&l, i, rep);
	return err;
}
