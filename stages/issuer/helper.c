/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's loop. Each turn it takes what it is handed and rings for it, and looks at the
 * CQ. Who does what, which stores ring and how it is instrumented are literals: one function of
 * each combination, chosen before anything is timed.
 *
 * Order: what the issuer released is acquired with the word that hands it over, and released
 * again with the record and the doorbell; what the NIC released with a CQE is acquired with it
 * and released with its copy for the issuer. So an order of the issuer's that reaches this thread
 * reaches the NIC.
 */
#include "stages/issuer/helper_parts.h"
#include "harness/err.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { NAP_MS = 20 };         /* of one sleep, so that a stop is seen */

static uint32_t helper_unregistered(struct helper *h)
{
	snprintf(h->st.why, sizeof(h->st.why), "%s", fs_reason());
	return (uint32_t)helper_ends(h, HELPER_SOURCE);
}

/* Descriptors that are there, up to a batch: builds, and rings once. How many. */
HD uint32_t proxy_take(struct helper *h, const int mode, const int instr)
{
	uint32_t n;

	for (n = 0; n < h->a.batch; n++) {
		uint64_t m = h->pi + n, lap = hand_lap(m, h->a.q.log_n), w0, w1, taken;
		const uint8_t *slot = h->a.hand + (m & ((1u << h->a.q.log_n) - 1)) * HAND_SLOT;

		w1 = ld64_acquire(slot + 8);
		w0 = ld64_acquire(slot);
		if (!(hand_valid(w0, lap) & hand_valid(w1, lap)))
			break;
		if (helper_faulty(h, m, HF_STUCK, instr))
			break;
		if (helper_faulty(h, m, HF_KILLED, instr))
			return (uint32_t)helper_ends(h, HELPER_DIED);
		if (UNLIKELY(hand_number(w1) != m)) {
			h->st.found = hand_number(w1);
			return (uint32_t)helper_ends(h, HELPER_OVERRUN);
		}
		taken = helper_seen(h, m, MARK_TAKEN, instr);
		if (UNLIKELY(h->a.source.give && h->a.source.give(h->a.source.arg, m)))
			return helper_unregistered(h);
		helper_build(h, m, w0, taken, instr);
	}
	if (n)
		helper_ring(h, n, mode, instr);
	return n;
}

/* A word as a doorbell has it: rings for what it announces. */
HD uint32_t host_take(struct helper *h, const int mode, const int instr)
{
	uint64_t v = ld64_poll(h->a.hand), t;
	uint32_t n;

	if (v == h->db || helper_faulty(h, h->pi, HF_STUCK, instr))
		return 0;
	polled();
	if (helper_faulty(h, h->pi, HF_KILLED, instr))
		return (uint32_t)helper_ends(h, HELPER_DIED);
	t = helper_seen(h, h->pi, MARK_TAKEN, instr);
	h->db = v;
	n = (doorbell_next(v) - (uint32_t)h->pi) & INDEX_MASK;
	if (UNLIKELY(!n || n > 1u << h->a.q.log_n || ctrl_qpn(v) != h->a.q.qpn))
		return (uint32_t)helper_ends(h, HELPER_FOREIGN);
	for (uint32_t i = 0; instr != BARE && i < n; i++)
		helper_put(h, h->pi + i, HS_TAKEN, t, instr);
	helper_ring(h, n, mode, instr);
	return n;
}

/* The next CQE, if it is there: passes it on. */
HD uint32_t helper_reap(struct helper *h, const int instr)
{
	uint64_t at = (h->polled & ((1u << h->a.q.log_ncqe) - 1)) * CQE_SIZE, m = h->polled, w6, w7, t;

	w7 = ld64_poll(h->a.q.cq + at + 56);
	if (!cqe_valid(w7, cqe_lap(m, h->a.q.log_ncqe)) || helper_faulty(h, m, HF_DEAF, instr))
		return 0;
	polled();
	t = helper_seen(h, m, MARK_CAUGHT, instr);
	helper_put(h, m, HS_CAUGHT, t, instr);
	if (UNLIKELY(h->a.source.back && h->a.source.back(h->a.source.arg)))
		return helper_unregistered(h);
	w6 = ld64(h->a.q.cq + at + 48);
	st64(h->a.relay + at + 48, w6);
	plant(&h->k, MARK_RELAYED, instr);
	st64_published(h->a.relay + at + 56, w7);
	helper_put(h, m, HS_RELAYED, instr == BARE ? 0 : ticks(h->k.gettime), instr);
	helper_put(h, m, HS_WOKEN, h->woken, instr);
	h->woken = 0;
	h->polled++;
	return 1;
}

static int cqe_there(const struct helper *h)
{
	uint64_t at = (h->polled & ((1u << h->a.q.log_ncqe) - 1)) * CQE_SIZE;

	return cqe_valid(ld64_acquire(h->a.q.cq + at + 56), cqe_lap(h->polled, h->a.q.log_ncqe));
}

/* There was no CQE: arms the CQ, looks again, and sleeps until the event comes, or the end. An
 * armed CQ and no event: it goes on sleeping, as it would behind a device. */
