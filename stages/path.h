/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the probe `path`: what a point asks for (path_conf.c and path_conf_*.c), the memory
 * of its queue (path_mem.c), one pass over it (path_pass.c; what its agents are given path_args.c), spans from its
 * marks (path_spans.c), rows from those (path_rows.c), a helper beside it (path_helper.c), and the probe itself (path.c).
 */
#ifndef FS_PATH_H
#define FS_PATH_H

#include "harness/clock.h"
#include "harness/freq.h"
#include "harness/machine.h"
#include "harness/rows.h"
#include "harness/var.h"
#include "stages/issuer/helper.h"
#include "stages/issuer/issuer.h"
#include "stages/nic/nic.h"
#include "stages/place/place.h"
#include "stages/stage.h"
#include "stages/translation/register.h"
#include "stages/vars.h"
#include <stdio.h>

enum path_metric { METRIC_LATENCY, METRIC_RATE };
enum path_marks { MARKS_ALL, MARKS_OUTER, MARKS_ROTATE };
/* Larger messages than this come in smaller blocks. */
enum { BLOCK_LARGE = 64 << 10 };
enum path_check { CHECK_AUTO, CHECK_EACH, CHECK_END, CHECK_NONE };

/* A point, resolved: nothing is `auto` any more. */
struct path_conf {
	const struct nic *nic;
	int metric, op, marks, check, fault;
	struct route route;               /* who posts, who looks for completions */
	int boundary;                     /* enum boundary, where the submitter is `cpu` */
	int form;                         /* enum proxy_form, where the submitter is a proxy */
	int notify;                       /* enum notify: how a CPU that looks for completions waits */
	uint32_t proxy_batch;             /* descriptors that a proxy rings for at once, at most */
	int helper_cpu, crowded;          /* crowded: a helper shares a CPU with the NIC */
	struct issue_choice choice;       /* ordering, doorbell, kind; cq and instr by pass */
	int issuer_gpu;                   /* the issuer's GPU, -1: a CPU */
	int nic_gpu;                      /* the NIC's GPU, -1: none */
	int others_gpu;                   /* another GPU whose threads post into the same NIC, -1: none */
	int pinned;                       /* a GPU takes part */
	int place[OBJECTS];               /* of each; HAND and RELAY are the host's */
	uint32_t fresh;                   /* bytes that the issuer writes right before intent */
	uint32_t signal, collapsed;       /* every so manieth message asks for a CQE; one CQE for all */
	uint32_t size, depth, batch, log_n, segment, page_shift, recover_every;
	int registration;                 /* enum registration_word; if it isn't persistent: */
	const struct mech_ops *mech;      /* by which it is registered on demand */
	int reg_device;
	uint64_t host_page;               /* of the host's memory that is registered, or copied from */
	int staged_from;                  /* the place of what is copied from */
	uint32_t mr_count, mr_random;     /* memory regions of either side; which of them a message takes */
	uint32_t cache;                   /* entries of the NIC's translation cache; 0: none */
	uint32_t lines;                   /* that doorbell and tables take in turn */
	uint64_t messages, warmup, slots, stride; /* slots and stride are powers of two */
	int32_t plant[2];
	uint32_t plant_ns[2];
	int cpu, nic_cpu;
	int cpu_state;                    /* enum cpu_state_word: of helper's and NIC's CPUs before a pass, */
	uint32_t cpu_state_ms;            /* for so long */
	const char *sys_cpu;              /* where the kernel tells of CPUs: FS_SYS_CPU, or a test's own */
	int sm, nic_sm;                   /* as seats_resolve() gives them */
	int gettime;                      /* CPU agents stamp with clock_gettime */
	const char *order_class;          /* guaranteed, relied-on, unsafe */
};

/* -EINVAL or -ENODEV with words in `why`. */
int path_resolve(const struct point *pt, const struct machine *m, struct path_conf *c,
		 char *why, size_t len);
/* Threads of this GPU post into the same NIC: order_class is what the order promises from both. -1: of none. */
void path_post_from(struct path_conf *c, int gpu);
/* In the child: opens the point's GPUs, if it has any, and settles who runs on which SM. */
int path_use(const struct path_conf *c, struct rows *out);
/* What to say behind an error CQE or a wrong payload of a point whose order is unsafe: that the
 * order may be why, and which ones can't be; "" in the other classes. 256 bytes do. */
