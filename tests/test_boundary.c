/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: with submitter=cpu every message is decided on in one kernel and noticed in the next; a kernel's
 * end is rung for once, whatever it sends; a kernel knows what the last one sent, and looks at it; marks
 * stand in the order of the path on one clock; and whatever a launch can do wrong ends in bounded time
 * with words that say what. What can't be is refused.
 *
 * Controls: payloads that did not come are counted; the same points without the fault go well.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/issuer/boundary.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>

static void need_two_cpus(void)
{
	if (pin_cpus() < 2)
		skip();
}

/* ---- kernels by hand ---- */

enum { MESSAGES = 300, BLOCK = 64, SLOTS = 32, STRIDE = 16 };

static struct boundary_state state;
static uint64_t marks[MESSAGES][ISSUER_SLOTS], local[SLOTS * STRIDE / 8], remote[SLOTS * STRIDE / 8];
static struct clock_pair pairs[MESSAGES / BLOCK + 2];

static void args_of(struct boundary_args *a, uint32_t batch)
{
	memset(a, 0, sizeof(*a));
	memset(&state, 0, sizeof(state));
	memset(marks, 0, sizeof(marks));
	memset(pairs, 0, sizeof(pairs));
	memset(remote, 0xee, sizeof(remote));
	a->state = &state;
	a->marks = &marks[0][0];
	a->pairs = pairs;
	a->local = (uint8_t *)local;
	a->remote_view = (uint8_t *)remote;
	a->warmup = BLOCK;
	a->messages = MESSAGES;
	a->slot_mask = SLOTS - 1;
	a->stride_shift = 4;
	a->len = STRIDE;
	a->batch = batch;
	a->fill = a->check = 1;
	a->sink.block = BLOCK;
	a->sink.plant[0] = a->sink.plant[1] = -1;
	a->sink.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
}

/* All kernels of a pass, with somebody who carries what they send, but for message `lost`; how many kernels. */
static uint32_t kernels_run(const struct boundary_args *a, uint64_t lost)
{
	struct coop alone = { 0, 1 };
	uint64_t total = a->warmup + a->messages;
	uint32_t n = 0;

	do {
		uint64_t before = state.next;

		boundary_kernel(a, alone, ALL);
		n++;
		assert_in_range(n, 1, total + 1);
		assert_int_equal(state.next - before, boundary_many(before, total, BLOCK, a->batch));
		for (uint64_t m = before; m < state.next; m++)
			if (m != lost)
				memcpy(boundary_slot(a, m, 0), boundary_slot(a, m, 1), STRIDE);
	} while (state.from != total);
	return n;
}

static void kernels_pass_their_messages_on(void **unused)
{
	static const uint32_t batches[] = { 1, 3, 16, SLOTS };
	struct boundary_args a;

	(void)unused;
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		uint32_t kernels = 0;

		args_of(&a, batches[i]);
		for (uint64_t m = 0; m < BLOCK + MESSAGES; kernels++) {
			uint32_t n = boundary_many(m, BLOCK + MESSAGES, BLOCK, batches[i]);

			assert_in_range(n, 1, batches[i]);
			assert_int_equal(m / BLOCK, (m + n - 1) / BLOCK); /* of one block */
			m += n;
		}
		assert_int_equal(boundary_many(BLOCK + MESSAGES, BLOCK + MESSAGES, BLOCK, batches[i]), 0);
		assert_int_equal(kernels_run(&a, ~0ull), kernels + 1);
		assert_int_equal(state.wrong_words, 0);
		for (int m = 0; m < MESSAGES; m++) {
			assert_true(marks[m][IS_INTENT] && marks[m][IS_INTENT] <= marks[m][IS_RESERVED]);
			assert_true(marks[m][IS_RESERVED] <= marks[m][IS_RUNG] && marks[m][IS_RUNG] <= marks[m][IS_NOTICED]);
			if (m && marks[m][IS_RUNG] != marks[m - 1][IS_RUNG]) /* of another kernel */
				assert_true(marks[m - 1][IS_NOTICED] <= marks[m][IS_INTENT]);
		}
		for (int b = 0; b <= (MESSAGES + BLOCK - 1) / BLOCK; b++)
			assert_true(pairs[b].wall && (!b || pairs[b].wall >= pairs[b - 1].wall));
	}
}

