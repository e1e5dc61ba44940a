/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a message that is timed while others post through the same NIC is taken apart without a rest, in a queue
 * of its own and in one that all share; every message of anybody is done and lies where it should, and what the
 * others carried is counted; who posts by a pace is never early and catches nothing up. Whatever ends
 * badly ends in bounded time, and says whose message it was. What can't be is refused.
 *
 * Controls: the same counts, payloads and endings with one thing wrong are found.
 */
#define CONTENDED_BASE "messages=200 warmup=32"
#include "tests/contended_rig.h"

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/completion/contended_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>

static double mean(const struct rows *rs, const char *stage, const char *interval)
{
	const struct row *r = row_of(rs, stage, interval, "latency");

	assert_non_null(r);
	assert_true(r->s.n > 0 && r->s.min >= 0);
	return r->s.mean;
}

static void rows_hold_together(const struct rows *rs, int shared)
{
	double sum = mean(rs, "issue", "intent-reserved") + mean(rs, "handoff", "reserved-built") + mean(rs, "handoff", "turn-rung");

	assert_int_equal(row_of(rs, "queueing", "built-turn", "latency") != NULL, shared);
	if (shared)
		sum += mean(rs, "queueing", "built-turn");
	assert_true(fabs(sum - mean(rs, "submit", "-")) <= 1e-6 * sum + 1e-3);
	sum += mean(rs, "-", "rung-noticed");
	assert_true(fabs(sum - mean(rs, "total", "-")) <= 1e-6 * sum + 1e-3);
	assert_non_null(row_of(rs, "-", "-", "carried"));
	assert_non_null(row_of(rs, "-", "-", "nic_busy"));
}

static void whatever_is_beside_it(void **state)
{
	static const char *const points[] = {
		"others=0", "others=0 others_queue=shared", "others=1", "others=1 others_queue=shared", "others=3 others_batch=4",
		"others=2 others_queue=shared others_batch=16", "others=2 others_pace=50000", "others=1 others_queue=shared others_pace=50000",
		"others=1 size=300", "others=1 others_queue=shared size=300 ordering=sys-fence-record", "others=1 doorbell=ring",
		"others=1 others_queue=shared depth=1", "others=1 ordering=none", "others=2 nic_workers=2", "others=1 others_queue=shared size=0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct rows rs;
		int rc = run(points[i], &rs);

		if (rc)
			fail_msg("%s: %s", points[i], fs_reason());
		rows_hold_together(&rs, strstr(points[i], "shared") != NULL);
		assert_true(strstr(points[i], "others=0") == NULL || row_of(&rs, "-", "-", "carried")->s.mean == 0);
		/* where threads are more than CPUs it is said */
		if (pin_cpus() < 3 && !strstr(points[i], "others=0") && !strstr(points[i], "ordering=none")) /* a stale fetch comes first */
			assert_string_equal(row_of(&rs, "total", "-", "latency")->reason_code, "crowded");
		rows_free(&rs);
	}
}

/* The scheduler decides when others run beside: sooner or later some of them do. */
static void others_are_counted(void **state)
{
	static const char *const points[] = { "others=2 messages=2000", "others=2 messages=2000 others_queue=shared" };

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t until = deadline_in_s(100);
		double carried = 0;

		while (carried <= 0 && !deadline_over(until)) {
			struct rows rs;
			int rc = run(points[i], &rs);

			if (rc)
				fail_msg("%s: %s", points[i], fs_reason());
			carried = row_of(&rs, "-", "-", "carried")->s.mean;
			rows_free(&rs);
		}
		assert_true(carried > 0);
	}
}

static void a_pace_is_kept(void **state)
{
	struct cont_args a = { .pace_ns = 200000 };
	uint64_t due = 0, before;

	(void)state;
	before = wall_ticks_ns();
	due = cont_pace(&a, due); /* the first one at once */
	assert_true(due >= before + a.pace_ns);
	for (int i = 0; i < 50; i++) {
		uint64_t was = due, now;

		due = cont_pace(&a, due);
		now = wall_ticks_ns();
		assert_true(now >= was);                      /* never early */
		assert_true(due == was + a.pace_ns || due >= was + 2 * a.pace_ns); /* on time, or too late to be */
		assert_true(due <= now + a.pace_ns);
	}
	/* nothing is caught up */
	before = wall_ticks_ns();
	due = cont_pace(&a, before - 50 * a.pace_ns);
	assert_true(due >= before + a.pace_ns);
}

