/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: round trips whose agents hand their messages over to workers end as those of agents that post
 * themselves: each put and each reply is done once, its WQE is the one that its agent would have built and
 * every word of it is right, in either form of the proxy; an agent goes on by its credit alone; a responder's delay
 * is in what both see; and what workers did is in the rows. A stuck worker, a killed one, an
 * overrun ring and a bad CQE end in words, on either side, in bounded time; what can't be is refused with what
 * would be legal.
 *
 * Controls: a word that isn't the message's is counted; without credit nobody goes on; points without the fault
 * and without the delay go well, and show neither; a pass without workers has no rows of any.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include "stages/completion/rtt_parts.h"
#include "stages/suite.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

extern const struct probe probe_rtt;

static const char *const forms[PROXY_FORMS] = { "proxy=tuned", "proxy=baseline" };

/* The path refuses a CPU issuer and a helper on one CPU. */
static void need_two_cpus(void)
{
	if (pin_cpus() < 2)
		skip();
}

/* Five threads take turns on two CPUs, and where others want these too each turn is milliseconds: few messages. */
static void proxy_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_rtt);
	point_set(pt, "issuer=cpu submitter=proxy messages=40 warmup=0");
	point_set(pt, text);
	fs_point_id(pt);
}

static void resolved(struct rtt_conf *c, const char *form, const char *text)
{
	char why[256] = "";
	struct point pt;

	proxy_point(&pt, form);
	point_set(&pt, text);
	if (rtt_resolve(&pt, suite_machine(), c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	rtt_clock(c, suite_cpu_clock()->kind == CPU_CLOCK_GETTIME);
}

/* ---- the test is both agents and the NIC; workers are none, or threads ---- */

struct rig {
	struct rtt_conf c;
	struct rtt_mem m;
	struct rtt_hand_args h;
	struct wide w;
	struct wide_queue states[RTT_WAYS];
	struct wide_worker me;
	struct rtt_side side[RTT_WAYS];
	struct rate_help *help;
	struct rate_helped helped;
};

static void rig_open(struct rig *r, const char *form, const char *text, uint64_t wait_ns)
{
	memset(r, 0, sizeof(*r));
	resolved(&r->c, form, text);
	r->c.rate.workers = r->c.way[RTT_PUT].workers = 1;
	assert_int_equal(rtt_mem_init(&r->m, &r->c), 0);
	rtt_args_fill(&r->m, &r->c, &r->h.r);
	for (int w = 0; w < RTT_WAYS; w++)
		r->h.r.way[w].wait_ns = wait_ns;
	rtt_hand_fill(&r->m, &r->c, &r->h);
	rtt_wide_fill(&r->m, &r->c, &r->w);
	for (int w = 0; w < RTT_WAYS; w++) {
		rtt_begin(&r->h.r, &r->side[w], w);
		r->side[w].hand = hander_of(&r->h.way[w], 0);
	}
}

static uint64_t *credit_of(struct rig *r, int way) { return (uint64_t *)r->m.way[way].credit.p; }

/* Hands message m of a way over. */
static void hand_over(struct rig *r, int way)
{
	if (r->c.choice.mode == MODE_TUNED)
		rtt_hand(&r->h.way[way], &r->side[way], MODE_TUNED, HAND_BARE);
	else
		rtt_hand(&r->h.way[way], &r->side[way], MODE_BASELINE, HAND_BARE);
}

static int sees(struct rig *r, int way, uint64_t m)
{
	struct rtt_side *s = &r->side[!way];
	uint32_t polls = 0;

	return rtt_poll(rtt_last(s, m), rtt_want(s, m), s->mask, &polls, 0) == rtt_want(s, m);
}

/* Until a word has a value, bounded; a worker may be kept from running for long. */
static int comes(const void *p, uint64_t want)
{
	uint64_t until = deadline_in_s(60);

	while (ld64_acquire(p) != want)
		if (deadline_over(until))
			return 0;
		else
			sched_yield();
	return 1;
}

/* One way of message m: its worker rings for it, by the WQE that its agent would have built, and the NIC finds that
 * one message. */
static void carried(struct rig *r, int way, uint64_t m)
{
	const struct rate_args *q = &r->h.r.way[way];
	struct coop alone = { 0, 1 };
	uint64_t got[WQE_WORDS];
	uint8_t *wqe = q->wq + (m & ((1u << q->log_n) - 1)) * WQEBB;

	rtt_fill(q, &r->side[way], m, r->h.way[way].kind);
	hand_over(r, way);
	assert_int_equal(r->side[way].g.status, RATE_OK);
	assert_true(comes(q->db, doorbell_value(m + 1, q->qpn + (uint32_t)way)));
	memcpy(got, wqe, WQEBB);
	rate_build(q, &r->side[way].g, m, r->h.way[way].kind);
	assert_memory_equal(got, wqe, WQEBB);
	assert_false(sees(r, way, m));
	assert_int_equal(ld64(credit_of(r, way)), m); /* rung for is not done */
	assert_int_equal(wide_round(&r->w, r->states, alone, &r->me, r->c.rate.path.gettime, 0), 1);
	assert_true(sees(r, way, m));
	assert_false(sees(r, way, m + 1));
}

static const char *const trips[] = {
	"size=8", "size=28 doorbell=ring", "size=4 entries=4", "size=4096", "size=36 entries=8", "size=512 reply=signal", "size=8 payload=pointer entries=4",
};

static void wqes_and_words_are_the_agents(void **state)
{
	static struct rig r;

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(trips) / sizeof(trips[0]); i++) {
		const struct worker_status *st = r.helped.st;
		const uint64_t n = 20;

		rig_open(&r, forms[i % PROXY_FORMS], trips[i], 60000000000);
		assert_int_equal(rtt_help_start(&r.m, &r.c, &r.h.r, &r.help), 0);
		for (uint64_t m = 0; m < n; m++)
			for (int w = 0; w < RTT_WAYS; w++) {
				carried(&r, w, m);
				if (w && m == n - 1) /* control: one byte of the first word, which of long ones nobody polls on */
					((uint8_t *)r.h.r.way[w].remote)[rtt_offset(&r.h.r.way[w], m)] ^= 4;
				if (w)
					assert_true(rtt_settle(&r.h.r.way[w], &r.h.way[w], &r.side[w], m) &&
						    rtt_settle(&r.h.r.way[!w], &r.h.way[!w], &r.side[!w], m));
			}
		assert_int_equal(r.side[RTT_REPLY].wrong_words, 0);
		assert_int_equal(r.side[RTT_PUT].wrong_words, 1);
		assert_int_equal(r.side[RTT_PUT].wrong_message, n - 1);
		assert_int_equal(rate_help_stop(r.help, &r.helped), 0);
		for (int w = 0; w < RTT_WAYS; w++)
			assert_true(st[w].end == WORKER_STOPPED && st[w].taken == n && st[w].done == n && st[w].doorbells == n);
		rtt_mem_term(&r.m);
	}
}

/* No worker: the test gives credit, or doesn't. */
static void credit_is_all_that_an_agent_knows(void **state)
{
	static struct rig r;

	(void)state;
	need_two_cpus();
	for (int f = 0; f < PROXY_FORMS; f++) {
		const uint64_t *slots;
		struct patience late = { 0, 0 };
		struct rtt_side *s = &r.side[RTT_PUT];
		const struct rate_args *q = &r.h.r.way[RTT_PUT];
		const struct hand_args *hand = &r.h.way[RTT_PUT];

		rig_open(&r, forms[f], "entries=8", 20000000);
		slots = (const uint64_t *)r.m.way[RTT_PUT].hand.p;
		for (uint64_t m = 0; m < 20; m++) {
			const uint64_t *d = slots + (m & 7) * 2;

			hand_over(&r, RTT_PUT);
			assert_true(hand_valid(d[0], hand_lap(m, 3)) && hand_valid(d[1], hand_lap(m, 3)) && hand_number(d[1]) == m);
			st64(credit_of(&r, RTT_PUT), m + 1);
			assert_true(rtt_settle(q, hand, s, m) || s->wrong_words); /* no reply has come: that is counted */
		}
		/* control: done is not what was handed over */
		hand_over(&r, RTT_PUT);
		assert_false(rtt_settle(q, hand, s, 20));
		assert_true(s->g.status == RATE_TIMEOUT && s->wait == RTT_AT_CQE && s->g.at == 20);
		assert_false(rtt_sent_done(s, 20, MODE_TUNED));
		assert_true(rtt_sent_done(s, 19, MODE_TUNED));
		/* a wait for the reply ends with the worker, or in its time */
		s->g.status = RATE_OK;
		assert_false(rtt_await_reply(&r.h.r, s, 20, MODE_TUNED));
		assert_true(s->g.status == RATE_TIMEOUT && s->wait == RTT_AT_PAYLOAD);
		st64(credit_of(&r, RTT_PUT), HAND_OVER);
		s->g.status = RATE_OK;
		assert_true(rtt_late(&r.h.r, s, 20, &late, MODE_TUNED));
		assert_int_equal(s->g.status, RATE_GIVEN_UP);
		s->g.status = RATE_OK;
		assert_false(rtt_settle(q, hand, s, 20));
		assert_int_equal(s->g.status, RATE_GIVEN_UP);
		rtt_mem_term(&r.m);
	}
	/* whoever looks before it hands over sees that its worker is gone, and hands nothing over */
	rig_open(&r, "proxy=baseline", "entries=8", 20000000);
	st64(credit_of(&r, RTT_REPLY), HAND_OVER);
	hand_over(&r, RTT_REPLY);
	assert_int_equal(r.side[RTT_REPLY].g.status, RATE_GIVEN_UP);
	assert_int_equal(ld64(r.m.way[RTT_REPLY].hand.p + 8), 0);
	rtt_mem_term(&r.m);
}

/* ---- the probe ---- */

static double mean_of(const struct rows *rs, const char *metric)
{
	const struct row *r = row_of(rs, "-", "-", metric);

	return r ? r->s.mean : NAN;
}

static const char *const points[] = {
	"", "reply=signal size=1024", "size=4096", "size=28 helper_cpu=auto", "size=4", "doorbell=ring", "payload=pointer entries=4 page=64k",
	"nic_workers=2 messages=32", "warmup=200 messages=33 size=20 reply=signal",
};

static void points_run(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < PROXY_FORMS * sizeof(points) / sizeof(points[0]); i++) {
		const struct row *rtt, *submit, *span, *ways, *busy;
		const char *const text = points[i / PROXY_FORMS];
		struct rtt_conf c;
		struct point pt;
		struct rows rs;

		resolved(&c, forms[i % PROXY_FORMS], text);
		proxy_point(&pt, forms[i % PROXY_FORMS]);
		point_set(&pt, text);
		rows_init(&rs);
		if (probe_rtt.run(&pt, &rs))
			fail_msg("%s: %s", text, fs_reason());
		rtt = row_of(&rs, "total", "-", "rtt");
		submit = row_of(&rs, "submit", "-", "latency");
		span = row_of(&rs, "-", "-", "responder");
		ways = row_of(&rs, "-", "-", "both_ways");
		busy = row_of(&rs, "-", "-", "helper_busy");
		assert_true(rtt && submit && span && ways && busy);
		assert_int_equal(rtt->s.n, fs_num(&pt, "messages"));
		assert_int_equal(span->s.n, rtt->s.n);
		/* one is a part of the other, in each message */
		assert_true(submit->s.mean > 0 && submit->s.mean < rtt->s.mean && span->s.mean > 0);
		assert_true(fabs(rtt->s.mean - span->s.mean - ways->s.mean) < 1e-6 * rtt->s.mean);
		assert_true(mean_of(&rs, "wrong_words") == 0);
		assert_null(row_of(&rs, "-", "-", "respond_delta"));
		/* a message at a time: a doorbell each */
		assert_true(mean_of(&rs, "helper_rings") == 1 && mean_of(&rs, "helper_batch") == 1);
		assert_int_equal(row_of(&rs, "-", "-", "helper_cpu")->s.n, RTT_WAYS * rtt->s.n);
		assert_true(mean_of(&rs, "helper_cpu") >= 0 && mean_of(&rs, "helper_cores") >= 0 && mean_of(&rs, "helper_switches") >= 0 &&
			    mean_of(&rs, "helper_preempted") >= 0);
		assert_true(busy->s.n == RTT_WAYS && busy->s.min >= 0 && busy->s.max < 1.0001);
		/* more threads than CPUs is said of every figure */
		for (size_t k = 0; k < rs.n; k++)
			if (strcmp(rs.row[k].metric, "wrong_words"))
				assert_true(c.rate.crowded ? rs.row[k].status == FS_FLAGGED && !strcmp(rs.row[k].reason_code, "crowded") :
					    rs.row[k].status == FS_OK);
		rows_free(&rs);
	}
}

