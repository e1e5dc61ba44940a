/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of a round trip's kernels share. */
#ifndef FS_RTT_GPU_H
#define FS_RTT_GPU_H

#include "stages/completion/rtt.h"

/* In rtt_hand_gpu.cu: the kernel of agents whose messages workers post, which takes all of an rtt_hand_args. */
const void *rtt_hand_kernel(struct rtt_choice c);

#endif