/* ---- what goes wrong ---- */

static void faults_end_in_words(void **state)
{
	static const struct faulty faults[] = {
		{ "fault=key", EREMOTEIO, "CQE with syndrome 0x13", NULL },
		{ "fault=key others=1", EREMOTEIO, "CQE with syndrome 0x13", NULL },
		{ "fault=key others=1 others_queue=shared", EREMOTEIO, "CQE with syndrome 0x13", NULL },
		{ "fault=error-cqe", EREMOTEIO, "the timed one: message 132: CQE with syndrome 0x14", NULL },
		{ "fault=dead-nic", ETIMEDOUT, "the timed one: no completion of message 132, or no turn, while nothing went on for 2 s; the NIC has done 132 messages", NULL },
		{ "fault=dead-nic others=1 others_queue=shared", ETIMEDOUT, "no completion of message", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		faulty_ends(&faults[i]);
}

/* Two agents and a NIC that end well, but for one thing. */
static int judged(void (*spoil)(struct cont_got *g, struct cont_conf *c))
{
	struct rate_out out[2] = { { .status = RATE_OK, .messages = 232 }, { .status = RATE_OK, .messages = 40 } };
	struct cont_got g = { .out = out, .nic = { { .wqes = 272 } } };
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

static void lost(struct cont_got *g, struct cont_conf *c) { (void)c; g->nic[0].wqes--; }
static void foreign(struct cont_got *g, struct cont_conf *c) { (void)c; g->nic[0].odd_doorbells++; }
static void stale(struct cont_got *g, struct cont_conf *c) { (void)c; g->nic[0].stale_wqe++; }
static void wrong(struct cont_got *g, struct cont_conf *c) { (void)c; g->wrong++; }
static void late(struct cont_got *g, struct cont_conf *c) { (void)c; g->out[1].status = RATE_TIMEOUT; g->out[0].status = RATE_GIVEN_UP; }
static void silent(struct cont_got *g, struct cont_conf *c) { (void)c; g->out[1].status = RATE_RUNNING; }
static void overdue(struct cont_got *g, struct cont_conf *c) { late(g, c); g->own.overdue = 129; }
static void stale_where_it_may(struct cont_got *g, struct cont_conf *c)
{
	g->nic[0].stale_wqe = g->wrong = 1;
	c->rate.path.order_class = "unsafe";
}

static void endings_are_judged(void **state)
{
	static const struct { void (*spoil)(struct cont_got *g, struct cont_conf *c); int rc; const char *says; } endings[] = {
		{ NULL, 0, "" }, { stale_where_it_may, 0, "" },
		{ lost, -EPROTO, "272 messages were posted, and the NIC has done 271" },
		{ foreign, -EBADMSG, "1 doorbells that announce nothing" },
		{ stale, -EBADMSG, "1 stale WQE fetches" },
		{ wrong, -EBADMSG, "1 wrong words" },
		{ late, -ETIMEDOUT, "one of the others, 1: no completion" },
		{ overdue, -ETIMEDOUT, "the pass was not over after 80 s, at message 128 of 232; legal: fewer messages or others" },
		{ silent, -EPROTO, "one of the others, 1 ended without a status" },
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
		{ "nic=null", "nic=soft or peer" }, { "others=64", "others=0..63" }, 
		{ "others=1 others_batch=32", "depth=32 or more" }, { "size=64 payload=inline others=1 others_queue=shared", "size=0..28, or payload=pointer" },
		{ "messages=1000001", "1..1000000" }, { "size=5000", "size=0..4096" }, { "fault=opcode", "legal: none, key, dead-nic" },
		{ "fault=gpu-lost", "legal: none, key, dead-nic" }, { "fault=stuck-worker", "legal: submitter=proxy" },
		{ "doorbell=blueflame", "depth=1" }, { "nic_workers=2", "nic_workers=1..1" },
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
		cmocka_unit_test(whatever_is_beside_it), cmocka_unit_test(others_are_counted), cmocka_unit_test(a_pace_is_kept),
		cmocka_unit_test(faults_end_in_words), cmocka_unit_test(endings_are_judged), cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
