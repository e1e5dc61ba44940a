/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a payload before a flag of the ping-pong goes all the way, either way, and nothing beyond it is touched; with
 * payloads the probe has the rows that it has without. Controls: a payload that isn't there when its
 * flag is seen is counted, by either side's check; without payloads nobody looks.
 */
#include "tests/points.h"

#include "harness/err.h"
#include "harness/pin.h"
#include "stages/crossing/pingpong.h"
#include "stages/suite.h"
#include <errno.h>

enum { ENTRIES = 4 };

static struct { uint64_t there[8], back[ENTRIES * PP_LINE / 8], ahead_there[PP_AHEAD_MAX / 8], ahead_back[PP_AHEAD_MAX / 8]; } mem
	__attribute__((aligned(64)));

static struct pingpong flags_of(uint32_t ahead)
{
	struct pingpong p = { .there = (uint8_t *)mem.there, .back = (uint8_t *)mem.back, .entries = ENTRIES, .ahead = ahead,
			      .ahead_there = (uint8_t *)mem.ahead_there, .ahead_back = (uint8_t *)mem.ahead_back };

	memset(&mem, 0, sizeof(mem));
	memset(mem.back, 0xff, sizeof(mem.back));
	p.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	return p;
}

static void payloads_go_all_the_way(void **unused)
{
	static const uint32_t sizes[] = { 16, 64, 208, PP_AHEAD_MAX };

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pingpong p = flags_of(sizes[i]);
		struct responder r = { 0 };

		assert_int_equal(pp_answer_flag(&p, &r, 1), 0);
		for (uint64_t v = 1; v <= 3 * ENTRIES; v++) {
			pp_ahead(&p, p.ahead_there, v);
			mem.there[0] = v;
			assert_int_equal(pp_answer_flag(&p, &r, 1), 1);
			assert_int_equal(r.wrong, 0);
			assert_true(cqe_valid(*(uint64_t *)pp_back(&p, v - 1), pp_lap(&p, v - 1)));
			assert_int_equal(pp_behind(&p, p.ahead_back, v), 0);
			for (uint32_t w = 0; w < PP_AHEAD_MAX / 8; w++) {
				assert_int_equal(mem.ahead_there[w], w < sizes[i] / 8 ? v : 0);
				assert_int_equal(mem.ahead_back[w], w < sizes[i] / 8 ? v : 0);
			}
		}
	}
}

static void what_is_not_there_is_counted(void **unused)
{
	struct pingpong p = flags_of(64);
	struct responder r = { 0 };

	(void)unused;
	pp_ahead(&p, p.ahead_there, 1);
	mem.there[0] = 2; /* the second flag, behind the first one's payload */
	assert_int_equal(pp_answer_flag(&p, &r, 1), 1);
	assert_int_equal(r.wrong, 1);
	assert_int_equal(pp_behind(&p, p.ahead_back, 2), 0);
	assert_int_equal(pp_behind(&p, p.ahead_back, 1), 1);
	p = flags_of(0);
	memset(&r, 0, sizeof(r));
	mem.there[0] = 1;
	assert_int_equal(pp_answer_flag(&p, &r, 0), 1);
	assert_int_equal(r.wrong, 0);
}

static void rows_are_the_same_ones(void **unused)
{
	static const char *const points[] = { "probe=pingpong issuer=cpu nic=soft messages=600", "probe=pingpong issuer=cpu nic=soft messages=600 ahead=16",
					      "probe=pingpong issuer=cpu nic=soft messages=600 ahead=4K lines=3" };
	const struct probe *probe = fs_probe_find("pingpong");

	(void)unused;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct point pt;
		struct rows rs;

		fs_point_init(&pt, probe);
		point_set(&pt, points[i] + strlen("probe=pingpong "));
		rows_init(&rs);
		if (probe->run(&pt, &rs))
			fail_msg("%s: %s", points[i], fs_reason());
		assert_int_equal(row_of(&rs, "total", "-", "latency")->s.n, 600);
		/* the total less the responder's mean, which is of the warm-up too: on a busy CPU it may be anything */
		assert_int_equal(row_of(&rs, "crossing", "-", "latency")->s.n, 600);
		assert_non_null(row_of(&rs, "-", "-", "responder"));
		rows_free(&rs);
	}
}

static void what_cannot_be_is_refused(void **unused)
{
	static const char *const points[] = { "ahead=8", "ahead=24", "ahead=16 metric=rate" };
	const struct probe *probe = fs_probe_find("pingpong");
	char why[256];

	(void)unused;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct point pt;

		fs_point_init(&pt, probe);
		point_set(&pt, "issuer=cpu nic=soft");
		point_set(&pt, points[i]);
		assert_int_equal(probe->check(&pt, suite_machine(), why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, "multiple of 16"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_go_all_the_way), cmocka_unit_test(what_is_not_there_is_counted),
		cmocka_unit_test(rows_are_the_same_ones), cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
