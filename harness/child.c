/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes and the lines that go between.
 *
 * The two pipes are socket pairs used in one direction: send(2) can be told not
 * to raise SIGPIPE, so that a dead peer is an error code in every thread and
 * nobody's signal handling is touched.
 *
 * Every wait of the parent is bounded. While it sends it also takes in what
 * arrives, since two processes that both write and don't read would wait for
 * each other. The child may wait for ever: it dies with its parent, that is
 * with the *thread* that called child_start (prctl(2), PR_SET_PDEATHSIG), which
 * must therefore outlive the child.
 */
#include "harness/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/err.h"

#define CHILD_IN 3      /* child's fd: from the parent */
#define CHILD_OUT 4     /* to the parent */
#define CHILD_EXEC 5    /* tells the parent why exec failed; closed by exec */
#define FD_ABOVE 10     /* out of the way of the three */
#define FDS_MAX 65536   /* closed one by one where close_range is missing */
#define LINE_MAX_BYTES ((size_t)64 << 20)
#define READ_BYTES ((size_t)64 << 10)
#define SEND_NS 30000000000ull /* a child that reads nothing for so long hangs */
#define REAP_NS 10000000000ull /* even SIGKILL waits for a driver to return */
#define EXEC_MS 10000

extern char **environ;

/* ---- start ---- */

/* Our environment with CUDA_MODULE_LOADING=EAGER, unless the user has set it (a
 * sanitizer that instruments what is loaded wants LAZY). Only the array is new. */
static char **environment(void)
{
	static char eager[] = "CUDA_MODULE_LOADING=EAGER";
	size_t name = strcspn(eager, "=") + 1, n = 0, k = 0;
	char **env;

	int set = 0;

	while (environ && environ[n])
		n++;
	env = malloc((n + 2) * sizeof(*env));
	for (size_t i = 0; env && i < n; i++) {
		env[k++] = environ[i];
		set |= !strncmp(environ[i], eager, name);
	}
	if (env) {
		if (!set)
			env[k++] = eager;
		env[k] = NULL;
	}
	return env;
}

static void close_from(unsigned int first)
{
	struct rlimit r;
	unsigned int end = FDS_MAX;

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, first, ~0u, 0u))
		return;
#endif
	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < end)
		end = (unsigned int)r.rlim_cur;
	for (; first < end; first++)
		close((int)first);
}

/* Between fork and exec: only what a signal handler may call, since another
 * thread may hold any lock. Doesn't return. */
static void child_become(int in, int out, int failed, pid_t parent, char *const argv[],
			 char *const env[])
{
	sigset_t none;
	int null, err;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(126); /* it died before we asked to be told */
	/* First out of the way: any of them may stand where another belongs. */
	in = fcntl(in, F_DUPFD_CLOEXEC, FD_ABOVE);
	out = fcntl(out, F_DUPFD_CLOEXEC, FD_ABOVE);
	failed = fcntl(failed, F_DUPFD_CLOEXEC, FD_ABOVE);
	null = open("/dev/null", O_RDWR); /* may become one of 0 to 2 itself */
	if (in < 0 || out < 0 || failed < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    (fcntl(STDERR_FILENO, F_GETFD) < 0 && dup2(null, STDERR_FILENO) < 0) ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || dup2(in, CHILD_IN) < 0 ||
	    dup2(out, CHILD_OUT) < 0 || dup3(failed, CHILD_EXEC, O_CLOEXEC) < 0)
		_exit(126);
	close_from(CHILD_EXEC + 1);
	/* A terminal or a batch system signals the whole group: how a run ends is
	 * the parent's business, which ends us. exec keeps what is ignored. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/proc/self/exe", argv, env);
	err = errno;
	if (write(CHILD_EXEC, &err, sizeof(err)) < 0)
		err = 0; /* then the exit code has to do */
	_exit(127);
}

/* 0 once exec has happened, else why it didn't. */
static int exec_result(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	int err = 0, rc;

	do
		rc = poll(&p, 1, EXEC_MS);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return ETIMEDOUT;
	return read(fd, &err, sizeof(err)) == sizeof(err) ? err : 0;
}

static void pair_close(int p[2])
{
	for (int i = 0; i < 2; i++) {
		if (p[i] >= 0)
			close(p[i]);
		p[i] = -1;
	}
}

