/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC's engine, one code for a CPU thread and a GPU thread (HD).
 *
 * It is given base addresses and the doorbell's value and nothing else. It
 * fetches the WQE from memory, checks it as strictly as hardware, walks key and
 * page tables in memory, moves the payload in segments and writes a CQE. After
 * an error the queue flushes: every later WQE ends with syndrome 0x05.
 *
 * Steps, and why each order stands there:
 *   1. the doorbell is loaded relaxed; when it has changed, acquire: what its
 *      writer released is visible now, the WQE above all;
 *   2. the WQE is fetched as eight relaxed words; an index of an earlier lap is
 *      a stale fetch (the writer ordered too little): counted, fetched again;
 *   3. payload: relaxed loads, relaxed stores;
 *   4. the CQE's body, then a system-scope release, then its last word: whoever
 *      acquires the owner bit may read the payload.
 */
#ifndef FS_ENGINE_H
#define FS_ENGINE_H

#include "stages/nic/keys.h"
#include "stages/queue/coop.h"
#include "stages/queue/sink.h"

enum {
	ENGINE_REFETCH = 1 << 17,  /* stale fetches before a WQE counts as bad */
	ENGINE_SMALL = 64,         /* bytes that the leader moves alone */
};

/* What the engine does wrong on purpose. */
enum engine_fault {
	EF_NONE, EF_DEAD, EF_LOST_DOORBELL, EF_STALE_RECORD, EF_ERROR_CQE, EF_LOST_CQE, EF_SLOW
};

struct engine {
	const uint8_t *wq;       /* WQEBBs, 1 << log_n of them */
	const uint8_t *dbrec;
	const uint8_t *db;
	uint8_t *cq;             /* CQEs, 1 << log_ncqe of them */
	uint32_t log_n, log_ncqe;
	uint32_t qpn;
	uint32_t segment;        /* bytes of one DMA */
	uint32_t recover_every;  /* every so many doorbells the record is read instead; 0: never */
	uint32_t fault;          /* enum engine_fault */
	uint64_t fault_at;       /* the message that it meets first */
	struct tables tab;
	uint64_t *xlat;          /* scratch for page addresses, xlat_pages for each side */
	uint32_t xlat_pages;
	uint32_t flush_keep;     /* messages that `marks` holds, a multiple of the block */
	uint64_t *marks;         /* [flush_keep][NIC_SLOTS], message m at m % flush_keep */
	struct clock_pair *pairs; /* one a block, block b at b % (flush_keep / block) */
	struct sink_conf sink;
};

/* What it counted; written to memory when it stops. */
struct engine_status {
	uint64_t doorbells, wqes, cqes;
	uint64_t stale_wqe;      /* fetches that found an earlier lap */
	uint64_t stale_record;   /* recoveries that found a record behind the doorbell */
	uint64_t odd_doorbells;  /* values that announce nothing: foreign, or out of range */
	uint64_t last[NIC_SLOTS]; /* messages that reached each mark */
	uint64_t syndrome;       /* of the first error, 0: none */
	uint64_t smid;           /* the SM that ran it */
	struct clock_pair begin; /* both clocks when it started */
};

struct engine_state {
	uint64_t db;             /* the last value seen */
	uint64_t pi;             /* next message to work on */
	uint32_t error;          /* flushing since */
	struct engine_status st;
	struct sink k;
};

/* A payload on its way: what all lanes must know. */
struct move {
	struct span src, dst;
	uint64_t bytes;
	uint32_t segment;
	uint32_t syndrome_src, syndrome_dst;
};

/* The job that the leader hands to the other lanes. */
enum engine_job_kind { EJ_EXIT, EJ_XLAT, EJ_MOVE, EJ_FLUSH };
struct engine_job {
	int kind;
	struct move move;
	uint64_t *to;
	const uint64_t *from;
	uint64_t words;
};

/* ---- wide work ---- */

