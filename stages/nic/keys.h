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

HD int page_shift_legal(uint32_t shift) { return (shift == 12) | (shift == 16) | (shift == 21); }

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

/* Where in each window a page of this size may begin: from base to base + most.
 * Where none fits base is an address that no page has. */
struct reach { uint64_t base[WINDOWS], most[WINDOWS]; };

HD struct reach reach_of(const struct tables *t, uint32_t shift)
{
	uint64_t size = (uint64_t)1 << (shift & 63);
	struct reach r;

	for (int i = 0; i < WINDOWS; i++) {
		int fits = t->win[i].bytes >= size;

		r.base[i] = fits ? t->win[i].base : ~(uint64_t)0;
		r.most[i] = fits ? t->win[i].bytes - size : 0;
	}
	return r;
}

/* Is this a page entry for a page of this size, in a window? */
HD int pte_ok(const struct reach *r, uint64_t pte, uint32_t shift)
{
	uint64_t low = ((uint64_t)1 << (shift & 63)) - 1, at = pte & ~low;
	uint32_t ok = 0;

	for (int i = 0; i < WINDOWS; i++)
		ok |= (uint32_t)(at - r->base[i] <= r->most[i]);
	return ok & (uint32_t)((pte & low) == PTE_PRESENT);
}

/* Where a key's entry lies; an index beyond the table is answered with entry 0,
 * which is nobody's: its own key can't be equal. */
HD const struct mkey *key_at(const struct tables *t, uint32_t key)
{
	return t->keys + (key >> 8 < t->nkeys ? key >> 8 : 0);
}

HD void key_load(const struct mkey *p, struct mkey *m)
{
	uint64_t v[4];

	ld64x2(&p->id, v);
	ld64x2(&p->len, v + 2);
	m->id = v[0];
	m->start = v[1];
	m->len = v[2];
	m->pages = v[3];
}

/* The span that an address begins in, and where its first page entry lies; says
 * nothing yet of whether the key allows it. */
HD const uint64_t *key_span(const struct tables *t, const struct mkey *m, uint64_t addr, uint64_t len,
			    struct span *s)
{
	uint64_t off = addr - m->start, mask;

	s->shift = (uint32_t)(m->id >> (32 + MKEY_SHIFT_BIT)) & 63;
	mask = ((uint64_t)1 << s->shift) - 1;
	s->off = off & mask;
	s->pte = (uint32_t)m->pages + (uint32_t)(off >> s->shift);
	s->npages = (uint32_t)((s->off + len + mask) >> s->shift);
	return t->ptes + (s->pte < t->nptes ? s->pte : 0);
}

/* Is this use of a key wrong? All checks at once, without a branch: while the
 * page entry is on its way they cost nothing. */
HD uint32_t key_wrong(const struct tables *t, const struct mkey *m, uint32_t key, uint32_t right,
		      uint64_t addr, uint64_t len)
{
	uint32_t flags = (uint32_t)(m->id >> 32), shift = flags >> MKEY_SHIFT_BIT;
	uint32_t first = (uint32_t)m->pages, count = (uint32_t)(m->pages >> 32);
	uint64_t off = addr - m->start, mask = ((uint64_t)1 << (shift & 63)) - 1;

	return (uint32_t)((uint32_t)m->id != key) | (uint32_t)((flags & (MKEY_VALID | right)) != (MKEY_VALID | right)) |
	       (flags & 0xff & ~(uint32_t)MKEY_FLAGS) | (uint32_t)!page_shift_legal(shift) |
	       (uint32_t)((m->start & mask) != 0) | (uint32_t)(off > m->len) | (uint32_t)(len > m->len - off) |
	       (uint32_t)(first > t->nptes) | (uint32_t)(count > t->nptes - first) |
	       (uint32_t)((m->len + mask) >> (shift & 63) != count);
}

#endif
