/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which SMs the agents of one block run.
 *
 * The SMs of a GPU stand nearer to one part of its L2 than to another: on an H200 two
 * SMs of the same half hand a line over in about 250 ns, whichever line it is, and two of
 * different halves in 290 to 410 ns, by the line. Which numbers belong together differs
 * from GPU to GPU (SMs that are switched off differ), so it is measured, by a ping-pong
 * of the issuer's SM with every other one.
 *
 * A kernel can't be launched on an SM. So as many blocks are launched as the GPU holds; the
 * first one that finds itself on the right SM takes the seat, and all others return.
 */
#ifndef FS_SEAT_H
#define FS_SEAT_H

#include "harness/machine.h"
#include "harness/rows.h"
#include "harness/var.h"
#include <stdint.h>

/* An SM, or one of these. AUTO: the issuer's is SM 0; the NIC's is NEAR on the issuer's
 * own GPU, SM 0 on another. ANY: where the device's scheduler puts a block. */
enum { SEAT_ANY = -1, SEAT_AUTO = -2, SEAT_NEAR = -3, SEAT_FAR = -4 };

/* What the L2 looks like from the issuer's SM; of no use if `sms` is 0. One group alone:
 * far is 0. ns: of one way of a ping-pong, a mean over lines and SMs. */
struct seat_map {
	uint32_t sms;
	uint32_t near, far;       /* other SMs in its half, and in the other */
	double near_ns, far_ns;
	int nic_near;             /* the NIC's SM is in the issuer's half; -1: it isn't known */
};

/*
 * Measures and keeps what the L2 looks like from an SM of a device that cuda_use() has opened, some
 * 30 ms, for the points that follow: a load that holds SMs would hide them, so it asks for this before it begins.
 */
int seats_map(int device, int sm);
/*
 * Settles the seats of both agents on devices that cuda_use() has opened; -1: no such
 * agent on a GPU. Where both are on one GPU, and neither is ANY, it
 * measures the map (some 30 ms, once a point), if none is kept.
 * -ENODEV when there is no such SM, or no two halves are found and FAR was asked for.
 */
int seats_take(int issuer_gpu, int nic_gpu, int sm, int nic_sm, struct seat_map *map);

/* What a point's `sm` and `nic_sm` ask for, seats of agents on these GPUs (-1: of none). -EINVAL for
 * what can't be anywhere; -ENODEV for an SM that this machine's GPU doesn't have. m: NULL: not asked. */
int seats_resolve(const struct point *pt, const struct machine *m, int issuer_gpu, int nic_gpu, int *sm, int *nic_sm,
		  char *why, size_t len);
/* The SM that a point's `sm` means, for seats_map(); SEAT_ANY: none. */
int seats_sm(const struct point *pt);
/* What run.json says of the map. */
void seats_found(struct rows *out, const struct seat_map *map);

/*
 * Sorts SMs by what a ping-pong with them takes: those behind the widest gap are far, if
 * it is at least a tenth of the value before it. ns[n]; 0: not known, or the SM itself.
 * far[n] is set to 0 or 1; the number of far ones.
 */
uint32_t seats_split(const double *ns, uint32_t n, uint8_t *far);

#endif
