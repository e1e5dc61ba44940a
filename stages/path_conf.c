/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a point to what it asks of the machine: every `auto` resolved, every
 * combination that can't be refused with what would be legal.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/path.h"
#include "stages/place/seat.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PLANT_NS = 100 };              /* the shortest: a wait takes some tens of ns by itself */
enum { PLANT_S = 60 };                /* that planted waits may take in a point */
enum { SIZE_MAX_B = 16 << 20 };
enum { BIG = 64 << 10 };              /* payloads above have fewer messages by default */
#define SLOT_BYTES (64ull << 20)      /* payload memory of each side, if it can be */

const char *link_name(int from, int to)
{
	if (from == to)
		return from == PLACE_HOST ? "host" : "local";
	if (from == PLACE_HOST || to == PLACE_HOST)
		return "pcie";
	return "nvlink";
}

/* The GPUs of the point; -1 where none takes part. */
static int resolve_gpus(const struct point *pt, const struct machine *m, struct path_conf *c,
			char *why, size_t len)
{
	int g = (int)fs_num(pt, "gpu"), n;

	c->issuer_gpu = fs_is(pt, "issuer", "gpu") ? g : -1;
	c->nic_gpu = -1;
	if (c->nic->absent)
		return fs_refuse(ENODEV, why, len, "nic=%s: %s; legal here: null, soft", c->nic->name, c->nic->absent);
	if (c->issuer_gpu < 0 && !c->nic->on_gpu)
		return 0;
	if (!m->ngpus)
		return fs_refuse(ENODEV, why, len, "%s needs a GPU: %s; without one: issuer=cpu with nic=soft or nic=null",
			  c->nic->on_gpu ? "nic=peer" : "issuer=gpu", m->gpu_reason[0] ? m->gpu_reason : "none found");
	if (g >= m->ngpus)
		return fs_refuse(ENODEV, why, len, "gpu=%d: this machine has GPU 0..%d", g, m->ngpus - 1);
	if (c->choice.mode == DBM_BLUEFLAME_BULK && m->gpu[g].cc_major < 9)
		return fs_refuse(ENODEV, why, len, "doorbell=blueflame-bulk needs cp.async.bulk, of compute capability 9.0; GPU %d has %d.%d; legal here: doorbell=blueflame",
				 g, m->gpu[g].cc_major, m->gpu[g].cc_minor);
	if (!c->nic->on_gpu)
		return 0;
	if (fs_is(pt, "nic_gpu", "gpu")) {
		c->nic_gpu = g;
	} else if (fs_is(pt, "nic_gpu", "auto")) {
		c->nic_gpu = g;
		for (n = 0; n < m->ngpus; n++)
			if (n != g && m->gpu[g].peers >> n & 1 && m->gpu[n].peers >> g & 1)
				break;
		if (n < m->ngpus)
			c->nic_gpu = n;
	} else {
		c->nic_gpu = (int)fs_num(pt, "nic_gpu");
		if (c->nic_gpu >= m->ngpus)
			return fs_refuse(ENODEV, why, len, "nic_gpu=%d: this machine has GPU 0..%d", c->nic_gpu, m->ngpus - 1);
	}
	if (c->issuer_gpu >= 0 && c->nic_gpu != g && !(m->gpu[g].peers >> c->nic_gpu & 1))
		return fs_refuse(ENODEV, why, len, "GPU %d can't reach the memory of GPU %d (no peer access); nic_gpu=gpu is legal",
			  g, c->nic_gpu);
	return 0;
}

/* The objects, and the variables that place them. */
static const struct { const char *var; enum object obj; } placed[] = {
	{ "queue_mem", OBJ_QUEUE }, { "db_mem", OBJ_DB }, { "cq_mem", OBJ_CQ },
	{ "src_mem", OBJ_SRC }, { "dst_mem", OBJ_DST },
};
enum { PLACED = sizeof(placed) / sizeof(placed[0]) };

/* What no machine allows: a CPU that reaches into a GPU, a peer without one. */
static int legal_places(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	for (int i = 0; i < PLACED; i++) {
		int w = fs_word(pt, placed[i].var);

		if (path_cpu_touches(pt, c, placed[i].obj) && (w == PW_GPU || w == PW_PEER))
			return fs_refuse(EINVAL, why, len, "%s=%s with %s: a CPU can't reach GPU memory; legal: auto, host",
				  placed[i].var, w == PW_GPU ? "gpu" : "peer",
				  fs_is(pt, "issuer", "cpu") ? "issuer=cpu" : !c->nic->on_gpu && c->nic->completes ? "nic=soft" :
				  c->route.submitter == SUBMITTER_GPU ? "consumer=cpu" : "a helper");
		if (w == PW_PEER && (!c->nic->on_gpu || fs_is(pt, "nic_gpu", "gpu")))
			return fs_refuse(EINVAL, why, len, "%s=peer needs nic=peer on another GPU; legal: auto, host, gpu",
				  placed[i].var);
	}
	return 0;
}

