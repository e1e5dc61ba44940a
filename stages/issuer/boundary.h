/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submitter=cpu: what is sent is handed over by a kernel's end, and a completion comes back as
 * the launch of the next kernel. This file has the kernel, for both sides (HD); the thread that
 * stands for one on a CPU and the helper's loop are in boundary.c, the kernel's launch in
 * boundary_gpu.cu and stages/place/start_cuda.c.
 *
 * A kernel stamps `noticed` of what the last one has sent first of all, looks at what came back,
 * makes the next data ready, pauses, decides (`intent`), and ends behind its last stamp
 * (`handed`). What it remembers stands in the issuer's memory: it knows nothing else of the last one.
 *
 * All of its marks are of one clock that holds from one kernel to the next: on a GPU
 * %globaltimer, since clock64 counts an SM's own cycles, the next kernel may be on another SM, and
 * an SM that idles between two kernels changes its rate.
 */
#ifndef FS_BOUNDARY_H
#define FS_BOUNDARY_H

#include "stages/issuer/post.h"
#include "stages/place/offset.h"

/* X(NAME, word, how the next kernel begins) */
#define FS_BOUNDARIES(X) \
	X(STREAM, "stream", "cudaLaunchKernel into a stream") \
	X(GRAPH, "graph", "cudaGraphLaunch of a graph of one kernel, uploaded before") \
	X(FUTEX, "futex", "a CPU thread that sleeps in a futex is woken, in a kernel's place")
enum boundary {
#define X(NAME, word, help) BOUNDARY_##NAME,
	FS_BOUNDARIES(X)
#undef X
	BOUNDARIES
};

extern const char *const boundary_names[BOUNDARIES];

/* Where fewer of its launches found their thread asleep, a pass is of polls too, and is flagged so. */
#define ASLEEP_MIN 0.9
#define AWAKE_WORDS "in more than a tenth of its launches the thread that stands for a kernel had not fallen asleep yet"

enum { BOUNDARY_REST_NS = 20000 };

/* From one kernel to the next, in the issuer's memory; all zero before the first. */
struct boundary_state {
	uint64_t from, next;     /* messages of the last kernel, up to `next`; all before `from` are noticed */
	uint64_t wrong_words, wrong_message; /* as an issue_out's */
	uint64_t step;           /* of the clock that stamps, as the first kernel found it; in its units */
	uint64_t smid, moves;    /* the last SM + 1, and how often it was another one than before */
	struct planter planter;
};

struct boundary_args {
	struct boundary_state *state;
	uint64_t *marks;         /* [messages][ISSUER_SLOTS] */
	struct clock_pair *pairs; /* [1 + blocks], as an issuer's */
	uint8_t *local, *remote_view, *fresh_at;
	uint64_t warmup, messages, seed; /* warmup: a multiple of the block */
	uint32_t slot_mask, stride_shift, len, batch, fresh;
	uint32_t gap_ticks;      /* random pause before intent */
	uint32_t reads;          /* the message is a read: what is filled is remote */
	uint32_t fill, check;
	struct sink_conf sink;   /* whose block is the pass's */
};

/* On the host, a line each: what a thread in a kernel's place is launched and waited for with, and what
 * whoever waits for the whole pass sees of the helper. */
struct boundary_words {
	uint64_t launched __attribute__((aligned(128))); /* counts launches */
	uint64_t ended __attribute__((aligned(128)));    /* the last launch that has ended; a thread's alone */
	uint64_t over __attribute__((aligned(128)));     /* 1: the helper launches nothing any more */
};

/* Messages of the kernel that begins with `next`: none reaches over a block's end. */
HD uint32_t boundary_many(uint64_t next, uint64_t total, uint32_t block, uint32_t batch)
{
	uint64_t left = total - next, room = block - (next & (block - 1));

	left = left < room ? left : room;
	return left < batch ? (uint32_t)left : batch;
}

HD uint64_t *boundary_marks(const struct boundary_args *a, uint64_t m)
{
	return a->marks + (m - a->warmup) * ISSUER_SLOTS;
}

HD uint8_t *boundary_slot(const struct boundary_args *a, uint64_t m, int filled)
{
	return (filled == (int)a->reads ? a->remote_view : a->local) + ((uint64_t)((uint32_t)m & a->slot_mask) << a->stride_shift);
}

/* The wait before a mark of message m, where it has one. */
HD void boundary_plant(const struct boundary_args *a, uint64_t m, int mark, const int instr)
{
	if (instr == FLEX && UNLIKELY((a->sink.plant[0] == mark || a->sink.plant[1] == mark) && block_planted(m, a->sink.block)))
		planter_wait(&a->state->planter, mark);
}

/* Of one clock, which holds from one kernel to the next. */
HD struct clock_pair boundary_pair(int gettime)
{
#ifdef __CUDA_ARCH__
	struct clock_pair p;

	(void)gettime;
	p.ticks = p.wall = wall_ticks_ns();
	return p;
#else
	return clock_pair_read(gettime);
#endif
}

/* By the leader, before anything else is in the first kernel. */
HD void boundary_first(const struct boundary_args *a, const int instr)
{
	a->state->step = agent_step(a->sink.gettime);
	if (instr == FLEX && (a->sink.plant[0] >= 0 || a->sink.plant[1] >= 0))
		planter_begin(&a->state->planter, &a->sink);
}

/* On which SM, and whether it is another one than the last kernel's. */
HD void boundary_where(struct boundary_state *s)
{
#ifdef __CUDA_ARCH__
	uint32_t smid;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	s->moves += s->smid && s->smid != smid + 1;
	s->smid = smid + 1;
#else
	(void)s;
#endif
}

