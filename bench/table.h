/* SPDX-License-Identifier: Apache-2.0 */
/* What the table collects (table.c) and prints (table_print.c). */
#ifndef FS_TABLE_H
#define FS_TABLE_H

#include "bench/bench.h"
#include "stages/stage.h"

#define TOTAL STAGES
#define COLUMNS (STAGES + 1)
#define FIGURES 24
#define WHYS 4

struct figure { char what[96], unit[12]; double sum; int n, emulated; };

/* Why rows aren't ok, each reason once. */
struct why { enum fs_status status; char where[48], reason[256]; int rows; };

struct line {
	double sum[COLUMNS];
	int n[COLUMNS];
	int emulated[COLUMNS];          /* holds spans of a stand-in */
	struct figure figure[FIGURES];
	int nfigures, more;             /* `more` rows found no place */
	struct why why[WHYS];
	int nwhys, more_whys;
	int reps;                       /* repetitions that were measured */
	enum fs_status status;          /* the worst of their ends */
};

struct table { const struct plan *plan; struct line *line; };

/* Mean over the repetitions, NAN where there is none. */
double line_mean(const struct line *l, int column);

#endif
