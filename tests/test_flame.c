/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a WQE that has arrived in the doorbell's line is taken from there, whole, and the queue
 * isn't looked at; of one that has not arrived whole nothing is ever used, whichever
 * words are missing, also behind its last segment: its copy in the queue is, which is counted. A word
 * that is all ones of its own doesn't hold up anything. Words that come late, in any order,
 * are waited for, or come too late and harm no later message. What rings in another way is
 * worked on from the queue, and so is what a recovery finds. The rows of a point say so; and
 * what can't be is refused.
 *
 * Controls: line and queue hold different messages, so that it is seen which was used; a line that
 * was not emptied does give a mixture, which the same look finds.
 */
#include "tests/engine_rig.h"
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include "harness/service.h"
#include "stages/suite.h"
#include <errno.h>

enum { LOG_N = 4, N = 1 << LOG_N, LINE_AT = 2048, QUEUE_AT = 1024, EVERY_WORD = 0xfe };

static struct rig r;

static int setup(void **state)
{
	(void)state;
	rig_open(&r, LOG_N, 12, 1, 11);
	r.usual = USUAL_FLAME;
	rig_reset(&r, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&r);
	return 0;
}

/* ---- what is in the line, what is in the queue, and what was done ---- */

static const struct rig_op inline_op = { POST_INLINE, 28, 0, QUEUE_AT, 0, 0 };

/* The WQE of index m of a message that says `number`, with its target at `at`. */
static void wqe_of(uint64_t w[WQE_WORDS], uint64_t m, uint64_t number, uint64_t at, uint32_t len, const int kind)
{
	struct resolved x = { RIG_LKEY, RIG_RKEY, RIG_RVA + at };

	wqe_build_at(&r.q, w, m, number, &x, RIG_LVA, len, kind);
}

/* Words of the line: those of the mask, then the first one. */
static void line_put(const uint64_t w[WQE_WORDS], uint32_t mask)
{
	for (int i = 1; i < WQE_WORDS; i++)
		if (mask >> i & 1)
			st64(r.q.db + i * 8, w[i]);
	st64(r.q.db, w[0]);
}

static int payload_at(uint64_t at, uint64_t number, uint32_t len)
{
	struct coop alone = { 0, 1 };

	return !job_check(r.pool[RIG_REMOTE] + at, len, number, alone);
}

static int untouched(uint64_t at)
{
	return !memcmp(r.pool[RIG_REMOTE] + at, r.pristine[RIG_REMOTE] + at, 64);
}

enum used { USED_LINE, USED_QUEUE, USED_MIXTURE };

/* Which of both messages was carried out, all of it and nothing else. */
static enum used used_now(uint64_t line, uint64_t queue, uint32_t len)
{
	if (payload_at(LINE_AT, line, len) && untouched(QUEUE_AT))
		return USED_LINE;
	return payload_at(QUEUE_AT, queue, len) && untouched(LINE_AT) ? USED_QUEUE : USED_MIXTURE;
}

/* One message, the line's other than the queue's, of whose words those of the mask arrive. */
static enum used one_torn(uint64_t m, uint32_t len, uint32_t mask, int instr)
{
	uint64_t line[WQE_WORDS], copy[WQE_WORDS];

	rig_reset(&r, m);
	wqe_of(line, m, m + 77000, LINE_AT, len, POST_INLINE);
	wqe_of(copy, m, m + 5, QUEUE_AT, len, POST_INLINE);
	memcpy(rig_wqe(&r, m), copy, WQEBB);
	line_put(line, mask);
	assert_int_equal(rig_poll(&r, instr), 1);
	assert_int_equal(r.s.cqes, 1);
	assert_int_equal(rig_syndrome(&r, 0, m), 0);
	return used_now(m + 77000, m + 5, len);
}

