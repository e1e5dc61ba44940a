/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terminals by their environment. COLUMNS stands before the kernel's answer,
 * since who sets it means it; a COLUMNS that is no sensible number is as none.
 */
#include "harness/term.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 20      /* below, a line holds nothing */
#define WIDTH_MAX 1000

static int columns_asked(void)
{
	const char *text = getenv("COLUMNS");
	char *end;
	long n;

	if (!text || *text < '0' || *text > '9')
		return 0;
	n = strtol(text, &end, 10);
	if (*end || n < 1)
		return 0;
	return n < WIDTH_MIN ? WIDTH_MIN : n > WIDTH_MAX ? WIDTH_MAX : (int)n;
}

static int columns_of(int fd)
{
	struct winsize ws;

	if (ioctl(fd, TIOCGWINSZ, &ws) || ws.ws_col == 0)
		return WIDTH_DEFAULT;
	return ws.ws_col < WIDTH_MIN ? WIDTH_MIN : ws.ws_col;
}

void term_look(int fd, struct term *t)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	int is_tty = isatty(fd);

	t->tty = is_tty && term && *term && strcmp(term, "dumb");
	t->colour = t->tty && !(no_color && *no_color);
	t->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	t->width = columns_asked();
	if (!t->width && is_tty)
		t->width = columns_of(fd);
}

int term_columns(const struct term *t, const char *text)
{
	int n = 0;

	if (!t->utf8)
		return (int)strlen(text);
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void term_wrap(FILE *f, const char *text, int at, int indent, int width)
{
	int fresh = 1; /* no word on this line yet */

	while (*text) {
		size_t blanks = strspn(text, " "), len;
		int columns = 0;

		if (text[blanks] == '\n') {
			fputc('\n', f);
			text += blanks + 1;
			if (*text && *text != '\n')
				fprintf(f, "%*s", indent, "");
			at = indent;
			fresh = 1;
			continue;
		}
		text += blanks;
		len = strcspn(text, " \n");
		if (!len)
			break;
		for (size_t i = 0; i < len; i++)
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (!fresh && width && at + 1 + columns > width) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
			fresh = 1;
		}
		fprintf(f, "%s%.*s", fresh ? "" : " ", (int)len, text);
		at += columns + !fresh;
		fresh = 0;
		text += len;
	}
	fputc('\n', f);
}
