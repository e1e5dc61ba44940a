/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pass's results say: in words what went wrong, or that nothing did; and of a NIC that works on nothing, that
 * its queue holds what was posted.
 */
#include "harness/err.h"
#include "stages/path_parts.h"
#include "stages/path_layout.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *syndrome_words(uint64_t s)
{
	switch (s) {
	case SYND_LOCAL_LENGTH: return "local length error";
	case SYND_LOCAL_QP_OP: return "local QP operation error";
	case SYND_LOCAL_PROT: return "local protection error";
	case SYND_FLUSHED: return "flushed";
	case SYND_LOCAL_ACCESS: return "local access error";
	case SYND_REMOTE_INVALID: return "remote invalid request error";
	case SYND_REMOTE_ACCESS: return "remote access error";
	case SYND_REMOTE_OP: return "remote operation error";
	default: return "unknown syndrome";
	}
}

/* How far each mark got, for a wait that ran out. */
static const char *progress_words(const struct pass *p, const struct path_conf *c, char *buf, size_t len)
{
	const uint64_t *l = p->nic.last;

	snprintf(buf, len, "messages that reached each mark: %s %llu, seen %llu, fetched %llu, translated %llu, written %llu, completed %llu, noticed %llu",
		 mark_table[route_submitted(c->route)].name, (unsigned long long)p->out.posted, (unsigned long long)l[NS_SEEN],
		 (unsigned long long)l[NS_FETCHED], (unsigned long long)l[NS_TRANSLATED],
		 (unsigned long long)l[NS_WRITTEN], (unsigned long long)l[NS_COMPLETED],
		 (unsigned long long)p->out.done);
	return buf;
}

int path_verdict(const struct path_conf *c, const struct pass *p)
{
	const struct issue_out *o = &p->out;
	char words[256], help[200];

	switch (o->status) {
	case ISSUE_OK:
		break;
	case ISSUE_CQE_ERROR:
		return fs_fail(EREMOTEIO, "message %llu: CQE with syndrome 0x%02llx (%s), vendor 0x%02llx, wqe_counter %llu%s",
			       (unsigned long long)o->done, (unsigned long long)o->syndrome, syndrome_words(o->syndrome),
			       (unsigned long long)o->vendor, (unsigned long long)o->counter,
			       path_order_words(c, words, sizeof(words)));
	case ISSUE_TIMEOUT:
		return fs_fail(ETIMEDOUT, "no completion of message %llu in %.0f s; %s%s", (unsigned long long)o->done,
			       PATH_WAIT_NS / 1e9, progress_words(p, c, words, sizeof(words)), path_helper_words(p, c, help, sizeof(help)));
	case ISSUE_UNLAUNCHED:
		return fs_fail(EIO, "launch %llu failed: %s", (unsigned long long)p->help.launches + 1, strerror(p->help.error));
	case ISSUE_ODD_CQE:
		return fs_fail(EPROTO, "message %llu: a CQE with wqe_counter %llu", (unsigned long long)o->done,
			       (unsigned long long)o->counter);
	default:
		return fs_fail(EPROTO, "the issuer ended without a status; %s", progress_words(p, c, words, sizeof(words)));
	}
	if (o->wrong_words && strcmp(c->order_class, "unsafe"))
		return fs_fail(EBADMSG, "%llu wrong payload words, first in message %llu",
			       (unsigned long long)o->wrong_words, (unsigned long long)o->wrong_message);
	if (p->end_wrong && strcmp(c->order_class, "unsafe"))
		return fs_fail(EBADMSG, "%llu wrong payload words at the end", (unsigned long long)p->end_wrong);
	if (strcmp(c->order_class, "unsafe") && p->nic.stale_wqe)
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s",
			       (unsigned long long)p->nic.stale_wqe, c->order_class);
	/* after a recovery the doorbell may have been overtaken; else none is odd */
	if (strcmp(c->order_class, "unsafe") && p->nic.odd_doorbells && !c->recover_every)
		return fs_fail(EBADMSG, "%llu doorbells that announce nothing: foreign, or out of range",
			       (unsigned long long)p->nic.odd_doorbells);
	/* between the first ring and the record, a record behind is legal */
	if (strcmp(c->order_class, "unsafe") && p->nic.stale_record && c->choice.mode != DBM_RING_RECORD_RING)
		return fs_fail(EBADMSG, "%llu stale doorbell records in a point whose order is %s",
			       (unsigned long long)p->nic.stale_record, c->order_class);
	return 0;
}

