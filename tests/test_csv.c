/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: what is written to a CSV file is what is read back. Any text, every
 * double to its last bit under any locale, missing numbers as empty cells, and
 * in each row as many cells as the header names.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <locale.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/err.h"
#include "harness/file.h"
#include "tests/random.h"

#define NCOLUMNS 34

static char text[65536], cells_buf[65536];
static char *cells[64];
static uint64_t seed = 1;

static uint64_t draw(void) { return draw_next(&seed); }

/* A stream over `text`: for writing from its start, or for reading `len`. */
static FILE *text_write(void)
{
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	return f;
}

static int text_read(size_t len, int max)
{
	FILE *f = fmemopen(text, len, "r");
	int n;

	assert_non_null(f);
	n = csv_read(f, cells_buf, sizeof(cells_buf), cells, max);
	if (n > 0 && n != max)
		assert_int_equal(csv_read(f, cells_buf + 60000, 100, cells + 63, 1), 0);
	fclose(f);
	return n;
}

static int parse(const char *s, int max)
{
	strcpy(text, s);
	return text_read(strlen(s), max);
}

static void texts_survive(void **state)
{
	static const char *const nasty[] = {
		"", "plain", "a,b", "say \"so\"", "two\nlines", "cr\rlf\r\n", "\r", "\"", ",", "\n",
		"\"\"", " spaces ", "\xc3\xa9", "=1+1", "a\"", "\"a", "tab\t",
	};
	const int n = sizeof(nasty) / sizeof(nasty[0]);
	FILE *f = text_write();
	long len;

	(void)state;
	for (int i = 0; i < n; i++)
		csv_text(f, i == 0, nasty[i]);
	csv_end(f);
	len = ftell(f);
	fclose(f);
	assert_int_equal(text_read((size_t)len, 64), n);
	for (int i = 0; i < n; i++)
		assert_string_equal(cells[i], nasty[i]);
	/* control: unquoted, the same texts make another record */
	assert_int_equal(parse("a,b,two\nlines\n", 3), 3);
	assert_string_equal(cells[2], "two");
	/* a text that needs no quotes gets none */
	assert_int_equal(parse("plain, spaces ,\n", 64), 3);
}

static void reader_is_strict(void **state)
{
	(void)state;
	assert_int_equal(parse("a,b\r\n", 64), 2); /* CRLF */
	assert_string_equal(cells[1], "b");
	assert_int_equal(parse("a,\"b\"", 64), 2); /* no last line end */
	assert_int_equal(parse("a,", 64), 2);
	assert_int_equal(parse("\n", 64), 1);
	assert_int_equal(parse("a\"b\n", 64), -EINVAL);
	assert_int_equal(parse("\"a\"b\n", 64), -EINVAL);
	assert_int_equal(parse("a\rb\n", 64), -EINVAL);
	assert_int_equal(parse("\"a,b\n", 64), -EINVAL);
	assert_int_equal(parse("a,b,c\n", 2), -E2BIG);
	memcpy(text, "a\0b\n", 4);
	assert_int_equal(text_read(4, 64), -EINVAL);
	for (int len = 0; len < 5; len++) { /* no byte beyond the buffer */
		FILE *f = fmemopen((void *)(uintptr_t)"ab,cd\n", 6, "r");
		char *small = malloc((size_t)len + 1);

		assert_int_equal(csv_read(f, small, (size_t)len, cells, 64), -E2BIG);
		free(small);
		fclose(f);
	}
}

static size_t number(double x)
{
	FILE *f = text_write();
	long len;

	csv_num(f, 1, x);
	len = ftell(f);
	fclose(f);
	text[len] = '\0';
	return (size_t)len;
}

static void doubles_survive(void **state)
{
	static const struct { double x; const char *s; } shortest[] = {
		{ 0.1, "0.1" }, { 1123.5, "1123.5" }, { 3, "3" }, { -2.5, "-2.5" }, { 0, "0" },
		{ 0.1 + 0.2, "0.30000000000000004" }, { 1e18, "1e+18" }, { 123456789012, "123456789012" },
		{ NAN, "" }, { INFINITY, "" }, { -INFINITY, "" },
	};
	int lost = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(shortest) / sizeof(shortest[0]); i++) {
		number(shortest[i].x);
		assert_string_equal(text, shortest[i].s);
	}
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = draw(), back;
		char short_text[40];
		double x, y;

		memcpy(&x, &bits, sizeof(x));
		if (!isfinite(x))
			continue;
		assert_true(number(x) <= 24);
		y = strtod(text, NULL);
		memcpy(&back, &y, sizeof(back));
		assert_true(back == bits);
		snprintf(short_text, sizeof(short_text), "%.15g", x);
		lost += strtod(short_text, NULL) != x;
	}
	assert_true(lost > 1000); /* control: 15 digits are not enough */
}

