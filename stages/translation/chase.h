/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependent loads over lines of memory, for both sides (HD). n lines lie so many to a
 * page; each holds the address of the next one of a single random cycle through all
 * of them, so that nothing but the loaded value says where to go on.
 *
 * Line i lies in page i / share, at the place i modulo the places of a page. So every
 * spread of the same lines (one a page, four a page, all places of a page) uses the
 * same sets of every cache whose sets are chosen by bits below the page's size: what
 * differs is the number of pages.
 */
#ifndef FS_CHASE_H
#define FS_CHASE_H

#include "stages/queue/pace.h"

struct lay {
	uint64_t base;        /* address, page-aligned */
	uint64_t lines;       /* n, 2.. */
	uint64_t laid;        /* of them, along the cycle, that are written; <= lines */
	uint64_t seed;
	uint32_t page_shift, line_shift;
	uint32_t share_shift; /* log2 of the lines in a page */
	uint32_t half_bits;   /* 2^(2 * half_bits) >= lines: lay_bits() */
};

HD uint32_t lay_bits(uint64_t lines)
{
	uint32_t half = 1;

	while (half < 31 && (uint64_t)1 << 2 * half < lines)
		half++;
	return half;
}

HD uint64_t lay_at(const struct lay *l, uint64_t i)
{
	uint64_t places = (uint64_t)1 << (l->page_shift - l->line_shift);

	return l->base + ((i >> l->share_shift) << l->page_shift) + ((i & (places - 1)) << l->line_shift);
}

/*
 * A permutation of 0..lines-1 that every thread can compute for itself: four rounds
 * of a Feistel network over 2 * half_bits bits, and again while the result is beyond
 * the lines (which ends, since the network permutes). Any round function would do;
 * this one multiplies and folds.
 */
HD uint64_t lay_order(const struct lay *l, uint64_t i)
{
	uint32_t mask = ((uint32_t)1 << l->half_bits) - 1;

	do {
		uint32_t a = (uint32_t)(i >> l->half_bits) & mask, b = (uint32_t)i & mask;

		for (uint32_t k = 0; k < 4; k++) {
			uint64_t h = (b + 1 + l->seed + ((uint64_t)k << 32)) * 0x9e3779b97f4a7c15u;
			uint32_t t = a ^ ((uint32_t)(h >> 32 ^ h >> 15) & mask);

			a = b;
			b = t;
		}
		i = (uint64_t)a << l->half_bits | b;
	} while (i >= l->lines);
	return i;
}

/* The address of the k-th line of the cycle. */
HD uint64_t lay_kth(const struct lay *l, uint64_t k)
{
	return lay_at(l, lay_order(l, k));
}

/* Writes the k-th line: where the next one is. */
HD void lay_line(const struct lay *l, uint64_t k)
{
	st64((void *)lay_kth(l, k), lay_kth(l, k + 1 == l->lines ? 0 : k + 1));
}

/* ---- the chase ---- */

enum { CHASE_UNROLL = 8 };

struct chase {
	uint64_t start;              /* address of the first line */
	uint64_t warm;               /* loads before the first sample */
	uint32_t chases, steps;      /* samples, and loads of each; steps and warm are multiples of CHASE_UNROLL */
	int32_t gettime;
	uint32_t settle;             /* wait until the clock's rate is steady */
	uint64_t *samples;           /* [chases], ticks of `steps` loads */
	struct clock_pair *pairs;    /* [2], around the samples */
	uint64_t *end;               /* [2]: where the chase came to; 1: the clock never settled */
};

HD uint64_t chase_go(uint64_t p, uint64_t steps)
{
	for (uint64_t s = 0; s < steps; s += CHASE_UNROLL) {
		p = ld64((const void *)p);
		p = ld64((const void *)p);
		p = ld64((const void *)p);
		p = ld64((const void *)p);
		p = ld64((const void *)p);
		p = ld64((const void *)p);
		p = ld64((const void *)p);
		p = ld64((const void *)p);
	}
	return p;
}

/* Both readings of the clock wait for the load before them. */
HD void chase_run(const struct chase *c)
{
	struct settling g = { clock_pair_read(c->gettime), 0, 0, 0, 0 };
	uint64_t p = c->start, t;
	int calm = 1;

	while (c->settle && !(calm = settled(&g, clock_pair_read(c->gettime))))
		wait_ticks(4096, c->gettime);
	p = chase_go(p, c->warm);
	c->pairs[0] = clock_pair_read(c->gettime);
	for (uint32_t i = 0; i < c->chases; i++) {
		t = ticks_after(c->gettime, (uint32_t)p);
		p = chase_go(p, c->steps);
		c->samples[i] = ticks_after(c->gettime, (uint32_t)p) - t;
	}
	c->pairs[1] = clock_pair_read(c->gettime);
	c->end[0] = p;
	c->end[1] = calm < 0;
}

/* On a GPU: tlb_gpu.cu. The lines are written by kernels of `owner`, which reaches
 * them; then one thread of `device` chases. Both wait for the end. */
int chase_gpu_lay(const struct lay *l, int owner, double patience_s);
int chase_gpu_run(const struct chase *c, int device, double patience_s);

#endif
