/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the kernels of contended messages share. */
#ifndef FS_CONTENDED_GPU_H
#define FS_CONTENDED_GPU_H

#include "stages/completion/contended.h"

/* In contended_trip_gpu.cu: the kernel of round trips, which takes all of a cont_trip_args. */
const void *cont_trip_kernel_of(struct cont_choice c);

#endif
