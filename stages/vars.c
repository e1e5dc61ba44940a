/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables: one row each. Command line, config files, CSV columns, `list`
 * and the table of README.md derive from these rows; the code that reads a
 * variable names it, and its probe lists it.
 */
#include "harness/var.h"
#include "stages/completion/quiet.h"
#include "stages/issue/fence.h"
#include "stages/issue/launch.h"
#include "stages/traffic/traffic.h"
#include "stages/nic/nic.h"
#include "stages/queue/queue.h"
#include "stages/queue/share.h"
#include "stages/translation/register.h"
#include "stages/vars.h"

/* words of a list macro, joined by '|' */
#define WORD3(NAME, word, help) "|" word
#define MARK4(NAME, name, agent, moment) "|" #name
#define FAULT2(NAME, word) "|" word
#define MECH2(NAME, word) "|" word
#define NIC1(name) "|" #name
/* drops the leading '|' */
#define JOIN(s) (&(s)[1])

#define NUMBERS(lo_, hi_) .lo = (lo_), .hi = (hi_)
#define NO_NUMBERS .lo = 1, .hi = 0

const struct var fs_vars[] = {
	{ .name = "metric", .unit = "", .words = "latency|rate", NO_NUMBERS, .def = "latency",
	  .help = "one message at a time through every mark, or messages a second with many under way" },
	{ .name = "nic", .unit = "", .words = JOIN("" FS_NICS(NIC1)), NO_NUMBERS, .def = "soft",
	  .help = "who watches the doorbell: nobody, a CPU thread, or a kernel on other SMs or another GPU" },
	{ .name = "issuer", .unit = "", .words = "gpu|cpu", NO_NUMBERS, .def = "gpu",
	  .help = "who decides to send: a GPU thread, or a CPU thread in its place with the same code" },
	{ .name = "submitter", .unit = "", .words = "gpu", NO_NUMBERS, .def = "gpu",
	  .help = "who posts and rings: the issuer itself" },
	{ .name = "op", .unit = "", .words = "write|read|nop", NO_NUMBERS, .def = "write",
	  .help = "operation; nop moves no payload" },
	{ .name = "size", .unit = "B", NUMBERS(0, 1ll << 36), .def = "8",
	  .help = "payload of a message (path, floor: at most 16777216), or bytes of one transfer" },
	{ .name = "payload", .unit = "", .words = "auto|inline|pointer", NO_NUMBERS, .def = "auto",
	  .help = "inside the WQE (a write of at most 28 B, or of 92 B with a second basic block) or fetched from src_mem; auto: inline where it fits in the first block" },
	{ .name = "gpu", .unit = "", NUMBERS(0, 15), .def = "0",
	  .help = "the issuer's GPU" },
	{ .name = "nic_gpu", .unit = "", .words = "auto|gpu", NUMBERS(0, 15), .def = "auto",
	  .help = "GPU that nic=peer runs on, and that `peer` means where memory is placed; gpu: other SMs of the issuer's; auto: another GPU that both reach, else gpu" },
	{ .name = "ordering", .unit = "", .words = JOIN("" FS_ORDERINGS(WORD3)), NO_NUMBERS, .def = "gpu-fence",
	  .help = "what stands before the doorbell record and before the doorbell" },
	{ .name = "doorbell", .unit = "", .words = JOIN("" FS_DOORBELLS(WORD3)), NO_NUMBERS, .def = "record-ring",
	  .help = "which stores announce a WQE, in which order" },
	{ .name = "depth", .unit = "", NUMBERS(1, 65536 / 2), .def = "1",
	  .help = "messages that may be under way" },
	{ .name = "batch", .unit = "", NUMBERS(1, 1024), .def = "1",
	  .help = "WQEs built for one doorbell" },
	{ .name = "signal", .unit = "", NUMBERS(1, 1024), .def = "1",
	  .help = "of so many messages the last asks for a completion; in path above 1 for a rate without marks" },
	{ .name = "sharing", .unit = "", .words = JOIN("" FS_SHARINGS(WORD3)), NO_NUMBERS, .def = "exclusive",
	  .help = "who works on a queue: one thread; a warp's lanes together; threads of a block or of the whole GPU, handing off in turn; or those with a lock" },
	{ .name = "threads", .unit = "", .words = "auto", NUMBERS(1, 1024), .def = "auto",
	  .help = "threads of a block; on a CPU threads and blocks are multiplied; auto: 1, or a warp where it works together; 512 for a bandwidth by SMs" },
	{ .name = "blocks", .unit = "", .words = "auto", NUMBERS(1, 1024), .def = "auto",
	  .help = "blocks of threads; auto: 1; for a bandwidth one for each SM, or for each CPU" },
	{ .name = "queues", .unit = "", .words = "auto", NUMBERS(1, WIDE_QUEUES_MAX), .def = "auto",
	  .help = "queues that messages go to; auto: one for each that works alone, or one that is shared" },
	{ .name = "scope", .unit = "", .words = JOIN("" FS_QUIET_SCOPES(WORD3)), NO_NUMBERS, .def = "own",
	  .help = "what has to be done before a message counts as noticed: the queue that it went to, or every queue" },
	{ .name = "nic_workers", .unit = "", .words = "auto", NUMBERS(1, WIDE_WORKERS_MAX), .def = "auto",
	  .help = "SMs or CPU threads of a NIC with many queues; auto: as many as queues, at most 32 SMs or a quarter of the CPUs" },
	{ .name = "cq", .unit = "", .words = "ring|collapsed", NO_NUMBERS, .def = "ring",
	  .help = "completions in a ring, or one entry that the NIC overwrites and whose counter speaks for all before it" },
	{ .name = "fresh", .unit = "B", NUMBERS(0, 64 << 10), .def = "0",
	  .help = "bytes that the issuer writes to its own memory right before it decides to send: on a quiet SM a fence has nothing to wait for" },
	{ .name = "entries", .unit = "", NUMBERS(4, 65536 / 2), .def = "1024", .pow2 = 1,
	  .help = "basic blocks of the work queue, of which a message takes one or two, and entries of the completion queue" },
	{ .name = "queue_mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where the WQEs and the doorbell record live; auto: with the issuer, or on the host where a CPU touches them" },
	{ .name = "db_mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where the doorbell lives; auto: with the NIC" },
	{ .name = "cq_mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where the completion queue lives; auto: with the issuer" },
	{ .name = "src_mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where a payload is read from; auto: with the issuer for a write, with the NIC for a read; of a bandwidth: with the mover" },
	{ .name = "dst_mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where a payload is written to; auto: with the NIC for a write, with the issuer for a read; of a bandwidth: with the mover" },
	{ .name = "mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where the memory lives that a probe touches; auto: the issuer's own (store: the observer's)" },
	{ .name = "numa", .unit = "", .words = "auto", NUMBERS(0, 1023), .def = "auto",
	  .help = "NUMA node of that memory, where it is the host's; auto: near the issuer" },
	{ .name = "set", .unit = "B", .words = "auto", NUMBERS(4096, 1ll << 42), .def = "auto",
	  .help = "bytes of the working set; auto: 32 MiB for load; for tlb most of what is free on a GPU, 1 GiB of host memory" },
	{ .name = "stride", .unit = "B", NUMBERS(8, 1 << 30), .def = "128", .pow2 = 1,
	  .help = "from one line of the working set to the next" },
	{ .name = "host_page", .unit = "", .words = "auto|4k|2m", NO_NUMBERS, .def = "auto",
	  .help = "pages of host memory that a probe touches: small ones, kept small, or huge ones; auto: 4k" },
	{ .name = "mechanism", .unit = "", .words = JOIN("" FS_MECHANISMS(MECH2)), NO_NUMBERS, .def = "populate",
	  .help = "how memory is given to a device, and taken back" },
	{ .name = "bytes", .unit = "B", NUMBERS(4096, 1ll << 42), .def = "1048576",
	  .help = "memory that is given and taken back at a time" },
	{ .name = "store_fence", .unit = "", .words = AFTER_WORDS, NO_NUMBERS, .def = "none",
	  .help = "what follows each store of probe store; a CPU knows no scopes" },
	{ .name = "atomic_scope", .unit = "", .words = SCOPE_WORDS, NO_NUMBERS, .def = "sys",
	  .help = "scope of an atomic; a CPU has one" },
	{ .name = "mover", .unit = "", .words = MOVER_WORDS, NO_NUMBERS, .def = "sm",
	  .help = "who moves bytes: GPU threads, a GPU's copy engine, or CPU threads" },
	{ .name = "dir", .unit = "", .words = DIR_WORDS, NO_NUMBERS, .def = "copy",
	  .help = "loads alone from src_mem, stores alone to dst_mem, or a copy from one to the other" },
	{ .name = "ways", .unit = "", .words = WAYS_WORDS, NO_NUMBERS, .def = "one",
	  .help = "a copy alone, or another one back at the same time" },
	{ .name = "segment", .unit = "B", NUMBERS(64, 16 << 20), .def = "4096", .pow2 = 1,
	  .help = "bytes of one DMA of the software NICs" },
	{ .name = "page", .unit = "", .words = "4k|64k|2m", NO_NUMBERS, .def = "4k",
	  .help = "page size of the keys of the software NICs" },
	{ .name = "recover_every", .unit = "", NUMBERS(0, 1 << 20), .def = "0",
	  .help = "every so many doorbells the NIC reads the record instead, as hardware does in recovery; 0: never" },
	{ .name = "fault", .unit = "", .words = JOIN("" FS_FAULTS(FAULT2)), NO_NUMBERS, .def = "none",
	  .help = "what goes wrong in the middle of the measured messages" },
	{ .name = "check", .unit = "", .words = "auto|each|end|none", NO_NUMBERS, .def = "auto",
	  .help = "payload checks: each message as soon as it is noticed, all at the end, or none; auto: each for latency; for a rate end where every message has a slot of its own, else none" },
	{ .name = "lines", .unit = "", NUMBERS(1, 64), .def = "1",
	  .help = "lines of memory that the doorbell and the NIC's tables take in turn, with a share of the messages each: how far a line is from its users depends on where it happens to lie; of quiet: queues, and workers of the NIC" },
	{ .name = "fence", .unit = "", .words = JOIN("" FS_FENCES(WORD3)), NO_NUMBERS, .def = "none",
	  .help = "what stands before the store of probe fence; sfence, mfence and lock are a CPU's, store-release-sys and none both sides', the others a GPU's" },
	{ .name = "outstanding", .unit = "", NUMBERS(0, 64), .def = "4",
	  .help = "stores of 16 B under way when a fence begins; a WQE has up to four" },
	{ .name = "start", .unit = "", .words = JOIN("" FS_STARTS(WORD3)), NO_NUMBERS, .def = "flag",
	  .help = "what starts what sends: a launch into a stream, of a graph, a flag that something resident polls, or a futex that a thread sleeps in" },
	{ .name = "flag_mem", .unit = "", .words = PLACE_WORDS, NO_NUMBERS, .def = "auto",
	  .help = "where the flag of start=flag lives; auto: on the host; gpu: the CPU has it copied there" },
	{ .name = "messages", .unit = "", .words = "auto", NUMBERS(1, 100000000), .def = "auto",
	  .help = "measured messages, loads, stores or atomics, or samples of a bandwidth; auto: 10,000 (100,000 for a rate), fewer above 64 KiB; 102,400 loads, stores and atomics, 20 samples" },
	{ .name = "warmup", .unit = "", .words = "auto", NUMBERS(0, 1000000), .def = "auto",
	  .help = "messages before, at least (loads: once round the working set, at most 524,288; samples: 2); on a GPU the clock's rate has to settle besides" },
	{ .name = "marks", .unit = "", .words = "all|outer|rotate", NO_NUMBERS, .def = "all",
	  .help = "which marks are taken: all, intent and noticed alone by the bare code, or one pair a message in turn" },
	{ .name = "plant", .unit = "ns", .words = "none", .pairs = JOIN("" FS_MARKS(MARK4)), NUMBERS(1, 10000000), .def = "none",
	  .help = "a real wait before a mark, of so many ns; of launch: before the first instruction (intent) or the doorbell (rung) of what is started" },
	{ .name = "untold", .unit = "ns", .words = "none", .pairs = JOIN("" FS_MARKS(MARK4)), NUMBERS(1, 10000000), .def = "none",
	  .help = "a second wait that no checker is told of: the negative control of validate" },
	{ .name = "load", .unit = "", .words = JOIN("" FS_TRAFFICS(WORD3)), NO_NUMBERS, .def = "none",
	  .help = "traffic beside what is measured: copies of a CPU, of the GPU's copy engine (one way, the other, both, to another GPU), or by its SMs over PCIe or in its own memory" },
	{ .name = "load_level", .unit = "%", NUMBERS(1, 100), .def = "100",
	  .help = "share of the time that the load is under way" },
	{ .name = "cpu", .unit = "", .words = "auto", NUMBERS(0, 4095), .def = "auto",
	  .help = "CPU of a CPU issuer" },
	{ .name = "nic_cpu", .unit = "", .words = "auto", NUMBERS(0, 4095), .def = "auto",
	  .help = "CPU of the thread of nic=soft, and of the thread that launch starts" },
	{ .name = NULL },
};