static void what_did_not_come_is_counted(void **unused)
{
	struct boundary_args a;

	(void)unused;
	args_of(&a, 4);
	kernels_run(&a, BLOCK + 77);
	assert_int_equal(state.wrong_words, STRIDE / 8);
	assert_int_equal(state.wrong_message, BLOCK + 77);
}

/* ---- points ---- */

static int run(const char *text, struct rows *rs)
{
	struct point pt;

	point_of(&pt, "issuer=cpu nic=soft submitter=cpu messages=600 warmup=64");
	point_set(&pt, text);
	rows_init(rs);
	fs_reason_clear();
	return probe_path.run(&pt, rs);
}

static void ends_are_rung_for_once(void **unused)
{
	/* blocks of 128 messages: 600 are four, and one of 88 */
	static const struct { const char *text; double rings; } points[] = {
		{ "marks=all", 600 }, { "depth=16 batch=16", 4 * 8 + 6 }, { "depth=5 batch=5 marks=outer", 4 * 26 + 18 },
		{ "depth=8 batch=8 metric=rate marks=all", 4 * 16 + 11 },
	};

	(void)unused;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		const struct row *r;
		struct rows rs;

		if (run(points[i].text, &rs))
			fail_msg("%s: %s", points[i].text, fs_reason());
		r = row_of(&rs, "-", "-", "helper_rings");
		assert_non_null(r);
		if (r->s.mean * 600 < points[i].rings - 1e-6 || r->s.mean * 600 > points[i].rings + 1e-6)
			fail_msg("%s: %.3f rings, should be %.0f", points[i].text, r->s.mean * 600, points[i].rings);
		r = row_of(&rs, "-", "-", "asleep");
		assert_non_null(r);
		assert_true(r->s.mean >= 0 && r->s.mean <= 1);
		assert_null(row_of(&rs, "crossing", "-", "polls"));
		r = row_of(&rs, "crossing", "-", "launch_call");
		assert_true(strstr(points[i].text, "marks=outer") || strstr(points[i].text, "metric=rate") || (r && r->s.mean > 0));
		rows_free(&rs);
	}
}

static void marks_stand_in_order(void **unused)
{
	struct path_conf c;
	struct path_mem mem;
	struct point pt;
	char why[256];
	struct pass p = { .instr = ALL, .record = 1, .messages = 600, .seed = 1, .all = ~0u };

	(void)unused;
	need_two_cpus();
	point_of(&pt, "issuer=cpu nic=soft submitter=cpu messages=600 warmup=0");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	c.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	assert_int_equal(pin_self(c.cpu), 0);
	assert_int_equal(path_mem_init(&mem, &c), 0);
	assert_int_equal(path_pass(&mem, &c, &p), 0);
	assert_int_equal(p.help.launches, 601);
	for (uint64_t m = 0; m < 600; m++) {
		const uint64_t *i = p.marks + m * ISSUER_SLOTS, *h = p.helper_marks + m * HELPER_SLOTS;

		/* both hops of a kernel are stamped on their near side before they begin */
		assert_true(i[IS_RUNG] <= h[HS_TAKEN] && h[HS_RELAYED] <= i[IS_NOTICED]);
		assert_true(h[HS_TAKEN] <= h[HS_RESOLVED] && h[HS_RESOLVED] <= h[HS_BUILT] && h[HS_BUILT] <= h[HS_RUNG]);
		assert_true(h[HS_RUNG] <= h[HS_CAUGHT] && h[HS_CAUGHT] <= h[HS_RELAYED] && h[HS_RELAYED] <= h[HS_CALLED]);
		assert_true(!m || p.marks[(m - 1) * ISSUER_SLOTS + IS_NOTICED] <= i[IS_INTENT]);
	}
	pass_term(&p);
	path_mem_term(&mem);
}