static int resolve_places(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	int near_ = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST;
	int far_ = c->nic_gpu >= 0 ? c->nic_gpu : c->nic->completes ? PLACE_HOST : near_;
	int rd = c->op == WQE_READ;
	int home[OBJECTS] = {
		[OBJ_QUEUE] = near_, [OBJ_DB] = far_, [OBJ_CQ] = near_,
		[OBJ_SRC] = rd ? far_ : near_, [OBJ_DST] = rd ? near_ : far_,
	};

	c->place[OBJ_KEYS] = far_;
	for (int i = 0; i < PLACED; i++) {
		int obj = (int)placed[i].obj, w = fs_word(pt, placed[i].var);

		if (path_cpu_touches(pt, c, placed[i].obj) || w == PW_HOST)
			c->place[obj] = PLACE_HOST;
		else if (w == PW_AUTO)
			c->place[obj] = home[obj];
		else if (w == PW_GPU)
			c->place[obj] = c->issuer_gpu;
		else if (c->nic_gpu == c->issuer_gpu)
			return fs_refuse(ENODEV, why, len, "%s=peer needs a second GPU that both reach; legal here: auto, host, gpu",
				  placed[i].var);
		else
			c->place[obj] = c->nic_gpu;
	}
	return 0;
}

/* Operation, payload and what the WQE becomes. */
static int resolve_op(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	static const int ops[] = { WQE_WRITE, WQE_READ, WQE_NOP };
	int inl = fs_is(pt, "payload", "inline");

	c->op = ops[fs_word(pt, "op")];
	if (fs_num(pt, "size") > SIZE_MAX_B)
		return fs_refuse(EINVAL, why, len, "size=%lld: a message has at most %d B; legal: size=0..%d", (long long)fs_num(pt, "size"),
			  SIZE_MAX_B, SIZE_MAX_B);
	c->size = c->op == WQE_NOP ? 0 : (uint32_t)fs_num(pt, "size");
	if (inl && c->op != WQE_WRITE)
		return fs_refuse(EINVAL, why, len, "payload=inline with op=%s: only a write carries its payload; legal: payload=pointer or auto",
			  c->op == WQE_READ ? "read" : "nop");
	if (inl && c->size > WQE_INLINE_TWO)
		return fs_refuse(EINVAL, why, len, "payload=inline with size=%u: a WQE of two basic blocks carries at most %d B; legal: size=0..%d, or payload=pointer",
			  c->size, WQE_INLINE_TWO, WQE_INLINE_TWO);
	c->registration = fs_word(pt, "registration");
	if (fs_is(pt, "payload", "auto"))
		inl = c->op == WQE_WRITE && c->size <= WQE_INLINE_MAX && c->registration == REGISTERED_PERSISTENT;
	c->choice.kind = c->op == WQE_NOP ? POST_NOP : c->op == WQE_READ ? POST_READ :
			 !inl ? POST_WRITE : c->size > WQE_INLINE_MAX ? POST_INLINE2 : POST_INLINE;
	return 0;
}

/* How far an order of who posts from `gpu` (-1: a CPU) would reach: design of the classes in docs/method.md. */
static const char *class_from(const struct path_conf *c, int gpu, int ord)
{
	int gpu_scope = ord == ORD_GPU_FENCE || ord == ORD_GPU_FENCE_RECORD || ord == ORD_GPU_RELEASE ||
			ord == ORD_THREADFENCE;

	if (!c->nic->completes)
		return "-"; /* nobody observes */
	if (ord == ORD_NONE)
		return "unsafe";
	if (c->choice.mode == DBM_BLUEFLAME_BULK && (!gpu_scope || c->nic_gpu == gpu))
		return "relied-on"; /* weak stores, by another proxy than that of the fence */
	if (gpu < 0 || !gpu_scope || c->route.submitter == SUBMITTER_PROXY || c->route.submitter == SUBMITTER_CPU)
		return "guaranteed"; /* release stores of a CPU, or system scope */
	if (c->nic_gpu == gpu && c->route.submitter == SUBMITTER_GPU)
		return "guaranteed"; /* the observer is inside the scope */
	return c->place[OBJ_QUEUE] == gpu ? "relied-on" : "unsafe";
}

