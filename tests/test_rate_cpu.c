/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: issuers of a rate whose kernel ends with what a CPU has to send for them (submitter=cpu) send each message
 * once, its payload right: a kernel a turn, of all issuers, and a doorbell for it, whatever their number, batch, payload and
 * doorbell; no kernel is launched before all that the last one sent is done; rows say what was done. A stuck worker, a
 * killed one, a refused launch, a bad CQE and a dead NIC end in words, in bounded time; what can't be is refused with
 * what would be legal.
 *
 * Controls: a message that is not done keeps the next kernel back; payloads that did not come are counted; points without the
 * fault go well.
 */
#include "tests/wide_rig.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include "stages/handoff/rate_ends.h"
#include <errno.h>
#include <math.h>

/* The path refuses a CPU issuer and a helper on one CPU. */
static void need_two_cpus(void)
{
	if (pin_cpus() < 2)
		skip();
}

static void cpu_point(struct point *pt, const char *text)
{
	rate_point(pt, "submitter=cpu nic=soft messages=120 warmup=16");
	point_set(pt, text);
	fs_point_id(pt);
}

/* ---- rows ---- */

static double mean_of(const struct rows *rs, const char *stage, const char *interval, const char *metric)
{
	const struct row *r = row_of(rs, stage, interval, metric);

	return r ? r->s.mean : NAN;
}

static int near_to(double x, double want) { return fabs(x - want) <= 1e-6 * want; }

static const char *rows_wrong(const struct rows *rs, const struct rate_conf *c)
{
	uint32_t turn = c->agents * c->path.batch;
	double handed, noticed, asleep = mean_of(rs, "-", "-", "asleep");

	if (!(mean_of(rs, "total", "-", "rate") > 0) || !(mean_of(rs, "total", "-", "rate_queue") > 0))
		return "no rate";
	if (!near_to(mean_of(rs, "-", "-", "helper_batch"), turn) || !near_to(mean_of(rs, "-", "-", "helper_rings"), 1.0 / turn))
		return "not one doorbell for what a kernel's end hands over";
	if (!(mean_of(rs, "-", "-", "helper_cpu") >= 0) || !(mean_of(rs, "-", "-", "helper_cores") >= 0) ||
	    !(mean_of(rs, "-", "-", "helper_busy") >= 0) || !(mean_of(rs, "-", "-", "helper_busy") <= 1.0001))
		return "what the worker used isn't said";
	if (!(asleep >= 0 && asleep <= 1))
		return "no share of launches found its thread asleep";
	if (!c->spans)
		return row_of(rs, "submit", "-", "latency") ? "spans that nobody asked for" : NULL;
	handed = mean_of(rs, "handoff", "intent-handed", "latency");
	noticed = mean_of(rs, "-", "handed-noticed", "latency");
	if (!(handed > 0) || !(noticed > 0) || handed != mean_of(rs, "submit", "-", "latency"))
		return "no spans";
	return row_of(rs, "handoff", "reserved-handed", "latency") ? "a span of issuers that run" : NULL;
}

static void run_cpu(const struct point *pt)
{
	char why[256], text[512];
	const char *what = NULL;
	struct rate_conf c;
	struct rows rs;
	int rc;

	if (rate_resolve(pt, suite_machine(), &c, why, sizeof(why)))
		fail_msg("%s: %s", fs_point_text(pt, text, sizeof(text)), why);
	rows_init(&rs);
	fs_reason_clear();
	rc = probe_rate.run(pt, &rs);
	if (rc || (what = rows_wrong(&rs, &c)))
		fail_msg("%s: %s", fs_point_text(pt, text, sizeof(text)), rc ? fs_reason() : what);
	rows_free(&rs);
}

/* ---- points ---- */

