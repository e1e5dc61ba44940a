/* SPDX-License-Identifier: Apache-2.0 */
/* From a point to a rate's queues and agents; what can't be is refused here. */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/handoff/rate_parts.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TURNS_MAX 4000000ull    /* kernels of a pass: at 15 us each a minute */
#define SLOTS_BYTES_MAX (4ull << 30)

/* Places, order, payload and CPUs are resolved as the path's. */
static int resolve_path(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len)
{
	static const char *const same[][2] = {
		{ "metric", "rate" }, { "marks", "outer" }, { "fault", "none" }, { "check", "none" }, { "messages", "auto" }, { "signal", "1" },
		{ "cq", "ring" }, { "depth", "1" }, { "batch", "1" },
	};
	struct point p = *pt;
	int rc;

	/* a kernel's end of all issuers is counted where these are (rate_conf_rings.c) */
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]) - (fs_is(pt, "submitter", "cpu") ? 0 : 2); i++)
		if (fs_point_set(&p, same[i][0], same[i][1]))
			return fs_refuse(EINVAL, why, len, "%s=%s isn't known", same[i][0], same[i][1]);
	rc = path_resolve(&p, m, c, why, len);
	c->depth = (uint32_t)fs_num(pt, "depth");
	c->batch = (uint32_t)fs_num(pt, "batch");
	if (!rc && doorbell_is_flame(c->choice.mode))
		return fs_refuse(EINVAL, why, len, "BlueFlame in a rate: a line that is overwritten before the NIC has taken it is lost; legal: doorbell=record-ring, ring-record-ring, ring");
	/* the points of others who borrow a rate's agents */
	if (!rc && post_blocks(c->choice.kind) > 1 && strcmp(pt->probe->name, "rate"))
		return fs_refuse(EINVAL, why, len, "payload=inline with size=%u takes two basic blocks, which the agents of the probe %s aren't built for; legal: size=0..%d, or payload=pointer",
			  c->size, pt->probe->name, WQE_INLINE_MAX);
	return rc;
}

static int resolve_agents(const struct point *pt, struct rate_conf *c, char *why, size_t len)
{
	int gpu = c->path.issuer_gpu >= 0, teams;
	uint32_t want, lanes;
	char word[16];

	c->sharing = fs_word(pt, "sharing");
	teams = c->sharing == SHARE_WARP;
	if (post_blocks(c->path.choice.kind) > 1 && c->sharing != SHARE_EXCLUSIVE)
		return fs_refuse(EINVAL, why, len, "sharing=%s with payload=inline and size=%u: WQEs of two basic blocks are built for queues that are one thread's; legal: sharing=exclusive, size=0..%d, or payload=pointer",
			  fs_word_text(pt, "sharing", word, sizeof(word)), c->path.size, WQE_INLINE_MAX);
	lanes = gpu && teams ? 32 : 1;
	c->threads = fs_is(pt, "threads", "auto") ? lanes : (uint32_t)fs_num(pt, "threads");
	c->blocks = fs_is(pt, "blocks", "auto") ? 1 : (uint32_t)fs_num(pt, "blocks");
	if (gpu && c->threads > RATE_THREADS_MAX)
		return fs_refuse(EINVAL, why, len, "threads=%u: a block's posting loops need registers; legal: threads=1..%d, and more blocks",
			  c->threads, RATE_THREADS_MAX);
	if (c->threads % lanes)
		return fs_refuse(EINVAL, why, len, "threads=%u with sharing=warp: a warp has 32 lanes; legal: multiples of 32", c->threads);
	c->agents = c->threads / lanes * c->blocks;
	if (c->agents > RATE_AGENTS_MAX || (!gpu && c->agents > 64))
		return fs_refuse(EINVAL, why, len, "threads=%u and blocks=%u are %u agents; legal: at most %d%s", c->threads, c->blocks, c->agents,
			  gpu ? RATE_AGENTS_MAX : 64, gpu ? "" : " with issuer=cpu");
	want = c->sharing == SHARE_EXCLUSIVE || teams ? c->agents : c->sharing == SHARE_BLOCK ? c->blocks : 1;
	if (c->path.route.submitter != SUBMITTER_GPU) {
		c->form = FORM_SOLO;
		return 0; /* rings are in the place of queues */
	}
	c->queues = fs_is(pt, "queues", "auto") ? want : (uint32_t)fs_num(pt, "queues");
	if (c->queues > WIDE_QUEUES_MAX)
		return fs_refuse(EINVAL, why, len, "%u queues; legal: at most %d, by sharing them or with fewer threads", c->queues, WIDE_QUEUES_MAX);
	if ((c->sharing == SHARE_EXCLUSIVE || c->sharing == SHARE_BLOCK) && c->queues != want)
		return fs_refuse(EINVAL, why, len, "queues=%u with sharing=%s, threads=%u and blocks=%u; legal: queues=%u (or auto)", c->queues,
			  c->sharing == SHARE_BLOCK ? "block" : "exclusive", c->threads, c->blocks, want);
	if (c->queues > c->agents)
		return fs_refuse(EINVAL, why, len, "queues=%u for %u agents: some would have none; legal: queues=1..%u", c->queues, c->agents, c->agents);
	c->form = teams ? c->queues == c->agents ? FORM_TEAM : FORM_TEAMS : c->sharing == SHARE_BLOCK ? FORM_BLOCK :
		  c->sharing == SHARE_GPU ? FORM_GPU : c->sharing == SHARE_LOCK ? FORM_LOCK : FORM_SOLO;
	return 0;
}

