/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuer's side of a queue: reserve a slot, build a WQE, ring, notice the
 * completion. One code for a GPU thread and the CPU thread that stands in for
 * it (HD). What differs between points (ordering, doorbell, operation) is a
 * literal argument, so that a specialised loop holds no branch on it.
 *
 * The queue is exclusive: one thread reserves, posts and polls.
 */
#ifndef FS_QUEUE_H
#define FS_QUEUE_H

#include "stages/queue/wqe.h"

/* X(NAME, word, what stands before the record; before the doorbell) */
#define FS_ORDERINGS(X) \
	X(NONE, "none", "nothing; unsafe control") \
	X(GPU_FENCE, "gpu-fence", "- ; fence.release.gpu") \
	X(GPU_FENCE_RECORD, "gpu-fence-record", "fence.release.gpu; fence.release.gpu") \
	X(GPU_RELEASE, "gpu-release", "record and doorbell by st.release.gpu") \
	X(THREADFENCE, "threadfence", "fence.sc.gpu; fence.sc.gpu") \
	X(SYS_FENCE, "sys-fence", "- ; fence.release.sys") \
	X(SYS_FENCE_RECORD, "sys-fence-record", "fence.release.sys; fence.release.sys") \
	X(SYS_RELEASE, "sys-release", "record and doorbell by st.release.sys")

/* X(NAME, word, the stores in their order) */
#define FS_DOORBELLS(X) \
	X(RECORD_RING, "record-ring", "record, then doorbell") \
	X(RING_RECORD_RING, "ring-record-ring", "doorbell, record, the same doorbell again") \
	X(RING, "ring", "doorbell alone, no record") \
	X(BLUEFLAME, "blueflame", "record, then the whole WQE to the doorbell's line: eight lanes of a warp, 8 bytes each") \
	X(BLUEFLAME_BULK, "blueflame-bulk", "the same by one copy of 64 bytes (cp.async.bulk)")

/* X(NAME): what a WQE is, as far as the loop must know; INLINE2 takes two basic blocks,
 * all others one */
#define FS_POSTS(X) X(INLINE) X(WRITE) X(READ) X(NOP) X(INLINE2)

/* How completions come: a CQE a message in a ring of them; or a collapsed CQ (one CQE that
 * the NIC overwrites), or not one for each message, or both. */
enum cq_use { CQ_RING, CQ_OTHER, CQ_USES };

enum ordering {
#define X(NAME, word, help) ORD_##NAME,
	FS_ORDERINGS(X)
#undef X
	ORDERINGS
};
enum doorbell_mode {
#define X(NAME, word, help) DBM_##NAME,
	FS_DOORBELLS(X)
#undef X
	DOORBELL_MODES
};
/* The first ones store 8 bytes; the others a whole WQE. */
enum { WORD_DOORBELLS = DBM_BLUEFLAME };
HD int doorbell_is_flame(const int mode) { return mode >= WORD_DOORBELLS && mode < DOORBELL_MODES; }
/* One of the first ones, known at run time alone: no code of the others is made for it. */
HD int word_doorbell(int mode) { return (int)((uint32_t)mode % WORD_DOORBELLS); }

enum post_kind {
#define X(NAME) POST_##NAME,
	FS_POSTS(X)
#undef X
	POST_KINDS
};

struct queue {
	uint8_t *wq;             /* WQEBBs, 1 << log_n of them, 64-byte aligned */
	uint8_t *dbrec;          /* doorbell record */
	uint8_t *db;             /* 8-byte doorbell; with BlueFlame the first word of a 64-byte line */
	const uint8_t *cq;       /* CQEs, 1 << log_ncqe of them */
	uint64_t *ci_word;       /* consumer index, published by whoever polls the CQ */
	uint32_t log_n, log_ncqe; /* a collapsed CQ has one CQE: 0 */
	uint32_t qpn;
	uint32_t depth;          /* WQEBBs that may be under way */
};

/* Which messages ask for a CQE: the last of every mask + 1, and the last of all. */
struct asking { uint32_t mask; uint64_t last; };

HD int message_asks(const struct asking *a, uint64_t m)
{
	return !(((uint32_t)m + 1) & a->mask) | (m + 1 == a->last);
}

/* The first that asks, of those from m on; where m is behind the last, of its mask + 1. */
HD uint64_t message_asking(const struct asking *a, uint64_t m)
{
	uint64_t end = m | a->mask;

	return a->last - 1 - m < end - m ? a->last - 1 : end;
}

