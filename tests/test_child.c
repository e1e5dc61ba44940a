/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: whatever a child does (answers, crashes, hangs, talks nonsense, ends
 * early), the parent learns it as an error code within a bounded time, and no
 * child outlives its parent. The program is its own child: argv[1] is the role.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/clock.h"
#include "harness/err.h"

#define SOON_S 20.0 /* bound of what should take milliseconds; machines are shared */
#define BIG ((size_t)63 << 20)
#define MIDDLING ((size_t)2 << 20) /* more than any socket holds */

static void start(struct child *c, const char *role)
{
	char name[] = "test_child", copy[32];
	char *argv[] = {name, copy, NULL};

	snprintf(copy, sizeof(copy), "%s", role);
	assert_int_equal(child_start(c, argv), 0);
	assert_true(c->pid > 0);
}

static void end(struct child *c, double grace_s, const char *expected)
{
	uint64_t t0 = mono_ns();
	char how[128];

	child_end(c, grace_s, how, sizeof(how));
	assert_string_equal(how, expected);
	assert_true((double)(mono_ns() - t0) < (grace_s + SOON_S) * 1e9);
	assert_int_equal(c->pid, -1);
}

static json_t *text_of(size_t len)
{
	char *s = malloc(len);
	json_t *j;

	assert_non_null(s);
	memset(s, 'x', len);
	j = json_pack("{s:s%}", "text", s, len);
	free(s);
	assert_non_null(j);
	return j;
}

/* ---- what the children do ---- */

static int role_echo(void)
{
	json_t *msg;
	int rc;

	while (!(rc = child_up_recv(&msg))) {
		rc = child_up_send(msg);
		json_decref(msg);
		if (rc)
			return 1;
	}
	return rc == -EPIPE ? 0 : 2;
}

static void up(const char *bytes)
{
	if (write(4, bytes, strlen(bytes)) < 0)
		_exit(8);
}

static int role_crash(void)
{
	up("{\"before\":1}\n");
	signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
	raise(SIGSEGV);
	return 0;
}

static int role_partial(void)
{
	up("{\"n\":");
	usleep(50000);
	up("1}\n{\"n\":2}\n{\"n\":3}\n{\"n\"");
	usleep(50000);
	up(":4}\n{\"cut\":");
	return 0;
}

static int role_garbage(void)
{
	up("Segmentation fault\n[1,2]\n\n{\"a\":1,\"a\":2}\n{\"fine\":true}\n");
	return role_echo();
}

static int role_big(size_t len)
{
	json_t *j = text_of(len);
	int rc = child_up_send(j);

	json_decref(j);
	return rc ? 1 : role_echo();
}

/* Which descriptors there are, and what the first ones are. */
static int role_fds(void)
{
	json_t *list = json_array(), *j;
	struct stat in, null, out, err;
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");
	sigset_t mask;

	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
			json_array_append_new(list, json_integer(atoi(e->d_name)));
	closedir(d);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	j = json_pack("{s:o, s:b, s:b, s:s, s:b}", "fds", list, "stdin_null",
		      !fstat(0, &in) && !stat("/dev/null", &null) && in.st_rdev == null.st_rdev,
		      "stdout_is_stderr",
		      !fstat(1, &out) && !fstat(2, &err) && out.st_ino == err.st_ino &&
		      out.st_dev == err.st_dev,
		      "loading", getenv("CUDA_MODULE_LOADING") ? getenv("CUDA_MODULE_LOADING") : "",
		      "usr1_blocked", sigismember(&mask, SIGUSR1));
	child_up_send(j);
	json_decref(j);
	return 0;
}

/* Starts a child that hangs, says its pid, and hangs itself. */
static int role_middle(void)
{
	char *argv[] = {"test_child", "hang", NULL};
	struct child c;
	json_t *j;

	if (child_start(&c, argv))
		return 1;
	j = json_pack("{s:i}", "pid", (int)c.pid);
	child_up_send(j);
	json_decref(j);
	for (;;)
		pause();
}

/* ---- what the parent sees ---- */

static void test_echo(void **state)
{
	json_t *msg = json_pack("{s:i, s:f, s:s, s:[i,n]}", "i", 7, "f", 0.1, "s",
				"line\nbreak \xc3\xa9", "a", 1), *back;
	struct child c;

	(void)state;
	start(&c, "echo");
	for (int i = 0; i < 100; i++) {
		json_object_set_new(msg, "i", json_integer(i));
		assert_int_equal(child_send(&c, msg), 0);
		assert_int_equal(child_recv(&c, SOON_S, &back), 0);
		assert_true(json_equal(msg, back));
		json_decref(back);
	}
	json_decref(msg);
	msg = json_array(); /* no object: refused before it is sent */
	assert_int_equal(child_send(&c, msg), -EINVAL);
	json_decref(msg);
	end(&c, SOON_S, "exit 0");
	/* Ended: everything says so, nothing crashes. */
	assert_int_equal(child_recv(&c, 0, &back), -EPIPE);
	end(&c, 0, "not running");
}

