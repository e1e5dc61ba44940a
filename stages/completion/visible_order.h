/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `visible` says of what it has counted: how far an order is promised to reach, and the
 * rows (visible_order.c).
 */
#ifndef FS_VISIBLE_ORDER_H
#define FS_VISIBLE_ORDER_H

#include "harness/rows.h"
#include "stages/completion/visible.h"

struct visible_order {
	int fence, acquire, early;      /* enum fence, acquire, visible_early */
	int writer, reader;             /* PLACE_HOST: a CPU, else its GPU */
	int payload, flag;              /* places */
};

/* guaranteed, relied-on or unsafe: that of the weaker side. */
const char *visible_class(const struct visible_order *o);
/* Fails a pass that didn't end, one in which the writer came ahead, and one that counted what its
 * class excludes. */
int visible_verdict(const struct visible_order *o, uint64_t messages, const struct visible_out *got, uint64_t wait_ns);
/* Violations, their share and the stale words. */
int visible_rows(const struct visible_order *o, const char *link, uint64_t messages, const struct visible_out *got, struct rows *out);

#endif
