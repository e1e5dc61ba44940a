/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and facts of one point. The caller owns struct rows; rows_free gives
 * its memory back but leaves `raw` open, since whoever opened it closes it.
 *
 * Facts have room for as many as any probe states. Should it run out, the
 * last place says how many were turned away and which was the first: a fact
 * that is missing from run.json must not look like one that was never found.
 */
#include "harness/rows.h"

#include "harness/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MAX ((int)(sizeof(((struct rows *)0)->found) / sizeof(((struct rows *)0)->found[0])))

static const char dropped_name[] = "facts-dropped";

const char *const fs_status_names[] = {
	[FS_OK] = "ok",
	[FS_FLAGGED] = "flagged",
	[FS_SKIPPED] = "skipped",
	[FS_FAILED] = "failed",
};

void rows_init(struct rows *rs)
{
	memset(rs, 0, sizeof(*rs));
}

void rows_free(struct rows *rs)
{
	free(rs->row);
	memset(rs, 0, sizeof(*rs));
}

struct row *rows_add(struct rows *rs)
{
	struct row *r;

	if (rs->n == rs->cap) {
		size_t cap = rs->cap ? 2 * rs->cap : 32;

		r = reallocarray(rs->row, cap, sizeof(*r));
		if (!r) {
			fs_fail(ENOMEM, "no memory for %zu rows", cap);
			return NULL;
		}
		rs->row = r;
		rs->cap = cap;
	}
	r = &rs->row[rs->n++];
	memset(r, 0, sizeof(*r));
	strcpy(r->stage, "-");
	strcpy(r->interval, "-");
	strcpy(r->link, "none"); /* "-" is not among the links */
	strcpy(r->origin, "measured");
	strcpy(r->order_class, "-");
	summary_none(&r->s);
	r->status = FS_OK;
	return r;
}

enum fs_status rows_worst(const struct rows *rs)
{
	enum fs_status worst = FS_OK;

	for (size_t i = 0; i < rs->n; i++) {
		enum fs_status s = rs->row[i].status;

		if (s == FS_FAILED || (s == FS_SKIPPED && worst != FS_FAILED) ||
		    (s == FS_FLAGGED && worst == FS_OK))
			worst = s;
	}
	return worst == FS_SKIPPED && rs->n > 1 ? FS_FLAGGED : worst;
}

/* Where the fact of this name stands, or goes; -1: there is no room. The last
 * place is not given out, it is kept for saying that the room ran out. */
static int found_place(struct rows *rs, const char *name)
{
	for (int i = 0; i < rs->nfound; i++)
		if (!strncmp(rs->found[i].name, name, sizeof(rs->found[i].name) - 1))
			return i;
	return rs->nfound < FOUND_MAX - 1 ? rs->nfound++ : -1;
}

/* Logs the first fact that is turned away, and counts all of them. */
static void found_dropped(struct rows *rs, const char *name)
{
	int last = FOUND_MAX - 1;
	char first[sizeof(rs->found[last].name)];
	int dropped = 0;

	snprintf(first, sizeof(first), "%s", name);
	if (rs->nfound == FOUND_MAX)
		sscanf(rs->found[last].text, "%d, first %31s", &dropped, first);
	else
		fs_note("more than %d facts about a point: %s is dropped, and all after it",
			last, name);
	snprintf(rs->found[last].name, sizeof(rs->found[last].name), "%s", dropped_name);
	snprintf(rs->found[last].text, sizeof(rs->found[last].text), "%d, first %s",
		 dropped + 1, first);
	rs->nfound = FOUND_MAX;
}

void rows_found(struct rows *rs, const char *name, const char *fmt, ...)
{
	int i = found_place(rs, name);
	va_list ap;

	if (i < 0) {
		found_dropped(rs, name);
		return;
	}
	snprintf(rs->found[i].name, sizeof(rs->found[i].name), "%s", name);
	va_start(ap, fmt);
	vsnprintf(rs->found[i].text, sizeof(rs->found[i].text), fmt, ap);
	va_end(ap);
}

void row_flag(struct row *r, const char *code, const char *why)
{
	if (r->status != FS_OK)
		return;
	r->status = FS_FLAGGED;
	snprintf(r->reason_code, sizeof(r->reason_code), "%s", code);
	snprintf(r->reason, sizeof(r->reason), "%s", why);
}