int child_start(struct child *c, char *const argv[])
{
	int down[2] = {-1, -1}, up[2] = {-1, -1}, failed[2] = {-1, -1}, err = 0;
	char **env = environment();
	pid_t self = getpid();

	memset(c, 0, sizeof(*c));
	c->pid = c->to = c->from = -1;
	if (!env)
		err = ENOMEM;
	else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, down) ||
		 socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up) ||
		 pipe2(failed, O_CLOEXEC) || (c->pid = fork()) < 0)
		err = errno;
	if (!err && c->pid == 0)
		child_become(down[0], up[1], failed[1], self, argv, env);
	free(env);
	if (!err) {
		close(failed[1]);
		failed[1] = -1;
		err = exec_result(failed[0]);
		c->to = down[1];
		c->from = up[0];
		down[1] = up[0] = -1;
	}
	pair_close(down);
	pair_close(up);
	pair_close(failed);
	if (!err)
		return 0;
	child_end(c, 0, NULL, 0);
	return fs_fail(err, "can't start a child process: %s", strerror(err));
}

/* ---- lines ---- */

/* The message and its newline; free it. */
static int line_of(const json_t *msg, char **line, size_t *len)
{
	size_t n = json_dumpb(msg, NULL, 0, JSON_COMPACT);

	if (!json_is_object(msg) || !n)
		return fs_fail(EINVAL, "a message to another process is no JSON object");
	if (n >= LINE_MAX_BYTES)
		return fs_fail(EMSGSIZE, "a message of %zu bytes is too long", n);
	*line = malloc(n + 1);
	if (!*line || json_dumpb(msg, *line, n, JSON_COMPACT) != n) {
		free(*line);
		return fs_fail(ENOMEM, "no memory for a message of %zu bytes", n);
	}
	(*line)[n] = '\n';
	*len = n + 1;
	return 0;
}

static int poll_ms(uint64_t deadline)
{
	uint64_t now = mono_ns(), ms = now >= deadline ? 0 : (deadline - now + 999999) / 1000000;

	return ms > 1000 ? 1000 : (int)ms; /* the caller looks at the deadline again */
}

/* Takes in what is there without waiting: bytes > 0; 0 at the end; -EAGAIN,
 * -ENOMEM, -EPROTO (no line may be so long). */
static ssize_t take_in(struct child *c, int flags)
{
	ssize_t got;

	if (c->cap - c->len < READ_BYTES) {
		size_t cap = c->cap ? 2 * c->cap : 2 * READ_BYTES;
		char *more;

		if (c->len > LINE_MAX_BYTES)
			return fs_reason_set(EPROTO, "a line of more than %zu bytes", c->len);
		more = realloc(c->buf, cap);
		if (!more)
			return fs_reason_set(ENOMEM, "no memory for a line of %zu bytes", cap);
		c->buf = more;
		c->cap = cap;
	}
	do
		got = recv(c->from, c->buf + c->len, c->cap - c->len, flags);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == ECONNRESET)
		got = 0; /* gone, with something of ours unread */
	if (got < 0)
		return errno == EAGAIN ? -EAGAIN : -errno;
	c->len += (size_t)got;
	return got;
}

/* The line that ends at `end` leaves the buffer and becomes a message. */
static int line_out(struct child *c, char *end, json_t **msg)
{
	size_t len = (size_t)(end - c->buf);
	json_error_t e;
	int rc = 0;

	*msg = json_loadb(c->buf, len, JSON_REJECT_DUPLICATES, &e);
	if (!*msg || !json_is_object(*msg)) {
		rc = fs_reason_set(EPROTO, "a line that is no JSON object: \"%.*s\"%s",
				   (int)(len < 60 ? len : 60), c->buf, len < 60 ? "" : "...");
		json_decref(*msg);
		*msg = NULL;
	}
	c->len -= len + 1;
	memmove(c->buf, end + 1, c->len);
	return rc;
}

