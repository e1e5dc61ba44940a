/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper of submitter=cpu: it launches a kernel, sees it end, posts what it sends, sees it
 * completed, and launches the next one; and the thread that stands for kernels on a CPU.
 *
 * Order: what a kernel stored is there for whoever has seen its end, and a kernel sees what
 * was done before its launch; of a stream both are the runtime's, of a thread the words that count
 * launches and ends are released and acquired.
 */
#include "stages/issuer/helper_parts.h"
#include "stages/issuer/launches.h"

const char *const boundary_names[BOUNDARIES] = {
#define X(NAME, word, help) [BOUNDARY_##NAME] = word,
	FS_BOUNDARIES(X)
#undef X
};

enum { AWAIT_NS = 1000000 };  /* between two looks at how far the helper is */

/* ---- the helper ---- */

/* The kernel that begins with the next message. Of a message that was completed the mark stands before
 * the call: a kernel may begin before the call is back. */
HD void launch_next(struct helper *h, const int boundary, const int instr)
{
	uint64_t first = h->polled - h->many, t, back;
	int err;

	plant(&h->k, MARK_RELAYED, instr);
	t = instr == BARE ? 0 : ticks(h->k.gettime);
	if (h->polled && helper_faulty(h, h->polled, HF_LAUNCH, instr))
		err = launches_refused(boundary);
	else
		err = launches_begin(&h->a.kernels, h->launches + 1, &h->sleeps, boundary);
	back = instr == BARE ? 0 : ticks(h->k.gettime);
	for (uint32_t i = 0; instr != BARE && i < h->many; i++) {
		helper_put(h, first + i, HS_RELAYED, t, instr);
		helper_put(h, first + i, HS_CALLED, back, instr);
	}
	if (UNLIKELY(err)) {
		h->st.error = err;
		helper_ends(h, HELPER_LAUNCH);
		return;
	}
	h->launches++;
	launches_begun(&h->a.kernels, h->launches, boundary);
	h->many = boundary_many(h->pi, h->a.kernels.total, h->a.block, h->a.kernels.batch);
}

/* A kernel is under way: has it ended? Posts what it sends. How many messages. */
HD uint32_t end_take(struct helper *h, const int boundary, const int mode, const int instr)
{
	const struct helper_kernels *k = &h->a.kernels;
	int ended = launches_ended(k, h->launches, boundary);
	uint64_t t;

	if (!ended || helper_faulty(h, h->pi, HF_STUCK, instr))
		return 0;
	if (UNLIKELY(ended < 0)) {
		h->st.error = -ended;
		return (uint32_t)helper_ends(h, HELPER_KERNEL);
	}
	polled();
	if (helper_faulty(h, h->pi, HF_KILLED, instr))
		return (uint32_t)helper_ends(h, HELPER_DIED);
	if (UNLIKELY(!h->many)) /* the last one had nothing to send */
		return (uint32_t)helper_ends(h, HELPER_STOPPED);
	t = helper_seen(h, h->pi, MARK_TAKEN, instr);
	for (uint32_t i = 0; i < h->many; i++) {
		uint64_t m = h->pi + i;
		uint32_t off = ((uint32_t)m & k->slot_mask) << k->stride_shift;

		helper_build(h, m, hand_word0(0, k->kind, k->len, off), t, instr);
	}
	helper_ring(h, h->many, mode, instr);
	return h->many;
}

/* Messages are under way: the next CQE, if it is there. Behind the last one the next kernel is launched. */
HD uint32_t end_reap(struct helper *h, const int boundary, const int instr)
{
	uint64_t m = h->polled;
	const uint8_t *at = h->a.q.cq + (m & ((1u << h->a.q.log_ncqe) - 1)) * CQE_SIZE;
	uint64_t w7 = ld64_poll(at + 56), t;

	if (!cqe_valid(w7, cqe_lap(m, h->a.q.log_ncqe)) || helper_faulty(h, m, HF_DEAF, instr))
		return 0;
	polled();
	t = helper_seen(h, m, MARK_CAUGHT, instr);
	helper_put(h, m, HS_CAUGHT, t, instr);
	if (UNLIKELY((cqe_opcode(w7) != CQE_REQ) | (cqe_counter(w7) != (uint32_t)(m & INDEX_MASK)) | (cqe_qpn(w7) != h->a.q.qpn))) {
		h->st.w6 = ld64(at + 48);
		h->st.w7 = w7;
		return (uint32_t)helper_ends(h, HELPER_CQE);
	}
	h->polled++;
	if (h->polled == h->pi)
		launch_next(h, boundary, instr);
	return 1;
}