/* The weaker one, where threads of another GPU post too. */
static const char *order_class_of(const struct path_conf *c, int ord)
{
	const char *mine = class_from(c, c->issuer_gpu, ord), *theirs;

	if (c->others_gpu < 0)
		return mine;
	theirs = class_from(c, c->others_gpu, ord);
	return !strcmp(mine, "guaranteed") || !strcmp(theirs, "unsafe") ? theirs : mine;
}

void path_post_from(struct path_conf *c, int gpu)
{
	c->others_gpu = gpu;
	c->order_class = order_class_of(c, c->choice.ord);
}

const char *path_order_words(const struct path_conf *c, char *buf, size_t len)
{
	static const char *const names[ORDERINGS] = {
#define X(NAME, word, help) [ORD_##NAME] = word,
		FS_ORDERINGS(X)
#undef X
	};
	size_t at;

	buf[0] = '\0';
	if (strcmp(c->order_class, "unsafe"))
		return buf;
	at = (size_t)snprintf(buf, len, "; ordering=%s doesn't order the WQE before the doorbell for a NIC %s (order_class unsafe); guaranteed:",
			      names[c->choice.ord], c->issuer_gpu == c->nic_gpu && c->others_gpu < 0 ? "anywhere" : c->nic_gpu < 0 ? "behind PCIe" : "on another device");
	for (int ord = 0, n = 0; ord < ORDERINGS; ord++)
		if (at < len && !strcmp(order_class_of(c, ord), "guaranteed"))
			at += (size_t)snprintf(buf + at, len - at, "%s %s", n++ ? "," : "", names[ord]);
	return buf;
}

/* How completions come: one CQE for all messages, one for several. */
static int resolve_completions(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	c->signal = (uint32_t)fs_num(pt, "signal");
	c->collapsed = fs_is(pt, "cq", "collapsed");
	if (c->signal == 1 && !c->collapsed)
		return 0;
	if (!c->nic->completes)
		return fs_refuse(EINVAL, why, len, "%s with nic=null: nobody completes anything; legal: signal=1 and cq=ring",
			  c->collapsed ? "cq=collapsed" : "signal");
	if (!other_cq_built(c->choice.mode, c->choice.kind))
		return fs_refuse(EINVAL, why, len, "%s is built for writes with doorbell=record-ring whose WQE is one basic block; legal: that, or signal=1 and cq=ring",
			  c->collapsed ? "cq=collapsed" : "signal");
	if (c->signal == 1)
		return 0;
	if (c->metric != METRIC_RATE || c->marks != MARKS_OUTER)
		return fs_refuse(EINVAL, why, len, "signal=%u: a message without a CQE has no `completed` and no `noticed` of its own; legal: metric=rate with marks=outer, or signal=1",
			  c->signal);
	if (c->signal & (c->signal - 1))
		return fs_refuse(EINVAL, why, len, "signal=%u: blocks of messages end where a completion is asked for; legal: powers of two", c->signal);
	if (fs_is(pt, "check", "each"))
		return fs_refuse(EINVAL, why, len, "signal=%u with check=each: a message that is not completed can't be looked at; legal: check=end, none or auto",
			  c->signal);
	/* a batch that found no room waits for a CQE that somebody has asked for */
	if (c->depth < c->signal + c->batch - 1)
		return fs_refuse(EINVAL, why, len, "signal=%u with depth=%u and batch=%u: the queue is full before anybody asks for a CQE; legal: depth=%u.., or a lower signal",
			  c->signal, c->depth, c->batch, c->signal + c->batch - 1);
	return 0;
}

/* BlueFlame: a line carries one WQE of one block, and a NIC that is memory can't take the next
 * one before it is done with it. */
