/* SPDX-License-Identifier: Apache-2.0 */
/* From a point to the two queues of a round trip; what can't be is refused here. */
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/completion/rtt_parts.h"
#include <errno.h>
#include <string.h>

enum { DELAY_NS = 100, DELAY_S = 60 };

static int legal_words(const struct point *pt, struct rtt_conf *c, char *why, size_t len)
{
	int fault = fs_word(pt, "fault"), proxy = fs_is(pt, "submitter", "proxy");
	int64_t size = fs_num(pt, "size"), ns = fs_num(pt, "respond_ns");
	double wait_s;

	c->reply = fs_word(pt, "reply");
	c->silent = fault == FAULT_NO_REPLY;
	if (!fs_is(pt, "submitter", "gpu") && !proxy)
		return fs_refuse(EINVAL, why, len, "submitter=host-doorbell and cpu in a round trip aren't built; legal: submitter=gpu, proxy");
	if (fault != FAULT_NONE && fault != FAULT_KEY && fault != FAULT_DEAD_NIC && fault != FAULT_ERROR_CQE && !c->silent &&
	    fault != FAULT_STUCK_WORKER && fault != FAULT_KILLED_WORKER && fault != FAULT_RING_OVERRUN)
		return fs_refuse(EINVAL, why, len, "this fault of a round trip isn't injected; legal: none, key, dead-nic, error-cqe, no-reply, and with submitter=proxy stuck-worker, killed-worker, ring-overrun");
	if (size < 4 || size > 4096 || size & 3)
		return fs_refuse(EINVAL, why, len, "size=%lld: a payload is seen by its last word, which has the message's number from its fourth byte on, and lies on one page; legal: multiples of 4 from 4 to 4096",
				 (long long)size);
	if (fs_word(pt, "doorbell") != DBM_RECORD_RING && fs_word(pt, "doorbell") != DBM_RING)
		return fs_refuse(EINVAL, why, len, "the agents of a round trip are built for two doorbells; legal: doorbell=record-ring, ring");
	c->messages = fs_is(pt, "messages", "auto") ? RTT_MESSAGES : (uint64_t)fs_num(pt, "messages");
	c->warmup = fs_is(pt, "warmup", "auto") ? RTT_WARMUP : (uint64_t)fs_num(pt, "warmup");
	if (c->messages < 2 * RTT_BLOCK || c->messages > 4000000)
		return fs_refuse(EINVAL, why, len, "messages=%llu: every message's time is kept, and the responder's clock is rated while they last; legal: %d..4000000",
				 (unsigned long long)c->messages, 2 * RTT_BLOCK);
	c->respond_ns = (uint32_t)ns;
	if (!ns)
		return 0;
	if (ns < DELAY_NS)
		return fs_refuse(EINVAL, why, len, "respond_ns=%lld: a wait takes some tens of ns by itself, so that a shorter one isn't what it says; legal: 0, or %d ns or more",
				 (long long)ns, DELAY_NS);
	if (c->messages < 32 * RTT_BLOCK)
		return fs_refuse(EINVAL, why, len, "respond_ns=%lld with messages=%llu: blocks with the wait and without it alternate; legal: messages=%d..",
				 (long long)ns, (unsigned long long)c->messages, 32 * RTT_BLOCK);
	wait_s = (double)ns * 1e-9 * (double)(c->messages + c->warmup) / 2;
	if (wait_s > DELAY_S)
		return fs_refuse(EINVAL, why, len, "respond_ns=%lld with messages=%llu waits for %.0f s in all; legal: at most %d s, by fewer messages or a shorter wait",
				 (long long)ns, (unsigned long long)c->messages, wait_s, DELAY_S);
	return 0;
}

/* Places are said by the sender: what the issuer's have in its own memory the responder's have in its. */
static int mirrored(const struct rtt_conf *c, int place)
{
	return place == PLACE_HOST ? PLACE_HOST : place == c->choice.issuer ? c->choice.responder : c->choice.issuer;
}

static void resolve_ways(struct rtt_conf *c)
{
	static const int senders[] = { OBJ_QUEUE, OBJ_CQ, OBJ_SRC, OBJ_DST };
	struct rate_conf *put = &c->way[RTT_PUT], *reply = &c->way[RTT_REPLY];

	*put = c->rate;
	put->queues = put->agents = 1;
	put->helpers = c->rate.helpers ? 1 : 0;
	put->messages = c->messages;
	put->warmup = c->warmup;
	put->fault = c->silent ? FAULT_NONE : c->rate.fault;
	*reply = *put;
	for (size_t i = 0; i < sizeof(senders) / sizeof(senders[0]); i++)
		reply->path.place[senders[i]] = mirrored(c, put->path.place[senders[i]]);
	reply->path.issuer_gpu = c->choice.responder;
	if (c->reply == REPLY_SIGNAL) {
		reply->path.size = 8;
		reply->path.choice.kind = POST_INLINE;
	}
}

int rtt_resolve(const struct point *pt, const struct machine *m, struct rtt_conf *c, char *why, size_t len)
{
	const char *const same[][2] = {
		{ "sharing", "exclusive" }, { "threads", "2" }, { "blocks", "1" }, { "queues", "auto" }, { "depth", "1" }, { "batch", "1" },
		{ "marks", "outer" }, { "workers", fs_is(pt, "submitter", "proxy") ? "2" : "1" }, /* one on either side */
	};
	struct path_conf *path = &c->rate.path;
	struct point p = *pt;
	int rc;

	memset(c, 0, sizeof(*c));
	if ((rc = legal_words(pt, c, why, len)))
		return rc;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (fs_point_set(&p, same[i][0], same[i][1]))
			return fs_refuse(EINVAL, why, len, "%s=%s isn't known", same[i][0], same[i][1]);
	if (c->silent && fs_point_set(&p, "fault", "none"))
		return fs_refuse(EINVAL, why, len, "fault=none isn't known");
	if ((rc = rate_resolve(&p, m, &c->rate, why, len)))
		return rc;
	if (!path->nic->completes)
		return fs_refuse(EINVAL, why, len, "nic=null: nobody carries a message to the responder; legal: nic=soft or peer");
	/* the sender's order guarantees the doorbell's; that a payload's last word comes last is a NIC's habit */
	if (path->size > 8 && !strcmp(path->order_class, "guaranteed"))
		path->order_class = "relied-on";
	c->choice.ord = path->choice.ord;
	c->choice.mode = path_issuer_mode(path);
	c->choice.kind = path->choice.kind;
	c->choice.instr = c->rate.fault == FAULT_RING_OVERRUN ? HAND_FAULTY : HAND_BARE;
	c->choice.issuer = path->issuer_gpu;
	c->choice.responder = path->issuer_gpu >= 0 && path->nic->on_gpu ? path->nic_gpu : path->issuer_gpu;
	c->choice.beside = path->nic->on_gpu && path->nic_gpu == c->choice.responder ? c->rate.workers : 0;
	resolve_ways(c);
	return 0;
}

void rtt_clock(struct rtt_conf *c, int gettime)
{
	c->rate.path.gettime = gettime;
	for (int w = 0; w < RTT_WAYS; w++)
		c->way[w].path.gettime = gettime;
}

const char *const rtt_reads[] = {
	"nic", "issuer", "submitter", "proxy", "gpu", "nic_gpu", "reply", "respond_ns", "nic_workers", "ordering", "doorbell", "entries", "size", "payload",
	"queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem", "page", "fault", "messages", "warmup", "cpu", "nic_cpu", "helper_cpu", NULL
};
