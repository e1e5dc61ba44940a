/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a run is, on stderr, never on stdout, where results go.
 *
 * On a terminal one line is rewritten, cut to its width so that it never
 * wraps. Elsewhere (a log, a CI job, a dumb terminal) there are plain lines,
 * one a second at most, and always the last. No colour is used, so NO_COLOR
 * has nothing to turn off. The time left assumes that the steps to come take
 * as long as those done.
 *
 *     [12/48] 25 %  ETA 0:13  what
 */
#include "harness/progress.h"

#include "harness/term.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_INTERVAL_NS 1000000000ULL

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000ULL + (unsigned long long)ts.tv_nsec;
}

/* Cuts to `columns` characters, not in the middle of one (UTF-8); a control
 * character would move the cursor, so it becomes a space. */
static void line_fit(char *line, int columns)
{
	int used = 0;

	for (; *line; line++) {
		if (((unsigned char)*line & 0xc0) != 0x80 && used++ == columns) {
			*line = '\0';
			return;
		}
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			*line = ' ';
	}
}

static void format_left(char *out, size_t len, unsigned long long s)
{
	if (s >= 3600)
		snprintf(out, len, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(out, len, "%llu:%02llu", s / 60, s % 60);
}

static void format_line(char *out, size_t len, const struct progress *p,
			unsigned long long now, const char *what)
{
	int left = p->total > p->done ? p->total - p->done : 0;
	int percent = 100;
	char eta[32] = "-";

	if (left)
		percent = (int)(100LL * p->done / p->total);
	if (p->done > 0) {
		double per_step_s = (double)(now - p->t0_ns) * 1e-9 / p->done;

		format_left(eta, sizeof(eta), (unsigned long long)(per_step_s * left + 0.5));
	}
	snprintf(out, len, "[%d/%d] %d %%  ETA %s  %s", p->done, p->total, percent, eta,
		 what ? what : "");
}

/* One write, so that it doesn't mix with the lines of others. */
static void put_line(const struct progress *p, char *line)
{
	char out[1100];
	int len;

	if (p->tty) {
		struct term t; /* looked at anew: windows are resized */

		term_look(STDERR_FILENO, &t);
		/* One column stays free: writing the last one wraps on some. */
		line_fit(line, t.width - 1);
		len = snprintf(out, sizeof(out), "\r%s\033[K", line);
	} else {
		line_fit(line, (int)sizeof(out));
		len = snprintf(out, sizeof(out), "%s\n", line);
	}
	if (len > 0 && write(STDERR_FILENO, out, (size_t)len) < 0)
		return; /* a closed stderr must not end a run */
}

void progress_begin(struct progress *p, int total)
{
	struct term t;

	term_look(STDERR_FILENO, &t);
	memset(p, 0, sizeof(*p));
	p->total = total;
	p->tty = t.tty;
	p->t0_ns = now_ns();
}

void progress_step(struct progress *p, const char *what)
{
	unsigned long long now = now_ns();
	char line[1024];

	p->done++;
	if (!p->tty && p->done < p->total && p->last_ns && now - p->last_ns < LINE_INTERVAL_NS)
		return;
	p->last_ns = now;
	format_line(line, sizeof(line), p, now, what);
	put_line(p, line);
}

void progress_end(struct progress *p)
{
	char line[1024];

	if (p->done < p->total) {
		format_line(line, sizeof(line), p, now_ns(), "stopped");
		put_line(p, line);
		p->last_ns = now_ns();
	}
	/* What comes next starts on a line of its own. */
	if (p->tty && p->last_ns && write(STDERR_FILENO, "\n", 1) < 0)
		return;
}
