/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: every legal point of the probe `rate` with CPU agents ends with every message
 * done once and its payload right, and gives rows that hold together, also where WQEs take
 * two basic blocks; WQEs that are built
 * in groups are the same bytes as those that are built one by one; each fault ends
 * in words, in bounded time; what can't be is refused with what would be legal.
 *
 * Controls: memory that no pass has written to is all wrong; a spoiled word of the
 * payloads or of the rings is counted; a group that begins elsewhere is another one; points
 * without the fault go well.
 */
#include "tests/random_points.h"
#include "tests/wide_rig.h"

#include <errno.h>
#include <math.h>

enum { POINTS = 4000, POINTS_MIN = 20, SEED = 4711 };
#define BUDGET_S 8.0 /* for random points; a busy machine does fewer */

static const char *rows_wrong(const struct rows *rs, const struct rate_conf *c)
{
	static const char *const parts[] = { "intent-reserved", "reserved-built", "built-turn", "turn-rung", "rung-passed" };
	const struct row *rate = row_of(rs, "total", "-", "rate"), *r;
	double sum = 0;
	int passed = 0;

	if (!rate || !(rate->s.mean > 0) || rate->s.ci_lo > rate->s.mean || rate->s.ci_hi < rate->s.mean)
		return "no rate, or outside its interval";
	if (!(r = row_of(rs, "total", "-", "rate_queue")) || (c->queues > 1 && r->s.n != c->queues))
		return "not a rate for each queue";
	if (c->workers && (!(r = row_of(rs, "-", "-", "nic_busy")) || !(r->s.mean >= 0) || r->s.mean > 1.0001))
		return "the NIC's workers are not busy between never and always";
	if (c->workers && (!(r = row_of(rs, "handoff", "-", "stale_wqe")) || r->s.mean != 0))
		return "stale fetches";
	if (!c->spans)
		return row_of(rs, "submit", "-", "latency") ? "spans that nobody asked for" : NULL;
	for (int k = 0; k < 5; k++)
		for (size_t i = 0; i < rs->n; i++)
			if (!strcmp(rs->row[i].interval, parts[k])) {
				if (rs->row[i].s.mean < 0)
					return "a negative span";
				sum += k < 4 ? rs->row[i].s.mean : 0;
				passed |= k == 4;
			}
	if (passed == form_owns(c->form))
		return "what is passed on isn't shown where a queue is shared, or is where it isn't";
	r = row_of(rs, "submit", "-", "latency");
	if (!r || fabs(sum - r->s.mean) > r->s.mean * 1e-4 + 0.001)
		return "spans don't add up to submit";
	return row_of(rs, "total", "-", "rate_explained") ? NULL : "nothing is explained";
}

static void run_rate(const struct point *pt)
{
	char why[256], text[512];
	const char *what = NULL;
	struct rate_conf c;
	struct rows rs;
	int rc;

	assert_int_equal(rate_resolve(pt, suite_machine(), &c, why, sizeof(why)), 0);
	rows_init(&rs);
	fs_reason_clear();
	rc = probe_rate.run(pt, &rs);
	if (rc || (what = rows_wrong(&rs, &c)))
		fail_msg("%s: %s", fs_point_text(pt, text, sizeof(text)), rc ? fs_reason() : what);
	rows_free(&rs);
}

/* ---- points ---- */

static const char *const grid[] = {
	"batch=16 depth=64", "batch=16 depth=64 signal=16", "batch=4 depth=64 signal=32", "size=0", "size=28", "size=13",
	"size=200 depth=16", "size=4096 depth=8 page=64k", "payload=pointer size=8", "doorbell=ring", "doorbell=ring-record-ring depth=8",
	"ordering=none", "ordering=sys-release", "ordering=threadfence batch=2 depth=4 entries=4", "sharing=warp batch=32 depth=64",
	"cq=collapsed", "cq=collapsed depth=64 batch=16 signal=8", "cq=collapsed payload=pointer size=300 depth=16 ordering=sys-fence-record",
	"cq=collapsed messages=150000 depth=1024 batch=8 entries=1024", "cq=collapsed doorbell=ring depth=8",
	"cq=collapsed threads=2 sharing=gpu depth=16", "cq=collapsed sharing=lock threads=2 depth=8 batch=2 signal=2", "cq=collapsed sharing=warp threads=2 queues=1 batch=8 depth=32",
	"marks=outer depth=32", "messages=1 warmup=0", "messages=150000 depth=1024 batch=64 entries=1024", "page=2m size=16",
	/* more threads than CPUs */
	"threads=2 depth=8", "threads=2 nic_workers=2 depth=64 batch=8", "blocks=2 sharing=block threads=2 depth=16",
	"sharing=gpu threads=2 depth=8", "sharing=lock threads=2 depth=16 batch=4", "sharing=warp threads=2 queues=1 batch=8 depth=32",
};

