/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels of the suite need of a device, made once a process by cuda_use()
 * before anything is resident: non-blocking streams, a stop word in the
 * device's memory, a ready word that the host sees. While a kernel is resident
 * nothing here allocates, frees or synchronises a device. Needs no CUDA header.
 */
#ifndef FS_GPU_H
#define FS_GPU_H

#include <stddef.h>
#include <stdint.h>

struct gpu {
	int device;
	void *nic_stream, *issue_stream, *side_stream; /* cudaStream_t */
	uint32_t *stop;    /* device memory; 1: finish and return */
	uint32_t *ready;   /* pinned host memory; the kernel stores 1 */
	uint32_t *one;     /* pinned host memory, holds 1 */
	uint32_t *claims;  /* device memory: the issuer's and the NIC's last tickets */
	uint32_t *taken;   /* pinned host memory: the same, when a block has its seat */
	uint32_t ticket;
	int issue_sm, nic_sm; /* SMs of one-block agents; -1: any (seats_take()) */
};

/* A launch's claim to an SM, the last parameter of a kernel that has a seat (seat.cuh). */
struct seat {
	int32_t sm;        /* -1: any */
	uint32_t ticket;
	uint32_t *claim, *taken;
};

/* NULL when cuda_use() was not called for it. Makes it the current device. */
struct gpu *gpu_of(int device);

/* Says a CUDA error in words: "WHAT: name (text)"; returns -ENOMEM, -ENODEV or
 * -EIO. `err` is a cudaError_t; 0 gives 0. */
int gpu_error(int err, const char *what);

/* Loads a kernel before anything resident runs (under CUDA_MODULE_LOADING=LAZY a
 * first launch would wait for it). */
int gpu_load(struct gpu *g, const void *fn, const char *what);
/* Launches fn<<<1, threads, shared>>>(args...) on a stream of g, after checking that
 * a block of it fits beside what is resident. */
int gpu_launch(struct gpu *g, const void *fn, unsigned threads, void **args, size_t shared, void *stream, const char *what);
/* The same on the SM of a seat: blocks enough that one of them comes there. The kernel's
 * head is seat_taken(), and `args` ends with the seat. */
int gpu_launch_seat(struct gpu *g, const void *fn, unsigned threads, void **args, size_t shared, void *stream,
		    const struct seat *seat, const char *what);
/* Of the issuer's and of the NIC's next launch. */
struct seat gpu_issue_seat(struct gpu *g);
struct seat gpu_nic_seat(struct gpu *g);
/* After the kernel's end: did a block come to its seat? -EBUSY if none did. */
int gpu_seated(const struct seat *seat, const char *what);
/* The same with `blocks` blocks, which all have to be resident at once, beside `beside`
 * SMs that others hold: -ENOSPC, with how many would fit. */
int gpu_launch_grid(struct gpu *g, const void *fn, unsigned blocks, unsigned threads, unsigned beside, void **args,
		    size_t shared, void *stream, const char *what);

/* Before a persistent kernel: both words 0. After its launch: waits for ready. */
int gpu_resident_prepare(struct gpu *g);
int gpu_resident_ready(struct gpu *g, double patience_s, const char *what);
/* Makes a word of g's memory 1 (its other bytes are 0), whatever runs there. */
int gpu_raise(struct gpu *g, void *word, const char *what);
/* Stores the stop word and waits for the stream to end. */
int gpu_resident_stop(struct gpu *g, double patience_s, const char *what);
/* Waits for a stream by asking, with a deadline; now: without a pause between. */
int gpu_wait(void *stream, double patience_s, const char *what);
int gpu_wait_now(void *stream, double patience_s, const char *what);

/* Puts the process's context into a real sticky error: a kernel that traps. */
int gpu_trap(struct gpu *g);

#endif