struct queue_state {
	uint64_t pi;             /* next free index, of a WQEBB */
	uint64_t ci;             /* consumer index as last known: of the next WQE to be done */
	uint64_t polled;         /* CQEs taken */
	uint32_t reloads;        /* of the consumer index */
};

/* Basic blocks of a WQE of this kind; a literal, as the kind is. */
HD uint32_t post_blocks(const int kind) { return kind == POST_INLINE2 ? 2 : 1; }
HD int post_is_inline(const int kind) { return kind == POST_INLINE || kind == POST_INLINE2; }

/* Which message an index belongs to, where all WQEs are of one kind; and the other way round. */
HD uint64_t post_message(uint64_t index, const int kind) { return kind == POST_INLINE2 ? index >> 1 : index; }
HD uint64_t post_index(uint64_t message, const int kind) { return kind == POST_INLINE2 ? message << 1 : message; }

/* Where the WQEBB of an index lies. */
HD uint8_t *queue_slot(const struct queue *q, uint64_t index)
{
	return q->wq + (uint64_t)((uint32_t)index & ((1u << q->log_n) - 1)) * WQEBB;
}

/* Takes n slots if so many are free by the consumer index as last known. Depths
 * are far below 2^32, so the low halves tell. */
HD int queue_reserve(const struct queue *q, struct queue_state *s, uint32_t n)
{
	if (UNLIKELY((uint32_t)s->pi + n - (uint32_t)s->ci > q->depth))
		return 0;
	s->pi += n;
	return 1;
}

/* After a refusal: the consumer index from memory. With nobody consuming, that
 * word lies ahead of everything, which means that all is done. */
HD void queue_reload(const struct queue *q, struct queue_state *s)
{
	uint64_t ci = ld64(q->ci_word);

	s->ci = ci < s->pi ? ci : s->pi;
	s->reloads++;
}

/*
 * What turns offsets in the registered ranges into addresses and keys: the peer's
 * base, and a key for each chunk of either range, looked up in every message. The
 * keys stand in the issuer's shared memory on a GPU, next to where NVSHMEM keeps
 * its first ones (constant memory); `keys` is their address there, else a pointer.
 */
enum { RESOLVER_CHUNKS = 256 };
struct chunk_keys { uint32_t remote[RESOLVER_CHUNKS], local[RESOLVER_CHUNKS]; };
struct resolver {
	uint64_t remote_base;
	uint64_t keys;
	uint32_t chunk_shift;
};

/* An address that resolve() takes, of keys in shared memory on a GPU. */
HD uint64_t keys_address(const struct chunk_keys *k)
{
#ifdef __CUDA_ARCH__
	uint64_t at;

	/* opaque: the compiler would make it again at each use, by a read of 40 cycles */
	asm volatile("mov.b64 %0, %1;" : "=l"(at) : "l"((uint64_t)__cvta_generic_to_shared(k)));
	return at;
#else
	return (uint64_t)k;
#endif
}

/* `timed`, a literal: it stays between the marks around it. */
HD uint32_t keys_load(uint64_t at, uint32_t chunk, const int timed)
{
#ifdef __CUDA_ARCH__
	uint32_t v;

	if (timed)
		asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"((uint32_t)at + chunk * 4));
	else
		asm("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"((uint32_t)at + chunk * 4));
	return v;
#else
	(void)timed;
	return ((const uint32_t *)at)[chunk];
#endif
}

struct resolved { uint32_t lkey, rkey; uint64_t raddr; };

/* Both ranges are laid out alike: `off` is where a message lies in either. */
HD struct resolved resolve(const struct resolver *r, uint32_t off, const int kind, const int timed)
{
	struct resolved x = { 0, 0, 0 };

	if (kind == POST_NOP)
		return x;
	x.raddr = r->remote_base + off;
	x.rkey = keys_load(r->keys, off >> r->chunk_shift, timed);
	if (!post_is_inline(kind))
		x.lkey = keys_load(r->keys, RESOLVER_CHUNKS + (off >> r->chunk_shift), timed);
	return x;
}

/* Which field of a WQE is spoiled on purpose. */
enum wqe_fault { WF_NONE, WF_OPCODE, WF_DS, WF_KEY, WF_LKEY, WF_LENGTH, WF_QPN, WF_INDEX,
	WF_OVERRUN /* of a descriptor: it is a later lap's */ };

