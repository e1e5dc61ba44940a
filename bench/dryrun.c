/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `run --dry-run`: the points and how long they may take. The time is a guess
 * with its parts named: what starting a child took just now (the look at the
 * machine is one), how many will be started, and bench/estimate.c for each point.
 * Beside it stands what it can't exceed, by the probes' patience.
 */
#include "bench/resume.h"
#include "harness/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* run.json asks the machine about itself at both ends. */
#define ENDS_S 0.1
/* Rows and facts of a point are written and synced. */
#define WRITE_S 0.002
#define UNSURE 3.0

struct sum { double guess, most; int points, starts; };

static void print_point(const struct plan *p, int i, const struct options *o, int standing)
{
	const struct plan_point *pp = &p->point[i];
	char text[512];

	fs_point_text(&pp->pt, text, sizeof text);
	printf("%s  %-10s %s\n", pp->pt.id, pp->pt.probe->name, text[0] ? text : "all defaults");
	for (int k = 0; k < p->nrows; k++)
		if (p->row[k].point == i) {
			const struct plan_row *r = &p->row[k];

			printf("              in %s", p->exp[r->experiment].name);
			if (r->varied[0] && strcmp(r->varied, "-"))
				printf(" as %s=%s", r->varied, r->value);
			putchar('\n');
		}
	if (pp->skipped)
		printf("              skipped: %s\n", pp->why);
	if (standing)
		printf("              stands: %d of %d\n", standing, o->repeat);
}

/* One repetition: the points that it still has to run. */
static void add_rep(const struct plan *p, const struct options *o, const unsigned char *stands, int rep,
		    unsigned char *wanted, struct sum *s)
{
	for (int i = 0; i < p->npoints; i++) {
		const struct plan_point *pp = &p->point[i];

		wanted[i] = !pp->skipped && !stands[i * o->repeat + rep - 1];
		s->guess += WRITE_S;
		if (!wanted[i])
			continue;
		s->points++;
		s->guess += point_estimate_s(&pp->pt);
		s->most += point_patience_s(&pp->pt, o);
	}
	s->starts += crew_groups(p, wanted);
}

static char *duration(double s, char *buf, size_t len)
{
	if (s < 10)
		snprintf(buf, len, "%.1f s", s);
	else if (s < 120)
		snprintf(buf, len, "%.0f s", s);
	else if (s < 7200)
		snprintf(buf, len, "%.0f min", s / 60);
	else
		snprintf(buf, len, "%.1f h", s / 3600);
	return buf;
}

int dry_run(const struct plan *p, const struct options *o, double start_s)
{
	size_t n = (size_t)p->npoints * (size_t)o->repeat + 1;
	unsigned char *stands = calloc(n, 1), *wanted = calloc((size_t)p->npoints + 1, 1);
	struct sum s = { .guess = start_s + ENDS_S };
	char guess[32], lo[32], hi[32], most[32];
	int skipped = 0, seq = 0, code = FS_EXIT_OK;

	if (!stands || !wanted) {
		fs_fail(ENOMEM, "out of memory");
		code = FS_EXIT_FAILED;
	} else if (standing_read(p, o, stands, &seq, NULL, NULL))
		code = FS_EXIT_REFUSED;
	for (int i = 0; i < p->npoints && code == FS_EXIT_OK; i++) {
		int standing = 0;

		for (int rep = 0; rep < o->repeat; rep++)
			standing += stands[i * o->repeat + rep];
		print_point(p, i, o, standing);
		skipped += p->point[i].skipped;
	}
	for (int rep = 1; rep <= o->repeat && code == FS_EXIT_OK; rep++)
		add_rep(p, o, stands, rep, wanted, &s);
	s.guess += s.starts * start_s;
	if (code == FS_EXIT_OK) {
		printf("%d point%s, %d of them skipped; %d repetition%s", p->npoints, p->npoints == 1 ? "" : "s",
		       skipped, o->repeat, o->repeat == 1 ? "" : "s");
		if (o->from && o->from->run)
			printf("; of %d measurements %d stand, %d failed and are made again",
			       p->npoints * o->repeat, o->from->kept, o->from->failed);
		printf("\nabout %s, a guess (%s to %s): %d measurement%s at rates of earlier runs, and %d start%s "
		       "of a process at the %.2f s that one took just now; longer where others use the CPUs; "
		       "never more than %s, by the probes' patience\n",
		       duration(s.guess, guess, sizeof guess), duration(s.guess / UNSURE, lo, sizeof lo),
		       duration(s.guess * UNSURE, hi, sizeof hi), s.points, s.points == 1 ? "" : "s",
		       s.starts, s.starts == 1 ? "" : "s", start_s,
		       duration(s.most + s.starts * CREW_START_S, most, sizeof most));
	}
	/* what stands there would be refused when it is meant: said now, behind the plan */
	if (code == FS_EXIT_OK && o->dir && !o->from && !access(o->dir, F_OK) && dir_check_empty(o->dir)) {
		fs_note("so a run would be refused; --resume goes on with a run that is there");
		code = FS_EXIT_REFUSED;
	}
	free(stands);
	free(wanted);
	return code;
}
