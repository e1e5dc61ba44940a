/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of bench/ share. A command returns the exit code of the
 * program (harness/err.h); the parent process never touches CUDA or verbs.
 */
#ifndef FS_BENCH_H
#define FS_BENCH_H

#include "harness/child.h"
#include "harness/err.h"
#include "harness/machine.h"
#include "harness/plan.h"
#include "harness/rows.h"
#include "harness/stats.h"
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* The program as it was called, for a line that can be typed again (main.c). */
extern const char *fs_program;

/* ---- commands: argv[0] is the command's own name ---- */
int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_serve(int argc, char **argv);  /* the child's side, not for users */

/* ---- commands.c ---- */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	unsigned accepts;        /* ACCEPT_ bits */
	const char *usage;       /* behind "fivestage NAME" */
	const char *brief;       /* in the list of commands; NULL: not for users */
	const char *text;        /* paragraphs of --help and the man page */
	const char *words;       /* what completes a word: names, or "configs"; NULL */
};
extern const struct command fs_commands[]; /* ends with a row whose name is NULL */
const struct command *command_find(const char *name); /* NULL */
/* What each exit code means; ends with a row without words. */
struct exit_row { int code; const char *words; };
extern const struct exit_row fs_exits[];

/* ---- options.c: one grammar for all commands, options in any order ---- */
enum {
	ACCEPT_DIR = 1, ACCEPT_REPEAT = 2, ACCEPT_SEED = 4, ACCEPT_RAW = 8, ACCEPT_DRY_RUN = 16,
	ACCEPT_TIMEOUT = 32, ACCEPT_CROSS = 64, ACCEPT_NS = 128, ACCEPT_UNTOLD = 256,
	ACCEPT_MARKDOWN = 512,
	ACCEPT_WORDS = 1024,      /* arguments that are neither option nor NAME=VALUE */
	ACCEPT_SETTINGS = 2048,   /* NAME=VALUE */
	ACCEPT_RESUME = 4096,
};
#define REPEAT_MAX 10000

struct option_row {
	const char *name, *value;   /* value: what stands behind it in --help; NULL: a flag */
	unsigned accept;            /* the one bit by which commands take it */
	const char *help;
	long long lo, hi;           /* of a number */
	const char *fill;           /* what completes the value: "directory", "mark"; NULL */
};
extern const struct option_row fs_options[]; /* ends with a row whose name is NULL */

struct resume;
struct options {
	int argc;                 /* as typed, for run.json */
	char **argv;
	const char *dir;          /* NULL: default_dir() */
	int repeat;
	uint64_t seed;
	int raw, dry_run, cross, markdown, resume;
	unsigned given;           /* ACCEPT_ bits of the options that were typed */
	struct resume *from;      /* resume.c; NULL: a fresh run */
	double timeout_s;         /* 0: what each probe says */
	long long ns;             /* 0: by issuer */
	const char *untold;
	char **words; int nwords;         /* pointers into argv */
	char **settings; int nsettings;
};
/* By the row of the command argv[0]. -1: go on; else the exit code (0 after --help). */
int options_parse(struct options *o, int argc, char **argv);
void options_free(struct options *o);
void help_print(const struct command *cmd, FILE *f);

/* ---- where.c: places in the file system ---- */
/* Directory of the shipped configs; -ENOENT with a reason that names where it
 * was looked for. */
int configs_dir(char *buf, size_t len);
/* results/<UTC time>-<host> below the current directory, one that isn't there. */
void default_dir(char *buf, size_t len);
/* "2025-01-31T12:00:00Z" */
char *utc_text(uint64_t wall, char *buf, size_t len);

/* ---- wire.c: rows and texts as JSON, both sides of the pipe ---- */
json_t *wire_text(const char *s);                      /* bytes that are no UTF-8 become '?' */
json_t *row_to_json(const struct row *r);
int row_from_json(const json_t *j, struct row *r);     /* -EPROTO */

/* ---- crew.c: the children, one a group of points ---- */
/* Points that share NIC, issuer and devices share a child in a repetition. At
 * most CREW_MAX stay alive; the least recently used one makes room. */
#define CREW_MAX 6
/* Starting a process and its CUDA context takes seconds with many GPUs; this
 * is added to a probe's patience at a child's first point. */