/* Workers of the NIC, and how many CPUs all of it wants. */
static int resolve_workers(const struct point *pt, struct rate_conf *c, char *why, size_t len)
{
	int cpus = pin_cpus(), busy = 0;

	c->workers = 0;
	if (!c->path.nic->start_many && c->path.nic->completes)
		return fs_refuse(EINVAL, why, len, "nic=%s serves one queue alone; legal: null, soft, peer", c->path.nic->name);
	if (!c->path.nic->start_many) {
		c->crowded = c->helpers && (int)rate_posters(c) + (int)c->helpers > cpus;
		return 0;
	}
	if (!fs_is(pt, "nic_workers", "auto"))
		c->workers = (uint32_t)fs_num(pt, "nic_workers");
	else if (c->path.nic->on_gpu)
		c->workers = c->queues < 32 ? c->queues : 32;
	else
		c->workers = c->queues > 1 && cpus > 4 ? (c->queues < (uint32_t)cpus / 4 ? c->queues : (uint32_t)cpus / 4) : 1;
	if (c->workers > c->queues)
		return fs_refuse(EINVAL, why, len, "nic_workers=%u for %u queues: some would have none; legal: nic_workers=1..%u", c->workers,
			  c->queues, c->queues);
	if (!c->path.nic->on_gpu)
		busy += (int)c->workers;
	busy += (int)rate_posters(c) + (int)c->helpers;
	c->crowded = busy > cpus;
	return 0;
}

static int resolve_signal(const struct point *pt, struct rate_conf *c, char *why, size_t len)
{
	uint32_t signal = (uint32_t)fs_num(pt, "signal"), batch = c->path.batch;
	uint32_t log_n = c->path.log_n - (post_blocks(c->path.choice.kind) - 1), entries = 1u << log_n; /* messages that the queue holds */
	uint32_t least = batch + signal - 1; /* messages under way of which one surely asks */

	if (signal & (signal - 1))
		return fs_refuse(EINVAL, why, len, "signal=%u: a rate's loop counts by shifts; legal: powers of two", signal);
	if (signal > batch ? signal % batch : batch % signal)
		return fs_refuse(EINVAL, why, len, "signal=%u with batch=%u: legal where one is a multiple of the other", signal, batch);
	if (c->path.nic->completes && c->path.depth < least) {
		while (entries < least)
			entries <<= 1;
		return fs_refuse(EINVAL, why, len, "depth=%u with batch=%u and signal=%u: a batch would wait for a completion that is never asked for; legal: depth=%u..%u with entries=%u",
			  c->path.depth, batch, signal, least, entries, entries * post_blocks(c->path.choice.kind));
	}
	if (fs_is(pt, "cq", "collapsed") && !c->path.nic->completes)
		return fs_refuse(EINVAL, why, len, "cq=collapsed with nic=null: nobody completes anything; legal: cq=ring");
	c->path.collapsed = fs_is(pt, "cq", "collapsed");
	c->log_signal = (uint32_t)__builtin_ctz(signal);
	/* a slot for each completion under way, and laps of the CQ no more than 2^15 indices apart */
	c->log_ncqe = c->path.collapsed ? 0 : log_n > c->log_signal + 1 ? log_n - c->log_signal : 1;
	return 0;
}

/* A second or two a point: a queue that is passed from hand to hand under a lock does well
 * under a million turns a second, however many wait for it. */
static uint64_t auto_messages(const struct rate_conf *c)
{
	if (rate_ending(c))
		return 20000; /* with one issuer a launch each */
	if (c->path.issuer_gpu < 0)
		return 100000;
	if (c->form == FORM_LOCK)
		return 100000ull * (c->path.batch < 16 ? c->path.batch : 16);
	return 100000 + 50000ull * c->agents;
}

