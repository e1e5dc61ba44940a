/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of fixed memory (about 120 KiB), for samples that don't fit.
 *
 * Buckets are log-linear: each power of two is cut into PARTS equal buckets,
 * so a bucket's width is at most 1/PARTS of any value in it, whatever its
 * size. An order statistic is known to within its bucket, hence quantiles are
 * good to 1/PARTS of their value; a deviation from the median moves with both
 * ends, hence the MAD is good to 1/PARTS * (2 * median + MAD), which PARTS
 * keeps within HIST_RESOLUTION * (median + MAD). n, mean, variance, min and
 * max come from the samples themselves and owe nothing to the buckets.
 *
 * Sources: running mean and sum of squares, Welford, Technometrics 4 (1962);
 * their merge, Chan, Golub & LeVeque, Stanford STAN-CS-79-773 (1979).
 */
#include "harness/stats.h"

#include "harness/err.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PARTS 256 /* >= 2 / HIST_RESOLUTION, for the MAD */
#define RANGE_MIN 1e-3
#define RANGE_MAX 1e15
#define EXP_MIN (-10) /* 2^-10 <= RANGE_MIN */
#define EXP_MAX 49    /* RANGE_MAX < 2^50 */
#define NBUCKETS ((EXP_MAX - EXP_MIN + 1) * PARTS)

static_assert((long long)RANGE_MAX < 1LL << (EXP_MAX + 1), "EXP_MAX below the range");

struct hist {
	uint64_t n, zeros;
	double mean, m2;  /* m2: sum of squares around the mean */
	double min, max;
	uint64_t count[NBUCKETS];
};

struct hist *hist_new(void)
{
	struct hist *h = calloc(1, sizeof(*h));

	if (!h) {
		fs_fail(ENOMEM, "no memory for a histogram of %zu bytes", sizeof(*h));
		return NULL;
	}
	h->min = INFINITY;
	h->max = -INFINITY;
	return h;
}

void hist_free(struct hist *h)
{
	free(h);
}

static int bucket_of(double x)
{
	int e;
	double m = frexp(x, &e); /* x = m * 2^e, 0.5 <= m < 1 */

	return (e - 1 - EXP_MIN) * PARTS + (int)((2 * m - 1) * PARTS);
}

/* Edges of a bucket, no wider than the samples reach. */
static void bucket_edges(const struct hist *h, int b, double *lo, double *hi)
{
	int e = b / PARTS + EXP_MIN, part = b % PARTS;

	*lo = fmax(ldexp(1 + (double)part / PARTS, e), h->min);
	*hi = fmin(ldexp(1 + (double)(part + 1) / PARTS, e), h->max);
}

int hist_add(struct hist *h, double x)
{
	double d;

	/* Not logged: a caller may meet it once a message. */
	if (!(x == 0 || (x >= RANGE_MIN && x <= RANGE_MAX)))
		return fs_reason_set(EINVAL, "%g is outside of the histogram's range, 0 and %g to %g",
				     x, RANGE_MIN, RANGE_MAX);
	if (x == 0)
		h->zeros++;
	else
		h->count[bucket_of(x)]++;
	h->n++;
	d = x - h->mean;
	h->mean += d / (double)h->n;
	h->m2 += d * (x - h->mean);
	h->min = fmin(h->min, x);
	h->max = fmax(h->max, x);
	return 0;
}

int hist_merge(struct hist *into, const struct hist *from)
{
	double na = (double)into->n, nb = (double)from->n, d;

	if (!from->n)
		return 0;
	d = from->mean - into->mean;
	into->m2 += from->m2 + d * d * na * nb / (na + nb);
	into->mean += d * nb / (na + nb);
	into->n += from->n;
	into->zeros += from->zeros;
	into->min = fmin(into->min, from->min);
	into->max = fmax(into->max, from->max);
	for (int b = 0; b < NBUCKETS; b++)
		into->count[b] += from->count[b];
	return 0;
}

/* The k-th smallest sample, from 0: exact at the ends, elsewhere as if a
 * bucket's samples were spread evenly over it. */
static double order_statistic(const struct hist *h, uint64_t k)
{
	uint64_t below = h->zeros;

	if (k == 0)
		return h->min;
	if (k >= h->n - 1)
		return h->max;
	if (k < below)
		return 0;
	for (int b = 0; b < NBUCKETS; b++) {
		double lo, hi;

		if (k - below >= h->count[b]) {
			below += h->count[b];
			continue;
		}
		bucket_edges(h, b, &lo, &hi);
		return lo + (hi - lo) * ((double)(k - below) + 0.5) / (double)h->count[b];
	}
	return h->max;
}

static double hist_quantile(const struct hist *h, double q)
{
	double at = (double)(h->n - 1) * q, below = floor(at);
	double x = order_statistic(h, (uint64_t)below);

	if (at == below)
		return x;
	return x + (at - below) * (order_statistic(h, (uint64_t)below + 1) - x);
}

/* How many samples lie in [a, b], with whole buckets spread evenly. */
static double samples_within(const struct hist *h, double a, double b)
{
	double sum = a <= 0 && b >= 0 ? (double)h->zeros : 0;

	for (int i = 0; i < NBUCKETS; i++) {
		double lo, hi, part;

		if (!h->count[i])
			continue;
		bucket_edges(h, i, &lo, &hi);
		if (hi > lo)
			part = fmax(fmin(b, hi) - fmax(a, lo), 0) / (hi - lo);
		else
			part = a <= lo && lo <= b;
		sum += part * (double)h->count[i];
	}
	return sum;
}

/* The smallest distance from the median that takes in half of the samples. */
static double hist_mad(const struct hist *h, double med)
{
	double lo = 0, hi = fmax(h->max - med, med - h->min);
	double half = (double)h->n / 2;

	if (samples_within(h, med, med) >= half)
		return 0;
	for (int i = 0; i < 60 && hi - lo > 1e-6 * hi; i++) {
		double mid = lo + (hi - lo) / 2;

		if (samples_within(h, med - mid, med + mid) < half)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

void hist_summary(const struct hist *h, struct summary *s)
{
	summary_none(s);
	if (!h->n)
		return;
	s->n = h->n;
	s->mean = h->mean;
	if (h->n >= 2) {
		double n = (double)h->n;
		double half = student95(n - 1) * sqrt(h->m2 / (n - 1) / n);

		s->ci_lo = h->mean - half;
		s->ci_hi = h->mean + half;
	}
	s->min = h->min;
	s->p50 = hist_quantile(h, 0.5);
	s->p90 = hist_quantile(h, 0.9);
	s->p99 = hist_quantile(h, 0.99);
	if (h->n >= P999_MIN_SAMPLES)
		s->p999 = hist_quantile(h, 0.999);
	s->max = h->max;
	s->mad = hist_mad(h, s->p50);
}