static int resolve_flame(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	const char *word = c->choice.mode == DBM_BLUEFLAME_BULK ? "blueflame-bulk" : "blueflame";

	if (!doorbell_is_flame(c->choice.mode))
		return 0;
	if (c->choice.mode == DBM_BLUEFLAME_BULK && fs_is(pt, "issuer", "cpu"))
		return fs_refuse(EINVAL, why, len, "doorbell=%s with issuer=cpu: cp.async.bulk is a GPU's instruction; legal: doorbell=blueflame, or issuer=gpu", word);
	if (post_blocks(c->choice.kind) > 1)
		return fs_refuse(EINVAL, why, len, "doorbell=%s with payload=inline and size=%u: the line carries one basic block; legal: size=0..%d, or payload=pointer",
				 word, c->size, WQE_INLINE_MAX);
	if (c->choice.kind != POST_INLINE && c->choice.kind != POST_WRITE)
		return fs_refuse(EINVAL, why, len, "doorbell=%s is built for writes; legal: op=write, or another doorbell", word);
	if (!flame_built(c->choice.ord, c->choice.kind))
		return fs_refuse(EINVAL, why, len, "doorbell=%s with ordering=%s: there is no release store of 64 bytes; legal: none and the fences (gpu-fence, sys-fence, ...)",
				 word, c->choice.ord == ORD_GPU_RELEASE ? "gpu-release" : "sys-release");
	if (c->batch > 1)
		return fs_refuse(EINVAL, why, len, "doorbell=%s with batch=%u: a line carries one WQE; legal: batch=1", word, c->batch);
	if (c->depth > 1 && c->nic->completes)
		return fs_refuse(EINVAL, why, len, "doorbell=%s with depth=%u: a line in memory that is overwritten before the NIC has taken it is lost (a device takes each store as it comes); legal: depth=1, or nic=null",
				 word, c->depth);
	return 0;
}

static int resolve_queue(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	static const uint32_t shifts[] = { 12, 16, 21 };
	uint64_t entries = (uint64_t)fs_num(pt, "entries");
	uint32_t blocks = post_blocks(c->choice.kind);
	int rc;

	c->choice.ord = fs_word(pt, "ordering");
	c->choice.mode = fs_word(pt, "doorbell");
	c->depth = (uint32_t)fs_num(pt, "depth");
	c->batch = (uint32_t)fs_num(pt, "batch");
	c->log_n = (uint32_t)__builtin_ctzll(entries);
	c->segment = (uint32_t)fs_num(pt, "segment");
	c->page_shift = shifts[fs_word(pt, "page")];
	c->recover_every = (uint32_t)fs_num(pt, "recover_every");
	c->fresh = (uint32_t)fs_num(pt, "fresh");
	if (c->fresh % 16)
		return fs_refuse(EINVAL, why, len, "fresh=%u: it is written by 16 bytes; legal: fresh=%u", c->fresh, c->fresh / 16 * 16);
	if (c->fresh && (c->metric != METRIC_LATENCY || c->depth > 1))
		return fs_refuse(EINVAL, why, len, "fresh=%u with metric=%s and depth=%u: a message has a moment before it only if it is alone; legal: metric=latency with depth=1, or fresh=0",
			  c->fresh, c->metric == METRIC_RATE ? "rate" : "latency", c->depth);
	if (c->depth > entries / blocks)
		return fs_refuse(EINVAL, why, len, "depth=%u is over the queue of entries=%llu%s; legal: depth=1..%llu",
			  c->depth, (unsigned long long)entries, blocks > 1 ? ", two to a message" : "",
			  (unsigned long long)entries / blocks);
	if ((rc = resolve_flame(pt, c, why, len)))
		return rc;
	if (blocks > 1 && c->choice.mode != DBM_RECORD_RING)
		return fs_refuse(EINVAL, why, len, "payload=inline with size=%u takes two basic blocks, which is built for one doorbell; legal: doorbell=record-ring, or size=0..%d",
			  c->size, WQE_INLINE_MAX);
	if (c->batch > c->depth)
		return fs_refuse(EINVAL, why, len, "batch=%u is over depth=%u: one doorbell can't announce more than may be under way; legal: batch=1..%u",
			  c->batch, c->depth, c->depth);
	if ((rc = resolve_completions(pt, c, why, len)))
		return rc;
	if (c->choice.mode == DBM_RING && c->recover_every)
		return fs_refuse(EINVAL, why, len, "recover_every=%u with doorbell=ring: there is no record to recover from; legal: recover_every=0",
			  c->recover_every);
	return 0;
}

static int resolve_lines(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	c->lines = (uint32_t)fs_num(pt, "lines");
	if (c->lines == 1)
		return 0;
	if (c->metric != METRIC_LATENCY || c->fault || c->plant[0] >= 0 || c->plant[1] >= 0)
		return fs_refuse(EINVAL, why, len, "lines=%u: legal with metric=latency, without plant and fault", c->lines);
	if (c->messages < c->lines)
		return fs_refuse(EINVAL, why, len, "lines=%u with messages=%llu: none is left for some; legal: lines=1..%llu", c->lines,
			  (unsigned long long)c->messages, (unsigned long long)c->messages);
	return 0;
}

