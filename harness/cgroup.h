/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control groups of this process leave it: its own group and every one above it, as
 * far as they are mounted, of version 2 and of version 1 (both at once on a hybrid system).
 * The smallest counts. Nothing is kept between calls; no call fails: what can't be read, or
 * isn't what the kernel writes, limits nothing.
 *
 * `root` is where proc/ and sys/ are found: "" but in tests.
 */
#ifndef FS_CGROUP_H
#define FS_CGROUP_H

#include <stdint.h>

/*
 * Bytes until the group's limit: the limit less what is used and can't be dropped, that is all
 * that is charged but the page cache and slabs that the kernel may reclaim. 0: the limit is
 * reached; UINT64_MAX: there is none.
 */
uint64_t cgroup_memory_left(const char *root);

/* quota_us of CPU time in each period_us, all CPUs together. */
struct cgroup_cpu { uint64_t quota_us, period_us; };

/* 1: *c is the least share; 0: groups tell of CPU time, and none limits it; -1: none tells. */
int cgroup_cpu_quota(const char *root, struct cgroup_cpu *c);

#endif