int child_send(struct child *c, const json_t *msg)
{
	uint64_t deadline = mono_ns() + SEND_NS;
	size_t len, at = 0;
	char *line;
	int rc;

	if (c->to < 0)
		return fs_reason_set(EPIPE, "the child is not running");
	rc = line_of(msg, &line, &len);
	if (rc)
		return rc;
	while (at < len && !rc) {
		struct pollfd p[2] = {{c->to, POLLOUT, 0}, {c->from, POLLIN, 0}};
		ssize_t put = send(c->to, line + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (put >= 0) {
			at += (size_t)put;
			deadline = mono_ns() + SEND_NS;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			rc = fs_reason_set(EPIPE, "the child is gone");
		} else if (errno != EAGAIN && errno != EINTR) {
			rc = fs_fail(errno, "sending to the child: %s", strerror(errno));
		} else if (deadline_over(deadline)) {
			rc = fs_reason_set(ETIMEDOUT, "the child reads nothing");
		} else if (poll(p, 2, poll_ms(deadline)) > 0 && p[1].revents & POLLIN) {
			ssize_t got = take_in(c, MSG_DONTWAIT);

			if (got == 0)
				rc = fs_reason_set(EPIPE, "the child is gone");
			else if (got < 0 && got != -EAGAIN)
				rc = (int)got;
		}
	}
	free(line);
	return rc;
}

int child_recv(struct child *c, double timeout_s, json_t **msg)
{
	uint64_t deadline = deadline_in_s(timeout_s > 0 ? timeout_s : 0);
	size_t seen = 0; /* no newline before this */

	*msg = NULL;
	if (c->from < 0)
		return fs_reason_set(EPIPE, "the child is not running");
	for (;;) {
		char *end = c->len > seen ? memchr(c->buf + seen, '\n', c->len - seen) : NULL;
		struct pollfd p = {c->from, POLLIN, 0};
		ssize_t got;

		if (end)
			return line_out(c, end, msg);
		seen = c->len;
		got = take_in(c, MSG_DONTWAIT);
		if (got > 0)
			continue;
		if (got == 0)
			return fs_reason_set(EPIPE, "the child has ended%s",
					     c->len ? " in the middle of a line" : "");
		if (got != -EAGAIN)
			return (int)got;
		if (deadline_over(deadline))
			return fs_reason_set(ETIMEDOUT, "no message from the child in %g s",
					     timeout_s);
		poll(&p, 1, poll_ms(deadline));
	}
}

/* ---- end ---- */

/* Reaps within the time: 1 when it has, -1 when there is nobody to reap. */
static int reap(pid_t pid, uint64_t deadline, int *status)
{
	struct timespec pause = {0, 200000};

	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid)
			return 1;
		if (got < 0 && errno != EINTR)
			return -1;
		if (deadline_over(deadline))
			return 0;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec *= 2;
	}
}

void child_hang_up(struct child *c, int at_once)
{
	if (c->pid <= 0)
		return;
	if (at_once)
		kill(c->pid, SIGKILL);
	else
		shutdown(c->to, SHUT_WR);
}

void child_end(struct child *c, double grace_s, char *how, size_t len)
{
	int status = 0, done, killed = 0;

	if (how && len)
		snprintf(how, len, "not running");
	if (c->pid > 0) {
		close(c->to);
		close(c->from);
		free(c->buf);
		done = reap(c->pid, deadline_in_s(grace_s > 0 ? grace_s : 0), &status);
		if (!done) {
			killed = !kill(c->pid, SIGKILL);
			done = reap(c->pid, mono_ns() + REAP_NS, &status);
		}
		if (!how || !len)
			;
		else if (done < 0)
			snprintf(how, len, "ended unseen");
		else if (!done)
			snprintf(how, len, "killed after %g s, and still there", grace_s);
		else if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			snprintf(how, len, "killed after %g s", grace_s);
		else if (WIFSIGNALED(status))
			snprintf(how, len, "signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
		else
			snprintf(how, len, "exit %d", WEXITSTATUS(status));
	}
	memset(c, 0, sizeof(*c));
	c->pid = c->to = c->from = -1;
}

/* ---- the child's own side ---- */

int child_up_send(const json_t *msg)
{
	static pthread_mutex_t whole = PTHREAD_MUTEX_INITIALIZER; /* lines don't mix */
	size_t len, at = 0;
	char *line;
	int rc = line_of(msg, &line, &len);

	if (rc)
		return rc;
	pthread_mutex_lock(&whole);
	while (at < len && !rc) {
		ssize_t put = send(CHILD_OUT, line + at, len - at, MSG_NOSIGNAL);

		if (put >= 0)
			at += (size_t)put;
		else if (errno == EPIPE || errno == ECONNRESET)
			rc = fs_reason_set(EPIPE, "the parent is gone");
		else if (errno != EINTR)
			rc = fs_fail(errno, "sending to the parent: %s", strerror(errno));
	}
	pthread_mutex_unlock(&whole);
	free(line);
	return rc;
}

int child_up_recv(json_t **msg)
{
	static struct child up = {.pid = -1, .to = -1, .from = CHILD_IN};
	size_t seen = 0;

	*msg = NULL;
	for (;;) {
		char *end = up.len > seen ? memchr(up.buf + seen, '\n', up.len - seen) : NULL;
		ssize_t got;

		if (end)
			return line_out(&up, end, msg);
		seen = up.len;
		got = take_in(&up, 0);
		if (got == 0)
			return fs_reason_set(EPIPE, "the parent is gone");
		if (got < 0)
			return (int)got;
	}
}
