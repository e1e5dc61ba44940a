/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a point to what it asks of the machine: every `auto` resolved, every
 * combination that can't be refused with what would be legal. Here are the operation, how
 * many messages there are and what is checked of them, and the order of the rest (path_conf_parts.h).
 */
#include "harness/err.h"
#include "stages/path_conf_parts.h"
#include "stages/place/seat.h"
#include <errno.h>
#include <string.h>

enum { SIZE_MAX_B = 16 << 20 };
enum { BIG = 64 << 10 };              /* payloads above have fewer messages by default */
#define SLOT_BYTES (64ull << 20)      /* payload memory of each side, if it can be */

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

/* What is checked, and when; what is checked at the end has a slot for each message, of which `fit` can be. */
static int resolve_check(const struct point *pt, struct path_conf *c, uint64_t fit, char *why, size_t len)
{
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
	return 0;
}

/* Too few messages for their marks, or too many. */
static int refuse_amount(const struct path_conf *c, char *why, size_t len)
{
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
	if ((rc = resolve_check(pt, c, fit, why, len)))
		return rc;
	if (c->slots * c->stride > 4ull << 30)
		return fs_refuse(EINVAL, why, len, "depth=%u messages of %u B need %llu MiB of payload memory; legal: at most 4096 MiB",
			  c->depth, c->size, (unsigned long long)(c->slots * c->stride >> 20));
	if (!c->nic->completes || !c->size)
		c->check = CHECK_NONE;
	return refuse_amount(c, why, len);
}

int path_resolve(const struct point *pt, const struct machine *m, struct path_conf *c,
		 char *why, size_t len)
{
	int rc;

	memset(c, 0, sizeof(*c));
	c->nic = nics[fs_word(pt, "nic")];
	c->metric = fs_word(pt, "metric");
	c->marks = fs_word(pt, "marks");
	if ((rc = resolve_op(pt, c, why, len)) || (rc = path_resolve_queue(pt, c, why, len)) ||
	    (rc = resolve_amount(pt, c, why, len)))
		return rc;
	path_resolve_route(pt, c);
	c->cpu_state = fs_word(pt, "cpu_state");
	c->cpu_state_ms = fs_is(pt, "cpu_state_ms", "auto") ? CPU_STATE_MS : (uint32_t)fs_num(pt, "cpu_state_ms");
	c->sys_cpu = FS_SYS_CPU;
	c->pinned = fs_is(pt, "issuer", "gpu") || c->nic->on_gpu;
	/* what is wrong anywhere is said before what is missing here */
	if ((rc = path_refuse_seats(pt, c, why, len)) || (rc = path_resolve_translation(pt, c, why, len)) ||
	    (rc = path_refuse_places(pt, c, why, len)) || (rc = path_resolve_fault(pt, c, why, len)) ||
	    (rc = path_refuse_route(pt, c, why, len)) || (rc = path_refuse_state(pt, c, why, len)) ||
	    (rc = resolve_lines(pt, c, why, len)))
		return rc;
	if ((rc = path_resolve_registration(pt, m, c, why, len)) || (rc = path_resolve_gpus(pt, m, c, why, len)) ||
	    (rc = path_resolve_places(pt, c, why, len)) || (rc = path_resolve_cpus(pt, m, c, why, len)) ||
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

/* What these files read of a point, all of it. */
const char *const path_reads[] = {
	"metric", "nic", "issuer", "submitter", "op", "size", "payload", "gpu", "nic_gpu", "ordering",
	"doorbell", "depth", "batch", "signal", "cq", "fresh", "entries", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem",
	"segment", "page", "registration", "staged_from", "mechanism", "host_page", "mr_count", "mr_order", "xlat_cache",
	"recover_every", "fault", "check", "lines", "messages", "warmup", "marks", "plant",
	"untold", "cpu", "nic_cpu", "helper_cpu", "sm", "nic_sm", "consumer", "notify", "proxy", "proxy_batch", "boundary", "cpu_state", "cpu_state_ms", NULL
};