/* Page entries 1.. of one span into its scratch; how many were wrong. */
HD uint64_t engine_pages(const struct tables *t, const struct span *s, struct coop c)
{
	uint64_t bad = 0;

	for (uint32_t k = 1 + (uint32_t)c.lane; k < s->npages; k += (uint32_t)c.nlanes) {
		uint64_t pte = ld64(t->ptes + s->pte + k);

		bad += !pte_ok(t, pte, s->shift);
		s->more[k] = pte & ~(((uint64_t)1 << s->shift) - 1);
	}
	return coop_sum(bad);
}

/* The two moments inside a move, and their plants; the leader's only. */
struct moments { const struct sink_conf *c; struct sink *k; uint64_t read, written; };

HD void moment_read(struct moments *m, uint64_t v, const int instr)
{
	if (instr && m) {
		plant(m->k, m->c, MARK_READ, instr);
		m->read = ticks_after(m->c->gettime, v);
		plant(m->k, m->c, MARK_WRITTEN, instr);
	}
}

HD void moment_written(struct moments *m, const int instr)
{
	if (instr && m)
		m->written = ticks(m->c->gettime);
}

enum { MOVE_UNROLL = 8 };

/* One piece, both ends inside a page: 16-byte accesses where both addresses
 * allow it, several in flight. `m` is set for the message's last piece. */
HD void move_wide(uint8_t *d, const uint8_t *s, uint64_t bytes, struct coop c,
		  struct moments *m, const int instr)
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
		if (last && whole == bytes) {
			uint64_t all = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
			for (int u = 0; u < MOVE_UNROLL; u++)
				all |= v[u][0] | v[u][1];
			moment_read(m, all, instr);
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
		moment_read(m, w, instr);
		if (i < bytes)
			st8(d + i, w);
	}
	moment_written(m, instr);
}

/* The same for addresses that are not 16-byte aligned, or short. */
HD void move_narrow(uint8_t *d, const uint8_t *s, uint64_t bytes, struct coop c,
		    struct moments *m, const int instr)
{
	uint64_t words = (((uintptr_t)d | (uintptr_t)s) & 7) ? 0 : bytes / 8, i;
	uint64_t last = 0;

	for (i = (uint64_t)c.lane; i + (uint64_t)c.nlanes < words; i += (uint64_t)c.nlanes)
		st64(d + i * 8, ld64(s + i * 8));
	if (i < words) {
		last = ld64(s + i * 8);
		if (words * 8 == bytes)
			moment_read(m, last, instr);
		st64(d + i * 8, last);
	} else if (words * 8 == bytes) {
		moment_read(m, last, instr);
	}
	if (words * 8 != bytes) {
		uint8_t b = 0;

		for (i = words * 8 + (uint64_t)c.lane; i + (uint64_t)c.nlanes < bytes; i += (uint64_t)c.nlanes)
			st8(d + i, ld8(s + i));
		if (i < bytes)
			b = ld8(s + i);
		moment_read(m, b, instr);
		if (i < bytes)
			st8(d + i, b);
	}
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
			move_narrow(d, s, n, c, off == mv->bytes ? m : 0, instr);
		else
			move_wide(d, s, n, c, off == mv->bytes ? m : 0, instr);
	}
}

/* ---- one message, the leader alone ---- */

struct work {
	uint64_t w[WQE_WORDS];   /* the WQE */
	uint32_t opcode, len, rkey, lkey, inl;
	uint64_t raddr, laddr;
};

/* Fetches the WQE at message `m`; a stale one again, bounded. */
HD uint64_t engine_fetch(const struct engine *e, struct engine_state *s, uint64_t m, uint64_t w[WQE_WORDS])
{
	const uint8_t *p = e->wq + (m & (((uint64_t)1 << e->log_n) - 1)) * WQEBB;
	uint32_t lap = (1u << e->log_n) - 1;

	for (uint32_t tries = 0;; tries++) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int i = 0; i < WQE_WORDS; i += 2)
			ld64x2(p + i * 8, w + i);
		/* the right index, or one that never belonged to this slot */
		if (w[0] != 0 && (ctrl_index(w[0]) == (uint32_t)(m & INDEX_MASK) ||
				  (ctrl_index(w[0]) & lap) != (uint32_t)(m & lap)))
			break;
		s->st.stale_wqe++;
		if (tries == ENGINE_REFETCH)
			break;
		acquire_sys();
	}
	return w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7];
}

