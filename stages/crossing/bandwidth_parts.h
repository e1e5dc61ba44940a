/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `bandwidth`: what a point asks for (bandwidth_conf.c), threads of CPUs and of GPUs that move bytes
 * (bandwidth_cpu.c, bandwidth_gpu.cu), rows and the ceiling beside them (bandwidth_rows.c), memory and the probe itself
 * (bandwidth.c).
 */
#ifndef FS_BANDWIDTH_PARTS_H
#define FS_BANDWIDTH_PARTS_H

#include "stages/crossing/bandwidth.h"
#include "stages/crossing/where.h"

#define BW_PATIENCE_S 100.0         /* for all samples of a point */

/* A point, resolved. */
struct bw_conf {
	struct where at;
	int mover, dir, ways;            /* words */
	int nways;
	int src[BW_WAYS_MAX], dst[BW_WAYS_MAX]; /* places */
	int by[BW_WAYS_MAX];             /* the GPU that moves each; -1: CPUs */
	uint64_t size, loops, loops_max, samples, warmup;
	double sample_ns;                /* that a sample should take, at least */
	unsigned threads, blocks;
};

/* Between a GPU and each of its peers at once. */
static inline int bw_all_peers(const struct bw_conf *c) { return c->ways == WAYS_TO_ALL || c->ways == WAYS_FROM_ALL; }

/* -EINVAL or -ENODEV with words in `why`. */
int bw_resolve(const struct point *pt, const struct machine *m, struct bw_conf *c, char *why, size_t len);
extern const char *const bw_reads[]; /* the variables that it reads */

/* Rows and facts of what was measured. */
int bw_rows(const struct bw_conf *c, const struct bw_args *a, struct rows *out);

#endif
