/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a probe of the crossing stands: who issues, where the memory under test
 * lives, which node and CPU that means. What `load`, `store`, `atomic` and
 * `bandwidth` share. Everything is resolved and refused before anything runs;
 * memory is then asserted to be where it was asked for before anything is timed.
 */
#ifndef FS_WHERE_H
#define FS_WHERE_H

#include "harness/machine.h"
#include "harness/rows.h"
#include "harness/var.h"
#include "stages/place/place.h"

struct where {
	int issuer_gpu;      /* -1: a CPU */
	int far_gpu;         /* the GPU of `peer` and of nic=peer; -1: none takes part */
	int mem;             /* place of the memory under test */
	int pinned;          /* a GPU takes part */
	int node;            /* of host memory; -1: near the issuer */
	int cpu;             /* the issuer's, or of who launches it */
	int nic_on;          /* the GPU of nic=peer, -1: not */
	int seated;          /* the probe's agents are of one block each, and these are their SMs: */
	int sm, nic_sm;      /* as seats_resolve() gives them */
	int gettime;         /* CPU agents stamp with clock_gettime */
	int fault;
};

/* `gpu` as issuer or mover: -ENODEV where there is none, with what else is legal. */
int where_issuer(const struct point *pt, const struct machine *m, const char *asked, const char *otherwise,
		 struct where *w, char *why, size_t len);
/* The GPU that nic_gpu means, seen from w->issuer_gpu. */
int where_far(const struct point *pt, const struct machine *m, struct where *w, char *why, size_t len);
/* What a word of PLACE_WORDS means; `own` for auto. Asks where_far() if it is `peer`. */
int where_place(const struct point *pt, const struct machine *m, const char *var, int own, struct where *w, int *place,
		char *why, size_t len);
/* cpu, numa and fault; `host`: some of the memory is the host's. */
int where_host(const struct point *pt, const struct machine *m, int host, struct where *w, char *why, size_t len);
/* -ENODEV when so many bytes are more than the place has in all. */
int where_fits(const struct machine *m, int place, uint64_t bytes, const char *what, char *why, size_t len);
/* The whole of it for a probe that reads issuer, gpu, nic_gpu, mem, numa, cpu and fault. */
int where_resolve(const struct point *pt, const struct machine *m, struct where *w, char *why, size_t len);

/* sm and nic_sm, for a probe whose agents have seats; `nic_gpu`: -1 if the NIC's part is no GPU's. */
int where_seats(const struct point *pt, struct where *w, int nic_gpu, char *why, size_t len);

/* The CPU of nic=soft, as the path's NIC has it: another one than the issuer's. After where_host(). */
int where_nic_cpu(const struct point *pt, const struct machine *m, const struct where *w, int *cpu, char *why, size_t len);

/* In the child: pins, opens devices, settles the seats, arms the fault. */
int where_use(struct where *w, struct rows *out);
/* The memory under test: placed, and asserted. */
int where_alloc(struct buf *b, const struct where *w, int place, uint64_t bytes);
/* What run.json says of it. */
void where_found(struct rows *out, const char *name, const struct buf *b);

/* A row of this stage. NULL: out of memory. */
struct row *cross_row(struct rows *out, const char *stage, const char *link, const char *metric, const char *unit);
/* The place of whoever issues. */
int where_issuer_place(const struct where *w);
/* Samples in ticks to ns each: x[i] * rate / per. */
int cross_latency(struct row *r, const uint64_t *x, uint64_t n, double rate);
double number_or(const struct point *pt, const char *var, double otherwise);

#endif
