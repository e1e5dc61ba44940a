/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes: the program itself, forked and executed, so that whatever a
 * measurement does to its process (a sticky CUDA error, a crash, a hang) ends
 * with that process. Parent and child exchange one JSON object a line over two
 * pipes (child's fd 3: from the parent, fd 4: to the parent).
 */
#ifndef FS_CHILD_H
#define FS_CHILD_H

#include <jansson.h>
#include <sys/types.h>

struct child {
	pid_t pid;         /* -1: not running */
	int to, from;      /* the parent's ends */
	char *buf;         /* what has arrived and makes no line yet */
	size_t len, cap;
};

/* Starts /proc/self/exe with argv (argv[0] is ours). Sets
 * CUDA_MODULE_LOADING=EAGER in the child's environment unless it is set. The child dies with
 * the parent (PR_SET_PDEATHSIG) and ignores SIGINT, SIGTERM and SIGHUP. stdin is
 * /dev/null, stdout goes to stderr. */
int child_start(struct child *c, char *const argv[]);
/* -EPIPE when it is gone. */
int child_send(struct child *c, const json_t *msg);
/* Next message; waits at most timeout_s. New reference in *msg. 0; -ETIMEDOUT;
 * -EPIPE when the child has ended (child_end says how); -EPROTO not JSON. */
int child_recv(struct child *c, double timeout_s, json_t **msg);
/* Tells it to end and doesn't wait: closes the pipe to it, or kills it. child_end
 * must follow. */
void child_hang_up(struct child *c, int at_once);
/* Closes the pipes, waits grace_s, then kills and reaps. Writes how it ended
 * in words: "exit 0", "signal 11 (Segmentation fault)", "killed after 5 s". */
void child_end(struct child *c, double grace_s, char *how, size_t len);

/* ---- the child's own side ---- */
int child_up_send(const json_t *msg);    /* to the parent, whole lines */
int child_up_recv(json_t **msg);         /* blocks; -EPIPE when the parent is gone */

#endif
