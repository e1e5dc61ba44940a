/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a file that stands is whole. Until it is finished a reader doesn't
 * see it, and when the disk is full, or anything else fails, the failure is
 * returned in words, no temporary stays and an older file is untouched. A
 * directory for results is made, and refused when it is in use or can't be
 * written.
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
#include <dirent.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/err.h"
#include "harness/file.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/fivestage-file.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[100];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int entries(void)
{
	DIR *d = opendir(dir);
	int n = -2; /* . and .. */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int globbed(void)
{
	glob_t g;
	int n = glob(at("*.csv"), 0, NULL, &g) ? 0 : (int)g.gl_pathc;

	globfree(&g);
	return n;
}

static const char *content(const char *name)
{
	static char text[4096];
	FILE *f = fopen(at(name), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

static void put(const char *name, const char *words)
{
	struct outfile o;

	assert_int_equal(outfile_open(&o, dir, name), 0);
	fputs(words, o.f);
	assert_int_equal(outfile_commit(&o), 0);
	assert_null(o.f);
}

static void unseen_until_committed(void **state)
{
	struct outfile o;

	(void)state;
	assert_int_equal(outfile_open(&o, dir, "a.csv"), 0);
	fputs("one\n", o.f);
	fflush(o.f);
	assert_int_equal(entries(), 1);
	assert_int_equal(globbed(), 0);
	assert_int_equal(outfile_commit(&o), 0);
	assert_int_equal(globbed(), 1); /* control: the glob does find it */
	assert_int_equal(entries(), 1);
	assert_string_equal(content("a.csv"), "one\n");
	assert_int_equal(outfile_commit(&o), -EINVAL);

	put("a.csv", "two\n");
	assert_string_equal(content("a.csv"), "two\n");
	assert_int_equal(outfile_open(&o, dir, "a.csv"), 0);
	fputs("three\n", o.f);
	outfile_abort(&o);
	outfile_abort(&o);
	assert_string_equal(content("a.csv"), "two\n");
	assert_int_equal(entries(), 1);
}

static void written(const char *name, const char *words)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(words, f);
	assert_int_equal(fclose(f), 0);
}

/* What another process has written under another name. */
static void placed(void **state)
{
	char tmp[128], whole[128];

	(void)state;
	strcpy(tmp, at(".s.csv.tmp0"));
	strcpy(whole, at("s.csv"));
	assert_int_equal(file_place(tmp, whole), -ENOENT);
	written(".s.csv.tmp0", "one\n");
	assert_int_equal(file_place(tmp, whole), 0);
	assert_string_equal(content("s.csv"), "one\n");
	written(".s.csv.tmp0", "two\n");
	assert_int_equal(file_place(tmp, whole), 0);
	assert_string_equal(content("s.csv"), "two\n");
	assert_int_equal(entries(), 1);

	strcpy(whole, at("taken"));
	assert_int_equal(mkdir(whole, 0700), 0);
	written(".s.csv.tmp0", "three\n");
	assert_int_equal(file_place(tmp, whole), -EISDIR);
	assert_non_null(strstr(fs_reason(), "taken: can't rename"));
	assert_int_equal(entries(), 2);
}

/* A full disk: writes beyond 8 KiB fail. */
static void disk_fill(int full)
{
	static struct rlimit before;
	struct rlimit small;

	if (full) {
		signal(SIGXFSZ, SIG_IGN);
		getrlimit(RLIMIT_FSIZE, &before);
		small = before;
		small.rlim_cur = 8192;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	} else {
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	}
}

static void full_disk_is_seen(void **state)
{
	/* The write that fails is the last flush, or an earlier one, after
	 * which there is room again. */
	static const int lines[] = { 500, 2000 };
	struct outfile o;
	json_t *big = json_array();
	int rc;
	FILE *f;

	(void)state;
	put("a.csv", "old\n");
	for (int i = 0; i < 2; i++) {
		disk_fill(1);
		assert_int_equal(outfile_open(&o, dir, "a.csv"), 0);
		for (int k = 0; k < lines[i]; k++)
			fputs("twenty characters..\n", o.f);
		if (i)
			disk_fill(0);
		rc = outfile_commit(&o);
		if (!i)
			disk_fill(0);
		assert_true(rc == -EFBIG || rc == -EIO);
		assert_non_null(strstr(fs_reason(), "/a.csv: can't write"));
		assert_string_equal(content("a.csv"), "old\n");
		assert_int_equal(entries(), 1);
	}
	for (int i = 0; i < 3000; i++)
		json_array_append_new(big, json_integer(i));
	disk_fill(1);
	rc = json_write(dir, "run.json", big);
	disk_fill(0);
	json_decref(big);
	assert_true(rc == -EFBIG || rc == -EIO);
	assert_int_equal(entries(), 1);

	/* control: written in place, the same limit leaves half a file */
	disk_fill(1);
	f = fopen(at("a.csv"), "w");
	for (int k = 0; k < 500; k++)
		fputs("twenty characters..\n", f);
	rc = fclose(f);
	disk_fill(0);
	assert_true(rc != 0 && strcmp(content("a.csv"), "old\n"));
}

static void other_failures_leave_nothing(void **state)
{
	struct outfile o;
	char name[5000];

	(void)state;
	assert_int_equal(outfile_open(&o, at("missing"), "a.csv"), -ENOENT);
	assert_non_null(strstr(fs_reason(), "missing/a.csv"));
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(outfile_open(&o, dir, name), -ENAMETOOLONG);
	assert_int_equal(outfile_open(&o, dir, ""), -EINVAL);
	/* the rename fails: a directory has the name */
	assert_int_equal(mkdir(at("a.csv"), 0777), 0);
	assert_int_equal(outfile_open(&o, dir, "a.csv"), 0);
	assert_int_equal(outfile_commit(&o), -EISDIR);
	assert_int_equal(entries(), 1);
	/* a name with a directory: the temporary lies beside its place */
	assert_int_equal(outfile_open(&o, dir, "a.csv/b.csv"), 0);
	assert_int_equal(entries(), 1);
	assert_int_equal(outfile_commit(&o), 0);
	assert_int_equal(access(at("a.csv/b.csv"), F_OK), 0);
}

static void json_is_strict(void **state)
{
	json_t *j = json_pack("{s:i, s:[f, n], s:s}", "zeta", 1, "alpha", 0.5, "mid", "x");

	(void)state;
	assert_non_null(j);
	assert_int_equal(json_write(dir, "run.json", j), 0);
	assert_string_equal(content("run.json"), "{\n  \"zeta\": 1,\n  \"alpha\": [\n    0.5,\n    null\n"
						 "  ],\n  \"mid\": \"x\"\n}\n");
	assert_int_equal(json_write(dir, "nan.json", json_real(NAN)), -EINVAL);
	assert_int_equal(json_write(dir, "nan.json", json_pack("{s:f}", "x", NAN)), -EINVAL);
	assert_int_equal(entries(), 1);
	json_decref(j);
}

static void directories_are_prepared(void **state)
{
	char deep[128], path[256];

	(void)state;
	snprintf(deep, sizeof(deep), "%s/x/y/z/", dir);
	assert_int_equal(dir_prepare(deep, 1), 0);
	assert_int_equal(dir_prepare(deep, 1), 0); /* made, empty, nothing left there */
	snprintf(path, sizeof(path), "%s/x", dir);
	assert_int_equal(dir_prepare(path, 1), -EEXIST);
	assert_non_null(strstr(fs_reason(), path));
	assert_int_equal(dir_prepare(path, 0), 0); /* control: it is only in use */

	put("file", "x");
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(dir_prepare(path, 0), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/file/below", dir);
	assert_int_equal(dir_prepare(path, 0), -ENOTDIR);
	assert_int_equal(dir_prepare("", 0), -EINVAL);
	/* a directory that nobody can write to, root included */
	assert_true(dir_prepare("/proc/self", 0) < 0);
	assert_non_null(strstr(fs_reason(), "/proc/self: can't be written"));
	assert_true(dir_prepare("/proc/fivestage", 0) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(unseen_until_committed, setup, teardown),
		cmocka_unit_test_setup_teardown(placed, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk_is_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(other_failures_leave_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(json_is_strict, setup, teardown),
		cmocka_unit_test_setup_teardown(directories_are_prepared, setup, teardown),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
