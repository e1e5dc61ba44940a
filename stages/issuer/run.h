/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The issuer's loop: reserve, resolve, build, order, ring, notice (HD). Nothing
 * in it is a call (but for the waits of the flexible form); whatever is seldom ends it.
 */
#ifndef FS_ISSUE_RUN_H
#define FS_ISSUE_RUN_H

#include "stages/issuer/args.h"

/* The marks of a message before its doorbell, in registers. */
struct early { uint64_t intent, reserved, resolved, built; };

HD void issuer_put(const struct posting *h, uint64_t at, const struct early *t, const int instr)
{
	uint32_t mask = h->k.mask;

	if (instr == ALL || (instr == FLEX && mask >> MARK_INTENT & 1) || instr == BARE)
		sink_put(at, IS_INTENT, t->intent);
	if (instr == ALL || (instr == FLEX && mask >> MARK_RESERVED & 1))
		sink_put(at, IS_RESERVED, t->reserved);
	if (instr == ALL || (instr == FLEX && mask >> MARK_RESOLVED & 1))
		sink_put(at, IS_RESOLVED, t->resolved);
	if (instr == ALL || (instr == FLEX && mask >> MARK_BUILT & 1))
		sink_put(at, IS_BUILT, t->built);
}

/* The decision to send message m; made once, even if there was no room at first. */
HD void issuer_intent(const struct issuer *s, struct posting *h, uint64_t m, struct early *t, const int instr)
{
	if (instr == MUTE)
		return;
	if (instr == FLEX)
		sink_message(&h->k, &s->a->sink, m, instr);
	else
		h->k.at = sink_at(&h->k, m);
	if (!h->again) {
		plant(&h->k, MARK_INTENT, instr);
		if (instr == BARE)
			h->intent = ticks(h->k.gettime);
		else
			sink_stamp(&h->k, MARK_INTENT, &h->intent, instr);
	}
	t->intent = h->intent;
	h->again = 0; /* the others of its batch are decided on for the first time */
}

/* The message of WQE `index` has its slot: up to its WQE. `most` is a literal: no inline
 * payload of one block is longer. `ask`: which messages ask for a CQE; NULL, a literal: each.
 * `keep`: where the WQE's words stay; NULL, a literal: nowhere. */
HD void issuer_build(const struct issuer *s, struct posting *h, uint64_t index, struct early *t,
		     const struct asking *ask, uint64_t *keep, const uint32_t most, const int kind, const int instr)
{
	uint64_t m = post_message(index, kind);
	uint32_t off = ((uint32_t)m & h->slot_mask) << h->stride_shift;
	uint64_t w[WQE_WORDS], w2[WQE_WORDS];
	struct resolved x;

	plant(&h->k, MARK_RESERVED, instr);
	sink_stamp(&h->k, MARK_RESERVED, &t->reserved, instr);
	x = resolve(&h->res, off, kind, instr == ALL || instr == FLEX);
	plant_after(&h->k, MARK_RESOLVED, x.lkey ^ x.rkey, instr);
	sink_stamp_after(&h->k, MARK_RESOLVED, x.lkey ^ x.rkey, &t->resolved, instr);
	wqe_build_at(&h->q, w, index, m, &x, h->local + off, h->len, kind);
	if (ask)
		w[1] = wqe_ctrl1(message_asks(ask, m) ? WQE_CQ_UPDATE : 0);
	if (kind == POST_INLINE2)
		wqe_build_second(w2, m);
	if (instr == FLEX && m == h->fault_at)
		wqe_spoil(w, s->a->fault);
	plant(&h->k, MARK_BUILT, instr);
	wqe_store(&h->q, index, w, kind == POST_INLINE && most < WQE_INLINE_MAX ? most : h->len, kind);
	if (kind == POST_INLINE2)
		wqe_store_second(&h->q, index, w2, h->len);
	sink_stamp(&h->k, MARK_BUILT, &t->built, instr);
	for (int i = 0; keep && i < WQE_WORDS; i++)
		keep[i] = w[i];
}