/* 0, or the syndrome that a NIC would give. */
HD uint32_t engine_decode(const struct engine *e, uint64_t m, struct work *k)
{
	const uint64_t *w = k->w;
	uint32_t ds = ctrl_ds(w[0]);

	k->opcode = ctrl_opcode(w[0]);
	if (ctrl_opmod(w[0]) || ctrl_index(w[0]) != (uint32_t)(m & INDEX_MASK) ||
	    ctrl_qpn(w[0]) != e->qpn || ctrl_ds_rsvd(w[0]))
		return SYND_LOCAL_QP_OP;
	k->len = 0;
	k->inl = 0;
	if (k->opcode == WQE_NOP)
		return ds == 1 ? 0 : SYND_LOCAL_QP_OP;
	if ((k->opcode != WQE_WRITE && k->opcode != WQE_READ) || ds < 2 || ds > 4)
		return SYND_LOCAL_QP_OP;
	k->raddr = be64(w[2]);
	k->rkey = be32((uint32_t)w[3]);
	if (ds == 2)
		return 0;
	k->len = be32((uint32_t)w[4]);
	if (k->len & WQE_INLINE) {
		k->inl = 1;
		k->len &= ~WQE_INLINE;
		if (k->opcode != WQE_WRITE)
			return SYND_LOCAL_QP_OP;
		return k->len > WQE_INLINE_MAX || wqe_ds_inline(k->len) != ds ? SYND_LOCAL_LENGTH : 0;
	}
	if (ds != 3)
		return SYND_LOCAL_QP_OP;
	k->lkey = be32((uint32_t)(w[4] >> 32));
	k->laddr = be64(w[5]);
	return k->len == 0 || k->len > WQE_LEN_MAX ? SYND_LOCAL_LENGTH : 0;
}

/* Keys and first pages: two dependent loads, both sides at once. */
HD uint32_t engine_translate(const struct engine *e, const struct work *k, struct move *mv, uint64_t *dep)
{
	const struct tables *t = &e->tab;
	int rd = k->opcode == WQE_READ, far_ok, near_ok = 1;
	struct mkey far_key = { 0, 0, 0, 0 }, near_key = { 0, 0, 0, 0 };
	struct span far_span, near_span;
	uint64_t pf = 0, pn = 0;

	far_ok = key_load(t, k->rkey, &far_key);
	if (!k->inl)
		near_ok = key_load(t, k->lkey, &near_key);
	if (!k->inl)
		near_ok = near_ok && key_use(t, &near_key, k->lkey,
					     rd ? MKEY_LOCAL_WRITE : MKEY_LOCAL_READ,
					     k->laddr, k->len, &near_span);
	if (!near_ok)
		return SYND_LOCAL_PROT;
	far_ok = far_ok && key_use(t, &far_key, k->rkey, rd ? MKEY_REMOTE_READ : MKEY_REMOTE_WRITE,
				   k->raddr, k->len, &far_span);
	if (!far_ok)
		return SYND_REMOTE_ACCESS;
	if (!k->inl)
		pn = ld64(t->ptes + near_span.pte);
	pf = ld64(t->ptes + far_span.pte);
	*dep = pn | pf;
	if (!k->inl) {
		if (!pte_ok(t, pn, near_span.shift) || near_span.npages > e->xlat_pages)
			return SYND_LOCAL_PROT;
		near_span.page0 = pn & ~PTE_PRESENT;
		near_span.more = e->xlat;
	}
	if (!pte_ok(t, pf, far_span.shift) || far_span.npages > e->xlat_pages)
		return SYND_REMOTE_ACCESS;
	far_span.page0 = pf & ~PTE_PRESENT;
	far_span.more = e->xlat + e->xlat_pages;
	if (k->inl)
		near_span = far_span;
	mv->src = rd ? far_span : near_span;
	mv->dst = rd ? near_span : far_span;
	mv->syndrome_src = rd ? SYND_REMOTE_ACCESS : SYND_LOCAL_PROT;
	mv->syndrome_dst = rd ? SYND_LOCAL_PROT : SYND_REMOTE_ACCESS;
	mv->bytes = k->len;
	mv->segment = e->segment;
	return 0;
}

