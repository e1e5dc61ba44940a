/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/freq.h"
#include "harness/sysfile.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void freq_read(const char *root, int cpu, struct freq *f)
{
	uint64_t khz = 0;
	int rc = sysfile_number(&khz, "%s/cpu%d/cpufreq/scaling_cur_freq", root, cpu);
	const char *error = rc && rc != -EINVAL ? strerror(-rc) : "";

	f->mhz = khz ? (double)khz / 1e3 : NAN;
	f->why[0] = '\0';
	/* some drivers say "<unknown>", or nought of a CPU that they can't ask */
	if (!khz)
		snprintf(f->why, sizeof(f->why), "the kernel tells no frequency of CPU %d: cpufreq/scaling_cur_freq%s%s", cpu,
			 *error ? ": " : " is not a number of kHz", error);
}
