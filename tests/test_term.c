/* SPDX-License-Identifier: Apache-2.0 */
/* Text is broken at words and only there; what can be shown follows the environment. */
#include "harness/term.h"
#include "tests/fake_tables.h"
#include <locale.h>

static char *wrapped(const char *text, int at, int indent, int width)
{
	static char buf[1024];
	FILE *f = fmemopen(buf, sizeof buf, "w");

	term_wrap(f, text, at, indent, width);
	fclose(f);
	return buf;
}

static void words_are_kept_whole(void **state)
{
	(void)state;
	assert_string_equal(wrapped("one two three", 0, 2, 8), "one two\n  three\n");
	assert_string_equal(wrapped("one two three", 0, 2, 0), "one two three\n");
	assert_string_equal(wrapped("one two", 5, 2, 8), "one\n  two\n");
	assert_string_equal(wrapped("a-word-that-is-too-long it", 0, 1, 5), "a-word-that-is-too-long\n it\n");
	assert_string_equal(wrapped("a\n\nb", 0, 0, 10), "a\n\nb\n");
	assert_string_equal(wrapped("", 0, 0, 10), "\n");
	assert_string_equal(wrapped("\xc3\xa4\xc3\xa4\xc3\xa4 b", 0, 0, 5), "\xc3\xa4\xc3\xa4\xc3\xa4 b\n");
}

static void no_line_is_too_long(void **state)
{
	const char *text = "It was found that some of them were longer than others, by a bit or two.";

	(void)state;
	for (int width = 12; width < 90; width++) {
		int column = 0;

		for (const char *p = wrapped(text, 0, 3, width); *p; p++) {
			column = *p == '\n' ? 0 : column + 1;
			assert_true(column <= width);
		}
	}
}

static void look(struct term *t, const char *columns, const char *locale)
{
	if (columns)
		setenv("COLUMNS", columns, 1);
	else
		unsetenv("COLUMNS");
	setlocale(LC_CTYPE, locale);
	term_look(STDIN_FILENO, t); /* no terminal under a test */
}

static void environment(void **state)
{
	struct term t;

	(void)state;
	look(&t, "100", "C");
	assert_int_equal(t.width, 100);
	assert_int_equal(t.utf8, 0);
	assert_int_equal(term_columns(&t, "\xc3\xa4"), 2);
	look(&t, "3", "C");
	assert_int_equal(t.width, 20);
	look(&t, "99999999999999999999", "C");
	assert_int_equal(t.width, 1000);
	look(&t, "wide", "C.UTF-8");
	assert_int_equal(t.width, isatty(STDIN_FILENO) ? t.width : 0);
	if (t.utf8)
		assert_int_equal(term_columns(&t, "\xc3\xa4"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_kept_whole),
		cmocka_unit_test(no_line_is_too_long),
		cmocka_unit_test(environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