/* What the last kernel sent is noticed, at t: marks, payloads, and a block's end. */
HD void boundary_notice(const struct boundary_args *a, uint64_t from, uint64_t next, uint64_t t, struct coop c, const int instr)
{
	struct boundary_state *s = a->state;

	for (uint64_t m = from; m < next; m++) {
		if (instr != MUTE && m >= a->warmup && !c.lane) {
			boundary_marks(a, m)[IS_NOTICED] = t;
			boundary_marks(a, m)[IS_POLLS] = 0;
		}
		if (a->check) {
			uint64_t bad = job_check(boundary_slot(a, m, 0), a->len, m, c);

			if (bad && !c.lane) {
				s->wrong_message = s->wrong_words ? s->wrong_message : m;
				s->wrong_words += bad;
			}
		}
	}
	if (c.lane)
		return;
	boundary_where(s);
	if (next < a->warmup)
		return;
	if (!((next - a->warmup) & (a->sink.block - 1)) || next == a->warmup + a->messages)
		a->pairs[(next - a->warmup + a->sink.block - 1) / a->sink.block] = boundary_pair(a->sink.gettime);
}

/* A pause in which the next message's data is there; the same in a block with a plant and the one without. */
HD void boundary_pause(const struct boundary_args *a, uint64_t m)
{
	uint64_t at = m - (m < a->warmup ? 0 : a->warmup), pair = at & ~(uint64_t)(2 * a->sink.block - 1);
	uint64_t rnd = (a->seed + (pair + (at & (a->sink.block - 1))) * 0x9e3779b97f4a7c15u) | 1;

	if (!a->gap_ticks)
		return;
	if (!(at & (a->sink.block - 1))) { /* behind a block the helper puts its marks away */
		int64_t debt = 0;

		wait_owed(&debt, BOUNDARY_REST_NS, wall_ticks_ns());
	}
	wait_ticks(a->gap_ticks / 4 + random_below(&rnd, a->gap_ticks), a->sink.gettime);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < a->fresh; i += 16)
		st64x2(a->fresh_at + i, payload_word(m, i / 8), payload_word(m, i / 8 + 1));
}

/* Decides on n messages. Their marks are stored behind the last stamp: what has no next instruction
 * can keep nothing in a register. */
HD void boundary_send(const struct boundary_args *a, uint64_t next, uint32_t n, const int instr)
{
	int kept = instr != MUTE && next >= a->warmup, gettime = a->sink.gettime;
	uint64_t intent = 0, reserved = 0, handed = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (i && kept) {
			boundary_marks(a, next + i - 1)[IS_INTENT] = intent;
			boundary_marks(a, next + i - 1)[IS_RESERVED] = reserved;
		}
		boundary_plant(a, next + i, MARK_INTENT, instr);
		if (instr != MUTE)
			intent = agent_now(gettime);
		boundary_plant(a, next + i, MARK_RESERVED, instr);
		if (instr == ALL || instr == FLEX)
			reserved = agent_now(gettime);
	}
	boundary_plant(a, next, MARK_RUNG, instr); /* the issuer's sink has `handed` there */
	if (instr == ALL || instr == FLEX)
		handed = agent_now(gettime);
	if (kept) {
		boundary_marks(a, next + n - 1)[IS_INTENT] = intent;
		boundary_marks(a, next + n - 1)[IS_RESERVED] = reserved;
	}
	for (uint32_t i = 0; kept && i < n; i++)
		boundary_marks(a, next + i)[IS_RUNG] = handed;
	a->state->from = next;
	a->state->next = next + n;
}

/* One kernel, by all of its lanes; instr: a literal, MUTE where no mark is kept. The last one of a
 * pass only notices. */
HD void boundary_kernel(const struct boundary_args *a, struct coop c, const int instr)
{
	uint64_t t = instr == ALL || instr == BARE ? agent_now(a->sink.gettime) : 0, from, next;
	struct boundary_state *s = a->state;
	uint32_t n;

	from = s->from;
	next = s->next;
	if (instr == FLEX) { /* whether it waits depends on which message it is, in both kinds of blocks */
		if (!c.lane && from < next)
			boundary_plant(a, from, MARK_NOTICED, instr);
		t = agent_now(a->sink.gettime);
	}
	if (!next && !c.lane)
		boundary_first(a, instr);
	boundary_notice(a, from, next, t, c, instr);
	n = boundary_many(next, a->warmup + a->messages, a->sink.block, a->batch);
	for (uint32_t i = 0; a->fill && i < n; i++)
		job_fill(boundary_slot(a, next + i, 1), a->len, next + i, c);
	if (a->fill) {
		release_sys();
		fence_sc_gpu();
	}
	coop_sync(c);
	if (c.lane)
		return;
	if (!n) {
		s->from = next;
		return;
	}
	boundary_pause(a, next);
	boundary_send(a, next, n, instr);
}

/* ---- whoever waits for a pass ---- */

/*
 * On a CPU the calling thread stands for the kernels: it is woken for each and runs until the helper launches no
 * more. On a GPU it waits. 0; -ETIMEDOUT when nothing was launched for wait_ns in which it looked, which
 * is not said.
 */
int boundary_cpu_run(const struct boundary_args *a, int instr, struct boundary_words *w, uint64_t wait_ns);
int boundary_await(const struct boundary_words *w, uint64_t wait_ns);

/* Before anything is resident: loads the kernel and makes it one that can be launched. `a`: the caller's,
 * as long as that is open. */
struct starter;
int boundary_gpu_open(struct starter *s, struct boundary_args *a, int instr, int device);

#endif
