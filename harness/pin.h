/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and memory near what they serve, through hwloc where it is built in
 * (pin.c is the one file that includes it), else through sched_setaffinity.
 * A container may allow fewer CPUs than the machine has: only allowed ones count.
 */
#ifndef FS_PIN_H
#define FS_PIN_H

#include <jansson.h>
#include <stddef.h>

/* How many CPUs this process may use, and the k-th of them in an order that
 * spreads over physical cores first (no two threads of a core while cores are
 * free). -EINVAL if k is out of range. */
int pin_cpus(void);
int pin_cpu(int k);
/* The same order, but starting with the CPUs closest to a PCI device
 * ("0000:1b:00.0"); falls back to pin_cpu(k) and says so in *near (0/1). */
int pin_cpu_near(const char *pci, int k, int *near);
/* May this process run on it? 1 or 0. */
int pin_may(int cpu);
/* Pins the calling thread; -errno with a reason. */
int pin_self(int cpu);
/* How many threads have pinned themselves to a CPU since pin_watch() was called last (from the start, before): one
 * that did so twice is one. A thread that has ended still counts. */
void pin_watch(void);
int pin_threads(int cpu);
/* NUMA node of a CPU, or of the page at p; -1 unknown. */
int pin_node_of_cpu(int cpu);
int pin_node_of_page(const void *p);
/* Is n in a list as sysfs writes them, "0-3,8,10-11"? */
int pin_in_list(const char *list, int n);
/* Topology summary for run.json: packages, cores, PUs, NUMA nodes, allowed
 * CPUs, PCI devices of interest. New reference. */
json_t *pin_topology_json(void);

#endif
