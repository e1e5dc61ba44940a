/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where objects live. A place is the host's memory (-1) or a GPU's (its index).
 * Host memory is pinned and mapped when a GPU takes part, plain otherwise.
 * Placement is asserted after every allocation: on a GPU from the pointer's
 * attributes, on the host from the page's NUMA node.
 */
#ifndef FS_PLACE_H
#define FS_PLACE_H

#include <stddef.h>
#include <stdint.h>

enum { PLACE_HOST = -1 };

struct buf {
	uint8_t *p;      /* aligned; a CPU may use it only when place is the host */
	void *raw;       /* what was allocated */
	size_t bytes;
	int place;
	int pinned;
	int kept;        /* belongs to the process */
};

/* Zeroed memory of at least `bytes`, aligned to `align` (a power of two).
 * `pinned`: host memory that GPUs reach. -ENOMEM, -ENODEV, -EFAULT (it is not
 * where it was asked for), with a reason. */
int place_alloc(struct buf *b, int place, size_t bytes, size_t align, int pinned);
/*
 * The same, and looked at before and after: -ENOMEM before anything is allocated
 * where the place has less than that free; host memory comes from NUMA node `node`
 * (-1: from where the calling thread's CPU is near); -EFAULT, with both places named,
 * when it isn't where it was asked for (pointer attributes; the nodes of its pages).
 */
int place_alloc_near(struct buf *b, int place, size_t bytes, size_t align, int pinned, int node);
/* The next place_alloc_near() puts its memory somewhere else than it was asked to:
 * it has to be found out. 0: no more. */
void place_plant(int wrong);
/* Bytes free at a place; 0: not known. */
uint64_t place_free_bytes(int place, int node);
/*
 * The same as place_alloc(), but kept for the life of the process and given out again when asked
 * for by the same name, place and kind: where a line lies decides which part of a
 * GPU's L2 serves it, and so what polling it costs. Points that are compared in
 * one process then use the very same lines. place_free() leaves it alone.
 */
int place_kept(struct buf *b, const char *name, int place, size_t bytes, size_t align, int pinned);
void place_free(struct buf *b);
/* Between a host buffer and wherever b lives; synchronous. -EIO with a reason. */
int place_write(const struct buf *b, size_t off, const void *src, size_t bytes);
int place_read(const struct buf *b, size_t off, void *dst, size_t bytes);
int place_set(const struct buf *b, int byte);
/* "host", "gpu 0": for messages. Returns buf. */
const char *place_name(int place, char *buf, size_t len);

/* ---- CUDA's part, in place_cuda.c; without CUDA every call is -ENODEV ---- */
struct machine;
int cuda_scout(struct machine *m);
/* Creates contexts, enables peer access between a and b (-1: none). */
int cuda_use(int a, int b);
int cuda_alloc(struct buf *b, int place, size_t bytes, size_t align, int pinned);
void cuda_free(struct buf *b);
/* -EFAULT, with both named, when b is not at `place` by its pointer's attributes. */
int cuda_assert(const struct buf *b, int place);
/* Free memory of a device that cuda_use() has opened. */
int cuda_free_bytes(int device, uint64_t *bytes);
int cuda_copy(void *dst, const void *src, size_t bytes);
int cuda_set(const struct buf *b, int byte);
/* From now on the runtime's next fitting call answers as if the device were out
 * of memory, in a sticky error, or gone: how the suite fails then is tested. Or the
 * stop word of a resident kernel is set before it begins: it does what is there and
 * ends, so that it can be tested alone. */
enum cuda_injection { INJECT_NONE, INJECT_MEMORY, INJECT_STICKY, INJECT_LOST, INJECT_STOPPED };
void cuda_inject(enum cuda_injection what);

#endif
