/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of one point. Nothing is dropped: every sample counts. Missing
 * numbers are NAN here and empty cells in files.
 */
#ifndef FS_STATS_H
#define FS_STATS_H

#include <stddef.h>
#include <stdint.h>

struct summary {
	uint64_t n;
	double mean, ci_lo, ci_hi; /* 95 % interval of the mean */
	double min, p50, p90, p99, p999, max; /* p999 only from 10,000 samples */
	double mad;                /* median absolute deviation, unscaled */
};

void summary_none(struct summary *s);           /* n = 0, all NAN */
void summary_one(struct summary *s, double x);  /* n = 1; mean, min, p50, max = x, no interval */
void summary_scale(struct summary *s, double by); /* to another unit: all but n times by > 0 */

/*
 * Summary of n samples in the order in which they were taken; NAN samples are
 * an error (-EINVAL). Quantiles: Hyndman-Fan type 7. The interval is Student's
 * over the means of batches of `batch` samples (neighbouring messages are not
 * independent); with fewer than 5 whole batches it is Student's over the
 * samples; with fewer than 2 samples there is none. Does not change x.
 * -ENOMEM.
 */
int summary_of(const double *x, size_t n, size_t batch, struct summary *s);

/* k of n, as a share: mean k/n, and its exact (Clopper-Pearson) 95 % interval, two-sided;
 * of none it reaches to about 3.7/n. No more than that; n = 0: nothing. */
void summary_share(struct summary *s, uint64_t k, uint64_t n);

/* Type-7 quantile of sorted samples, q in 0..1, n >= 1. */
double quantile_sorted(const double *x, size_t n, double q);
/* Two-sided Student quantile: P(|T| <= t) = 0.95 with df degrees of freedom. */
double student95(double df);
/* Mean and 95 % interval of a - b, two independent means (Welch), from batch
 * means. */
int diff_of(const double *a, size_t na, const double *b, size_t nb, size_t batch,
	    double *diff, double *lo, double *hi);

/*
 * A histogram of fixed memory for when samples don't fit: values >= 0, buckets
 * of relative width <= HIST_RESOLUTION, exact n, mean, min, max.
 */
#define HIST_RESOLUTION 0.01
#define P999_MIN_SAMPLES 10000
struct hist;
struct hist *hist_new(void);
void hist_free(struct hist *h);
int hist_add(struct hist *h, double x);   /* -EINVAL: negative, NAN or beyond the range 1e-3..1e15 (0 has a bucket of its own) */
int hist_merge(struct hist *into, const struct hist *from);
/* Quantiles to within the resolution, the MAD to within that of median + MAD; the interval is normal-theory
 * over the samples' variance. */
void hist_summary(const struct hist *h, struct summary *s);

/* Slope of y over x by least squares, and one standard error of it. */
int fit_slope(const double *x, const double *y, size_t n, double *slope, double *slope_err);

#endif