/* An inline payload, from the WQE's words to memory. */
HD void engine_inline(const struct work *k, const struct move *mv)
{
	const uint64_t *w = k->w;
	uint64_t p[4] = { w[4] >> 32 | w[5] << 32, w[5] >> 32 | w[6] << 32,
			  w[6] >> 32 | w[7] << 32, w[7] >> 32 };
	int fast = mv->dst.npages == 1 && !((mv->dst.page0 + mv->dst.off) & 7);

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < 4; i++) {
		if (i * 8 >= k->len)
			break;
		if (fast && i * 8 + 8 <= k->len) {
			st64((void *)(mv->dst.page0 + mv->dst.off + i * 8), p[i]);
			continue;
		}
		for (uint32_t b = 0; b < 8 && i * 8 + b < k->len; b++)
			st8((void *)span_at(&mv->dst, i * 8 + b), (uint8_t)(p[i] >> b * 8));
	}
}

/* The CQE's body, its order, and its last word. `bytes` is what was moved. */
HD void engine_cqe(const struct engine *e, struct engine_state *s, uint64_t m, uint64_t w0,
		   uint32_t bytes, uint32_t syndrome, const int instr)
{
	uint8_t *p = e->cq + (s->st.cqes & (((uint64_t)1 << e->log_ncqe) - 1)) * CQE_SIZE;
	uint32_t owner = (uint32_t)(s->st.cqes >> e->log_ncqe & 1);

	st64x2(p, 0, 0);
	st64x2(p + 16, 0, 0);
	st64x2(p + 32, 0, cqe_word5(bytes));
	st64(p + 48, syndrome ? cqe_word6_error(0, syndrome) : 0);
	release_sys();
	plant(&s->k, &e->sink, MARK_COMPLETED, instr);
	st64_published(p + 56, cqe_word7(ctrl_opcode(w0), e->qpn, m,
					 syndrome ? CQE_REQ_ERR : CQE_REQ, owner));
	s->st.cqes++;
}

/*
 * Wide work. Leader and sleeping lanes meet inside this one function: the
 * barrier at its start makes the warp run the job as one. `m` is the leader's,
 * and so is the result; the others get the job's kind and know when to leave.
 */
HD_CALLED uint64_t engine_wide(const struct engine *e, const struct engine_job *j, struct coop c,
			       struct moments *m, int instr)
{
	uint64_t r = 0;
	int kind;

	coop_sync();
	kind = j->kind;
	switch (kind) {
	case EJ_XLAT:
		r = engine_pages(&e->tab, &j->move.src, c) != 0;
		r |= (uint64_t)(engine_pages(&e->tab, &j->move.dst, c) != 0) << 1;
		break;
	case EJ_MOVE:
		engine_move(&j->move, c, m, instr);
		break;
	case EJ_FLUSH:
		job_flush(j->to, j->from, j->words, c);
		break;
	}
	coop_sync();
	return c.lane ? (uint64_t)kind : r;
}

/* ---- the queue ---- */

HD uint64_t engine_mark(const struct engine *e, struct engine_state *s, uint64_t m, int mark,
			int slot, uint64_t dep, const int instr)
{
	uint64_t t = 0;

	if (instr) {
		plant(&s->k, &e->sink, mark, instr);
		t = ticks_after(e->sink.gettime, dep);
		if (s->k.mask >> mark & 1)
			sink_put(&s->k, &e->sink, m, slot, t);
	}
	return t;
}

/* The block that ends before message m goes to memory, with a reading of both
 * clocks. Nothing is under way then: the issuer drains at the same places. */
HD void engine_flush(const struct engine *e, struct engine_state *s, struct engine_job *j,
		     struct coop c, uint64_t m)
{
	uint64_t block = e->sink.block, n = m & (block - 1) ? m & (block - 1) : block;
	uint64_t first = (m - n) % e->flush_keep;
	struct clock_pair *p = e->pairs + (m - n) / block % (e->flush_keep / block);

