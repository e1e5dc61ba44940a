/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: messages that issuers hand to workers end as those that they post themselves do: every
 * legal point ends with each one done once, its payload right and its WQE as the issuer would have
 * built it, whatever the form of the proxy, workers, rings and batch; no issuer is further ahead of
 * its credit than the depth; and what workers did is in the rows. A stuck worker, a killed one, an
 * overrun ring and a bad CQE end in words, in bounded time; what can't be is refused with what would
 * be legal.
 *
 * Controls: an issuer without credit stops; points without the fault go well; a credit that is taken
 * back lets it overrun what the worker then finds out; a completion of another message is no credit.
 */
#include "tests/random_points.h"
#include "tests/wide_rig.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include <errno.h>
#include <math.h>

/* Issuers, workers and NIC take turns on two CPUs, and where others want these too each turn is milliseconds:
 * few messages, of which many are under way. */
enum { POINTS = 2000, POINTS_MIN = 4, SEED = 815 };
#define BUDGET_S 4.0 /* for random points; a busy machine does fewer */

/* The path refuses a CPU issuer and a helper on one CPU. */
static void need_two_cpus(void)
{
	if (pin_cpus() < 2)
		skip();
}

static void proxy_point(struct point *pt, const char *text)
{
	rate_point(pt, "submitter=proxy messages=120 warmup=16");
	point_set(pt, text);
	fs_point_id(pt);
}

/* ---- rows ---- */

static double mean_of(const struct rows *rs, const char *stage, const char *metric)
{
	const struct row *r = row_of(rs, stage, "-", metric);

	return r ? r->s.mean : NAN;
}

static const char *rows_wrong(const struct rows *rs, const struct rate_conf *c)
{
	const struct row *r = row_of(rs, "total", "-", "rate");
	double batch = mean_of(rs, "-", "helper_batch");

	if (!r || !(r->s.mean > 0))
		return "no rate";
	if (!(r = row_of(rs, "total", "-", "rate_queue")) || (c->queues > 1 && r->s.n != c->queues))
		return "not a rate for each ring";
	if (!(mean_of(rs, "-", "helper_cpu") >= 0) || !(mean_of(rs, "-", "helper_cores") >= 0) ||
	    !(mean_of(rs, "-", "helper_switches") >= 0) || !(mean_of(rs, "-", "helper_preempted") >= 0))
		return "what the workers used isn't said";
	if (!(batch >= 1) || batch > c->path.proxy_batch + 1e-9)
		return "descriptors of a doorbell are none, or more than proxy_batch";
	if (fabs(batch * mean_of(rs, "-", "helper_rings") - 1) > 1e-6)
		return "doorbells a message and messages a doorbell aren't each other's inverse";
	r = row_of(rs, "-", "-", "helper_busy");
	if (!r || (c->helpers > 1 && r->s.n != c->helpers) || !(r->s.min >= 0) || r->s.max > 1.0001)
		return "the workers are not busy between never and always";
	if (!c->spans)
		return row_of(rs, "submit", "-", "latency") ? "spans that nobody asked for" : NULL;
	r = row_of(rs, "submit", "-", "latency");
	if (!r || !row_of(rs, "issue", "intent-reserved", "latency") || !row_of(rs, "handoff", "reserved-handed", "latency"))
		return "no spans";
	if (row_of(rs, "handoff", "turn-rung", "latency") || row_of(rs, "handoff", "reserved-built", "latency"))
		return "spans of an issuer that posts itself";
	return NULL;
}

static void run_proxy(const struct point *pt)
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
	/* more threads than CPUs is said of every row */
	for (size_t i = 0; c.crowded && i < rs.n; i++)
		assert_true(rs.row[i].status == FS_FLAGGED);
	rows_free(&rs);
}

/* ---- points ---- */