const char *path_order_words(const struct path_conf *c, char *buf, size_t len);
/* Registered on demand by the helper, inside the message. */
int path_registers_inside(const struct path_conf *c);
/* The code of its issuer: what it stores in place of ringing, if somebody else does that. */
int path_issuer_mode(const struct path_conf *c);
/* The random pause between two messages, in the issuer's ticks. */
uint32_t path_gap_ticks(const struct path_conf *c);
extern const char *const path_reads[]; /* the variables that it reads */
/* none | local | nvlink | pcie | host: what an agent of place `from` crosses to
 * reach memory at `to`. */
const char *link_name(int from, int to);

/* The memory of a queue and of its payloads. */
struct path_mem {
	struct buf queue;     /* WQEs, then the record in a line of its own */
	struct buf db, cq;
	struct buf src, dst;  /* payload slots, page-aligned */
	struct source *source; /* what stands behind src; NULL: nothing */
	char lacks[200];      /* what this machine lacks for it, as was seen only now */
	struct buf keys;      /* at the NIC: keys, page entries, scratch */
	struct buf home;      /* at the issuer: consumer index */
	struct buf fresh;     /* at the issuer: what it writes before it decides to send */
	struct buf issuer_marks, issuer_pairs, out; /* what the issuer writes */
	struct buf nic_marks, nic_pairs;
	struct buf hand;      /* where an issuer hands over: a word, or a ring of descriptors; and what is taken of it */
	struct buf relay;     /* CQEs that a helper passes on */
	uint64_t *helper_marks; /* [keep][HELPER_SLOTS]; NULL: there is no helper */
	struct helper_pair *helper_pairs; /* [keep / block], or as many as a bare rate has */
	uint64_t *helper_stage;
	struct path_boundary *boundary; /* NULL: no kernel ends for a message */
	int event;            /* the NIC raises it; -1: nobody sleeps */
	uint64_t *stage;      /* a CPU issuer's block of marks */
	size_t record_off, ptes_off, gen_off, xlat_off; /* but for the first from where a line's tables begin */
	size_t tables;        /* bytes from one line's tables to the next's */
	uint32_t line;        /* the one in use: of `db` and `keys` */
	uint32_t nkeys, nptes, xlat_pages, block, keep;
};

/* From one line of a doorbell to the next: another page, and another line of it. */
enum { DB_STRIDE = 4096 + 64 };
/* Bytes of a doorbell's lines. */
size_t path_db_bytes(const struct path_conf *c);
/* The share of the messages that line k gets. */
uint64_t path_line_share(const struct path_conf *c, uint64_t messages, uint32_t k);
/* 1: m->lacks says what there isn't here. */
int path_mem_init(struct path_mem *m, const struct path_conf *c);
/* Which region a slot's message is in; its key: of the local side or the remote one. */
uint32_t path_mr_of(const struct path_conf *c, uint64_t slot);
uint32_t path_key(const struct path_conf *c, int remote, uint32_t mr);
/* Pages of keys that a pass looks up. */
uint64_t path_translations(const struct path_conf *c);
/* Where the line in use stands. */
uint8_t *path_db(const struct path_mem *m);
uint8_t *path_tables(const struct path_mem *m);
void path_mem_term(struct path_mem *m);
/* Before each pass: no doorbell, no WQE, no CQE. */
int path_mem_reset(struct path_mem *m, const struct path_conf *c);

/* What one pass is to do, and what came of it. */
struct pass {
	int instr;               /* BARE, ALL or FLEX */
	int record, settle, rate;
	uint32_t all;            /* mask of marks; with `rotate` the pairs of the table */
	int rotate;
	int plants;              /* 0: none, though the point has some */
	uint64_t messages, warmup, seed;
	/* results */
	struct issue_out out;
	struct engine_status nic;
	uint64_t *marks;         /* [messages][ISSUER_SLOTS], host copies; NULL without `record` */
	struct clock_pair *pairs; /* [npairs] */
	uint64_t npairs;
	uint64_t *nic_marks;     /* [messages][NIC_SLOTS] */
	struct clock_pair *nic_pairs; /* [1 + blocks]: at both ends of each block of nic_marks */
	uint64_t *helper_marks;  /* [messages][HELPER_SLOTS]; NULL: no helper, or no marks */
	struct helper_pair *helper_pairs; /* [npairs], as the issuer's */
	struct helper_status help;
	double *before, *after;  /* ns of registering or copying, of taking back, [messages]; or NULL */
	double *fenced;          /* ns of the fence behind a copy, a part of `before`; NULL: there is none */
	uint64_t end_wrong;      /* wrong words found at the end */
	struct disturb d0, d1;
	struct freq f0, f1;      /* of path_state_cpus()'s first CPU, before and after; nought where there is none */
};