static const char *const grid[] = {
	"", "warmup=0 messages=1", "threads=2 depth=2", "blocks=3 threads=2 depth=6", "blocks=64 depth=64 messages=640", "blocks=5 batch=7 depth=64 marks=outer",
	"batch=16 depth=16 entries=16 messages=400", "threads=8 batch=128 depth=1024 messages=5000 warmup=0", "size=0 blocks=4 depth=4", "size=28 blocks=4 depth=4",
	"size=200 blocks=4 depth=16 marks=outer", "size=4096 page=64k depth=3 blocks=3", "payload=pointer size=8 blocks=4 depth=4",
	"doorbell=ring blocks=4 depth=4", "doorbell=ring-record-ring blocks=4 depth=4 marks=outer", "boundary=futex", "blocks=2 depth=64 entries=64",
	"messages=70000 warmup=0 blocks=16 batch=64 depth=1024 marks=outer", "nic_workers=1 cpu_state=warm cpu_state_ms=1",
};

static void every_kind_of_point(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++) {
		struct point pt;

		cpu_point(&pt, grid[i]);
		run_cpu(&pt);
	}
}

/* ---- issuers by hand ---- */

static void issuers_count_what_they_send(void **state)
{
	enum { AGENTS = 3, WARMUP = 4, ALL = 14, BATCH = 2 };
	static struct rate_out out[AGENTS];
	static uint64_t handed[AGENTS];
	struct ends_args a = { .out = out, .handed = handed, .warmup = WARMUP, .all = ALL, .agents = AGENTS, .batch = BATCH,
			       .gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME };

	(void)state;
	for (int spans = 0; spans < 2; spans++) {
		uint64_t from = ticks(a.gettime);

		memset(out, 0, sizeof(out));
		for (uint64_t last = 0; last <= ALL; last += BATCH)
			for (uint32_t i = 0; i < AGENTS; i++) {
				assert_int_equal(out[i].last, last);
				assert_int_equal(out[i].status, RATE_RUNNING);
				if (spans)
					ends_issuer(&a, i, 1);
				else
					ends_issuer(&a, i, 0);
			}
		for (uint32_t i = 0; i < AGENTS; i++) {
			assert_int_equal(out[i].status, RATE_OK);
			assert_true(out[i].last == ALL && out[i].messages == ALL - WARMUP && out[i].turns == (ALL - WARMUP) / BATCH);
			assert_true(out[i].begin.wall && out[i].end.wall >= out[i].begin.wall);
			/* what an issuer does and what it waits for are no more than all of its time */
			assert_true(out[i].ticks[ES_HANDED] + out[i].ticks[ES_NOTICED] <= out[i].end.ticks - from);
			assert_true(spans == (out[i].ticks[ES_HANDED] + out[i].ticks[ES_NOTICED] != 0));
		}
	}
}

/* ---- a worker by itself: the test is its kernels and its NIC ---- */

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

static void complete(struct wide_rig *r, uint64_t number, uint64_t m, uint32_t opcode)
{
	uint8_t *cqe = r->m.cq.p + (number & ((1u << r->a.log_ncqe) - 1)) * CQE_SIZE;

	st64_release_sys(cqe + 56, cqe_word7(WQE_WRITE, r->a.qpn, m, opcode, cqe_lap(number, r->a.log_ncqe)));
}

static struct boundary_words *open_worker(struct wide_rig *r, struct worker **w, const char *text)
{
	struct worker_args a;

	wide_open(r, text);
	assert_int_equal(rate_ends_open(&r->m, &r->c, 0), 0);
	rate_worker_fill(&r->m, &r->c, 0, &a);
	assert_non_null(a.kernels);
	assert_int_equal(worker_start(&a, -1, 20, w), 0);
	return a.kernels->words;
}

static void close_worker(struct wide_rig *r, struct worker *w, struct worker_status *st)
{
	assert_int_equal(worker_stop(w, 20, st), 0);
	wide_close(r);
}

