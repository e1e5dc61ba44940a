/* SPDX-License-Identifier: Apache-2.0 */
/* Bars, and the few colours. */
#include "bench/bar.h"
#include <math.h>

/* Letters where the locale has no other characters; from dense to thin else. */
static const struct { const char *ascii, *utf8; int colour; } looks[STAGES] = {
	[STAGE_ISSUE] = { "I", "\u2588", 36 },
	[STAGE_CROSSING] = { "X", "\u2593", 34 },
	[STAGE_TRANSLATION] = { "T", "\u2592", 33 },
	[STAGE_HANDOFF] = { "H", "\u2591", 35 },
	[STAGE_COMPLETION] = { "C", "\u259e", 32 },
	[STAGE_QUEUEING] = { "Q", "\u00b7", 90 },
};

static const int tints[] = { [TINT_GOOD] = 32, [TINT_WARN] = 33, [TINT_BAD] = 31, [TINT_DIM] = 90 };

static void colour_on(FILE *f, const struct term *t, int colour)
{
	if (t->colour)
		fprintf(f, "\033[%dm", colour);
}

static void colour_off(FILE *f, const struct term *t)
{
	if (t->colour)
		fputs("\033[0m", f);
}

void bar_stage(FILE *f, const struct term *t, int stage, int columns)
{
	if (columns <= 0)
		return;
	colour_on(f, t, looks[stage].colour);
	while (columns--)
		fputs(t->utf8 ? looks[stage].utf8 : looks[stage].ascii, f);
	colour_off(f, t);
}

void bar_print(FILE *f, const struct term *t, const double ns[STAGES], double total, int columns)
{
	double sum = 0, upto = 0;
	int drawn = 0;

	for (int s = 0; s < STAGES; s++)
		sum += ns[s] > 0 ? ns[s] : 0;
	if (total > sum)
		sum = total;
	if (!(sum > 0))
		return;
	/* Ends are rounded, not lengths: so no error adds up. */
	for (int s = 0; s < STAGES; s++) {
		int end;

		upto += ns[s] > 0 ? ns[s] : 0;
		end = (int)lrint(columns * upto / sum);
		bar_stage(f, t, s, end - drawn);
		drawn = end;
	}
}

void bar_legend(FILE *f, const struct term *t, const int shown[STAGES])
{
	const char *gap = "";

	for (int s = 0; s < STAGES; s++) {
		if (!shown[s])
			continue;
		fputs(gap, f);
		bar_stage(f, t, s, 1);
		fprintf(f, " %s", stage_names[s]);
		gap = "  ";
	}
}

void tint_print(FILE *f, const struct term *t, enum tint tint, const char *word)
{
	colour_on(f, t, tints[tint]);
	fputs(word, f);
	colour_off(f, t);
}
