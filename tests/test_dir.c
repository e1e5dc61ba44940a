/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of results has one writer at a time, and what a killed one left is
 * swept away by its name, and nothing else is.
 */
#include "harness/err.h"
#include "harness/file.h"
#include "tests/fake_tables.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/fivestage-dir-XXXXXX";

static int setup(void **state)
{
	(void)state;
	strcpy(dir + sizeof dir - 7, "XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void touch(const char *name, int there)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (!there) {
		assert_int_equal(unlink(path), 0);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

static void one_at_a_time(void **state)
{
	int a, b;

	(void)state;
	a = dir_lock(dir);
	assert_true(a >= 0);
	listen_start();
	b = dir_lock(dir);
	assert_says(listen_stop(), "another process is at work");
	assert_int_equal(b, -EBUSY);
	close(a);
	b = dir_lock(dir);
	assert_true(b >= 0);
	close(b);
}

static void a_kill_lets_go(void **state)
{
	int up[2], fd;
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		if (dir_lock(dir) >= 0 && write(up[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(up[0], &c, 1), 1);
	fs_log_quiet(1);
	assert_int_equal(dir_lock(dir), -EBUSY);
	fs_log_quiet(0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fd = dir_lock(dir);
	assert_true(fd >= 0);
	close(fd);
	close(up[0]);
	close(up[1]);
}

static void leftovers_alone_are_swept(void **state)
{
	static const char *const ours[] = {
		".run.json.tmp1", ".plan.csv.tmp4194304", ".0123456789ab.1.samples.csv.tmp0", ".writable.aB3xYz",
	};
	static const char *const not_ours[] = {
		"run.json", ".profile", "run.json.tmp1", ".run.json.tmp", ".run.json.tmp1x", ".writable.no", ".tmp1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		touch(ours[i], 1);
	for (size_t i = 0; i < sizeof not_ours / sizeof not_ours[0]; i++)
		touch(not_ours[i], 1);
	assert_int_equal(dir_sweep(dir), 0);
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
		char path[256];

		snprintf(path, sizeof path, "%s/%s", dir, ours[i]);
		assert_int_not_equal(access(path, F_OK), 0);
		assert_true(dir_is_temporary(ours[i]));
	}
	for (size_t i = 0; i < sizeof not_ours / sizeof not_ours[0]; i++) {
		assert_false(dir_is_temporary(not_ours[i]));
		touch(not_ours[i], 0); /* it was there */
	}
	assert_int_equal(dir_sweep("/nowhere/at/all"), 0);
}

/* What outfile_open calls its temporary is what is swept. */
static void names_agree(void **state)
{
	struct outfile o;

	(void)state;
	assert_int_equal(outfile_open(&o, dir, "some.csv"), 0);
	assert_true(dir_is_temporary(strrchr(o.tmp, '/') + 1));
	fclose(o.f);
	assert_int_equal(dir_sweep(dir), 0);
	assert_int_not_equal(access(o.tmp, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_kill_lets_go, setup, teardown),
		cmocka_unit_test_setup_teardown(leftovers_alone_are_swept, setup, teardown),
		cmocka_unit_test_setup_teardown(names_agree, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
