/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files only: a file is written under a temporary name in the same
 * directory, synced and renamed. A file that stands is finished.
 */
#ifndef FS_FILE_H
#define FS_FILE_H

#include "harness/rows.h"
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct outfile { FILE *f; char path[4096]; char tmp[4096 + 32]; };

/* -errno with a reason that names the path. */
int outfile_open(struct outfile *o, const char *dir, const char *name);
/* Flushes, syncs, renames; on any error since opening removes the temporary
 * and returns -errno with a reason (a full disk is seen here). */
int outfile_commit(struct outfile *o);
void outfile_abort(struct outfile *o);
/* A closed file that another process wrote under the name `tmp`, of the same directory: synced, renamed, the
 * directory synced. -errno with a reason that names `whole`; -ENOENT without a word when there is no `tmp`. */
int file_place(const char *tmp, const char *whole);

/* Strict JSON, indented, NaN refused (-EINVAL), atomically. */
int json_write(const char *dir, const char *name, const json_t *j);

/* ---- CSV (RFC 4180, LF, header line) ---- */
/* One cell, quoted if it must be; `first` says whether a comma goes before. */
void csv_text(FILE *f, int first, const char *s);
/* Shortest text that reads back as the same double; NAN: empty. */
void csv_num(FILE *f, int first, double x);
void csv_int(FILE *f, int first, long long x);
void csv_end(FILE *f);
/* Reads one record into cells (pointers into buf, which is changed); returns
 * the number of cells, 0 at the end, -EINVAL malformed, -E2BIG too many. */
int csv_read(FILE *f, char *buf, size_t len, char **cells, int max);

/* ---- summary rows ---- */
#define FS_SCHEMA 1
extern const char fs_summary_header[]; /* the columns, without newline */
struct row_context {
	const char *point;
	int rep, seq;
	long long t_start_ns;   /* since the epoch */
	const char *experiment, *probe, *varied, *value, *nic, *issuer, *submitter;
	long long size_b;       /* bytes moved a message; -1: empty cell */
};
void summary_row_write(FILE *f, const struct row_context *c, const struct row *r);

/*
 * Reads what summary_row_write wrote into points/ID.REP.csv: the rows as the
 * probe gave them, once, though they stand there once an experiment. -ENOENT
 * without a word when there is no such file; -EPROTO with a reason that names
 * path and line when it isn't what was written.
 */
int summary_rows_read(const char *path, const char *point, int rep, struct rows *rs, int *seq);

/* mkdir -p; -EEXIST with a reason when `must_be_empty` and it is not; checks
 * that it can be written. */
int dir_prepare(const char *path, int must_be_empty);
/* -EEXIST with a reason when something is in it. */
int dir_check_empty(const char *path);
/* A descriptor that keeps others out of a directory while it is open, also
 * after a kill; -EBUSY with a reason when one is in there. */
int dir_lock(const char *path);
/* Removes what a killed writer left: only whoever holds the lock may. */
int dir_sweep(const char *path);
/* Is it the name of such a leftover? */
int dir_is_temporary(const char *name);

#endif