static void test_crash_has_its_signal_and_its_last_words(void **state)
{
	struct child c;
	json_t *msg;

	(void)state;
	start(&c, "crash");
	assert_int_equal(child_recv(&c, SOON_S, &msg), 0);
	assert_non_null(json_object_get(msg, "before"));
	json_decref(msg);
	assert_int_equal(child_recv(&c, SOON_S, &msg), -EPIPE);
	assert_null(msg);
	end(&c, SOON_S, "signal 11 (Segmentation fault)");
}

static void test_hang_is_timed_out_and_killed(void **state)
{
	struct child c;
	uint64_t t0;
	json_t *msg;

	(void)state;
	start(&c, "hang");
	t0 = mono_ns();
	assert_int_equal(child_recv(&c, 0.3, &msg), -ETIMEDOUT);
	assert_true(mono_ns() - t0 >= 300000000ull);
	assert_true((double)(mono_ns() - t0) < (0.3 + SOON_S) * 1e9);
	assert_int_equal(child_recv(&c, 0, &msg), -ETIMEDOUT);
	end(&c, 0.2, "killed after 0.2 s");
}

static void test_partial_and_joined_lines(void **state)
{
	struct child c;
	json_t *msg;

	(void)state;
	start(&c, "partial");
	for (int i = 1; i <= 4; i++) {
		assert_int_equal(child_recv(&c, SOON_S, &msg), 0);
		assert_int_equal(json_integer_value(json_object_get(msg, "n")), i);
		json_decref(msg);
	}
	/* Half a line is no message. */
	assert_int_equal(child_recv(&c, SOON_S, &msg), -EPIPE);
	assert_non_null(strstr(fs_reason(), "middle of a line"));
	end(&c, SOON_S, "exit 0");
}

static void test_garbage_is_told_from_messages(void **state)
{
	struct child c;
	json_t *msg;

	(void)state;
	start(&c, "garbage");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(child_recv(&c, SOON_S, &msg), -EPROTO);
		assert_null(msg);
	}
	/* The line after it is whole again. */
	assert_int_equal(child_recv(&c, SOON_S, &msg), 0);
	assert_true(json_is_true(json_object_get(msg, "fine")));
	json_decref(msg);
	end(&c, SOON_S, "exit 0");
}

static void test_early_exit(void **state)
{
	json_t *msg, *word = json_pack("{s:i}", "x", 1);
	struct child c;
	siginfo_t dead;

	(void)state;
	start(&c, "exit3");
	assert_int_equal(child_recv(&c, SOON_S, &msg), -EPIPE);
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &dead, WEXITED | WNOWAIT), 0);
	/* Not SIGPIPE, which would end this test: it may have come in ignored. */
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(child_send(&c, word), -EPIPE);
	json_decref(word);
	end(&c, SOON_S, "exit 3");
}

static void test_long_lines(void **state)
{
	struct child c;
	json_t *msg;

	(void)state;
	start(&c, "big");
	assert_int_equal(child_recv(&c, 60, &msg), 0);
	assert_int_equal(json_string_length(json_object_get(msg, "text")), BIG);
	json_decref(msg);
	end(&c, SOON_S, "exit 0");
}

/* Both write more than the sockets hold before either reads. */
static void test_both_talk_at_once(void **state)
{
	json_t *msg = text_of(MIDDLING), *back;
	struct child c;

	(void)state;
	start(&c, "middling");
	assert_int_equal(child_send(&c, msg), 0);
	for (int i = 0; i < 2; i++) { /* its own, and ours back */
		assert_int_equal(child_recv(&c, SOON_S, &back), 0);
		assert_true(json_equal(msg, back));
		json_decref(back);
	}
	json_decref(msg);
	end(&c, SOON_S, "exit 0");
}

/* CUDA's loading is what the user has set, else EAGER. */
static void loading_check(const char *expected)
{
	struct child c;
	json_t *msg;

	start(&c, "fds");
	assert_int_equal(child_recv(&c, SOON_S, &msg), 0);
	assert_string_equal(json_string_value(json_object_get(msg, "loading")), expected);
	json_decref(msg);
	end(&c, SOON_S, "exit 0");
}

