/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's management library says of the driver and of each GPU: clocks,
 * what holds them back, temperature, power, ECC, the PCIe link, MIG, BAR1. Read
 * only: nothing is set, nothing is reset, no CUDA context comes into being.
 *
 * (Not the toolkit's <nvml.h>, which nothing here includes.)
 */
#ifndef FS_NVML_H
#define FS_NVML_H

#include <jansson.h>

/* Loads libnvidia-ml.so.1, asks, unloads. New reference, always an object:
 * {"driver", "nvml", "cuda", "gpus": [...]}, or {"reason"} where there is no
 * library, no driver or no permission. What a GPU doesn't tell carries a reason
 * in its place. Units are in the names. */
json_t *nvml_json(void);

/* The same from a library that the caller has loaded: `symbol` finds its
 * functions (NULL: not there). */
json_t *nvml_gather(void *(*symbol)(void *lib, const char *name), void *lib);

#endif