/* Builds the first block of the WQE of message `m`, which has this index, in registers. */
HD void wqe_build_at(const struct queue *q, uint64_t w[WQE_WORDS], uint64_t index, uint64_t m,
		     const struct resolved *x, uint64_t laddr, uint32_t len, const int kind)
{
	uint32_t op = kind == POST_NOP ? WQE_NOP : kind == POST_READ ? WQE_READ : WQE_WRITE;
	uint32_t ds = kind == POST_NOP ? wqe_ds_nop() :
		      post_is_inline(kind) ? wqe_ds_inline(len) : wqe_ds_pointer(len);

	w[0] = wqe_ctrl0(index, op, q->qpn, ds);
	w[1] = wqe_ctrl1(WQE_CQ_UPDATE);
	w[2] = be64(x->raddr);
	w[3] = pair32(be32(x->rkey), 0);
	if (post_is_inline(kind)) {
		/* payload_word(m, 0) to (m, 3), by halves: they differ in the lowest byte */
		uint32_t lo = (uint32_t)m << 24, hi = (uint32_t)(m >> 8);

		w[4] = pair32(be32(len | WQE_INLINE), lo);
		w[5] = pair32(hi, lo | 1);
		w[6] = pair32(hi, lo | 2);
		w[7] = pair32(hi, lo | 3);
	} else {
		w[4] = pair32(be32(len), be32(x->lkey));
		w[5] = be64(laddr);
		w[6] = 0;
		w[7] = 0;
	}
}

/* The same where every WQE has one block, so that the index is the message's number. */
HD void wqe_build(const struct queue *q, uint64_t w[WQE_WORDS], uint64_t m, const struct resolved *x,
		  uint64_t laddr, uint32_t len, const int kind)
{
	wqe_build_at(q, w, m, m, x, laddr, len, kind);
}

/* The second block of an inline WQE: the halves of payload words 3 to 11. */
HD void wqe_build_second(uint64_t w[WQE_WORDS], uint64_t m)
{
	uint32_t lo = (uint32_t)m << 24, hi = (uint32_t)(m >> 8);

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < WQE_WORDS; i++)
		w[i] = pair32(hi, lo | (4 + i));
}

HD void wqe_spoil(uint64_t w[WQE_WORDS], uint32_t fault)
{
	switch (fault) {
	case WF_OPCODE: w[0] ^= (uint64_t)be32(0x20); break;
	case WF_DS: w[0] ^= pair32(0, be32(0x04)); break;
	case WF_KEY: w[3] ^= pair32(be32(0x01), 0); break;
	case WF_LKEY: w[4] ^= pair32(0, be32(0x01)); break;
	case WF_LENGTH: w[4] ^= pair32(be32(0x60000000), 0); break;
	case WF_QPN: w[0] ^= pair32(0, be32(0x100)); break;
	case WF_INDEX: w[0] ^= (uint64_t)be32(0x100); break;
	}
}

/* Stores its first block: as many 16-byte segments as it has. */
HD void wqe_store(const struct queue *q, uint64_t index, const uint64_t w[WQE_WORDS], uint32_t len, const int kind)
{
	uint8_t *p = queue_slot(q, index);

	st64x2(p, w[0], w[1]);
	if (kind == POST_NOP)
		return;
	st64x2(p + 16, w[2], w[3]);
	if (post_is_inline(kind) || len)
		st64x2(p + 32, w[4], w[5]);
	if (kind == POST_INLINE2 || (kind == POST_INLINE && len > WQE_INLINE_SHORT))
		st64x2(p + 48, w[6], w[7]);
}

/* The same of its second block, which lies in the ring's next slot: behind the last one
 * that is the first. */
HD void wqe_store_second(const struct queue *q, uint64_t index, const uint64_t w[WQE_WORDS], uint32_t len)
{
	uint8_t *p = queue_slot(q, index + 1);

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (uint32_t i = 0; i < WQE_WORDS / 2; i++)
		if (!i || len > WQE_INLINE_MAX + i * WQE_SEG)
			st64x2(p + i * WQE_SEG, w[2 * i], w[2 * i + 1]);
}

/* ---- order and doorbell ---- */

/* What stands before the record. */
HD void order_record(const int ord)
{
	if (ord == ORD_GPU_FENCE_RECORD)
		release_gpu();
	if (ord == ORD_THREADFENCE)
		fence_sc_gpu();
	if (ord == ORD_SYS_FENCE_RECORD)
		release_sys();
}

