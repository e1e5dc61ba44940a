/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a rate's point that says who posts: the issuers themselves, or workers, by which
 * rings, on which CPUs.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/handoff/rate_parts.h"
#include <errno.h>
#include <string.h>

enum { DEPTH_MAX = 32768 };      /* as the variable has it */

uint32_t rate_agents_of(const struct rate_conf *c, uint32_t q)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->agents; i++)
		n += (c->form == FORM_BLOCK ? i / c->threads : i % c->queues) == q;
	return n;
}

/* What a rate whose kernels end doesn't have. */
static int refuse_ends(const struct point *pt, const struct rate_conf *c, char *why, size_t len)
{
	uint32_t most = 1u << c->path.log_n, many = c->agents * c->path.batch;

	/* others who borrow a rate's agents need ones that run */
	if (strcmp(pt->probe->name, "rate"))
		return fs_refuse(EINVAL, why, len, "submitter=cpu in the probe %s isn't built: its issuers would end their kernels; legal: submitter=gpu, proxy, or the probes path and rate",
				 pt->probe->name);
	if (fs_num(pt, "workers") != 1 || !fs_is(pt, "rings", "auto"))
		return fs_refuse(EINVAL, why, len, "workers and rings with submitter=cpu: one thread sees the kernel of all issuers end and launches the next one; legal: workers=1 and rings=auto");
	if (!fs_is(pt, "queues", "auto") && fs_num(pt, "queues") != 1)
		return fs_refuse(EINVAL, why, len, "queues=%u with submitter=cpu: the CPU posts what all issuers send into a queue of its own; legal: queues=auto (here 1)",
				 (uint32_t)fs_num(pt, "queues"));
	if (c->sharing != SHARE_EXCLUSIVE)
		return fs_refuse(EINVAL, why, len, "sharing with submitter=cpu: issuers have no queue, and the CPU's has one owner; legal: sharing=exclusive");
	if (fs_num(pt, "signal") > 1 || fs_is(pt, "cq", "collapsed"))
		return fs_refuse(EINVAL, why, len, "%s with submitter=cpu: the next kernel is launched behind each message's completion; legal: signal=1 and cq=ring",
				 fs_is(pt, "cq", "collapsed") ? "cq=collapsed" : "signal");
	if (c->path.depth > most)
		return fs_refuse(EINVAL, why, len, "depth=%u is over the queue of entries=%u; legal: depth=1..%u", c->path.depth, most, most);
	if (many > DEPTH_MAX)
		return fs_refuse(EINVAL, why, len, "%u issuers and batch=%u with submitter=cpu: a kernel's end posts what all of them send, and no queue holds %u messages; legal: issuers times batch up to %d",
				 c->agents, c->path.batch, many, DEPTH_MAX);
	if (many > c->path.depth)
		return fs_refuse(EINVAL, why, len, "depth=%u with submitter=cpu, %u issuer%s and batch=%u: a kernel's end posts what all of them send, %u messages, and the next kernel waits for them; legal: depth=%u.., in a queue that has as many entries",
				 c->path.depth, c->agents, c->agents > 1 ? "s" : "", c->path.batch, many, many);
	return 0;
}

/* What a rate without workers, or with them, doesn't have. */
static int refuse_others(const struct point *pt, const struct rate_conf *c, char *why, size_t len)
{
	switch (c->path.route.submitter) {
	case SUBMITTER_GPU:
		if (fs_num(pt, "workers") != 1 || !fs_is(pt, "rings", "auto"))
			return fs_refuse(EINVAL, why, len, "workers and rings with submitter=gpu: the issuers post, and nobody serves them; legal: submitter=proxy");
		if (!fs_is(pt, "helper_cpu", "auto"))
			return fs_refuse(EINVAL, why, len, "helper_cpu with submitter=gpu: there is no worker; legal: helper_cpu=auto, or submitter=proxy");
		return 0;
	case SUBMITTER_PROXY:
		break;
	case SUBMITTER_HOST_DOORBELL:
		return fs_refuse(EINVAL, why, len, "submitter=host-doorbell in a rate isn't built: a worker would have to poll a word of each issuer's queue; legal: submitter=gpu, proxy");
	default:
		return refuse_ends(pt, c, why, len);
	}
	if (c->sharing != SHARE_EXCLUSIVE)
		return fs_refuse(EINVAL, why, len, "sharing with submitter=proxy: issuers have no queue, what they can share is a ring; legal: sharing=exclusive, and proxy=baseline with fewer rings than issuers");
	if (fs_num(pt, "signal") > 1 || fs_is(pt, "cq", "collapsed"))
		return fs_refuse(EINVAL, why, len, "%s with submitter=proxy: each message's completion gives its credit back; legal: signal=1 and cq=ring",
				 fs_is(pt, "cq", "collapsed") ? "cq=collapsed" : "signal");
	return 0;
}

