/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/completion/visible_order.h"
#include "harness/err.h"
#include "stages/crossing/where.h"
#include <errno.h>
#include <string.h>

enum reach { UNSAFE, RELIED_ON, GUARANTEED };
static const char *const reaches[] = { [UNSAFE] = "unsafe", [RELIED_ON] = "relied-on", [GUARANTEED] = "guaranteed" };

/*
 * An order of GPU scope, of an agent on a GPU. Towards another device nobody promises it;
 * where both words live in that agent's own memory the other one's accesses come to where it
 * orders its own.
 */
static enum reach gpu_scope(const struct visible_order *o, int own)
{
	if (o->writer == o->reader)
		return GUARANTEED; /* the other one is inside the scope */
	return o->payload == own && o->flag == own ? RELIED_ON : UNSAFE;
}

static enum reach writer_reach(const struct visible_order *o)
{
	switch (o->fence) {
	case FENCE_STORE_RELEASE_SYS:
	case FENCE_RELEASE_SYS:
	case FENCE_SC_SYS:
		return GUARANTEED;
	case FENCE_RELEASE_GPU:
	case FENCE_SC_GPU:
	case FENCE_STORE_RELEASE_GPU:
		return gpu_scope(o, o->writer);
	case FENCE_SFENCE:
	case FENCE_MFENCE:
	case FENCE_LOCK:
		return RELIED_ON; /* the processor's word, and not that of the language or of the reader's device */
	}
	return UNSAFE;
}

static enum reach reader_reach(const struct visible_order *o)
{
	if (o->acquire == ACQUIRE_NONE)
		return UNSAFE; /* a branch orders no loads */
	return o->acquire == ACQUIRE_FENCE_GPU ? gpu_scope(o, o->reader) : GUARANTEED;
}

const char *visible_class(const struct visible_order *o)
{
	enum reach w = writer_reach(o), r = reader_reach(o);

	return reaches[o->early != EARLY_NONE ? UNSAFE : w < r ? w : r];
}

int visible_verdict(const struct visible_order *o, uint64_t messages, const struct visible_out *got, uint64_t wait_ns)
{
	const char *order_class = visible_class(o);

	if (got->status == VISIBLE_TIMEOUT)
		return fs_fail(ETIMEDOUT, "no flag of message %llu in %.0f s", (unsigned long long)got->done + 1, (double)wait_ns / 1e9);
	if (got->status != VISIBLE_OK)
		return fs_fail(EPROTO, "the reader ended without a status");
	if (got->newer)
		return fs_fail(EPROTO, "%llu words of the payload were of no message that could be there: the writer did not wait for the reader",
			       (unsigned long long)got->newer);
	if (got->violated && strcmp(order_class, "unsafe"))
		return fs_fail(EBADMSG, "%llu of %llu messages had older words behind their flag (%llu words, the first in message %llu) in a point whose order is %s",
			       (unsigned long long)got->violated, (unsigned long long)messages, (unsigned long long)got->stale,
			       (unsigned long long)got->first, order_class);
	return 0;
}

int visible_rows(const struct visible_order *o, const char *link, uint64_t messages, const struct visible_out *got, struct rows *out)
{
	static const struct { const char *metric, *unit; } kinds[] = {
		{ "violations", "count" }, { "violation_share", "%" }, { "stale_words", "count" },
	};
	struct summary share;

	summary_share(&share, got->violated, messages);
	share.mean *= 100;
	share.ci_lo *= 100;
	share.ci_hi *= 100;
	for (int i = 0; i < 3; i++) {
		struct row *r = cross_row(out, "completion", link, kinds[i].metric, kinds[i].unit);

		if (!r)
			return -ENOMEM;
		r->s.n = messages;
		r->s.mean = (double)(i ? got->stale : got->violated);
		if (i == 1)
			r->s = share;
		snprintf(r->order_class, sizeof(r->order_class), "%s", visible_class(o));
		if (got->violated) {
			char why[160];

			snprintf(why, sizeof(why), "%llu of %llu messages had older words behind their flag, the first in message %llu",
				 (unsigned long long)got->violated, (unsigned long long)messages, (unsigned long long)got->first);
			row_flag(r, "violations", why);
		} else {
			snprintf(r->reason_code, sizeof(r->reason_code), "none-seen");
			snprintf(r->reason, sizeof(r->reason), "none seen in %llu messages, which is no proof: up to %.2g %% of messages could have one (95 %%)",
				 (unsigned long long)messages, share.ci_hi);
		}
	}
	return 0;
}