static void test_loading_is_the_users(void **state)
{
	(void)state;
	unsetenv("CUDA_MODULE_LOADING");
	loading_check("EAGER");
	assert_null(getenv("CUDA_MODULE_LOADING")); /* only the child's is set */
	setenv("CUDA_MODULE_LOADING", "LAZY", 1);
	loading_check("LAZY");
	unsetenv("CUDA_MODULE_LOADING");
}

static void fds_check(void)
{
	struct child c;
	json_t *msg, *fds;

	start(&c, "fds");
	assert_int_equal(child_recv(&c, SOON_S, &msg), 0);
	fds = json_object_get(msg, "fds");
	assert_int_equal(json_array_size(fds), 5);
	for (size_t i = 0; i < 5; i++) /* 0 to 4 */
		assert_true(json_integer_value(json_array_get(fds, i)) < 5);
	assert_true(json_is_true(json_object_get(msg, "stdin_null")));
	assert_true(json_is_true(json_object_get(msg, "stdout_is_stderr")));
	assert_true(json_is_false(json_object_get(msg, "usr1_blocked")));
	json_decref(msg);
	end(&c, SOON_S, "exit 0");
}

static void test_child_inherits_nothing(void **state)
{
	int leaked = open("/dev/zero", O_RDONLY), in = dup(0);
	sigset_t usr1, before;
	struct child c;

	(void)state;
	assert_true(leaked >= 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &before);
	fds_check();
	fds_check();
	close(0); /* now one of the pipes' ends is 0 */
	fds_check();
	if (in >= 0)
		dup2(in, 0);
	/* The parent's ends are not handed to whatever else it starts. */
	start(&c, "echo");
	assert_true(fcntl(c.to, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(c.from, F_GETFD) & FD_CLOEXEC);
	end(&c, SOON_S, "exit 0");
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(leaked);
	close(in);
}

static void test_failed_start_is_an_error(void **state)
{
	size_t len = (size_t)1 << 20; /* longer than Linux takes one argument */
	char *huge = malloc(len);
	char *argv[] = {"test_child", huge, NULL};
	struct child c;

	(void)state;
	assert_non_null(huge);
	memset(huge, 'a', len - 1);
	huge[len - 1] = '\0';
	assert_int_equal(child_start(&c, argv), -E2BIG);
	assert_int_equal(c.pid, -1);
	free(huge);
}

static void test_child_dies_with_its_parent(void **state)
{
	struct child c;
	uint64_t deadline;
	int status = 0;
	pid_t pid, got = 0;
	json_t *msg;

	(void)state;
	/* The grandchild becomes ours to reap, wherever this runs. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	start(&c, "middle");
	assert_int_equal(child_recv(&c, SOON_S, &msg), 0);
	pid = (pid_t)json_integer_value(json_object_get(msg, "pid"));
	json_decref(msg);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(kill(c.pid, SIGKILL), 0);
	/* At once, though the grandchild may live on a little: it holds no end. */
	assert_int_equal(child_recv(&c, SOON_S, &msg), -EPIPE);
	end(&c, SOON_S, "signal 9 (Killed)");
	for (deadline = deadline_in_s(SOON_S); !got && !deadline_over(deadline); usleep(1000))
		got = waitpid(pid, &status, WNOHANG);
	assert_int_equal(got, pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static int role(const char *name)
{
	if (!strcmp(name, "echo"))
		return role_echo();
	if (!strcmp(name, "crash"))
		return role_crash();
	if (!strcmp(name, "partial"))
		return role_partial();
	if (!strcmp(name, "garbage"))
		return role_garbage();
	if (!strcmp(name, "exit3"))
		return 3;
	if (!strcmp(name, "big"))
		return role_big(BIG);
	if (!strcmp(name, "middling"))
		return role_big(MIDDLING);
	if (!strcmp(name, "fds"))
		return role_fds();
	if (!strcmp(name, "middle"))
		return role_middle();
	for (;;) /* "hang": neither reads nor notices that nobody writes */
		pause();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_crash_has_its_signal_and_its_last_words),
		cmocka_unit_test(test_hang_is_timed_out_and_killed),
		cmocka_unit_test(test_partial_and_joined_lines),
		cmocka_unit_test(test_garbage_is_told_from_messages),
		cmocka_unit_test(test_early_exit),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_both_talk_at_once),
		cmocka_unit_test(test_child_inherits_nothing),
		cmocka_unit_test(test_loading_is_the_users),
		cmocka_unit_test(test_failed_start_is_an_error),
		cmocka_unit_test(test_child_dies_with_its_parent),
	};

	if (argc > 1)
		return role(argv[1]);
	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
