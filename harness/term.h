/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the other end of stdout or stderr can show. Nobody has to ask for
 * colours, widths or characters anywhere else.
 */
#ifndef FS_TERM_H
#define FS_TERM_H

#include <stdio.h>

struct term {
	int tty;     /* a terminal whose cursor can be moved (TERM is set and not dumb) */
	int colour;  /* a tty, and NO_COLOR is empty or not set */
	int utf8;    /* the locale's characters are UTF-8 (after setlocale) */
	int width;   /* columns: COLUMNS, else the terminal's, else 80; 0: not a terminal
	              * and no COLUMNS, so nothing has to be cut or wrapped */
};
void term_look(int fd, struct term *t);

/* Columns that a text takes: its characters, taken as UTF-8 or as bytes. */
int term_columns(const struct term *t, const char *text);

/*
 * Prints `text` word by word and ends the line. The cursor stands in column
 * `at`; lines that follow start at `indent`. A word that doesn't fit into
 * `width` goes to the next line (0: never), one that is longer than a line
 * stays whole. "\n" in the text is a line break.
 */
void term_wrap(FILE *f, const char *text, int at, int indent, int width);

#endif
