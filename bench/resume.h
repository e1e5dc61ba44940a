/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with the directory of an interrupted run. What the directory says
 * decides; what the command line says besides must agree with it.
 */
#ifndef FS_RESUME_H
#define FS_RESUME_H

#include "bench/bench.h"

struct resume {
	int lock;              /* of the directory; results_open takes it over, -1 then */
	json_t *run;           /* its run.json; NULL: killed before it began, so this is a start */
	int complete;          /* its end was reached */
	struct options was;    /* its command line */
	char **argv;           /* texts belong to `run` */
	int kept, failed, missing; /* points and repetitions; standing_read counts them */
};

/*
 * Reads the directory of o->dir, changes nothing there, and fills in what the
 * command line leaves open: what to measure, seed, repeat, raw, timeout. -1: go
 * on; else the exit code, after one sentence.
 */
int resume_open(struct resume *u, struct options *o);
void resume_close(struct resume *u);
/* Is the expanded plan the directory's, and this its machine? -EINVAL with a
 * reason that says what differs. */
int resume_check(const struct resume *u, const struct options *o, const struct plan *p,
		 const struct machine *m);
/*
 * Reads the points of o->from and marks in `stands` (npoints * repeat) those that
 * needn't be measured again: all that are finished and not failed. `seq` becomes
 * the highest place in the order. `visit` gets the rows of each; NULL: nobody
 * does. Does nothing where nothing is resumed. -EPROTO after a sentence that names
 * the file that isn't as it was written. (standing.c)
 */
int standing_read(const struct plan *p, const struct options *o, unsigned char *stands, int *seq,
		  void (*visit)(void *arg, int point, int rep, const struct rows *rs), void *arg);
/* The command that goes on with `dir`, to be typed as it is. */
char *resume_command(const char *dir, char *buf, size_t len);

#endif
