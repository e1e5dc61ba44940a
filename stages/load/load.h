/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic beside whatever is measured: any probe is a victim while it runs. A thread
 * of its own keeps pieces of work under way, copies or kernels of less than a
 * millisecond, so that nothing that waits for a device waits long; it waits by asking.
 * A level below 100 leaves gaps: after a piece as much rest as makes that share.
 */
#ifndef FS_LOAD_H
#define FS_LOAD_H

#include "harness/probe.h"

/* X(NAME, word, what goes on) */
#define FS_LOADS(X) \
	X(NONE, "none", "nothing") \
	X(HOST, "host", "a CPU thread copies host memory") \
	X(H2D, "h2d", "the copy engine brings host memory to the GPU") \
	X(D2H, "d2h", "the copy engine brings the GPU's memory to the host") \
	X(BOTH, "both", "both at once") \
	X(SM_READ, "sm-read", "SMs of the GPU read host memory") \
	X(SM_WRITE, "sm-write", "SMs of the GPU write host memory") \
	X(HBM, "hbm", "SMs of the GPU copy its own memory") \
	X(PEER, "peer", "the copy engine brings the GPU's memory to another GPU")

enum load_kind {
#define X(NAME, word, help) LOAD_##NAME,
	FS_LOADS(X)
#undef X
	LOADS
};

enum {
	LOAD_PIECE = 8 << 20,  /* bytes of one copy: 0.15 ms over a PCIe 5 x16 */
	LOAD_BLOCKS = 16,      /* SMs that a loading kernel takes: a path has room beside it */
	LOAD_AHEAD = 2,        /* pieces under way */
};

extern const struct probe_beside load_beside;

/* ---- on GPUs: load_cuda.c, load_gpu.cu ---- */

struct load_gpu;
/* Buffers and streams, before anything runs; `peer`: the other GPU, -1: none. */
int load_gpu_open(struct load_gpu **l, int kind, int device, int peer);
/* Enqueues a piece in slot k of LOAD_AHEAD; returns its bytes, or -errno. Of a thread that
 * has called load_gpu_here(). */
long load_gpu_piece(struct load_gpu *l, int k);
/* 1: the slot's piece is done; 0: not yet; -errno. */
int load_gpu_done(struct load_gpu *l, int k);
int load_gpu_here(struct load_gpu *l);
void load_gpu_close(struct load_gpu *l);
/* A kernel over LOAD_PIECE bytes on a stream; kinds SM_READ, SM_WRITE, HBM. */
int load_gpu_kernel(int kind, void *dst, const void *src, void *stream);

#endif
