/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the chase of the probe `tlb` goes through all lines once before it comes back,
 * in each arm, for any number of them; the arms touch as many lines and the pages that
 * they say; and what is timed is the loads: the end is where the cycle has it.
 *
 * Controls: a line that points to itself is found out; a cycle through half the lines too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "stages/translation/chase.h"
#include <stdlib.h>

enum { PAGE_SHIFT = 12, LINE_SHIFT = 6, PAGES = 3000 };

static uint8_t *memory;

static struct lay lay_of(uint64_t lines, uint32_t share_shift, uint64_t seed)
{
	struct lay l = { .base = (uint64_t)memory, .lines = lines, .laid = lines, .seed = seed, .page_shift = PAGE_SHIFT,
			 .line_shift = LINE_SHIFT, .share_shift = share_shift, .half_bits = lay_bits(lines) };

	return l;
}

static void write_all(const struct lay *l)
{
	for (uint64_t k = 0; k < l->laid; k++)
		lay_line(l, k);
}

/* How many lines until it is back, at most as many as there may be; pages by count. */
static uint64_t round_trip(const struct lay *l, uint64_t *pages)
{
	static uint8_t seen[PAGES];
	uint64_t p = lay_kth(l, 0), n = 0;

	memset(seen, 0, sizeof(seen));
	*pages = 0;
	do {
		uint64_t page = (p - l->base) >> PAGE_SHIFT;

		assert_true(page < PAGES);
		*pages += !seen[page];
		seen[page] = 1;
		p = ld64((const void *)p);
		n++;
	} while (p != lay_kth(l, 0) && n <= l->lines);
	return n;
}

static void test_one_cycle(void **state)
{
	static const uint64_t counts[] = { 2, 3, 4, 5, 7, 8, 16, 20, 33, 64, 100, 255, 256, 257, 1000, 2999 };
	static const uint32_t shares[] = { 0, 2, PAGE_SHIFT - LINE_SHIFT };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (size_t s = 0; s < 3; s++)
			for (uint64_t seed = 0; seed < 5; seed++) {
				struct lay l = lay_of(counts[i], shares[s], seed * 0x1234567);
				uint64_t pages;

				write_all(&l);
				assert_int_equal(round_trip(&l, &pages), counts[i]);
				assert_int_equal(pages, (counts[i] + (1ull << shares[s]) - 1) >> shares[s]);
			}
}

static void test_controls(void **state)
{
	struct lay l = lay_of(100, 0, 1), half = lay_of(50, 0, 1);
	uint64_t pages, at;

	(void)state;
	write_all(&l);
	at = lay_kth(&l, 10);
	st64((void *)at, at);
	assert_int_not_equal(round_trip(&l, &pages), 100);
	write_all(&half);
	assert_int_not_equal(round_trip(&half, &pages), 100);
}

/* Lines of every arm fall into the same sets: place in the page, modulo any power of
 * two of lines up to a page. */
static void test_the_same_sets(void **state)
{
	static const uint32_t shares[] = { 0, 2 };
	struct lay packed = lay_of(1000, PAGE_SHIFT - LINE_SHIFT, 0);

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		struct lay l = lay_of(1000, shares[s], 0);

		for (uint64_t i = 0; i < l.lines; i++)
			assert_int_equal(lay_at(&l, i) % 4096, lay_at(&packed, i) % 4096);
	}
}

static void test_it_walks(void **state)
{
	struct lay l = lay_of(777, 2, 9);
	uint64_t samples[5], end[2] = { 0, 7 };
	struct clock_pair pairs[2];
	struct chase c = { .start = lay_kth(&l, 0), .warm = 800, .chases = 5, .steps = 4096, .gettime = 1,
			   .samples = samples, .pairs = pairs, .end = end };

	(void)state;
	write_all(&l);
	chase_run(&c);
	assert_int_equal(end[0], lay_kth(&l, (800 + 5 * 4096) % 777));
	assert_int_equal(end[1], 0);
	for (int i = 0; i < 5; i++) /* nobody follows 4,096 pointers in 100 ns */
		assert_true(samples[i] > 100);
	assert_true(pairs[1].wall > pairs[0].wall);
}

static int init(void **state)
{
	(void)state;
	memory = aligned_alloc(4096, (size_t)PAGES << PAGE_SHIFT);
	return !memory;
}

static int term(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_cycle),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_the_same_sets),
		cmocka_unit_test(test_it_walks),
	};

	return cmocka_run_group_tests(tests, init, term);
}