static int resolve_fault(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	c->fault = fs_word(pt, "fault");
	for (int i = 0; i < 2; i++) {
		const char *v = i ? "untold" : "plant";
		int mark = fs_pair(pt, v);

		c->plant[i] = mark;
		c->plant_ns[i] = mark < 0 ? 0 : (uint32_t)fs_num(pt, v);
		if (mark >= 0 && !route_has(c->route, (enum mark)mark))
			return fs_refuse(EINVAL, why, len, "%s=%s: no message passes it with this submitter and consumer; legal: another mark, or %s", v,
					 mark_table[mark].name, mark == MARK_CAUGHT || mark == MARK_RELAYED ? "consumer=cpu" :
					 "submitter=host-doorbell, proxy or cpu");
		if (mark >= 0 && !c->nic->completes)
			return fs_refuse(EINVAL, why, len, "%s with nic=null: there is no path to check", v);
	}
	if ((c->plant[0] >= 0 || c->plant[1] >= 0) && (c->metric != METRIC_LATENCY || c->marks != MARKS_ALL))
		return fs_refuse(EINVAL, why, len, "plant needs metric=latency and marks=all: the bare code has no place for it");
	for (int i = 0; i < 2; i++) {
		const char *v = i ? "untold" : "plant";
		double s = (double)c->plant_ns[i] * 1e-9 * (double)(c->messages + c->warmup) / 2;

		if (c->plant[i] < 0)
			continue;
		if (c->plant_ns[i] < PLANT_NS)
			return fs_refuse(EINVAL, why, len, "%s=%s:%u: a wait takes some tens of ns by itself, so that a shorter one isn't what it says; legal: %d ns or more",
				  v, mark_table[c->plant[i]].name, c->plant_ns[i], PLANT_NS);
		if (c->depth > 1)
			return fs_refuse(EINVAL, why, len, "%s with depth=%u: a wait lengthens its neighbours too; legal: depth=1", v, c->depth);
		if (c->plant[i] == MARK_RUNG && c->choice.mode == DBM_RING_RECORD_RING)
			return fs_refuse(EINVAL, why, len, "%s=rung with doorbell=ring-record-ring: the NIC has been rung before; legal: record-ring or ring", v);
		if (c->messages < (c->size > BLOCK_LARGE ? 32u : 512u))
			return fs_refuse(EINVAL, why, len, "%s with messages=%llu: blocks with the wait and without it alternate; legal: %u or more",
				  v, (unsigned long long)c->messages, c->size > BLOCK_LARGE ? 32 : 512);
		if (s > PLANT_S)
			return fs_refuse(EINVAL, why, len, "%s=%s:%u with %llu messages waits for %.0f s in all; legal: at most %d s, by fewer messages or a shorter wait",
				  v, mark_table[c->plant[i]].name, c->plant_ns[i], (unsigned long long)c->messages, s, PLANT_S);
	}
	if (c->fault == FAULT_NONE)
		return 0;
	if (c->fault == FAULT_WRONG_PLACE)
		return fs_refuse(EINVAL, why, len, "fault=wrong-place: legal with the probes load, store, atomic and bandwidth");
	if (c->fault == FAULT_NO_REPLY)
		return fs_refuse(EINVAL, why, len, "fault=no-reply: nobody replies to a message of the path; legal with the probe rtt");
	if (c->marks == MARKS_OUTER || c->metric == METRIC_RATE)
		return fs_refuse(EINVAL, why, len, "fault needs metric=latency and marks=all or rotate: the bare code has no place for it");
	if (c->fault >= FAULT_OPCODE && c->fault <= FAULT_LOST_WAKEUP && !c->nic->completes)
		return fs_refuse(EINVAL, why, len, "fault with nic=null: nobody would see it; legal: fault=none");
	if ((c->fault == FAULT_KEY || c->fault == FAULT_LENGTH) && !c->size)
		return fs_refuse(EINVAL, why, len, "fault=%s without payload: the WQE has no such field; legal: op=write or read and size=1..",
			  c->fault == FAULT_KEY ? "key" : "length");
	if (c->fault == FAULT_LKEY && (!c->size || post_is_inline(c->choice.kind)))
		return fs_refuse(EINVAL, why, len, "fault=lkey: an inline or empty payload has no local key; legal: payload=pointer");
	if (c->fault == FAULT_LOST_DOORBELL && c->depth > 1)
		return fs_refuse(EINVAL, why, len, "fault=lost-doorbell with depth=%u: the next doorbell announces what was lost; legal: depth=1", c->depth);
	if (c->fault == FAULT_LOST_CQE && c->collapsed && c->depth > 1)
		return fs_refuse(EINVAL, why, len, "fault=lost-cqe with cq=collapsed and depth=%u: the next CQE speaks for the lost one too; legal: depth=1", c->depth);
	if (c->fault == FAULT_STALE_RECORD && !c->recover_every)
		return fs_refuse(EINVAL, why, len, "fault=stale-record needs recover_every=1..: the NIC reads no record otherwise");
	if (c->fault >= FAULT_GPU_MEMORY && !c->pinned)
		return fs_refuse(EINVAL, why, len, "fault=gpu-* needs a GPU in the point: issuer=gpu or nic=peer");
	return 0;
}