/* Order and doorbell; when it was rung. */
HD uint64_t issuer_ring(struct posting *h, const int ord, const int mode, const int instr)
{
	uint64_t v = ring_prepare(&h->q, h->qs.pi, ord, mode);

	plant(&h->k, MARK_RUNG, instr);
	doorbell_store(&h->q, v, ord);
	return instr == BARE || instr == MUTE ? 0 : ticks(h->k.gettime);
}

/*
 * Where the leader of a GPU agent puts a WQE that goes along with its doorbell, and what the
 * second warp's lanes are to do with it: nothing, or to store it, behind a planted wait or not.
 * `hand` is its address in shared memory, made once, as keys_address does; 0 elsewhere.
 */
enum { FLAME_NONE, FLAME_PLAIN, FLAME_PLANTED };
#ifdef __CUDACC__
struct flame_hand { uint64_t w[WQE_WORDS]; uint32_t what; };
static __shared__ struct flame_hand flame_hand __attribute__((aligned(16)));
#endif

HD uint64_t flame_hand_at(const int mode)
{
	uint64_t at = 0;

	(void)mode;
#ifdef __CUDA_ARCH__
	if (doorbell_is_flame(mode))
		asm volatile("mov.b64 %0, %1;" : "=l"(at) : "l"((uint64_t)__cvta_generic_to_shared(&flame_hand)));
#endif
	return at;
}

#ifdef __CUDA_ARCH__
HD void flame_hand_put(uint64_t hand, const uint64_t w[WQE_WORDS])
{
#pragma unroll
	for (uint32_t i = 0; i < WQE_WORDS; i += 2)
		asm volatile("st.shared.v2.b64 [%0], {%1, %2};" : : "r"((uint32_t)hand + i * 8), "l"(w[i]), "l"(w[i + 1]) : "memory");
}

HD void flame_hand_over(uint64_t hand, uint32_t what)
{
	asm volatile("st.shared.b32 [%0], %1;" : : "r"((uint32_t)hand + WQEBB), "r"(what) : "memory");
}
#endif

/* The same of a message whose WQE goes along (BlueFlame). On a GPU the leader is alone in its
 * warp: it hands the WQE to eight lanes of the other one, of which the first orders what is
 * before, the leader's stores among it, as they meet (issuer_lanes); or it has it copied. */
HD uint64_t issuer_flame(struct posting *h, uint64_t hand, const uint64_t w[WQE_WORDS], const int ord, const int mode,
			 const int instr)
{
	flame_prepare(&h->q, h->qs.pi, ord);
#ifdef __CUDA_ARCH__
	if (mode == DBM_BLUEFLAME_BULK)
		bulk_done(); /* the one before has been read, or it would read this one */
	flame_hand_put(hand, w);
	if (mode == DBM_BLUEFLAME_BULK) {
		bulk_sees();
		order_doorbell(ord);
		plant(&h->k, MARK_RUNG, instr);
		bulk_store(h->q.db, (uint32_t)hand);
	} else {
		flame_hand_over(hand, instr == FLEX && h->k.plants >> MARK_RUNG & 1 ? FLAME_PLANTED : FLAME_PLAIN);
		agent_meet();
		agent_meet();
		flame_hand_over(hand, FLAME_NONE);
	}
#else
	(void)mode;
	(void)hand;
	order_doorbell(ord);
	plant(&h->k, MARK_RUNG, instr);
	flame_store(&h->q, w, ord);
#endif
	return instr == BARE || instr == MUTE ? 0 : ticks(h->k.gettime);
}

/* Posts one message: straight through. Its marks stay in registers until its
 * doorbell is rung. 0: there is no room. */
