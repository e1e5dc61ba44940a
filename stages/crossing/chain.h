/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of loads that no prefetcher can guess: one cycle through all lines of a
 * working set, drawn at random among all such cycles (Sattolo, "An algorithm to
 * generate a random cyclic permutation", Information Processing Letters 22, 1986).
 * The first word of each line is the address of the next one.
 */
#ifndef FS_CHAIN_H
#define FS_CHAIN_H

#include "stages/place/place.h"

/* More lines take longer to draw than to load: a larger working set needs a larger stride. */
#define CHAIN_LINES_MAX (1u << 24)

/* next[i] is the line behind line i, of n >= 2. */
void chain_draw(uint32_t *next, uint32_t n, uint64_t seed);
/* Writes the chain into b, wherever it lives. -errno with a reason. */
int chain_write(const struct buf *b, uint64_t stride, const uint32_t *next, uint32_t n);
/* Reads it back. -errno with a reason; -EBADMSG when an address is of no line. */
int chain_read(const struct buf *b, uint64_t stride, uint32_t *next, uint32_t n);
/*
 * Is it one cycle through all n lines, and not in an order that can be guessed? Of 64
 * lines or more at most an eighth of the steps may be as long as the step before.
 * NULL, or what is wrong with it.
 */
const char *chain_wrong(const uint32_t *next, uint32_t n);
/* Where `steps` steps from line 0 lead. */
uint32_t chain_after(const uint32_t *next, uint64_t steps);

#endif
