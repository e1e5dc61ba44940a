/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the kernel says that a CPU runs. Nothing here changes a clock or a governor. */
#ifndef FS_FREQ_H
#define FS_FREQ_H

#define FS_SYS_CPU "/sys/devices/system/cpu"

/* mhz: NAN where it can't be told; `why` says then why, else it is "". */
struct freq { double mhz; char why[160]; };

/* Of cpufreq/scaling_cur_freq of a CPU below `root`: FS_SYS_CPU, or a test's own. */
void freq_read(const char *root, int cpu, struct freq *f);

#endif