HD int issuer_post_one(const struct issuer *s, struct posting *h, const struct asking *ask, uint64_t hand,
		       const uint32_t most, const int ord, const int mode, const int kind, const int instr)
{
	uint64_t index = h->qs.pi, rung, w[WQE_WORDS];
	struct early t = { 0, 0, 0, 0 };

	issuer_intent(s, h, post_message(index, kind), &t, instr);
	if (UNLIKELY(!queue_reserve(&h->q, &h->qs, post_blocks(kind))))
		return 0;
	issuer_build(s, h, index, &t, ask, doorbell_is_flame(mode) ? w : 0, most, kind, instr);
	rung = doorbell_is_flame(mode) ? issuer_flame(h, hand, w, ord, mode, instr) : issuer_ring(h, ord, mode, instr);
	if (instr != MUTE)
		issuer_put(h, h->k.at, &t, instr);
	if (instr == ALL || (instr == FLEX && h->k.mask >> MARK_RUNG & 1))
		sink_put(h->k.at, IS_RUNG, rung);
	return 1;
}

/* Where a message is handed over, in registers: an issuer that reads that anew for each message waits for the GPU's L2,
 * since what it acquired last emptied its L1 (four fifths of an enqueue on an H200). Nothing, with a literal mode that rings. */
struct handing { uint8_t *ring; uint64_t *tail; const uint64_t *progress; };

HD struct handing handing_of(const struct issuer *s, const int mode)
{
	struct handing to = { 0, 0, 0 };

	if (!mode_hands(mode))
		return to;
	to.ring = s->a->hand;
	if (mode == MODE_BASELINE) {
		to.tail = s->a->tail;
		to.progress = s->a->progress;
	}
#ifdef __CUDA_ARCH__
	asm volatile("" : "+l"(to.ring), "+l"(to.tail), "+l"(to.progress)); /* here, and not where they are used */
#endif
	return to;
}

/* A slot in the proxy's ring. With MODE_BASELINE it is taken by an atomic and the proxy's progress is
 * looked up each time; *dep depends on both. */
HD int hand_reserve(struct posting *h, const struct handing *to, uint32_t *dep, const int mode)
{
	uint64_t m, ahead;

	if (mode == MODE_TUNED)
		return queue_reserve(&h->q, &h->qs, 1);
	m = h->held ? h->qs.pi : atom_add64(to->tail, 1, SCOPE_GPU);
	ahead = m - ld64(to->progress);
	*dep = (uint32_t)ahead;
	h->held = ahead >= 1u << h->q.log_n;
	if (UNLIKELY(h->held))
		return 0;
	h->qs.pi = m + 1;
	return 1;
}

/* Hands one message to a proxy; as issuer_post_one, which it stands in for. */
HD int issuer_hand_one(const struct issuer *s, struct posting *h, const struct handing *to, const int mode, const int kind,
		       const int instr)
{
	uint64_t m = h->qs.pi, lap = hand_lap(m, h->q.log_n), w0, w1, handed;
	uint8_t *slot = to->ring + ((uint32_t)m & ((1u << h->q.log_n) - 1)) * HAND_SLOT;
	struct early t = { 0, 0, 0, 0 };
	uint32_t dep = 0;

	issuer_intent(s, h, m, &t, instr);
	if (UNLIKELY(!hand_reserve(h, to, &dep, mode)))
		return 0;
	if (mode == MODE_TUNED) {
		plant(&h->k, MARK_RESERVED, instr);
		sink_stamp(&h->k, MARK_RESERVED, &t.reserved, instr);
	} else {
		plant_after(&h->k, MARK_RESERVED, dep, instr);
		sink_stamp_after(&h->k, MARK_RESERVED, dep, &t.reserved, instr);
	}
	w0 = hand_word0(lap, kind, h->len, ((uint32_t)m & h->slot_mask) << h->stride_shift);
	w1 = hand_word1(lap, instr == FLEX && m == h->fault_at && s->a->fault == WF_OVERRUN ? m + (1u << h->q.log_n) : m);
	plant(&h->k, MARK_RUNG, instr);
	hand_post(slot, w0, w1, mode);
	handed = instr == BARE || instr == MUTE ? 0 : ticks(h->k.gettime);
	if (instr != MUTE)
		issuer_put(h, h->k.at, &t, instr);
	if (instr == ALL || (instr == FLEX && h->k.mask >> MARK_RUNG & 1))
		sink_put(h->k.at, IS_RUNG, handed);
	return 1;
}

