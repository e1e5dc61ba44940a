/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying a message's payload into memory that stays registered before it is sent (HD): what an issuer does whose
 * data lies where its NIC may not read. It stands where sources are filled, between two messages and outside the
 * timed loop: the fill goes to the memory that is copied from, then all lanes copy.
 *
 *   fill      lanes write the source; the leader waits until it is there, so that the copy finds it ready
 *   begin     the leader's clock; copy   lanes, while the leader stands at the barrier
 *   end       the leader's clock, its fence, its clock again
 *
 * Order. The lanes' stores come before the barrier at which they meet the leader, and so before the leader's release
 * behind it; a release is cumulative: it covers what its thread has observed as it covers its own stores. The
 * doorbell, stored behind it by the same thread, is what the NIC acquires. So a payload is ordered whatever `ordering` says of
 * the WQE. (On a CPU there is one lane, the leader, and the doorbell's store releases; with ordering=none nothing does.)
 */
#ifndef FS_STAGING_H
#define FS_STAGING_H

#include "stages/issuer/post.h"

enum { STAGED_COPY, STAGED_FENCE, STAGED_WORDS };

struct issue_staging {
	uint8_t *source;              /* slots as the local buffer has them, in memory that isn't registered */
	uint64_t *ticks;              /* [messages + 1][STAGED_WORDS], of the leader's clock; the last is the warm-up's */
	uint64_t lost_at;             /* this measured message isn't copied; ~0: each is */
};

enum { COPY_UNROLL = 8 };

/* Both ends 16-byte aligned. Several loads of each lane are under way at a time; a CPU by itself copies as a CPU does. */
HD void job_copy(uint8_t *d, const uint8_t *s, uint64_t bytes, struct coop c)
{
	uint64_t step = (uint64_t)c.nlanes * 16, whole = bytes & ~(uint64_t)15;

#if !defined(__CUDA_ARCH__) && !defined(__SANITIZE_THREAD__) /* with ordering=none the NIC's reads race with it, which that order is there to show */
	if (c.nlanes == 1) {
		__builtin_memcpy(d, s, bytes);
		return;
	}
#endif
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint64_t at = (uint64_t)c.lane * 16; at < whole; at += step * COPY_UNROLL) {
		uint64_t v[COPY_UNROLL][2];

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int u = 0; u < COPY_UNROLL; u++)
			if (at + (uint64_t)u * step < whole)
				ld64x2(s + at + (uint64_t)u * step, v[u]);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int u = 0; u < COPY_UNROLL; u++)
			if (at + (uint64_t)u * step < whole)
				st64x2(d + at + (uint64_t)u * step, v[u][0], v[u][1]);
	}
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint64_t i = whole + (uint64_t)c.lane; i < bytes; i += (uint64_t)c.nlanes)
		st8(d + i, ld8(s + i));
}

/* All lanes: a job of the kind IJ_STAGE. */
HD void staging_work(const struct issue_job *j, struct coop c)
{
	job_copy(j->at, (const uint8_t *)j->from, j->bytes, c);
}

/* Where the job's message has its ticks. */
HD uint64_t staging_index(const struct issuer *s)
{
	return s->first == ~(uint64_t)0 ? s->a->messages : s->job->message - s->first;
}

/* The leader, with a fill in the job: it is of the memory that is copied from. */
HD void staging_fill(struct issuer *s, const struct issue_staging *g)
{
	s->job->at = slot_of(g->source, s->a, s->job->message);
}

/* Behind that fill: the copy is in the job. The leader's clock. */
HD uint64_t staging_begin(struct issuer *s, const struct issue_staging *g)
{
	struct issue_job *j = s->job;
	uint64_t i = staging_index(s);

	j->kind = IJ_STAGE;
	j->from = (const uint64_t *)j->at;
	j->at = slot_of(s->a->local, s->a, j->message);
	if (i == g->lost_at)
		j->bytes = 0;
	release_sys();
	fence_sc_gpu();
	/* a fence is over when what stands behind it goes on */
	st64(g->ticks + i * STAGED_WORDS + STAGED_FENCE, 0);
	return ticks(s->h.k.gettime);
}

/* Behind the copy. The fence is one more than a message in registered memory has, since that one's own orders what is copied
 * too; but without it the copy would go on into the message. The lead fences once more before it goes on
 * (issuer_filled), so that neither of these two words is on its way at intent. */
HD void staging_end(struct issuer *s, const struct issue_staging *g, uint64_t t0)
{
	uint64_t *to = g->ticks + staging_index(s) * STAGED_WORDS, copied = ticks(s->h.k.gettime), fenced;

	release_sys();
	st64(to + STAGED_COPY, copied - t0);
	fenced = ticks(s->h.k.gettime);
	st64(to + STAGED_FENCE, fenced - copied);
	s->job->kind = IJ_FILL;
}

#endif
