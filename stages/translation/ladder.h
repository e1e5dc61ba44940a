/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latency of a dependent load against pages and against lines, and which knees of
 * it are a translation cache's.
 *
 * Three arms share the rungs of one ladder, four to an octave:
 *   one     n lines, each in a page of its own
 *   four    n lines, four to a page
 *   packed  n lines side by side, in as few pages as hold them: the working set
 * At each rung the arms have the same number of lines, in the same sets of the data
 * caches, and are measured one right after the other. How much longer a load takes than
 * in `packed` is what the pages cost. That excess is a staircase over the pages; a stair is a
 * translation cache's only if `four` has it at the same number of pages, which is at
 * four times the lines. (Who owns a stair that stands at the same number of lines
 * is another matter: lines far apart may cost more wherever they miss a data cache.)
 *
 * What is measured comes in by a function, so that the decision is tested with
 * latencies whose knees are known.
 */
#ifndef FS_LADDER_H
#define FS_LADDER_H

#include <stddef.h>
#include <stdint.h>

enum arm { ARM_ONE, ARM_FOUR, ARM_PACKED, ARMS };
extern const char *const arm_names[ARMS];

enum {
	CHASES = 16,         /* samples of a rung */
	RUNG_LEAST = 4,      /* lines of the first one; 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ... */
	OCTAVE = 4,
	PAGES_MAX = 1 << 17, /* of the arms one and four: a warm pass over more would take too long */
};

/* One arm at one rung. The interval of the median is that of the 4th and the 13th of
 * 16 samples in order, which needs no distribution: 97.9 % (the binomial's tails). */
struct rung {
	enum arm arm;
	uint64_t lines, pages;
	double ns[CHASES];   /* of a load, means over each chase */
	double lo, mid, hi;
};

/* A rung whose interval is wider than this share of its median was disturbed, and is measured
 * again; of at most so many attempts the narrowest stands, whatever it says. (Not packed
 * lines that have no other arm beside them: no knee depends on them.) */
#define RUNG_WIDE 0.25
enum { RUNG_TRIES = 3 };

/* Fills ns[CHASES]: a load's ns with so many lines in that arm. -errno. */
typedef int ladder_fn(void *ctx, enum arm arm, uint64_t lines, double *ns);

struct ladder {
	uint64_t bytes;      /* no arm reaches further */
	uint32_t page_shift, line_shift;
	struct rung *rung;   /* in the order of measuring: by lines, the arms side by side */
	size_t n, cap;
	unsigned again;      /* attempts beyond the first */
};

/* log2 of the lines in a page. */
uint32_t arm_share_shift(const struct ladder *l, enum arm arm);
/* Climbs it. 0, -ENOMEM, or what `measure` gave. */
int ladder_climb(struct ladder *l, ladder_fn *measure, void *ctx);
void ladder_term(struct ladder *l);
const struct rung *ladder_find(const struct ladder *l, enum arm arm, uint64_t lines);

/* ---- knees ---- */

/*
 * A rise counts when three rungs in a row (two at the ladder's end) lie above the
 * plateau before them by their whole interval and by more than this share of the
 * latency, and more than this many ns: a cheap miss of a CPU's first level costs 2 ns
 * of 5, and medians of a busy machine wander by some per cent.
 */
#define KNEE_SHARE 0.05
#define KNEE_NS 0.5
enum { KNEES_MAX = 8, KNEE_RUNGS = 3, PLATEAU_LEAST = 2 };

enum knee_follows { FOLLOWS_PAGES, FOLLOWS_LINES, FOLLOWS_NEITHER };

struct knee {
	enum knee_follows follows;
	uint64_t pages_lo, pages_hi; /* the last rung that can't be told from the plateau, and the first that can */
	uint64_t lines_lo, lines_hi;
	double miss_ns, miss_lo, miss_hi; /* from the octave before it to the octave behind it */
	int open;                    /* still rising at the ladder's end: the miss is a lower bound */
};

/* The knees of the arm `one`, in ascending order, judged by the arm `four`, whose knee
 * may stand two rungs off and be the same one. Returns how many; those beyond KNEES_MAX
 * are left out. */
int ladder_knees(const struct ladder *l, struct knee *k);

#endif