/* What is relied on is that a payload's last word comes last, where it has several; no order of the agent's. */
static void order_is_guaranteed(void **state)
{
	static const struct { const char *point, *is; } classes[] = {
		{ "", "guaranteed" }, { "size=4 reply=signal", "guaranteed" }, { "size=12", "relied-on" }, { "nic=soft submitter=gpu ordering=none", "unsafe" },
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		struct rtt_conf c;

		resolved(&c, "", classes[i].point);
		assert_string_equal(c.rate.path.order_class, classes[i].is);
	}
}

static void workers_are_in_the_rows_of_proxies_alone(void **state)
{
	struct point pt;
	struct rows rs;

	(void)state;
	need_two_cpus();
	proxy_point(&pt, "submitter=gpu");
	rows_init(&rs);
	if (probe_rtt.run(&pt, &rs))
		fail_msg("%s", fs_reason());
	assert_non_null(row_of(&rs, "total", "-", "rtt"));
	for (size_t i = 0; i < rs.n; i++)
		assert_null(strstr(rs.row[i].metric, "helper_"));
	rows_free(&rs);
}

/* Whatever CPUs do, who waits waits: told of or not, in every message of a block that has it and in no span but those. */
static void a_responder_waits(void **state)
{
	static const struct { uint32_t told, untold; } delays[] = { { 50000, 0 }, { 0, 50000 } };

	(void)state;
	need_two_cpus();
	for (int i = 0; i < 2; i++) {
		const struct row *rtt, *span;
		struct rtt_conf c;
		struct rtt_got got;
		struct rtt_mem m;
		struct rows rs;
		uint64_t delayed = 0;
		int rc;

		resolved(&c, forms[i], "messages=104 warmup=128");
		c.respond_ns = delays[i].told;
		c.untold_ns = delays[i].untold;
		memset(&m, 0, sizeof(m));
		memset(&got, 0, sizeof(got));
		rows_init(&rs);
		rc = rtt_mem_init(&m, &c);
		rc = rc ? rc : rtt_pass(&m, &c, &got);
		rc = rc ? rc : rtt_rows(&m, &c, &got, &rs);
		if (rc)
			fail_msg("%u and %u ns: %s", delays[i].told, delays[i].untold, fs_reason());
		rtt = row_of(&rs, "total", "-", "rtt");
		span = row_of(&rs, "-", "-", "responder");
		for (uint64_t k = 0; k < 104; k++)
			delayed += (uint64_t)block_planted(got.o[RTT_PUT].first + k, RTT_BLOCK);
		assert_int_equal(span->s.n, delayed);
		/* the mean: a wait is as much shorter as those before were longer, and as what one costs, which busy CPUs measure as too much */
		assert_true(span->s.mean > 25000 && rtt->s.mean > span->s.mean);
		assert_non_null(row_of(&rs, "-", "-", "respond_delta"));
		rows_free(&rs);
		rtt_mem_term(&m);
	}
}

