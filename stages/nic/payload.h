/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine's leader does alone with a message behind its checks (HD): small
 * payloads, the CQE, the record of its marks.
 */
#ifndef FS_PAYLOAD_H
#define FS_PAYLOAD_H

#include "stages/nic/cache.h"

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

/* Byte `i` of an inline payload, which begins at byte 36 of the WQE; `second` is its
 * second block. */
HD uint8_t inline_byte(const uint64_t w[WQE_WORDS], const uint64_t *second, uint32_t i)
{
	uint32_t at = 36 + i;
	uint64_t x = at < 40 ? w[4] : at < 48 ? w[5] : at < 56 ? w[6] : !second || at < 64 ? w[7] : second[(at - 64) >> 3];

	return (uint8_t)(x >> (at & 7) * 8);
}

/* What is left of an inline payload from byte `done` on, by bytes. `second` is its second
 * block; NULL, a literal, where it has none. */
HD void engine_inline_odd_of(const struct work *k, const uint64_t *second, const struct span *dst, uint32_t done)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (; done < k->len; done++)
		st8((void *)span_at(dst, done), inline_byte(k->w, second, done));
}

HD void engine_inline_odd(const struct work *k, const struct span *dst, uint32_t done)
{
	engine_inline_odd_of(k, 0, dst, done);
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

/* One of two blocks by words, which has 29 bytes at least: eleven words and a half at most. */
HD void engine_inline_two(const struct work *k, const uint64_t second[WQE_WORDS], const struct span *dst)
{
	uint64_t d = dst->page0 + dst->off, last = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < 12; i++) {
		uint64_t a = i < 4 ? k->w[4 + i] : second[i - 4], b = i < 3 ? k->w[5 + i] : i < 11 ? second[i - 3] : 0;
		uint64_t p = a >> 32 | b << 32;

		if (i < 3 || (i < 11 && i * 8 + 8 <= k->len))
			st64((void *)(d + i * 8), p);
		last = k->len >> 3 == i ? p : last;
	}
	if (k->len & 4)
		st32((void *)(d + (k->len & ~7u)), (uint32_t)last);
}

#ifndef __CUDA_ARCH__
/* Raises an eventfd (soft.c). */
void soft_event(int fd);
#endif

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

/* Behind a CQE and its mark: wakes a consumer that has armed the CQ and sleeps. A CPU's alone. */
HD void engine_raise(const struct engine *e, uint64_t m)
{
#ifndef __CUDA_ARCH__
	if (UNLIKELY(e->armed != 0) && __atomic_exchange_n(e->armed, 0, __ATOMIC_ACQ_REL) &&
	    !(e->fault == EF_LOST_EVENT && m >= e->fault_at))
		soft_event(e->event);
#else
	(void)e;
	(void)m;
#endif
}

/* The usual inline payload: one page, whole words. `second`: its second block; NULL, a
 * literal, where it has none. */
HD void engine_payload_of(struct engine_state *s, const struct work *k, const uint64_t *second,
			  const struct span *far_span, uint32_t dep, struct late *t, const int instr)
{
	struct moments mo = { &s->k, 0, 0 };

	plant_after(&s->k, MARK_TRANSLATED, dep, instr);
	sink_stamp_after(&s->k, MARK_TRANSLATED, dep, &t->translated, instr);
	moment_read(&mo, 0, instr);
	if (second)
		engine_inline_two(k, second, far_span);
	else
		engine_inline(k, far_span);
	moment_written(&mo, instr);
	t->read = mo.read;
	t->written = mo.written;
}

HD void engine_payload_inline(struct engine_state *s, const struct work *k,
			      const struct span *far_span, uint32_t dep, struct late *t, const int instr)
{
	engine_payload_of(s, k, 0, far_span, dep, t, instr);
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
