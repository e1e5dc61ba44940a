/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libinih splits sections and assignments. But it passes no line number,
 * merges sections of the same name, cuts names at 49 and lines at 199
 * characters, joins an indented line to the one before it, and calls none of
 * that a fault. So it reads through next_line(), which
 *
 * 1. counts lines and refuses what would be cut, merged or misread;
 * 2. keeps the text of each value and gives libinih "NAME = @LINE" in its
 *    place, which is always short; on_assignment() checks that the same
 *    stand-in comes back and takes the text that was kept.
 *
 * Comments: lines that begin with ; or #, and what follows a blank and a ; on
 * any line. Blanks around lines, names and values are dropped, also CR.
 */
#include "harness/err.h"
#include "harness/inifile.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNAWAY_LINE (1 << 20)     /* no text has such a line: stop reading */

struct seen { char name[INI_NAME_MAX + 1]; int line; };

struct reader {
	const char *path;
	FILE *f;
	struct faults *faults;
	int (*section)(void *user, struct ini_section *s);
	void *user;
	int rc;                  /* negative: end here */
	int line;
	char text[INI_LINE_MAX + 1];
	const char *value;       /* in text: what the stand-in stands for */
	struct ini_section sec;  /* the one being read; line 0: none yet */
	int lost;                /* its header was refused: its keys are only looked at */
	void *seen;              /* of struct seen, a tree: a file may have any number of sections */
};

static int stopped(const struct reader *r)
{
	return r->rc || r->faults->n >= PLAN_FAULTS_MAX;
}

struct ini_key *ini_section_key(const struct ini_section *s, const char *name)
{
	for (int i = 0; i < s->n; i++)
		if (!strcmp(s->key[i].name, name))
			return &s->key[i];
	return NULL;
}

void ini_section_free(struct ini_section *s)
{
	for (int i = 0; i < s->n; i++) {
		free(s->key[i].name);
		free(s->key[i].text);
	}
	free(s->key);
	memset(s, 0, sizeof(*s));
}

/* A fault in the line that was read last. */
static void __attribute__((format(printf, 2, 3))) fault(struct reader *r, const char *fmt, ...)
{
	char where[INI_LINE_MAX + 16], words[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%s:%d", r->path, r->line);
	plan_fault(r->faults, where, "%s", words);
}

/* Reads one line into r->text; 0 at the end. A line that is refused is
 * reported and comes out empty. */
static int line_read(struct reader *r)
{
	int n = 0, nul = 0, ch;

	errno = 0;
	while ((ch = getc_unlocked(r->f)) != EOF && ch != '\n' && n < RUNAWAY_LINE) {
		nul |= !ch;
		if (n < INI_LINE_MAX)
			r->text[n] = (char)ch;
		n++;
	}
	if (ferror(r->f)) {
		int code = errno ? errno : EIO;

		r->rc = fs_fail(code, "%s: %s", r->path, strerror(code));
		return 0;
	}
	if (ch == EOF && !n)
		return 0;
	r->line++;
	r->text[n < INI_LINE_MAX ? n : INI_LINE_MAX] = 0;
	if (n > INI_LINE_MAX)
		fault(r, "the line is over %d characters", INI_LINE_MAX);
	if (nul)
		fault(r, "the line has a NUL byte: this is no text");
	if (n == RUNAWAY_LINE)
		r->rc = -EINVAL;
	if (n > INI_LINE_MAX || nul)
		r->text[0] = 0;
	return 1;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static char *cut_comment(char *s)
{
	if (*s == ';' || *s == '#')
		*s = 0;
	for (char *q = s; *q; q++)
		if (isspace((unsigned char)q[0]) && q[1] == ';') {
			*q = 0;
			break;
		}
	return trim(s);
}

static int is_name(const char *s)
{
	size_t n = strlen(s);

	for (const char *q = s; *q; q++)
		if (!isalnum((unsigned char)*q) && !strchr("_-.", *q))
			return 0;
	return n > 0 && n <= INI_NAME_MAX;
}

static void section_end(struct reader *r)
{
	if (r->sec.line && !r->lost && !stopped(r))
		r->rc = r->section(r->user, &r->sec);
	ini_section_free(&r->sec);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct seen *)a)->name, ((const struct seen *)b)->name);
}

