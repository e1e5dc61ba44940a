/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is started, for both sides (HD): it stamps its first instruction and rings its
 * first doorbell with that stamp. Kernels and their launches are in launch_gpu.cu.
 */
#ifndef FS_LAUNCH_H
#define FS_LAUNCH_H

#include "stages/place/offset.h"

/* X(NAME, word, what it is) */
#define FS_STARTS(X) \
	X(STREAM, "stream", "a kernel launched into a stream") \
	X(GRAPH, "graph", "a graph of one kernel, launched into a stream") \
	X(FLAG, "flag", "a resident kernel or thread that polls a flag") \
	X(FUTEX, "futex", "a thread asleep in a futex")

enum start {
#define X(NAME, word, help) START_##NAME,
	FS_STARTS(X)
#undef X
	STARTS
};

struct launch_side {
	const uint64_t *flag;    /* counts starts; where flag_mem puts it */
	uint64_t *bell;          /* host memory: the stamp of the last first instruction */
	uint32_t first_ns, bell_ns; /* planted waits: before the stamp, and between it and the doorbell */
	int32_t gettime;
};

/* A real wait. On a GPU it is timed by the clock that stamps: there is no other whose
 * rate is known before the kernel has run for a while. */
HD void launch_wait(uint32_t ns)
{
	uint64_t t0 = wall_ticks_ns();

	while (wall_ticks_ns() - t0 < ns)
		;
}

/* From the first instruction to the doorbell. `planted` and `woken` are literals:
 * without a plant nothing stands before the stamp; what was woken by a flag has to
 * acquire before it may read what it is to send, as a launch does by itself. */
HD void launch_begin(const struct launch_side *s, const int planted, const int woken)
{
	uint64_t t;

	if (planted)
		launch_wait(s->first_ns);
	t = agent_now(s->gettime);
	if (woken)
		polled();
	if (planted)
		launch_wait(s->bell_ns);
	st64(s->bell, t);
}

/* A resident one, one look at its flag. */
HD int launch_woken(const struct launch_side *s, uint64_t *seen, const int planted)
{
	uint64_t v = ld64_poll(s->flag);

	if (v == *seen)
		return 0;
	*seen = v;
	launch_begin(s, planted, 1);
	return 1;
}

/* ---- on a GPU ---- */

struct launch_gpu;
/* Everything that may allocate or load, before anything is resident. `counts`: pinned
 * words 0, 1, 2, ..., from which a flag in GPU memory is copied. */
int launch_gpu_open(struct launch_gpu **out, const struct launch_side *s, const uint64_t *counts, int device);
void launch_gpu_close(struct launch_gpu *r);
/* Residents: the one that answers, the one that polls its flag. Bounded. After -EBUSY
 * the kernel may still run, and its words must stay. */
int launch_gpu_echo(struct launch_gpu *r, const struct echo *e, double patience_s);
int launch_gpu_reside(struct launch_gpu *r, double patience_s);
int launch_gpu_stop(struct launch_gpu *r, double patience_s);
/* The starts: nothing but the one call of the runtime. cudaError_t; 0: well. */
int launch_gpu_stream(struct launch_gpu *r);
int launch_gpu_graph(struct launch_gpu *r);
int launch_gpu_flag(struct launch_gpu *r, uint64_t count);
/* Has what was launched ended? 1, 0: not yet, < 0: it failed, by this cudaError_t. */
int launch_gpu_ended(struct launch_gpu *r);
/* Says in words what went wrong with a start or with what was started; -errno. */
int launch_gpu_why(int err);
/* Waits for what was launched, after an error. -EBUSY: it still runs. */
int launch_gpu_drain(struct launch_gpu *r, double patience_s);

#endif
