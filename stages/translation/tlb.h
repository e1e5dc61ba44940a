/* SPDX-License-Identifier: Apache-2.0 */
/* A point of the probe `tlb`, resolved (tlb_conf.c), for the probe itself (tlb.c). */
#ifndef FS_TLB_H
#define FS_TLB_H

#include "harness/var.h"
#include "stages/place/place.h"

#define MIB(bytes) ((unsigned long long)(bytes) >> 20)
#define SET_AUTO_HOST (1ull << 30)

struct tlb_conf {
	int device;          /* the issuer's GPU, -1: a CPU */
	int owner;           /* place of the memory */
	int cpu, gettime;
	uint64_t bytes;      /* whole pages; 0: as much of a GPU as is free, less an eighth */
	uint32_t page_shift, line_shift;
};

struct machine;
/* -EINVAL or -ENODEV with words in `why`. gettime is left 0. */
int tlb_resolve(const struct point *pt, const struct machine *m, struct tlb_conf *c, char *why, size_t len);

#endif
