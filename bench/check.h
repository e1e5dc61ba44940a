/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker of plants. It is told which plant stands in a point, never what
 * else does: a wait that it wasn't told of must make it find something.
 */
#ifndef FS_CHECK_H
#define FS_CHECK_H

#include "bench/bench.h"
#include "bench/tolerance.h"
#include "stages/stage.h"

/* A figure of one point, mean over the repetitions. */
struct delta {
	char stage[16], interval[28], metric[24];
	double mean, lo, hi;
	int n;
};

/* One thing that was judged. */
struct judged {
	enum claim claim;
	char stage[16], interval[28];
	double expected, delta, lo, hi, tolerance;  /* delta NAN: there was no figure */
	int off;
};

#define DELTAS_MAX 48
struct plant {
	const char *id;                 /* the point's */
	int mark;
	int cpu;                        /* the agent that waits is a CPU thread */
	long long ns;
	struct delta delta[DELTAS_MAX]; int ndeltas;
	struct judged finding[DELTAS_MAX]; int nfindings; /* all that was judged */
	int off;                        /* how many of them are off */
	enum fs_status status; char reason[256];          /* the point's own */
};

struct check {
	const struct plan *plan;
	struct route route;             /* of all points */
	int concluded;
	struct plant *plant; int nplants;  /* by point index */
};

/* cpu[agent]: it is a CPU thread. NULL: out of memory. */
struct check *check_new(const struct plan *p, struct route r, const int cpu[AGENTS]);
void check_free(struct check *c);
void check_rows(void *check, int point, int rep, const struct rows *rs); /* a hook */
/* A hook: judges. FS_EXIT_INVALID when anything is off. */
int check_conclude(void *check, int exit_code);

void plant_print(const struct plant *p, FILE *f);
/* Prints a line only for what is off. */
void finding_print(const struct plant *p, const struct judged *j, FILE *f);
void check_csv(const struct check *c, FILE *f);

#endif