static const char *const grid[] = {
	"depth=1 messages=20 warmup=4", "depth=64 proxy_batch=16", "depth=64 proxy_batch=4 marks=outer", "proxy=baseline depth=32 proxy_batch=16",
	"threads=2 depth=16", "threads=4 workers=2 depth=8 proxy_batch=4 marks=outer", "blocks=3 workers=3 depth=16",
	"threads=3 proxy=baseline depth=16 proxy_batch=16", "threads=4 proxy=baseline rings=2 depth=16 proxy_batch=2 marks=outer",
	"threads=4 proxy=baseline rings=2 workers=2 depth=8", "threads=3 proxy=baseline rings=2 depth=64 marks=outer",
	"size=0 depth=8", "size=28 depth=8", "size=200 depth=16 proxy_batch=16", "size=4096 depth=16 page=64k marks=outer", "payload=pointer size=8 depth=16",
	"doorbell=ring depth=8", "doorbell=ring-record-ring depth=16 proxy_batch=3", "entries=4 depth=4 proxy_batch=16 messages=40", "messages=1 warmup=0",
	"messages=70000 warmup=0 depth=1024 entries=1024 proxy_batch=16 marks=outer", "nic_workers=2 threads=2 depth=16",
};

static void every_kind_of_point(void **state)
{
	struct point pt;

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (int k = 0; k < (i % 4 ? 1 : 2); k++) { /* some into nobody too */
			struct rate_conf c;
			char why[256];

			proxy_point(&pt, k ? "nic=null marks=outer" : "nic=soft");
			point_set(&pt, grid[i]);
			if (!rate_resolve(&pt, suite_machine(), &c, why, sizeof(why)))
				run_proxy(&pt);
			else if (!k || !strstr(grid[i], "nic_workers"))
				fail_msg("%s: %s", grid[i], why);
		}
}

static void random_points(void **state)
{
	static const char *const doorbells[] = { "record-ring", "ring-record-ring", "ring" };
	uint64_t until = deadline_in_s(BUDGET_S);
	int done = 0, refused = 0;

	(void)state;
	need_two_cpus();
	seed = SEED;
	while (done < POINTS && (done < POINTS_MIN || !deadline_over(until))) {
		uint64_t entries = 4u << below(7), depth = below(4) ? entries / 2 + 1 + below(entries / 2) : 1 + below(4);
		struct rate_conf c;
		struct point pt;
		char why[256];

		proxy_point(&pt, below(4) ? "nic=soft" : "nic=null");
		if (below(2))
			assert_int_equal(fs_point_set(&pt, "proxy", "baseline"), 0);
		assert_int_equal(fs_point_set(&pt, "doorbell", doorbells[below(3)]), 0);
		set_number(&pt, "size", below(3) ? below(29) : below(600));
		set_number(&pt, "entries", entries);
		set_number(&pt, "depth", depth);
		set_number(&pt, "proxy_batch", 1 + below(PROXY_BATCH_MAX));
		set_number(&pt, "threads", 1 + below(4));
		set_number(&pt, "workers", below(3) ? 1 : 1 + below(3));
		if (below(2))
			set_number(&pt, "rings", 1 + below(4));
		set_number(&pt, "messages", 1 + below(120));
		set_number(&pt, "warmup", below(16));
		set_word(&pt, "marks", 2);
		fs_point_id(&pt);
		if (rate_resolve(&pt, suite_machine(), &c, why, sizeof(why))) {
			refused++;
			continue;
		}
		run_proxy(&pt);
		done++;
	}
	print_message("%d random points, %d more were no legal ones\n", done, refused);
	assert_true(refused < 6 * done);
}

/* ---- credit ---- */