/* A locale with a decimal comma: one that is installed, or one made here. */
static int comma_locale(void)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR" };
	char dir[] = "/tmp/fivestage-locale.XXXXXX", cmd[200];
	int found;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (setlocale(LC_ALL, names[i]))
			return 1;
	if (!mkdtemp(dir))
		return 0;
	snprintf(cmd, sizeof(cmd), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>%s/log", dir, dir);
	found = system(cmd) == 0 && setenv("LOCPATH", dir, 1) == 0 && setlocale(LC_ALL, names[0]);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) == 0 && found;
}

static void locale_changes_nothing(void **state)
{
	char control[40];

	(void)state;
	if (!comma_locale()) {
		print_message("no locale with a decimal comma here\n");
		skip();
	}
	number(1234567.25);
	snprintf(control, sizeof(control), "%g", 0.5);
	assert_string_equal(text, "1234567.25");
	number(0.1 + 0.2);
	assert_string_equal(text, "0.30000000000000004");
	assert_string_equal(control, "0,5"); /* control: the locale is in force */
	setlocale(LC_ALL, "C");
}

static void rows_have_the_headers_cells(void **state)
{
	static const char *const words[] = { "", "-", "a,b", "x\ny", "\"q\"", "plain", NULL };
	struct rows rs;
	int columns;

	(void)state;
	assert_int_equal(columns = parse(fs_summary_header, 64), NCOLUMNS);
	assert_string_equal(cells[0], "schema");
	assert_string_equal(cells[12], "size_b");
	assert_string_equal(cells[18], "n");
	assert_string_equal(cells[33], "reason");
	rows_init(&rs);
	for (int i = 0; i < 2000; i++) {
		const char *w[9];
		struct row *r = rows_add(&rs);
		FILE *f = text_write();
		long len;

		for (int k = 0; k < 9; k++)
			w[k] = words[draw() % 7];
		struct row_context c = { w[0], (int)draw(), (int)draw(), (long long)draw(), w[1], w[2],
					 w[3], w[4], w[5], w[6], w[7], (long long)draw() };
		if (draw() % 2)
			summary_one(&r->s, (double)draw() * 1e-7);
		snprintf(r->reason, sizeof(r->reason), "%s", w[8] ? w[8] : "");
		r->status = (enum fs_status)(draw() % 4);
		summary_row_write(f, &c, r);
		len = ftell(f);
		fclose(f);
		assert_int_equal(text_read((size_t)len, 64), columns);
		assert_string_equal(cells[0], "1");
		assert_string_equal(cells[5], w[1] ? w[1] : "");
		assert_string_equal(cells[33], r->reason);
		assert_string_equal(cells[31], fs_status_names[r->status]);
		assert_string_equal(cells[20], ""); /* ci_lo */
		assert_true(r->s.n || (!*cells[18] && !*cells[19]));
	}
	rows_free(&rs);
}

static void rows_and_facts_are_kept(void **state)
{
	char name[32];
	struct rows rs;
	struct row *r;

	(void)state;
	rows_init(&rs);
	for (int i = 0; i < 1000; i++) {
		r = rows_add(&rs);
		assert_non_null(r);
		assert_true(r->status == FS_OK && r->s.n == 0 && isnan(r->s.mean));
		assert_string_equal(r->origin, "measured");
		r->s.n = (uint64_t)i;
	}
	assert_true(rs.n == 1000 && rs.row[0].s.n == 0 && rs.row[999].s.n == 999);
	rows_found(&rs, "clock", "%d ns", 32);
	rows_found(&rs, "clock", "%d ns", 1);
	assert_true(rs.nfound == 1);
	assert_string_equal(rs.found[0].text, "1 ns");
	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "fact%d", i);
		rows_found(&rs, name, "x");
	}
	assert_int_equal(rs.nfound, 64); /* clock, 62 facts, and what was dropped */
	assert_string_equal(rs.found[62].name, "fact61");
	assert_string_equal(rs.found[63].name, "facts-dropped");
	assert_string_equal(rs.found[63].text, "8, first fact62");
	rows_found(&rs, "clock", "again"); /* control: what stands is still replaced */
	assert_string_equal(rs.found[0].text, "again");
	rows_free(&rs);
	assert_true(rs.row == NULL && rs.n == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_survive),
		cmocka_unit_test(reader_is_strict),
		cmocka_unit_test(doubles_survive),
		cmocka_unit_test(locale_changes_nothing),
		cmocka_unit_test(rows_have_the_headers_cells),
		cmocka_unit_test(rows_and_facts_are_kept),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
