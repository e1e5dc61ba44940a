/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways in which memory becomes something that a device may use, each with its inverse. A
 * mechanism prepares what it needs (open, not timed), is applied and undone as often as is
 * asked (make and undo, timed each), says after the first time whether it really
 * happened (verify, not timed), and puts everything back (close, also after an error).
 * All return 0 or -errno with a reason; open may return 1: this machine lacks it, and
 * reg.why says what.
 */
#ifndef FS_REGISTER_H
#define FS_REGISTER_H

#include "stages/place/pages.h"

/* X(NAME, word): in the order of the words of the variable `mechanism`. */
#define FS_MECHANISMS(X) \
	X(POPULATE, "populate") X(MLOCK, "mlock") \
	X(CUDA_MALLOC, "cuda-malloc") X(CU_MEM, "cu-mem") X(HOST_ALLOC, "host-alloc") \
	X(HOST_REGISTER, "host-register") X(DMA_BUF, "dma-buf") X(CUDA_IPC, "cuda-ipc") \
	X(REG_MR, "reg-mr") X(REG_DMABUF_MR, "reg-dmabuf-mr") X(PEERMEM, "peermem") X(ODP, "odp")

enum mechanism_word {
#define X(NAME, word) MECH_##NAME,
	FS_MECHANISMS(X)
#undef X
	MECHANISMS
};

struct reg {
	size_t bytes;
	int device;           /* -1: none takes part */
	struct pages host;    /* by open, for those that work on host pages; its `page` is set before */
	void *p;              /* of make, or of open */
	uint64_t handle, size;
	int fd;
	char why[200];
	const char *unasked;  /* of verify: who can't be asked here; NULL: it was seen */
};

struct mech_ops {
	int (*open)(struct reg *r);
	int (*make)(struct reg *r);
	int (*undo)(struct reg *r);
	int (*verify)(struct reg *r);
	void (*close)(struct reg *r);
};

/* register_cuda.c; without CUDA every call is -ENODEV. */
extern const struct mech_ops mech_cuda_malloc, mech_cu_mem, mech_host_alloc, mech_host_register, mech_dma_buf;

/*
 * GPU memory that another process owns (register_ipc.c). A child of this process allocates it and tells its
 * handle (suite_lend); register_cuda.c opens and closes that, and makes it.
 */
extern const struct mech_ops mech_cuda_ipc;
enum { IPC_HANDLE = 64 };  /* bytes: cudaIpcMemHandle_t */
int ipc_use(struct reg *r);
int ipc_map(const unsigned char handle[IPC_HANDLE], void **p);
int ipc_unmap(void *p);
/* 0: the owner's memory, as it was filled; of `bytes`, on that device. */
int ipc_look(const void *p, int device, size_t bytes);
/* Of the owner: kept until its process ends. */
int ipc_own(int device, size_t bytes, unsigned char handle[IPC_HANDLE]);

/* The mechanism by that word, if what it does is to register memory that is there; else NULL,
 * with the words that would be legal. */
const struct mech_ops *mech_registers(int word, const char **legal);
int mech_needs_gpu(int word);
int mech_locks(int word);

/* For open and close of those that work on populated host pages. */
int reg_host_open(struct reg *r);
void reg_host_close(struct reg *r);

#endif