static void every_kind_of_point(void **state)
{
	struct point pt;

	(void)state;
	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (int k = 0; k < 2; k++) {
			struct rate_conf c;
			char why[256];

			rate_point(&pt, k ? "nic=null messages=1500 warmup=100" : "nic=soft messages=1500 warmup=100");
			point_set(&pt, grid[i]);
			if (!rate_resolve(&pt, suite_machine(), &c, why, sizeof(why)))
				run_rate(&pt);
		}
}

/* None of these may be refused. */
static const char *const two_blocks[] = {
	"size=29", "size=44 depth=8 batch=8", "size=61 batch=8 depth=32 signal=4", "size=92 batch=2 depth=8 signal=4 entries=16 messages=3000",
	"size=92 depth=512 batch=16", "size=91 cq=collapsed depth=16 batch=4 ordering=sys-fence-record", "size=77 threads=2 depth=8 nic_workers=2",
	"size=92 ordering=none depth=2 entries=4", "size=60 marks=outer messages=1 warmup=0",
	/* indices go round */
	"size=92 messages=70000 depth=512 batch=16", "size=32 messages=70000 depth=4096 batch=64 entries=8192 cq=collapsed",
};

static void two_blocks_are_messages_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(two_blocks) / sizeof(two_blocks[0]); i++)
		for (int k = 0; k < 2; k++) {
			struct rate_conf c;
			struct point pt;
			char why[256];

			rate_point(&pt, k ? "nic=null messages=1500 warmup=100 payload=inline" : "nic=soft messages=1500 warmup=100 payload=inline");
			point_set(&pt, two_blocks[i]);
			if (k && fs_is(&pt, "cq", "collapsed"))
				continue; /* nobody completes anything */
			if (rate_resolve(&pt, suite_machine(), &c, why, sizeof(why)))
				fail_msg("%s: %s", two_blocks[i], why);
			assert_int_equal(c.path.choice.kind, POST_INLINE2);
			run_rate(&pt);
		}
}

static void random_points(void **state)
{
	uint64_t until = deadline_in_s(BUDGET_S);
	int done = 0, refused = 0;

	(void)state;
	seed = SEED;
	while (done < POINTS && (done < POINTS_MIN || !deadline_over(until))) {
		uint64_t entries = 4u << below(7);
		struct rate_conf c;
		struct point pt;
		char why[256];

		rate_point(&pt, below(4) ? "nic=soft" : "nic=null");
		set_word(&pt, "sharing", SHARINGS);
		set_word(&pt, "ordering", ORDERINGS);
		set_word(&pt, "doorbell", WORD_DOORBELLS);
		set_word(&pt, "payload", 3);
		set_number(&pt, "size", below(3) ? below(below(2) ? 29 : 93) : below(600));
		set_number(&pt, "entries", entries);
		set_number(&pt, "depth", 1 + below(entries));
		set_number(&pt, "batch", below(3) ? 1 : 1 + below(8));
		set_number(&pt, "signal", below(3) ? 1 : 1u << below(4));
		if (!below(4))
			set_word(&pt, "cq", 2);
		set_number(&pt, "threads", below(4) ? 1 : 1 + below(3));
		set_number(&pt, "blocks", below(6) ? 1 : 2);
		if (!below(4))
			set_number(&pt, "queues", 1 + below(2));
		set_number(&pt, "messages", 1 + below(400));
		set_number(&pt, "warmup", below(100));
		fs_point_id(&pt);
		if (rate_resolve(&pt, suite_machine(), &c, why, sizeof(why))) {
			refused++;
			continue;
		}
		run_rate(&pt);
		done++;
	}
	print_message("%d random points, %d more were no legal ones\n", done, refused);
	assert_true(refused < 4 * done);
}

