/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/crossing/ceiling.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* GT/s a lane, of generations 1 to 5; from 3 on 130 bits carry 128 (PCI Express Base
 * Specification 5.0, 4.2). Generation 6 has another framing, and no formula here. */
static const double lane_gt_s[] = { 0, 2.5, 5, 8, 16, 32 };
/*
 * Bytes of a packet beside its payload, from generation 3 on: framing and sequence
 * number 4, header 12 (a completion) or 16 (a write to a 64-bit address), LCRC 4 (the
 * same, 2.2 and 3.6.3). Before that framing and sequence number are 4 as well.
 */
enum { PACKET_WRITE = 4 + 16 + 4, PACKET_COMPLETION = 4 + 12 + 4 };

double ceiling_pcie(int gen, int width, int mps, int reading)
{
	double line, packet = reading ? PACKET_COMPLETION : PACKET_WRITE;

	if (gen < 1 || gen > 5 || width < 1)
		return NAN;
	line = lane_gt_s[gen] * width / 8 * (gen < 3 ? 8.0 / 10 : 128.0 / 130);
	return mps > 0 ? line * mps / (mps + packet) : line;
}

double ceiling_nvlink(int links, double mb_s)
{
	return links > 0 && mb_s > 0 ? links * mb_s / 1e3 : NAN;
}

double ceiling_memory(double mhz, int bus_bits)
{
	return mhz > 0 && bus_bits > 0 ? mhz * 1e6 * 2 * bus_bits / 8 / 1e9 : NAN;
}

int pci_mps(const unsigned char *config, size_t bytes)
{
	unsigned at = bytes >= 64 && config[6] & 0x10 ? config[0x34] & ~3u : 0; /* status: there is a list */

	for (int hops = 0; at >= 64 && at + 10 <= bytes && hops < 48; hops++) {
		if (config[at] == 0x10)
			return 128 << (config[at + 8] >> 5 & 7);
		at = config[at + 1] & ~3u;
	}
	return 0;
}

static double number(const json_t *gpu, const char *key)
{
	return json_number_value(json_object_get(gpu, key)); /* a reason in its place: 0 */
}

static void mps_of(const char *pci, struct ceiling_facts *f)
{
	unsigned char config[256];
	char path[128];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", pci);
	file = fopen(path, "re");
	if (file) {
		n = fread(config, 1, sizeof(config), file);
		fclose(file);
	}
	f->pcie_mps = pci_mps(config, n);
}

void ceiling_facts_of(const json_t *nvml, const char *pci, struct ceiling_facts *f)
{
	const json_t *gpus = json_object_get(nvml, "gpus"), *gpu = NULL;

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < json_array_size(gpus) && !gpu; i++) {
		const char *at = json_string_value(json_object_get(json_array_get(gpus, i), "pci"));

		if (at && !strcmp(at, pci))
			gpu = json_array_get(gpus, i);
	}
	if (!gpu)
		return;
	/* the generation falls while nothing moves; the width doesn't */
	f->pcie_gen = (int)number(gpu, "pcie_generation_max");
	f->pcie_width = (int)number(gpu, "pcie_width");
	f->nvlinks = (int)number(gpu, "nvlink_links");
	f->nvlink_mb_s = number(gpu, "nvlink_mb_s");
	f->mem_mhz = number(gpu, "clock_mem_max_mhz");
	f->mem_bus_bits = (int)number(gpu, "memory_bus_bits");
	mps_of(pci, f);
}
