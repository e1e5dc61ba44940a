/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the summary of a point is right, and its interval holds what it
 * promises: 95 % on independent samples, and still about that on neighbouring
 * messages that depend on each other. Each check has a control that shows
 * that a wrong method would have been seen.
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

static uint64_t seed;

static double uniform(void) { return draw_unit(&seed); }

static double normal(void)
{
	double r = sqrt(-2 * log(uniform()));

	return r * cos(2 * M_PI * uniform());
}

static int near(double a, double b, double rel)
{
	return fabs(a - b) <= rel * fabs(b);
}

/* P(|T| <= t) by Simpson's rule on t = sqrt(df) tan(u): another way than the
 * one under test. */
static double student_mass(double t, double df)
{
	double top = atan(t / sqrt(df)), sum = 0;
	int steps = 20000;

	for (int i = 0; i <= steps; i++)
		sum += pow(cos(top * i / steps), df - 1) *
		       (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2);
	return 2 * sum * top / steps / 3 *
	       exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(M_PI);
}

static void student_matches_tables(void **state)
{
	static const double table[][2] = {
		{ 1, 12.7062 }, { 2, 4.30265 }, { 5, 2.57058 }, { 10, 2.22814 },
		{ 30, 2.04227 }, { 100, 1.98397 }, { 1e6, 1.95996 },
	};
	static const double between[] = { 1.1, 1.5, 2.5, 4.2, 7.7, 33.3, 99.99, 100.01 };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_true(near(student95(table[i][0]), table[i][1], 1e-5));
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		double t = student95(between[i]);

		assert_true(fabs(student_mass(t, between[i]) - 0.95) < 1e-6);
		/* control: a quantile that is 0.1 % off is seen */
		assert_true(fabs(student_mass(t * 1.001, between[i]) - 0.95) > 1e-6);
	}
	assert_true(isnan(student95(0)) && isnan(student95(NAN)));
	assert_true(near(student95(INFINITY), 1.959964, 1e-6));
}

static void quantiles_are_type_7(void **state)
{
	static const double x[] = { 1, 2, 4, 8 };

	(void)state;
	assert_true(quantile_sorted(x, 4, 0) == 1);
	assert_true(quantile_sorted(x, 4, 1) == 8);
	assert_true(quantile_sorted(x, 4, 0.5) == 3);     /* h = 1.5 */
	assert_true(quantile_sorted(x, 4, 0.25) == 1.75); /* h = 0.75; type 6: 1.25 */
	assert_true(near(quantile_sorted(x, 4, 0.9), 6.8, 1e-15)); /* h = 2.7; type 6: 8 */
	assert_true(quantile_sorted(x, 1, 0.99) == 1);
	assert_true(isnan(quantile_sorted(x, 0, 0.5)));
}

static void summary_by_hand(void **state)
{
	static const double odd[] = { 9, 1, 4, 2, 2 }, even[] = { 8, 1, 2, 4 };
	double x[10000];
	struct summary s;

	(void)state;
	assert_int_equal(summary_of(odd, 5, 1, &s), 0);
	assert_true(s.n == 5 && s.min == 1 && s.p50 == 2 && s.max == 9);
	assert_true(near(s.mean, 3.6, 1e-15) && s.mad == 1); /* 7 1 2 0 0 */
	assert_true(isnan(s.p999));
	/* s^2 = 10.3, and Student's quantile at 4 is 2.776445 */
	assert_true(near(s.ci_hi - s.mean, 2.776445 * sqrt(10.3 / 5), 1e-6));
	assert_true(near(s.mean - s.ci_lo, 2.776445 * sqrt(10.3 / 5), 1e-6));
	assert_true(odd[0] == 9); /* not sorted in place */
	assert_int_equal(summary_of(even, 4, 100, &s), 0);
	assert_true(s.p50 == 3 && s.mad == 1.5); /* 2 1 1 5 */

	/* five equal batches: a rest moves the mean, not the spread */
	for (int i = 0; i < 11; i++)
		x[i] = i < 10 ? 0 : 11;
	assert_int_equal(summary_of(x, 11, 2, &s), 0);
	assert_true(s.mean == 1 && s.ci_lo == 1 && s.ci_hi == 1);
	/* samples far apart don't eat the small ones */
	for (int i = 0; i < 1000; i++)
		x[i] = i == 0 ? 1e16 : i == 1 ? -1e16 : 1;
	assert_int_equal(summary_of(x, 1000, 1, &s), 0);
	assert_true(near(s.mean, 0.998, 0.01));

	for (int i = 0; i < 10000; i++)
		x[i] = 1e18 + 1024.0 * (i % 2);
	assert_int_equal(summary_of(x, 10000, 100, &s), 0);
	assert_true(s.mean == 1e18 + 512 && s.mad == 512 && s.p999 == 1e18 + 1024);
	assert_true(s.ci_lo == s.mean && s.ci_hi == s.mean); /* equal batches */
	assert_int_equal(summary_of(x, 9999, 100, &s), 0);
	assert_true(isnan(s.p999));

	assert_int_equal(summary_of(x, 1, 1, &s), 0);
	assert_true(s.n == 1 && isnan(s.ci_lo) && isnan(s.ci_hi));
	assert_int_equal(summary_of(x, 0, 1, &s), 0);
	assert_true(s.n == 0 && isnan(s.mean));
	x[7] = NAN;
	assert_int_equal(summary_of(x, 10, 1, &s), -EINVAL);
	assert_true(isnan(s.mean));
}