static void a_whole_line_is_taken(void **state)
{
	static const uint32_t lens[] = { 4, 8, 12, 16, 28, 13, 27 };

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (int instr = 0; instr < INSTRS; instr++) {
			assert_int_equal(one_torn(0xffff, lens[i], EVERY_WORD, instr), USED_LINE);
			assert_int_equal(r.st.from_queue, 0);
			assert_int_equal(r.st.odd_doorbells, 0);
			for (int w = 1; w < WQE_WORDS; w++) /* and is emptied */
				assert_int_equal(ld64(r.q.db + w * 8), FLAME_EMPTY);
		}
}

static void a_torn_line_is_never_used(void **state)
{
	static const uint32_t lens[] = { 4, 28 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (uint32_t mask = 0; mask < EVERY_WORD; mask += 2) {
			assert_int_equal(one_torn(7 * N + 3, lens[i], mask, (int)(mask / 2) % INSTRS), USED_QUEUE);
			assert_int_equal(r.st.from_queue, 1);
			assert_true(r.s.watch & WATCH_SHUT); /* the missing words may still come */
		}
}

/* control */
static void a_line_that_was_not_emptied_gives_a_mixture(void **state)
{
	uint64_t old[WQE_WORDS], line[WQE_WORDS], copy[WQE_WORDS];

	(void)state;
	for (int missing = 2; missing < WQE_WORDS; missing++) {
		rig_reset(&r, 9);
		wqe_of(old, 8, 123456, LINE_AT + 256, 28, POST_INLINE);
		line_put(old, EVERY_WORD);
		st64(r.q.db, 0);
		wqe_of(line, 9, 77009, LINE_AT, 28, POST_INLINE);
		wqe_of(copy, 9, 14, QUEUE_AT, 28, POST_INLINE);
		memcpy(rig_wqe(&r, 9), copy, WQEBB);
		line_put(line, EVERY_WORD & ~(1u << missing));
		assert_int_equal(rig_poll(&r, BARE), 1);
		/* (both have the same key) */
		assert_int_equal(used_now(77009, 14, 28), missing == 3 ? USED_LINE : USED_MIXTURE);
	}
}

/* After a line that never became whole the next ones are left alone: a word of the old one
 * that comes late, when the line has long been another's, is not used. */
static void words_that_come_too_late_harm_nobody(void **state)
{
	uint64_t line[WQE_WORDS], next[WQE_WORDS], copy[WQE_WORDS];

	(void)state;
	for (uint32_t late = 1; late < WQE_WORDS; late++) {
		assert_int_equal(one_torn(21, 28, EVERY_WORD & ~(1u << late), (int)late % INSTRS), USED_QUEUE);
		wqe_of(line, 21, 21 + 77000, LINE_AT, 28, POST_INLINE);
		st64(r.q.db + late * 8, line[late]);
		wqe_of(next, 22, 999, LINE_AT, 28, POST_INLINE);
		wqe_of(copy, 22, 22, QUEUE_AT + 64, 28, POST_INLINE);
		memcpy(rig_wqe(&r, 22), copy, WQEBB);
		line_put(next, EVERY_WORD & ~(1u << late)); /* its own word is missing */
		assert_int_equal(rig_poll(&r, (int)late % INSTRS), 1);
		assert_int_equal(rig_syndrome(&r, 1, 22), 0);
		assert_true(payload_at(QUEUE_AT + 64, 22, 28));
		assert_true(untouched(LINE_AT));
		assert_int_equal(r.st.from_queue, 2);
	}
}

/* All ones are a word like any other, in a WQE: it takes the queue to know it. */
static void a_word_of_all_ones_is_explained(void **state)
{
	(void)state;
	for (int instr = 0; instr < INSTRS; instr++) {
		uint64_t w[WQE_WORDS], m = 40, at = QUEUE_AT;

		rig_reset(&r, m);
		for (uint32_t ones = 0; ones < 16; ones++, m++, at += 64) {
			uint8_t want[28];

			wqe_of(w, m, m, at, 28, POST_INLINE);
			for (int i = 5; i < WQE_WORDS; i++)
				if (ones >> (i - 5) & 1)
					w[i] = FLAME_EMPTY;
			memcpy(want, (uint8_t *)w + 36, 28);
			memcpy(rig_wqe(&r, m), w, WQEBB);
			line_put(w, EVERY_WORD);
			assert_int_equal(rig_poll(&r, instr), 1);
			assert_int_equal(rig_syndrome(&r, ones, m), 0);
			assert_memory_equal(r.pool[RIG_REMOTE] + at, want, 28);
			/* one after the other: those with no such word still come by the line */
			assert_int_equal(r.st.from_queue, ones + 1 - (ones / 8 + 1));
			assert_false(r.s.watch & WATCH_SHUT);
		}
	}
}

/* ---- what rings in another way ---- */

static void other_doorbells_are_worked_on_from_the_queue(void **state)
{
	(void)state;
	for (int own = 0; own < 2; own++) {
		uint64_t m = 0xfff0;

		rig_reset(&r, m);
		for (uint32_t k = 0; k < 12; k++, m++) {
			rig_put(&r, m, &inline_op);
			st64(r.q.db, own ? rig_wqe(&r, m)[0] : doorbell_value(m + 1, RIG_QPN));
			assert_int_equal(rig_poll(&r, (int)k % INSTRS), 1);
			assert_int_equal(rig_syndrome(&r, k, m), 0);
			assert_true(payload_at(QUEUE_AT, m, 28));
			assert_int_equal(r.st.from_queue, k + 1);
			assert_true(r.s.watch & WATCH_SHUT);
		}
		/* a batch, which its last one's first word announces too */
		for (uint32_t i = 0; i < 5; i++)
			rig_put(&r, m + i, &inline_op);
		st64(r.q.db, own ? rig_wqe(&r, m + 4)[0] : doorbell_value(m + 5, RIG_QPN));
		assert_int_equal(rig_poll(&r, BARE), 5);
		assert_int_equal(r.s.error, 0);
		assert_int_equal(r.st.odd_doorbells, 0);
	}
}

/* Lines of another queue, of an index that isn't the next, of more than one block. */
static void foreign_lines_are_not_used(void **state)
{
	uint64_t w[WQE_WORDS];

	(void)state;
	rig_reset(&r, 50);
	wqe_of(w, 50, 1, LINE_AT, 28, POST_INLINE);
	w[0] ^= pair32(0, be32(0x100));
	line_put(w, EVERY_WORD);
	assert_int_equal(rig_poll(&r, BARE), 0);
	assert_int_equal(r.st.odd_doorbells, 1);
	wqe_of(w, 49, 1, LINE_AT, 28, POST_INLINE);
	line_put(w, EVERY_WORD);
	assert_int_equal(rig_poll(&r, BARE), 0);
	assert_int_equal(r.s.cqes, 0);
	rig_put(&r, 50, &inline_op);
	wqe_of(w, 50, 1, LINE_AT, 28, POST_INLINE);
	w[0] ^= pair32(0, be32(0x0c)); /* DS 4 becomes 8 */
	line_put(w, EVERY_WORD);
	rig_poll(&r, BARE);
	assert_true(untouched(LINE_AT));
	assert_true(payload_at(QUEUE_AT, 50, 28));
}

/* A NIC in recovery has the record and the queue, not the line. */
static void a_recovery_takes_the_queue(void **state)
{
	(void)state;
	r.e.recover_every = 3;
	for (int instr = 0; instr < INSTRS; instr++) {
		uint64_t line[WQE_WORDS], copy[WQE_WORDS], m = 100;

		rig_reset(&r, m);
		for (uint32_t k = 1; k <= 9; k++, m++) {
			memcpy(r.pool[RIG_REMOTE], r.pristine[RIG_REMOTE], r.pool_bytes);
			wqe_of(line, m, m, LINE_AT, 28, POST_INLINE);
			wqe_of(copy, m, m, QUEUE_AT, 28, POST_INLINE);
			memcpy(rig_wqe(&r, m), copy, WQEBB);
			st32((uint8_t *)r.q.dbrec + DBREC_SEND, dbrec_value(m + 1));
			line_put(line, EVERY_WORD);
			assert_int_equal(rig_poll(&r, instr), 1);
			assert_int_equal(used_now(m, m, 28), k % 3 ? USED_LINE : USED_QUEUE);
			assert_int_equal(r.st.from_queue, k / 3);
		}
	}
	r.e.recover_every = 0;
}

/* ---- words that come one by one, by another thread ---- */

enum { SLOTS = 16, SLOT = 64, MANY = 4000 };

struct writer { uint64_t seed, done, wrong; uint32_t slow; uint64_t nap; const int kind; };

static void nap(uint64_t ns)
{
	for (uint64_t t = mono_ns(); mono_ns() - t < ns;)
		relax_cpu();
}

/* The line of message m, its words in some order, the first one anywhere among them. */
static void line_scattered(struct writer *w, const uint64_t wqe[WQE_WORDS])
{
	int order[WQE_WORDS];

	for (int i = 0; i < WQE_WORDS; i++) {
		int k = (int)draw_below(&w->seed, (uint64_t)i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (int i = 0; i < WQE_WORDS; i++) {
		if (!draw_below(&w->seed, 4)) /* sometimes longer than the engine looks at a line */
			nap(draw_below(&w->seed, draw_below(&w->seed, w->slow) ? 200 : w->nap));
		if (order[i])
			st64(r.q.db + order[i] * 8, wqe[order[i]]);
		else
			st64_published(r.q.db, wqe[0]);
	}
}

static void write_lines(struct service *me, void *arg)
{
	struct writer *w = arg;
	struct coop alone = { 0, 1 };

	for (uint64_t m = 0; m < MANY; m++) {
		const uint8_t *cqe = r.q.cq + (m & (N - 1)) * CQE_SIZE + 56;
		uint64_t at = (m & (SLOTS - 1)) * SLOT, wqe[WQE_WORDS];
		struct resolved x = { RIG_LKEY, RIG_RKEY, RIG_RVA + at };

		if (w->kind == POST_WRITE)
			job_fill(r.pool[RIG_LOCAL] + at, 24, m, alone);
		wqe_build(&r.q, wqe, m, &x, RIG_LVA + at, 24, w->kind);
		wqe_store(&r.q, m, wqe, 24, w->kind);
		line_scattered(w, wqe);
		while (!cqe_valid(ld64_acquire(cqe), cqe_lap(m, LOG_N)))
			if (service_stopping(me))
				return;
		w->wrong += cqe_opcode(ld64_acquire(cqe)) != CQE_REQ;
		w->wrong += job_check(r.pool[RIG_REMOTE] + at, 24, m, alone);
		__atomic_store_n(&w->done, m + 1, __ATOMIC_RELEASE);
	}
}

/* Of a line in pieces, with the queue's copy always there: nothing is lost, nothing is mixed. The longest nap between
 * two words is below `nap` ns. Says how many came from the queue. */
static uint64_t scattered(const int kind, int instr, uint64_t nap)
{
	struct writer w = { .seed = 3 + (uint64_t)instr, .slow = 400, .nap = nap, .kind = kind };
	uint64_t until = deadline_in_s(60);
	struct service *s = NULL;

	rig_reset(&r, 0);
	assert_int_equal(service_start(&s, "writer of lines", pin_cpu(pin_cpus() > 1), write_lines, &w, 10), 0);
	while (__atomic_load_n(&w.done, __ATOMIC_ACQUIRE) < MANY && !deadline_over(until))
		rig_poll(&r, instr);
	assert_int_equal(service_stop(s, 10), 0);
	assert_int_equal(w.done, MANY);
	assert_int_equal(w.wrong, 0);
	assert_int_equal(r.s.error, 0);
	assert_int_equal(r.st.odd_doorbells, 0);
	assert_int_equal(r.st.stale_wqe, 0);
	print_message("%s, naps below %llu us: %llu of %d from the queue%s\n", kind == POST_INLINE ? "inline" : "pointer",
		      (unsigned long long)nap / 1000, (unsigned long long)r.st.from_queue, MANY, r.s.watch & WATCH_SHUT ? ", the line shut" : "");
	/* unless the writer was kept from its CPU for longer than anybody waits */
	assert_true(r.st.from_queue < MANY / 2 || r.s.watch & WATCH_SHUT);
	return r.st.from_queue;
}

/* Most come by the line, some don't: how long the engine looks at a line is a count, and so no time of its own. */
static void most_by_the_line(const int kind, int instr)
{
	uint64_t nap = 20000;

	while (!scattered(kind, instr, nap) && nap < 10000000)
		nap *= 4;
	assert_true(r.st.from_queue > 0);
}

static void lines_that_come_in_pieces(void **state)
{
	(void)state;
	assert_int_equal(pin_self(pin_cpu(0)), 0);
	for (int instr = 0; instr < INSTRS; instr++) {
		most_by_the_line(POST_INLINE, instr);
		most_by_the_line(POST_WRITE, instr);
	}
}

/* ---- points ---- */

/* Two passes of a point: its rows' number of WQEs from the queue, and whether the row says so.
 * `from`: how many of `of` messages. */
static void where_wqes_came_from(const char *text, double share, double *from, size_t *of)
{
	const struct row *row;
	struct point pt;
	struct rows rs;

	point_of(&pt, "issuer=cpu messages=256 warmup=128");
	point_set(&pt, text);
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	row = row_of(&rs, "handoff", "-", "from_queue");
	assert_non_null(row);
	*from = row->s.mean;
	*of = row->s.n;
	if (share > 0 || *from < 1)
		assert_string_equal(row->status == FS_OK ? "" : row->reason, "");
	else
		assert_string_equal(row->reason_code, "from-queue");
	rows_free(&rs);
}

/* An issuer that loses its CPU between two words of a line sends the NIC to the queue: for that message, or, kept
 * longer than the NIC waits, for all that follow. Then the row says so, each time; that a line is what messages
 * come by is shown by one try of several in which it wasn't. */
static void points_say_where_wqes_came_from(void **state)
{
	static const struct { const char *text; double share; } points[] = {
		{ "doorbell=blueflame", 0 }, { "doorbell=blueflame payload=pointer size=300", 0 },
		{ "doorbell=blueflame recover_every=1", 1 }, { "doorbell=blueflame recover_every=4", 0.25 },
	};

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		double share = points[i].share, from = 0;
		size_t of = 0;
		int tries = 20, as_meant = 0;

		while (!as_meant && tries--) {
			where_wqes_came_from(points[i].text, share, &from, &of);
			as_meant = from <= (share + 0.05) * (double)of && from >= share * (double)of - 8;
		}
		if (!as_meant)
			fail_msg("%s: %.0f of %zu WQEs from the queue in the last of 20 tries", points[i].text, from, of);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct { const char *text, *says; } refusals[] = {
		{ "doorbell=blueflame depth=2", "depth=1" },
		{ "doorbell=blueflame depth=4 batch=2 nic=null", "batch=1" },
		{ "doorbell=blueflame payload=inline size=29", "one basic block" },
		{ "doorbell=blueflame op=read", "op=write" },
		{ "doorbell=blueflame op=nop", "op=write" },
		{ "doorbell=blueflame ordering=sys-release", "no release store of 64 bytes" },
		{ "doorbell=blueflame cq=collapsed", "record-ring" },
		{ "doorbell=blueflame-bulk", "cp.async.bulk" },
	};
	struct machine none = { .cpus = 2 };
	struct path_conf c;
	struct point pt;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		point_of(&pt, "issuer=cpu");
		point_set(&pt, refusals[i].text);
		assert_int_equal(point_refused(&pt, &none, refusals[i].says), -EINVAL);
		point_refused(&pt, &none, "legal");
	}
	point_of(&pt, "issuer=cpu doorbell=blueflame depth=8 nic=null"); /* control */
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_whole_line_is_taken), T(a_torn_line_is_never_used), T(a_line_that_was_not_emptied_gives_a_mixture),
		T(words_that_come_too_late_harm_nobody), T(a_word_of_all_ones_is_explained),
		T(other_doorbells_are_worked_on_from_the_queue), T(foreign_lines_are_not_used), T(a_recovery_takes_the_queue),
		T(lines_that_come_in_pieces), cmocka_unit_test(points_say_where_wqes_came_from),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
