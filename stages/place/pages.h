/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory with pages of a size that was asked for, and what was really given: by
 * the kernel's own account (/proc/self/smaps), not by what was asked.
 */
#ifndef FS_PAGES_H
#define FS_PAGES_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_4K 4096ull
#define PAGE_2M (2ull << 20)

struct pages {
	uint8_t *p;       /* aligned to 2 MiB */
	size_t bytes;     /* whole pages */
	size_t page;      /* as asked for: PAGE_4K or PAGE_2M */
	void *raw;        /* with a page that can't be touched on either side, so that no
			   * neighbour is counted in */
	size_t raw_bytes;
	int hugetlb;      /* from the pool of huge pages, not made of small ones */
};

/* What the kernel says of the memory at p, in bytes. */
struct pages_found { uint64_t mapped, resident, huge, locked; };

/* Reserved, not touched. Huge pages are taken from the pool where it has enough, else
 * asked for as transparent ones; small ones are kept small. -ENOMEM with a reason. */
int pages_reserve(struct pages *g, size_t bytes, size_t page);
/* Touches every page from this thread. -ENOMEM. */
int pages_populate(const struct pages *g);
void pages_free(struct pages *g);
/* -ENOENT where /proc doesn't say. */
int pages_look(const struct pages *g, struct pages_found *f);
/* Are all touched pages of the size that was asked for? 1, or 0 with words in `why`:
 * *some says whether at least a part is. */
int pages_as_asked(const struct pages *g, int *some, char *why, size_t len);
/* Pages all over the memory lie on this node: -EFAULT with a reason when one doesn't.
 * Where the kernel doesn't say (-1) there is nothing to assert. *found: the node. */
int pages_assert_node(const struct pages *g, int node, int *found);

/* Bytes of host memory that can be had without swapping, on all nodes: MemAvailable,
 * less where a control group leaves less. 0: not known. */
uint64_t host_free_bytes(void);
/* Can there be pages of 2 MiB at all? 1, or 0 with words in `why`. */
int host_has_huge(char *why, size_t len);
/* Bytes that this process may lock; UINT64_MAX: no limit. */
uint64_t host_lock_limit(void);

/* ---- CUDA's part, in pages_cuda.c; without CUDA every call is -ENODEV ---- */

/* Lets GPUs reach populated pages, at the same addresses, which is asserted. */
int pages_pin(const struct pages *g);
void pages_unpin(const struct pages *g);

#endif
