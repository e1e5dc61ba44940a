/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an error travels: the place that detects it says it once, in words, and
 * returns -errno; everybody above hands the code on. The words are kept per
 * thread, so that a row of the result can carry them as its reason.
 */
#ifndef FS_ERR_H
#define FS_ERR_H

#include <stddef.h>

/* Exit codes of the program; only bench/ exits. */
enum fs_exit {
	FS_EXIT_OK = 0,
	FS_EXIT_FAILED = 1,       /* a point failed */
	FS_EXIT_USAGE = 2,        /* usage or config error, nothing written */
	FS_EXIT_REGRESSION = 3,
	FS_EXIT_INCONCLUSIVE = 4,
	FS_EXIT_REFUSED = 5,      /* a preflight check refused */
	FS_EXIT_INVALID = 6,      /* validation failed */
	FS_EXIT_SKIPPED = 77,     /* everything was skipped */
	FS_EXIT_TIMEOUT = 124,    /* a bounded wait ran out, nothing finished */
	/* 128 + n: ended in good order by signal n (bench/crew.c) */
};

/* Records the words, logs them to stderr as "fivestage: ...", returns -code.
 * `code` is a positive errno. */
int fs_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same without logging: for a reason that ends in a row or a message. */
int fs_reason_set(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The last words of this thread; "" if there were none. */
const char *fs_reason(void);
void fs_reason_clear(void);

/* A line to stderr that is no error. */
void fs_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Silences fs_fail's and fs_note's printing (the words are still kept). */
void fs_log_quiet(int quiet);

/* What a probe's check says of a point that it refuses: words into `why`; returns -code.
 * Nothing is logged: whoever asked says it. */
int fs_refuse(int code, char *why, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