/* control */
static void wrong_words_are_seen(void **state)
{
	static const char *const points[] = { "threads=2 depth=8 messages=64 warmup=0", "payload=pointer size=64 depth=8 messages=64 warmup=0",
					      "nic=null threads=2 entries=16 depth=8 messages=64 warmup=0",
					      "threads=2 depth=8 messages=64 warmup=0 payload=inline size=92",
					      "nic=null threads=2 entries=16 depth=8 messages=64 warmup=0 payload=inline size=92" };
	static struct wide_rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		int null_;

		wide_open(&r, points[i]);
		null_ = !r.c.path.nic->completes;
		assert_true(rate_wrong(&r.m, &r.c) >= 32); /* of a pass that never was */
		for (uint32_t k = 0; k < r.c.agents; k++)
			for (uint64_t n = 0; n < 64 / r.c.agents; n++) {
				rate_post(&r.a, &r.agent[k], 1, lone, ORD_NONE, FORM_SOLO, r.c.path.choice.kind, 0);
				if (!null_)
					wide_serve(&r, 0);
			}
		assert_int_equal(rate_wrong(&r.m, &r.c), 0);
		*(null_ ? (uint8_t *)wide_wqe(&r, 0, 31) + 40 : r.m.dst.p + r.c.path.stride) ^= 0x10;
		assert_int_equal(rate_wrong(&r.m, &r.c), 1);
		if (null_) { /* and a doorbell that is behind */
			wide_ring(&r, 1, 31);
			assert_int_equal(rate_wrong(&r.m, &r.c), 3);
		}
		wide_close(&r);
	}
}

static int group_is_the_same(struct wide_rig *r, uint64_t m, uint32_t k)
{
	struct solo s = solo_of(&r->a, &r->agent[1]);
	uint64_t want[SOLO_GROUP][WQE_WORDS];

	for (uint32_t i = 0; i < k; i++) {
		uint64_t *at = wide_wqe(r, 1, m + i);

		memset(at, 0x55, WQEBB);
		wide_put(r, 1, m + i);
		memcpy(want[i], at, WQEBB);
		memset(at, 0x55, WQEBB);
	}
	if (k == 1)
		solo_build(&s, m, 1);
	else if (k == SOLO_HALF)
		solo_build(&s, m, SOLO_HALF);
	else
		solo_build(&s, m, SOLO_GROUP);
	for (uint32_t i = 0; i < k; i++)
		if (memcmp(want[i], wide_wqe(r, 1, m + i), WQEBB))
			return 0;
	return 1;
}

static void groups_are_the_same_bytes(void **state)
{
	static const char *const points[] = { "", "size=0", "size=1", "size=12 entries=8 depth=8", "signal=2", "signal=4", "signal=8", "signal=16 batch=16" };
	static const uint64_t from[] = { 0, 8, 1016, 65528, 65536, (1u << 24) - 8, (1u << 30) - 8, 1ull << 30, (1ull << 32) - 8, 1ull << 40 };
	static struct wide_rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "nic=null threads=2 batch=8 entries=64 depth=64 %s", points[i]);
		wide_open(&r, text);
		assert_true(solo_fits(&r.a, SOLO_GROUP, r.c.path.choice.kind));
		for (size_t k = 0; k < sizeof(from) / sizeof(from[0]); k++) {
			assert_true(group_is_the_same(&r, from[k], SOLO_GROUP));
			assert_true(group_is_the_same(&r, from[k], SOLO_HALF) && group_is_the_same(&r, from[k] + 4, SOLO_HALF));
			assert_true(group_is_the_same(&r, from[k] + 3, 1));
		}
		assert_false(group_is_the_same(&r, 252, SOLO_GROUP)); /* control */
		wide_close(&r);
	}
	wide_open(&r, "nic=null threads=2 size=13 batch=8 depth=64");
	assert_false(solo_fits(&r.a, SOLO_GROUP, r.c.path.choice.kind)); /* a segment more */
	wide_close(&r);
}

/* ---- faults ---- */