/* Posts n messages and rings once; their marks are put away one by one. */
HD int issuer_post_many(const struct issuer *s, struct posting *h, uint32_t n, const struct asking *ask,
			const uint32_t most, const int ord, const int mode, const int kind, const int instr)
{
	uint64_t index = h->qs.pi, m = post_message(index, kind), rung;
	struct early t = { 0, 0, 0, 0 };

	issuer_intent(s, h, m, &t, instr);
	if (UNLIKELY(!queue_reserve(&h->q, &h->qs, n * post_blocks(kind))))
		return 0;
	if (instr == MUTE) { /* unrolled, ptxas moves more registers than it saves jumps */
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
		for (uint32_t i = 0; i < n; i++)
			issuer_build(s, h, index + i * post_blocks(kind), &t, ask, 0, most, kind, instr);
	} else {
		issuer_build(s, h, index, &t, ask, 0, most, kind, instr);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
		for (uint32_t i = 1; i < n; i++) {
			issuer_put(h, h->k.at, &t, instr);
			issuer_intent(s, h, m + i, &t, instr);
			issuer_build(s, h, index + i * post_blocks(kind), &t, ask, 0, most, kind, instr);
		}
	}
	rung = issuer_ring(h, ord, mode, instr);
	if (instr != MUTE)
		issuer_put(h, h->k.at, &t, instr);
	if (instr == BARE || instr == MUTE)
		return 1;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < n; i++) {
		sink_message(&h->k, &s->a->sink, m + i, instr);
		if (instr == ALL || h->k.mask >> MARK_RUNG & 1)
			sink_put(h->k.at, IS_RUNG, rung);
	}
	return 1;
}

/* Looks for the next completion, POLLS_PER_LOOK times at most, and takes it. What
 * the loop has ended on is stamped right behind it, whatever it is: code that is
 * not yet fetched would stand in the crossing. With CQ_OTHER the CQ is a collapsed one, and
 * what is looked for is a counter that covers the message. */
HD uint32_t issuer_reap(const struct issuer *s, struct posting *h, const int kind, const int cq, const int instr)
{
	const uint8_t *at = queue_cqe7(&h->q, &h->qs);
	uint32_t lap = cqe_lap(h->qs.polled, h->q.log_ncqe);
	uint32_t window = 1u << h->q.log_n;
	uint64_t m = h->done, t;
	uint64_t w7 = cq == CQ_RING ? poll_cqe(at, lap, &h->polls) :
				      poll_covering(at, (uint32_t)m, window, &h->polls);
	/* of a WQE whose blocks are more than one it is not the message's number */
	uint32_t index = (uint32_t)(kind == POST_INLINE2 ? h->qs.ci : m) & INDEX_MASK;

	polled();
	t = instr == MUTE ? 0 : ticks(h->k.gettime);
	if (UNLIKELY(cq == CQ_RING ? !cqe_valid(w7, lap) : !cqe_covers(w7, (uint32_t)m, window)))
		return IW_LATE;
	if (instr == FLEX) {
		sink_message(&h->k, &s->a->sink, m, instr);
		plant(&h->k, MARK_NOTICED, instr);
		if (h->k.armed >> MARK_NOTICED & 1) /* with the wait or without */
			t = ticks(h->k.gettime);
	}
	if (instr == ALL || instr == BARE)
		h->k.at = sink_at(&h->k, m);
	if (instr == ALL || instr == BARE || (instr == FLEX && h->k.mask >> MARK_NOTICED & 1))
		sink_put(h->k.at, IS_NOTICED, t);
	if (instr == ALL || instr == FLEX)
		sink_put(h->k.at, IS_POLLS, h->polls);
	h->polls = 0;
	if (UNLIKELY((cqe_opcode(w7) != CQE_REQ) | (cq == CQ_RING && cqe_counter(w7) != index) |
		     (cqe_qpn(w7) != h->q.qpn))) {
		h->w7 = w7;
		return IW_CQE;
	}
	if (cq == CQ_RING)
		queue_take_blocks(&h->q, &h->qs, w7, post_blocks(kind));
	else
		queue_take_to(&h->q, &h->qs, m + 1);
	h->done = m + 1;
	return IW_DONE;
}

