/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory by page size. Formats: proc(5), madvise(2); Linux's
 * Documentation/admin-guide/mm/transhuge.rst. */
#include "stages/place/pages.h"
#include "harness/err.h"
#include "harness/numa.h"
#include "harness/pin.h"
#include "harness/sysfile.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

enum { NODE_LOOKS = 64, CAP_IPC_LOCK_BIT = 14 };

/* ---- what there is ---- */

static uint64_t pool_pages(void)
{
	uint64_t n;

	return sysfile_number(&n, "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") ? 0 : n;
}

uint64_t host_free_bytes(void)
{
	return numa_free(-1);
}

int host_has_huge(char *why, size_t len)
{
	char word[128];

	sysfile_line(word, sizeof(word), "/sys/kernel/mm/transparent_hugepage/enabled"); /* "" where there is none */
	if (pool_pages() || (*word && !strstr(word, "[never]")))
		return 1;
	snprintf(why, len, "no pages of 2 MiB here: the pool of huge pages is empty, and transparent ones are %s",
		 *word ? "switched off" : "not in this kernel");
	return 0;
}

uint64_t host_lock_limit(void)
{
	unsigned long long caps;
	struct rlimit r;
	char hex[32];

	sysfile_value(hex, sizeof(hex), "CapEff", "/proc/self/status"); /* "" where there is none: nought */
	caps = strtoull(hex, NULL, 16);
	if (caps >> CAP_IPC_LOCK_BIT & 1 || getrlimit(RLIMIT_MEMLOCK, &r) || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur;
}

/* ---- memory ---- */

int pages_reserve(struct pages *g, size_t bytes, size_t page)
{
	uint8_t *raw;
	size_t raw_bytes;

	memset(g, 0, sizeof(*g));
	bytes = (bytes + page - 1) / page * page;
	raw_bytes = bytes + 2 * PAGE_2M;
	raw = mmap(NULL, raw_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		return fs_fail(ENOMEM, "no room for %zu bytes of host memory: %s", bytes, strerror(errno));
	g->raw = raw;
	g->raw_bytes = raw_bytes;
	g->bytes = bytes;
	g->page = page;
	/* at least one small page before it, and one behind */
	g->p = (uint8_t *)(((uintptr_t)raw + PAGE_4K + PAGE_2M - 1) / PAGE_2M * PAGE_2M);
	if (page == PAGE_2M && pool_pages() >= bytes / PAGE_2M)
		g->hugetlb = mmap(g->p, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1, 0) != MAP_FAILED;
	if (!g->hugetlb &&
	    mmap(g->p, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
		int err = errno;

		pages_free(g);
		return fs_fail(err, "no %zu bytes of host memory: %s", bytes, strerror(err));
	}
	/* a kernel without transparent huge pages has none to keep away either */
	if (!g->hugetlb)
		madvise(g->p, bytes, page == PAGE_2M ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return 0;
}

int pages_populate(const struct pages *g)
{
	if (madvise(g->p, g->bytes, MADV_POPULATE_WRITE)) {
		if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
			return fs_fail(ENOMEM, "no %zu bytes of host memory could be touched", g->bytes);
		for (size_t i = 0; i < g->bytes; i += PAGE_4K) /* an older kernel */
			*(volatile uint8_t *)(g->p + i) = 0;
	}
	if (g->page == PAGE_2M && !g->hugetlb)
		madvise(g->p, g->bytes, MADV_COLLAPSE); /* where one was not given at once; it may fail */
	return 0;
}

void pages_free(struct pages *g)
{
	if (g->raw)
		munmap(g->raw, g->raw_bytes);
	memset(g, 0, sizeof(*g));
}

/* ---- what was given ---- */

/* All mappings that lie in it: locking a part, say, cuts one into several. */
int pages_look(const struct pages *g, struct pages_found *f)
{
	uintptr_t from = (uintptr_t)g->p, to = from + g->bytes;
	unsigned long long a, b, kib;
	FILE *in = fopen("/proc/self/smaps", "r");
	int inside = 0, seen = 0;
	uint64_t kernel_page = 0;
	char line[512];

	memset(f, 0, sizeof(*f));
	if (!in)
		return -ENOENT;
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%llx-%llx ", &a, &b) == 2 && strchr(line, '-') < strchr(line, ' ')) {
			inside = a >= from && b <= to;
			seen |= inside;
			f->mapped += inside ? b - a : 0;
		} else if (inside && sscanf(line, "KernelPageSize: %llu", &kib) == 1) {
			kernel_page = kib << 10;
		} else if (inside && sscanf(line, "Rss: %llu", &kib) == 1) {
			f->resident += kib << 10;
		} else if (inside && sscanf(line, "AnonHugePages: %llu", &kib) == 1) {
			f->huge += kib << 10;
		} else if (inside && (sscanf(line, "Private_Hugetlb: %llu", &kib) == 1 || sscanf(line, "Shared_Hugetlb: %llu", &kib) == 1)) {
			/* not in Rss */
			f->resident += kib << 10;
			f->huge += kernel_page == PAGE_2M ? kib << 10 : 0;
		} else if (inside && sscanf(line, "Locked: %llu", &kib) == 1) {
			f->locked += kib << 10;
		}
	}
	fclose(in);
	return seen ? 0 : -ENOENT;
}

int pages_as_asked(const struct pages *g, int *some, char *why, size_t len)
{
	struct pages_found f;
	uint64_t right;

	*some = 0;
	if (pages_look(g, &f)) {
		snprintf(why, len, "/proc/self/smaps doesn't say which pages were given");
		return 0;
	}
	right = g->page == PAGE_2M ? f.huge : f.resident - f.huge;
	*some = right > 0;
	if (right >= g->bytes)
		return 1;
	snprintf(why, len, "%llu of %llu KiB are in pages of %s", (unsigned long long)right >> 10,
		 (unsigned long long)g->bytes >> 10, g->page == PAGE_2M ? "2 MiB" : "4 KiB");
	return 0;
}

int pages_assert_node(const struct pages *g, int node, int *found)
{
	size_t n = g->bytes / g->page;

	*found = -1;
	for (size_t i = 0; i < NODE_LOOKS; i++) {
		int here = pin_node_of_page(g->p + n * i / NODE_LOOKS * g->page);

		if (here < 0 || node < 0)
			continue;
		*found = here;
		if (here != node)
			return fs_fail(EFAULT, "host memory asked for on NUMA node %d is on node %d", node, here);
	}
	return 0;
}