/* ---- faults ---- */

static void faults_end_with_words(void **unused)
{
	static const struct { const char *text; int rc; const char *says; } faults[] = {
		{ "fault=stuck-worker", -ETIMEDOUT, "the helper rang for 428" },
		{ "fault=killed-worker", -ETIMEDOUT, "thread had ended" },
		{ "fault=failed-launch", -EIO, "launch 429 failed" },
		{ "fault=failed-launch depth=4 batch=4", -EIO, "failed" },
		{ "fault=deaf-consumer", -ETIMEDOUT, "passed on 428 completions" },
		{ "fault=lost-cqe", -ETIMEDOUT, "passed on 428 completions" },
		{ "fault=lost-doorbell", -ETIMEDOUT, "the helper rang for 429" },
		{ "fault=dead-nic", -ETIMEDOUT, "the helper rang for" },
		{ "fault=error-cqe", -EREMOTEIO, "message 428: CQE with syndrome 0x14" },
	};

	(void)unused;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint64_t until = deadline_in_s(60);
		char without[160];
		struct rows rs;
		/* the warm-up ends with its block: 64 are 128; half of 600 behind it is where faults are */
		int rc = run("", &rs);

		rows_free(&rs);
		assert_int_equal(rc, 0);
		rc = run(faults[i].text, &rs);
		rows_free(&rs);
		if (rc != faults[i].rc || !strstr(fs_reason(), faults[i].says))
			fail_msg("%s: %d, %s; expected %d and \"%s\"", faults[i].text, rc, fs_reason(), faults[i].rc, faults[i].says);
		assert_false(deadline_over(until));
		snprintf(without, sizeof(without), "%s fault=none", faults[i].text);
		rc = run(without, &rs);
		rows_free(&rs);
		if (rc)
			fail_msg("%s: %s", without, fs_reason());
	}
}

/* ---- refusals ---- */

static void what_cannot_be_is_refused(void **unused)
{
	static const struct { const char *text, *says; } refusals[] = {
		{ "boundary=stream", "boundary=auto, futex" }, { "boundary=graph", "need a GPU" },
		{ "issuer=gpu boundary=futex", "stream, graph" }, { "submitter=gpu boundary=futex", "submitter=cpu" },
		{ "consumer=gpu", "consumer=auto, cpu" }, { "nic=null", "nobody completes" }, { "ordering=none", "releases" },
		{ "depth=4", "depth=1" }, { "depth=8 batch=4", "depth=4" }, { "proxy=baseline", "submitter=proxy" },
		{ "notify=interrupt", "submitter=gpu" }, { "marks=rotate", "marks=all" }, { "fault=opcode", "builds none" },
		{ "fault=ring-overrun", "submitter=proxy" }, { "submitter=proxy fault=failed-launch", "submitter=cpu" },
		{ "issuer=gpu sm=3", "scheduler" }, { "issuer=gpu nic=peer nic_sm=far nic_gpu=gpu", "issuer's SM" },
		{ "doorbell=blueflame", "BlueFlame" }, { "cq=collapsed", "cq=ring" }, { "payload=inline size=29", "one basic block" },
		{ "registration=staged", "persistent" }, { "queue_mem=gpu", "can't reach GPU memory" },
	};
	struct machine none = { .cpus = 2 };
	struct point pt;

	(void)unused;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		point_of(&pt, "issuer=cpu nic=soft submitter=cpu");
		point_set(&pt, refusals[i].text);
		assert_int_equal(point_refused(&pt, &none, refusals[i].says), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_pass_their_messages_on), cmocka_unit_test(what_did_not_come_is_counted),
		cmocka_unit_test(ends_are_rung_for_once), cmocka_unit_test(marks_stand_in_order),
		cmocka_unit_test(faults_end_with_words), cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