/* How often the interval holds the true mean, 0, on AR(1) samples. Narrow:
 * how often it would with the normal's 1.96 in place of Student's quantile. */
static double coverage(int trials, size_t n, size_t batch, double rho, double *narrow)
{
	double *x = malloc(n * sizeof(*x));
	int hits = 0, narrow_hits = 0;

	for (int t = 0; t < trials; t++) {
		double at = normal() / sqrt(1 - rho * rho);
		struct summary s;

		for (size_t i = 0; i < n; i++) {
			x[i] = at;
			at = rho * at + normal();
		}
		assert_int_equal(summary_of(x, n, batch, &s), 0);
		hits += s.ci_lo <= 0 && 0 <= s.ci_hi;
		narrow_hits += fabs(s.mean) <=
			       (s.ci_hi - s.mean) * 1.959964 / student95((double)(n / batch) - 1);
	}
	free(x);
	if (narrow)
		*narrow = (double)narrow_hits / trials;
	return (double)hits / trials;
}

static void a_unit_changes_everything_but_n(void **state)
{
	double x[12000];
	struct summary s, t;

	(void)state;
	for (int i = 0; i < 12000; i++)
		x[i] = 3 + i % 100;
	assert_int_equal(summary_of(x, 12000, 1, &s), 0);
	t = s;
	summary_scale(&t, 8);
	for (int i = 0; i < 12000; i++)
		x[i] *= 8;
	assert_int_equal(summary_of(x, 12000, 1, &s), 0);
	assert_int_equal(t.n, s.n);
	assert_true(near(t.mean, s.mean, 1e-12) && near(t.ci_lo, s.ci_lo, 1e-12) && near(t.ci_hi, s.ci_hi, 1e-12));
	assert_true(t.min == s.min && t.p50 == s.p50 && t.p90 == s.p90 && t.p99 == s.p99 && t.p999 == s.p999);
	assert_true(t.max == s.max && t.mad == s.mad);
	summary_none(&t);
	summary_scale(&t, 8); /* nothing stays nothing */
	assert_true(t.n == 0 && isnan(t.mean) && isnan(t.mad));
}

static void interval_covers(void **state)
{
	double c, narrow;

	(void)state;
	seed = 1;
	c = coverage(4000, 57, 10, 0, &narrow); /* 5 batches and a rest */
	assert_true(c > 0.93 && c < 0.97);
	assert_true(narrow < 0.91); /* control */
	c = coverage(4000, 200, 10, 0, NULL);
	assert_true(c > 0.93 && c < 0.97);
	c = coverage(4000, 12, 10, 0, NULL); /* too few batches: samples */
	assert_true(c > 0.93 && c < 0.97);

	c = coverage(600, 4000, 100, 0.9, NULL);
	assert_true(c >= 0.88 && c < 0.98);
	c = coverage(600, 4000, 1, 0.9, NULL); /* control: neighbours ignored */
	assert_true(c < 0.60);
}

static void difference_covers(void **state)
{
	double a[120], b[50], one = 1, diff, lo, hi;
	int held = 0, pooled = 0, trials = 4000;

	(void)state;
	seed = 2;
	for (int t = 0; t < trials; t++) {
		double sa = 0, sb = 0;

		for (int i = 0; i < 120; i++) {
			a[i] = 100 + normal();
			sa += (a[i] - 100) * (a[i] - 100);
		}
		for (int i = 0; i < 50; i++) {
			b[i] = 90 + 10 * normal();
			sb += (b[i] - 90) * (b[i] - 90);
		}
		assert_int_equal(diff_of(a, 120, b, 50, 10, &diff, &lo, &hi), 0);
		held += lo <= 10 && 10 <= hi;
		/* control: one spread for both, the test before Welch's */
		pooled += fabs(diff - 10) <= student95(168) *
			  sqrt((sa + sb) / 170 * (1.0 / 120 + 1.0 / 50));
	}
	assert_true(held > 0.93 * trials && held < 0.97 * trials);
	assert_true(pooled < 0.90 * trials);
	/* by hand: means 2 and 5, s^2/n = 1/3 and 4/3, df = 2.941176 */
	assert_int_equal(diff_of((double[]){ 1, 2, 3 }, 3, (double[]){ 3, 5, 7 }, 3, 1, &diff, &lo, &hi), 0);
	assert_true(diff == -3 && near(hi - diff, student95(50.0 / 17) * sqrt(5.0 / 3), 1e-12));
	assert_int_equal(diff_of(&one, 1, b, 50, 1, &diff, &lo, &hi), 0);
	assert_true(isfinite(diff) && isnan(lo) && isnan(hi));
	assert_int_equal(diff_of(a, 0, b, 50, 1, &diff, &lo, &hi), -EINVAL);
}

