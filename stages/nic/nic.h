/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NICs: all show one queue (stages/queue/wqe.h). They differ in where its
 * objects live and who watches the doorbell. A NIC is a row of the table in
 * nic.c; what is not built in keeps its row, with the reason.
 */
#ifndef FS_NIC_H
#define FS_NIC_H

#include "stages/nic/engine.h"
#include "stages/nic/wide.h"

struct nic_run;

/* What a NIC is told for one pass. Pointers are valid where the watcher runs. */
struct nic_pass {
	struct engine eng;    /* its `sink` is set by the NIC, to its own copy of the next */
	struct sink_conf sink;
	int usual;            /* enum engine_usual: what most messages are */
	int instr;            /* BARE, ALL or FLEX */
	int gpu;              /* device that a kernel runs on */
	int cpu;              /* CPU that a thread runs on */
	int crowded;          /* others that it waits for run there too */
	double start_s, stop_s; /* patience for becoming ready, for stopping */
};

/* The same for many queues at once: workers that serve them in turn, without marks. */
struct nic_many {
	struct wide wide;     /* .workers of them */
	int gpu;              /* device that a kernel runs on: a block a worker */
	int cpus[WIDE_WORKERS_MAX]; /* CPUs that threads run on, one each */
	int gettime;          /* CPU workers stamp with clock_gettime */
	int crowded;          /* more threads than CPUs */
	double start_s, stop_s;
};

/* Entries of its translation cache; 0: none. */
static inline uint32_t nic_cache_entries(const struct nic_pass *p)
{
	return p->usual == USUAL_CACHED ? p->eng.cache_mask + 1 : 0;
}

struct nic {
	const char *name;
	const char *watcher;  /* who watches the doorbell */
	const char *purpose;
	const char *absent;   /* why it can't be used in this build; NULL: it can */
	int on_gpu;           /* its agent is a kernel: its home is a GPU's memory */
	int completes;        /* it works on messages and writes CQEs */
	int emulated;         /* its spans are a stand-in's, not a device's */
	/* Ready to see doorbells when it returns 0. */
	int (*start)(const struct nic_pass *p, struct nic_run **run);
	/* Stops and gives what it counted; bounded; frees the run. -EBUSY
	 * when it would not stop. */
	int (*stop)(struct nic_run *run, struct engine_status *st);
	/* The same with many queues; st[workers]. NULL: it doesn't watch any. */
	int (*start_many)(const struct nic_many *p, struct nic_run **run);
	int (*stop_many)(struct nic_run *run, struct wide_status *st);
};

int soft_start_many(const struct nic_many *p, struct nic_run **run);
int soft_stop_many(struct nic_run *run, struct wide_status *st);
int peer_start_many(const struct nic_many *p, struct nic_run **run);
int peer_stop_many(struct nic_run *run, struct wide_status *st);

/* X(name): every NIC. The words of variable `nic` and the table follow it. */
#define FS_NICS(X) X(null) X(soft) X(peer)

#define X(name) extern const struct nic nic_##name;
FS_NICS(X)
#undef X
extern const struct nic *const nics[]; /* ends with NULL */

/* Of the row of nic_peer, which is there with and without CUDA. */
#define NIC_PEER_WORDS \
	.name = "peer", \
	.watcher = "a persistent kernel", \
	.purpose = "on another GPU, or on other SMs of the same one: crossings over NVLink and PCIe", \
	.on_gpu = 1, \
	.completes = 1, \
	.emulated = 1

#endif