int rate_resolve_rings(const struct point *pt, struct rate_conf *c, char *why, size_t len)
{
	uint32_t workers = (uint32_t)fs_num(pt, "workers"), tuned = c->path.form == PROXY_TUNED, most;
	int rc = refuse_others(pt, c, why, len);

	if (!rc && rate_ending(c))
		c->queues = c->helpers = 1;
	if (rc || c->path.route.submitter != SUBMITTER_PROXY)
		return rc;
	if (tuned && c->agents > RINGS_MAX)
		return fs_refuse(EINVAL, why, len, "threads=%u and blocks=%u with proxy=tuned: each of %u issuers has a ring of its own; legal: at most %d of them, or proxy=baseline",
				 c->threads, c->blocks, c->agents, RINGS_MAX);
	most = c->agents < RINGS_MAX ? c->agents : RINGS_MAX;
	c->queues = !fs_is(pt, "rings", "auto") ? (uint32_t)fs_num(pt, "rings") : tuned || workers > most ? most : workers;
	if (tuned && c->queues != c->agents)
		return fs_refuse(EINVAL, why, len, "rings=%u with proxy=tuned and %u issuer%s: a ring has one producer; legal: rings=%u (or auto), or proxy=baseline",
				 c->queues, c->agents, c->agents > 1 ? "s" : "", c->agents);
	if (c->queues > most)
		return fs_refuse(EINVAL, why, len, "rings=%u for %u issuer%s: some would have no producer; legal: rings=1..%u", c->queues,
				 c->agents, c->agents > 1 ? "s" : "", most);
	if (workers > c->queues)
		return fs_refuse(EINVAL, why, len, "workers=%u for %u ring%s: some would serve none; legal: workers=1..%u%s", workers, c->queues,
				 c->queues > 1 ? "s" : "", c->queues, c->queues < RINGS_MAX ? ", or more issuers (threads, blocks) and rings" : "");
	if (!fs_is(pt, "queues", "auto") && fs_num(pt, "queues") != c->queues)
		return fs_refuse(EINVAL, why, len, "queues=%u with submitter=proxy: each ring has a queue of its own; legal: queues=auto (here %u)",
				 (uint32_t)fs_num(pt, "queues"), c->queues);
	c->helpers = workers;
	return 0;
}

/* How many threads of the point that are no workers run on each CPU. */
static void count_others(const struct rate_conf *c, uint8_t *on, int cpus)
{
	struct nic_many many;
	int cpu;

	if (c->path.issuer_gpu >= 0 && c->path.cpu < cpus)
		on[c->path.cpu]++; /* it starts kernels and awaits them */
	for (uint32_t i = 0; i < rate_posters(c); i++)
		if ((cpu = rate_agent_cpu(c, (int)i)) >= 0 && cpu < cpus)
			on[cpu]++;
	if (c->path.nic->on_gpu)
		return;
	rate_nic_fill(c, &many);
	for (uint32_t i = 0; i < c->workers; i++)
		if (many.cpus[i] >= 0 && many.cpus[i] < cpus)
			on[many.cpus[i]]++;
}

/* Worker 0 where a path's helper runs, if that is said or free; the others on the next CPUs in the
 * same order, near the GPU, that have the fewest threads of this point. */
void rate_resolve_helper_cpus(const struct point *pt, const struct machine *m, struct rate_conf *c)
{
	enum { CPUS = 4096 };
	const char *pci = c->path.issuer_gpu >= 0 && c->path.issuer_gpu < m->ngpus ? m->gpu[c->path.issuer_gpu].pci : "";
	int n = pin_cpus(), order[CPUS], first = 0;
	uint8_t on[CPUS] = { 0 };

	if (!c->helpers)
		return;
	n = n < CPUS ? n : CPUS;
	for (int k = 0; k < n; k++) {
		order[k] = pin_cpu_near(pci, k, NULL);
		first = order[k] == c->path.helper_cpu ? k : first;
	}
	count_others(c, on, CPUS);
	for (uint32_t i = 0; i < c->helpers; i++) {
		int best = c->path.helper_cpu;

		for (int k = 0; k < n && (i || fs_is(pt, "helper_cpu", "auto")); k++) {
			int cpu = order[(first + k) % n];

			if (cpu >= 0 && cpu < CPUS && on[cpu] < on[best])
				best = cpu;
		}
		c->helper_cpu[i] = best;
		c->crowded |= on[best]++ != 0;
	}
}