static int name_seen(struct reader *r, const char *name)
{
	struct seen *s = malloc(sizeof(*s)), **known;

	if (s) {
		snprintf(s->name, sizeof(s->name), "%s", name);
		s->line = r->line;
	}
	known = s ? tsearch(s, &r->seen, by_name) : NULL;
	if (known && *known == s)
		return 0;
	if (known)
		fault(r, "section [%s] stands already in line %d", name, (*known)->line);
	else
		r->rc = fs_fail(ENOMEM, "out of memory");
	free(s);
	return 1;
}

/* "[NAME]"; returns whether the section may be read. */
static int section_line(struct reader *r, char *s)
{
	char *name = s + 1, *end = s + strlen(s) - 1;

	section_end(r);
	if (stopped(r))
		return 0;
	r->sec.line = r->line;
	r->lost = 1;
	if (*end == ']')
		*end = 0;
	else
		name = end + 1;
	name = trim(name);
	if (!is_name(name)) {
		fault(r, "this is no section; legal: [NAME] of letters, digits, '_', '-' and '.', at "
		      "most %d", INI_NAME_MAX);
		return 0;
	}
	if (name_seen(r, name))
		return 0;
	snprintf(r->sec.name, sizeof(r->sec.name), "%s", name);
	r->lost = 0;
	return 1;
}

/* "NAME = VALUE"; returns NAME, with r->value set, or NULL. */
static char *assignment_line(struct reader *r, char *s)
{
	char *eq = strchr(s, '='), *name;
	const struct ini_key *twin;

	if (!eq) {
		fault(r, "\"%.60s\" is no assignment; legal: NAME = VALUE, [SECTION] or a comment", s);
		return NULL;
	}
	*eq = 0;
	name = trim(s);
	r->value = trim(eq + 1);
	if (!is_name(name))
		fault(r, "\"%.60s\" is no name; legal: letters, digits, '_', '-' and '.', at most %d",
		      name, INI_NAME_MAX);
	else if (!*r->value)
		fault(r, "%s has no value", name);
	else if (!r->sec.line)
		fault(r, "%s stands before any section; legal: behind [NAME]", name);
	else if ((twin = ini_section_key(&r->sec, name)))
		fault(r, "%s stands already in line %d", name, twin->line);
	else if (!r->lost)
		return name;
	return NULL;
}

/* libinih's reader: gives it the next line that is worth its while. */
static char *next_line(char *str, int num, void *stream)
{
	struct reader *r = stream;

	while (!stopped(r) && line_read(r)) {
		char *s = r->text, *name;

		if (r->line == 1 && !strncmp(s, "\xef\xbb\xbf", 3))
			s += 3; /* some editors begin a file so */
		s = cut_comment(trim(s));
		if (!*s)
			continue;
		if (*s == '[') {
			if (!section_line(r, s))
				continue;
			snprintf(str, (size_t)num, "[%s]\n", r->sec.name);
			return str;
		}
		name = assignment_line(r, s);
		if (!name)
			continue;
		snprintf(str, (size_t)num, "%s = @%d\n", name, r->line);
		return str;
	}
	return NULL;
}

static int on_assignment(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	struct ini_section *s = &r->sec;
	struct ini_key *k;
	char expect[16];

	snprintf(expect, sizeof(expect), "@%d", r->line);
	if (strcmp(section, s->name) || strcmp(value, expect)) {
		fault(r, "libinih reads something else here: [%s] %s = %s", section, name, value);
		return 0;
	}
	k = realloc(s->key, ((size_t)s->n + 1) * sizeof(*k));
	if (!k) {
		r->rc = fs_fail(ENOMEM, "out of memory");
		return 0;
	}
	s->key = k;
	k += s->n++;
	memset(k, 0, sizeof(*k));
	k->line = r->line;
	if (text_replace(&k->name, name) || text_replace(&k->text, r->value))
		r->rc = -ENOMEM;
	return !r->rc;
}

int inifile_read(const char *path, struct faults *f,
		 int (*section)(void *user, struct ini_section *s), void *user)
{
	struct reader r = { .path = path, .faults = f, .section = section, .user = user };
	int before = f->n, bad;

	r.f = fopen(path, "re");
	if (!r.f)
		return fs_fail(errno, "%s: %s", path, strerror(errno));
	bad = ini_parse_stream(next_line, &r, on_assignment, &r);
	if (bad && !r.rc && f->n == before)
		fault(&r, "libinih refuses the file");
	section_end(&r);
	ini_section_free(&r.sec);
	tdestroy(r.seen, free);
	fclose(r.f);
	return r.rc;
}