HD void boundary_loop(struct service *me, struct helper *h, const int boundary, const int mode, const int instr)
{
	uint32_t idle = 0;

	launch_next(h, boundary, instr);
	while (!h->over) {
		int stopping = service_stopping(me);
		uint64_t before = h->polled;
		uint32_t found = h->pi == h->polled ? end_take(h, boundary, mode, instr) : end_reap(h, boundary, instr);

		if (h->polled != before)
			helper_done(h, h->polled);
		if (found)
			idle = 0;
		else if (stopping)
			break;
		else
			relax_turn(++idle, h->a.crowded);
	}
}

#define FS_LOOPS_OF(X, b) X(b, RECORD_RING) X(b, RING_RECORD_RING) X(b, RING)
#define FS_LOOPS(X) FS_LOOPS_OF(X, STREAM) FS_LOOPS_OF(X, GRAPH) FS_LOOPS_OF(X, FUTEX)
#define X(b, d) \
	static void loop_##b##_##d##_0(struct service *me, struct helper *h) { boundary_loop(me, h, BOUNDARY_##b, DBM_##d, BARE); } \
	static void loop_##b##_##d##_1(struct service *me, struct helper *h) { boundary_loop(me, h, BOUNDARY_##b, DBM_##d, ALL); } \
	static void loop_##b##_##d##_2(struct service *me, struct helper *h) { boundary_loop(me, h, BOUNDARY_##b, DBM_##d, FLEX); }
FS_LOOPS(X)
#undef X
static void (*const loops[BOUNDARIES][WORD_DOORBELLS][INSTRS])(struct service *, struct helper *) = {
#define X(b, d) [BOUNDARY_##b][DBM_##d] = { loop_##b##_##d##_0, loop_##b##_##d##_1, loop_##b##_##d##_2 },
	FS_LOOPS(X)
#undef X
};

void boundary_serve(struct service *me, struct helper *h)
{
	const struct helper_kernels *k = &h->a.kernels;

	if (k->boundary != BOUNDARY_FUTEX && (h->st.error = start_here(k->start)))
		helper_ends(h, HELPER_LAUNCH);
	else
		loops[k->boundary][h->a.mode][h->a.instr](me, h);
	/* one that was killed says nothing */
	if (h->st.end != HELPER_DIED)
		st64_published(&k->words->over, 1);
}

/* ---- whoever waits for the pass ---- */

/* One function for each form of the kernel; `c` is a lone thread. */
HD int thread_loop(const struct boundary_args *a, struct boundary_words *w, uint64_t wait_ns, const int instr)
{
	const struct coop alone = { 0, 1 };
	uint64_t seen = 0;

	while ((seen = launches_next(w, seen, wait_ns))) {
		boundary_kernel(a, alone, instr);
		st64_published(&w->ended, seen);
	}
	return ld64_poll(&w->over) ? 0 : -ETIMEDOUT;
}

int boundary_cpu_run(const struct boundary_args *a, int instr, struct boundary_words *w, uint64_t wait_ns)
{
	switch (instr) {
	case BARE: return thread_loop(a, w, wait_ns, BARE);
	case ALL: return thread_loop(a, w, wait_ns, ALL);
	case FLEX: return thread_loop(a, w, wait_ns, FLEX);
	default: return thread_loop(a, w, wait_ns, MUTE);
	}
}

int boundary_await(const struct boundary_words *w, uint64_t wait_ns)
{
	const struct timespec nap = { 0, AWAIT_NS };
	struct patience late = { 0, 0 };
	uint64_t seen = 0, v;

	while (!ld64_poll(&w->over)) {
		v = ld64_poll(&w->launched);
		if (v != seen)
			late.looked = late.waited = 0;
		seen = v;
		if (patience_look(&late) > wait_ns)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
	return 0;
}