/* Who shares a CPU with a worker is said. */
static void workers_have_cpus_of_their_own(void **state)
{
	struct rtt_conf c;

	(void)state;
	need_two_cpus();
	resolved(&c, "", "");
	assert_int_equal(c.rate.helpers, RTT_WAYS);
	assert_int_equal(c.way[RTT_PUT].helpers + c.way[RTT_REPLY].helpers, RTT_WAYS);
	if (pin_cpus() < 5)
		assert_true(c.rate.crowded);
	if (c.rate.crowded)
		return;
	assert_true(c.rate.helper_cpu[0] != c.rate.helper_cpu[1]);
	for (int w = 0; w < RTT_WAYS; w++)
		assert_true(c.rate.helper_cpu[w] != c.rate.path.cpu && c.rate.helper_cpu[w] != c.rate.path.nic_cpu);
}

/* ---- what goes wrong ---- */

static const struct { const char *point; int bad_way, code; const char *says, *more, *never; } faults[] = {
	{ "fault=stuck-worker", RTT_PUT, ETIMEDOUT, "message 20: no reply in 2 s; the NIC has not completed its put", "workers rang for 20 puts and 20 replies", "had ended" },
	{ "fault=killed-worker proxy=baseline", RTT_PUT, ETIMEDOUT, "message 20: no reply in 2 s", "the issuer's worker had ended; workers rang for 20 puts", "the responder's worker" },
	/* the responder's wait for credit and the issuer's for the reply begin together: either may end first */
	{ "fault=stuck-worker proxy=baseline", RTT_REPLY, ETIMEDOUT, " 20: no ", "workers rang for 21 puts and 20 replies", "had ended" },
	{ "fault=killed-worker", RTT_REPLY, ETIMEDOUT, " 20: no ", "the responder's worker had ended; workers rang for 21 puts", "the issuer's worker" },
	{ "fault=ring-overrun", RTT_PUT, EPROTO, "worker 0: ring 0 was overrun", "where message 20 should stand it found message 1044", "reply" },
	{ "fault=ring-overrun proxy=baseline entries=8", RTT_PUT, EPROTO, "worker 0: ring 0 was overrun", "it found message 28", "reply" },
	{ "fault=ring-overrun", RTT_REPLY, EPROTO, "worker 1: ring 1 was overrun", "it found message 1044", "put" },
	{ "fault=key", RTT_PUT, EREMOTEIO, "worker 0: ring 0: message 0", "0x13", "ring 1" },
	{ "fault=key proxy=baseline", RTT_REPLY, EREMOTEIO, "worker 1: ring 1: message 0", "0x13", "ring 0" },
	{ "fault=error-cqe", RTT_PUT, EREMOTEIO, "worker 0: ring 0: message 20", "0x14", "ring 1" },
	{ "fault=dead-nic", RTT_PUT, ETIMEDOUT, "message 20: no reply in 2 s; the NIC has not completed its put", "the responder has seen 20 puts and handed over 20 replies", "had ended" },
	{ "fault=no-reply", RTT_PUT, ETIMEDOUT, "message 20: no reply in 2 s", "the responder has seen 21 puts and handed over 20 replies", "had ended" },
};

