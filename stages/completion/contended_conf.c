/* SPDX-License-Identifier: Apache-2.0 */
/* From a point to the agents that post through one NIC; what can't be is refused here. */
#include "harness/err.h"
#include "stages/completion/contended_parts.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES_MAX = 1000000 };

/* What a round trip asks for, and what is of no use without one. */
static int legal_trip(const struct point *pt, struct cont_conf *c, char *why, size_t len)
{
	int64_t size = fs_num(pt, "size");

	c->choice.trip = fs_word(pt, "trip");
	c->reply = fs_word(pt, "reply");
	c->silent = fs_word(pt, "fault") == FAULT_NO_REPLY;
	if (c->choice.trip != TRIP_ROUND) {
		if (c->reply != REPLY_PUT || c->silent)
			return fs_refuse(EINVAL, why, len, "%s with trip=one-way: nobody replies; legal: trip=round", c->silent ? "fault=no-reply" : "reply");
		return 0;
	}
	if (size < 4 || size > 4096 || size & 3)
		return fs_refuse(EINVAL, why, len, "size=%lld with trip=round: a payload is seen by its last word, which has the trip's number from its fourth byte on, and lies on one page; legal: multiples of 4 from 4 to 4096",
				 (long long)size);
	if (fs_word(pt, "doorbell") != DBM_RECORD_RING)
		return fs_refuse(EINVAL, why, len, "trip=round is built for one doorbell; legal: doorbell=record-ring, or trip=one-way");
	if (c->messages < 2 * RTT_BLOCK)
		return fs_refuse(EINVAL, why, len, "messages=%llu with trip=round: the responder's clock is rated while they last; legal: %d..%d",
				 (unsigned long long)c->messages, 2 * RTT_BLOCK, MESSAGES_MAX);
	return 0;
}

static int legal_words(const struct point *pt, struct cont_conf *c, char *why, size_t len)
{
	int fault, round = fs_is(pt, "trip", "round"), most = CONT_OTHERS_CPU - round;

	c->others = (uint32_t)fs_num(pt, "others");
	c->queue = fs_word(pt, "others_queue");
	c->pace_ns = (uint64_t)fs_num(pt, "others_pace");
	c->messages = fs_is(pt, "messages", "auto") ? CONT_MESSAGES : (uint64_t)fs_num(pt, "messages");
	c->warmup = fs_is(pt, "warmup", "auto") ? CONT_WARMUP : (uint64_t)fs_num(pt, "warmup");
	fault = fs_word(pt, "fault");
	if (cont_far_legal(pt, c, &fault, why, len))
		return -EINVAL;
	if (fault != FAULT_NONE && fault != FAULT_KEY && fault != FAULT_DEAD_NIC && fault != FAULT_ERROR_CQE && fault != FAULT_NO_REPLY &&
	    fault != FAULT_STUCK_WORKER && fault != FAULT_KILLED_WORKER && fault != FAULT_RING_OVERRUN)
		return fs_refuse(EINVAL, why, len, "this fault of contended messages isn't injected; legal: none, key, dead-nic, error-cqe, with trip=round no-reply, with submitter=proxy stuck-worker, killed-worker, ring-overrun, and with others_gpu failed-launch");
	if (fs_is(pt, "submitter", "gpu") && (fault == FAULT_STUCK_WORKER || fault == FAULT_KILLED_WORKER || fault == FAULT_RING_OVERRUN))
		return fs_refuse(EINVAL, why, len, "fault=stuck-worker, killed-worker and ring-overrun need a worker; legal: submitter=proxy");
	if (fs_is(pt, "issuer", "cpu") && c->others > (uint32_t)most)
		return fs_refuse(EINVAL, why, len, "others=%u with issuer=cpu: a thread each%s; legal: others=0..%d", c->others,
				 round ? ", and one that replies" : "", most);
	if (c->messages > MESSAGES_MAX)
		return fs_refuse(EINVAL, why, len, "messages=%llu: the stamps of every message are kept; legal: 1..%d",
				 (unsigned long long)c->messages, MESSAGES_MAX);
	return legal_trip(pt, c, why, len);
}

