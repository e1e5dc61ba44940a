/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a round trip that is timed beside others is taken apart without a rest, whoever's queue its put goes into; the
 * responder knows a put by its trip, whatever index it has among others' messages; every word of puts and replies is
 * compared, and so is what the others posted; a reply that doesn't come ends the point in words.
 *
 * Controls: one byte that is changed is found, of a reply, of a put and of another's message; without the list of the
 * puts' indices their slots are taken for wrong ones; endings with one thing wrong are told.
 */
#define CONTENDED_BASE "trip=round messages=64 warmup=0"
#include "tests/contended_rig.h"

#include "harness/clock.h"
#include "harness/err.h"
#include "stages/completion/contended_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void near(double x, double y) { assert_true(fabs(x - y) <= 1e-6 * fabs(y) + 1e-3); }

static void no_rest_is_left(void **state)
{
	static const char *const points[] = {
		"others=0", "others=0 others_queue=shared", "others=1", "others=1 others_queue=shared", "others=2 others_batch=4",
		"others=2 others_queue=shared others_batch=16", "others=1 others_pace=50000", "others=1 others_queue=shared others_pace=50000",
		"others=1 size=300", "others=1 others_queue=shared size=300 ordering=sys-fence-record", "others=1 size=300 reply=signal",
		"others=1 others_queue=shared depth=1", "others=1 nic_workers=3", "size=4 entries=16",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		int shared = strstr(points[i], "shared") != NULL, rc;
		struct rows rs;
		double sum, all;

		rc = run(points[i], &rs);
		if (rc)
			fail_msg("%s: %s", points[i], fs_reason());
		all = mean_of(&rs, "total", "-", "rtt");
		sum = mean_of(&rs, "issue", "intent-reserved", "latency") + mean_of(&rs, "handoff", "reserved-built", "latency") +
		      mean_of(&rs, "handoff", "turn-rung", "latency") + (shared ? mean_of(&rs, "queueing", "built-turn", "latency") : 0);
		near(sum, mean_of(&rs, "submit", "-", "latency"));
		near(sum + mean_of(&rs, "-", "rung-noticed", "latency"), all);
		near(mean_of(&rs, "-", "-", "responder") + mean_of(&rs, "-", "-", "both_ways"), all);
		assert_true(mean_of(&rs, "-", "-", "responder") > 0 && mean_of(&rs, "-", "-", "responder") < all);
		assert_int_equal(row_of(&rs, "queueing", "built-turn", "latency") != NULL, shared);
		assert_null(row_of(&rs, "total", "-", "latency")); /* which is one message's */
		assert_true(mean_of(&rs, "-", "-", "wrong_words") == 0);
		assert_true(!strstr(points[i], "others=0") || mean_of(&rs, "-", "-", "carried") == 0);
		rows_free(&rs);
	}
}

/* ---- in one thread ---- */

struct rig {
	struct cont_conf c;
	struct cont_mem m;
	struct cont_trip_args h;
	struct cont_got got;
	struct wide w;
	struct wide_queue states[4];
	struct wide_worker me;
	struct cont_trip issuer;
	struct rtt_side responder;
	struct rate_agent other;
	uint64_t posted[3];
};