#define CREW_START_S 20.0
struct member { struct child child; char key[160]; unsigned long long used; int points; };
struct crew {
	struct member member[CREW_MAX];
	unsigned long long uses;
	long peak_kb;        /* see crew_peak_kb */
};
/* Processes that one repetition starts for the points that `wanted` says (npoints). */
int crew_groups(const struct plan *p, const unsigned char *wanted);
void crew_init(struct crew *c);
int crew_get(struct crew *c, const struct point *pt, struct member **m);
void crew_drop(struct member *m, double grace_s, char *how, size_t len);
void crew_end(struct crew *c, double grace_s);
/* The peaks of resident memory of those alive together, added up: a bound, since
 * they need not coincide. The highest of all times that it was looked at. */
long crew_peak_kb(struct crew *c);
/* A short-lived child looks at the machine. If it can't, *m has no GPU and says why. */
void crew_scout(struct machine *m);

/* The signal that asked for the end (SIGINT, SIGTERM, SIGHUP), or 0. */
void stop_install(void);
int stop_wanted(void);
int stop_exit(void);     /* the exit code then: 128 and the signal, as a shell has it */

/* child_recv in slices, so that a stop is seen within a fraction of a second, for *left_s
 * seconds at most, which is made less by those that have passed; of time in which we
 * were stopped ourselves (Ctrl-Z, a machine that slept) hardly any counts.
 * 0, -EINTR when stopped, or as child_recv. */
int recv_patiently(struct child *c, double *left_s, json_t **msg);

/* ---- results.c: the files of a run ---- */
struct results {
	char dir[2048], points_dir[2048 + 16];
	const struct plan *plan;
	const struct options *opt;
	json_t *run;         /* run.json */
	json_t *points;      /* its member "points" */
	long children_kb;    /* their peak of resident memory */
	const unsigned char *stands;  /* results_open */
	int lock;            /* held while the directory is written */
};
/* Directory, plan.csv and the first run.json; or that of o->from, in which the
 * points and repetitions of `stands` (npoints * repeat) are kept. -errno with a reason; -EEXIST,
 * -EACCES ... before anything is written when the directory is refused. */
int results_open(struct results *r, const struct plan *p, const struct machine *m,
		 const struct options *o, const unsigned char *stands);
/* Of a complete run that was killed at its very end: what it had no time to remove. */
void results_tidy(struct results *r, const struct plan *p, const struct options *o);
/* Rows of one point and repetition, one copy for each experiment it stands in. */
int results_point(struct results *r, int point, int rep, int seq, uint64_t t_start,
		  const struct rows *rs, json_t *found);
/* Where the child puts its samples, and what becomes of them. */
void results_raw_path(const struct results *r, int point, int rep, int finished, char *buf, size_t len);
int results_raw_done(struct results *r, int point, int rep, int ok);
/* Merges and writes run.json for the last time. An incomplete run is not merged. */
int results_close(struct results *r, int complete, const char *how_far, int exit_code);
void results_free(struct results *r);
/* merge.c: summary.csv and samples.csv. */
int results_merge(struct results *r);
/* Does summary.csv stand in the directory? */
int results_there(const struct options *o);

/* ---- conduct.c: a plan is run ---- */
struct hooks {
	void (*rows)(void *arg, int point, int rep, const struct rows *rs);
	int (*conclude)(void *arg, int exit_code); /* may change the exit code; NULL: none */
	void *arg;
};
/* Runs an expanded plan into a directory; returns the exit code. The directory
 * that was used is put into `dir`. */
int conduct(struct plan *p, const struct machine *m, const struct options *o,
	    const struct hooks *h, char *dir, size_t len);
/* dryrun.c: the points, how many, how long. `start_s`: what starting a child took. */
int dry_run(const struct plan *p, const struct options *o, double start_s);
/* estimate.c: what one repetition of a point takes, less starting its child: a guess. */
double point_estimate_s(const struct point *pt);
double point_patience_s(const struct point *pt, const struct options *o);

/* ---- table.c, table_print.c: the table on stdout ---- */
struct table;
struct table *table_new(const struct plan *p);
void table_rows(void *table, int point, int rep, const struct rows *rs); /* a hook */
void table_print(const struct table *t, FILE *f);
void table_free(struct table *t);

#endif
