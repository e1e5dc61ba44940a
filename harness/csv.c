/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV after RFC 4180, with LF: a text is quoted when it holds a comma, a quote
 * or a line break, and quotes in it are doubled.
 *
 * Numbers are written the same under every locale: as the shortest of 15, 16
 * or 17 digits that reads back as the same double. What is not finite is a
 * missing number and an empty cell.
 *
 * The reader is strict, since what it reads was written whole: a quote inside
 * a bare cell, text after a closing quote, a bare CR or NUL, and an end of
 * file inside quotes are malformed. It takes CRLF, and a last line without its
 * end. An empty line is one empty cell. -E2BIG also stands for a record that
 * is longer than the buffer; after any error the stream is inside of a record
 * and of no further use.
 *
 * Writers return nothing: errors stay in the stream for outfile_commit to see.
 */
#include "harness/file.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The order in which summary_row_write writes; a test counts both. */
const char fs_summary_header[] =
	"schema,point,rep,seq,t_start_ns,experiment,probe,varied,value,nic,issuer,submitter,size_b,"
	"stage,interval,link,metric,unit,"
	"n,mean,ci_lo,ci_hi,min,p50,p90,p99,p999,max,mad,"
	"origin,order_class,status,reason_code,reason";

/* ---- writing cells ---- */

void csv_text(FILE *f, int first, const char *s)
{
	if (!first)
		fputc(',', f);
	if (!s)
		return;
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

void csv_num(FILE *f, int first, double x)
{
	locale_t c, before;
	char text[40];

	if (!isfinite(x)) {
		csv_text(f, first, "");
		return;
	}
	/* The C library keeps "C" ready made: neither call allocates. */
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	before = uselocale(c);
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	uselocale(before);
	if (c)
		freelocale(c);
	csv_text(f, first, text);
}

void csv_int(FILE *f, int first, long long x)
{
	fprintf(f, first ? "%lld" : ",%lld", x);
}

void csv_end(FILE *f)
{
	fputc('\n', f);
}

/* ---- reading a record ---- */

/*
 * Reads one cell to buf[*at], ends it with a NUL and moves *at past it. Gives
 * the character that ended it, ',', '\n' or EOF, or -errno in *rc.
 */
static int read_cell(FILE *f, char *buf, size_t len, size_t *at, int *rc)
{
	enum { START, BARE, QUOTED, CLOSED } state = START;

	for (;;) {
		int c = getc(f);

		if (c == '\r' && state != QUOTED) {
			c = getc(f);
			if (c != '\n')
				break; /* a bare CR */
		}
		if (state == QUOTED && c == '"') {
			state = CLOSED;
			continue;
		}
		if (state != QUOTED && (c == ',' || c == '\n' || c == EOF)) {
			if (*at >= len) {
				*rc = -E2BIG;
				return EOF;
			}
			buf[(*at)++] = '\0';
			return c;
		}
		if (c == EOF || c == '\0')
			break;
		if (state == CLOSED && c != '"')
			break; /* text after the closing quote */
		if (state == BARE && c == '"')
			break; /* a quote inside a bare cell */
		if (state == START && c == '"') {
			state = QUOTED;
			continue;
		}
		state = state == START || state == BARE ? BARE : QUOTED;
		if (*at >= len) {
			*rc = -E2BIG;
			return EOF;
		}
		buf[(*at)++] = (char)c;
	}
	*rc = ferror(f) ? -EIO : -EINVAL;
	return EOF;
}

int csv_read(FILE *f, char *buf, size_t len, char **cells, int max)
{
	int n = 0, rc = 0, end, c;
	size_t at = 0;

	c = getc(f);
	if (c == EOF)
		return ferror(f) ? -EIO : 0;
	ungetc(c, f);
	do {
		if (n == max)
			return -E2BIG;
		cells[n++] = buf + at;
		end = read_cell(f, buf, len, &at, &rc);
		if (!rc && end == EOF && ferror(f))
			rc = -EIO;
		if (rc)
			return rc;
	} while (end == ',');
	return n;
}

/* ---- summary rows ---- */

/* A number that can't be below `least` when there is one. */
static void int_or_empty(FILE *f, long long x, long long least)
{
	if (x < least)
		csv_text(f, 0, "");
	else
		csv_int(f, 0, x);
}

void summary_row_write(FILE *f, const struct row_context *c, const struct row *r)
{
	const struct summary *s = &r->s;

	csv_int(f, 1, FS_SCHEMA);
	csv_text(f, 0, c->point);
	int_or_empty(f, c->rep, 0);
	int_or_empty(f, c->seq, 0);
	int_or_empty(f, c->t_start_ns, 1); /* 0: a point that never started */
	csv_text(f, 0, c->experiment);
	csv_text(f, 0, c->probe);
	csv_text(f, 0, c->varied);
	csv_text(f, 0, c->value);
	csv_text(f, 0, c->nic);
	csv_text(f, 0, c->issuer);
	csv_text(f, 0, c->submitter);
	int_or_empty(f, c->size_b, 0);

	csv_text(f, 0, r->stage);
	csv_text(f, 0, r->interval);
	csv_text(f, 0, r->link);
	csv_text(f, 0, r->metric);
	csv_text(f, 0, r->unit);

	int_or_empty(f, (long long)s->n, 1);
	csv_num(f, 0, s->mean);
	csv_num(f, 0, s->ci_lo);
	csv_num(f, 0, s->ci_hi);
	csv_num(f, 0, s->min);
	csv_num(f, 0, s->p50);
	csv_num(f, 0, s->p90);
	csv_num(f, 0, s->p99);
	csv_num(f, 0, s->p999);
	csv_num(f, 0, s->max);
	csv_num(f, 0, s->mad);

	csv_text(f, 0, r->origin);
	csv_text(f, 0, r->order_class);
	csv_text(f, 0, r->status <= FS_FAILED ? fs_status_names[r->status] : "failed");
	csv_text(f, 0, r->reason_code);
	csv_text(f, 0, r->reason);
	csv_end(f);
}
