/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned thread that serves until it is told to stop: what stands in for a
 * device on a CPU. Start and stop are bounded.
 */
#ifndef FS_SERVICE_H
#define FS_SERVICE_H

#include <stdint.h>

struct service;

/* What the calling thread has used so far: CPU time, and switches of its own accord and of
 * others'. Zeroes where the system doesn't say. */
struct thread_usage { uint64_t cpu_ns, waited, preempted; };
struct thread_usage thread_usage_now(void);

/* Nonzero when the thread should finish what it has and return. */
int service_stopping(const struct service *s);

/*
 * Runs fn(s, arg) on a new thread pinned to `cpu` (-1: anywhere); returns when
 * the thread runs, or after `patience_s`. `arg` must outlive service_stop.
 */
int service_start(struct service **s, const char *name, int cpu, void (*fn)(struct service *, void *),
		  void *arg, double patience_s);
/* Stops, joins, frees. -EBUSY when the thread would not end in time: then
 * it is left alone, and so must be its `arg`. */
int service_stop(struct service *s, double patience_s);

#endif