/* An agent's loop in the test's own thread, without a worker: it stops where credit ends. */
static void depth_is_kept(void **state)
{
	static const char *const forms[] = { "proxy=tuned", "proxy=baseline" };
	static struct wide_rig r;

	(void)state;
	need_two_cpus();
	for (int f = 0; f < PROXY_FORMS; f++)
		for (uint32_t depth = 1; depth <= 16; depth *= 4) {
			struct hand_args h;
			struct hander s;
			char text[128];
			uint64_t *credit;

			snprintf(text, sizeof(text), "submitter=proxy entries=16 depth=%u %s", depth, forms[f]);
			wide_open(&r, text);
			rate_hand_fill(&r.m, &r.c, &h);
			h.r.wait_ns = 20000000;
			s = hander_of(&h, 0);
			credit = (uint64_t *)r.m.credit.p;
			for (uint64_t m = 0; m < 40; m++) {
				const uint64_t *slot = (const uint64_t *)(r.m.hand.p + (m & 15) * HAND_SLOT);

				st64(credit, m < depth ? 0 : m - depth + 1); /* room for this one alone */
				if (f == PROXY_TUNED)
					hand_loop(&h, &r.agent[0], &s, 1, PROXY_TUNED, HAND_BARE);
				else
					hand_loop(&h, &r.agent[0], &s, 1, PROXY_BASELINE, HAND_BARE);
				assert_int_equal(r.agent[0].status, RATE_OK);
				assert_true(hand_valid(slot[0], hand_lap(m, 4)) && hand_valid(slot[1], hand_lap(m, 4)));
				assert_int_equal(hand_number(slot[1]), m);
			}
			/* control: none left, and nothing is handed over in its time */
			if (f == PROXY_TUNED)
				hand_loop(&h, &r.agent[0], &s, 1, PROXY_TUNED, HAND_BARE);
			else
				hand_loop(&h, &r.agent[0], &s, 1, PROXY_BASELINE, HAND_BARE);
			assert_int_equal(r.agent[0].status, RATE_TIMEOUT);
			assert_int_equal(r.agent[0].at, 40);
			/* whose worker has given up ends at once */
			st64(credit, HAND_OVER);
			r.agent[0].status = RATE_OK;
			assert_false(hand_wait(&h, &r.agent[0], &s, 41, depth));
			assert_int_equal(r.agent[0].status, RATE_GIVEN_UP);
			wide_close(&r);
		}
}

/* Issuers of one ring that are behind the others: all before their message is done. */
static void others_may_be_ahead(void **state)
{
	static struct wide_rig r;
	struct hand_args h;
	struct hander s;

	(void)state;
	need_two_cpus();
	wide_open(&r, "submitter=proxy proxy=baseline threads=2 depth=8");
	rate_hand_fill(&r.m, &r.c, &h);
	h.r.wait_ns = 20000000;
	s = hander_of(&h, 0);
	st64((uint64_t *)r.m.credit.p, 30);
	assert_true(hand_wait(&h, &r.agent[0], &s, 10, 1) && hand_wait(&h, &r.agent[0], &s, 30, 1) && hand_wait(&h, &r.agent[0], &s, 37, 8));
	assert_false(hand_wait(&h, &r.agent[0], &s, 31, 1)); /* control */
	wide_close(&r);
}

/* ---- a worker by itself: the test is its issuer and its NIC ---- */

static struct worker *start_worker(struct wide_rig *r, const char *text)
{
	struct worker_args a;
	struct worker *w;

	wide_open(r, text);
	rate_worker_fill(&r->m, &r->c, 0, &a);
	assert_int_equal(worker_start(&a, -1, 20, &w), 0);
	return w;
}

static void stop_worker(struct wide_rig *r, struct worker *w, struct worker_status *st)
{
	assert_int_equal(worker_stop(w, 20, st), 0);
	wide_close(r);
}

static void hand_over(struct wide_rig *r, uint64_t m, uint64_t number)
{
	uint64_t lap = hand_lap(m, r->c.path.log_n);
	uint8_t *slot = r->m.hand.p + (m & ((1u << r->c.path.log_n) - 1)) * HAND_SLOT;

	hand_post(slot, hand_word0(lap, r->c.path.choice.kind, r->c.path.size, (uint32_t)((m & (r->c.slots - 1)) * r->c.path.stride)),
		  hand_word1(lap, number), MODE_BASELINE);
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

static void complete(struct wide_rig *r, uint64_t number, uint64_t m)
{
	uint8_t *cqe = r->m.cq.p + (number & ((1u << r->a.log_ncqe) - 1)) * CQE_SIZE;

	st64_release_sys(cqe + 56, cqe_word7(WQE_WRITE, r->a.qpn, m, CQE_REQ, cqe_lap(number, r->a.log_ncqe)));
}

static void wqes_are_the_issuers(void **state)
{
	static const char *const points[] = { "", "size=28", "size=0", "payload=pointer size=300", "doorbell=ring" };
	static struct wide_rig r;

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct worker_status st;
		struct worker *w;
		char text[128];

		snprintf(text, sizeof(text), "submitter=proxy entries=8 depth=8 proxy_batch=4 %s", points[i]);
		w = start_worker(&r, text);
		for (uint64_t m = 0; m < 20; m++) {
			uint64_t got[WQE_WORDS];

			hand_over(&r, m, m);
			assert_true(comes(r.m.db.p, doorbell_value(m + 1, r.a.qpn)));
			memcpy(got, wide_wqe(&r, 0, m), WQEBB);
			wide_put(&r, 0, m);
			assert_memory_equal(got, wide_wqe(&r, 0, m), WQEBB);
			assert_int_equal(ld64(r.m.credit.p), m); /* handed over is not done */
			complete(&r, m, m);
			assert_true(comes(r.m.credit.p, m + 1));
		}
		stop_worker(&r, w, &st);
		assert_int_equal(st.end, WORKER_STOPPED);
		assert_true(st.taken == 20 && st.done == 20 && st.doorbells == 20);
	}
}

