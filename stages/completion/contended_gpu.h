/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the kernels of contended messages share. */
#ifndef FS_CONTENDED_GPU_H
#define FS_CONTENDED_GPU_H

#include "stages/completion/contended.h"

/* In contended_trip_gpu.cu: the kernel of round trips, which takes all of a cont_trip_args. */
const void *cont_trip_kernel_of(struct cont_choice c);
/* In contended_hand_gpu.cu: the kernel of agents whose messages workers post, which takes a cont_trip_args and a cont_hands. */
const void *cont_hand_kernel_of(struct cont_choice c);

#endif
