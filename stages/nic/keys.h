/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and page tables of the software NICs, as they lie in memory, and their
 * walk. HD.
 *
 * A key is index << 8 | tag, as on mlx5. Its entry names a range of addresses,
 * rights, a page size and a run of page entries; a page entry is the page's
 * address with bit 0 set. The walk is two dependent loads, whatever the size of
 * the page. Every bit of both is checked or changes the payload; a page must lie
 * in one of the windows that the engine may touch (what an IOMMU is to a NIC),
 * so that a wrong bit ends in a syndrome and not in a wild access.
 */
#ifndef FS_KEYS_H
#define FS_KEYS_H

#include "stages/queue/wqe.h"

enum mkey_flags {
	MKEY_VALID = 1 << 0,
	MKEY_LOCAL_READ = 1 << 1,
	MKEY_LOCAL_WRITE = 1 << 2,
	MKEY_REMOTE_READ = 1 << 3,
	MKEY_REMOTE_WRITE = 1 << 4,
	MKEY_FLAGS = 0x1f,
	MKEY_SHIFT_BIT = 8, /* bits 8..15: log2 of the page size */
};

struct mkey {
	uint64_t id;     /* key in the low half, flags in the high half */
	uint64_t start;  /* first address, page-aligned */
	uint64_t len;    /* bytes */
	uint64_t pages;  /* first page entry in the low half, their number in the high half */
};

#define PTE_PRESENT 1ull

HD int page_shift_legal(uint32_t shift) { return shift == 12 || shift == 16 || shift == 21; }

/* A range of addresses that the engine may touch. */
struct window { uint64_t base, bytes; };
enum { WINDOWS = 2 };

/* The tables as the engine is given them. */
struct tables {
	const struct mkey *keys;
	const uint64_t *ptes;
	uint32_t nkeys, nptes;
	struct window win[WINDOWS];
};

/* A translated range: page 0's address, and where the others' stand. */
struct span {
	uint64_t page0;   /* address of the first page */
	uint64_t off;     /* of the first byte in it */
	uint32_t shift;
	uint32_t pte;     /* its page entry's index */
	uint32_t npages;  /* that the range touches */
	uint32_t pad;
	uint64_t *more;   /* scratch: addresses of pages 1.. at [k] */
};

HD uint64_t span_at(const struct span *s, uint64_t off)
{
	uint64_t pos = s->off + off, k = pos >> s->shift;

	return (k ? s->more[k] : s->page0) + (pos & (((uint64_t)1 << s->shift) - 1));
}

/* Bytes from `off` to the end of its page. */
HD uint64_t span_room(const struct span *s, uint64_t off)
{
	uint64_t size = (uint64_t)1 << s->shift;

	return size - ((s->off + off) & (size - 1));
}

/* Is this a page entry for a page of this size, in a window? */
HD int pte_ok(const struct tables *t, uint64_t pte, uint32_t shift)
{
	uint64_t size = (uint64_t)1 << shift, at = pte & ~(size - 1);
	int ok = 0;

	if ((pte & (size - 1)) != PTE_PRESENT)
		return 0;
	for (int i = 0; i < WINDOWS; i++)
		ok |= at - t->win[i].base < t->win[i].bytes && t->win[i].bytes - (at - t->win[i].base) >= size;
	return ok;
}

/* Loads a key's entry; 0 if the index is beyond the table. */
HD int key_load(const struct tables *t, uint32_t key, struct mkey *m)
{
	const struct mkey *p = t->keys + (key >> 8);
	uint64_t v[4];

	if (key >> 8 >= t->nkeys)
		return 0;
	ld64x2(&p->id, v);
	ld64x2(&p->len, v + 2);
	m->id = v[0];
	m->start = v[1];
	m->len = v[2];
	m->pages = v[3];
	return 1;
}

/* Checks an entry against a use of it and finds the first page entry. */
HD int key_use(const struct tables *t, const struct mkey *m, uint32_t key, uint32_t right,
	       uint64_t addr, uint64_t len, struct span *s)
{
	uint32_t flags = (uint32_t)(m->id >> 32);
	uint32_t shift = flags >> MKEY_SHIFT_BIT;
	uint32_t first = (uint32_t)m->pages, count = (uint32_t)(m->pages >> 32);
	uint64_t off = addr - m->start, mask;

	if ((uint32_t)m->id != key || !(flags & MKEY_VALID) || !(flags & right) ||
	    (flags & 0xff & ~MKEY_FLAGS) || !page_shift_legal(shift))
		return 0;
	mask = ((uint64_t)1 << shift) - 1;
	if (m->start & mask || off > m->len || len > m->len - off ||
	    first > t->nptes || count > t->nptes - first ||
	    (m->len + mask) >> shift != count)
		return 0;
	s->shift = shift;
	s->off = off & mask;
	s->pte = first + (uint32_t)(off >> shift);
	s->npages = (uint32_t)((s->off + len + mask) >> shift);
	return 1;
}

#endif
