/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: of what a bare loop leaves behind one row is made: every sample, at the rate that the clock's two pairs give,
 * flagged where a GPU's clock was still moving. The probe `floor` gives that row on a CPU, of each doorbell that it has.
 *
 * Controls: another rate gives another mean; without the word nothing is flagged; one sample that is off is seen.
 */
#include "tests/points.h"

#include "stages/issue/loop.h"
#include "stages/suite.h"
#include <errno.h>

enum { MESSAGES = 1000, FIRST = 100 };
extern const struct probe probe_floor;

/* Samples FIRST, FIRST + 1, ... ticks, and a clock of so many ns in 1000 ticks. */
static struct row made_up(uint64_t ns, uint64_t unsettled, uint64_t last)
{
	struct path_conf c;
	struct loop_mem m;
	struct point pt;
	struct rows rs;
	struct row *r, copy;
	char why[256];

	memset(&m, 0, sizeof(m));
	rows_init(&rs);
	point_of(&pt, "issuer=cpu nic=null messages=1000 warmup=0");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(loop_mem_init(&m, &c), 0);
	for (uint64_t i = 0; i < MESSAGES; i++)
		((uint64_t *)m.samples.p)[i] = FIRST + i;
	((uint64_t *)m.samples.p)[MESSAGES - 1] = last;
	loop_pairs(&m)[0] = (struct clock_pair){ 5000, 70000 };
	loop_pairs(&m)[1] = (struct clock_pair){ 5000 + 1000 * 7, 70000 + ns * 7 };
	*loop_unsettled(&m) = unsettled;
	assert_int_equal(loop_row(&m, &c, "handoff", "made-up", &rs, &r), 0);
	assert_int_equal(rs.n, 1);
	assert_ptr_equal(r, row_of(&rs, "handoff", "-", "made-up"));
	copy = *r;
	loop_mem_term(&m);
	loop_mem_term(&m); /* and again: nothing is left to free */
	rows_free(&rs);
	return copy;
}

static void a_row_has_every_sample(void **state)
{
	struct row r = made_up(1000, 0, FIRST + MESSAGES - 1);

	(void)state;
	assert_string_equal(r.unit, "ns");
	assert_int_equal(r.s.n, MESSAGES);
	assert_int_equal(r.status, FS_OK);
	assert_true(r.s.min == FIRST && r.s.max == FIRST + MESSAGES - 1);
	assert_float_equal(r.s.mean, FIRST + (MESSAGES - 1) / 2.0, 1e-9);
	r = made_up(1000, 0, FIRST + MESSAGES); /* control */
	assert_true(r.s.max == FIRST + MESSAGES && r.s.mean > FIRST + (MESSAGES - 1) / 2.0);
}

static void ticks_are_no_ns(void **state)
{
	struct row r = made_up(500, 0, FIRST + MESSAGES - 1);

	(void)state;
	assert_float_equal(r.s.mean, (FIRST + (MESSAGES - 1) / 2.0) / 2, 1e-9);
	assert_true(r.s.min == FIRST / 2.0);
}

static void a_clock_that_moves_is_said(void **state)
{
	struct row r = made_up(1000, 1, FIRST + MESSAGES - 1);

	(void)state;
	assert_int_equal(r.status, FS_FLAGGED);
	assert_string_equal(r.reason_code, "unsettled");
	assert_int_equal(r.s.n, MESSAGES);
}

static void floor_gives_it(void **state)
{
	static const char *const doorbells[] = { "doorbell=record-ring", "doorbell=ring-record-ring", "doorbell=ring size=0" };

	(void)state;
	for (size_t i = 0; i < sizeof(doorbells) / sizeof(doorbells[0]); i++) {
		const struct row *r;
		struct point pt;
		struct rows rs;

		fs_point_init(&pt, &probe_floor);
		point_set(&pt, "issuer=cpu messages=1000 warmup=100");
		point_set(&pt, doorbells[i]);
		fs_point_id(&pt);
		rows_init(&rs);
		if (probe_floor.run(&pt, &rs))
			fail_msg("%s: %s", doorbells[i], fs_reason());
		r = row_of(&rs, "submit", "-", "floor");
		assert_non_null(r);
		assert_int_equal(r->s.n, MESSAGES);
		assert_int_equal(r->status, FS_OK);
		assert_string_equal(r->unit, "ns");
		assert_true(r->s.min >= 0 && r->s.min <= r->s.p50 && r->s.p50 <= r->s.max && r->s.mean > 0);
		rows_free(&rs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_every_sample),
		cmocka_unit_test(ticks_are_no_ns),
		cmocka_unit_test(a_clock_that_moves_is_said),
		cmocka_unit_test(floor_gives_it),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
