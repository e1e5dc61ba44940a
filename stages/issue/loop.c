/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/issue/loop.h"
#include "harness/err.h"
#include <errno.h>
#include <stdlib.h>

enum { BLOCK = 128, PAIRS = 4 }; /* two of the clock, and a line's rest for the word behind them */

int loop_mem_init(struct loop_mem *m, const struct path_conf *c)
{
	int agent = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST;
	int rc = place_alloc(&m->samples, agent, c->messages * 8, 4096, c->pinned);

	return rc ? rc : place_alloc(&m->pairs, agent, PAIRS * sizeof(struct clock_pair), 64, c->pinned);
}

void loop_mem_term(struct loop_mem *m)
{
	place_free(&m->samples);
	place_free(&m->pairs);
}

struct clock_pair *loop_pairs(const struct loop_mem *m) { return (struct clock_pair *)m->pairs.p; }
uint64_t *loop_unsettled(const struct loop_mem *m) { return (uint64_t *)(loop_pairs(m) + 2); }

int loop_row(const struct loop_mem *m, const struct path_conf *c, const char *stage, const char *metric, struct rows *out,
	     struct row **row)
{
	uint64_t *x = malloc(c->messages * 8);
	double *ns = malloc(c->messages * sizeof(*ns)), rate;
	struct clock_pair p[PAIRS];
	struct row *r;
	int rc;

	*row = NULL;
	if (!x || !ns) {
		rc = fs_fail(ENOMEM, "no memory for samples");
		goto out;
	}
	if ((rc = place_read(&m->samples, 0, x, c->messages * 8)) || (rc = place_read(&m->pairs, 0, p, sizeof(p))))
		goto out;
	rate = (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks);
	for (uint64_t i = 0; i < c->messages; i++)
		ns[i] = (double)x[i] * rate;
	r = path_row(out, c, stage, metric, "ns");
	rc = r ? summary_of(ns, c->messages, BLOCK, &r->s) : -ENOMEM;
	if (r && p[2].ticks) /* the word behind the pairs */
		unsettled_flag(r);
	*row = r;
out:
	free(x);
	free(ns);
	return rc;
}
