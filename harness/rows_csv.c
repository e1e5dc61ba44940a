/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points/ID.REP.csv read back into rows. What it was written from is known to
 * the last cell, so whatever differs is an error: such files are whole, and one
 * that isn't was changed by somebody.
 */
#include "harness/file.h"

#include "harness/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX 8192
#define CELLS_MAX 64

/* The cells in the order of fs_summary_header. */
enum {
	C_SCHEMA, C_POINT, C_REP, C_SEQ, C_T_START, C_EXPERIMENT, C_PROBE, C_VARIED, C_VALUE, C_NIC,
	C_ISSUER, C_SUBMITTER, C_SIZE, C_STAGE, C_INTERVAL, C_LINK, C_METRIC, C_UNIT, C_N, C_MEAN,
	C_CI_LO, C_CI_HI, C_MIN, C_P50, C_P90, C_P99, C_P999, C_MAX, C_MAD, C_ORIGIN,
	C_ORDER_CLASS, C_STATUS, C_REASON_CODE, C_REASON, CELLS
};

struct reader {
	FILE *f;
	const char *path;
	int line;
	char buf[RECORD_MAX], first[3][256]; /* experiment, varied, value of the first row */
	char *cell[CELLS_MAX];
};

static int wrong(const struct reader *r, const char *what)
{
	return fs_reason_set(EPROTO, "%s:%d: %s", r->path, r->line, what);
}

/* A whole number of its cell; an empty one is `none`. */
static int integer(struct reader *r, int c, long long none, long long *out)
{
	char *end;

	*out = none;
	if (!*r->cell[c])
		return 0;
	errno = 0;
	*out = strtoll(r->cell[c], &end, 10);
	return *end || errno ? wrong(r, "a cell that should be a whole number isn't one") : 0;
}

static int real(struct reader *r, int c, double *out)
{
	char *end;

	*out = NAN;
	if (!*r->cell[c])
		return 0;
	*out = strtod(r->cell[c], &end);
	return *end || !isfinite(*out) ? wrong(r, "a cell that should be a number isn't one") : 0;
}

static int numbers(struct reader *r, struct row *row)
{
	double *const to[] = {
		&row->s.mean, &row->s.ci_lo, &row->s.ci_hi, &row->s.min, &row->s.p50, &row->s.p90,
		&row->s.p99, &row->s.p999, &row->s.max, &row->s.mad,
	};
	long long n;
	int rc = integer(r, C_N, 0, &n);

	row->s.n = (uint64_t)n;
	for (int i = 0; i < C_MAD - C_MEAN + 1 && !rc; i++)
		rc = real(r, C_MEAN + i, to[i]);
	return rc;
}

static int texts(struct reader *r, struct row *row)
{
	const struct { int cell; char *to; size_t len; } t[] = {
		{ C_STAGE, row->stage, sizeof(row->stage) },
		{ C_INTERVAL, row->interval, sizeof(row->interval) },
		{ C_LINK, row->link, sizeof(row->link) },
		{ C_METRIC, row->metric, sizeof(row->metric) },
		{ C_UNIT, row->unit, sizeof(row->unit) },
		{ C_ORIGIN, row->origin, sizeof(row->origin) },
		{ C_ORDER_CLASS, row->order_class, sizeof(row->order_class) },
		{ C_REASON_CODE, row->reason_code, sizeof(row->reason_code) },
		{ C_REASON, row->reason, sizeof(row->reason) },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (strlen(r->cell[t[i].cell]) >= t[i].len)
			return wrong(r, "a text that is longer than any that was written");
		strcpy(t[i].to, r->cell[t[i].cell]);
	}
	for (int s = FS_OK; s <= FS_FAILED; s++)
		if (!strcmp(r->cell[C_STATUS], fs_status_names[s])) {
			row->status = (enum fs_status)s;
			return 0;
		}
	return wrong(r, "no such status");
}

/* Is this record one of the first experiment's? The others repeat the same. */
static int of_the_first(struct reader *r)
{
	static const int key[] = { C_EXPERIMENT, C_VARIED, C_VALUE };
	int same = 1;

	for (int i = 0; i < 3; i++) {
		if (r->line == 2)
			snprintf(r->first[i], sizeof(r->first[i]), "%s", r->cell[key[i]]);
		same &= !strncmp(r->first[i], r->cell[key[i]], sizeof(r->first[i]) - 1);
	}
	return same;
}

static int record(struct reader *r, const char *point, int rep, struct rows *rs, int *seq)
{
	long long schema, its_rep, its_seq;
	struct row *row;
	int rc = integer(r, C_SCHEMA, 0, &schema);

	if (!rc)
		rc = integer(r, C_REP, 0, &its_rep);
	if (!rc)
		rc = integer(r, C_SEQ, 0, &its_seq);
	if (rc)
		return rc;
	if (schema != FS_SCHEMA || its_rep != rep || strcmp(r->cell[C_POINT], point))
		return wrong(r, "a row of another schema, point or repetition than the file's name says");
	*seq = (int)its_seq;
	if (!of_the_first(r))
		return 0;
	row = rows_add(rs);
	if (!row)
		return -ENOMEM;
	rc = texts(r, row);
	return rc ? rc : numbers(r, row);
}

/* The header as it was written, to the letter. */
static int header(struct reader *r)
{
	size_t len = strlen(fs_summary_header);

	r->line = 1;
	if (!fgets(r->buf, sizeof(r->buf), r->f) || strncmp(r->buf, fs_summary_header, len) ||
	    strcmp(r->buf + len, "\n"))
		return wrong(r, "not the columns that this program writes");
	return 0;
}

int summary_rows_read(const char *path, const char *point, int rep, struct rows *rs, int *seq)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc, n;

	if (!r)
		return fs_fail(ENOMEM, "out of memory");
	r->path = path;
	r->f = fopen(path, "re");
	if (!r->f) {
		rc = errno == ENOENT ? -ENOENT : fs_reason_set(errno, "%s: %s", path, strerror(errno));
		free(r);
		return rc;
	}
	rc = header(r);
	while (!rc) {
		r->line++;
		n = csv_read(r->f, r->buf, sizeof(r->buf), r->cell, CELLS_MAX);
		if (n == 0)
			break;
		if (n != CELLS)
			rc = wrong(r, n < 0 ? "not CSV as this program writes it" : "too few or too many cells");
		else
			rc = record(r, point, rep, rs, seq);
	}
	/* csv_read takes a last line without its end; nothing here was written so. */
	if (!rc && (fseek(r->f, -1, SEEK_END) || getc(r->f) != '\n'))
		rc = wrong(r, "the last line is cut");
	if (!rc && !rs->n)
		rc = wrong(r, "there is no row");
	fclose(r->f);
	free(r);
	return rc;
}