	*p = clock_pair_read(e->sink.gettime);
	j->kind = EJ_FLUSH;
	j->to = e->marks + first * NIC_SLOTS;
	j->from = s->k.stage;
	j->words = n * NIC_SLOTS;
	engine_wide(e, j, c, 0, 0);
}

/* Moves the payload; returns a syndrome of pages that only a wide walk finds.
 * Marks translated, read and written on the way. */
HD uint32_t engine_payload(const struct engine *e, struct engine_state *s, struct engine_job *j,
			   struct coop c, const struct work *k, struct move *mv, uint64_t dep,
			   const int instr)
{
	struct moments mo = { &e->sink, &s->k, 0, 0 };
	uint64_t m = s->pi, bad;

	if (mv->src.npages > 1 || mv->dst.npages > 1) {
		j->kind = EJ_XLAT;
		j->move = *mv;
		bad = engine_wide(e, j, c, 0, 0);
		if (bad)
			return bad & 1 ? mv->syndrome_src : mv->syndrome_dst;
	}
	engine_mark(e, s, m, MARK_TRANSLATED, NS_TRANSLATED, dep, instr);
	if (k->inl) {
		moment_read(&mo, 0, instr);
		engine_inline(k, mv);
		moment_written(&mo, instr);
	} else if (mv->bytes <= ENGINE_SMALL) {
		struct coop alone = { 0, 1 };

		engine_move(mv, alone, &mo, instr);
	} else {
		j->kind = EJ_MOVE;
		j->move = *mv;
		engine_wide(e, j, c, &mo, instr);
	}
	if (instr) {
		if (s->k.mask >> MARK_READ & 1)
			sink_put(&s->k, &e->sink, m, NS_READ, mo.read);
		if (s->k.mask >> MARK_WRITTEN & 1)
			sink_put(&s->k, &e->sink, m, NS_WRITTEN, mo.written);
	}
	return 0;
}

/* A message without payload passes the same marks. */
HD void engine_no_payload(const struct engine *e, struct engine_state *s, const int instr)
{
	engine_mark(e, s, s->pi, MARK_TRANSLATED, NS_TRANSLATED, 0, instr);
	engine_mark(e, s, s->pi, MARK_READ, NS_READ, 0, instr);
	engine_mark(e, s, s->pi, MARK_WRITTEN, NS_WRITTEN, 0, instr);
}

HD void engine_one(const struct engine *e, struct engine_state *s, struct engine_job *j,
		   struct coop c, uint64_t t_seen, const int instr)
{
	struct work k;
	struct move mv;
	uint64_t m = s->pi, dep;
	uint32_t synd;
	int quiet = 0;

	if (instr) {
		sink_message(&s->k, &e->sink, m);
		if (s->k.mask >> MARK_SEEN & 1)
			sink_put(&s->k, &e->sink, m, NS_SEEN, t_seen);
	}
	engine_mark(e, s, m, MARK_STARTED, NS_STARTED, 0, instr);
	dep = engine_fetch(e, s, m, k.w);
	engine_mark(e, s, m, MARK_FETCHED, NS_FETCHED, dep, instr);
	synd = s->error ? (uint32_t)SYND_FLUSHED : engine_decode(e, m, &k);
	mv.bytes = 0;
	if (instr && m >= e->fault_at) {
		if (e->fault == EF_ERROR_CQE && !s->error)
			synd = SYND_REMOTE_OP;
		quiet = e->fault == EF_LOST_CQE && m == e->fault_at;
		if (e->fault == EF_SLOW) {
			int64_t debt = 0;

			wait_owed(&debt, 100000);
		}
	}
	if (!synd && k.len) {
		synd = engine_translate(e, &k, &mv, &dep);
		if (!synd)
			synd = engine_payload(e, s, j, c, &k, &mv, dep, instr);
	} else if (!synd) {
		engine_no_payload(e, s, instr);
	}
	s->st.wqes++;
	s->st.last[NS_WRITTEN] = m + 1;
	if (synd && !s->error) {
		s->error = 1;
		s->st.syndrome = synd;
	}
	/* a good WQE reports only when asked to; a bad one always */
	if (!quiet && (synd || ctrl_fm_ce_se(k.w[1]) & WQE_CQ_UPDATE)) {
		engine_cqe(e, s, m, k.w[0], synd ? 0 : k.len, synd, instr);
		s->st.last[NS_COMPLETED] = m + 1;
	}
	if (instr && s->k.mask >> MARK_COMPLETED & 1)
		sink_put(&s->k, &e->sink, m, NS_COMPLETED, ticks(e->sink.gettime));
	s->pi++;
	if (instr && !(s->pi & (e->sink.block - 1)))
		engine_flush(e, s, j, c, s->pi);
}

