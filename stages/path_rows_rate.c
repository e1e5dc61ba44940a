/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the probe `path` (path_rows.c) that are of a rate: messages a second, and the payload that they carry. */
#include "harness/err.h"
#include "stages/path_layout.h"
#include "stages/path_parts.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Payload bytes a second; of a NIC that moves them. */
static int goodput_row(struct summary rate, const char *origin, const struct path_conf *c, struct rows *out)
{
	char from[sizeof(out->row->origin)];
	struct row *row;

	if (!c->nic->completes || c->choice.kind == POST_NOP || !c->size)
		return 0;
	snprintf(from, sizeof(from), "%s", origin); /* it may lie in a row that moves */
	row = path_row(out, c, "total", "goodput", "GB/s");
	if (!row)
		return -ENOMEM;
	summary_scale(&rate, c->size / 1e3);
	row->s = rate;
	snprintf(row->origin, sizeof(row->origin), "%s", from);
	return 0;
}

int path_rate_rows(const struct pass *p, uint32_t block, const struct path_conf *c, struct rows *out)
{
	const struct clock_pair *a = p->pairs, *z = p->pairs + p->npairs - 1;
	uint64_t blocks = p->npairs - 1, each;
	double *x = malloc((blocks ? blocks : 1) * sizeof(*x));
	struct row *row = path_row(out, c, "total", "rate", "Mmsg/s");
	uint64_t k = 0, left = p->messages;
	int rc = 0;

	if (!x || !row) {
		free(x);
		return fs_fail(ENOMEM, "no memory for rates");
	}
	each = (p->messages + blocks - 1) / blocks;
	each = p->record ? block : each > BARE_BLOCK ? each : BARE_BLOCK;
	for (uint64_t b = 0; b < blocks; b++) {
		uint64_t m = left < each ? left : each, ns = p->pairs[b + 1].wall - p->pairs[b].wall;

		left -= m;
		if (ns && m == each)
			x[k++] = (double)m * 1e3 / (double)ns;
	}
	/* few blocks say nothing of a distribution */
	if (k >= 5)
		rc = summary_of(x, k, 1, &row->s);
	if (!rc && z->wall > a->wall) {
		double all = (double)p->messages * 1e3 / (double)(z->wall - a->wall);

		if (k >= 5) { /* over all messages; the blocks say how far it is known */
			row->s.ci_lo += all - row->s.mean;
			row->s.ci_hi += all - row->s.mean;
			row->s.mean = all;
		} else {
			summary_one(&row->s, all);
		}
	}
	snprintf(row->origin, sizeof(row->origin), "%s", c->nic->emulated ? "emulated" : "measured");
	free(x);
	return rc ? rc : goodput_row(row->s, row->origin, c, out);
}