/* What stands before the doorbell. */
HD void order_doorbell(const int ord)
{
	if (ord == ORD_GPU_FENCE || ord == ORD_GPU_FENCE_RECORD)
		release_gpu();
	if (ord == ORD_THREADFENCE)
		fence_sc_gpu();
	if (ord == ORD_SYS_FENCE || ord == ORD_SYS_FENCE_RECORD)
		release_sys();
}

HD void record_store(const struct queue *q, uint64_t pi, const int ord)
{
	uint8_t *p = q->dbrec + DBREC_SEND;
	uint32_t v = dbrec_value(pi);

	if (ord == ORD_NONE || ord == ORD_GPU_FENCE || ord == ORD_SYS_FENCE)
		st32(p, v);
	else if (ord == ORD_GPU_RELEASE)
		st32_release_gpu(p, v);
	else if (ord == ORD_SYS_RELEASE)
		st32_release_sys(p, v);
	else
		st32_published(p, v);
}

HD void doorbell_store(const struct queue *q, uint64_t v, const int ord)
{
	if (ord == ORD_NONE)
		st64(q->db, v);
	else if (ord == ORD_GPU_RELEASE)
		st64_release_gpu(q->db, v);
	else if (ord == ORD_SYS_RELEASE)
		st64_release_sys(q->db, v);
	else
		st64_published(q->db, v);
}

/* All but the last doorbell store, so that a plant can stand right before it.
 * Returns the doorbell's value. */
HD uint64_t ring_prepare(const struct queue *q, uint64_t pi, const int ord, const int mode)
{
	uint64_t v = doorbell_value(pi, q->qpn);

	if (mode == DBM_RING_RECORD_RING) {
		order_doorbell(ord);
		doorbell_store(q, v, ord);
		record_store(q, pi, ord);
		order_doorbell(ord);
	} else {
		if (mode == DBM_RECORD_RING) {
			order_record(ord);
			record_store(q, pi, ord);
		}
		order_doorbell(ord);
	}
	return v;
}

/*
 * BlueFlame: the first WQE block goes to the doorbell's line, which wakes the NIC and
 * saves it the fetch. As rdma-core does it (providers/mlx5/qp.c, post_send_db): the WQE in
 * the queue and the record are written all the same, before, since a NIC that couldn't take
 * the line's takes the queue's; what goes is a single WQE, all 64 bytes of its block, whatever
 * its DS; its first word is the doorbell by that library's convention.
 */

/* All but order and store of the line. */
HD void flame_prepare(const struct queue *q, uint64_t pi, const int ord)
{
	order_record(ord);
	record_store(q, pi, ord);
}

/* By one thread, of a CPU: whoever sees the first word sees the others, as if they had come in
 * one burst from a write-combining buffer. (Cached memory has none: with the first word
 * first, the line would wander to and fro between two CPUs in the middle of it.) */
HD void flame_store(const struct queue *q, const uint64_t w[WQE_WORDS], const int ord)
{
	for (uint32_t i = 1; i < WQE_WORDS; i++)
		st64(q->db + i * 8, w[i]);
	doorbell_store(q, w[0], ord);
}

/* ---- completion ---- */

/* Where the next CQE's last word stands. */
HD const uint8_t *queue_cqe7(const struct queue *q, const struct queue_state *s)
{
	return q->cq + (uint64_t)((uint32_t)s->polled & ((1u << q->log_ncqe) - 1)) * CQE_SIZE + 56;
}

/* Where its word 6 stands: the syndrome's. */
HD const uint8_t *queue_cqe6(const struct queue *q, const struct queue_state *s)
{
	return q->cq + (uint64_t)((uint32_t)s->polled & ((1u << q->log_ncqe) - 1)) * CQE_SIZE + 48;
}

/* Takes the CQE whose last word is w7: its WQE, of so many blocks, and all before it are
 * done. (wqe_counter is the index of the WQE's first block.) */
HD void queue_take_blocks(const struct queue *q, struct queue_state *s, uint64_t w7, const uint32_t blocks)
{
	uint64_t done = s->ci + (((uint64_t)cqe_counter(w7) - s->ci) & INDEX_MASK) + blocks;

	s->polled++;
	s->ci = done;
	st64(q->ci_word, done);
}

HD void queue_take(const struct queue *q, struct queue_state *s, uint64_t w7) { queue_take_blocks(q, s, w7, 1); }

/* All WQEs before index `done` are done, by whatever CQE. */
HD void queue_take_to(const struct queue *q, struct queue_state *s, uint64_t done)
{
	s->polled++;
	s->ci = done;
	st64(q->ci_word, done);
}

#endif