/* Rings that have something for many doorbells and one that has little: each gets its own, of a batch each. */
static void rings_take_turns(void **state)
{
	static struct wide_rig r;
	struct worker_args a;
	struct worker_status st;
	struct worker *w;

	(void)state;
	need_two_cpus();
	wide_open(&r, "submitter=proxy threads=3 nic=null entries=64 depth=64 proxy_batch=4");
	rate_worker_fill(&r.m, &r.c, 0, &a);
	for (uint32_t ring = 0; ring < 3; ring++)
		for (uint64_t m = 0; m < (ring == 1 ? 1u : 64u); m++)
			hand_post(r.m.hand.p + ring * r.m.hand_step + m * HAND_SLOT, hand_word0(HAND_LAP, POST_INLINE, 8, 0), hand_word1(HAND_LAP, m),
				  MODE_BASELINE);
	assert_int_equal(worker_start(&a, -1, 20, &w), 0);
	for (uint32_t ring = 0; ring < 3; ring++)
		assert_true(comes(r.m.credit.p + ring * SHARE_LINE, ring == 1 ? 1 : 64));
	stop_worker(&r, w, &st);
	/* all were there before it began: 16 doorbells for 64 of them, one for the ring with one */
	assert_true(st.taken == 129 && st.doorbells == 33);
}

static void strange_things_end_a_worker(void **state)
{
	static struct wide_rig r;
	struct worker_status st;
	struct worker *w;

	(void)state;
	need_two_cpus();
	/* a descriptor of a later lap */
	w = start_worker(&r, "submitter=proxy entries=8 depth=8");
	hand_over(&r, 0, 16);
	assert_true(comes(r.m.credit.p, HAND_OVER));
	stop_worker(&r, w, &st);
	assert_true(st.end == WORKER_OVERRUN && st.at == 0 && st.found == 16 && st.taken == 0);
	/* a completion of another message */
	w = start_worker(&r, "submitter=proxy entries=8 depth=8");
	hand_over(&r, 0, 0);
	hand_over(&r, 1, 1);
	assert_true(comes(r.m.db.p, doorbell_value(2, r.a.qpn)));
	complete(&r, 0, 1);
	assert_true(comes(r.m.credit.p, HAND_OVER));
	stop_worker(&r, w, &st);
	assert_true(st.end == WORKER_STRAY && st.at == 0 && st.found == 1 && st.done == 0);
	/* half a descriptor is none */
	w = start_worker(&r, "submitter=proxy entries=8 depth=8");
	st64_release_sys(r.m.hand.p, hand_word0(HAND_LAP, POST_INLINE, 8, 0));
	stop_worker(&r, w, &st);
	assert_true(st.end == WORKER_STOPPED && st.taken == 0);
}

/* ---- faults ---- */

static const struct { const char *point; int code; const char *says, *more; } faults[] = {
	/* these wait two seconds */
	{ "fault=stuck-worker depth=8 threads=3 workers=2", ETIMEDOUT, "no completion of message", "worker 0, which serves its ring" },
	{ "fault=killed-worker depth=8 proxy=baseline threads=2", ETIMEDOUT, "no completion of message", "whose thread had ended, rang for" },
	{ "fault=ring-overrun depth=8", EPROTO, "ring 0 was overrun", "it found message" },
	{ "fault=ring-overrun depth=8 proxy=baseline threads=2", EPROTO, "ring 0 was overrun", "worker 0" },
	{ "fault=key depth=8", EREMOTEIO, "0x13", "worker 0: ring 0: message" },
	{ "fault=error-cqe depth=8 proxy_batch=4", EREMOTEIO, "0x14", "worker 0: ring 0: message" },
	{ "fault=dead-nic depth=8", ETIMEDOUT, "no completion of message", "the NIC has done" },
};

