/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries, intervals and fits over samples that are in memory.
 *
 * Every sample counts; nothing is trimmed. A sample that is not finite is
 * refused instead of spoiling the mean. All sums are taken around a sample or
 * a mean, so that clock readings near 1e18 keep their low digits.
 *
 * The half-width of an interval is student95(k - 1) * s * sqrt(batch / n),
 * where s is the standard deviation of the k whole batches' means. Samples
 * after the last whole batch count in the mean, and therefore in n, but say
 * nothing about the spread between batches; for independent normal samples
 * Student's law is still exact.
 *
 * diff_of gives a - b. slope_err is one standard error, NAN from two points.
 *
 * Sources: quantiles, Hyndman & Fan, "Sample Quantiles in Statistical
 * Packages", Am. Stat. 50 (1996), definition 7. Batch means, Law & Kelton,
 * "Simulation Modeling and Analysis", and Schmeiser, Oper. Res. 30 (1982).
 * Unequal variances, Welch, Biometrika 34 (1947). Student's quantile,
 * Abramowitz & Stegun 26.7.1 and 26.7.5; incomplete beta function, DLMF
 * 8.17.22; continued fraction, Thompson & Barnett, J. Comput. Phys. 64 (1986).
 * Intervals of shares, Clopper & Pearson, Biometrika 26 (1934).
 */
#include "harness/stats.h"

#include "harness/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_BATCHES 5
/* It takes some multiple of the root of a and b: shares of 1e7 have them that large. */
#define BETA_TERMS 50000
/* Beyond this the expansion in 1/df is good to 1e-9 and the fraction slow. */
#define STUDENT_EXPANSION_DF 100.0
/* Normal quantile at 0.975. */
#define Z975 1.959963984540054

/* ---- summaries that need no samples ---- */

void summary_none(struct summary *s)
{
	*s = (struct summary){
		.n = 0, .mean = NAN, .ci_lo = NAN, .ci_hi = NAN, .min = NAN,
		.p50 = NAN, .p90 = NAN, .p99 = NAN, .p999 = NAN, .max = NAN,
		.mad = NAN,
	};
}

void summary_one(struct summary *s, double x)
{
	summary_none(s);
	s->n = 1;
	s->mean = s->min = s->p50 = s->max = x;
}

void summary_scale(struct summary *s, double by)
{
	double *const all[] = { &s->mean, &s->ci_lo, &s->ci_hi, &s->min, &s->p50, &s->p90, &s->p99, &s->p999, &s->max, &s->mad };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		*all[i] *= by;
}

/* ---- the incomplete beta function: Student's quantile, shares ---- */

/*
 * The continued fraction of the incomplete beta function, by the modified
 * Lentz method: c and d are the ratios of neighbouring numerators and
 * denominators, so nothing overflows. Converges fast for x < (a+1)/(a+b+2).
 */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1.0, d = 0.0, f = 1.0;

	for (int i = 0; i < BETA_TERMS; i++) {
		int m = i / 2;
		double num, step;

		if (i == 0)
			num = 1.0;
		else if (i % 2 == 0)
			num = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		else
			num = -(a + m) * (a + b + m) * x /
			      ((a + 2 * m) * (a + 2 * m + 1));
		d = 1.0 + num * d;
		if (fabs(d) < tiny)
			d = tiny;
		d = 1.0 / d;
		c = 1.0 + num / c;
		if (fabs(c) < tiny)
			c = tiny;
		step = c * d;
		f *= step;
		if (fabs(step - 1.0) < 1e-13)
			break;
	}
	return f - 1.0;
}

/* The regularised incomplete beta function at x with a and b; y is 1 - x. */
static double beta_share(double x, double y, double a, double b)
{
	double front;

	if (x <= 0)
		return 0;
	if (y <= 0)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(y, b, a) / b;
}

/* P(|T| > t): the incomplete beta function at df/(df + t^2) with df/2, 1/2. */
static double student_tail(double t, double df)
{
	return beta_share(df / (df + t * t), t * t / (df + t * t), df / 2, 0.5);
}