/* path_source.c: memory that isn't registered for good. 1: as path_mem_init. */
int source_init(struct path_mem *m, const struct path_conf *c);
void source_term(struct path_mem *m);
void source_forbid(const struct path_mem *m);
/* Around a pass; ready: between two messages, before message m is decided on. */
int source_begin(const struct path_mem *m, const struct path_conf *c);
int source_ready(void *source, uint64_t m);
/* What a helper is given that registers, in the hook's place: nothing where there is none. */
void source_help(const struct path_mem *m, const struct path_conf *c, struct helper_source *h);
/* What the issuer is given that copies; 0: it copies nothing. */
int source_staging(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct issue_staging *g);
int source_end(const struct path_mem *m);
int source_collect(const struct path_mem *m, struct pass *p);

/* path_helper.c: the thread that rings for the issuer, or looks for completions for it. All of them do
 * nothing where the route has none. */
int path_helper_init(struct path_mem *m, const struct path_conf *c);
void path_helper_term(struct path_mem *m);
int path_helper_reset(struct path_mem *m, const struct path_conf *c);
/* What the issuer is given of it, and the NIC that raises events. */
void path_helper_hands(const struct path_mem *m, const struct path_conf *c, struct issue_args *a);
void path_helper_events(const struct path_mem *m, const struct path_conf *c, struct engine *e);
int path_helper_start(const struct path_mem *m, const struct path_conf *c, const struct pass *p,
		      const struct sink_conf *all, struct helper **h);
int path_helper_stop(struct helper *h, struct pass *p);
int path_helper_collect(const struct path_mem *m, const struct path_conf *c, struct pass *p);
/* What went wrong there, as words behind others; "": nothing that it knows of. */
const char *path_helper_words(const struct pass *p, const struct path_conf *c, char *buf, size_t len);
/* Its CPU time, its switches, its sleeps: rows of one pass. */
int path_helper_rows(const struct pass *p, const struct path_conf *c, struct rows *out);

/* path_state.c: the state that CPUs are in when a pass begins. CPUs of helper and NIC, the helper's first;
 * how many different ones. */
int path_state_cpus(const struct path_conf *c, int cpus[2]);
/* Leaves them alone for cpu_state_ms, or keeps a thread busy on each. -EBUSY: one would not end. */
struct state_made { int busy; uint64_t ns; }; /* threads, and how long it took */
enum { STATE_CPUS_MAX = 160 };
/* The same of n different CPUs, at most so many; enum cpu_state_word. */
int cpus_state(int state, uint32_t ms, const int *cpus, int n, struct state_made *made);
int path_state(const struct path_conf *c, struct state_made *made);
/* What the kernel says now of the first one; rows of what it said before a pass and after. */
void path_freq(const struct path_conf *c, struct freq *f);
int path_freq_rows(const struct freq *before, const struct freq *after, const struct path_conf *c, struct rows *out);

/* path_boundary.c: kernels that end for every message (submitter=cpu). */
int path_boundary_init(struct path_mem *m, const struct path_conf *c);
void path_boundary_term(struct path_mem *m);
/* Before the NIC starts: what kernels and helper are given. */
int path_boundary_open(const struct path_mem *m, const struct path_conf *c, const struct pass *p, const struct issue_args *a);
void path_boundary_kernels(const struct path_mem *m, const struct path_conf *c, struct helper_kernels *k);
/* With the helper's thread running: until all is done, or nothing was launched for wait_ns. */
void path_boundary_run(const struct path_mem *m, const struct path_conf *c, const struct pass *p, uint64_t wait_ns);
/* Behind the helper's end: -EBUSY: a kernel still runs. Then, behind the NIC's. */
int path_boundary_stop(const struct path_mem *m, const struct path_conf *c, const struct pass *p);
void path_boundary_close(const struct path_mem *m, const struct path_conf *c);
int path_boundary_report(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct issue_out *o);
void path_boundary_found(const struct path_mem *m, const struct path_conf *c, struct rows *out);

