/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that make plans share: plan.c (memory, command line),
 * inifile.c and config.c (INI), plan_expand.c (points). Not for anybody else.
 */
#ifndef FS_PLAN_PARTS_H
#define FS_PLAN_PARTS_H

#include "harness/plan.h"
#include <stddef.h>

#define PLAN_FAULTS_MAX 20      /* reported, before a reader gives up */
#define PLAN_VALUES_MAX 4096    /* of one varied variable */
#define PLAN_ROWS_MAX 65536     /* of a plan: more is a typing error */
#define PLAN_NAMES_LEN 2048     /* buffer for a list of names in a message */

/*
 * A grid has the names of its variables joined by '*' in `vary` and their
 * lists joined by this in `values` (a list may contain '*').
 */
#define PLAN_GRID ";"

/* Faults of one reading. Each is logged where it is found; beyond
 * PLAN_FAULTS_MAX they are only counted. */
struct faults { int n; };

/* Logs "WHERE: ..." . The arguments may come from fs_reason(). Returns whether
 * it is time to give up. */
int plan_fault(struct faults *f, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends an experiment without settings; NULL: out of memory. The pointer
 * lives until the next one. */
struct experiment *plan_add(struct plan *p, const char *name, const char *where);
/* Appends a setting; a later one wins. -ENOMEM with a reason. */
int experiment_set(struct experiment *e, const char *name, const char *text, const char *where);
/* Frees what *slot holds and puts a copy in its place. -ENOMEM with a reason. */
int text_replace(char **slot, const char *text);

/* "a, b, c": the variables that a probe reads, all of them with NULL. */
char *var_names(const struct probe *probe, char *buf, size_t len);
char *probe_names(char *buf, size_t len);

#endif