/* What the record says instead of the doorbell; behind it is read again. */
HD uint32_t engine_recover(const struct engine *e, struct engine_state *s, uint32_t next)
{
	uint32_t rec = 0, n = 1u << e->log_n;

	for (uint32_t tries = 0; tries < ENGINE_REFETCH; tries++) {
		rec = dbrec_index(ld32(e->dbrec + DBREC_SEND));
		if (e->fault == EF_STALE_RECORD && s->pi >= e->fault_at && tries < 3)
			rec = (uint32_t)s->pi & INDEX_MASK;
		/* at least as far as the doorbell, at most a ring further */
		if (((rec - next) & INDEX_MASK) <= n)
			break;
		s->st.stale_record++;
	}
	acquire_sys();
	return rec;
}

/*
 * Looks at the doorbell once; works on what it announces. How many messages.
 * Between two looks nothing is known of later doorbells: with several messages
 * outstanding, waiting for a busy engine is part of rung-seen.
 */
HD uint32_t engine_poll(const struct engine *e, struct engine_state *s, struct engine_job *j,
			struct coop c, const int instr)
{
	uint64_t db = ld64_acquire(e->db), t_seen = 0;
	uint32_t next, todo;

	if (db == s->db)
		return 0;
	if (instr) {
		if (e->fault == EF_DEAD && s->pi >= e->fault_at)
			return 0;
		plant(&s->k, &e->sink, MARK_SEEN, instr);
		t_seen = ticks_after(e->sink.gettime, db);
	}
	s->db = db;
	s->st.doorbells++;
	next = doorbell_next(db);
	if (instr && e->fault == EF_LOST_DOORBELL && s->pi == e->fault_at)
		return 0;
	if (e->recover_every && s->st.doorbells % e->recover_every == 0)
		next = engine_recover(e, s, next);
	todo = (next - (uint32_t)s->pi) & INDEX_MASK;
	if (ctrl_qpn(db) != e->qpn || todo > 1u << e->log_n) {
		s->st.odd_doorbells++;
		return 0;
	}
	s->st.last[NS_SEEN] = s->pi + todo;
	for (uint32_t i = 0; i < todo; i++)
		engine_one(e, s, j, c, t_seen, instr);
	return todo;
}

HD void engine_begin(const struct engine *e, struct engine_state *s, uint64_t *stage)
{
	/* a doorbell of zero has never been rung: qpn 0 is nobody's */
	s->db = 0;
	s->pi = 0;
	s->error = 0;
	for (unsigned i = 0; i < sizeof(s->st) / 8; i++)
		((uint64_t *)&s->st)[i] = 0;
	s->st.begin = clock_pair_read(e->sink.gettime);
	s->k.stage = stage;
	s->k.mask = 0;
	s->k.debt[0] = 0;
	s->k.debt[1] = 0;
}

/* Flushes what is left of a block, and completes the counters. */
HD void engine_finish(const struct engine *e, struct engine_state *s, struct engine_job *j,
		      struct coop c, const int instr)
{
	if (instr && s->pi & (e->sink.block - 1))
		engine_flush(e, s, j, c, s->pi);
	s->st.last[NS_STARTED] = s->st.last[NS_FETCHED] = s->pi;
	s->st.last[NS_TRANSLATED] = s->st.last[NS_READ] = s->st.last[NS_WRITTEN];
}

#endif