static void faults_end_in_words(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct point pt;

		proxy_point(&pt, "messages=160 warmup=16");
		point_set(&pt, faults[i].point);
		point_fails(&pt, faults[i].code, faults[i].says, faults[i].more);
		point_set(&pt, "fault=none"); /* control */
		if (!i)
			run_proxy(&pt);
	}
}

/* ---- what can't be ---- */

static const struct { const char *point, *says; } refusals[] = {
	{ "submitter=gpu workers=2", "legal: submitter=proxy" },
	{ "submitter=gpu rings=2", "legal: submitter=proxy" },
	{ "submitter=gpu proxy_batch=2", "legal: submitter=proxy" },
	{ "submitter=gpu fault=stuck-worker", "legal: submitter=proxy" },
	{ "submitter=host-doorbell", "legal: submitter=gpu, proxy" },
	{ "submitter=gpu helper_cpu=0", "helper_cpu=auto" },
	{ "threads=2 rings=1", "legal: rings=2" },
	{ "threads=33", "at most 32 of them, or proxy=baseline" },
	{ "threads=2 proxy=baseline rings=3", "legal: rings=1..2" },
	{ "threads=2 workers=3", "legal: workers=1..2" },
	{ "threads=2 proxy=baseline workers=3", "legal: workers=1..2" },
	{ "threads=4 proxy=baseline rings=2 workers=3", "legal: workers=1..2" },
	{ "threads=2 queues=1", "queues=auto" },
	{ "sharing=warp", "sharing=exclusive" },
	{ "signal=2 depth=8", "signal=1" },
	{ "cq=collapsed", "cq=ring" },
	{ "batch=2 depth=8", "proxy_batch" },
	{ "ordering=none", "proxy=tuned or baseline" },
	{ "queue_mem=gpu", "can't reach GPU memory" },
	{ "doorbell=blueflame", "record-ring" },
	{ "payload=inline size=29", "size=0..28" },
	{ "fault=slow-nic", "ring-overrun" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		char why[256] = "";
		struct point pt;

		proxy_point(&pt, refusals[i].point);
		if (!probe_rate.check(&pt, suite_machine(), why, sizeof(why)) || !strstr(why, refusals[i].says))
			fail_msg("%s: %s", refusals[i].point, why);
	}
}

/* Workers don't share a CPU with anybody as long as there is another one; if they do, it is said. */
static void workers_have_cpus_of_their_own(void **state)
{
	(void)state;
	need_two_cpus();
	for (int workers = 1; workers <= WORKERS_MAX; workers++) {
		char text[64], why[256] = "";
		struct rate_conf c;
		struct point pt;
		int shared = 0;

		snprintf(text, sizeof(text), "threads=%d workers=%d", workers, workers);
		proxy_point(&pt, text);
		assert_int_equal(rate_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
		assert_int_equal(c.helpers, workers);
		for (uint32_t i = 0; i < c.helpers; i++) {
			shared |= c.helper_cpu[i] == c.path.nic_cpu;
			for (uint32_t k = 0; k < c.agents; k++)
				shared |= c.helper_cpu[i] == rate_agent_cpu(&c, (int)k);
			for (uint32_t k = 0; k < i; k++)
				shared |= c.helper_cpu[i] == c.helper_cpu[k];
		}
		assert_true(!shared || c.crowded);
		if (2 * workers + 1 > pin_cpus())
			assert_true(c.crowded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_point), cmocka_unit_test(random_points),
		cmocka_unit_test(depth_is_kept), cmocka_unit_test(others_may_be_ahead),
		cmocka_unit_test(wqes_are_the_issuers), cmocka_unit_test(rings_take_turns),
		cmocka_unit_test(strange_things_end_a_worker), cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(what_cannot_be_is_refused), cmocka_unit_test(workers_have_cpus_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
