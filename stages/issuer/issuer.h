/* SPDX-License-Identifier: Apache-2.0 */
/* Issuers: who runs the loop of post.h. */
#ifndef FS_ISSUER_H
#define FS_ISSUER_H

#include "stages/issuer/post.h"
#include "stages/issuer/staging.h"

/* Which of the specialised loops; with FLEX ordering and doorbell are a's. `staged`: of a GPU, with a copy before each
 * message (staging.h). */
struct issue_choice { int ord, mode, kind, cq, instr, staged; };

/* Makes the source of message m ready, in place of filling it. An error, with a reason, ends
 * the pass. */
struct issue_hook { int (*ready)(void *arg, uint64_t m); void *arg; };

/* Runs a pass to its end on the calling thread. `stage`: block * SINK_SLOTS
 * words. `staging`: with a->hooked each payload is copied before its message; NULL: none is, and
 * `hook` makes sources ready where a->hooked, else it isn't looked at. */
int issuer_cpu_run(const struct issue_args *a, struct issue_choice c, uint64_t *stage, const struct issue_hook *hook,
		   const struct issue_staging *staging);

/* Before the NIC's kernel is resident: loads the issuer's. */
int issuer_gpu_load(struct issue_choice c, int device);

/* The same on a GPU: launches and waits, at most patience_s. `device`; `staging`: where c.staged. -EIO CUDA
 * error, -ETIMEDOUT, with a reason. */
int issuer_gpu_run(const struct issue_args *a, struct issue_choice c, const struct issue_staging *staging, int device,
		   double patience_s);

#endif
