/* SPDX-License-Identifier: Apache-2.0 */
/* What a helper's loops share (helper.c, boundary.c): its state, its marks and blocks, building
 * and ringing. For these files alone. */
#ifndef FS_HELPER_PARTS_H
#define FS_HELPER_PARTS_H

#include "stages/issuer/helper.h"
#include "harness/service.h"
#include "stages/queue/pace.h"
#include <string.h>

struct helper {
	struct helper_args a;
	struct helper_status st;
	struct planter planter;
	struct sink k;
	struct resolver res;
	uint64_t pi;          /* the next message to take */
	uint64_t polled;      /* CQEs taken */
	uint64_t done;        /* messages that it is done with */
	uint64_t db;          /* the last word that it was handed */
	uint64_t woken;       /* when it last ran again */
	uint64_t sleeps, wakeups, rings, launches;
	uint32_t many;        /* messages of the kernel that was launched last */
	int epoll, over;
	const struct service *me; /* the thread's; `service` is its owner's */
	struct service *service;
};

static inline struct helper_pair pair_now(const struct helper *h)
{
	struct helper_pair p = { .at = clock_pair_read(h->k.gettime), .sleeps = h->sleeps,
				 .wakeups = h->wakeups, .launches = h->launches };
	struct thread_usage u = thread_usage_now();

	p.cpu_ns = u.cpu_ns;
	p.waited = u.waited;
	p.preempted = u.preempted;
	return p;
}

/* The block with message `last` ends: nothing of it is under way where marks are kept. */
static inline void block_flush(struct helper *h, uint64_t last)
{
	uint64_t b = last / h->a.block;
	struct helper_pair *p = &h->a.pairs[b % h->a.blocks];
	uint64_t rings = (last + 1) % h->a.block ? h->rings : p->rings; /* helper_ring counts whole blocks' */

	*p = pair_now(h);
	p->rings = rings;
	if (h->a.keep)
		memcpy(h->a.marks + b * h->a.block % h->a.keep * HELPER_SLOTS, sink_stage(&h->k),
		       (last % h->a.block + 1) * HELPER_SLOTS * 8);
}

/* It is done with all messages before `done`. */
HD void helper_done(struct helper *h, uint64_t done)
{
	uint64_t before = h->done;

	h->done = done;
	if (UNLIKELY(before / h->a.block != done / h->a.block))
		block_flush(h, before / h->a.block * h->a.block + h->a.block - 1);
}

HD int helper_ends(struct helper *h, enum helper_end why)
{
	h->st.end = (int)why;
	h->over = 1;
	return 0;
}

/* Has its fault come? */
HD int helper_faulty(struct helper *h, uint64_t m, enum helper_fault f, const int instr)
{
	return instr == FLEX && UNLIKELY(h->a.fault == (uint32_t)f && m >= h->a.fault_at);
}

/* A mark behind a load that has observed: with its wait or without. */
HD uint64_t helper_seen(struct helper *h, uint64_t m, int mark, const int instr)
{
	uint64_t t = instr == BARE ? 0 : ticks(h->k.gettime);

	if (instr == FLEX) {
		sink_message(&h->k, &h->a.sink, m, instr);
		plant(&h->k, mark, instr);
		if (h->k.armed >> mark & 1)
			t = ticks(h->k.gettime);
	} else if (instr == ALL) {
		h->k.at = sink_at(&h->k, m);
	}
	return t;
}

HD void helper_put(const struct helper *h, uint64_t m, enum helper_slot slot, uint64_t t, const int instr)
{
	if (instr != BARE)
		sink_put(sink_at(&h->k, m), (int)slot, t);
}

/* Record and doorbell for n messages. */
HD void helper_ring(struct helper *h, uint32_t n, const int mode, const int instr)
{
	uint64_t v, t;

	v = ring_prepare(&h->a.q, h->pi + n, ORD_SYS_RELEASE, mode);
	plant(&h->k, MARK_RUNG, instr);
	doorbell_store(&h->a.q, v, ORD_SYS_RELEASE);
	t = instr == BARE ? 0 : ticks(h->k.gettime);
	st64_published(h->a.progress, h->pi + n);
	for (uint32_t i = 0; instr != BARE && i < n; i++)
		helper_put(h, h->pi + i, HS_RUNG, t, instr);
	h->pi += n;
	h->rings++;
	/* completions of a block may be passed on much later than its messages are rung for */
	if (UNLIKELY((h->pi - n) / h->a.block != h->pi / h->a.block))
		h->a.pairs[(h->pi - n) / h->a.block % h->a.blocks].rings = h->rings;
}

/* The WQE of message m, which w0 describes. */
HD void helper_build(struct helper *h, uint64_t m, uint64_t w0, uint64_t taken, const int instr)
{
	int kind = hand_kind(w0);
	uint64_t w[WQE_WORDS], resolved = 0;
	struct resolved x;

	x = resolve(&h->res, hand_off(w0), kind, instr != BARE);
	plant_after(&h->k, MARK_RESOLVED, x.lkey ^ x.rkey, instr);
	if (instr != BARE)
		resolved = ticks_after(h->k.gettime, x.lkey ^ x.rkey);
	wqe_build(&h->a.q, w, m, &x, h->a.local + hand_off(w0), hand_len(w0), kind);
	plant(&h->k, MARK_BUILT, instr);
	wqe_store(&h->a.q, m, w, hand_len(w0), kind);
	if (instr == BARE)
		return;
	helper_put(h, m, HS_BUILT, ticks(h->k.gettime), instr);
	helper_put(h, m, HS_TAKEN, taken, instr);
	helper_put(h, m, HS_RESOLVED, resolved, instr);
}

/* The loop of submitter=cpu, in boundary.c. */
void boundary_serve(struct service *me, struct helper *h);

#endif
