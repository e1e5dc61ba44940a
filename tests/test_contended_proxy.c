/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a message that is timed while others hand over to the same worker is taken apart without a rest, in a ring of its own
 * and in one that all share; every message of anybody is done and lies where it should; what the worker did is in the rows, of the
 * measured time alone. A stuck worker, a killed one, an overrun ring, a bad CQE and a dead NIC end in words, in bounded time;
 * what can't be is refused with what would be legal.
 *
 * Controls: one byte that is changed at the target is found; points without the fault go well; a point that posts itself has no
 * rows of workers; a worker that is told nothing counts nothing as measured.
 */
/* Agents, worker and NIC take turns on two CPUs: few messages. */
#define CONTENDED_BASE "submitter=proxy proxy=baseline messages=60 warmup=8"
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

static void workers_rows(const struct rows *rs, uint32_t batch)
{
	double each = mean_of(rs, "-", "-", "helper_batch");

	assert_true(mean_of(rs, "-", "-", "helper_cpu") >= 0 && mean_of(rs, "-", "-", "helper_cores") >= 0);
	assert_true(mean_of(rs, "-", "-", "helper_switches") >= 0 && mean_of(rs, "-", "-", "helper_preempted") >= 0);
	assert_true(each >= 1 && each <= batch + 1e-9);
	near(each * mean_of(rs, "-", "-", "helper_rings"), 1);
	assert_true(mean_of(rs, "-", "-", "helper_busy") >= 0 && mean_of(rs, "-", "-", "helper_busy") <= 1.0001);
}

static void no_rest_is_left(void **state)
{
	static const char *const points[] = {
		"others=0", "others=0 others_queue=shared", "others=2", "others=2 others_queue=shared", "others=3 others_batch=4 proxy_batch=16",
		"others=2 others_queue=shared others_batch=16 proxy_batch=16", "others=1 proxy=tuned", "others=2 proxy=tuned others_batch=16",
		"others=1 others_pace=50000", "others=1 others_queue=shared others_pace=50000", "others=1 size=300",
		"others=1 others_queue=shared size=300", "others=1 doorbell=ring", "others=1 others_queue=shared depth=1", "others=2 nic_workers=3",
		"others=1 size=0", "warmup=0 messages=1",
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct rows rs;
		double sum;
		int rc = run(points[i], &rs);

		if (rc)
			fail_msg("%s: %s", points[i], fs_reason());
		sum = mean_of(&rs, "issue", "intent-reserved", "latency") + mean_of(&rs, "handoff", "reserved-handed", "latency");
		near(sum, mean_of(&rs, "submit", "-", "latency"));
		near(sum + mean_of(&rs, "-", "handed-noticed", "latency"), mean_of(&rs, "total", "-", "latency"));
		/* nothing of who posts itself */
		assert_null(row_of(&rs, "handoff", "reserved-built", "latency"));
		assert_null(row_of(&rs, "queueing", "built-turn", "latency"));
		assert_null(row_of(&rs, "-", "rung-noticed", "latency"));
		workers_rows(&rs, strstr(points[i], "proxy_batch=16") ? 16 : 1);
		assert_true(mean_of(&rs, "-", "-", "nic_busy") >= 0);
		assert_true(!strstr(points[i], "others=0") || mean_of(&rs, "-", "-", "carried") == 0);
		if (pin_cpus() < 3) {
			assert_string_equal(row_of(&rs, "total", "-", "latency")->reason_code, "crowded");
			assert_non_null(strstr(row_of(&rs, "total", "-", "latency")->reason, "1 worker and"));
		}
		rows_free(&rs);
	}
}

static void who_posts_itself_has_no_worker(void **state)
{
	struct rows rs;

	(void)state;
	assert_int_equal(run("submitter=gpu proxy=tuned others=1", &rs), 0);
	assert_null(row_of(&rs, "-", "-", "helper_cpu"));
	assert_null(row_of(&rs, "-", "-", "helper_busy"));
	assert_null(row_of(&rs, "handoff", "reserved-handed", "latency"));
	rows_free(&rs);
}

/* The scheduler decides when others run beside: sooner or later some of them do. */
static void others_are_counted(void **state)
{
	static const char *const points[] = { "others=2 messages=400", "others=2 messages=400 others_queue=shared" };

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t until = deadline_in_s(80);
		double carried = 0;

		while (carried <= 0 && !deadline_over(until)) {
			struct rows rs;
			int rc = run(points[i], &rs);

			if (rc)
				fail_msg("%s: %s", points[i], fs_reason());
			carried = mean_of(&rs, "-", "-", "carried");
			rows_free(&rs);
		}
		assert_true(carried > 0);
	}
}