static void rig_open(struct rig *r, const char *text)
{
	const struct machine none = { .cpus = 2 };
	struct rate_conf slots;
	char why[256] = "";
	struct point pt;

	memset(r, 0, sizeof(*r));
	contended_of(&pt, text);
	if (cont_resolve(&pt, &none, &r->c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	r->c.rate.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	slots = r->c.rate;
	slots.queues++;
	assert_int_equal(rate_mem_init(&r->m.rate, &slots), 0);
	assert_int_equal(cont_trip_init(&r->m, &r->c), 0);
	assert_int_equal(rate_mem_reset(&r->m.rate, &r->c.rate), 0);
	rate_args_fill(&r->m.rate, &r->c.rate, &r->h.a.q);
	r->h.a.q.agents = r->c.senders;
	r->h.a.q.queues = r->c.queues;
	r->h.a.q.wait_ns = 20000000;
	cont_trip_fill(&r->m, &r->c, &r->h);
	rate_wide_fill(&r->m.rate, &r->c.rate, &r->w);
	r->w.workers = 1;
	cont_trip_begin(&r->issuer, &r->h);
	assert_int_equal(r->issuer.s.wait, RTT_AT_CQE); /* before the first trip nobody waits for the responder */
	rtt_begin(&r->h.r, &r->responder, RTT_REPLY);
	rate_begin(&r->h.a.q, &r->other, 1, form_owns(r->c.choice.form) ? 1 : 0);
}

static void rig_close(struct rig *r)
{
	rate_mem_term(&r->m.rate);
	cont_trip_term(&r->m);
}

static void serve(struct rig *r)
{
	struct coop alone = { 0, 1 };

	while (wide_round(&r->w, r->states, alone, &r->me, r->c.rate.path.gettime, 0))
		;
}

static int sees(struct rtt_side *s, uint64_t k)
{
	uint32_t polls = 0;

	return rtt_poll(rtt_last(s, k), rtt_want(s, k), s->mask, &polls, 0) == rtt_want(s, k);
}

/* n messages of another agent. */
static void beside(struct rig *r, uint32_t n, const int form, const int kind)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t m = rate_reserve_for(&r->h.a.q, &r->other, 1, form, 1);

		rate_build(&r->h.a.q, &r->other, m, kind);
		if (!form_owns(form))
			rate_turn(&r->h.a.q, &r->other, m, form);
		rate_publish(&r->h.a.q, &r->other, m + 1, ORD_SYS_FENCE_RECORD, form);
		serve(r);
		r->posted[form_owns(form) ? 1 : 0]++;
	}
	assert_int_equal(r->other.status, RATE_OK);
}

enum { SPOIL_NONE, SPOIL_PUT, SPOIL_REPLY };

/* Trip k, behind n messages of another. */
static void trip(struct rig *r, uint64_t k, uint32_t n, const int form, const int kind, int spoil)
{
	struct cont_trip *t = &r->issuer;
	uint64_t m;

	beside(r, n, form, kind);
	t->k = k;
	rtt_fill(&r->h.r.way[RTT_PUT], &t->s, k, kind);
	rtt_fill(&r->h.r.way[RTT_REPLY], &r->responder, k, kind);
	m = t->m = rate_reserve_for(&r->h.a.q, &t->s.g, 1, form, 1);
	cont_trip_build(t, m, kind);
	if (!form_owns(form))
		rate_turn(&r->h.a.q, &t->s.g, m, form);
	rate_publish(&r->h.a.q, &t->s.g, m + 1, ORD_SYS_FENCE_RECORD, form);
	assert_false(sees(&r->responder, k)); /* nobody has carried it */
	serve(r);
	r->posted[0]++;
	assert_true(sees(&r->responder, k));
	assert_false(sees(&r->responder, k + 1));
	assert_false(sees(&r->responder, k + r->c.rate.slots)); /* whose slot is the same */
	if (spoil == SPOIL_PUT)
		((uint8_t *)r->h.r.way[RTT_PUT].remote)[rtt_offset(&r->h.r.way[RTT_PUT], k)] ^= 4;
	assert_false(sees(&t->s, k));
	rtt_send(&r->h.r.way[RTT_REPLY], &r->responder, ORD_SYS_FENCE_RECORD, DBM_RECORD_RING, kind);
	serve(r);
	assert_true(rtt_settle(&r->h.r.way[RTT_REPLY], NULL, &r->responder, k));
	cont_trip_await(t, DBM_RECORD_RING);
	assert_int_equal(t->s.g.status, RATE_OK);
	if (spoil == SPOIL_REPLY)
		((uint8_t *)r->h.r.way[RTT_REPLY].remote)[rtt_offset(&r->h.r.way[RTT_REPLY], k)] ^= 4;
	cont_trip_settle(t, NULL, form);
	assert_int_equal(t->s.g.status, RATE_OK);
}

