/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a histogram of fixed memory gives the summary that all samples would
 * have given, quantiles to within HIST_RESOLUTION, whatever the distribution;
 * and merging histograms is the same as adding all samples to one. The control
 * rounds samples to buckets four times as wide, and fails the same check.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>
#include <cmocka.h>

#include "harness/err.h"
#include "harness/stats.h"
#include "tests/random.h"

#define N 50000

static uint64_t seed;
static double samples[N];

static double uniform(void) { return draw_unit(&seed); }

static double draw_uniform(void) { return 1000 * uniform() + 0.01; }
static double draw_exponential(void) { return 0.001 - 700 * log(uniform()); }
static double draw_lognormal(void)
{
	return 1200 * exp(1.5 * sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()));
}
/* A poll loop's latency: a narrow peak, and a second one far out. */
static double draw_two_peaks(void)
{
	return uniform() < 0.95 ? 1100 + 30 * uniform() : 45000 + 5000 * uniform();
}
static double draw_whole_range(void) { return pow(10, 18 * uniform() - 3); }
static double draw_steps(void) { return 32 * floor(1 + 40 * uniform()); }
static double draw_constant(void) { return 1234.5; }
static double draw_many_zeros(void) { return uniform() < 0.3 ? 0 : 10 * floor(1 + 5 * uniform()); }

static double (*const draws[])(void) = {
	draw_uniform, draw_exponential, draw_lognormal, draw_two_peaks,
	draw_whole_range, draw_steps, draw_constant, draw_many_zeros,
};
#define NDRAWS (sizeof(draws) / sizeof(draws[0]))

static int within(double got, double want, double rel)
{
	return fabs(got - want) <= rel * fabs(want);
}

static int quantiles_agree(const struct summary *h, const struct summary *s)
{
	return within(h->p50, s->p50, HIST_RESOLUTION) && within(h->p90, s->p90, HIST_RESOLUTION) &&
	       within(h->p99, s->p99, HIST_RESOLUTION) && within(h->p999, s->p999, HIST_RESOLUTION);
}

static void check_agrees(const struct hist *h, const double *x, size_t n)
{
	struct summary hs, s;

	hist_summary(h, &hs);
	assert_int_equal(summary_of(x, n, 1, &s), 0);
	assert_true(hs.n == s.n && hs.min == s.min && hs.max == s.max);
	assert_true(within(hs.mean, s.mean, 1e-11));
	assert_true(within(hs.ci_hi - hs.ci_lo, s.ci_hi - s.ci_lo, 1e-8) ||
		    hs.ci_hi - hs.ci_lo < 1e-9 * s.mean);
	assert_true(quantiles_agree(&hs, &s));
	assert_true(fabs(hs.mad - s.mad) <= HIST_RESOLUTION * (s.p50 + s.mad));
}

static void agrees_with_all_samples(void **state)
{
	(void)state;
	for (size_t d = 0; d < NDRAWS; d++) {
		struct hist *h = hist_new();

		assert_non_null(h);
		seed = d;
		for (size_t i = 0; i < N; i++) {
			samples[i] = draws[d]();
			assert_int_equal(hist_add(h, samples[i]), 0);
		}
		check_agrees(h, samples, N);
		hist_free(h);
	}
}

/* control: 64 buckets to a power of two would have been seen. */
static void coarse_buckets_are_seen(void **state)
{
	struct summary coarse, s;
	int seen = 0;

	(void)state;
	for (size_t d = 0; d < NDRAWS; d++) {
		seed = d;
		for (size_t i = 0; i < N; i++)
			samples[i] = draws[d]();
		assert_int_equal(summary_of(samples, N, 1, &s), 0);
		for (size_t i = 0; i < N; i++) {
			int e;
			double m = frexp(samples[i], &e);

			samples[i] = ldexp(floor(m * 128) / 128, e);
		}
		assert_int_equal(summary_of(samples, N, 1, &coarse), 0);
		seen += !quantiles_agree(&coarse, &s);
	}
	assert_true(seen >= 1);
}

static void merge_is_add_all(void **state)
{
	(void)state;
	for (size_t d = 0; d < NDRAWS; d++) {
		struct hist *all = hist_new(), *sum = hist_new(), *part[3];
		struct summary a, s;

		seed = 100 + d;
		for (int p = 0; p < 3; p++)
			part[p] = hist_new();
		for (size_t i = 0; i < N; i++) {
			samples[i] = draws[d]();
			hist_add(all, samples[i]);
			hist_add(part[i % 10 ? i % 2 : 2], samples[i]);
		}
		for (int p = 0; p < 3; p++)
			assert_int_equal(hist_merge(sum, part[p]), 0);
		hist_summary(all, &a);
		hist_summary(sum, &s);
		assert_true(a.n == s.n && a.min == s.min && a.max == s.max);
		assert_true(a.p50 == s.p50 && a.p90 == s.p90 && a.p99 == s.p99);
		assert_true(a.p999 == s.p999 && a.mad == s.mad);
		check_agrees(sum, samples, N);
		/* control: one part left out is another summary */
		hist_summary(part[0], &s);
		assert_true(a.n != s.n && (d == 6 || a.mean != s.mean));
		for (int p = 0; p < 3; p++)
			hist_free(part[p]);
		hist_free(all);
		hist_free(sum);
	}
}

static void refuses_what_has_no_bucket(void **state)
{
	static const double bad[] = { -1, -1e-300, 9e-4, 1e-300, 1.001e15, INFINITY, NAN };
	struct hist *h = hist_new(), *empty = hist_new();
	struct summary s;

	(void)state;
	hist_summary(h, &s);
	assert_true(s.n == 0 && isnan(s.mean) && isnan(s.p50));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hist_add(h, bad[i]), -EINVAL);
	hist_summary(h, &s);
	assert_true(s.n == 0);
	/* control: the ends of the range are in it */
	assert_int_equal(hist_add(h, 1e-3), 0);
	assert_int_equal(hist_merge(h, empty), 0);
	hist_summary(h, &s);
	assert_true(s.n == 1 && s.mean == 1e-3 && s.p50 == 1e-3 && isnan(s.ci_lo));
	assert_int_equal(hist_add(h, 1e15), 0);
	assert_int_equal(hist_add(h, 0), 0);
	hist_summary(h, &s);
	assert_true(s.n == 3 && s.min == 0 && s.max == 1e15 && isnan(s.p999));
	assert_true(within(s.p50, 1e-3, HIST_RESOLUTION));
	hist_free(h);
	hist_free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_all_samples),
		cmocka_unit_test(coarse_buckets_are_seen),
		cmocka_unit_test(merge_is_add_all),
		cmocka_unit_test(refuses_what_has_no_bucket),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
