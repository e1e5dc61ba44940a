/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a point (path_conf.c) that spoils it on purpose: waits that are planted, and faults of a WQE, of the
 * NIC and of a GPU. What only a route or a registration can fail at is refused there (path_conf_route.c, path_conf_xlat.c).
 */
#include "harness/err.h"
#include "stages/path_conf_parts.h"
#include <errno.h>

enum { PLANT_NS = 100 };              /* the shortest: a wait takes some tens of ns by itself */
enum { PLANT_S = 60 };                /* that planted waits may take in a point */

static const char *const plants[] = { "plant", "untold" }; /* the variables, as c->plant has them */

/* Marks that a message of this point passes. */
static int resolve_plants(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	for (int i = 0; i < 2; i++) {
		const char *v = plants[i];
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
	return 0;
}

/* Waits that can be told from what is there without them. */
static int refuse_plants(const struct path_conf *c, char *why, size_t len)
{
	if ((c->plant[0] >= 0 || c->plant[1] >= 0) && (c->metric != METRIC_LATENCY || c->marks != MARKS_ALL))
		return fs_refuse(EINVAL, why, len, "plant needs metric=latency and marks=all: the bare code has no place for it");
	for (int i = 0; i < 2; i++) {
		const char *v = plants[i];
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
	return 0;
}

/* Faults that somebody would see. */
static int refuse_fault(const struct path_conf *c, char *why, size_t len)
{
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

int path_resolve_fault(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	int rc;

	c->fault = fs_word(pt, "fault");
	if ((rc = resolve_plants(pt, c, why, len)) || (rc = refuse_plants(c, why, len)))
		return rc;
	return refuse_fault(c, why, len);
}
