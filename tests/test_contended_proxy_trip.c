/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a round trip that is timed beside others, whose puts and theirs workers post, is taken apart without a rest, whoever's ring
 * its put goes into; the put's descriptor names the trip's payload slot, so that the responder knows it by its trip, whatever
 * index it has in the ring; every word of puts and replies is compared, and so is what the others handed over. A worker that is
 * stuck or has ended, an overrun ring, a bad CQE and a reply that doesn't come end in words, in bounded time.
 *
 * Controls: one byte that is changed is found, of a reply, of a put and of another's message; a put isn't seen before it is
 * carried, and not as another trip's.
 */
/* Agents, workers and NIC take turns on two CPUs: few messages. */
#define CONTENDED_BASE "trip=round submitter=proxy proxy=baseline payload=pointer messages=40 warmup=0"
#include "tests/contended_rig.h"

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/completion/contended_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <sched.h>

/* The path refuses a CPU issuer and a helper on one CPU. */
static void need_two_cpus(void)
{
	if (pin_cpus() < 2)
		skip();
}

static void near(double x, double y) { assert_true(fabs(x - y) <= 1e-6 * fabs(y) + 1e-3); }

static void no_rest_is_left(void **state)
{
	static const char *const points[] = {
		"others=0", "others=0 others_queue=shared", "others=1", "others=1 others_queue=shared", "others=2 proxy=tuned others_batch=4",
		"others=2 others_queue=shared others_batch=16 proxy_batch=16", "others=1 others_queue=shared others_pace=50000", "others=1 size=300",
		"others=1 others_queue=shared size=300 reply=signal", "others=1 size=8 reply=signal proxy=tuned", "others=1 others_queue=shared depth=1",
		"size=4 entries=16",
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		const struct row *r;
		struct rows rs;
		double sum, all;
		int rc = run(points[i], &rs);

		if (rc)
			fail_msg("%s: %s", points[i], fs_reason());
		all = mean_of(&rs, "total", "-", "rtt");
		sum = mean_of(&rs, "issue", "intent-reserved", "latency") + mean_of(&rs, "handoff", "reserved-handed", "latency");
		near(sum, mean_of(&rs, "submit", "-", "latency"));
		near(sum + mean_of(&rs, "-", "handed-noticed", "latency"), all);
		near(mean_of(&rs, "-", "-", "responder") + mean_of(&rs, "-", "-", "both_ways"), all);
		assert_true(mean_of(&rs, "-", "-", "responder") > 0 && mean_of(&rs, "-", "-", "responder") < all);
		assert_null(row_of(&rs, "total", "-", "latency")); /* which is one message's */
		assert_null(row_of(&rs, "-", "rung-noticed", "latency"));
		assert_true(mean_of(&rs, "-", "-", "wrong_words") == 0);
		assert_true(!strstr(points[i], "others=0") || mean_of(&rs, "-", "-", "carried") == 0);
		r = row_of(&rs, "-", "-", "helper_busy");
		assert_true(r && r->s.n == 2 && r->s.min >= 0 && r->s.max <= 1.0001); /* two workers */
		assert_true(mean_of(&rs, "-", "-", "helper_cpu") >= 0);
		if (pin_cpus() < 5)
			assert_non_null(strstr(row_of(&rs, "total", "-", "rtt")->reason, "2 workers and"));
		rows_free(&rs);
	}
}

/* ---- the test is all agents and the NIC; workers are threads ---- */

struct rig {
	struct cont_conf c;
	struct cont_mem m;
	struct cont_trip_args h;
	struct cont_hands x;
	struct cont_got got;
	struct wide w;
	struct wide_queue states[4];
	struct wide_worker me;
	struct cont_trip issuer;
	struct rtt_side responder;
	struct rate_help *help;
	uint64_t posted[2];
};