static int pass_of(const char *text, const char *more, int bad_way)
{
	struct rtt_got got;
	struct rtt_conf c;
	struct rtt_mem m;
	int rc;

	memset(&m, 0, sizeof(m));
	memset(&got, 0, sizeof(got));
	resolved(&c, text, more);
	c.bad_way = bad_way;
	assert_int_equal(rtt_mem_init(&m, &c), 0);
	fs_reason_clear();
	rc = rtt_pass(&m, &c, &got);
	rtt_mem_term(&m);
	return rc;
}

static void faults_end_in_words(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		int rc = pass_of(faults[i].point, "", faults[i].bad_way);

		if (rc != -faults[i].code || !strstr(fs_reason(), faults[i].says) || !strstr(fs_reason(), faults[i].more) ||
		    strstr(fs_reason(), faults[i].never))
			fail_msg("%s, way %d: %d, %s", faults[i].point, faults[i].bad_way, rc, fs_reason());
		assert_true(strlen(fs_reason()) < sizeof(((struct row *)0)->reason));
		if (!(i % 4) && pass_of(faults[i].point, "fault=none", faults[i].bad_way)) /* control */
			fail_msg("%s, without the fault: %s", faults[i].point, fs_reason());
	}
}

static const struct { const char *point, *says; } refusals[] = {
	{ "submitter=host-doorbell", "legal: submitter=gpu, proxy" }, { "submitter=cpu", "legal: submitter=gpu, proxy" },
	{ "submitter=gpu proxy=baseline", "legal: submitter=proxy" }, { "submitter=gpu helper_cpu=0", "helper_cpu=auto" },
	{ "submitter=gpu fault=killed-worker", "legal: submitter=proxy" }, { "submitter=gpu fault=ring-overrun", "legal: submitter=proxy" },
	{ "ordering=none", "proxy=tuned or baseline" }, { "ordering=sys-fence", "proxy=tuned or baseline" },
	{ "doorbell=ring-record-ring", "record-ring, ring" }, { "doorbell=blueflame", "record-ring, ring" },
	{ "nic=null", "legal: nic=soft or peer" }, { "size=0", "from 4 to 4096" }, { "size=32 payload=inline", "payload=pointer" },
	{ "queue_mem=gpu", "can't reach GPU memory" }, { "nic_workers=3", "nic_workers=1..2" },
	{ "fault=deaf-consumer", "stuck-worker, killed-worker, ring-overrun" }, { "fault=lost-doorbell", "stuck-worker, killed-worker, ring-overrun" },
	{ "helper_cpu=4095", "may not run there" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct point pt;

		proxy_point(&pt, refusals[i].point);
		point_refused(&pt, suite_machine(), refusals[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wqes_and_words_are_the_agents),
		cmocka_unit_test(credit_is_all_that_an_agent_knows),
		cmocka_unit_test(points_run),
		cmocka_unit_test(order_is_guaranteed),
		cmocka_unit_test(workers_are_in_the_rows_of_proxies_alone),
		cmocka_unit_test(a_responder_waits),
		cmocka_unit_test(workers_have_cpus_of_their_own),
		cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