static void slope_survives_large_values(void **state)
{
	double x[1000], y[1000], sx = 0, sy = 0, sxx = 0, sxy = 0, slope, err;
	int hits = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		x[i] = 1e18 + 1024.0 * i;
		y[i] = 2e18 + 768.0 * i;
		sx += x[i];
		sy += y[i];
		sxx += x[i] * x[i];
		sxy += x[i] * y[i];
	}
	assert_int_equal(fit_slope(x, y, 1000, &slope, &err), 0);
	assert_true(near(slope, 0.75, 1e-6) && err < 1e-4);
	/* control: the textbook formula on the same values */
	assert_false(near((1000 * sxy - sx * sy) / (1000 * sxx - sx * sx), 0.75, 1e-6));

	seed = 3;
	for (int t = 0; t < 2000; t++) {
		for (int i = 0; i < 40; i++)
			y[i] = 3 * x[i] + 1e5 * normal();
		assert_int_equal(fit_slope(x, y, 40, &slope, &err), 0);
		hits += fabs(slope - 3) <= student95(38) * err;
	}
	assert_true(hits > 1860 && hits < 1940);
	assert_int_equal(fit_slope(x, y, 2, &slope, &err), 0);
	assert_true(isfinite(slope) && isnan(err));
	assert_int_equal(fit_slope(x, y, 1, &slope, &err), -EINVAL);
	x[1] = x[0];
	assert_int_equal(fit_slope(x, y, 2, &slope, &err), -EINVAL);
}

/* P(X <= k) of n with p, term by term: another way than the one under test. */
static double binomial_mass(uint64_t k, uint64_t n, double p)
{
	double sum = 0;

	for (uint64_t i = 0; i <= k; i++)
		sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) + (double)i * log(p) +
			   (double)(n - i) * log1p(-p));
	return sum;
}

static void shares_are_exact(void **state)
{
	static const uint64_t points[][2] = {
		{ 0, 1 }, { 0, 10 }, { 1, 10 }, { 5, 10 }, { 10, 10 }, { 50, 1000 }, { 0, 1000000 }, { 3, 1000000 }, { 1000, 1000000 },
		{ 500000, 1000000 }, { 5000000, 10000000 }, { 1, 1 },
	};
	struct summary s;

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t k = points[i][0], n = points[i][1];

		summary_share(&s, k, n);
		assert_int_equal(s.n, n);
		assert_true(s.mean == (double)k / (double)n && s.ci_lo <= s.mean && s.mean <= s.ci_hi);
		if (k < n)
			assert_true(near(binomial_mass(k, n, s.ci_hi), 0.025, 1e-4));
		else
			assert_true(s.ci_hi == 1);
		if (k)
			assert_true(near(1 - binomial_mass(k - 1, n, s.ci_lo), 0.025, 1e-4));
		else
			assert_true(s.ci_lo == 0);
	}
	/* the books' example, and none seen: more than the one-sided rule of three says */
	summary_share(&s, 1, 10);
	assert_true(near(s.ci_lo, 0.002529, 1e-3) && near(s.ci_hi, 0.445016, 1e-5));
	summary_share(&s, 0, 100000);
	assert_true(s.ci_hi * 1e5 > 3 && near(s.ci_hi * 1e5, 3.6888, 1e-4));
	/* control: one more seen is another interval */
	summary_share(&s, 51, 1000);
	assert_false(near(binomial_mass(50, 1000, s.ci_hi), 0.025, 1e-2));
	summary_share(&s, 0, 0);
	assert_true(isnan(s.mean) && isnan(s.ci_hi));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_matches_tables),
		cmocka_unit_test(quantiles_are_type_7),
		cmocka_unit_test(summary_by_hand),
		cmocka_unit_test(a_unit_changes_everything_but_n),
		cmocka_unit_test(interval_covers),
		cmocka_unit_test(difference_covers),
		cmocka_unit_test(slope_survives_large_values),
		cmocka_unit_test(shares_are_exact),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
