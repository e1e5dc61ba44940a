/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's translation cache (HD): what a key's entry and a page entry said the last
 * time, in the engine's own memory (shared memory on a GPU, the thread's own on a CPU),
 * so that a compare of tags stands for the walk's two dependent loads.
 *
 * An entry is one page of one key: direct mapped, by the key's index plus the page's
 * number in its buffer; a new one takes the place of the old one. What it holds is a copy
 * of both table entries, and each use makes all checks on that copy which the walk makes on
 * the tables: rights, range and length are of the message and not of the page.
 *
 * Deregistration invalidates by a generation: its word in the tables' memory goes up
 * before the next doorbell is rung, and an entry of another generation is no hit. The
 * word is read behind the doorbell's acquire, beside the fetch of the WQE, so that a
 * message never meets what was taken back before its doorbell, and a hit doesn't wait.
 * All entries go at once: nobody says which key it was.
 *
 * Refused messages leave nothing behind, so a hit is of what was good once.
 */
#ifndef FS_CACHE_H
#define FS_CACHE_H

#include "stages/nic/check.h"

/*
 * In bytes: an entry, and the head before the first one.
 *   head   { lookups, hits } { generation of the message that the fast loop left, - } -
 *   entry  { page, key } { generation, page entry } { id, start } { len, pages }
 */
enum { CACHE_ENTRY = 64, CACHE_HEAD = 64, CACHE_MOST = 256 };
/* No page: addresses end before it. */
#define CACHE_NO_PAGE (~(uint64_t)0)

HD uint64_t cache_bytes(uint32_t entries) { return entries ? CACHE_HEAD + (uint64_t)entries * CACHE_ENTRY : 0; }

/* Near memory: addresses are of shared memory on a GPU, plain pointers on a CPU. */
HD uint64_t near_address(const void *p)
{
#ifdef __CUDA_ARCH__
	return (uint64_t)__cvta_generic_to_shared(p);
#else
	return (uint64_t)p;
#endif
}

HD void near_ld2(uint64_t at, uint64_t v[2])
{
#ifdef __CUDA_ARCH__
	asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];" : "=l"(v[0]), "=l"(v[1]) : "r"((uint32_t)at) : "memory");
#else
	v[0] = ((const uint64_t *)at)[0];
	v[1] = ((const uint64_t *)at)[1];
#endif
}

HD void near_st2(uint64_t at, uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.shared.v2.b64 [%0], {%1, %2};" : : "r"((uint32_t)at), "l"(a), "l"(b) : "memory");
#else
	((uint64_t *)at)[0] = a;
	((uint64_t *)at)[1] = b;
#endif
}

HD void cache_clear(const struct engine *e)
{
	near_st2(e->cache, 0, 0);
	near_st2(e->cache + 16, 0, 0);
	for (uint32_t i = 0; i <= e->cache_mask; i++)
		near_st2(e->cache + CACHE_HEAD + (uint64_t)i * CACHE_ENTRY, CACHE_NO_PAGE, 0);
}

/* Looks it up; a miss leaves what the entry held, which is nobody's. */
HD void cache_find(const struct engine *e, uint64_t gen, uint32_t key, uint64_t addr, const int far_side, struct cached *c)
{
	uint64_t from = far_side ? e->cache_from[1] : e->cache_from[0], tag[2], held[2], v[4];
	uint32_t i = ((key >> 8) + (uint32_t)((addr - from) >> e->cache_shift)) & e->cache_mask;

	c->at = e->cache + CACHE_HEAD + (uint64_t)i * CACHE_ENTRY;
	c->page = addr >> e->cache_shift;
	near_ld2(c->at, tag);
	near_ld2(c->at + 16, held);
	near_ld2(c->at + 32, v);
	near_ld2(c->at + 48, v + 2);
	c->hit = (uint32_t)(tag[0] == c->page) & (uint32_t)(tag[1] == key) & (uint32_t)(held[0] == gen);
	c->pte = held[1];
	c->key.id = v[0];
	c->key.start = v[1];
	c->key.len = v[2];
	c->key.pages = v[3];
}

/* After a walk that was good. A key of larger or smaller pages than the tags speak of
 * is walked for every time. */
HD void cache_put(const struct engine *e, uint64_t gen, uint32_t key, const struct cached *c, const struct span *s)
{
	if (s->shift != e->cache_shift)
		return;
	near_st2(c->at, c->page, key);
	near_st2(c->at + 16, gen, c->pte);
	near_st2(c->at + 32, c->key.id, c->key.start);
	near_st2(c->at + 48, c->key.len, c->key.pages);
}

/* What a message's record says of it: lookups, and hits among them. */
HD uint32_t cache_looked(uint32_t lookups, uint32_t hits) { return lookups << 8 | hits; }

HD void cache_count(const struct engine *e, uint32_t lookups, uint32_t hits)
{
	uint64_t n[2];

	near_ld2(e->cache, n);
	near_st2(e->cache, n[0] + lookups, n[1] + hits);
}

/* engine_check_of() by way of the cache, of a WQE of one block. What isn't found is walked for
 * as there, both sides at once. *look: what the message's record says. */
HD uint32_t engine_check_cached(const struct engine *e, const struct work *k, uint64_t gen, struct span *near_span,
				struct span *far_span, uint32_t *dep, uint32_t *look, const int inl)
{
	struct cached f, n = { { 0, 0, 0, 0 }, 0, 0, 0, 0 };
	uint32_t synd;

	cache_find(e, gen, k->rkey, k->raddr, 1, &f);
	if (!inl)
		cache_find(e, gen, k->lkey, k->laddr, 0, &n);
	if (UNLIKELY(!f.hit))
		key_load(key_at(&e->tab, k->rkey), &f.key);
	synd = engine_check_by(e, k, &f.key, near_span, far_span, dep, &f, &n, 1, inl);
	*look = cache_looked(inl ? 1 : 2, f.hit + n.hit);
	if (UNLIKELY(synd))
		return synd;
	if (UNLIKELY(!f.hit))
		cache_put(e, gen, k->rkey, &f, far_span);
	if (!inl && UNLIKELY(!n.hit))
		cache_put(e, gen, k->lkey, &n, near_span);
	return 0;
}

#endif
