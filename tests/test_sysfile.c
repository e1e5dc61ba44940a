/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: of a small file of the kernel's a line, a number and a value are read as they stand there, or not at all:
 * a file that is missing, empty, something else than was asked for or longer than there is room is refused in
 * its own word, and leaves nothing behind that could be taken for an answer.
 *
 * Controls: each of them beside one that differs in as little as can be and is read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/sysfile.h"

enum { ROOM = 8 };

static char dir[] = "/tmp/fivestage-sysfile-XXXXXX", file[64];

static int make_dir(void **unused)
{
	(void)unused;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/file", dir);
	return 0;
}

static int remove_dir(void **unused)
{
	(void)unused;
	unlink(file);
	return rmdir(dir);
}

/* The file says so; NULL: it is gone. */
static void says(const char *text)
{
	FILE *f;

	unlink(file);
	if (!text)
		return;
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* No call may leave a descriptor open: a campaign makes thousands. */
static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void a_line_is_whole_or_none(void **unused)
{
	static const struct { const char *text; int rc; const char *line; } rows[] = {
		{ "tsc\n", 0, "tsc" }, { "tsc", 0, "tsc" }, { "0-3,8 \nmore\n", 0, "0-3,8 " }, { " \n", 0, " " },
		{ "1234567\n", 0, "1234567" }, { "1234567", 0, "1234567" }, { "1234567\n8", 0, "1234567" },
		{ "12345678\n", -EOVERFLOW, "" }, { "12345678", -EOVERFLOW, "" }, { "0123456789abcdef\n", -EOVERFLOW, "" },
		{ "", -ENODATA, "" }, { "\n", -ENODATA, "" }, { "\ntsc\n", -ENODATA, "" }, { NULL, -ENOENT, "" },
	};
	int fd = next_descriptor();

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char out[ROOM + 1] = "before??";
		int rc;

		out[ROOM] = 'x'; /* behind the room that it has */
		says(rows[i].text);
		rc = sysfile_line(out, ROOM, "%s/%s", dir, "file");
		if (rc != rows[i].rc || strcmp(out, rows[i].line))
			fail_msg("row %zu: %d \"%s\", should be %d \"%s\"", i, rc, out, rows[i].rc, rows[i].line);
		assert_int_equal(out[ROOM], 'x');
	}
	assert_int_equal(next_descriptor(), fd);
}

static void a_number_is_digits_alone(void **unused)
{
	static const struct { const char *text; int rc; uint64_t n; } rows[] = {
		{ "0\n", 0, 0 }, { "2500000\n", 0, 2500000 }, { "4000123", 0, 4000123 }, { "007\n", 0, 7 }, { "5\n6\n", 0, 5 },
		{ "18446744073709551615\n", 0, UINT64_MAX }, { "18446744073709551616\n", -EINVAL, 0 },
		{ "99999999999999999999999\n", -EINVAL, 0 }, { "0000000000000000000000000000000000000001\n", -EINVAL, 0 },
		{ "max\n", -EINVAL, 0 }, { "<unknown>\n", -EINVAL, 0 }, { "-1\n", -EINVAL, 0 }, { "+1\n", -EINVAL, 0 },
		{ " 1\n", -EINVAL, 0 }, { "1 \n", -EINVAL, 0 }, { "2500 MHz\n", -EINVAL, 0 }, { "0x10\n", -EINVAL, 0 },
		{ "1.5\n", -EINVAL, 0 }, { "400000 100000\n", -EINVAL, 0 }, { " \n", -EINVAL, 0 },
		{ "", -ENODATA, 0 }, { "\n", -ENODATA, 0 }, { NULL, -ENOENT, 0 },
	};
	int fd = next_descriptor();

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t n = 4711;
		int rc;

		says(rows[i].text);
		rc = sysfile_number(&n, "%s", file);
		if (rc != rows[i].rc || n != (rc ? 4711 : rows[i].n))
			fail_msg("row %zu: %d %llu, should be %d", i, rc, (unsigned long long)n, rows[i].rc);
	}
	assert_int_equal(next_descriptor(), fd);
}

static void a_value_is_that_of_its_key(void **unused)
{
	static const struct { const char *text; int rc; const char *value; } rows[] = {
		{ "key\t: 12 kB\n", 0, "12 kB" }, { "key=\"a b\"\n", 0, "a b" }, { "key 7", 0, "7" }, { "key:\n", 0, "" },
		{ "keys: 1\nother key: 2\n key: 3\nkey: 4\nkey: 5\n", 0, "4" },
		{ "key: 1234567\n", 0, "1234567" }, { "key: 12345678\n", -EOVERFLOW, "" },
		{ "keys: 1\nother key: 2\n key: 3\n", -ENODATA, "" }, { "key", -ENODATA, "" }, { "key\n", -ENODATA, "" },
		{ "Key: 1\n", -ENODATA, "" }, { "", -ENODATA, "" }, { "\n\n", -ENODATA, "" }, { NULL, -ENOENT, "" },
	};
	int fd = next_descriptor();

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char out[ROOM] = "before?";
		int rc;

		says(rows[i].text);
		rc = sysfile_value(out, sizeof(out), "key", "%s", file);
		if (rc != rows[i].rc || strcmp(out, rows[i].value))
			fail_msg("row %zu: %d \"%s\", should be %d \"%s\"", i, rc, out, rows[i].rc, rows[i].value);
	}
	assert_int_equal(next_descriptor(), fd);
}

/* The flags of a CPU are thousands of characters, before the key or behind it. */
static void lines_before_the_key_may_be_long(void **unused)
{
	static char text[40000], out[sizeof(text)];

	(void)unused;
	memset(text, 'f', 30000);
	strcpy(text + 30000, "\nkey: ");
	memset(text + strlen(text), 'v', 9000);
	says(text);
	assert_int_equal(sysfile_value(out, sizeof(out), "key", "%s", file), 0);
	assert_int_equal(strlen(out), 9000);
	assert_int_equal(sysfile_value(out, 9000, "key", "%s", file), -EOVERFLOW);
	assert_int_equal(sysfile_line(out, 30000, "%s", file), -EOVERFLOW);
	assert_int_equal(sysfile_line(out, 30001, "%s", file), 0); /* control */
}

static void what_is_no_file_is_no_answer(void **unused)
{
	char out[ROOM], name[5000];
	uint64_t n = 4711;

	(void)unused;
	says("1\n");
	assert_int_equal(sysfile_line(out, sizeof(out), "%s", dir), -EISDIR);
	assert_int_equal(sysfile_number(&n, "%s", dir), -EISDIR);
	assert_int_equal(sysfile_value(out, sizeof(out), "key", "%s", dir), -EISDIR);
	assert_int_equal(sysfile_number(&n, "%s/below", file), -ENOTDIR);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(sysfile_line(out, sizeof(out), "%s/%s", dir, name), -ENAMETOOLONG);
	assert_int_equal(sysfile_number(&n, "%s/%s", dir, name), -ENAMETOOLONG);
	assert_int_equal(sysfile_value(out, sizeof(out), "key", "%s/%s", dir, name), -ENAMETOOLONG);
	assert_int_equal(n, 4711);
	assert_int_equal(sysfile_number(&n, "%s", file), 0); /* control */
	assert_int_equal(n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_whole_or_none),
		cmocka_unit_test(a_number_is_digits_alone),
		cmocka_unit_test(a_value_is_that_of_its_key),
		cmocka_unit_test(lines_before_the_key_may_be_long),
		cmocka_unit_test(what_is_no_file_is_no_answer),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
