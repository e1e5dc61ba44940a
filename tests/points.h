/* SPDX-License-Identifier: Apache-2.0 */
/* Points out of "name=value name=value", for tests of the real variables. */
#ifndef FS_POINTS_H
#define FS_POINTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "harness/err.h"
#include "harness/probe.h"
#include "stages/path.h"

/* Sets them over what is there; fails the test when a value is not legal. */
static inline void point_set(struct point *pt, const char *text)
{
	char copy[512], *at = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&at, " "))) {
		char *value = strchr(word, '=');

		if (!*word)
			continue;
		assert_non_null(value);
		*value++ = 0;
		if (fs_point_set(pt, word, value))
			fail_msg("%s=%s: %s", word, value, fs_reason());
	}
}

static inline void point_of(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_path);
	point_set(pt, text);
	fs_point_id(pt);
}

/* Fails the test when the point is legal on that machine, or is refused in other words; how it was refused. */
static inline int point_refused(const struct point *pt, const struct machine *m, const char *says)
{
	char why[256] = "", text[512];
	int rc = pt->probe->check(pt, m, why, sizeof(why));

	if (!rc || !strstr(why, says))
		fail_msg("%s: \"%s\"; expected \"%s\"", fs_point_text(pt, text, sizeof(text)), why, says);
	return rc;
}

/* Runs the point; fails the test unless it ends with -code and with words that hold both. fs_reason() has them after. */
static inline void point_fails(const struct point *pt, int code, const char *says, const char *more)
{
	struct rows rs;
	char text[512];
	int rc;

	rows_init(&rs);
	fs_reason_clear();
	rc = pt->probe->run(pt, &rs);
	rows_free(&rs);
	if (rc != -code || !strstr(fs_reason(), says) || !strstr(fs_reason(), more))
		fail_msg("%s: %d \"%s\", should be %d and say \"%s\", \"%s\"", fs_point_text(pt, text, sizeof(text)), rc, fs_reason(), -code, says, more);
}

static inline const struct row *row_of(const struct rows *rs, const char *stage, const char *interval, const char *metric)
{
	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(rs->row[i].stage, stage) && !strcmp(rs->row[i].interval, interval) &&
		    !strcmp(rs->row[i].metric, metric))
			return &rs->row[i];
	return NULL;
}

#endif
