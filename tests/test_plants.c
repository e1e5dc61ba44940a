/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: blocks with a wait and without are as many, near each other, and neither always has the same slots of a
 * ring: what slots differ in is no property of a wait. Control: blocks by turns have it so. And the interval of a trimmed
 * mean of pairs is that of Tukey and McLaughlin (1963).
 */
#include "tests/points.h"

#include "stages/path.h"
#include "stages/queue/sink.h"
#include <math.h>

enum { BLOCK = 128, BLOCKS = 1 << 12 };

static int by_turns(uint64_t message, uint32_t block) { return ((uint32_t)message & block) != 0; }

/* How far the blocks with a wait are from half of those that begin in one of `ranges` parts of a ring, at worst, in blocks. */
static int worst(int (*planted)(uint64_t, uint32_t), uint64_t first, uint32_t blocks, uint32_t ranges)
{
	int most = 0;

	for (uint32_t r = 0; r < ranges; r++) {
		int lead = 0;

		for (uint32_t b = 0; b < blocks; b++)
			if ((first / BLOCK + b) % ranges == r)
				lead += planted(first + (uint64_t)b * BLOCK, BLOCK) ? 1 : -1;
		lead = lead < 0 ? -lead : lead;
		most = lead > most ? lead : most;
	}
	return most;
}

static void no_slots_are_of_one_kind(void **unused)
{
	(void)unused;
	for (uint32_t ranges = 1; ranges <= 64; ranges *= 2)
		for (uint32_t blocks = ranges; blocks <= BLOCKS; blocks += 1 + blocks / 3)
			for (uint64_t first = 0; first < 40 * BLOCK; first += 7 * BLOCK)
				assert_in_range(worst(block_planted, first, blocks, ranges), 0, 3);
	assert_in_range(worst(by_turns, 0, BLOCKS, 8), BLOCKS / 8, BLOCKS);
}

static void neighbours_are_of_either_kind(void **unused)
{
	(void)unused;
	for (uint64_t b = 0; b < BLOCKS; b++) {
		int a = block_planted(b * BLOCK, BLOCK), z = block_planted((b + 1) * BLOCK, BLOCK);

		assert_true(b % 2 || a != z);
		/* and so of any three one is another than the others */
		assert_false(a == z && z == block_planted((b + 2) * BLOCK, BLOCK));
		for (uint64_t m = 1; m < BLOCK; m++)
			assert_int_equal(block_planted(b * BLOCK + m, BLOCK), a);
	}
	/* an index that wraps is the same block's to all who count */
	assert_int_equal(block_planted(((uint64_t)1 << 32) + 5 * BLOCK, BLOCK), block_planted(5 * BLOCK, BLOCK));
}

/* 0..9: 1..8 are kept; of 1, 1, 2 .. 8, 8 the squares sum up to 66.5 about 4.5; t of 7 degrees of freedom is 2.36462 (tables of Student's t). */
static void a_trimmed_mean_has_its_interval(void **unused)
{
	double d[10], half = 2.36462 * sqrt(66.5 / 9) / sqrt(10) / 0.8;
	struct summary s;

	(void)unused;
	for (int i = 0; i < 10; i++)
		d[i] = i * 7 % 10;
	assert_int_equal(paired_summary(d, 10, &s), 0);
	assert_true(fabs(s.mean - 4.5) < 1e-12);
	assert_true(fabs(s.ci_hi - s.mean - half) < 1e-4 && fabs(s.mean - s.ci_lo - half) < 1e-4);
	/* of fewer none is left out: 0..8, 60 the squares' sum, t of 8 degrees 2.30600 */
	for (int i = 0; i < 9; i++)
		d[i] = i;
	assert_int_equal(paired_summary(d, 9, &s), 0);
	assert_true(fabs(s.ci_hi - s.mean - 2.306 * sqrt(60. / 8) / 3) < 1e-4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_slots_are_of_one_kind), cmocka_unit_test(neighbours_are_of_either_kind),
		cmocka_unit_test(a_trimmed_mean_has_its_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
