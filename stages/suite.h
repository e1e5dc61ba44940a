/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bench/ asks of the suite besides the tables of variables, probes, marks
 * and stages: which GPUs there are, which NICs, and what this build lacks.
 */
#ifndef FS_SUITE_H
#define FS_SUITE_H

#include "harness/machine.h"
#include <jansson.h>

/*
 * Fills the GPU part of *m, and `cpus`. Runs in a child, since it initialises
 * CUDA. 0 also without a GPU (gpu_reason then says why); -errno when even that
 * could not be found out.
 */
int suite_scout(struct machine *m);

/* Adds to the object `out`, for everything that is not built in: name → why. */
void suite_not_built(json_t *out);

/* Row i of the NICs, for `list nics`; 0 behind the last one. `absent` says why a
 * NIC is not built in, or is NULL when it is. `on_gpu`: its agent is a kernel. */
struct suite_nic { const char *name, *watcher, *purpose, *absent; int on_gpu; };
int suite_nic(int i, struct suite_nic *row);

/*
 * GPU memory for another process, which this one keeps until it ends: { "handle": 128 hex digits }.
 * NULL, with a reason: there is none. A new reference.
 */
json_t *suite_lend(int device, size_t bytes);

/* ---- for probes, in the child that measures ---- */

struct cpu_clock;
/* The machine and the CPU's clock, found out once a process. */
const struct machine *suite_machine(void);
const struct cpu_clock *suite_cpu_clock(void);

#endif
