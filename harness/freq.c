/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/freq.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void freq_read(const char *root, int cpu, struct freq *f)
{
	char path[512], text[32], *end;
	unsigned long khz;
	FILE *file;

	f->mhz = NAN;
	f->why[0] = '\0';
	snprintf(path, sizeof(path), "%s/cpu%d/cpufreq/scaling_cur_freq", root, cpu);
	file = fopen(path, "re");
	if (!file) {
		snprintf(f->why, sizeof(f->why), "the kernel tells no frequency of CPU %d: cpufreq/scaling_cur_freq: %s", cpu, strerror(errno));
		return;
	}
	if (fgets(text, sizeof(text), file)) {
		errno = 0;
		khz = strtoul(text, &end, 10);
		/* some drivers say "<unknown>", or nought of a CPU that they can't ask */
		if (end != text && (!*end || *end == '\n') && khz && !errno)
			f->mhz = (double)khz / 1e3;
	}
	fclose(file);
	if (isnan(f->mhz))
		snprintf(f->why, sizeof(f->why), "the kernel tells no frequency of CPU %d: cpufreq/scaling_cur_freq is not a number of kHz", cpu);
}