static void trips_among_others(struct rig *r, const int form, const int kind)
{
	uint64_t k = 0, at, *put;
	uint8_t *theirs;

	for (; k < 200; k++)
		trip(r, k, (uint32_t)(k % 3), form, kind, SPOIL_NONE);
	assert_int_equal(r->issuer.s.wrong_words + r->responder.wrong_words, 0);
	assert_true(form_owns(form) ? r->issuer.m == 199 : r->issuer.m > 300); /* among others it isn't the trip's number */
	assert_int_equal(cont_trip_wrong(&r->m, &r->c, r->posted), 0);
	trip(r, k++, 1, form, kind, SPOIL_PUT);
	assert_int_equal(r->responder.wrong_words, 1);
	trip(r, k++, 1, form, kind, SPOIL_REPLY);
	assert_int_equal(r->issuer.s.wrong_words, 1);
	assert_int_equal(r->issuer.s.wrong_message, 201);
	beside(r, 1, form, kind);
	/* the last one of the other's */
	at = r->posted[form_owns(form) ? 1 : 0] - 1;
	theirs = (uint8_t *)r->other.remote + rtt_offset(&r->h.a.q, at);
	assert_int_equal(cont_trip_wrong(&r->m, &r->c, r->posted), 0);
	*theirs ^= 4;
	assert_int_equal(cont_trip_wrong(&r->m, &r->c, r->posted), 1);
	*theirs ^= 4;
	/* a put's index that isn't on the list; where payloads are fetched a slot has the same one each lap */
	put = (uint64_t *)r->m.trip.mine.p + (r->issuer.k & (r->c.rate.slots - 1));
	assert_int_equal(*put, r->issuer.m);
	*put = ~(uint64_t)0;
	assert_true(kind == POST_WRITE || cont_trip_wrong(&r->m, &r->c, r->posted) > 0);
}

static void a_put_is_known_by_its_trip(void **state)
{
	static struct rig r;

	(void)state;
	rig_open(&r, "others=1 size=16");
	trips_among_others(&r, FORM_SOLO, POST_INLINE);
	rig_close(&r);
	rig_open(&r, "others=1 size=16 others_queue=shared");
	trips_among_others(&r, FORM_GPU, POST_INLINE);
	rig_close(&r);
	rig_open(&r, "others=1 size=16 others_queue=shared"); /* as with another GPU's others */
	trips_among_others(&r, FORM_SYS, POST_INLINE);
	rig_close(&r);
	rig_open(&r, "others=1 size=512 others_queue=shared");
	trips_among_others(&r, FORM_GPU, POST_WRITE);
	rig_close(&r);
}

/* ---- what goes wrong ---- */