static uint64_t pow2_at_least(uint64_t x)
{
	return x <= 1 ? 1 : 1ull << (64 - __builtin_clzll(x - 1));
}

/* A slot looks up the key of its region: one each where they are taken in turn, so that
 * each is met once in a turn; in a random order as many as there can be. */
static int resolve_regions(struct path_conf *c, uint64_t fit, char *why, size_t len)
{
	if (c->depth > RESOLVER_CHUNKS)
		return fs_refuse(EINVAL, why, len, "mr_count=%u with depth=%u: a message under way has a slot of its own, and %d can have a region; legal: depth=1..%d",
			  c->mr_count, c->depth, RESOLVER_CHUNKS, RESOLVER_CHUNKS);
	c->slots = pow2_at_least(c->depth > c->mr_count ? c->depth : c->mr_count);
	if (c->slots > fit && c->slots > pow2_at_least(c->depth))
		return fs_refuse(EINVAL, why, len, "mr_count=%u with size=%u: a region has a slot of its own, and %llu of them fit into %llu MiB; legal: mr_count=1..%llu",
				  c->mr_count, c->size, (unsigned long long)fit, SLOT_BYTES >> 20, (unsigned long long)fit);
	if (c->mr_random)
		c->slots = c->slots > fit ? c->slots : fit < RESOLVER_CHUNKS ? fit : RESOLVER_CHUNKS;
	return 0;
}

/* How many messages, and where each finds its payload. */
static int resolve_amount(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	uint64_t few, fit;
	int rc;

	few = c->size <= BIG ? 10000 : 10000ull * BIG / c->size;
	if (c->metric == METRIC_RATE)
		few *= 10;
	c->messages = fs_is(pt, "messages", "auto") ? few : (uint64_t)fs_num(pt, "messages");
	c->warmup = fs_is(pt, "warmup", "auto") ? (c->size <= BIG ? 1024 : 8) : (uint64_t)fs_num(pt, "warmup");
	c->stride = pow2_at_least(c->size < 8 ? 8 : c->size);
	if (c->registration != REGISTERED_PERSISTENT) { /* whole pages of each slot, of the host's and of the NIC's */
		c->host_page = fs_is(pt, "host_page", "2m") ? PAGE_2M : PAGE_4K;
		c->stride = c->stride > c->host_page ? c->stride : c->host_page;
		c->stride = c->stride > 1ull << c->page_shift ? c->stride : 1ull << c->page_shift;
	}
	fit = SLOT_BYTES / c->stride;
	fit = fit ? 1ull << (63 - __builtin_clzll(fit)) : 1;
	c->slots = pow2_at_least(c->depth > 64 ? c->depth : 64);
	c->mr_count = (uint32_t)fs_num(pt, "mr_count");
	c->mr_random = fs_word(pt, "mr_order") == MR_RANDOM;
	if (c->mr_count > 1 && (rc = resolve_regions(c, fit, why, len)))
		return rc;
	c->check = fs_word(pt, "check");
	/* a check inside the loop would be part of a rate */
	if (c->check == CHECK_AUTO)
		c->check = c->metric != METRIC_RATE ? CHECK_EACH :
			   c->mr_count > 1 ? CHECK_NONE :
			   pow2_at_least(c->messages) <= fit ? CHECK_END : CHECK_NONE;
	if (c->check == CHECK_END && c->mr_count > 1)
		return fs_refuse(EINVAL, why, len, "check=end with mr_count=%u: each message would need a slot of its own, and regions are taken by slot; legal: check=each, none or auto", c->mr_count);
	if (c->check == CHECK_END) {
		if (pow2_at_least(c->messages) > fit)
			return fs_refuse(EINVAL, why, len, "check=end with %llu messages of %u B: each needs a slot of its own, %llu fit; legal: check=each, or fewer messages",
				  (unsigned long long)c->messages, c->size, (unsigned long long)fit);
		c->slots = pow2_at_least(c->messages > c->depth ? c->messages : c->depth);
	} else if (c->mr_count == 1 && c->slots > fit) {
		c->slots = fit > pow2_at_least(c->depth) ? fit : pow2_at_least(c->depth);
	}
	if (c->slots * c->stride > 4ull << 30)
		return fs_refuse(EINVAL, why, len, "depth=%u messages of %u B need %llu MiB of payload memory; legal: at most 4096 MiB",
			  c->depth, c->size, (unsigned long long)(c->slots * c->stride >> 20));
	if (!c->nic->completes || !c->size)
		c->check = CHECK_NONE;
	if (!c->nic->completes && c->marks == MARKS_OUTER && c->metric == METRIC_LATENCY)
		return fs_refuse(EINVAL, why, len, "nic=null with marks=outer: nothing is noticed, so there is nothing between the two; legal: marks=all, or metric=rate");
	if (c->marks == MARKS_ROTATE && c->messages < ROTATE_MAX + 1)
		return fs_refuse(EINVAL, why, len, "messages=%llu with marks=rotate: each pair of marks needs a message; legal: %d or more",
			  (unsigned long long)c->messages, ROTATE_MAX + 1);
	if (c->marks != MARKS_OUTER && c->depth > 1024)
		return fs_refuse(EINVAL, why, len, "depth=%u with marks=%s: a block of marks holds at most 1024 messages under way; legal: marks=outer, or depth=1..1024",
			  c->depth, c->marks == MARKS_ALL ? "all" : "rotate");
	if ((c->metric == METRIC_LATENCY || c->marks != MARKS_OUTER) && c->messages > 4000000)
		return fs_refuse(EINVAL, why, len, "messages=%llu with metric=latency or marks=all: every message's marks are kept; legal: 1..4000000, or metric=rate with marks=outer",
			  (unsigned long long)c->messages);
	return 0;
}

