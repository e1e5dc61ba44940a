/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the kernels of contended messages share. */
#ifndef FS_CONTENDED_GPU_H
#define FS_CONTENDED_GPU_H

#include "stages/completion/contended.h"

/* In contended_trip_gpu.cu: the kernel of round trips, which takes all of a cont_trip_args. */
const void *cont_trip_kernel_of(struct cont_choice c);
/* In contended_hand_gpu.cu: the kernel of agents whose messages workers post, which takes a cont_trip_args and a cont_hands. */
const void *cont_hand_kernel_of(struct cont_choice c);

/* In contended_far_gpu.cu: the others on another GPU. All of these do nothing where none is there. */
int cont_far_load(struct cont_choice c);
/* Before the timed one's grid, which they wait for. */
int cont_far_launch(const struct cont_trip_args *h, struct cont_choice c);
/* When the timed one has ended, or (rc) could not or would not; -EBUSY: one of the others would not end. */
int cont_far_end(const struct cont_trip_args *h, struct cont_choice c, int rc);

#endif
