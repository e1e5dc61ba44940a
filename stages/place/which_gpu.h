/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPUs the words of a point mean, and whether a machine has them. Those that refuse return -ENODEV with
 * words in `why`, as fs_refuse() does.
 */
#ifndef FS_WHICH_GPU_H
#define FS_WHICH_GPU_H

#include "harness/machine.h"
#include "harness/var.h"
#include <stddef.h>

/* GPU g, which the variable `var` names, is one of a machine that has some. */
int gpu_named(const struct machine *m, const char *var, int g, char *why, size_t len);
/* The machine has GPUs, which `asked` ("issuer=gpu") needs, and g, which `gpu` names, is one; `otherwise`: what is legal
 * without any. */
int gpu_there(const struct machine *m, int g, const char *asked, const char *otherwise, char *why, size_t len);
/* The GPU that `nic_gpu` means beside `gpu`: that one, one that reaches it and is reached, or a number. It may be none
 * that `m` has. */
int gpu_of_nic(const struct point *pt, const struct machine *m);
/* The same into *g, on a machine that has GPUs: it has this one, and GPU `from` (-1: nobody asks) reaches its memory;
 * `legal`: what is said behind it if not. */
int gpu_of_nic_there(const struct point *pt, const struct machine *m, int from, const char *legal, int *g, char *why, size_t len);

#endif