/* ---- the test is the agents and the NIC; the worker is a thread, or none ---- */

struct rig {
	struct cont_conf c;
	struct cont_mem m;
	struct cont_trip_args h;
	struct cont_hands x;
	struct cont_got got;
	struct wide w;
	struct wide_queue states[4];
	struct wide_worker me;
	struct rate_help *help;
};

static void rig_open(struct rig *r, const char *text)
{
	char why[256] = "";
	struct point pt;

	memset(r, 0, sizeof(*r));
	contended_of(&pt, text);
	if (cont_resolve(&pt, suite_machine(), &r->c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	r->c.rate.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	assert_int_equal(rate_mem_init(&r->m.rate, &r->c.rate), 0);
	assert_int_equal(cont_help_init(&r->m, &r->c), 0);
	assert_int_equal(rate_mem_reset(&r->m.rate, &r->c.rate), 0);
	rate_args_fill(&r->m.rate, &r->c.rate, &r->h.a.q);
	r->h.a.q.agents = r->c.senders;
	r->h.a.q.queues = r->c.queues;
	r->h.a.q.wait_ns = 20000000;
	cont_help_fill(&r->m, &r->c, &r->h, &r->x);
	rate_wide_fill(&r->m.rate, &r->c.rate, &r->w);
	r->w.workers = 1;
}

static void rig_close(struct rig *r)
{
	rate_mem_term(&r->m.rate);
	place_free(&r->m.phase);
}

static uint64_t *credit_of(struct rig *r, uint32_t ring) { return (uint64_t *)(r->m.rate.credit.p + ring * SHARE_LINE); }

/* Until a word has a value, or *more does something, bounded; a worker may be kept from running for long. */
static int comes(struct rig *r, const void *p, uint64_t want)
{
	uint64_t until = deadline_in_s(60);
	struct coop alone = { 0, 1 };

	while (ld64_acquire(p) != want) {
		if (deadline_over(until))
			return 0;
		wide_round(&r->w, r->states, alone, &r->me, r->c.rate.path.gettime, 0);
		sched_yield();
	}
	return 1;
}

/* n messages of agent `number`, one by one. */
static void handed(struct rig *r, uint32_t number, uint64_t *m, uint32_t n)
{
	const struct hand_args *h = &r->x.way[RTT_PUT];
	struct hander s = hander_of(h, cont_ring(&r->x, number));

	for (uint32_t i = 0; i < n; i++)
		cont_hand_into(h, &s, (*m)++, MODE_BASELINE);
}

static void payloads_are_compared(void **state)
{
	static const char *const points[] = { "others=2 size=16", "others=2 size=16 others_queue=shared", "others=2 size=200 others_queue=shared" };
	static struct rig r;

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t posted[3] = { 0, 0, 0 };
		uint8_t *at;

		rig_open(&r, points[i]);
		assert_int_equal(r.c.queues, i ? 1 : 3);
		assert_int_equal(cont_help_start(&r.m, &r.c, &r.help), 0);
		for (int k = 0; k < 30; k++)
			for (uint32_t a = 0; a < r.c.senders; a++) {
				uint32_t ring = cont_ring(&r.x, a);

				handed(&r, a, &posted[ring], 1);
				assert_true(comes(&r, credit_of(&r, ring), posted[ring]));
			}
		assert_int_equal(cont_help_stop(&r.c, r.help, &r.got), 0);
		assert_int_equal(r.got.help.st[0].done, 90);
		assert_int_equal(r.got.help.st[0].measured, 0); /* nobody said that anything is */
		assert_int_equal(rate_wrong_of(&r.m.rate, &r.c.rate, posted), 0);
		at = r.m.rate.dst.p + (r.c.queues - 1) * r.m.rate.slots_step + 5 * r.c.rate.path.stride;
		*at ^= 4;
		assert_int_equal(rate_wrong_of(&r.m.rate, &r.c.rate, posted), 1);
		rig_close(&r);
	}
}

/* A batch waits for room for all of it, and for nothing once there is. */
static void depth_is_kept(void **state)
{
	static struct rig r;
	struct rate_agent g;
	struct hander s;

	(void)state;
	need_two_cpus();
	for (int form = 0; form < PROXY_FORMS; form++) {
		const struct hand_args *h = &r.x.way[RTT_PUT];

		rig_open(&r, form == PROXY_TUNED ? "others=1 proxy=tuned" : "others=1");
		rate_begin(&r.h.a.q, &g, 0, 0);
		s = hander_of(h, 0);
		for (uint64_t m = 0; m < 40; m += 4) {
			st64(credit_of(&r, 0), m < 12 ? 0 : m - 12); /* room for these alone */
			assert_int_equal(form == PROXY_TUNED ? hand_slots(h, &g, &s, 4, PROXY_TUNED) : hand_slots(h, &g, &s, 4, PROXY_BASELINE), m);
			assert_int_equal(g.status, RATE_OK);
			g.pi = m + 4;
		}
		st64(credit_of(&r, 0), 27); /* control: 16 messages are under way, and three of four would fit */
		(void)(form == PROXY_TUNED ? hand_slots(h, &g, &s, 4, PROXY_TUNED) : hand_slots(h, &g, &s, 4, PROXY_BASELINE));
		assert_int_equal(g.status, RATE_TIMEOUT);
		assert_int_equal(g.at, 43);
		rig_close(&r);
	}
}

/* What a worker counts lies between two words of whoever measures. */
static void only_the_measured_time_counts(void **state)
{
	static struct rig r;
	const struct worker_status *w = &r.got.help.st[0];
	uint64_t m = 0;

	(void)state;
	need_two_cpus();
	rig_open(&r, "others=0");
	assert_int_equal(cont_help_start(&r.m, &r.c, &r.help), 0);
	handed(&r, 0, &m, 5);
	assert_true(comes(&r, credit_of(&r, 0), m));
	st64_release_sys(r.x.phase, HAND_MEASURED);
	for (int i = 0; i < 7; i++) {
		handed(&r, 0, &m, 1);
		assert_true(comes(&r, credit_of(&r, 0), m));
	}
	st64_release_sys(r.x.phase, HAND_ENDED);
	handed(&r, 0, &m, 3);
	assert_true(comes(&r, credit_of(&r, 0), m));
	assert_int_equal(cont_help_stop(&r.c, r.help, &r.got), 0);
	assert_int_equal(w->done, 15);
	assert_int_equal(w->measured, 7); /* it looks at the word before anything that it has just taken can be done */
	assert_true(w->over.wall > w->begin.wall && w->ticks > 0 && w->busy <= w->ticks);
	rig_close(&r);
}

/* ---- what goes wrong ---- */

static void faults_end_in_words(void **state)
{
	static const struct faulty faults[] = {
		{ "fault=stuck-worker others=1", ETIMEDOUT, "no completion of message 38, or no room for it", "the senders' worker rang for" },
		{ "fault=stuck-worker others=1 others_queue=shared", ETIMEDOUT, "or no room for it", "; the senders' worker rang for 38 messages (38 done)" },
		{ "fault=killed-worker others=1", ETIMEDOUT, "or no room for it", "the senders' worker, whose thread had ended, rang for" },
		{ "fault=ring-overrun others=1", EPROTO, "worker 0: ring 0 was overrun: where message 38 should", "it found message 1062" },
		{ "fault=ring-overrun others=1 others_queue=shared", EPROTO, "worker 0: ring 0 was overrun", "it found message" },
		{ "fault=ring-overrun proxy=tuned", EPROTO, "ring 0 was overrun: where message 38 should", "it found message 1062" },
		{ "fault=key", EREMOTEIO, "worker 0: ring 0: message 0: CQE", "syndrome 0x13" },
		{ "fault=key others=1 others_queue=shared", EREMOTEIO, "worker 0: ring 0: message 0: CQE", "syndrome 0x13" },
		{ "fault=error-cqe others=1", EREMOTEIO, "worker 0: ring 0: message 38: CQE", "syndrome 0x14" },
		{ "fault=dead-nic", ETIMEDOUT, "the timed one: no completion of message 38, or no room for it", "rang for 39 messages (38 done)" },
		{ "fault=dead-nic others=1 others_queue=shared", ETIMEDOUT, "no completion of message", "the senders' worker rang for" },
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		faulty_ends(&faults[i]);
}

/* Rows of a pass that went well, of a worker and a NIC that were busy for so many percent. */
static const char *said_of(uint64_t worker, uint64_t nic, const char *why)
{
	static char code[64];
	struct rate_out out[2] = { { .status = RATE_OK, .messages = 68 }, { .status = RATE_OK } };
	struct cont_got g = { .out = out, .own = { .begin = { 0, 0 }, .end = { 60000, 60000 } } };
	struct cont_conf c;
	struct cont_mem m;
	char words[256];
	struct point pt;
	struct rows rs;

	memset(&m, 0, sizeof(m));
	contended_of(&pt, "others=1");
	assert_int_equal(cont_resolve(&pt, suite_machine(), &c, words, sizeof(words)), 0);
	c.rate.crowded = 0;
	g.nic[0].busy = nic;
	g.nic[0].all = g.help.st[0].ticks = 100;
	g.help.st[0].busy = worker;
	g.help.st[0].measured = g.help.st[0].taken = g.help.st[0].doorbells = 60;
	assert_int_equal(place_alloc(&m.stamps, PLACE_HOST, c.messages * CONT_STAMPS * 8, 4096, 0), 0);
	assert_int_equal(place_set(&m.stamps, 0), 0);
	rows_init(&rs);
	assert_int_equal(cont_rows(&m, &c, &g, &rs), 0);
	near(mean_of(&rs, "-", "-", "helper_busy"), (double)worker / 100);
	for (size_t i = 0; i < rs.n; i++) {
		assert_string_equal(rs.row[i].reason_code, rs.row[0].reason_code);
		assert_non_null(strstr(rs.row[i].reason, why));
	}
	snprintf(code, sizeof(code), "%s", rs.row[0].reason_code);
	rows_free(&rs);
	place_free(&m.stamps);
	return code;
}

static void a_limit_is_said(void **state)
{
	(void)state;
	need_two_cpus();
	assert_string_equal(said_of(95, 50, "a worker was busy 95 % of the time"), "worker-limit");
	assert_string_equal(said_of(95, 96, "the stand-in was the limit"), "nic-limit");
	assert_string_equal(said_of(89, 50, ""), "");
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct { const char *text, *says; } refusals[] = {
		{ "submitter=host-doorbell", "legal: submitter=gpu, proxy" }, { "submitter=cpu", "legal: submitter=gpu, proxy" },
		{ "proxy=tuned others=1 others_queue=shared", "legal: proxy=baseline, or others_queue=private" },
		{ "others=32", "legal: others=0..31, or proxy=baseline with others_queue=shared" }, { "others=31 trip=round payload=pointer", "legal: others=0..30" },
		{ "workers=2 others=2", "legal: workers=1" }, { "trip=round workers=2", "one more the responder's; legal: workers=1" },
		{ "trip=round", "legal: payload=pointer" }, { "trip=round size=16 payload=inline", "legal: payload=pointer" },
		{ "trip=round payload=pointer others=30 size=4096 depth=32768 entries=32768", "these are 4224" },
		{ "submitter=gpu", "legal: submitter=proxy" }, { "submitter=gpu proxy=tuned fault=stuck-worker", "legal: submitter=proxy" },
		{ "submitter=gpu proxy=tuned workers=2", "legal: submitter=proxy" }, { "submitter=gpu proxy=tuned helper_cpu=0", "helper_cpu=auto" },
		{ "fault=opcode", "with submitter=proxy stuck-worker, killed-worker, ring-overrun, and with others_gpu failed-launch" }, { "ordering=none", "proxy=tuned or baseline" },
		{ "others=1 others_batch=32", "depth=32 or more" }, { "nic=null", "nic=soft or peer" }, { "doorbell=blueflame depth=1", "doorbell=record-ring" },
		{ "queue_mem=gpu", "can't reach GPU memory" }, { "nic_workers=2", "nic_workers=1..1" }, { "helper_cpu=4095", "may not run there" },
		{ "size=29 payload=inline", "size=0..28" },
	};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct cont_conf c;
		char why[256] = "";
		struct point pt;

		contended_of(&pt, refusals[i].text);
		if (!cont_resolve(&pt, suite_machine(), &c, why, sizeof(why)) || !strstr(why, refusals[i].says))
			fail_msg("%s: \"%s\"; expected \"%s\"", refusals[i].text, why, refusals[i].says);
		assert_true(strlen(why) < sizeof(why) - 1);
	}
}

/* As many others as a ring, or a ring each, can have. */
static void the_most_is_legal(void **state)
{
	static const char *const points[] = { "others=31", "others=63 others_queue=shared", "others=30 trip=round payload=pointer",
		"others=62 others_queue=shared trip=round payload=pointer" };

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct cont_conf c;
		char why[256] = "";
		struct point pt;

		contended_of(&pt, points[i]);
		if (cont_resolve(&pt, suite_machine(), &c, why, sizeof(why)))
			fail_msg("%s: %s", points[i], why);
		assert_int_equal(c.rate.helpers, i < 2 ? 1 : 2);
		assert_int_equal(c.queues, i % 2 ? 1 : c.senders);
		assert_int_equal(c.rate.queues, c.queues + i / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rest_is_left), cmocka_unit_test(who_posts_itself_has_no_worker), cmocka_unit_test(others_are_counted),
		cmocka_unit_test(payloads_are_compared), cmocka_unit_test(depth_is_kept), cmocka_unit_test(only_the_measured_time_counts),
		cmocka_unit_test(faults_end_in_words), cmocka_unit_test(a_limit_is_said), cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(the_most_is_legal),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