/* The agents are those of a rate, one thread a block. */
static int resolve_rate(const struct point *pt, const struct machine *m, struct cont_conf *c, char *why, size_t len)
{
	int round = c->choice.trip == TRIP_ROUND, shared = c->queue == OTHERS_SHARED, hands = fs_is(pt, "submitter", "proxy");
	char blocks[16], batch[16], rings[16], workers[16];
	const char *const same[][2] = {
		{ "sharing", shared && !hands ? "gpu" : "exclusive" }, { "threads", "1" }, { "blocks", blocks },
		{ "queues", shared && round && !hands ? "2" : "auto" }, { "rings", hands ? rings : "auto" }, { "workers", workers },
		{ "batch", hands ? "1" : batch }, { "marks", "outer" }, { "messages", "auto" }, { "warmup", "auto" },
	};
	struct point p = *pt;

	snprintf(blocks, sizeof(blocks), "%u", 1 + c->others + (uint32_t)round);
	snprintf(batch, sizeof(batch), "%lld", (long long)fs_num(pt, "others_batch"));
	snprintf(rings, sizeof(rings), "%u", (shared ? 1 : 1 + c->others) + (uint32_t)round);
	snprintf(workers, sizeof(workers), "%lld", (long long)fs_num(pt, "workers") + (hands && round)); /* the responder's */
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (fs_point_set(&p, same[i][0], same[i][1]))
			return fs_refuse(EINVAL, why, len, "%s=%s isn't known", same[i][0], same[i][1]);
	/* where the agents poll it; with a CPU among them it is there anyway */
	if (round && fs_is(pt, "dst_mem", "auto") && fs_is(pt, "issuer", "gpu") && fs_is(pt, "nic", "peer") && fs_point_set(&p, "dst_mem", "gpu"))
		return fs_refuse(EINVAL, why, len, "dst_mem=gpu isn't known");
	if ((c->silent || c->choice.refused) && fs_point_set(&p, "fault", "none"))
		return fs_refuse(EINVAL, why, len, "fault=none isn't known");
	return rate_resolve(&p, m, &c->rate, why, len);
}

int cont_resolve(const struct point *pt, const struct machine *m, struct cont_conf *c, char *why, size_t len)
{
	uint32_t batch = (uint32_t)fs_num(pt, "others_batch"), depth = (uint32_t)fs_num(pt, "depth");
	const struct path_conf *path = &c->rate.path;
	int rc;

	memset(c, 0, sizeof(*c));
	if ((rc = legal_words(pt, c, why, len)) || (rc = cont_help_legal(pt, c, why, len)))
		return rc;
	if (batch > depth)
		return fs_refuse(EINVAL, why, len, "others_batch=%u with depth=%u: a batch would wait for room that is never there; legal: depth=%u or more",
				 batch, depth, batch);
	if ((rc = resolve_rate(pt, m, c, why, len)) || (rc = cont_help_resolve(c, why, len)))
		return rc;
	c->rate.path.batch = batch; /* which is 1 in the point of who hands over, where a descriptor speaks of one message */
	if (!path->nic->completes)
		return fs_refuse(EINVAL, why, len, "nic=null: no message completes, and nobody is in anybody's way; legal: nic=soft or peer");
	c->choice.ord = path->choice.ord;
	c->choice.form = c->rate.form;
	c->choice.kind = path->choice.kind;
	c->choice.device = path->issuer_gpu;
	c->choice.agents = c->rate.agents;
	c->senders = 1 + c->others;
	c->queues = c->rate.queues - (c->choice.trip == TRIP_ROUND);
	if ((rc = cont_far_resolve(pt, m, c, why, len)))
		return rc;
	/* the sender's order guarantees the doorbell's; that a payload's last word comes last is a NIC's habit */
	if (c->choice.trip == TRIP_ROUND && path->size > 8 && !strcmp(path->order_class, "guaranteed"))
		c->rate.path.order_class = "relied-on";
	c->choice.beside = path->nic->on_gpu && path->nic_gpu == path->issuer_gpu ? c->rate.workers : 0;
	return 0;
}

const char *const cont_reads[] = {
	"nic", "issuer", "submitter", "proxy", "proxy_batch", "workers", "gpu", "nic_gpu", "others", "others_queue", "others_gpu", "others_batch", "others_pace", "trip", "reply", "nic_workers", "ordering", "doorbell",
	"depth", "entries", "size", "payload", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem", "page", "fault", "messages", "warmup",
	"cpu", "nic_cpu", "helper_cpu", NULL
};
