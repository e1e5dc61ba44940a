/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sysfile.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_at(FILE **f, const char *format, va_list at)
{
	char path[PATH_MAX];

	*f = NULL;
	if (vsnprintf(path, sizeof(path), format, at) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	*f = fopen(path, "re"); /* e: children don't inherit it */
	return *f ? 0 : -errno;
}

/* A directory opens, and many a file of a device: that they can't be read is found here. */
static int line_of(FILE *f, char *out, size_t len)
{
	size_t n;
	int next;

	errno = 0;
	if (!fgets(out, (int)len, f))
		return ferror(f) && errno ? -errno : -ENODATA;
	n = strcspn(out, "\n");
	if (!n)
		return -ENODATA;
	if (!out[n] && (next = fgetc(f)) != EOF && next != '\n')
		return -EOVERFLOW;
	out[n] = '\0';
	return 0;
}

static int line_at(char *out, size_t len, const char *path, va_list at)
{
	FILE *f;
	int rc = open_at(&f, path, at);

	if (!rc) {
		rc = line_of(f, out, len);
		fclose(f);
	}
	if (rc)
		out[0] = '\0';
	return rc;
}

int sysfile_line(char *out, size_t len, const char *path, ...)
{
	va_list at;
	int rc;

	va_start(at, path);
	rc = line_at(out, len, path, at);
	va_end(at);
	return rc;
}

int sysfile_number(uint64_t *n, const char *path, ...)
{
	char text[32], *end; /* 20 digits are the most */
	unsigned long long v;
	va_list at;
	int rc;

	va_start(at, path);
	rc = line_at(text, sizeof(text), path, at);
	va_end(at);
	if (rc)
		return rc == -EOVERFLOW ? -EINVAL : rc;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno) /* (it takes blanks and a sign before them) */
		return -EINVAL;
	*n = v;
	return 0;
}

/* -EAGAIN: another line's. */
static int value_in(char *line, const char *key, char *out, size_t len)
{
	size_t klen = strlen(key);
	char *v = line + klen;

	if (strncmp(line, key, klen) || !*v || !strchr(" \t:=", *v))
		return -EAGAIN;
	v += strspn(v, " \t:=\"");
	v[strcspn(v, "\"\n")] = '\0';
	return snprintf(out, len, "%s", v) < (int)len ? 0 : -EOVERFLOW;
}

int sysfile_value(char *out, size_t len, const char *key, const char *path, ...)
{
	char *line = NULL;
	size_t cap = 0;
	va_list at;
	FILE *f;
	int rc;

	va_start(at, path);
	rc = open_at(&f, path, at);
	va_end(at);
	if (f) {
		errno = 0;
		for (rc = -EAGAIN; rc == -EAGAIN && getline(&line, &cap, f) >= 0;)
			rc = value_in(line, key, out, len);
		if (rc == -EAGAIN)
			rc = ferror(f) && errno ? -errno : -ENODATA;
		fclose(f);
	}
	free(line);
	if (rc)
		out[0] = '\0';
	return rc;
}
