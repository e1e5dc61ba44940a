/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One leader thread runs the path; what is wide (payloads, page tables, flushes)
 * is done by all lanes together. On a GPU an agent is a block of two warps: of the
 * first only the leader is alive, the second sleeps at a barrier until the leader
 * posts a job. (Lanes asleep in the leader's own warp would make every turn of its
 * poll loops a hundred cycles longer: the loops yield to them.) On a CPU the leader
 * does it all. HD.
 */
#ifndef FS_COOP_H
#define FS_COOP_H

#include "stages/queue/wqe.h"

struct coop { int lane, nlanes; };

enum { AGENT_THREADS = 64 };

/* Leader and lanes of a GPU agent meet: before a job and after it. */
HD void agent_meet(void)
{
#ifdef __CUDA_ARCH__
	asm volatile("barrier.sync 0;" : : : "memory");
#endif
}

/* Sum over the lanes, for all of them; a leader alone must not ask the others. */
HD uint64_t coop_sum(uint64_t x, struct coop c)
{
	(void)c;
#ifdef __CUDA_ARCH__
	if (c.nlanes == 1)
		return x;
	for (int i = 16; i; i >>= 1)
		x += __shfl_xor_sync(0xffffffffu, x, i);
#endif
	return x;
}

/* All lanes have come here, and see what the others did before. */
HD void coop_sync(struct coop c)
{
#ifdef __CUDA_ARCH__
	if (c.nlanes > 1)
		asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
#else
	(void)c;
#endif
}

/* The lanes for which it is true, a bit each. */
HD uint32_t coop_ballot(struct coop c, int x)
{
#ifdef __CUDA_ARCH__
	if (c.nlanes > 1)
		return __ballot_sync(0xffffffffu, x);
#endif
	(void)c;
	return x != 0;
}

/* A lane's value, for all of them. */
HD uint64_t coop_from(struct coop c, uint64_t x, int lane)
{
#ifdef __CUDA_ARCH__
	if (c.nlanes > 1)
		return __shfl_sync(0xffffffffu, x, lane);
#endif
	(void)c;
	(void)lane;
	return x;
}

/* Bits of a mask; the lowest one, of a mask that has one. */
HD uint32_t bits_of(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popc(x);
#else
	return (uint32_t)__builtin_popcount(x);
#endif
}

HD int lowest_bit(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return __ffs((int)x) - 1;
#else
	return __builtin_ctz(x);
#endif
}

HD int highest_bit(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return 31 - __clz((int)x);
#else
	return 31 - __builtin_clz(x);
#endif
}

/* ---- jobs: every lane calls these together ---- */

/* Fills a slot with a message's words; the last one may be cut. */
HD void job_fill(uint8_t *d, uint64_t bytes, uint64_t message, struct coop c)
{
	uint64_t words = bytes / 8, i;

	for (i = (uint64_t)c.lane; i < words; i += (uint64_t)c.nlanes)
		st64(d + i * 8, payload_word(message, i));
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (i = words * 8 + (uint64_t)c.lane; i < bytes; i += (uint64_t)c.nlanes)
		st8(d + i, (uint8_t)(payload_word(message, words) >> (i & 7) * 8));
}

/* How many words (or bytes of a cut last word) are not the message's. */
HD uint64_t job_check(const uint8_t *d, uint64_t bytes, uint64_t message, struct coop c)
{
	uint64_t words = bytes / 8, bad = 0, i;

#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
	for (i = (uint64_t)c.lane; i < words; i += (uint64_t)c.nlanes)
		bad += ld64(d + i * 8) != payload_word(message, i);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (i = words * 8 + (uint64_t)c.lane; i < bytes; i += (uint64_t)c.nlanes)
		bad += ld8(d + i) != (uint8_t)(payload_word(message, words) >> (i & 7) * 8);
	return coop_sum(bad, c);
}

/* Copies a block's marks to their place. */
HD void job_flush(uint64_t *d, const uint64_t *s, uint64_t words, struct coop c)
{
	for (uint64_t i = (uint64_t)c.lane; i < words; i += (uint64_t)c.nlanes)
		d[i] = s[i];
}

#endif
