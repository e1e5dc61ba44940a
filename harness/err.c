/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Last words of each thread, and lines to stderr.
 *
 * The words live in a fixed buffer of the thread, so that recording a failure
 * can't fail itself; longer ones are cut and end in "...". A line goes out in
 * one write, so that lines of several threads, and of children that share the
 * terminal, don't interleave. errno is left as it was found: callers often
 * read it after they have logged.
 */
#include "harness/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REASON_MAX 1024

static _Thread_local char reason[REASON_MAX];
static atomic_int quiet_flag;

/* One line in one write; only what a signal cut short is written again. */
static void log_line(const char *text)
{
	static const char prefix[] = "fivestage: ";
	char line[sizeof(prefix) + REASON_MAX + 1];
	size_t len, at = 0;

	if (atomic_load_explicit(&quiet_flag, memory_order_relaxed))
		return;
	len = (size_t)snprintf(line, sizeof(line), "%s%s\n", prefix, text);
	while (at < len) {
		ssize_t put = write(STDERR_FILENO, line + at, len - at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return; /* there is nowhere left to say it */
		at += (size_t)put;
	}
}

static void format_words(char *out, const char *fmt, va_list ap)
{
	int len = vsnprintf(out, REASON_MAX, fmt, ap);

	if (len < 0)
		snprintf(out, REASON_MAX, "(reason could not be formatted)");
	else if (len >= REASON_MAX)
		memcpy(out + REASON_MAX - 4, "...", 4);
}

/* Through a local copy: the old reason may be one of the arguments. */
static void reason_vset(const char *fmt, va_list ap)
{
	char words[REASON_MAX];

	format_words(words, fmt, ap);
	memcpy(reason, words, strlen(words) + 1);
}

int fs_fail(int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	reason_vset(fmt, ap);
	va_end(ap);
	log_line(reason);
	errno = saved;
	return -code;
}

int fs_reason_set(int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	reason_vset(fmt, ap);
	va_end(ap);
	errno = saved;
	return -code;
}

const char *fs_reason(void)
{
	return reason;
}

void fs_reason_clear(void)
{
	reason[0] = '\0';
}

void fs_note(const char *fmt, ...)
{
	char words[REASON_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	format_words(words, fmt, ap);
	va_end(ap);
	log_line(words);
	errno = saved;
}

void fs_log_quiet(int quiet)
{
	atomic_store_explicit(&quiet_flag, quiet != 0, memory_order_relaxed);
}

int fs_refuse(int code, char *why, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, len, fmt, ap);
	va_end(ap);
	return -code;
}
