/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine has, as far as a plan depends on it. The parent never
 * touches CUDA: a scout child fills the GPU part and sends it as JSON.
 */
#ifndef FS_MACHINE_H
#define FS_MACHINE_H

#include <jansson.h>
#include <stdint.h>

#define FS_GPUS_MAX 16

struct machine_gpu {
	char name[96];
	char uuid[48];
	char pci[16];          /* domain:bus:device.function */
	int sms, cc_major, cc_minor;
	uint64_t bytes;
	uint32_t peers;        /* bit i: can reach GPU i's memory */
	uint32_t native_atomics;
	int host_native_atomics;
	int coherent;          /* a CPU can reach its memory by load and store */
};

struct machine {
	int ngpus;
	char gpu_reason[256];  /* why there are none, "" when there are */
	struct machine_gpu gpu[FS_GPUS_MAX];
	int driver, runtime;   /* CUDA versions, 13000 = 13.0; 0: none */
	int cpus;              /* that this process may run on */
};

/* The first GPU that g (0..ngpus - 1) reaches and that reaches g; g where there is none. */
int machine_far(const struct machine *m, int g);

json_t *machine_to_json(const struct machine *m);               /* new reference */
int machine_from_json(const json_t *j, struct machine *m);      /* -EINVAL */

/*
 * Host, kernel, CPU model, NUMA, memory, governor, driver versions, NVML facts
 * (clocks, throttle reasons, ECC, PCIe link) where NVML can be loaded, and the
 * environment by allow-list. New reference; parts that can't be read carry a
 * "reason". Called before and after a run.
 */
json_t *environment_json(void);

#endif
