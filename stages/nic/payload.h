/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine's leader does alone with a message behind its checks (HD): small
 * payloads, the CQE, the record of its marks.
 */
#ifndef FS_PAYLOAD_H
#define FS_PAYLOAD_H

#include "stages/nic/check.h"

/* Can the leader move it alone, with a few whole words and no page in between? */
HD int engine_small(const struct span *src, const struct span *dst, uint32_t bytes)
{
	return bytes <= ENGINE_SMALL && !(bytes & 7) && (src->npages | dst->npages) == 1 &&
	       !((src->off | dst->off) & 7);
}

HD void engine_move_small(const struct span *src, const struct span *dst, uint32_t bytes,
			  struct moments *m, const int instr)
{
	const uint8_t *s = (const uint8_t *)(src->page0 + src->off);
	uint8_t *d = (uint8_t *)(dst->page0 + dst->off);
	uint64_t v[ENGINE_SMALL / 8], all = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < ENGINE_SMALL / 8; i++)
		v[i] = i * 8 < bytes ? ld64(s + i * 8) : 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < ENGINE_SMALL / 8; i++)
		all |= v[i];
	moment_read(m, (uint32_t)all, instr);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < ENGINE_SMALL / 8; i++)
		if (i * 8 < bytes)
			st64(d + i * 8, v[i]);
	moment_written(m, instr);
}

/* Byte `i` of an inline payload, which begins at byte 36 of the WQE. */
HD uint8_t inline_byte(const uint64_t w[WQE_WORDS], uint32_t i)
{
	uint32_t at = 36 + i;
	uint64_t x = at < 40 ? w[4] : at < 48 ? w[5] : at < 56 ? w[6] : w[7];

	return (uint8_t)(x >> (at & 7) * 8);
}

/* What is left of an inline payload from byte `done` on, by bytes. */
HD void engine_inline_odd(const struct work *k, const struct span *dst, uint32_t done)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (; done < k->len; done++)
		st8((void *)span_at(dst, done), inline_byte(k->w, done));
}

/* Can an inline payload be stored by words, if it lies on one page? (Pages and
 * ranges begin at multiples of 8.) */
HD int engine_inline_words(const struct work *k)
{
	return !(k->raddr & 7) & !(k->len & 3);
}

/* A usual one: three words and a half at most, and no branch. */
HD void engine_inline(const struct work *k, const struct span *dst)
{
	const uint64_t *w = k->w;
	uint64_t p[4] = { w[4] >> 32 | w[5] << 32, w[5] >> 32 | w[6] << 32, w[6] >> 32 | w[7] << 32, w[7] >> 32 };
	uint64_t d = dst->page0 + dst->off;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < 3; i++)
		if (i * 8 + 8 <= k->len)
			st64((void *)(d + i * 8), p[i]);
	if (k->len & 4) { /* one store: even those that are not done take their time */
		uint32_t i = k->len >> 3;

		st32((void *)(d + i * 8), (uint32_t)(i == 0 ? p[0] : i == 1 ? p[1] : i == 2 ? p[2] : p[3]));
	}
}

/* The CQE's body, its order, and its last word. `bytes` is what was moved. */
HD void engine_cqe(const struct engine *e, struct engine_state *s, uint64_t m, uint64_t w0,
		   uint32_t bytes, uint32_t syndrome, const int instr)
{
	uint8_t *p = e->cq + (uint64_t)(s->cqes & ((1u << e->log_ncqe) - 1)) * CQE_SIZE;
	uint32_t owner = s->cqes >> e->log_ncqe & 1;

	st64x2(p, 0, 0);
	st64x2(p + 16, 0, 0);
	st64x2(p + 32, 0, cqe_word5(bytes));
	st64(p + 48, syndrome ? cqe_word6_error(0, syndrome) : 0);
	release_sys();
	plant(&s->k, MARK_COMPLETED, instr);
	st64_published(p + 56, cqe_word7(ctrl_opcode(w0), e->qpn, m,
					 syndrome ? CQE_REQ_ERR : CQE_REQ, owner));
	s->cqes++;
}

/* The usual inline payload: one page, whole words, and what is left in bytes. */
HD void engine_payload_inline(struct engine_state *s, const struct work *k,
			      const struct span *far_span, uint32_t dep, struct late *t, const int instr)
{
	struct moments mo = { &s->k, 0, 0 };

	plant_after(&s->k, MARK_TRANSLATED, dep, instr);
	sink_stamp_after(&s->k, MARK_TRANSLATED, dep, &t->translated, instr);
	moment_read(&mo, 0, instr);
	engine_inline(k, far_span);
	moment_written(&mo, instr);
	t->read = mo.read;
	t->written = mo.written;
}

/* A message without payload passes the same marks. */
HD void engine_no_payload(const struct engine_state *s, struct late *t, const int instr)
{
	plant(&s->k, MARK_TRANSLATED, instr);
	sink_stamp(&s->k, MARK_TRANSLATED, &t->translated, instr);
	plant(&s->k, MARK_READ, instr);
	sink_stamp(&s->k, MARK_READ, &t->read, instr);
	plant(&s->k, MARK_WRITTEN, instr);
	sink_stamp(&s->k, MARK_WRITTEN, &t->written, instr);
}

HD void engine_put(const struct engine_state *s, uint64_t m, const struct late *t, const int instr)
{
	uint64_t at = sink_at(&s->k, m);
	uint32_t mask = instr == ALL ? ~0u : s->k.mask;

	if (mask >> MARK_SEEN & 1)
		sink_put(at, NS_SEEN, t->seen);
	if (mask >> MARK_STARTED & 1)
		sink_put(at, NS_STARTED, t->started);
	if (mask >> MARK_FETCHED & 1)
		sink_put(at, NS_FETCHED, t->fetched);
	if (mask >> MARK_TRANSLATED & 1)
		sink_put(at, NS_TRANSLATED, t->translated);
	if (mask >> MARK_READ & 1)
		sink_put(at, NS_READ, t->read);
	if (mask >> MARK_WRITTEN & 1)
		sink_put(at, NS_WRITTEN, t->written);
	if (mask >> MARK_COMPLETED & 1)
		sink_put(at, NS_COMPLETED, t->completed);
}

#endif
