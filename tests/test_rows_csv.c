/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read back from points/ID.REP.csv is what was written, to the last bit;
 * what differs in any place from what is written is refused, with the line.
 */
#include "harness/err.h"
#include "harness/file.h"
#include "tests/fake_tables.h"
#include <errno.h>
#include <math.h>

static struct rows make(void)
{
	struct rows rs;
	struct row *r;

	rows_init(&rs);
	for (int i = 0; i < 3; i++) {
		r = rows_add(&rs);
		assert_non_null(r);
		snprintf(r->stage, sizeof r->stage, "issue");
		snprintf(r->metric, sizeof r->metric, "latency");
		snprintf(r->unit, sizeof r->unit, "ns");
		r->s.n = 3u + (unsigned)i;
		r->s.mean = 1.0 / 3 + i;
		r->s.ci_lo = 1e-300;
		r->s.max = 12345678.9;
		r->status = i == 2 ? FS_FAILED : (enum fs_status)i;
		snprintf(r->reason, sizeof r->reason, "%s", i ? "a \"word\", a comma" : "");
	}
	return rs;
}

/* The text of a file with these rows, once for each of two experiments. */
static char *text_of(const struct rows *rs, size_t *len)
{
	struct row_context c = { .point = "0123456789ab", .rep = 2, .seq = 41, .t_start_ns = 5, .probe = "p",
				 .nic = "soft", .issuer = "cpu", .submitter = "gpu", .size_b = -1 };
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	fprintf(f, "%s\n", fs_summary_header);
	for (int e = 0; e < 2; e++) {
		c.experiment = e ? "second" : "first";
		c.varied = e ? "size" : "";
		c.value = e ? "8" : "";
		for (size_t i = 0; i < rs->n; i++)
			summary_row_write(f, &c, &rs->row[i]);
	}
	fclose(f);
	return text;
}

static int read_text(const char *text, size_t len, const char *point, int rep, struct rows *rs, int *seq)
{
	char *path = file_of(text, len);
	int rc;

	rows_init(rs);
	rc = summary_rows_read(path, point, rep, rs, seq);
	unlink(path);
	free(path);
	return rc;
}

static int same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void comes_back(void **state)
{
	struct rows was = make(), is;
	size_t len;
	char *text = text_of(&was, &len);
	int seq = 0;

	(void)state;
	assert_int_equal(read_text(text, len, "0123456789ab", 2, &is, &seq), 0);
	assert_int_equal(seq, 41);
	assert_int_equal(is.n, was.n);
	for (size_t i = 0; i < was.n; i++) {
		const struct row *a = &was.row[i], *b = &is.row[i];

		assert_string_equal(a->stage, b->stage);
		assert_string_equal(a->reason, b->reason);
		assert_string_equal(a->link, b->link);
		assert_int_equal(a->status, b->status);
		assert_int_equal(a->s.n, b->s.n);
		assert_true(same_number(a->s.mean, b->s.mean) && same_number(a->s.ci_lo, b->s.ci_lo) &&
			    same_number(a->s.max, b->s.max) && same_number(a->s.p50, b->s.p50));
	}
	assert_int_equal(rows_worst(&is), FS_FAILED);
	free(text);
	rows_free(&was);
	rows_free(&is);
}

static void every_cut_is_seen(void **state)
{
	struct rows was = make(), is;
	size_t len;
	char *text = text_of(&was, &len);
	int seq, whole_lines = 0;

	(void)state;
	for (size_t n = 0; n < len; n++) {
		int rc = read_text(text, n, "0123456789ab", 2, &is, &seq);

		/* One between two lines leaves a whole file: from that renaming protects. */
		if (!rc)
			whole_lines++;
		else
			assert_int_equal(rc, -EPROTO);
		rows_free(&is);
	}
	assert_int_equal(whole_lines, 5);
	free(text);
	rows_free(&was);
}

static void what_differs_is_refused(void **state)
{
	static const struct { const char *from, *to; } changes[] = {
		{ "schema,point", "schema,points" }, { "\n1,0123456789ab,2,", "\n2,0123456789ab,2," },
		{ ",ok,", ",fine,"}, { ",5,first", ",5,first,first" }, { ",12345678.9,", ",1x,"},
		{ "\n1,0123456789ab,2,", "\n1,0123456789ac,2," }, { "\n1,0123456789ab,2,", "\n1,0123456789ab,3," },
	};
	struct rows was = make(), is;
	size_t len;
	char *text = text_of(&was, &len);
	int seq;

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		char *at = strstr(text, changes[i].from), *bad = NULL;

		assert_non_null(at);
		assert_true(asprintf(&bad, "%.*s%s%s", (int)(at - text), text, changes[i].to,
				     at + strlen(changes[i].from)) > 0);
		assert_int_equal(read_text(bad, strlen(bad), "0123456789ab", 2, &is, &seq), -EPROTO);
		assert_says(fs_reason(), i ? ":2: " : ":1: ");
		rows_free(&is);
		free(bad);
	}
	assert_int_equal(summary_rows_read("/nowhere/at/all", "0123456789ab", 2, &is, &seq), -ENOENT);
	free(text);
	rows_free(&was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(every_cut_is_seen),
		cmocka_unit_test(what_differs_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