/* Whose waits and marks an agent is told of. */
void path_sink(const struct path_conf *c, const struct sink_conf *all, enum agent agent, struct sink_conf *s);
/* What the NIC's engine is given for a pass. */
void path_engine(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct engine *e);
/* And its issuer. */
void path_issue(const struct path_mem *m, const struct path_conf *c, const struct pass *p,
		const struct sink_conf *sink, struct issue_args *a);
/* Runs one pass. A negative return, with a reason, when the point has failed. */
int path_pass(struct path_mem *m, const struct path_conf *c, struct pass *p);
void pass_term(struct pass *p);

/* Spans of messages in ns. */
struct spans {
	uint64_t n, cap;         /* messages */
	uint32_t block;          /* messages that were taken in one go */
	struct route route;
	int intervals;
	const struct interval *table;
	double *interval[INTERVALS_MAX]; /* [n] each; NAN where not shown */
	double *stage[STAGES];   /* [n] each; crossing is the total less the rest */
	double *total, *submit;  /* [n] */
	double *before, *after, *fenced; /* [n], as a pass's; NULL: there are none */
	double *looked;          /* [n]: lookups << 8 | hits of the NIC's translation cache */
	double polls;            /* mean a message */
	double *call;            /* [n]: how long the launch took that `relayed` stands before; NAN: there is none */
	double *wakeup;          /* [n]: from completed to where a sleeping consumer runs again; NAN: it didn't sleep */
};

/* Shorter blocks don't give a rate: the wall clock of a GPU steps by 32 ns or more. */
#define RATE_SPAN_NS 100000

/* ns per tick in a block of n - 1, by the readings at its ends; by the whole pass's where a block is too short. */
double pairs_rate(const struct clock_pair *p, uint64_t n, uint64_t block);
/* When an agent's clock showed `ticks`, in ns of its wall clock since `since`. A reading of a wall clock that steps
 * is early by up to a step: the mean of many blocks is that of the differences of two agents, one message's isn't. */
double pairs_at(const struct clock_pair *p, uint64_t n, uint64_t block, uint64_t ticks, uint64_t since);

int spans_init(struct spans *s, struct route route, uint64_t cap);
void spans_term(struct spans *s);
/* Appends the messages of a pass that kept marks: of all its blocks, or of those
 * without or with a plant, which alternate. */
enum which_blocks { ALL_BLOCKS = -1, PLAIN_BLOCKS, PLANTED_BLOCKS };
int spans_add(struct spans *s, const struct path_mem *m, const struct path_conf *c, const struct pass *p, int which);
/* Rows of intervals, stages, submit and total. */
int spans_rows(const struct spans *s, const struct path_conf *c, struct rows *out);
/* Row "wakeup" of a consumer that slept, "launch_call" of one that launches. */
int spans_helper_rows(const struct spans *s, const struct path_conf *c, struct rows *out);
/* Rows of registering or copying, and of the total with it. */
int spans_source_rows(const struct spans *s, const struct path_conf *c, struct rows *out);
/* Rows of hits and misses of the NIC's translation cache. */
int cache_count_rows(const struct path_conf *c, uint64_t messages, uint64_t lookups, uint64_t hits, struct rows *out);
int spans_cache_rows(const struct spans *s, const struct path_conf *c, struct rows *out);
/* Mean of the differences of n pairs of blocks, and its interval. Sorts d. */
int paired_summary(double *d, uint64_t n, struct summary *s);
/* Rows "plant_delta": planted less plain blocks, of all that does not need a hop. */
int spans_delta_rows(const struct spans *planted, const struct spans *plain, const struct path_conf *c, struct rows *out);
/* Row "plant_wall": the same of the wall time a message. */
int wall_delta_row(const struct pass *p, uint32_t block, const struct path_conf *c, struct rows *out);
/* Of those samples that are there: NAN isn't. */
int spans_summary(const double *x, uint64_t n, uint32_t block, struct summary *s);
/* Which link an interval crosses, and what a row's figures come from. */
const char *path_link(const struct path_conf *c, const struct interval *t);
void path_origin(struct row *r, const struct path_conf *c, int emulated);
/* A row with what all rows of a point share. NULL: out of memory. */
struct row *path_row(struct rows *out, const struct path_conf *c, const char *stage,
		     const char *metric, const char *unit);
/* Flags a row of a GPU whose clock's rate was still moving when it had to start. */
void unsettled_flag(struct row *r);
/* Raw marks, one line a message. */
void pass_raw(const struct path_conf *c, const struct pass *p, FILE *f);

extern const struct probe probe_path;

#endif
