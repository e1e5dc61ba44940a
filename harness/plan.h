/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: experiments (a probe, a base point and one varied variable, or a grid
 * when asked for) expanded into points. A point that stands in two experiments
 * runs once and gives rows to both.
 */
#ifndef FS_PLAN_H
#define FS_PLAN_H

#include "harness/machine.h"
#include "harness/probe.h"
#include <stdint.h>
#include <stdio.h>

/* One assignment as it was typed, and where: "file.ini:12" or "command line". */
struct setting { char *name, *text, *where; };

struct experiment {
	char *name;                  /* the section's, or "cli" */
	char *where;
	struct setting *set; int nset;     /* what was set; a later one wins */
	int nglobal;                 /* the first of them are [global]'s: they apply
	                              * if the probe reads the variable */
	char *probe;                 /* default "path" */
	char *vary, *values;         /* NULL: a single point */
	char *vary_where;
	int absent_skip;             /* `absent = skip`: points that this machine can't
	                              * run become skipped rows; else they are errors */
	char *title;                 /* optional */
};

struct plan_point {
	struct point pt;
	int skipped;                 /* check said -ENODEV and the experiment allows it */
	char why[256];
};

/* A point's place in an experiment. */
struct plan_row { int point, experiment; char varied[96], value[96]; };

struct plan {
	struct experiment *exp; int nexp;
	struct plan_point *point; int npoints;
	struct plan_row *row; int nrows;
	int *order;                  /* npoints indices, the order of running */
};

void plan_init(struct plan *p);
void plan_free(struct plan *p);

/*
 * Reads an INI file. Sections are experiments; [global] gives what all of them
 * share and must come first. Keys: probe, vary, values, title, absent = skip |
 * error, and any variable. Every fault is reported with file:line and what
 * would be legal (all of them up to 20, then stops): unknown key, illegal
 * value, a variable that the probe doesn't read, duplicate section or key,
 * `vary` without `values` and the reverse, a line that is no assignment, a
 * line over 4,096 characters, a NUL byte, no experiment. -EINVAL then; -errno
 * with a reason if the file can't be read. Further files add experiments; a
 * [global] is for its own file.
 */
int plan_read(struct plan *p, const char *path);

/*
 * NAME=VALUE[,VALUE...] of the command line, in any order; also probe=NAME.
 * Without a config a single experiment "cli" is made. With one, a single value
 * is set in every experiment that reads the variable (in none: an error); a
 * name that an experiment varies has its values replaced; a list for a name
 * that no experiment varies is an error unless there is only the cli
 * experiment. Two lists are an error unless `cross`, which makes the grid:
 * `varied` is then "a*b" and `value` "1*2", in the order of the table. probe=
 * stands for every experiment; what a section sets must then be read by it.
 */
int plan_cli(struct plan *p, char *const *args, int nargs, int cross);

/* Points, rows, checks, ids; -EINVAL when any point is impossible, each with
 * where it was asked for and what would be legal. */
int plan_expand(struct plan *p, const struct machine *m);

/*
 * Order of running for repetition `rep`: shuffled by seed and rep
 * (splitmix64), then dealt so that `key(pt)` (NIC and placement) alternate as
 * far as they can.
 */
void plan_order(struct plan *p, uint64_t seed, int rep);

/* plan.csv: point,experiment,probe,varied,value, then every variable as asked. */
int plan_write(const struct plan *p, const char *dir);
void plan_print(const struct plan *p, FILE *f);

#endif