static int resolve_amount(const struct point *pt, struct rate_conf *c, char *why, size_t len)
{
	uint64_t signal = 1ull << c->log_signal, unit = (signal > c->path.batch ? signal : c->path.batch) * c->agents;
	uint64_t bytes;

	c->messages = fs_is(pt, "messages", "auto") ? auto_messages(c) : (uint64_t)fs_num(pt, "messages");
	c->warmup = fs_is(pt, "warmup", "auto") ? 1024ull * (c->form == FORM_LOCK && c->agents > 16 ? 16 : c->agents) :
						  (uint64_t)fs_num(pt, "warmup");
	/* whole batches, of whole completions, for each agent */
	c->messages = (c->messages + unit - 1) / unit * unit;
	c->warmup = (c->warmup + unit - 1) / unit * unit;
	if (rate_ending(c) && c->messages / unit > TURNS_MAX)
		return fs_refuse(EINVAL, why, len, "messages=%llu with submitter=cpu and %u issuer%s: %llu kernels one after another; legal: messages=1..%llu, or more issuers or a larger batch",
				 (unsigned long long)c->messages, c->agents, c->agents > 1 ? "s" : "", (unsigned long long)(c->messages / unit),
				 (unsigned long long)(TURNS_MAX * unit));
	c->slots = 64;
	while (c->slots < c->path.depth)
		c->slots *= 2;
	if (c->path.size > 4096)
		return fs_refuse(EINVAL, why, len, "size=%u: a rate's payload lies on one page; legal: size=0..4096", c->path.size);
	bytes = c->slots * c->path.stride * c->queues;
	if (bytes > SLOTS_BYTES_MAX)
		return fs_refuse(EINVAL, why, len, "%u queues of depth=%u with messages of %u B need %llu MiB of payload memory; legal: at most 4096 MiB",
			  c->queues, c->path.depth, c->path.size, (unsigned long long)(bytes >> 20));
	return 0;
}

static int resolve_fault(const struct point *pt, struct rate_conf *c, char *why, size_t len)
{
	c->fault = fs_word(pt, "fault");
	switch (c->fault) {
	case FAULT_NONE:
		return 0;
	case FAULT_KEY:
	case FAULT_DEAD_NIC:
	case FAULT_ERROR_CQE:
		if (!c->path.nic->completes)
			return fs_refuse(EINVAL, why, len, "fault with nic=null: nobody would see it; legal: fault=none");
		if (c->fault == FAULT_KEY && !c->path.size)
			return fs_refuse(EINVAL, why, len, "fault=key without payload: the WQE has no such field; legal: size=1..");
		return 0;
	case FAULT_STUCK_WORKER:
	case FAULT_KILLED_WORKER:
	case FAULT_RING_OVERRUN:
		if (!c->helpers)
			return fs_refuse(EINVAL, why, len, "fault=stuck-worker, killed-worker and ring-overrun need workers; legal: submitter=proxy, or cpu but for the last");
		if (c->fault == FAULT_RING_OVERRUN && rate_ending(c))
			return fs_refuse(EINVAL, why, len, "fault=ring-overrun: there is no ring of descriptors; legal: submitter=proxy");
		return 0;
	case FAULT_FAILED_LAUNCH:
		if (!rate_ending(c))
			return fs_refuse(EINVAL, why, len, "fault=failed-launch: nothing is launched for a message; legal: submitter=cpu");
		return 0;
	case FAULT_GPU_MEMORY:
	case FAULT_GPU_STICKY:
	case FAULT_GPU_LOST:
		if (!c->path.pinned)
			return fs_refuse(EINVAL, why, len, "fault=gpu-* needs a GPU in the point: issuer=gpu or nic=peer");
		return 0;
	default:
		return fs_refuse(EINVAL, why, len, "this fault of a rate isn't injected; legal: none, key, dead-nic, error-cqe, gpu-memory, gpu-sticky, gpu-lost, with submitter=proxy or cpu stuck-worker, killed-worker, with proxy ring-overrun, with cpu failed-launch");
	}
}

int rate_resolve(const struct point *pt, const struct machine *m, struct rate_conf *c, char *why, size_t len)
{
	int rc;

	memset(c, 0, sizeof(*c));
	if (fs_is(pt, "marks", "rotate"))
		return fs_refuse(EINVAL, why, len, "marks=rotate: a rate keeps sums, no marks; legal: all (sums in passes of their own), outer (none)");
	c->spans = fs_is(pt, "marks", "all");
	if ((rc = resolve_path(pt, m, &c->path, why, len)) || (rc = resolve_agents(pt, c, why, len)) ||
	    (rc = rate_resolve_rings(pt, c, why, len)) || (rc = resolve_workers(pt, c, why, len)) || (rc = resolve_signal(pt, c, why, len)) ||
	    (rc = resolve_amount(pt, c, why, len)))
		return rc;
	rate_resolve_helper_cpus(pt, m, c);
	return resolve_fault(pt, c, why, len);
}

const char *const rate_reads[] = {
	"nic", "issuer", "submitter", "proxy", "proxy_batch", "boundary", "workers", "rings", "gpu", "nic_gpu", "sharing", "threads", "blocks", "queues", "nic_workers", "ordering", "doorbell",
	"depth", "batch", "signal", "cq", "entries", "size", "payload", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem",
	"page", "fault", "messages", "warmup", "marks", "cpu", "nic_cpu", "helper_cpu", "cpu_state", "cpu_state_ms", NULL
};
