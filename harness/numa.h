/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory by NUMA node: which nodes have some, how much is free, where new
 * pages of this thread go, and where pages are. System calls and sysfs alone, so
 * that it is the same with hwloc and without (where CPUs and devices are is asked
 * of harness/pin.h).
 */
#ifndef FS_NUMA_H
#define FS_NUMA_H

#include <stddef.h>
#include <stdint.h>

/* Nodes that have memory, "0-1,4"; "0" where the kernel knows of no nodes. Returns buf. */
const char *numa_nodes(char *buf, size_t len);
int numa_has(int node);
/* Bytes that can be had without swapping: of a node, or of all (-1); a control
 * group's limit counts too (harness/cgroup.h). 0: not known; 1: all is taken. */
uint64_t numa_free(int node);
/* From now on new pages of this thread come from `node` alone; -1: as before.
 * -errno with a reason. */
int numa_bind(int node);
/*
 * Are the pages of p..p+bytes on `node`? Of large memory a sample. 0: all of them;
 * 1: not, *found is where one of them is; -1: the kernel doesn't say.
 */
int numa_check(const void *p, size_t bytes, int node, int *found);

#endif
