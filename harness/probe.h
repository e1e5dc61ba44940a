/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe says what is measured and which variables it reads. The rows of the
 * table are in stages/probe.c; this is the mechanism that plans and runs them.
 */
#ifndef FS_PROBE_H
#define FS_PROBE_H

#include "harness/rows.h"
#include "harness/var.h"
#include <stddef.h>

struct machine;

struct probe {
	const char *name;
	const char *help;              /* one line: what it measures */
	const char *const *reads;      /* variables, NULL-terminated */
	/*
	 * May this point run here? 0, or with words in `why`: -EINVAL it is
	 * impossible anywhere (the words say what would be legal), -ENODEV
	 * this machine or this build lacks something. Runs in the parent: no
	 * CUDA, no allocation.
	 */
	int (*check)(const struct point *pt, const struct machine *m, char *why, size_t len);
	/*
	 * Measures one point once, in a child process. Adds rows, also failed
	 * or flagged ones; a negative return fails the point with fs_reason().
	 */
	int (*run)(const struct point *pt, struct rows *out);
	/* Seconds that one repetition may take before it counts as dead. */
	double (*patience_s)(const struct point *pt);
	/* Seconds that one repetition is likely to take, for --dry-run; NULL:
	 * bench/estimate.c guesses by messages and sizes. */
	double (*guess_s)(const struct point *pt);
};

/*
 * What may go on beside any probe, a load on what it measures: every probe reads its
 * variables too. begin() stands before the probe's run, end() behind it, in the child;
 * *state is NULL where there is nothing to end. Both return -errno with a reason.
 */
struct probe_beside {
	const char *const *reads;
	int (*check)(const struct point *pt, const struct machine *m, char *why, size_t len);
	int (*begin)(const struct point *pt, void **state);
	int (*end)(void *state, struct rows *out);
};

/* The table; ends with NULL. Both defined by stages/probe.c; fs_beside may be NULL. */
extern const struct probe *const fs_probes[];
extern const struct probe_beside *const fs_beside;
const struct probe *fs_probe_find(const char *name);
int fs_probe_reads(const struct probe *p, const char *var);
/* A probe's own check and run, and what may go on beside it. */
int fs_probe_check(const struct point *pt, const struct machine *m, char *why, size_t len);
int fs_probe_run(const struct point *pt, struct rows *out);

#endif
