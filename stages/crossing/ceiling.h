/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a link could carry at most, by what the machine says of it. Computed, not
 * measured; docs/method.md has the formulas. Bytes a second in GB/s (1e9). NAN where
 * something that is needed isn't told: then there is no number.
 */
#ifndef FS_CEILING_H
#define FS_CEILING_H

#include "harness/rows.h"
#include <jansson.h>

/* What is needed of a GPU; 0: not told. */
struct ceiling_facts {
	int pcie_gen, pcie_width, pcie_mps;
	int nvlinks;             /* that are active */
	double nvlink_mb_s;      /* of one of them, each way */
	double mem_mhz;          /* of its memory's clock, at most */
	int mem_bus_bits;
};

/* From NVML's JSON (harness/nvml.h) and sysfs, of the GPU at a PCI address. */
void ceiling_facts_of(const json_t *nvml, const char *pci, struct ceiling_facts *f);

/* Payload one way over PCIe. `reading`: it comes as completions, else as posted writes. */
double ceiling_pcie(int gen, int width, int mps, int reading);
double ceiling_nvlink(int links, double mb_s);
/* Two transfers a clock (DDR, HBM). */
double ceiling_memory(double mhz, int bus_bits);

/*
 * The max payload size that a function's PCI configuration space sets (PCI Express
 * Base Specification, capability 10h, Device Control bits 7:5); 0: not in it. The first
 * 64 bytes are what a user may read: then it isn't.
 */
int pci_mps(const unsigned char *config, size_t bytes);

#endif