static void faults_end_in_words(void **state)
{
	static const struct faulty faults[] = {
		{ "fault=no-reply", ETIMEDOUT, "message 32: no reply in 2 s; its put is completed; the responder has seen 33 puts and rung for 32 replies", NULL },
		{ "fault=no-reply others=1", ETIMEDOUT, "message 32: no reply in 2 s; its put is completed; the responder has seen 33 puts", NULL },
		{ "fault=no-reply others=1 others_queue=shared", ETIMEDOUT, "message 32: no reply in 2 s; its put is completed; the responder has seen 33 puts", NULL },
		{ "fault=dead-nic", ETIMEDOUT, "message 32: no reply in 2 s; the NIC has not completed its put; the responder has seen 32 puts", NULL },
		{ "fault=key", EREMOTEIO, "the timed one: message 0: CQE with syndrome 0x13", NULL },
		{ "fault=key others=1 others_queue=shared", EREMOTEIO, "CQE with syndrome 0x13", NULL },
		{ "fault=error-cqe", EREMOTEIO, "the timed one: message 32: CQE with syndrome 0x14", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		faulty_ends(&faults[i]);
}

/* A timed agent, another, a responder and a NIC that end well, but for one thing. */
static int judged(void (*spoil)(struct cont_got *g, struct cont_conf *c))
{
	struct rate_out out[3] = { { .status = RATE_OK, .messages = 232 }, { .status = RATE_OK, .messages = 40 } };
	struct cont_got g = { .out = out, .nic = { { .wqes = 504 } }, .trip = { { .status = RATE_OK }, { .status = RATE_OK, .sent = 232 } } };
	const struct machine none = { .cpus = 1 };
	struct cont_conf c;
	struct point pt;
	char why[256];

	contended_of(&pt, "others=1 ordering=sys-fence-record");
	assert_int_equal(cont_resolve(&pt, &none, &c, why, sizeof(why)), 0);
	if (spoil)
		spoil(&g, &c);
	fs_reason_clear();
	return cont_verdict(&c, &g);
}

static void unreplied(struct cont_got *g, struct cont_conf *c) { (void)c; g->trip[RTT_REPLY].sent--; g->nic[0].wqes--; }
static void uncarried(struct cont_got *g, struct cont_conf *c) { (void)c; g->nic[0].wqes--; }
static void silent(struct cont_got *g, struct cont_conf *c) { (void)c; g->trip[RTT_REPLY].status = RATE_RUNNING; }
static void bad_reply(struct cont_got *g, struct cont_conf *c) { (void)c; g->trip[RTT_PUT].wrong_words = 2; g->trip[RTT_PUT].wrong_message = 9; }
static void bad_put(struct cont_got *g, struct cont_conf *c) { (void)c; g->trip[RTT_REPLY].wrong_words = 1; }
static void bad_where_it_may(struct cont_got *g, struct cont_conf *c) { bad_put(g, c); c->rate.path.order_class = "unsafe"; }
static void refused(struct cont_got *g, struct cont_conf *c)
{
	(void)c;
	g->out[0].status = g->out[1].status = RATE_GIVEN_UP;
	g->trip[RTT_REPLY] = (struct rtt_out){ .status = RATE_CQE_ERROR, .at = 7, .syndrome = 0x13 };
}
static void unready(struct cont_got *g, struct cont_conf *c)
{
	(void)c;
	g->out[0].status = g->trip[RTT_PUT].status = RATE_TIMEOUT;
	g->out[1].status = g->trip[RTT_REPLY].status = RATE_GIVEN_UP;
	g->trip[RTT_PUT].wait = RTT_AT_READY;
	g->trip[RTT_PUT].at = 5;
}
static void unmet(struct cont_got *g, struct cont_conf *c) { unready(g, c); g->trip[RTT_PUT].wait = RTT_AT_CQE; }

static void endings_are_judged(void **state)
{
	static const struct { void (*spoil)(struct cont_got *g, struct cont_conf *c); int rc; const char *says; } endings[] = {
		{ NULL, 0, "" }, { bad_where_it_may, 0, "" },
		{ unreplied, -EPROTO, "232 puts were posted, and 231 replies" },
		{ uncarried, -EPROTO, "504 messages were posted, and the NIC has done 503" },
		{ silent, -EPROTO, "the responder ended without a status" },
		{ bad_reply, -EBADMSG, "2 wrong payload words behind the last one, first in reply 9" },
		{ bad_put, -EBADMSG, "1 wrong payload words behind the last one, first in put 0" },
		{ refused, -EREMOTEIO, "reply 7: CQE with syndrome 0x13" },
		{ unready, -ETIMEDOUT, "message 5: the responder was not ready for it in 2 s" },
		{ unmet, -ETIMEDOUT, "the timed one: no completion of message 0, or no turn" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		int rc = judged(endings[i].spoil);

		if (rc != endings[i].rc || !strstr(fs_reason(), endings[i].says))
			fail_msg("%zu: %d, %s; expected %d and \"%s\"", i, rc, fs_reason(), endings[i].rc, endings[i].says);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct { const char *text, *says; } refusals[] = {
		{ "nic=null", "nic=soft or peer" }, { "others=63", "others=0..62" }, { "size=0", "multiples of 4 from 4 to 4096" },
		{ "size=10", "multiples of 4 from 4 to 4096" }, { "size=5000", "multiples of 4 from 4 to 4096" },
		{ "doorbell=ring", "doorbell=record-ring, or trip=one-way" }, { "messages=31", "legal: 32..1000000" },
		{ "fault=opcode", "with trip=round no-reply, with submitter=proxy" }, { "nic_workers=3", "nic_workers=1..2" },
		{ "trip=one-way reply=signal", "legal: trip=round" }, { "trip=one-way fault=no-reply", "legal: trip=round" },
	};
	const struct machine none = { .cpus = 2 };
	struct cont_conf c;
	struct point pt;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		contended_of(&pt, refusals[i].text);
		if (cont_resolve(&pt, &none, &c, why, sizeof(why)) != -EINVAL || !strstr(why, refusals[i].says))
			fail_msg("%s: \"%s\"; expected \"%s\"", refusals[i].text, why, refusals[i].says);
		assert_true(strlen(why) < sizeof(why) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rest_is_left), cmocka_unit_test(a_put_is_known_by_its_trip), cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(endings_are_judged), cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
