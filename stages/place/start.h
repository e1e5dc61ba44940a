/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launching one kernel of one block, or of several, again and again, with one call of the runtime each: into
 * a stream, or as a graph that was uploaded before. All of it on the issuer's stream of a device that
 * cuda_use() has opened. Needs no CUDA header.
 */
#ifndef FS_START_H
#define FS_START_H

#include "stages/place/gpu.h"

struct starter {
	struct gpu *g;
	const void *fn;
	void *arg;               /* the kernel's one parameter; the caller's, as long as this is open */
	unsigned blocks, threads;
	void *graph, *exec;      /* cudaGraph_t, cudaGraphExec_t */
};

/* Loads the kernel and uploads its graph, before anything is resident. After an error too: start_close(). */
int start_open(struct starter *s, struct gpu *g, const void *fn, unsigned blocks, unsigned threads, void *arg);
void start_close(struct starter *s);
/* Makes the device the calling thread's: before its first launch. cudaError_t. */
int start_here(const struct starter *s);
/* Nothing but the one call of the runtime. cudaError_t; 0: well. */
int start_stream(struct starter *s);
int start_graph(struct starter *s);
/* Has what was launched ended? 1, 0: not yet, < 0: it failed, by this cudaError_t negated. */
int start_ended(const struct starter *s);
/* Says in words what went wrong with a launch or with what was launched; -errno. */
int start_why(int err, const char *what);
/* Waits for what was launched. -EBUSY: it still runs. */
int start_drain(const struct starter *s, double patience_s, const char *what);

/* What a launch answers that is refused on purpose: cudaErrorLaunchOutOfResources. */
enum { START_REFUSED = 701 };

#endif