static void rig_open(struct rig *r, const char *text)
{
	struct rate_conf slots;
	char why[256] = "";
	struct point pt;

	memset(r, 0, sizeof(*r));
	contended_of(&pt, text);
	if (cont_resolve(&pt, suite_machine(), &r->c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	r->c.rate.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	slots = r->c.rate;
	slots.queues++;
	assert_int_equal(rate_mem_init(&r->m.rate, &slots), 0);
	assert_int_equal(cont_trip_init(&r->m, &r->c), 0);
	assert_int_equal(cont_help_init(&r->m, &r->c), 0);
	assert_int_equal(rate_mem_reset(&r->m.rate, &r->c.rate), 0);
	rate_args_fill(&r->m.rate, &r->c.rate, &r->h.a.q);
	r->h.a.q.agents = r->c.senders;
	r->h.a.q.queues = r->c.queues;
	r->h.a.q.wait_ns = 60000000000;
	cont_trip_fill(&r->m, &r->c, &r->h);
	cont_help_fill(&r->m, &r->c, &r->h, &r->x);
	rate_wide_fill(&r->m.rate, &r->c.rate, &r->w);
	r->w.workers = 1;
	cont_trip_begin(&r->issuer, &r->h);
	r->issuer.s.hand = hander_of(&r->x.way[RTT_PUT], 0);
	rtt_begin(&r->h.r, &r->responder, RTT_REPLY);
	r->responder.hand = hander_of(&r->x.way[RTT_REPLY], 0);
	assert_int_equal(cont_help_start(&r->m, &r->c, &r->help), 0);
}

static void rig_close(struct rig *r)
{
	assert_int_equal(cont_help_stop(&r->c, r->help, &r->got), 0);
	assert_int_equal(rate_help_failed(&r->got.help, &r->c.rate), 0);
	rate_mem_term(&r->m.rate);
	cont_trip_term(&r->m);
	place_free(&r->m.phase);
}

static uint64_t *credit_of(struct rig *r, uint32_t ring) { return (uint64_t *)(r->m.rate.credit.p + ring * SHARE_LINE); }

/* Until a ring's messages are done, bounded; a worker may be kept from running for long. */
static int done(struct rig *r, uint32_t ring, uint64_t want)
{
	uint64_t until = deadline_in_s(60);
	struct coop alone = { 0, 1 };

	while (ld64_acquire(credit_of(r, ring)) != want) {
		if (deadline_over(until))
			return 0;
		wide_round(&r->w, r->states, alone, &r->me, r->c.rate.path.gettime, 0);
		sched_yield();
	}
	return 1;
}

static int sees(struct rtt_side *s, uint64_t k)
{
	uint32_t polls = 0;

	return rtt_poll(rtt_last(s, k), rtt_want(s, k), s->mask, &polls, 0) == rtt_want(s, k);
}

/* A message of another agent. */
static void beside(struct rig *r)
{
	const struct hand_args *h = &r->x.way[RTT_PUT];
	uint32_t ring = cont_ring(&r->x, 1);
	struct hander s = hander_of(h, ring);
	struct rate_agent g;

	rate_begin(&r->h.a.q, &g, 1, ring);
	assert_int_equal(hand_slots(h, &g, &s, 1, PROXY_BASELINE), r->posted[ring]);
	cont_hand_into(h, &s, r->posted[ring]++, MODE_BASELINE);
	assert_true(done(r, ring, r->posted[ring]));
}

enum { SPOIL_NONE, SPOIL_PUT, SPOIL_REPLY };

/* Trip k's put, as cont_hand_message() hands it over but for who waits. */
static void put(struct rig *r, uint64_t k)
{
	const struct hand_args *h = &r->x.way[RTT_PUT];
	struct cont_trip *t = &r->issuer;
	uint64_t lap;

	t->k = k;
	rtt_fill(&r->h.r.way[RTT_PUT], &t->s, k, POST_WRITE);
	t->m = hand_slot(h, &t->s.g, &t->s.hand, PROXY_BASELINE);
	lap = hand_lap(t->m, h->r.log_n);
	hand_into(&t->s.hand, t->m, (1u << h->r.log_n) - 1, hand_word0(lap, h->kind, h->r.len, r->x.put_off + (uint32_t)rtt_offset(&h->r, k)), lap,
		  t->m, PROXY_BASELINE);
	assert_int_equal(t->m, r->posted[0]++);
}

static void trip(struct rig *r, uint64_t k, uint32_t others, int spoil)
{
	struct cont_trip *t = &r->issuer;

	for (uint32_t i = 0; i < others; i++)
		beside(r);
	put(r, k);
	assert_false(sees(&r->responder, k)); /* nobody has carried it */
	assert_true(done(r, 0, r->posted[0]));
	assert_true(sees(&r->responder, k));
	assert_false(sees(&r->responder, k + 1));
	assert_false(sees(&r->responder, k + r->c.rate.slots)); /* whose slot is the same */
	if (spoil == SPOIL_PUT)
		((uint8_t *)r->h.r.way[RTT_PUT].remote)[rtt_offset(&r->h.r.way[RTT_PUT], k)] ^= 4;
	assert_false(sees(&t->s, k));
	rtt_fill(&r->h.r.way[RTT_REPLY], &r->responder, k, r->x.way[RTT_REPLY].kind);
	rtt_hand(&r->x.way[RTT_REPLY], &r->responder, MODE_BASELINE, HAND_BARE);
	assert_true(done(r, r->c.queues, k + 1));
	assert_true(rtt_settle(&r->h.r.way[RTT_REPLY], &r->x.way[RTT_REPLY], &r->responder, k));
	cont_trip_await(t, MODE_BASELINE);
	assert_int_equal(t->s.g.status, RATE_OK);
	if (spoil == SPOIL_REPLY)
		((uint8_t *)r->h.r.way[RTT_REPLY].remote)[rtt_offset(&r->h.r.way[RTT_REPLY], k)] ^= 4;
	cont_trip_settle(t, &r->x.way[RTT_PUT], FORM_SOLO);
	assert_int_equal(t->s.g.status, RATE_OK);
}

static void a_put_is_known_by_its_trip(void **state)
{
	static const char *const points[] = { "others=1 size=16", "others=1 size=16 others_queue=shared",
		"others=1 size=512 others_queue=shared reply=signal" };
	static struct rig r;

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint32_t theirs;
		uint64_t k = 0;
		uint8_t *at;

		rig_open(&r, points[i]);
		theirs = cont_ring(&r.x, 1);
		assert_int_equal(theirs, i ? 0 : 1);
		for (; k < 80; k++)
			trip(&r, k, (uint32_t)(k % 3), SPOIL_NONE);
		assert_int_equal(r.issuer.s.wrong_words + r.responder.wrong_words, 0);
		assert_true(i ? r.issuer.m > 120 : r.issuer.m == 79); /* among others it isn't the trip's number */
		assert_int_equal(cont_trip_wrong(&r.m, &r.c, r.posted), 0);
		trip(&r, k++, 1, SPOIL_PUT);
		assert_int_equal(r.responder.wrong_words, 1);
		trip(&r, k++, 1, SPOIL_REPLY);
		assert_int_equal(r.issuer.s.wrong_words, 1);
		assert_int_equal(r.issuer.s.wrong_message, 81);
		beside(&r);
		assert_int_equal(cont_trip_wrong(&r.m, &r.c, r.posted), 0);
		at = r.m.rate.dst.p + theirs * r.m.rate.slots_step + rtt_offset(&r.h.a.q, r.posted[theirs] - 1);
		*at ^= 4;
		assert_int_equal(cont_trip_wrong(&r.m, &r.c, r.posted), 1);
		rig_close(&r);
	}
}

/* ---- what goes wrong ---- */

static void faults_end_in_words(void **state)
{
	static const struct faulty faults[] = {
		{ "fault=no-reply", ETIMEDOUT, "message 20: no reply in 2 s; its put is completed; the senders' worker rang for 21 messages (21 done), the responder's for 20 (20 done)",
		  "the responder has seen 21 puts and handed over 20 replies" },
		{ "fault=no-reply others=1 others_queue=shared", ETIMEDOUT, "message 20: no reply in 2 s; its put is completed", "seen 21 puts" },
		{ "fault=dead-nic", ETIMEDOUT, "message 20: no reply in 2 s; the NIC has not completed its put", "rang for 21 messages (20 done)" },
		{ "fault=stuck-worker others=1", ETIMEDOUT, "message 20: no reply in 2 s; the NIC has not completed its put", "seen 20 puts" },
		{ "fault=killed-worker", ETIMEDOUT, "message 20: no reply in 2 s", "the senders' worker, whose thread had ended, rang for 20" },
		{ "fault=ring-overrun others=1", EPROTO, "worker 0: ring 0 was overrun: where message 20 should", "it found message 1044" },
		{ "fault=ring-overrun others=1 others_queue=shared", EPROTO, "worker 0: ring 0 was overrun", "it found message" },
		{ "fault=key", EREMOTEIO, "worker 0: ring 0: message 0: CQE", "syndrome 0x13" },
		{ "fault=error-cqe", EREMOTEIO, "worker 0: ring 0: message 20: CQE", "syndrome 0x14" },
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		faulty_ends(&faults[i]);
}

/* The responder's worker is named by the responder's ring, whatever its payloads are numbered by. */
static void a_reply_is_the_responders(void **state)
{
	struct cont_got g = { .help = { .st = { [1] = { .end = WORKER_CQE_ERROR, .ring = 4, .at = 7, .syndrome = 0x13 } } } };
	struct rate_out out[5] = { { .status = RATE_GIVEN_UP } };
	struct cont_conf c;
	char why[256] = "";
	struct point pt;

	(void)state;
	need_two_cpus();
	contended_of(&pt, "others=3");
	assert_int_equal(cont_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(c.queues, 4);
	g.out = out;
	fs_reason_clear();
	assert_int_equal(cont_verdict(&c, &g), -EREMOTEIO);
	assert_non_null(strstr(fs_reason(), "worker 1: ring 4: message 7: CQE with syndrome 0x13"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rest_is_left), cmocka_unit_test(a_put_is_known_by_its_trip), cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(a_reply_is_the_responders),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
