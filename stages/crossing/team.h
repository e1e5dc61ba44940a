/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU threads that do one thing together, each pinned: the caller is the first of
 * them. Waits among them are bounded.
 */
#ifndef FS_TEAM_H
#define FS_TEAM_H

struct team;

/* How many threads can stand on CPUs of their own. */
int team_max(void);
/*
 * Runs fn(t, k, arg) for k = 0..n-1, 0 on the calling thread, which is pinned to
 * `cpu`; the others on the other CPUs. 0; -ETIMEDOUT when one of them waited for
 * the others for too long; -EBUSY when one would not end: then `arg`
 * and all that it leads to must be left alone.
 */
int team_run(int n, int cpu, void (*fn)(struct team *t, int k, void *arg), void *arg, double patience_s);
/* Returns when all have come here; nonzero when that took too long, for all of them. */
int team_meet(struct team *t);

#endif
