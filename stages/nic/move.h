/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads on their way through the software NIC, by all lanes of it (HD): page
 * walks, copies in segments, flushes of marks. Every word is moved by a relaxed
 * system-scope access of its own.
 */
#ifndef FS_MOVE_H
#define FS_MOVE_H

#include "stages/nic/keys.h"
#include "stages/queue/coop.h"
#include "stages/queue/pace.h"

/* A payload on its way: what all lanes must know. */
struct move {
	struct span src, dst;
	uint64_t bytes;
	uint32_t segment;
};

/* The job that the leader hands to all lanes. */
enum engine_job_kind { EJ_NONE, EJ_EXIT, EJ_XLAT, EJ_MOVE, EJ_FLUSH };
struct engine_job {
	int kind;
	struct move move;
	struct tables tab;       /* a copy, set once */
	uint64_t second[WQE_WORDS]; /* the second block of the message's WQE, if it has one */
	struct sink k;           /* the leader's sink, lent for the job */
	struct planter planter;
	uint64_t read, written;   /* the leader's moments */
	uint64_t result;         /* of a walk: bit 0 a bad page of the source's, bit 1 of the target's */
	uint64_t *to;
	const uint64_t *from;
	uint64_t words;
};

/* ---- wide work ---- */

/* Page entries 1.. of one span into its scratch; how many were wrong. */
HD uint64_t engine_pages(const struct tables *t, const struct span *s, struct coop c)
{
	struct reach r = reach_of(t, s->shift);
	uint64_t bad = 0;

	for (uint32_t k = 1 + (uint32_t)c.lane; k < s->npages; k += (uint32_t)c.nlanes) {
		uint64_t pte = ld64(t->ptes + s->pte + k);

		bad += !pte_ok(&r, pte, s->shift);
		s->more[k] = pte & ~(((uint64_t)1 << s->shift) - 1);
	}
	return coop_sum(bad, c);
}

/* The two moments inside a move, and their plants. Only the leader has a sink
 * (k not NULL), and only for the last piece of a message. */
struct moments { const struct sink *k; uint64_t read, written; };

HD void moment_read(struct moments *m, uint32_t v, const int instr)
{
	if (instr != BARE && m->k) {
		plant_after(m->k, MARK_READ, v, instr);
		m->read = ticks_after(m->k->gettime, v);
		plant(m->k, MARK_WRITTEN, instr);
	}
}

HD void moment_written(struct moments *m, const int instr)
{
	if (instr != BARE && m->k)
		m->written = ticks(m->k->gettime);
}

enum { MOVE_UNROLL = 8 };

/* One piece, both ends inside a page: 16-byte accesses where both addresses
 * allow it, several in flight. `end`: the message's last piece. */
HD void move_wide(uint8_t *d, const uint8_t *s, uint64_t bytes, struct coop c,
		  struct moments *m, int end, const int instr)
{
	uint64_t step = (uint64_t)c.nlanes * 16, whole = bytes & ~(uint64_t)15;

	for (uint64_t at = 0; at < whole; at += step * MOVE_UNROLL) {
		uint64_t v[MOVE_UNROLL][2];
		int last = at + step * MOVE_UNROLL >= whole;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int u = 0; u < MOVE_UNROLL; u++) {
			uint64_t i = at + (uint64_t)u * step + (uint64_t)c.lane * 16;

			v[u][0] = 0;
			v[u][1] = 0;
			if (i < whole)
				ld64x2(s + i, v[u]);
		}
		if (end && last && whole == bytes) {
			uint64_t all = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
			for (int u = 0; u < MOVE_UNROLL; u++)
				all |= v[u][0] | v[u][1];
			moment_read(m, (uint32_t)all, instr);
		}
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int u = 0; u < MOVE_UNROLL; u++) {
			uint64_t i = at + (uint64_t)u * step + (uint64_t)c.lane * 16;

			if (i < whole)
				st64x2(d + i, v[u][0], v[u][1]);
		}
	}
	if (whole != bytes) {
		uint64_t i = whole + (uint64_t)c.lane;
		uint8_t v = i < bytes ? ld8(s + i) : 0, w = 0;

		/* at most 15 bytes: a lane each, or all of them by a lone leader */
		if (c.nlanes == 1) {
			for (; i + 1 < bytes; i++) {
				st8(d + i, v);
				v = ld8(s + i + 1);
			}
		}
		w = v;
		if (end)
			moment_read(m, w, instr);
		if (i < bytes)
			st8(d + i, w);
	}
	if (end)
		moment_written(m, instr);
}

/* The same for addresses that are not 16-byte aligned, or short. */
HD void move_narrow(uint8_t *d, const uint8_t *s, uint64_t bytes, struct coop c,
		    struct moments *m, int end, const int instr)
{
	uint64_t words = (((uintptr_t)d | (uintptr_t)s) & 7) ? 0 : bytes / 8, i;
	uint64_t last = 0;

	for (i = (uint64_t)c.lane; i + (uint64_t)c.nlanes < words; i += (uint64_t)c.nlanes)
		st64(d + i * 8, ld64(s + i * 8));
	if (i < words) {
		last = ld64(s + i * 8);
		if (end && words * 8 == bytes)
			moment_read(m, (uint32_t)last, instr);
		st64(d + i * 8, last);
	} else if (end && words * 8 == bytes) {
		moment_read(m, (uint32_t)last, instr);
	}
	if (words * 8 != bytes) {
		uint8_t b = 0;

		for (i = words * 8 + (uint64_t)c.lane; i + (uint64_t)c.nlanes < bytes; i += (uint64_t)c.nlanes)
			st8(d + i, ld8(s + i));
		if (i < bytes)
			b = ld8(s + i);
		if (end)
			moment_read(m, b, instr);
		if (i < bytes)
			st8(d + i, b);
	}
	if (end)
		moment_written(m, instr);
}

HD void engine_move(const struct move *mv, struct coop c, struct moments *m, const int instr)
{
	uint64_t off = 0;

	while (off < mv->bytes) {
		uint64_t n = mv->bytes - off, a = span_room(&mv->src, off), b = span_room(&mv->dst, off);
		const uint8_t *s = (const uint8_t *)span_at(&mv->src, off);
		uint8_t *d = (uint8_t *)span_at(&mv->dst, off);

		n = n < a ? n : a;
		n = n < b ? n : b;
		n = n < mv->segment ? n : mv->segment;
		off += n;
		if ((((uintptr_t)s | (uintptr_t)d) & 15) || n < 16)
			move_narrow(d, s, n, c, m, off == mv->bytes, instr);
		else
			move_wide(d, s, n, c, m, off == mv->bytes, instr);
	}
}

/* All lanes: the job that the leader has posted. The moments of a move are taken by
 * lane 0, on the leader's SM and so by its clock. */
HD void engine_work(struct engine_job *j, struct coop c, const int instr)
{
	struct moments m = { c.lane ? 0 : &j->k, 0, 0 };
	uint64_t r = 0;

	switch (j->kind) {
	case EJ_XLAT:
		r = engine_pages(&j->tab, &j->move.src, c) != 0;
		r |= (uint64_t)(engine_pages(&j->tab, &j->move.dst, c) != 0) << 1;
		break;
	case EJ_MOVE:
		engine_move(&j->move, c, &m, instr);
		break;
	case EJ_FLUSH:
		job_flush(j->to, j->from, j->words, c);
		break;
	}
	if (!c.lane) {
		j->result = r;
		j->read = m.read;
		j->written = m.written;
	}
}

#endif
