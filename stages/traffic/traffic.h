/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic beside whatever is measured: any probe is a victim while it runs. A thread
 * of its own keeps pieces of work under way, copies or kernels of less than a
 * millisecond, so that nothing that waits for a device waits long; it waits by asking.
 * A level below 100 leaves gaps: after a piece as much rest as makes that share.
 */
#ifndef FS_TRAFFIC_H
#define FS_TRAFFIC_H

#include "harness/probe.h"

/* X(NAME, word, what goes on) */
#define FS_TRAFFICS(X) \
	X(NONE, "none", "nothing") \
	X(HOST, "host", "a CPU thread copies host memory") \
	X(H2D, "h2d", "the copy engine brings host memory to the GPU") \
	X(D2H, "d2h", "the copy engine brings the GPU's memory to the host") \
	X(BOTH, "both", "both at once") \
	X(SM_READ, "sm-read", "SMs of the GPU read host memory") \
	X(SM_WRITE, "sm-write", "SMs of the GPU write host memory") \
	X(HBM, "hbm", "SMs of the GPU copy its own memory") \
	X(PEER, "peer", "the copy engine brings the GPU's memory to another GPU")

enum traffic_kind {
#define X(NAME, word, help) TRAFFIC_##NAME,
	FS_TRAFFICS(X)
#undef X
	TRAFFICS
};

enum {
	TRAFFIC_PIECE = 8 << 20,  /* bytes of one copy: 0.15 ms over a PCIe 5 x16 */
	TRAFFIC_BLOCKS = 16,      /* SMs that a loading kernel takes: a path has room beside it */
	TRAFFIC_AHEAD = 2,        /* pieces under way */
};

extern const struct probe_beside traffic_beside;

/* ---- on GPUs: traffic_cuda.c, traffic_gpu.cu ---- */

struct traffic_gpu;
/* Buffers and streams, before anything runs; `peer`: the other GPU, -1: none. */
int traffic_gpu_open(struct traffic_gpu **l, int kind, int device, int peer);
/* Enqueues a piece in slot k of TRAFFIC_AHEAD; returns its bytes, or -errno. Of a thread that
 * has called traffic_gpu_here(). */
long traffic_gpu_piece(struct traffic_gpu *l, int k);
/* 1: the slot's piece is done; 0: not yet; -errno. */
int traffic_gpu_done(struct traffic_gpu *l, int k);
int traffic_gpu_here(struct traffic_gpu *l);
void traffic_gpu_close(struct traffic_gpu *l);
/* A kernel over TRAFFIC_PIECE bytes on a stream; kinds SM_READ, SM_WRITE, HBM. */
int traffic_gpu_kernel(int kind, void *dst, const void *src, void *stream);

#endif
