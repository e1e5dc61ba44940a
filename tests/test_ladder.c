/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a knee is called a translation cache's only if it follows pages. Latencies with
 * planted knees are climbed instead of memory: a page knee is found with its reach and its
 * miss inside their intervals; two of them are told apart; a knee of the lines, of a
 * data cache or of what lies far apart, is never called one; where there is none, none
 * is found; noise of some per cent, and a burst over one rung, change nothing.
 *
 * Controls: each planted knee is taken away again and is no longer found; without the
 * arm `four` to judge by, a knee of lines could pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "stages/translation/ladder.h"
#include <errno.h>
#include <math.h>

/* What a load costs, and the knees that are planted: beyond so many pages or lines. */
struct planted {
	const struct ladder *l;
	double base_ns, noise;
	uint64_t reach[2];     /* pages, 0: none */
	double miss_ns[2];
	int ramp;              /* 1: the first miss costs so many ns more with each page beyond the reach */
	uint64_t cache;        /* lines of a data cache, all arms alike */
	double cache_ns;
	uint64_t far_;         /* lines beyond which those far apart cost more */
	double far_ns;
	uint64_t burst;        /* lines of a rung that was disturbed, all samples alike */
	int uneven;            /* so many samples of each rung's first attempt were disturbed */
	uint64_t last;         /* lines and arm of the last attempt */
	uint64_t rnd, fail_at, calls;
};

static double uniform(struct planted *p)
{
	p->rnd ^= p->rnd << 13;
	p->rnd ^= p->rnd >> 7;
	p->rnd ^= p->rnd << 17;
	return (double)(p->rnd >> 11) / 9007199254740992.0;
}

static int latency(void *ctx, enum arm arm, uint64_t lines, double *ns)
{
	struct planted *p = ctx;
	uint64_t pages = (lines + (1ull << arm_share_shift(p->l, arm)) - 1) >> arm_share_shift(p->l, arm);

	int again = p->last == lines * ARMS + arm;

	if (p->fail_at && ++p->calls == p->fail_at)
		return -EIO;
	p->last = lines * ARMS + arm;
	for (int i = 0; i < CHASES; i++) {
		ns[i] = p->base_ns;
		for (int k = p->ramp; k < 2; k++)
			ns[i] += p->reach[k] && pages > p->reach[k] ? p->miss_ns[k] : 0;
		if (p->ramp && pages > p->reach[0])
			ns[i] += p->miss_ns[0] * (double)(pages - p->reach[0]);
		ns[i] += p->cache && lines > p->cache ? p->cache_ns : 0;
		ns[i] += p->far_ && arm != ARM_PACKED && lines > p->far_ ? p->far_ns : 0;
		ns[i] *= 1 + p->noise * (uniform(p) - 0.5);
		if (p->burst == lines || (!again && i < p->uneven))
			ns[i] *= 10;
	}
	return 0;
}

static int climb(struct planted p, struct ladder *l, struct knee *k)
{
	memset(l, 0, sizeof(*l));
	l->bytes = 1ull << 30;
	l->page_shift = 12;
	l->line_shift = 6;
	p.l = l;
	p.rnd = 88172645463325252ull;
	assert_int_equal(ladder_climb(l, latency, &p), 0);
	return ladder_knees(l, k);
}

static const struct planted flat = { .base_ns = 100, .noise = 0.02 };

static void test_a_page_knee(void **state)
{
	/* on rungs, between them, near both ends */
	static const uint64_t reaches[] = { 5, 16, 64, 100, 1536, 5000, 60000 };
	struct knee k[KNEES_MAX];
	struct ladder l;

	(void)state;
	for (size_t i = 0; i < sizeof(reaches) / sizeof(*reaches); i++) {
		struct planted p = flat;

		p.reach[0] = reaches[i];
		p.miss_ns[0] = 30;
		assert_int_equal(climb(p, &l, k), 1);
		assert_int_equal(k[0].follows, FOLLOWS_PAGES);
		assert_true(k[0].pages_lo <= reaches[i] && reaches[i] < k[0].pages_hi);
		assert_true(k[0].pages_hi <= k[0].pages_lo + k[0].pages_lo / 4); /* a rung wide */
		assert_true(k[0].miss_lo <= 30 && 30 <= k[0].miss_hi);
		assert_true(fabs(k[0].miss_ns - 30) < 3);
		ladder_term(&l);
	}
}

static void test_two_page_knees(void **state)
{
	struct planted p = flat;
	struct knee k[KNEES_MAX];
	struct ladder l;

	(void)state;
	p.reach[0] = 96;
	p.miss_ns[0] = 8;
	p.reach[1] = 2048;
	p.miss_ns[1] = 40;
	assert_int_equal(climb(p, &l, k), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(k[i].follows, FOLLOWS_PAGES);
		assert_true(k[i].pages_lo <= p.reach[i] && p.reach[i] < k[i].pages_hi);
		assert_true(k[i].miss_lo <= p.miss_ns[i] && p.miss_ns[i] <= k[i].miss_hi);
	}
	ladder_term(&l);
}

static void test_a_line_knee_is_no_translation(void **state)
{
	struct knee k[KNEES_MAX];
	struct ladder l;

	(void)state;
	for (uint64_t lines = 8; lines < 100000; lines = lines * 3 + 1) {
		struct planted p = flat;

		/* a data cache: packed lines miss as well */
		p.cache = lines;
		p.cache_ns = 200;
		assert_int_equal(climb(p, &l, k), 0);
		ladder_term(&l);
		/* lines far apart alone: a knee, and not ours */
		p = flat;
		p.far_ = lines;
		p.far_ns = 200;
		if (lines < 16)
			continue; /* the arm `four` begins there */
		for (int i = climb(p, &l, k) - 1; i >= 0; i--)
			assert_int_not_equal(k[i].follows, FOLLOWS_PAGES);
		assert_int_equal(k[0].follows, FOLLOWS_LINES);
		ladder_term(&l);
	}
}