/* CPUs near the issuer's GPU, if there is one. The NIC's stands beside the issuer's;
 * where the issuer is a GPU, a few further on: a virtual machine doesn't say which of
 * its CPUs share a core, and the first one starts and awaits kernels. */
static int resolve_cpus(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len)
{
	const char *pci = c->issuer_gpu >= 0 && c->issuer_gpu < m->ngpus ? m->gpu[c->issuer_gpu].pci : "";
	int n = pin_cpus(), beside = c->issuer_gpu >= 0 && n > 3 ? 3 : n > 1;
	int help = beside == 3 ? (n > 5 ? 5 : 2) : n > 2 ? 2 : beside;

	c->cpu = fs_is(pt, "cpu", "auto") ? pin_cpu_near(pci, 0, NULL) : (int)fs_num(pt, "cpu");
	c->nic_cpu = fs_is(pt, "nic_cpu", "auto") ? pin_cpu_near(pci, beside, NULL) : (int)fs_num(pt, "nic_cpu");
	c->helper_cpu = fs_is(pt, "helper_cpu", "auto") ? pin_cpu_near(pci, help, NULL) : (int)fs_num(pt, "helper_cpu");
	for (int i = 0; i < 3; i++) {
		const char *const v = i == 2 ? "helper_cpu" : i ? "nic_cpu" : "cpu";
		int cpu = i == 2 ? c->helper_cpu : i ? c->nic_cpu : c->cpu, k = 0;

		while (k < n && pin_cpu(k) != cpu)
			k++;
		if (k == n)
			return fs_refuse(ENODEV, why, len, "%s=%d: this process may not run there", v, cpu);
	}
	/* two agents that take turns on one CPU measure the scheduler */
	if (c->issuer_gpu < 0 && c->nic->completes && !c->nic->on_gpu && c->cpu == c->nic_cpu)
		return n > 1 ? fs_refuse(EINVAL, why, len, "issuer=cpu and nic=soft both on CPU %d: they would take turns; legal: two different CPUs", c->cpu) :
			       fs_refuse(ENODEV, why, len, "issuer=cpu with nic=soft needs two CPUs; this process may use CPU %d alone", c->cpu);
	if (!route_helped(c->route))
		return 0;
	/* the issuer's loop has no place where it could give way */
	if (c->issuer_gpu < 0 && c->helper_cpu == c->cpu)
		return n > 1 ? fs_refuse(EINVAL, why, len, "issuer=cpu and its helper both on CPU %d: they would take turns; legal: two different CPUs", c->cpu) :
			       fs_refuse(ENODEV, why, len, "a helper beside issuer=cpu needs two CPUs; this process may use CPU %d alone", c->cpu);
	c->crowded = c->nic->completes && !c->nic->on_gpu && c->helper_cpu == c->nic_cpu;
	return 0;
}

