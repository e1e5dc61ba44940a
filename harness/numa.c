/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node numbers, policies and limits as the kernel documents them:
 * set_mempolicy(2), move_pages(2), proc(5), Documentation/ABI/stable/sysfs-devices-node.
 */
#include "harness/numa.h"
#include "harness/cgroup.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/sysfile.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYS_NODE "/sys/devices/system/node"
enum { POLICY_DEFAULT = 0, POLICY_BIND = 2 }; /* MPOL_*, linux/mempolicy.h */
enum { NODES_MAX = 1024, PAGES_ASKED = 256 };

const char *numa_nodes(char *buf, size_t len)
{
	if (sysfile_line(buf, len, SYS_NODE "/has_memory") && sysfile_line(buf, len, SYS_NODE "/online"))
		snprintf(buf, len, "0");
	return buf;
}

int numa_has(int node)
{
	char list[4096];

	return node >= 0 && pin_in_list(numa_nodes(list, sizeof(list)), node);
}

/* The sum of these lines of a meminfo, in bytes; a node's has "Node N " in front. */
static uint64_t meminfo(const char *path, const char *const *names, int sign)
{
	char line[256];
	FILE *f = fopen(path, "re");
	uint64_t kib = 0;

	while (f && fgets(line, sizeof(line), f))
		for (int i = 0; names[i]; i++) {
			const char *at = strstr(line, names[i]);

			if (at && (at == line || at[-1] == ' '))
				kib += strtoull(at + strlen(names[i]), NULL, 10);
		}
	if (f)
		fclose(f);
	return sign < 0 ? 0 - (kib << 10) : kib << 10;
}

uint64_t numa_free(int node)
{
	static const char *const available[] = { "MemAvailable:", NULL };
	/* what a node can give: its free pages and the page cache, but not shared memory */
	static const char *const node_more[] = { "MemFree:", "FilePages:", NULL }, *const node_less[] = { "Shmem:", NULL };
	uint64_t all = meminfo("/proc/meminfo", available, 1), of_node = all;
	uint64_t group = cgroup_memory_left("");
	char path[64];

	if (group < all)
		all = group ? group : 1; /* nothing left is known, too */
	if (node >= 0) {
		snprintf(path, sizeof(path), SYS_NODE "/node%d/meminfo", node);
		of_node = meminfo(path, node_more, 1) + meminfo(path, node_less, -1);
		if (!of_node)
			of_node = all;
	}
	return of_node < all ? of_node : all;
}

int numa_bind(int node)
{
	unsigned long mask[NODES_MAX / (8 * sizeof(long))] = { 0 };
	int bits = 8 * (int)sizeof(long);

	if (node >= NODES_MAX)
		return fs_fail(EINVAL, "NUMA node %d: nodes are counted up to %d here", node, NODES_MAX - 1);
	if (node >= 0)
		mask[node / bits] = 1ul << node % bits;
	if (syscall(SYS_set_mempolicy, node < 0 ? POLICY_DEFAULT : POLICY_BIND, node < 0 ? NULL : mask,
		    node < 0 ? 0ul : (unsigned long)NODES_MAX + 1))
		return fs_fail(errno, "can't bind memory to NUMA node %d: %s", node, strerror(errno));
	return 0;
}

int numa_check(const void *p, size_t bytes, int node, int *found)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
	size_t n = pages < PAGES_ASKED ? pages : PAGES_ASKED;

	for (size_t i = 0; i < n; i++) {
		size_t k = n > 1 ? i * (pages - 1) / (n - 1) : 0;
		int at = pin_node_of_page((const char *)p + (k * page < bytes ? k * page : bytes - 1));

		*found = at;
		if (at < 0)
			return -1;
		if (at != node)
			return 1;
	}
	return 0;
}