static const struct { const char *point; int code; const char *says, *more; } faults[] = {
	{ "fault=key", EREMOTEIO, "0x13", "agent 0" },
	{ "fault=key depth=64 batch=16 size=200", EREMOTEIO, "0x13", "message" },
	{ "fault=error-cqe depth=32", EREMOTEIO, "0x14", "message" },
	/* an order that says nothing may be why */
	{ "fault=error-cqe depth=32 ordering=none", EREMOTEIO, "ordering=none doesn't order the WQE before the doorbell", "guaranteed: gpu-fence, " },
	{ "fault=error-cqe depth=1 cq=collapsed", EREMOTEIO, "0x14", "message" },
	{ "fault=key depth=64 batch=16 cq=collapsed", EREMOTEIO, "CQE with syndrome", "message" },
	{ "fault=key depth=16 batch=4 payload=inline size=92", EREMOTEIO, "0x13", "agent 0" },
	{ "fault=error-cqe depth=32 payload=inline size=60", EREMOTEIO, "message 1564: CQE with syndrome 0x14", "agent 0" },
	/* waits two seconds */
	{ "fault=dead-nic depth=8 payload=inline size=92", ETIMEDOUT, "no completion of message", "the NIC has done" },
	{ "fault=dead-nic depth=8 cq=collapsed", ETIMEDOUT, "no completion of message", "the NIC has done" },
	{ "fault=dead-nic depth=8", ETIMEDOUT, "no completion of message", "the NIC has done" },
};

static void faults_end_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct point pt;

		rate_point(&pt, "messages=3000 warmup=64");
		point_set(&pt, faults[i].point);
		point_fails(&pt, faults[i].code, faults[i].says, faults[i].more);
		assert_int_equal(!strstr(fs_reason(), "ordering="), !strstr(faults[i].says, "ordering=")); /* control: safe orders aren't blamed */
		point_set(&pt, "fault=none"); /* control */
		run_rate(&pt);
	}
}

static const struct { const char *point, *says; } refusals[] = {
	{ "marks=rotate", "legal: all" },
	{ "signal=3", "powers of two" },
	{ "cq=collapsed nic=null", "nobody completes anything" },
	{ "doorbell=blueflame", "record-ring" },
	{ "signal=4 batch=6 depth=64", "multiple of the other" },
	{ "signal=8 depth=8 batch=8", "depth=15..1024 with entries=1024" }, { "signal=8 depth=8 batch=8 entries=8", "depth=15..16 with entries=16" },
	{ "signal=8 depth=8 batch=8 entries=16 size=92 payload=inline", "depth=15..16 with entries=32" },
	{ "batch=8 depth=4", "legal: batch=1..4" },
	{ "queues=2", "legal: queues=1" },
	{ "sharing=gpu queues=3 threads=2", "legal: queues=1..2" },
	{ "sharing=block blocks=2 queues=1", "legal: queues=2" },
	{ "threads=65", "at most 64" },
	{ "nic_workers=2", "nic_workers=1..1" },
	{ "size=5000", "size=0..4096" },
	{ "fault=slow-nic", "isn't injected" },
	{ "fault=key nic=null", "nobody would see it" },
	{ "fault=key size=0", "size=1.." },
	{ "fault=gpu-lost", "needs a GPU" },
	{ "dst_mem=gpu", "can't reach GPU memory" },
	{ "payload=inline size=93", "size=0..92" },
	{ "payload=inline size=92 depth=513", "depth=1..512" },
	{ "payload=inline size=92 doorbell=ring", "doorbell=record-ring" },
	{ "payload=inline size=92 submitter=proxy", "size=0..28, or payload=pointer" },
	{ "payload=inline size=92 sharing=gpu threads=2", "legal: sharing=exclusive" },
	{ "payload=inline size=92 sharing=warp", "legal: sharing=exclusive" },
	{ "payload=inline size=92 sharing=lock threads=2", "legal: sharing=exclusive" },
	{ "payload=inline size=92 sharing=block blocks=2", "legal: sharing=exclusive" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		char why[256] = "";
		struct point pt;

		rate_point(&pt, refusals[i].point);
		if (!probe_rate.check(&pt, suite_machine(), why, sizeof(why)) || !strstr(why, refusals[i].says))
			fail_msg("%s: %s", refusals[i].point, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_point),
		cmocka_unit_test(two_blocks_are_messages_too),
		cmocka_unit_test(random_points),
		cmocka_unit_test(wrong_words_are_seen),
		cmocka_unit_test(groups_are_the_same_bytes),
		cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