/* Seats as far as the words alone say: `auto` may be the issuer's GPU or another. */
static int legal_seats(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	int g = fs_is(pt, "issuer", "gpu") ? (int)fs_num(pt, "gpu") : -1, nic = -1, s, n;

	if (c->nic->on_gpu) {
		if (fs_is(pt, "nic_gpu", "auto"))
			return 0;
		nic = fs_is(pt, "nic_gpu", "gpu") ? (int)fs_num(pt, "gpu") : (int)fs_num(pt, "nic_gpu");
	}
	return seats_resolve(pt, NULL, g, nic, &s, &n, why, len);
}

int path_resolve(const struct point *pt, const struct machine *m, struct path_conf *c,
		 char *why, size_t len)
{
	int rc;

	memset(c, 0, sizeof(*c));
	c->nic = nics[fs_word(pt, "nic")];
	c->metric = fs_word(pt, "metric");
	c->marks = fs_word(pt, "marks");
	if ((rc = resolve_op(pt, c, why, len)) || (rc = resolve_queue(pt, c, why, len)) ||
	    (rc = resolve_amount(pt, c, why, len)))
		return rc;
	path_resolve_route(pt, c);
	c->cpu_state = fs_word(pt, "cpu_state");
	c->cpu_state_ms = fs_is(pt, "cpu_state_ms", "auto") ? CPU_STATE_MS : (uint32_t)fs_num(pt, "cpu_state_ms");
	c->sys_cpu = FS_SYS_CPU;
	c->pinned = fs_is(pt, "issuer", "gpu") || c->nic->on_gpu;
	/* what is wrong anywhere is said before what is missing here */
	if ((rc = legal_seats(pt, c, why, len)) || (rc = path_resolve_translation(pt, c, why, len)) || (rc = legal_places(pt, c, why, len)) || (rc = resolve_fault(pt, c, why, len)) ||
	    (rc = path_refuse_route(pt, c, why, len)) || (rc = path_refuse_state(pt, c, why, len)) || (rc = resolve_lines(pt, c, why, len)) || (rc = path_resolve_registration(pt, m, c, why, len)) ||
	    (rc = resolve_gpus(pt, m, c, why, len)) || (rc = resolve_places(pt, c, why, len)) ||
	    (rc = resolve_cpus(pt, m, c, why, len)) ||
	    (rc = seats_resolve(pt, m, c->issuer_gpu, c->nic_gpu, &c->sm, &c->nic_sm, why, len)))
		return rc;
	if (c->route.submitter == SUBMITTER_CPU) { /* each launch comes to another SM, so none is near */
		c->sm = SEAT_ANY;
		c->nic_sm = c->nic_sm == SEAT_NEAR ? SEAT_ANY : c->nic_sm;
	}
	path_post_from(c, -1);
	return 0;
}

int path_use(const struct path_conf *c, struct rows *out)
{
	struct seat_map map;
	int rc = c->pinned ? cuda_use(c->issuer_gpu, c->nic_gpu) : 0;

	if (rc || !c->pinned)
		return rc;
	if (!(rc = seats_take(c->issuer_gpu, c->nic_gpu, c->sm, c->nic_sm, &map)))
		seats_found(out, &map);
	return rc;
}

/* Many periods of the NIC's poll, so that its phase is even: a GPU polls every
 * 0.2 us, or every us over PCIe, a CPU in less. */
uint32_t path_gap_ticks(const struct path_conf *c)
{
	return c->nic->on_gpu ? 16384 : 2048;
}

/* What this file reads of a point, all of it. */
const char *const path_reads[] = {
	"metric", "nic", "issuer", "submitter", "op", "size", "payload", "gpu", "nic_gpu", "ordering",
	"doorbell", "depth", "batch", "signal", "cq", "fresh", "entries", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem",
	"segment", "page", "registration", "staged_from", "mechanism", "host_page", "mr_count", "mr_order", "xlat_cache",
	"recover_every", "fault", "check", "lines", "messages", "warmup", "marks", "plant",
	"untold", "cpu", "nic_cpu", "helper_cpu", "sm", "nic_sm", "consumer", "notify", "proxy", "proxy_batch", "boundary", "cpu_state", "cpu_state_ms", NULL
};