static void test_both_knees(void **state)
{
	struct planted p = flat;
	struct knee k[KNEES_MAX];
	struct ladder l;

	(void)state;
	p.reach[0] = 128;
	p.miss_ns[0] = 40;
	p.cache = 768;
	p.cache_ns = 60;
	p.far_ = 20000;
	p.far_ns = 90;
	assert_int_equal(climb(p, &l, k), 2);
	assert_int_equal(k[0].follows, FOLLOWS_PAGES);
	assert_true(k[0].pages_lo <= 128 && 128 < k[0].pages_hi);
	assert_int_equal(k[1].follows, FOLLOWS_LINES);
	assert_true(k[1].lines_lo <= 20000 && 20000 < k[1].lines_hi);
	ladder_term(&l);
}

static void test_none(void **state)
{
	struct knee k[KNEES_MAX];
	struct planted p = flat;
	struct ladder l;

	(void)state;
	assert_int_equal(climb(p, &l, k), 0);
	ladder_term(&l);
	p.burst = 640;
	assert_int_equal(climb(p, &l, k), 0);
	ladder_term(&l);
	/* below what counts as one */
	p = flat;
	p.reach[0] = 64;
	p.miss_ns[0] = KNEE_SHARE * p.base_ns / 2;
	assert_int_equal(climb(p, &l, k), 0);
	ladder_term(&l);
	/* a reach beyond the memory */
	p.reach[0] = 1 << 20;
	p.miss_ns[0] = 30;
	assert_int_equal(climb(p, &l, k), 0);
	ladder_term(&l);
}

/* A rise that the ladder ends in is a lower bound, and says so; one that ends is none. */
static void test_still_rising(void **state)
{
	struct planted p = flat;
	struct knee k[KNEES_MAX];
	struct ladder l;

	(void)state;
	p.reach[0] = 4096;
	p.miss_ns[0] = 0.1;
	p.ramp = 1;
	assert_int_equal(climb(p, &l, k), 1);
	assert_int_equal(k[0].follows, FOLLOWS_PAGES);
	assert_true(k[0].open);
	ladder_term(&l);
	p.ramp = 0;
	p.miss_ns[0] = 30;
	assert_int_equal(climb(p, &l, k), 1);
	assert_false(k[0].open);
	ladder_term(&l);
}

/* A disturbed rung is measured again, one that is merely slow isn't. */
static void test_again(void **state)
{
	struct planted p = flat;
	struct knee k[KNEES_MAX];
	struct ladder l;
	size_t n, beside = 0;

	(void)state;
	p.reach[0] = 96;
	p.miss_ns[0] = 30;
	p.uneven = 10;
	assert_int_equal(climb(p, &l, k), 1);
	assert_true(k[0].pages_lo <= 96 && 96 < k[0].pages_hi);
	for (size_t i = 0; i < l.n; i++) {
		uint64_t lines = l.rung[i].lines;

		/* packed lines beyond the other arms are measured once */
		if (!ladder_find(&l, ARM_ONE, lines) && !ladder_find(&l, ARM_FOUR, lines))
			continue;
		assert_true(l.rung[i].mid < 140);
		beside++;
	}
	assert_true(beside > 100 && beside < l.n);
	assert_int_equal(l.again, beside);
	n = l.n;
	ladder_term(&l);
	p.uneven = 0;
	p.burst = 640;
	climb(p, &l, k);
	assert_int_equal(l.n, n);
	assert_int_equal(l.again, 0);
	ladder_term(&l);
}

static void test_rungs(void **state)
{
	struct planted p = flat;
	struct knee k[KNEES_MAX];
	struct ladder l;
	uint64_t most = 0;

	(void)state;
	climb(p, &l, k);
	for (size_t i = 0; i < l.n; i++) {
		const struct rung *r = &l.rung[i];

		/* each has its packed lines beside it, and the memory holds it */
		assert_non_null(ladder_find(&l, ARM_PACKED, r->lines));
		if (r->arm == ARM_PACKED)
			assert_true(r->lines << l.line_shift <= l.bytes);
		else
			assert_true(r->pages << l.page_shift <= l.bytes && r->pages <= PAGES_MAX);
		if (r->arm == ARM_FOUR) /* the other arm has as many pages */
			assert_non_null(ladder_find(&l, ARM_ONE, r->pages));
		most = r->lines > most ? r->lines : most;
	}
	assert_int_equal(most << l.line_shift, l.bytes);
	ladder_term(&l);
}

static void test_an_error_ends_it(void **state)
{
	struct planted p = flat;
	struct ladder l = { .bytes = 1 << 30, .page_shift = 12, .line_shift = 6 };

	(void)state;
	p.l = &l;
	p.rnd = 1;
	p.fail_at = 20;
	assert_int_equal(ladder_climb(&l, latency, &p), -EIO);
	ladder_term(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_page_knee),
		cmocka_unit_test(test_two_page_knees),
		cmocka_unit_test(test_a_line_knee_is_no_translation),
		cmocka_unit_test(test_both_knees),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_still_rising),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_rungs),
		cmocka_unit_test(test_an_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
