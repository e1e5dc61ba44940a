/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the probe `bandwidth` compares what its timed passes moved: a mover that moves in the pass before them alone,
 * by which their length is found, fails the point.
 *
 * Control: one that moves every time passes.
 */
#include "tests/points.h"

#include "harness/rows.h"
#include "stages/crossing/bandwidth.h"
#include <errno.h>

static int lazy;

/* In place of the library's mover of CPUs. */
int bandwidth_cpu_run(struct bw_args *a, int cpu, double patience_s)
{
	(void)cpu; (void)patience_s;
	for (uint64_t i = 0; i < a->samples; i++)
		a->both_ns[i] = a->way_ns[0][i] = 1000;
	if (lazy && a->samples > 1)
		return 0;
	for (uint64_t i = 0; i < a->n; i++)
		if (a->dir == DIR_WRITE)
			memcpy(&a->way[0].dst[i], (uint64_t[2]){ bw_word(2 * i), bw_word(2 * i + 1) }, 16);
		else
			a->way[0].dst[i] = a->way[0].src[i];
	return 0;
}

static int run(const char *text)
{
	struct point pt;
	struct rows rs;
	int rc;

	fs_point_init(&pt, fs_probe_find("bandwidth"));
	point_set(&pt, "mover=cpu size=64K messages=8 warmup=0");
	point_set(&pt, text);
	fs_point_id(&pt);
	rows_init(&rs);
	rc = pt.probe->run(&pt, &rs);
	rows_free(&rs);
	return rc;
}

static void what_is_timed_is_compared(void **state)
{
	static const char *const dirs[] = { "dir=copy", "dir=write" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		lazy = 0;
		assert_int_equal(run(dirs[i]), 0);
		lazy = 1;
		assert_int_equal(run(dirs[i]), -EBADMSG);
		assert_non_null(strstr(fs_reason(), "byte 0 holds 0x0, not what was moved there"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_timed_is_compared),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
