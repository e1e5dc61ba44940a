/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bare loops (floor.h, fence.h) leave behind, and the row that it makes: a sample a message in ticks, the
 * clock before and after them, and a word that isn't nought where a GPU's clock was still moving.
 */
#ifndef FS_LOOP_H
#define FS_LOOP_H

#include "stages/path.h"

/* Where the loop's agent is; nought to begin with, so that loop_mem_term() is right also when nothing was allocated. */
struct loop_mem { struct buf samples, pairs; };

/* -errno with a reason. */
int loop_mem_init(struct loop_mem *m, const struct path_conf *c);
void loop_mem_term(struct loop_mem *m);
struct clock_pair *loop_pairs(const struct loop_mem *m); /* [2] */
uint64_t *loop_unsettled(const struct loop_mem *m);
/* A row in ns of all samples; *row: that, for what its probe has to add. -errno with a reason. */
int loop_row(const struct loop_mem *m, const struct path_conf *c, const char *stage, const char *metric, struct rows *out,
	     struct row **row);

#endif
