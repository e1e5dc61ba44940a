/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of characters that shows shares: every stage has a character of its
 * own, so that they are told apart without colour.
 */
#ifndef FS_BAR_H
#define FS_BAR_H

#include "harness/term.h"
#include "stages/stage.h"

/* `columns` characters for `total` ns, shared among the stages by theirs; what is
 * negative or NAN has none. Where the stages don't make up the total the bar is
 * not full. */
void bar_print(FILE *f, const struct term *t, const double ns[STAGES], double total, int columns);
/* `columns` characters of one stage. */
void bar_stage(FILE *f, const struct term *t, int stage, int columns);
/* "I issue  X crossing ..." of those with shown[stage]. */
void bar_legend(FILE *f, const struct term *t, const int shown[STAGES]);

/* A word in the colour of its kind, where there are colours. */
enum tint { TINT_GOOD, TINT_WARN, TINT_BAD, TINT_DIM };
void tint_print(FILE *f, const struct term *t, enum tint tint, const char *word);

#endif
