/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a result, as a probe makes them. What the plan knows (experiment,
 * varied value, repetition) is added where they are written.
 */
#ifndef FS_ROWS_H
#define FS_ROWS_H

#include "harness/stats.h"
#include <stddef.h>
#include <stdint.h>

enum fs_status { FS_OK, FS_FLAGGED, FS_SKIPPED, FS_FAILED };
extern const char *const fs_status_names[]; /* "ok", "flagged", ... */

struct row {
	char stage[16];         /* issue, ..., completion, queueing, total, submit, "-" */
	char interval[28];      /* "intent-reserved", or "-" for a whole stage */
	char link[8];           /* none, local, nvlink, pcie, host */
	char metric[24];        /* latency, rate, floor, observer, polls, ... */
	char unit[12];          /* ns, Mmsg/s, count, ... */
	struct summary s;       /* NAN where there is no number */
	char origin[12];        /* measured, emulated, fitted */
	char order_class[12];   /* guaranteed, relied-on, unsafe, "-" */
	enum fs_status status;
	char reason_code[24];   /* one word; when ok "", or a finding */
	char reason[256];       /* in words */
};

struct rows {
	struct row *row;
	size_t n, cap;
	/* What was found out about the point and belongs to no row: resolved
	 * placements, clocks, floors. Names and texts, for run.json. */
	struct { char name[32]; char text[96]; } found[64];
	int nfound;
	/* Where raw samples go; NULL: not wanted. One line a message, without
	 * the leading point,rep columns; see docs/method.md. */
	void *raw; /* FILE * */
};

void rows_init(struct rows *rs);
void rows_free(struct rows *rs);
/* Appends an empty row: texts "-" or "", numbers NAN, status ok, origin
 * measured. NULL only when memory is out. Valid until the next rows_add. */
struct row *rows_add(struct rows *rs);
/* Flags a row that is ok, with a code and words; the first flag stands. */
void row_flag(struct row *r, const char *code, const char *why);
/* What a point is, by its rows: the worst of them; but one row of many that was
 * skipped makes it a flagged one, not a skipped one. */
enum fs_status rows_worst(const struct rows *rs);
/* Records a fact; a name that stands already is replaced. */
void rows_found(struct rows *rs, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
