/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a point (path_conf.c) that is of its queue: how the issuer rings, in which order it stores, how
 * many messages are under way, how completions come; and how far an order reaches.
 */
#include "harness/err.h"
#include "stages/path_conf_parts.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int path_resolve_queue(const struct point *pt, struct path_conf *c, char *why, size_t len)
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