double student95(double df)
{
	const double z = Z975, z2 = z * z;
	double lo, hi;

	if (!(df > 0))
		return NAN;
	if (df >= STUDENT_EXPANSION_DF) {
		double g1 = z * (z2 + 1) / 4;
		double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
		double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
		double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;

		return z + (g1 + (g2 + (g3 + g4 / df) / df) / df) / df;
	}
	/* The tail falls with t: bracket by doubling, then halve. */
	lo = 1.0;
	for (hi = 2.0; hi < 1e150 && student_tail(hi, df) > 0.05; hi *= 2)
		lo = hi;
	while (hi - lo > 1e-12 * hi) {
		double mid = lo + (hi - lo) / 2;

		if (student_tail(mid, df) > 0.05)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/* The share at which X, binomial, is `most` or less with a probability of `tail`. */
static double share_at(double most, double n, double tail)
{
	double lo = 0, hi = 1;

	for (int i = 0; i < 100; i++) {
		double p = (lo + hi) / 2;

		/* P(X <= most) = 1 - I_p(most + 1, n - most), and falls with p */
		if (beta_share(1 - p, p, n - most, most + 1) > tail)
			lo = p;
		else
			hi = p;
	}
	return hi;
}

void summary_share(struct summary *s, uint64_t k, uint64_t n)
{
	summary_none(s);
	if (!n)
		return;
	s->n = n;
	s->mean = (double)k / (double)n;
	s->ci_lo = k ? share_at((double)k - 1, (double)n, 0.975) : 0;
	s->ci_hi = k < n ? share_at((double)k, (double)n, 0.025) : 1;
}

/* ---- mean, spread, interval ---- */

/* Around the first sample, then corrected by the mean of what is left over. */
static double mean_of(const double *x, size_t n)
{
	double sum = 0, rest = 0, mean;

	for (size_t i = 0; i < n; i++)
		sum += x[i] - x[0];
	mean = x[0] + sum / (double)n;
	for (size_t i = 0; i < n; i++)
		rest += x[i] - mean;
	return mean + rest / (double)n;
}

/* A mean with its standard error; df < 1 when the error isn't known. */
struct estimate { double mean, err, df; };

static void estimate_of(const double *x, size_t n, size_t batch, struct estimate *e)
{
	double sum = 0, sum2 = 0, var;
	size_t k;

	e->mean = mean_of(x, n);
	e->err = NAN;
	e->df = 0;
	if (n < 2)
		return;
	if (batch == 0 || n / batch < MIN_BATCHES)
		batch = 1;
	k = n / batch;
	for (size_t i = 0; i < k; i++) {
		double d = 0;

		for (size_t j = 0; j < batch; j++)
			d += x[i * batch + j] - e->mean;
		d /= (double)batch;
		sum += d;
		sum2 += d * d;
	}
	/* Already centred: the correction is for the leftover samples alone. */
	var = (sum2 - sum * sum / (double)k) / (double)(k - 1);
	e->err = sqrt(fmax(var, 0) * (double)batch / (double)n);
	e->df = (double)(k - 1);
}

static int check_finite(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return fs_fail(EINVAL, "sample %zu of %zu is not a number", i, n);
	return 0;
}

/* ---- order ---- */

double quantile_sorted(const double *x, size_t n, double q)
{
	double h, below;
	size_t i;

	if (n == 0 || isnan(q))
		return NAN;
	h = (double)(n - 1) * fmin(fmax(q, 0), 1);
	below = floor(h);
	i = (size_t)below;
	if (i >= n - 1)
		return x[n - 1];
	return x[i] + (h - below) * (x[i + 1] - x[i]);
}

/*
 * Median of |x - med| of sorted samples. Deviations grow outwards on either
 * side of the median, so a merge of the two sides meets them in order, and
 * neither a second copy nor a second sort is needed.
 */
static double mad_sorted(const double *x, size_t n, double med)
{
	size_t left = n / 2, right = n / 2; /* left: one past the next */
	double lower = 0, dev = 0;

	for (size_t k = 0; k <= n / 2; k++) {
		if (left == 0 || (right < n && x[right] - med <= med - x[left - 1]))
			dev = x[right++] - med;
		else
			dev = med - x[--left];
		if (k == (n - 1) / 2)
			lower = dev;
	}
	return lower + (dev - lower) / 2;
}

static int compare_doubles(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

int summary_of(const double *x, size_t n, size_t batch, struct summary *s)
{
	struct estimate e;
	double *sorted;
	int rc;

	summary_none(s);
	rc = check_finite(x, n);
	if (rc || n == 0)
		return rc;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return fs_fail(ENOMEM, "no memory to sort %zu samples", n);
	memcpy(sorted, x, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);

	estimate_of(x, n, batch, &e);
	s->n = n;
	s->mean = e.mean;
	if (n >= 2) {
		double half = student95(e.df) * e.err;

		s->ci_lo = e.mean - half;
		s->ci_hi = e.mean + half;
	}
	s->min = sorted[0];
	s->p50 = quantile_sorted(sorted, n, 0.5);
	s->p90 = quantile_sorted(sorted, n, 0.9);
	s->p99 = quantile_sorted(sorted, n, 0.99);
	if (n >= P999_MIN_SAMPLES)
		s->p999 = quantile_sorted(sorted, n, 0.999);
	s->max = sorted[n - 1];
	s->mad = mad_sorted(sorted, n, s->p50);
	free(sorted);
	return 0;
}

/* ---- two sets of samples ---- */

int diff_of(const double *a, size_t na, const double *b, size_t nb, size_t batch,
	    double *diff, double *lo, double *hi)
{
	struct estimate ea, eb;
	double va, vb, df, half;
	int rc;

	*diff = *lo = *hi = NAN;
	if (na == 0 || nb == 0)
		return fs_fail(EINVAL, "a difference of means needs samples on both sides (%zu and %zu)",
			       na, nb);
	rc = check_finite(a, na);
	if (!rc)
		rc = check_finite(b, nb);
	if (rc)
		return rc;
	estimate_of(a, na, batch, &ea);
	estimate_of(b, nb, batch, &eb);
	*diff = ea.mean - eb.mean;
	if (ea.df < 1 || eb.df < 1)
		return 0; /* one sample has no spread: no interval */
	va = ea.err * ea.err;
	vb = eb.err * eb.err;
	if (va + vb > 0) {
		/* In shares of the sum, so that squares can't underflow. */
		double wa = va / (va + vb), wb = vb / (va + vb);

		df = 1 / (wa * wa / ea.df + wb * wb / eb.df);
		half = student95(df) * sqrt(va + vb);
	} else {
		half = 0;
	}
	*lo = *diff - half;
	*hi = *diff + half;
	return 0;
}

int fit_slope(const double *x, const double *y, size_t n, double *slope, double *slope_err)
{
	double mx, my, sxx = 0, sxy = 0, rest = 0;
	int rc;

	*slope = *slope_err = NAN;
	if (n < 2)
		return fs_fail(EINVAL, "a slope needs two points, there are %zu", n);
	rc = check_finite(x, n);
	if (!rc)
		rc = check_finite(y, n);
	if (rc)
		return rc;
	/* Means of the distances from the first point, not of the values: at
	 * 1e18 a mean can't be held to better than 64. */
	mx = my = 0;
	for (size_t i = 0; i < n; i++) {
		mx += (x[i] - x[0]) / (double)n;
		my += (y[i] - y[0]) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double dx = (x[i] - x[0]) - mx, dy = (y[i] - y[0]) - my;

		sxx += dx * dx;
		sxy += dx * dy;
	}
	if (!(sxx > 0))
		return fs_fail(EINVAL, "a slope needs two different x, all %zu are the same", n);
	*slope = sxy / sxx;
	if (n < 3)
		return 0;
	for (size_t i = 0; i < n; i++) {
		double r = (y[i] - y[0]) - my - *slope * ((x[i] - x[0]) - mx);

		rest += r * r;
	}
	*slope_err = sqrt(rest / (double)(n - 2) / sxx);
	return 0;
}