/* The same for rates, of CQEs that are not one a message: takes all messages up to the next
 * that has asked, or, of a collapsed CQ, all that its counter covers. Blocks end at
 * messages that ask, so no ring's CQE reaches over `end`. */
HD uint32_t issuer_reap_some(const struct issuer *s, struct posting *h, const struct asking *ask)
{
	const uint8_t *at = queue_cqe7(&h->q, &h->qs);
	uint32_t lap = cqe_lap(h->qs.polled, h->q.log_ncqe), window = 1u << h->q.log_n;
	uint64_t m = message_asking(ask, h->done), w7, done;
	int collapsed = s->a->collapsed != 0;

	w7 = collapsed ? poll_covering(at, (uint32_t)m, window, &h->polls) : poll_cqe(at, lap, &h->polls);
	polled();
	if (UNLIKELY(collapsed ? !cqe_covers(w7, (uint32_t)m, window) : !cqe_valid(w7, lap)))
		return IW_LATE;
	h->polls = 0;
	if (UNLIKELY((cqe_opcode(w7) != CQE_REQ) | (cqe_qpn(w7) != h->q.qpn) |
		     (!collapsed & (cqe_counter(w7) != (uint32_t)(m & INDEX_MASK))))) {
		h->w7 = w7;
		return IW_CQE;
	}
	done = h->done + ((cqe_counter(w7) - (uint32_t)h->done) & INDEX_MASK) + 1;
	done = h->check ? h->done + 1 : done; /* each is to be looked at */
	h->done = done < h->end ? done : h->end;
	queue_take_to(&h->q, &h->qs, h->done);
	return IW_DONE;
}

/* Posts until `end` with nobody to complete, for rates: what is posted is done. */
HD uint32_t issuer_stream(const struct issuer *s, struct posting *h, const int many, const uint32_t most,
			  const int ord, const int mode, const int kind)
{
	const uint64_t hand = flame_hand_at(mode);
	const struct handing to = handing_of(s, mode);

	do {
		uint64_t left = h->end - post_message(h->qs.pi, kind);
		uint32_t n = many && left < h->batch ? (uint32_t)left : h->batch;

		if (UNLIKELY(!(mode_hands(mode) ? issuer_hand_one(s, h, &to, mode, kind, MUTE) :
			       many ? issuer_post_many(s, h, n, 0, most, ord, mode, kind, MUTE) :
				      issuer_post_one(s, h, 0, hand, most, ord, mode, kind, MUTE))))
			return IW_FULL;
	} while (LIKELY(post_message(h->qs.pi, kind) != h->end));
	return IW_DONE;
}

/* What a kernel that does more than send has written just before: stores that a fence has
 * to wait for. By the issuer alone, and not waited for. */
HD void issuer_freshen(const struct issuer *s, uint64_t m)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < s->fresh; i += 16)
		st64x2(s->fresh_at + i, payload_word(m, i / 8), payload_word(m, i / 8 + 1));
}