static void kernels_wait_for_all_messages(void **state)
{
	enum { TURN = 6, TURNS = 5 };
	static struct wide_rig r;
	struct worker_status st;
	struct boundary_words *words;
	struct worker *w;

	(void)state;
	need_two_cpus();
	words = open_worker(&r, &w, "submitter=cpu blocks=3 batch=2 depth=8 entries=8 messages=30 warmup=0");
	for (uint64_t t = 0; t < TURNS; t++) {
		assert_true(comes(&words->launched, t + 1));
		/* nothing is posted before the kernel has ended */
		assert_int_equal(ld64(r.m.db.p), t ? doorbell_value(t * TURN, r.a.qpn) : 0);
		st64_published(&words->ended, t + 1);
		assert_true(comes(r.m.db.p, doorbell_value((t + 1) * TURN, r.a.qpn)));
		for (uint64_t m = t * TURN; m < (t + 1) * TURN; m++) {
			uint64_t got[WQE_WORDS];

			memcpy(got, wide_wqe(&r, 0, m), WQEBB);
			wide_put(&r, 0, m);
			assert_memory_equal(got, wide_wqe(&r, 0, m), WQEBB);
			/* control: while one is not done, no kernel */
			if (m)
				assert_true(comes(r.m.credit.p, m));
			assert_int_equal(ld64(&words->launched), t + 1);
			complete(&r, m, m, CQE_REQ);
		}
	}
	/* the one that only notices */
	assert_true(comes(&words->launched, TURNS + 1));
	assert_int_equal(ld64(&words->over), 0);
	st64_published(&words->ended, TURNS + 1);
	assert_true(comes(&words->over, 1));
	close_worker(&r, w, &st);
	assert_int_equal(st.end, WORKER_STOPPED);
	assert_true(st.launches == TURNS + 1 && st.doorbells == TURNS && st.taken == TURNS * TURN && st.done == TURNS * TURN);
}

static void strange_completions_end_a_worker(void **state)
{
	static struct wide_rig r;
	struct worker_status st;
	struct boundary_words *words;
	struct worker *w;

	(void)state;
	need_two_cpus();
	words = open_worker(&r, &w, "submitter=cpu blocks=2 depth=8 messages=8 warmup=0");
	assert_true(comes(&words->launched, 1));
	st64_published(&words->ended, 1);
	assert_true(comes(r.m.db.p, doorbell_value(2, r.a.qpn)));
	complete(&r, 0, 1, CQE_REQ); /* another message's */
	assert_true(comes(&words->over, 1));
	close_worker(&r, w, &st);
	assert_true(st.end == WORKER_STRAY && st.at == 0 && st.found == 1 && st.launches == 1);
	/* a worker that is told to stop while a kernel runs says that it is over */
	words = open_worker(&r, &w, "submitter=cpu blocks=2 depth=8 messages=8 warmup=0");
	assert_true(comes(&words->launched, 1));
	assert_int_equal(worker_stop(w, 20, &st), 0);
	assert_int_equal(ld64(&words->over), 1);
	assert_true(st.end == WORKER_STOPPED && !st.taken);
	wide_close(&r);
}

/* control: a pass that never was */
static void what_did_not_come_is_counted(void **state)
{
	static struct wide_rig r;

	(void)state;
	need_two_cpus();
	wide_open(&r, "submitter=cpu blocks=4 depth=64 messages=64 warmup=0");
	assert_true(rate_wrong(&r.m, &r.c) >= 64);
	for (uint64_t m = 0; m < 64; m++) {
		wide_put(&r, 0, m);
		wide_ring(&r, 0, m + 1);
		wide_serve(&r, 0);
	}
	assert_int_equal(rate_wrong(&r.m, &r.c), 0);
	r.m.dst.p[5 * r.c.path.stride] ^= 0x10;
	assert_int_equal(rate_wrong(&r.m, &r.c), 1);
	wide_close(&r);
}

/* ---- faults ---- */

