/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: where issuer and NIC are on one GPU each hop is known by itself, though either counts on a clock of its
 * own: the timer that both read beside it, in steps of 32 ns, says where one clock stands on the other. The mean is right to
 * a fraction of a step, and the crossing stays what it was, the total less the rest.
 *
 * Controls: on two GPUs, whose timers have nothing to do with each other, and with a CPU on one side no hop is
 * given; a hop that is longer comes out longer, and the other one not.
 */
#include "tests/points.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 64, BLOCKS = 40, MESSAGES = BLOCK * BLOCKS, STEP = 32 };

/* An SM's clock: ticks at the GPU's time 0, and ticks a ns. */
struct sm { double at, rate; };
static const struct sm issuer = { 7.7e11, 1.98 }, nic = { 3.1e9, 1.98 };
static const double epoch = 1796038592925847538.0;

static uint64_t ticks_at(struct sm sm, double ns) { return (uint64_t)(sm.at + sm.rate * ns); }

static struct clock_pair pair_at(struct sm sm, double ns)
{
	return (struct clock_pair){ .ticks = ticks_at(sm, ns), .wall = (uint64_t)epoch / STEP * STEP + (uint64_t)ns / STEP * STEP };
}

/* The spans of messages that are 2 us long and whose hops are `there` and `back`, between agents on these GPUs, behind a
 * warm-up or without one. */
static void spans_of(struct spans *s, int issuer_gpu, int nic_gpu, double there, double back, uint64_t warmup)
{
	static const struct nic completes = { .completes = 1 };
	struct path_conf c = { .issuer_gpu = issuer_gpu, .nic_gpu = nic_gpu, .nic = &completes };
	static uint64_t marks[MESSAGES][ISSUER_SLOTS], nic_marks[MESSAGES][NIC_SLOTS];
	static struct clock_pair pairs[BLOCKS + 1], nic_pairs[BLOCKS + 1];
	struct path_mem mem = { .block = BLOCK };
	struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = MESSAGES, .marks = &marks[0][0], .pairs = pairs,
			  .npairs = BLOCKS + 1, .nic_marks = &nic_marks[0][0], .nic_pairs = nic_pairs, .out = { .first = warmup } };
	double t = 12345;

	pairs[0] = pair_at(issuer, t - 50);
	nic_pairs[0] = pair_at(nic, t - 20);
	for (int m = 0; m < MESSAGES; m++) {
		double rung = t + 400, seen = rung + there, completed = seen + 900, noticed = completed + back;

		for (int k = 0; k < ISSUER_SLOTS; k++)
			marks[m][k] = ticks_at(issuer, t);
		for (int k = 0; k < NIC_SLOTS; k++)
			nic_marks[m][k] = ticks_at(nic, seen);
		marks[m][IS_RUNG] = ticks_at(issuer, rung);
		marks[m][IS_NOTICED] = ticks_at(issuer, noticed);
		nic_marks[m][NS_COMPLETED] = ticks_at(nic, completed);
		t = noticed + 37 + m % 5 * 11.3;
		if (m % BLOCK == BLOCK - 1) {
			/* blocks don't keep step with the timer: polls don't */
			t += 100 + (double)((m / BLOCK + 1) * 0x9e3779b97f4a7c15u >> 44) / 1048576 * 320;
			nic_pairs[m / BLOCK + 1] = pair_at(nic, t - 260);
			pairs[m / BLOCK + 1] = pair_at(issuer, t - 13);
		}
	}
	assert_int_equal(spans_init(s, (struct route){ 0 }, MESSAGES), 0);
	assert_int_equal(spans_add(s, &mem, &c, &p, ALL_BLOCKS), 0);
	assert_int_equal(s->n, MESSAGES);
}

/* The mean of the hop that ends in `to`, of all messages or of all but the first `but`; NAN: none of its messages is given. */
static double hop(const struct spans *s, enum mark to, uint64_t but)
{
	for (int k = 0; k < s->intervals; k++) {
		double sum = 0;
		uint64_t n = 0;

		if (s->table[k].to != to)
			continue;
		assert_true(interval_is_hop(s->route, &s->table[k]));
		for (uint64_t i = 0; i < s->n; i++)
			if (!isnan(s->interval[k][i])) {
				sum += s->interval[k][i];
				n++;
			}
		assert_true(!n || n == s->n - but);
		return n ? sum / (double)n : NAN;
	}
	fail_msg("no interval ends in mark %d", (int)to);
	return NAN;
}

static double crossing(const struct spans *s)
{
	double sum = 0;

	for (uint64_t i = 0; i < s->n; i++)
		sum += s->stage[STAGE_CROSSING][i];
	return sum / (double)s->n;
}

static void hops_of_one_gpu_are_known(void **unused)
{
	static const double want[][2] = { { 250, 240 }, { 250, 740 }, { 750, 240 }, { 5, 485 } };

	(void)unused;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct spans s;
		double there, back;

		spans_of(&s, 3, 3, want[i][0], want[i][1], i ? 2 * BLOCK : 0);
		/* without a warm-up the first block has a reading of long before */
		there = hop(&s, MARK_SEEN, i ? 0 : BLOCK);
		back = hop(&s, MARK_NOTICED, i ? 0 : BLOCK);
		/* 40 blocks, two readings of either clock at each, each up to a step early */
		if (!(fabs(there - want[i][0]) < STEP / 4.0) || !(fabs(back - want[i][1]) < STEP / 4.0))
			fail_msg("%.0f and %.0f ns came out as %.1f and %.1f", want[i][0], want[i][1], there, back);
		assert_true(fabs(crossing(&s) - want[i][0] - want[i][1]) < 2);
		spans_term(&s);
	}
}

static void hops_of_two_clocks_are_not(void **unused)
{
	static const int gpus[][2] = { { 0, 1 }, { 0, -1 }, { -1, 0 } };

	(void)unused;
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		struct spans s;

		spans_of(&s, gpus[i][0], gpus[i][1], 250, 240, BLOCK);
		assert_true(isnan(hop(&s, MARK_SEEN, 0)) && isnan(hop(&s, MARK_NOTICED, 0)));
		assert_true(fabs(crossing(&s) - 490) < 2);
		spans_term(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hops_of_one_gpu_are_known), cmocka_unit_test(hops_of_two_clocks_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
