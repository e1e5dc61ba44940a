/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU's clocks. Marks are taken with the TSC where it is constant, nonstop
 * and in step with CLOCK_MONOTONIC_RAW; else with clock_gettime. On a CPU both
 * descend from the same crystal and, on x86, from the TSC itself: a plant that
 * is timed by one and stamped by the other is not independent to the last ppm.
 */
#ifndef FS_CLOCK_H
#define FS_CLOCK_H

#include <stdint.h>

enum cpu_clock_kind { CPU_CLOCK_TSC, CPU_CLOCK_GETTIME };

struct cpu_clock {
	enum cpu_clock_kind kind;
	char why[128];        /* why this kind */
	double ticks_per_ns;  /* measured against CLOCK_MONOTONIC_RAW */
	double rate_err;      /* relative, from residuals of the fit */
	double step_ns;       /* smallest difference between two reads that is not 0 */
	double read_ns;       /* what one mark costs */
};

/* Takes about 50 ms. 0, or -errno when no clock works. */
int cpu_clock_measure(struct cpu_clock *c);
/* CLOCK_MONOTONIC_RAW in ns. */
uint64_t mono_ns(void);
/* Wall time since the epoch in ns. */
uint64_t wall_ns(void);

/* A deadline: absolute CLOCK_MONOTONIC_RAW ns. */
static inline uint64_t deadline_in_s(double s) { return mono_ns() + (uint64_t)(s * 1e9); }
static inline int deadline_over(uint64_t d) { return mono_ns() >= d; }

/* What disturbed this thread: differences of two readings are meaningful. */
struct disturb {
	uint64_t steal_ticks;          /* all CPUs, /proc/stat, USER_HZ */
	uint64_t involuntary, voluntary; /* context switches of the process's threads */
};
void disturb_read(struct disturb *d);

#endif