/* The loop; `many` is a literal: batches of more than one. */
HD uint32_t issuer_loop(const struct issuer *s, struct posting *h, const int many, const int ord, const int mode,
			const int kind, const int cq, const int instr)
{
	const struct asking some = { cq == CQ_OTHER ? s->a->signal - 1 : 0, cq == CQ_OTHER ? s->a->warmup + s->a->messages : 0 };
	const struct asking *ask = cq == CQ_OTHER && instr == MUTE ? &some : 0;
	const uint64_t hand = flame_hand_at(mode);
	const struct handing to = handing_of(s, mode);

	for (;;) {
		uint32_t batch = many ? h->batch : 1, n = batch, why;
		uint64_t m = post_message(h->qs.pi, kind);

		if (m < h->limit && (m - h->done + batch) * post_blocks(kind) <= h->q.depth) {
			if (many && h->limit - m < batch)
				n = (uint32_t)(h->limit - m);
			if (kind != POST_NOP && !post_is_inline(kind) && UNLIKELY(h->fill && h->filled < m + n))
				return IW_FILL;
			if (instr != MUTE && h->gap_ticks && !h->again) {
				wait_ticks(h->gap_ticks / 4 + random_below(&h->rnd, h->gap_ticks), h->k.gettime);
				issuer_freshen(s, m);
			}
			if (UNLIKELY(!(mode_hands(mode) ? issuer_hand_one(s, h, &to, mode, kind, instr) :
				       many ? issuer_post_many(s, h, n, ask, WQE_INLINE_MAX, ord, mode, kind, instr) :
					      issuer_post_one(s, h, ask, hand, WQE_INLINE_MAX, ord, mode, kind, instr))))
				return IW_FULL;
			if (h->consumed)
				continue;
			h->done = post_message(h->qs.pi, kind);
			if (UNLIKELY(h->done >= h->end))
				return IW_DONE;
			continue;
		}
		if (instr != MUTE && h->dither_ticks && !h->polls)
			wait_ticks(random_below(&h->rnd, h->dither_ticks), h->k.gettime);
		why = ask ? issuer_reap_some(s, h, ask) : issuer_reap(s, h, kind, cq, instr);
		if (UNLIKELY(why != IW_DONE))
			return why;
		if (UNLIKELY(h->check))
			return IW_CHECK;
		if (UNLIKELY(h->done == h->end))
			return IW_DONE;
	}
}

/* One of the loops, by what doesn't change while it runs. When it finds no room by
 * what it knows, the consumer index is looked up, behind the loop and not in it. */
HD uint32_t issuer_looped(const struct issuer *s, struct posting *h, const int mute, const int many, const int ord,
			  const int mode, const int kind, const int cq, const int instr)
{
	for (;;) {
		uint32_t why = mute ? kind == POST_INLINE && h->len <= WQE_INLINE_SHORT ?
					      issuer_stream(s, h, many, WQE_INLINE_SHORT, ord, mode, kind) :
					      issuer_stream(s, h, many, WQE_INLINE_MAX, ord, mode, kind) :
				      issuer_loop(s, h, many, ord, mode, kind, cq, instr);

		if (mute)
			h->done = post_message(h->qs.pi, kind);
		if (why != IW_FULL)
			return why;
		queue_reload(&h->q, &h->qs);
		h->again = 1;
		if ((uint32_t)h->qs.pi - (uint32_t)h->qs.ci + h->batch * post_blocks(kind) > h->q.depth)
			return IW_FULL;
	}
}

/* Runs until `end` messages are done, or there is something else to do. With
 * nobody completing, what is posted is done. */
HD uint32_t issuer_run(struct issuer *s, const int ord, const int mode, const int kind, const int cq, const int instr)
{
	struct posting h = s->h;
	int many = mode < WORD_DOORBELLS && h.batch > 1; /* a line carries one WQE, a descriptor speaks of one */
	uint32_t why;

	if (cq == CQ_RING && instr == BARE && !h.record && !h.consumed)
		why = many ? issuer_looped(s, &h, 1, 1, ord, mode, kind, cq, MUTE) :
			     issuer_looped(s, &h, 1, 0, ord, mode, kind, cq, MUTE);
	else if (instr == BARE && !h.record)
		why = many ? issuer_looped(s, &h, 0, 1, ord, mode, kind, cq, MUTE) :
			     issuer_looped(s, &h, 0, 0, ord, mode, kind, cq, MUTE);
	else
		why = many ? issuer_looped(s, &h, 0, 1, ord, mode, kind, cq, instr) :
			     issuer_looped(s, &h, 0, 0, ord, mode, kind, cq, instr);
	s->h = h;
	return why;
}

#endif
