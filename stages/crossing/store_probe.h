/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the probe `store` share: the point and the posted stores are
 * in store.c, trips to another agent and back in store_trips.c.
 */
#ifndef FS_STORE_PROBE_H
#define FS_STORE_PROBE_H

#include "harness/rows.h"
#include "stages/crossing/store.h"
#include "stages/crossing/where.h"
#include "stages/nic/nic.h"

#define STORE_WAIT_NS 2000000000ull
#define STORE_PATIENCE_S 100.0

struct store_conf {
	struct where at;
	const struct nic *nic;
	int fence, nic_cpu, back, far_home, same_kind;
	uint64_t stores, trips, warmup;
};

struct store_mem { struct buf there, back, res, far; };
/* The first page of `res` and `far` has what is one of a kind. */
enum { RES_PAIRS = 512, RES_SAMPLES = 4096 };

static inline double rate_of(const struct clock_pair *a, const struct clock_pair *b)
{
	return (double)(b->wall - a->wall) / (double)(b->ticks - a->ticks);
}

/* Rows of the trips of one point. -EBUSY: an agent would not end; its memory stays. */
int store_trips(const struct store_mem *m, const struct store_conf *c, const struct store_args *a, struct rows *out);

#endif