static void helper_sleep(struct helper *h)
{
	struct epoll_event e;
	uint64_t count;
	int n = 0;

	/* both sides exchange this word: whoever is second sees what the other did before, so that
	 * either the CQE is seen here or the NIC sees that it is to raise the event */
	__atomic_exchange_n(h->a.armed, 1, __ATOMIC_ACQ_REL);
	if (cqe_there(h)) {
		/* if the NIC was faster an event is on its way, and the next sleep is short */
		__atomic_exchange_n(h->a.armed, 0, __ATOMIC_ACQ_REL);
		return;
	}
	h->sleeps++;
	while (!n && !service_stopping(h->me)) {
		n = epoll_wait(h->epoll, &e, 1, NAP_MS);
		h->woken = ticks(h->k.gettime);
		if (n < 0 && errno == EINTR)
			n = 0;
	}
	if (n > 0 && read(h->a.event, &count, sizeof(count)) == sizeof(count)) {
		h->wakeups++;
		return;
	}
	if (n) {
		h->st.error = errno;
		helper_ends(h, HELPER_EVENT);
		return;
	}
	h->woken = 0;
	h->st.asleep = 1;
	h->st.lost = cqe_there(h);
	h->over = 1;
}

HD void helper_serve(struct service *me, struct helper *h, const int submitter, const int consumer, const int mode,
		     const int instr)
{
	uint32_t idle = 0;

	while (!h->over) {
		int stopping = service_stopping(me);
		uint32_t taken = 0, caught = 0;

		if (submitter == SUBMITTER_PROXY)
			taken = proxy_take(h, mode, instr);
		if (submitter == SUBMITTER_HOST_DOORBELL)
			taken = host_take(h, mode, instr);
		if (consumer == CONSUMER_CPU)
			caught = helper_reap(h, instr);
		if (taken | caught) {
			helper_done(h, consumer == CONSUMER_CPU ? h->polled : h->pi);
			idle = 0;
		} else if (stopping) {
			break;
		} else if (submitter == SUBMITTER_GPU && h->a.event >= 0) {
			helper_sleep(h);
		} else {
			relax_turn(++idle, h->a.crowded);
		}
	}
}

/* Who submits and who looks, for each doorbell by a word; where the issuer rings itself one will do. */
#define FS_HELPS_OF(X, s, c) X(s, c, RECORD_RING) X(s, c, RING_RECORD_RING) X(s, c, RING)
#define FS_HELPS(X) \
	X(GPU, CPU, RECORD_RING) \
	FS_HELPS_OF(X, HOST_DOORBELL, GPU) FS_HELPS_OF(X, HOST_DOORBELL, CPU) \
	FS_HELPS_OF(X, PROXY, GPU) FS_HELPS_OF(X, PROXY, CPU)
#define X(s, c, d) \
	static void serve_##s##_##c##_##d##_0(struct service *me, struct helper *h) \
	{ \
		helper_serve(me, h, SUBMITTER_##s, CONSUMER_##c, DBM_##d, BARE); \
	} \
	static void serve_##s##_##c##_##d##_1(struct service *me, struct helper *h) \
	{ \
		helper_serve(me, h, SUBMITTER_##s, CONSUMER_##c, DBM_##d, ALL); \
	} \
	static void serve_##s##_##c##_##d##_2(struct service *me, struct helper *h) \
	{ \
		helper_serve(me, h, SUBMITTER_##s, CONSUMER_##c, DBM_##d, FLEX); \
	}
FS_HELPS(X)
#undef X
static void (*const serves[SUBMITTERS][CONSUMERS][WORD_DOORBELLS][INSTRS])(struct service *, struct helper *) = {
#define X(s, c, d) \
	[SUBMITTER_##s][CONSUMER_##c][DBM_##d] = { serve_##s##_##c##_##d##_0, serve_##s##_##c##_##d##_1, serve_##s##_##c##_##d##_2 },
	FS_HELPS(X)
#undef X
};

static void helper_main(struct service *me, void *arg)
{
	struct helper *h = arg;
	const struct helper_args *a = &h->a;
	int mode = a->route.submitter == SUBMITTER_GPU ? (int)DBM_RECORD_RING : a->mode;

	h->me = me;
	sink_begin(&h->k, &a->sink, a->stage, &h->planter, a->instr);
	h->st.begin = pair_now(h);
	if (a->route.submitter == SUBMITTER_CPU)
		boundary_serve(me, h);
	else
		serves[a->route.submitter][a->route.consumer][mode][a->instr](me, h);
	if (h->done % a->block)
		block_flush(h, h->done - 1);
	h->st.taken = h->pi;
	h->st.launches = h->launches;
	h->st.relayed = h->polled;
}

static void helper_free(struct helper *h)
{
	if (h->epoll >= 0)
		close(h->epoll);
	free(h);
}

int helper_start(const struct helper_args *a, int cpu, double start_s, struct helper **out)
{
	struct helper *h = calloc(1, sizeof(*h));
	struct epoll_event e = { .events = EPOLLIN };
	int rc = 0;

	if (!h)
		return fs_fail(ENOMEM, "helper: out of memory");
	h->a = *a;
	h->epoll = -1;
	h->res.remote_base = a->remote;
	h->res.keys = keys_address(&h->a.keys);
	h->res.chunk_shift = a->chunk_shift;
	if (a->event >= 0 && ((h->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, a->event, &e)))
		rc = fs_fail(errno, "helper: epoll: %s", strerror(errno));
	if (!rc)
		rc = service_start(&h->service, "helper", cpu, helper_main, h, start_s);
	if (rc && !h->service)
		helper_free(h);
	else
		*out = h;
	return rc;
}

int helper_stop(struct helper *h, double stop_s, struct helper_status *st)
{
	int rc = service_stop(h->service, stop_s);

	if (rc)
		return rc; /* the thread still uses h */
	*st = h->st;
	helper_free(h);
	return 0;
}
