/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the probe `path` (path_rows.c) that are of translation: registering or copying before a
 * message, and hits and misses of the NIC's cache.
 */
#include "harness/err.h"
#include "stages/path.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int source_row(const struct spans *s, const struct path_conf *c, const double *x, const char *stage,
		      const char *metric, struct rows *out)
{
	struct row *r = path_row(out, c, stage, metric, "ns");

	if (!r)
		return -ENOMEM;
	path_origin(r, c, !strcmp(stage, "total"));
	return spans_summary(x, s->n, s->block, &r->s);
}

int spans_source_rows(const struct spans *s, const struct path_conf *c, struct rows *out)
{
	int staged = c->registration == REGISTERED_STAGED, rc;
	double *x;

	if (!s->before)
		return 0;
	if ((rc = source_row(s, c, s->before, "translation", staged ? "staging_copy" : "register", out)) ||
	    (!staged && (rc = source_row(s, c, s->after, "translation", "deregister", out))))
		return rc;
	if (staged && c->issuer_gpu >= 0 && (rc = source_row(s, c, s->fenced, "translation", "staging_fence", out)))
		return rc;
	if (!(x = malloc((s->n ? s->n : 1) * sizeof(*x))))
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < s->n; i++)
		x[i] = s->before[i] + s->after[i];
	rc = source_row(s, c, x, "translation", "registration_cost", out);
	for (uint64_t i = 0; i < s->n; i++) /* the total has what lies inside the message already */
		x[i] = path_registers_inside(c) ? s->total[i] : x[i] + s->total[i];
	if (!rc)
		rc = source_row(s, c, x, "total", "total_with_registration", out);
	free(x);
	return rc;
}

/* The interval of those messages that found everything, or of those that had to walk. */
static int looked_row(const struct spans *s, const struct path_conf *c, int k, int hit, struct rows *out)
{
	double *x = malloc((s->n ? s->n : 1) * sizeof(*x));
	struct summary sum;
	struct row *r;
	int rc;

	if (!x)
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < s->n; i++) {
		uint32_t look = (uint32_t)s->looked[i], all = look >> 8 == (look & 0xff);

		x[i] = look && (int)all == hit ? s->interval[k][i] : NAN;
	}
	rc = spans_summary(x, s->n, s->block, &sum);
	free(x);
	if (rc || !sum.n)
		return rc;
	if (!(r = path_row(out, c, stage_names[s->table[k].stage], hit ? "latency_hit" : "latency_miss", "ns")))
		return -ENOMEM;
	snprintf(r->interval, sizeof(r->interval), "%s-%s", mark_table[s->table[k].from].name, mark_table[s->table[k].to].name);
	snprintf(r->link, sizeof(r->link), "%s", path_link(c, &s->table[k]));
	r->s = sum;
	path_origin(r, c, 1);
	return 0;
}

int cache_count_rows(const struct path_conf *c, uint64_t messages, uint64_t lookups, uint64_t hits, struct rows *out)
{
	for (int i = 0; i < 2; i++) {
		struct row *r = path_row(out, c, "translation", i ? "xlat_misses" : "xlat_hits", "count");

		if (!r)
			return -ENOMEM;
		r->s.n = messages;
		r->s.mean = (double)(i ? lookups - hits : hits);
		path_origin(r, c, 1);
	}
	return 0;
}

int spans_cache_rows(const struct spans *s, const struct path_conf *c, struct rows *out)
{
	uint64_t lookups = 0, hits = 0;
	int rc;

	for (int k = 0; k < s->intervals; k++)
		if (s->table[k].to == MARK_TRANSLATED)
			for (int hit = 1; hit >= 0; hit--)
				if ((rc = looked_row(s, c, k, hit, out)))
					return rc;
	for (uint64_t i = 0; i < s->n; i++) {
		lookups += (uint32_t)s->looked[i] >> 8;
		hits += (uint32_t)s->looked[i] & 0xff;
	}
	return cache_count_rows(c, s->n, lookups, hits, out);
}