static const struct { const char *point; int code; const char *says, *more; } faults[] = {
	/* these wait two seconds; 16 messages of the warm-up, and half of 160 */
	{ "fault=stuck-worker blocks=4 depth=4", ETIMEDOUT, "no kernel was launched behind message 96", "rang for 96 messages" },
	{ "fault=killed-worker blocks=4 depth=4", ETIMEDOUT, "no kernel was launched behind message 96", "whose thread had ended," },
	{ "fault=dead-nic blocks=4 depth=4", ETIMEDOUT, "no kernel was launched behind message", "the NIC has done" },
	{ "fault=failed-launch blocks=4 depth=4", EIO, "launch 25 failed", "launch" },
	{ "fault=failed-launch", EIO, "launch 97 failed", "launch" },
	{ "fault=key blocks=4 depth=4", EREMOTEIO, "0x13", "message 0" },
	{ "fault=error-cqe blocks=4 depth=4", EREMOTEIO, "0x14", "message 96" },
};

static void faults_end_in_words(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint64_t until = deadline_in_s(120);
		struct point pt;

		cpu_point(&pt, "messages=160 warmup=16");
		point_set(&pt, faults[i].point);
		point_fails(&pt, faults[i].code, faults[i].says, faults[i].more);
		assert_false(deadline_over(until));
		point_set(&pt, "fault=none"); /* control */
		run_cpu(&pt);
	}
}

/* ---- what can't be ---- */

static const struct { const char *point, *says; } refusals[] = {
	{ "blocks=4", "legal: depth=4.." }, { "blocks=4 batch=4 depth=15", "legal: depth=16.." }, { "depth=2048 entries=1024", "legal: depth=1..1024" },
	{ "workers=2", "legal: workers=1" }, { "rings=1", "rings=auto" }, { "blocks=2 depth=2 queues=2", "queues=auto" }, { "sharing=gpu", "sharing=exclusive" },
	{ "signal=2 depth=8 batch=2", "signal=1" }, { "cq=collapsed", "cq=ring" }, { "proxy=baseline", "submitter=proxy" }, { "proxy_batch=2", "submitter=proxy" },
	{ "nic=null", "legal: nic=soft, peer" }, { "ordering=none", "the default" }, { "boundary=stream", "boundary=auto, futex" },
	{ "boundary=graph", "boundary=auto, futex" }, { "issuer=gpu boundary=futex", "stream, graph" }, { "submitter=gpu boundary=futex", "submitter=cpu" },
	{ "queue_mem=gpu", "can't reach GPU memory" }, { "doorbell=blueflame", "record-ring" }, { "payload=inline size=29", "size=0..28" },
	{ "fault=ring-overrun", "submitter=proxy" }, { "submitter=proxy fault=failed-launch", "submitter=cpu" }, { "fault=lost-cqe", "failed-launch" },
	{ "marks=rotate", "legal: all" }, { "messages=100000000", "kernels one after another; legal: messages=1..4000000, or" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		char why[256] = "";
		struct point pt;

		cpu_point(&pt, refusals[i].point);
		if (!probe_rate.check(&pt, suite_machine(), why, sizeof(why)) || !strstr(why, refusals[i].says))
			fail_msg("%s: %s", refusals[i].point, why);
	}
}

/* A GPU has more issuers than a queue has slots. */
static void one_queue_holds_them_all(void **state)
{
	struct machine m = { .ngpus = 1, .cpus = 8 };
	struct rate_conf c;
	char why[256] = "";
	struct point pt;

	(void)state;
	m.gpu[0].sms = 132;
	m.gpu[0].cc_major = 9;
	fs_point_init(&pt, &probe_rate);
	point_set(&pt, "issuer=gpu nic=soft submitter=cpu blocks=128 batch=256 depth=32768 entries=32768");
	assert_int_equal(rate_resolve(&pt, &m, &c, why, sizeof(why)), 0);
	point_set(&pt, "blocks=129");
	assert_int_equal(rate_resolve(&pt, &m, &c, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "no queue holds 33024 messages; legal: issuers times batch up to 32768"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_point), cmocka_unit_test(issuers_count_what_they_send),
		cmocka_unit_test(kernels_wait_for_all_messages), cmocka_unit_test(strange_completions_end_a_worker),
		cmocka_unit_test(what_did_not_come_is_counted), cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(what_cannot_be_is_refused), cmocka_unit_test(one_queue_holds_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