int path_verify_null(const struct path_mem *m, const struct path_conf *c, const struct pass *p)
{
	uint64_t n = 1ull << c->log_n, i, got[WQE_BLOCKS_MAX * WQE_WORDS], want[WQE_BLOCKS_MAX * WQE_WORDS], pi = p->out.posted;
	struct queue q = { .qpn = PATH_QPN };
	struct resolved x = { 0, 0, 0 };
	uint32_t blocks = post_blocks(c->choice.kind), rec;
	uint32_t words = c->choice.kind == POST_NOP ? 2 : post_is_inline(c->choice.kind) ?
			 wqe_ds_inline(c->size) * 2 : wqe_ds_pointer(c->size) * 2;
	int rd = c->op == WQE_READ, rc;

	for (i = pi > c->depth ? pi - c->depth : 0; i < pi; i++) {
		uint64_t off = (i & (c->slots - 1)) * c->stride;

		x.lkey = path_key(c, 0, path_mr_of(c, i & (c->slots - 1)));
		x.rkey = path_key(c, 1, path_mr_of(c, i & (c->slots - 1)));
		x.raddr = c->choice.kind == POST_NOP ? 0 : (uint64_t)(rd ? m->src.p : m->dst.p) + off;
		wqe_build_at(&q, want, i * blocks, i, &x, (uint64_t)(rd ? m->dst.p : m->src.p) + off, c->size, c->choice.kind);
		wqe_build_second(want + WQE_WORDS, i);
		for (uint32_t k = 0; k < blocks; k++)
			if ((rc = place_read(&m->queue, ((i * blocks + k) & (n - 1)) * WQEBB, got + k * WQE_WORDS, WQEBB)))
				return rc;
		for (uint32_t k = 0; k < words; k++)
			if (got[k] != want[k])
				return fs_fail(EBADMSG, "null: word %u of WQE %llu is %016llx, posted was %016llx", k,
					       (unsigned long long)i, (unsigned long long)got[k], (unsigned long long)want[k]);
	}
	if ((rc = place_read(&m->queue, m->record_off + DBREC_SEND, &rec, 4)) ||
	    (rc = place_read(&m->db, (size_t)(path_db(m) - m->db.p), got, 8)))
		return rc;
	pi *= blocks; /* from messages to indices */
	if (c->choice.mode != DBM_RING && rec != dbrec_value(pi))
		return fs_fail(EBADMSG, "null: the record says %u, the next free index is %llu", dbrec_index(rec), (unsigned long long)pi);
	if (doorbell_is_flame(c->choice.mode)) {
		/* the whole line is the last WQE, words behind its last segment among it */
		if ((rc = place_read(&m->db, (size_t)(path_db(m) - m->db.p), got, WQEBB)))
			return rc;
		for (uint32_t k = 0; pi && k < WQE_WORDS; k++)
			if (got[k] != want[k])
				return fs_fail(EBADMSG, "null: word %u of the doorbell's line is %016llx, stored was %016llx", k,
					       (unsigned long long)got[k], (unsigned long long)want[k]);
	} else if (got[0] != doorbell_value(pi, PATH_QPN))
		return fs_fail(EBADMSG, "null: the doorbell is %016llx, rung was %016llx", (unsigned long long)got[0],
			       (unsigned long long)doorbell_value(pi, PATH_QPN));
	return 0;
}
