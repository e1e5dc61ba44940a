/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: what control groups leave is found wherever the kernel puts it: version 2 at the group
 * or above it, in a container, version 1, both at once. Page cache counts as free. The smallest
 * counts, and what can't be read limits nothing.
 *
 * Controls: the same trees without a limit, or with the limit at a group beside, leave everything.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cgroup.h"

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V2_HYBRID "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V1_MEMORY "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
#define V1_CPU "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define NONE UINT64_MAX

static char root[] = "/tmp/fivestage-cgroup-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st; (void)type; (void)at;
	return remove(path);
}

static int empty_root(void **unused)
{
	(void)unused;
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return mkdir(root, 0700);
}

static int make_root(void **unused) { (void)unused; return mkdtemp(root) ? 0 : -1; }

static int remove_root(void **unused)
{
	(void)unused;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The fake kernel says so; folders are made on the way. */
static void says(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void process(const char *groups, const char *mounts)
{
	says("proc/self/cgroup", groups);
	says("proc/self/mountinfo", mounts);
}

static void leaves(uint64_t bytes)
{
	assert_int_equal(cgroup_memory_left(root), bytes);
}

static void v2_own_group_or_above(void **unused)
{
	(void)unused;
	process("0::/job.slice/step:0/task\n", "24 1 0:21 / /proc rw - proc proc rw\n" V2);
	leaves(NONE);
	says("sys/fs/cgroup/job.slice/step:0/task/memory.max", "max\n");
	says("sys/fs/cgroup/job.slice/step:0/memory.max", "max\n");
	says("sys/fs/cgroup/job.slice/other/memory.max", "1\n"); /* beside it */
	leaves(NONE);
	says("sys/fs/cgroup/job.slice/memory.max", "8000000\n");
	leaves(8000000);
	says("sys/fs/cgroup/job.slice/memory.current", "3000000\n");
	leaves(5000000);
	says("sys/fs/cgroup/job.slice/step:0/task/memory.max", "6000000\n");
	says("sys/fs/cgroup/job.slice/step:0/task/memory.current", "500000\n");
	leaves(5000000);
	says("sys/fs/cgroup/job.slice/step:0/task/memory.current", "2500000\n");
	leaves(3500000);
	says("sys/fs/cgroup/job.slice/memory.max", "0\n");
	leaves(0);
}

static void page_cache_is_free_and_shared_memory_is_not(void **unused)
{
	(void)unused;
	process("0::/a\n", V2);
	says("sys/fs/cgroup/a/memory.max", "1000000\n");
	says("sys/fs/cgroup/a/memory.current", "990000\n");
	leaves(10000);
	says("sys/fs/cgroup/a/memory.stat", "anon 100000\nfile 850000\nkernel 40000\nshmem 50000\ninactive_anon 150000\nactive_anon 0\n"
	     "inactive_file 600000\nactive_file 200000\nunevictable 0\nslab_reclaimable 30000\nslab_unreclaimable 10000\n");
	leaves(840000);
	says("sys/fs/cgroup/a/memory.current", "700000\n"); /* less than the other file says: read at another time */
	leaves(1000000);
}

static void a_container_sees_its_own_group_as_the_top(void **unused)
{
	static const char *const groups[] = { "0::/\n", "0::/../../outside\n", "0::/..\n", "0::/gone (deleted)\n" };

	(void)unused;
	says("sys/fs/cgroup/memory.max", "4000000\n");
	says("outside/memory.max", "1\n"); /* where ".." would lead */
	says("sys/outside/memory.max", "1\n");
	says("sys/memory.max", "1\n");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		process(groups[i], V2);
		leaves(4000000);
	}
	/* without a namespace: the host's path, and a mount that begins at the group */
	process("0::/docker/ab/inner\n", "30 23 0:26 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
	leaves(4000000);
	says("sys/fs/cgroup/inner/memory.max", "3000000\n");
	leaves(3000000);
	process("0::/docker/abc\n", "30 23 0:26 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup rw\n"); /* another's name */
	leaves(4000000);
	/* a blank in a mount's name, and what only looks like one */
	says("sys/fs/a b/memory.max", "2000000\n");
	process("0::/\n", "30 23 0:26 / /sys/fs/a\\040b rw - cgroup2 cgroup rw\n");
	leaves(2000000);
	says("sys/fs/a\\09b\\/memory.max", "1000000\n");
	process("0::/\n", "30 23 0:26 / /sys/fs/a\\13409b\\134 rw - cgroup2 cgroup rw\n");
	leaves(1000000);
	process("0::/\n", "30 23 0:26 / /sys/fs/a\\09b\\ rw - cgroup2 cgroup rw\n");
	leaves(1000000);
}

static void v1_and_both_at_once(void **unused)
{
	(void)unused;
	process("9:name=systemd:/\n4:memory:/slurm/job_7\n2:cpu,cpuacct:/\n0::/\n", V1_CPU V1_MEMORY V2_HYBRID);
	leaves(NONE);
	says("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	says("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n");
	says("sys/fs/cgroup/cpu,cpuacct/memory.limit_in_bytes", "1\n"); /* another controller's */
	leaves(NONE);
	says("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "8000000\n");
	says("sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", "7000000\n");
	leaves(1000000);
	says("sys/fs/cgroup/memory/slurm/memory.stat", "inactive_file 1\nactive_file 1\ntotal_inactive_file 3000000\ntotal_active_file 1000000\n");
	leaves(5000000);
	says("sys/fs/cgroup/unified/memory.max", "2000000\n");
	leaves(2000000);
}

static void nonsense_limits_nothing(void **unused)
{
	static const char *const groups[] = { "", "\n", "0\n", "0:\n", "0::\n", "0::a\n", "::/a\n", "x::/a\n" };
	static const char *const limits[] = { "", "\n", "lots\n", "-1\n", "12 MiB\n", "99999999999999999999999\n", "max\n" };
	static const char *const mounts[] = { "", "\n", "30 23\n", "30 23 0:26 / /sys/fs/cgroup rw\n", "a - b\n", " - cgroup2 cgroup2 rw\n" };

	(void)unused;
	leaves(NONE); /* no /proc at all */
	says("sys/fs/cgroup/a/memory.max", "5\n");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		process(groups[i], V2);
		leaves(NONE);
	}
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		process("0::/a\n", mounts[i]);
		leaves(NONE);
	}
	process("0::/a\n", V2);
	leaves(5);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		says("sys/fs/cgroup/a/memory.max", limits[i]);
		leaves(NONE);
	}
}

static void cpu(int is, uint64_t quota_us, uint64_t period_us)
{
	struct cgroup_cpu c;

	assert_int_equal(cgroup_cpu_quota(root, &c), is);
	assert_int_equal(c.quota_us, quota_us);
	assert_int_equal(c.period_us, period_us);
}

static void the_least_share_of_cpu_time_counts(void **unused)
{
	(void)unused;
	process("2:cpu,cpuacct:/s\n0::/a/b\n", V2 V1_CPU);
	cpu(-1, 0, 0);
	says("sys/fs/cgroup/a/cpu.max", "lots\n");
	cpu(-1, 0, 0);
	says("sys/fs/cgroup/a/cpu.max", "max 100000\n");
	cpu(0, 0, 0);
	says("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
	cpu(1, 400000, 100000);
	says("sys/fs/cgroup/a/cpu.max", "20000 10000\n"); /* two CPUs' */
	cpu(1, 20000, 10000);
	says("sys/fs/cgroup/cpu,cpuacct/s/cpu.cfs_quota_us", "-1\n");
	says("sys/fs/cgroup/cpu,cpuacct/s/cpu.cfs_period_us", "50000\n");
	cpu(1, 20000, 10000);
	says("sys/fs/cgroup/cpu,cpuacct/s/cpu.cfs_quota_us", "75000\n");
	cpu(1, 75000, 50000);
	says("sys/fs/cgroup/cpu,cpuacct/s/cpu.cfs_period_us", "0\n");
	cpu(1, 20000, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(v2_own_group_or_above, empty_root),
		cmocka_unit_test_setup(page_cache_is_free_and_shared_memory_is_not, empty_root),
		cmocka_unit_test_setup(a_container_sees_its_own_group_as_the_top, empty_root),
		cmocka_unit_test_setup(v1_and_both_at_once, empty_root),
		cmocka_unit_test_setup(nonsense_limits_nothing, empty_root),
		cmocka_unit_test_setup(the_least_share_of_cpu_time_counts, empty_root),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
