/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the probe `rtt` sees each reply by its last word and compares every word; a delay
 * of the responder comes back on the issuer's clock; a signal moves 8 B whatever came;
 * what goes wrong ends in words; what can't be is refused.
 *
 * Controls: a word that isn't the message's is counted; a delay that the row isn't told of
 * is flagged; another message's last word isn't taken for this one's.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "stages/completion/rtt_parts.h"
#include "stages/suite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

extern const struct probe probe_rtt;

enum { TRIES = 20 }; /* of what a busy CPU may spoil */

static void rtt_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_rtt);
	point_set(pt, "issuer=cpu messages=64 warmup=0");
	point_set(pt, text);
	fs_point_id(pt);
}

/* ---- in one thread ---- */

struct rig {
	struct rtt_conf c;
	struct rtt_mem m;
	struct rtt_args a;
	struct wide w;
	struct wide_queue states[RTT_WAYS];
	struct wide_worker me;
	struct rtt_side issuer, responder;
};

static void resolved(struct rtt_conf *c, const char *text)
{
	char why[256] = "";
	struct point pt;

	rtt_point(&pt, text);
	if (rtt_resolve(&pt, suite_machine(), c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	rtt_clock(c, suite_cpu_clock()->kind == CPU_CLOCK_GETTIME);
}

static void rig_open(struct rig *r, const char *text)
{
	memset(r, 0, sizeof(*r));
	resolved(&r->c, text);
	r->c.rate.workers = r->c.way[RTT_PUT].workers = 1;
	assert_int_equal(rtt_mem_init(&r->m, &r->c), 0);
	rtt_args_fill(&r->m, &r->c, &r->a);
	for (int w = 0; w < RTT_WAYS; w++)
		r->a.way[w].wait_ns = 20000000;
	rtt_wide_fill(&r->m, &r->c, &r->w);
	rtt_begin(&r->a, &r->issuer, RTT_PUT);
	rtt_begin(&r->a, &r->responder, RTT_REPLY);
}

static int sees(struct rtt_side *s, uint64_t m)
{
	uint32_t polls = 0;

	return rtt_poll(rtt_last(s, m), rtt_want(s, m), s->mask, &polls, 0) == rtt_want(s, m);
}

static uint32_t serve(struct rig *r)
{
	struct coop alone = { 0, 1 };

	return wide_round(&r->w, r->states, alone, &r->me, r->c.rate.path.gettime, 0);
}

/* A put and its reply; the words that the issuer finds wrong, of which one may be spoiled before it looks. */
static uint64_t trip(struct rig *r, uint64_t m, int kind, int reply_kind, int spoil)
{
	const struct rate_args *put = &r->a.way[RTT_PUT], *reply = &r->a.way[RTT_REPLY];

	rtt_fill(put, &r->issuer, m, kind);
	rtt_fill(reply, &r->responder, m, reply_kind);
	rtt_send(put, &r->issuer, ORD_SYS_FENCE_RECORD, DBM_RECORD_RING, kind);
	assert_false(sees(&r->responder, m)); /* nobody has carried it */
	assert_int_equal(serve(r), 1);
	assert_true(sees(&r->responder, m));
	assert_false(sees(&r->responder, m + 1));
	assert_false(sees(&r->responder, m + r->c.rate.slots)); /* whose slot is the same */
	rtt_send(reply, &r->responder, ORD_SYS_FENCE_RECORD, DBM_RECORD_RING, reply_kind);
	assert_false(sees(&r->issuer, m));
	assert_int_equal(serve(r), 1);
	assert_true(sees(&r->issuer, m));
	if (spoil)
		((uint8_t *)reply->remote)[rtt_offset(reply, m)] ^= 4;
	assert_true(rtt_settle(reply, NULL, &r->responder, m));
	assert_true(rtt_settle(put, NULL, &r->issuer, m));
	assert_int_equal(r->responder.wrong_words, 0);
	return r->issuer.wrong_words;
}

static const struct { const char *point; int kind, reply_kind; } trips[] = {
	{ "size=8", POST_INLINE, POST_INLINE }, { "size=28", POST_INLINE, POST_INLINE }, { "size=4", POST_INLINE, POST_INLINE },
	{ "size=4096", POST_WRITE, POST_WRITE }, { "size=36", POST_WRITE, POST_WRITE }, { "size=512 reply=signal", POST_WRITE, POST_INLINE },
	{ "size=8 payload=pointer entries=4", POST_WRITE, POST_WRITE },
};

static void every_word_is_looked_at(void **state)
{
	static struct rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(trips) / sizeof(trips[0]); i++) {
		rig_open(&r, trips[i].point);
		assert_int_equal(r.c.way[RTT_PUT].path.choice.kind, trips[i].kind);
		assert_int_equal(r.c.way[RTT_REPLY].path.choice.kind, trips[i].reply_kind);
		for (uint64_t m = 0; m < 150; m++)
			assert_int_equal(trip(&r, m, trips[i].kind, trips[i].reply_kind, 0), 0);
		/* control: one byte of the first word, which of the long ones nobody polls on */
		assert_int_equal(trip(&r, 150, trips[i].kind, trips[i].reply_kind, 1), 1);
		assert_int_equal(r.issuer.wrong_message, 150);
		rtt_mem_term(&r.m);
	}
}

/* What the reply's CQEs say that was moved, and what of the issuer's memory was left alone behind it. */
static void a_signal_is_8_bytes(void **state)
{
	static const struct { const char *point; int kind, reply_kind; uint32_t bytes; } replies[] = {
		{ "size=256 reply=signal", POST_WRITE, POST_INLINE, 8 }, { "size=24 reply=signal", POST_INLINE, POST_INLINE, 8 },
		{ "size=256 reply=put", POST_WRITE, POST_WRITE, 256 }, { "size=24 reply=put", POST_INLINE, POST_INLINE, 24 }, /* controls */
	};
	static struct rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		const struct rate_args *reply = &r.a.way[RTT_REPLY];
		const uint64_t *wqe, *slot;
		uint64_t w7;

		rig_open(&r, replies[i].point);
		assert_int_equal(trip(&r, 0, replies[i].kind, replies[i].reply_kind, 0), 0);
		w7 = ld64(reply->cq + 56);
		assert_int_equal(cqe_opcode(w7), CQE_REQ);
		assert_int_equal(cqe_byte_cnt(ld64(reply->cq + 40)), replies[i].bytes);
		wqe = (const uint64_t *)reply->wq;
		assert_int_equal(ctrl_ds(wqe[0]), replies[i].reply_kind == POST_INLINE ? wqe_ds_inline(replies[i].bytes) : wqe_ds_pointer(replies[i].bytes));
		slot = (const uint64_t *)reply->remote;
		for (uint32_t k = 0; k < 256 / 8; k++)
			assert_true((slot[k] != ~0ull) == (k < replies[i].bytes / 8));
		rtt_mem_term(&r.m);
	}
}

/* ---- the probe ---- */

static const char *const points[] = {
	"", "reply=signal size=1024", "size=4096", "size=28", "size=4 ordering=none", "doorbell=ring ordering=sys-fence", "payload=pointer entries=4 page=64k",
	"nic_workers=2 messages=32 ordering=sys-release", "warmup=200 messages=33 size=20 reply=signal",
};

static void points_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		const struct row *rtt, *submit, *span, *ways, *wrong;
		struct point pt;
		struct rows rs;

		rtt_point(&pt, points[i]);
		rows_init(&rs);
		if (probe_rtt.run(&pt, &rs))
			fail_msg("%s: %s", points[i], fs_reason());
		rtt = row_of(&rs, "total", "-", "rtt");
		submit = row_of(&rs, "submit", "-", "latency");
		span = row_of(&rs, "-", "-", "responder");
		ways = row_of(&rs, "-", "-", "both_ways");
		wrong = row_of(&rs, "-", "-", "wrong_words");
		assert_true(rtt && submit && span && ways && wrong);
		assert_int_equal(rtt->s.n, fs_num(&pt, "messages"));
		assert_int_equal(span->s.n, rtt->s.n);
		assert_true(submit->s.mean > 0 && submit->s.mean < rtt->s.mean);
		assert_true(span->s.min > 0 && span->s.min < 25000 && ways->s.mean > 0); /* nobody waits */
		assert_true(fabs(rtt->s.mean - span->s.mean - ways->s.mean) < 1e-6 * rtt->s.mean);
		assert_string_equal(rtt->origin, "emulated");
		assert_string_equal(submit->origin, "measured");
		assert_true(wrong->s.mean == 0);
		assert_null(row_of(&rs, "-", "-", "respond_delta")); /* nothing was delayed */
		assert_true(rtt->status == FS_OK || (rtt->status == FS_FLAGGED && !strcmp(rtt->reason_code, "crowded")));
		rows_free(&rs);
	}
}

/* Whatever CPUs do, who waits waits: told of or not, in every message of a block that has it and in no span but
 * those. The messages are no multiple of two blocks, so that spans of others would be seen. */
static void a_responder_waits(void **state)
{
	static const struct { uint32_t told, untold; } delays[] = { { 50000, 0 }, { 0, 50000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		const struct row *rtt, *span;
		struct rtt_got got;
		struct rtt_conf c;
		struct rtt_mem m;
		struct rows rs;
		uint64_t delayed = 0;
		int rc;

		resolved(&c, "messages=104 warmup=128");
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
		assert_int_equal(got.o[RTT_PUT].first, 128);
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

/* Round trips by one thread that is both agents and the NIC, so that nothing waits for a CPU; `delta`: what
 * came back. */
static void delta_of(struct rig *r, uint32_t told, uint32_t untold, struct row *delta)
{
	const struct rate_args *put = &r->a.way[RTT_PUT], *reply = &r->a.way[RTT_REPLY];
	int get = r->c.rate.path.gettime;
	struct planter planter;
	struct rtt_got got;
	struct rows rs;

	rig_open(r, "messages=520");
	r->c.respond_ns = told;
	r->c.untold_ns = untold;
	rtt_args_fill(&r->m, &r->c, &r->a);
	rtt_delay_begin(&r->a, &planter);
	memset(&got, 0, sizeof(got));
	rows_init(&rs);
	got.o[RTT_PUT].begin = got.o[RTT_REPLY].begin = clock_pair_read(get);
	for (uint64_t m = 0; m < r->c.messages; m++) {
		uint64_t t0 = ticks(get), t1, seen;

		rtt_send(put, &r->issuer, ORD_NONE, DBM_RING, POST_INLINE);
		t1 = ticks(get);
		serve(r);
		assert_true(rtt_await_put(&r->a, &r->responder, m));
		seen = ticks(get);
		if (block_planted(m, RTT_BLOCK))
			planter_wait(&planter, MARK_SEEN);
		rtt_send(reply, &r->responder, ORD_NONE, DBM_RING, POST_INLINE);
		r->a.spans[m] = ticks(get) - seen;
		serve(r);
		assert_true(rtt_await_reply(&r->a, &r->issuer, m, DBM_RING));
		r->a.samples[m] = ticks(get) - t0;
		r->a.submits[m] = t1 - t0;
		assert_true(rtt_settle(reply, NULL, &r->responder, m) && rtt_settle(put, NULL, &r->issuer, m));
	}
	got.o[RTT_PUT].end = got.o[RTT_REPLY].end = clock_pair_read(get);
	assert_int_equal(rtt_rows(&r->m, &r->c, &got, &rs), 0);
	*delta = *row_of(&rs, "-", "-", "respond_delta");
	rows_free(&rs);
	rtt_mem_term(&r->m);
}

/* A sanitizer of threads makes a wait longer than it is measured to be, by up to some us. */
#ifdef __SANITIZE_THREAD__
#define OFF_NS 5000
#else
#define OFF_NS 500
#endif

/* 50 us come back within 1 %, told or not; a row that isn't told, or not of all, says so. On a busy CPU one of several tries. */
static void a_delay_comes_back(void **state)
{
	static const struct { uint32_t told, untold; } delays[] = { { 50000, 0 }, { 0, 50000 }, { 40000, 10000 } };
	static struct rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		struct row row;
		int met = 0;

		for (int k = 0; k < TRIES && !met; k++) {
			delta_of(&r, delays[i].told, delays[i].untold, &row);
			assert_int_equal(row.s.n, 520 / RTT_BLOCK / 2);
			met = fabs(row.s.mean - 50000) <= OFF_NS && (!strcmp(row.reason_code, "delay") == (delays[i].untold > 0) || OFF_NS > 500);
		}
		if (!met)
			fail_msg("%u and %u ns came back as %.0f, %s, in the last of %d tries", delays[i].told, delays[i].untold, row.s.mean, row.reason, TRIES);
	}
}

/* ---- what goes wrong ---- */

static const struct { const char *point; int bad_way, code; const char *says, *never; } faults[] = {
	{ "fault=key", RTT_PUT, EREMOTEIO, "put 0: CQE with syndrome 0x13", "ordering" },
	{ "fault=key", RTT_REPLY, EREMOTEIO, "reply 0: CQE with syndrome 0x13", "ordering" },
	{ "fault=error-cqe messages=64", RTT_PUT, EREMOTEIO, "put 32: CQE with syndrome 0x14", "ordering" },
	/* an order that says nothing may be why */
	{ "fault=error-cqe ordering=none", RTT_PUT, EREMOTEIO, "guaranteed: gpu-fence, ", "none, " },
	{ "fault=dead-nic messages=64", RTT_PUT, ETIMEDOUT, "message 32: no reply in 2 s; the NIC has not completed its put; the responder has seen 32 puts", "is completed" },
	{ "fault=no-reply messages=64", RTT_PUT, ETIMEDOUT, "message 32: no reply in 2 s; its put is completed; the responder has seen 33 puts and rung for 32 replies", "has not" },
};

static void faults_end_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct rtt_got got;
		struct rtt_conf c;
		struct rtt_mem m;
		int rc;

		memset(&m, 0, sizeof(m));
		memset(&got, 0, sizeof(got));
		resolved(&c, faults[i].point);
		c.bad_way = faults[i].bad_way;
		assert_int_equal(rtt_mem_init(&m, &c), 0);
		fs_reason_clear();
		rc = rtt_pass(&m, &c, &got);
		if (rc != -faults[i].code || !strstr(fs_reason(), faults[i].says) || strstr(fs_reason(), faults[i].never))
			fail_msg("%s: %d, %s", faults[i].point, rc, fs_reason());
		rtt_mem_term(&m);
	}
}

/* Ends that no fault brings about here. */
static void ends_have_words(void **state)
{
	static const struct {
		const char *point;
		uint64_t put, reply, wait, wrong, stale, lost;
		int code;
		const char *says;
	} ends[] = {
		{ "", RATE_OK, RATE_OK, 0, 0, 0, 0, 0, "" },
		{ "size=64", RATE_OK, RATE_OK, 0, 2, 0, 0, EBADMSG, "2 wrong payload words behind the last one, first in reply 7" },
		{ "size=64 ordering=none", RATE_OK, RATE_OK, 0, 2, 0, 0, 0, "" }, /* which is counted: below */
		{ "", RATE_OK, RATE_OK, 0, 0, 3, 0, EBADMSG, "3 stale WQE fetches" },
		{ "ordering=none", RATE_OK, RATE_OK, 0, 0, 3, 0, 0, "" },
		{ "", RATE_OK, RATE_OK, 0, 0, 0, 1, EPROTO, "the NIC has done 19 messages" },
		{ "", RATE_TIMEOUT, RATE_GIVEN_UP, RTT_AT_READY, 0, 0, 0, ETIMEDOUT, "message 9: the responder was not ready" },
		{ "", RATE_TIMEOUT, RATE_GIVEN_UP, RTT_AT_CQE, 0, 0, 0, ETIMEDOUT, "put 9: no completion" },
		{ "", RATE_GIVEN_UP, RATE_TIMEOUT, RTT_AT_CQE, 0, 0, 0, ETIMEDOUT, "reply 9: no completion" },
		{ "", RATE_OK, RATE_TIMEOUT, RTT_AT_PAYLOAD, 0, 0, 0, ETIMEDOUT, "the responder saw none" },
		{ "", RATE_OK, RATE_RUNNING, 0, 0, 0, 0, EPROTO, "the responder ended without a status" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct rtt_got got = {
			.nic = { { .stale_wqe = ends[i].stale, .wqes = 20 - ends[i].lost } },
			.o = {
				{ .status = ends[i].put, .wait = ends[i].wait, .at = 9, .sent = 10, .wrong_words = ends[i].wrong, .wrong_message = 7 },
				{ .status = ends[i].reply, .wait = ends[i].wait, .at = 9, .sent = 10 },
			},
		};
		struct rtt_conf c;
		int rc;

		resolved(&c, ends[i].point);
		fs_reason_clear();
		rc = rtt_verdict(&c, &got);
		if (rc != -ends[i].code || !strstr(fs_reason(), ends[i].says))
			fail_msg("end %zu: %d, %s", i, rc, fs_reason());
	}
}

static void wrong_words_are_flagged(void **state)
{
	struct rtt_got got;
	struct rtt_conf c;
	struct rtt_mem m;
	struct rows rs;

	(void)state;
	memset(&m, 0, sizeof(m));
	memset(&got, 0, sizeof(got));
	resolved(&c, "ordering=none size=64");
	rows_init(&rs);
	assert_int_equal(rtt_mem_init(&m, &c), 0);
	if (rtt_pass(&m, &c, &got))
		fail_msg("%s", fs_reason());
	got.o[RTT_REPLY].wrong_words = 5;
	assert_int_equal(rtt_rows(&m, &c, &got, &rs), 0);
	assert_true(row_of(&rs, "-", "-", "wrong_words")->s.mean == 5);
	assert_string_equal(row_of(&rs, "total", "-", "rtt")->reason_code, "wrong");
	assert_non_null(strstr(row_of(&rs, "total", "-", "rtt")->reason, "5 payload words"));
	rows_free(&rs);
	rtt_mem_term(&m);
}

static const struct { const char *point, *says; } refusals[] = {
	{ "nic=null", "legal: nic=soft or peer" }, { "size=0", "from 4 to 4096" }, { "size=10", "multiples of 4" }, { "size=4100", "from 4 to 4096" },
	{ "size=32 payload=inline", "payload=pointer" }, { "doorbell=ring-record-ring", "record-ring, ring" }, { "doorbell=blueflame", "record-ring, ring" },
	{ "messages=31", "32..4000000" }, { "messages=5000000", "32..4000000" }, { "respond_ns=99 messages=1000", "100 ns or more" },
	{ "respond_ns=1000 messages=500", "messages=512.." }, { "respond_ns=10000000 messages=20000", "at most 60 s" },
	{ "fault=lost-doorbell", "isn't injected" }, { "fault=gpu-lost", "isn't injected" }, { "nic_workers=3", "nic_workers=1..2" },
	{ "queue_mem=gpu", "a CPU can't reach" }, { "fault=stuck-worker", "legal: submitter=proxy" }, { "proxy=baseline", "legal: submitter=proxy" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct point pt;

		rtt_point(&pt, refusals[i].point);
		point_refused(&pt, suite_machine(), refusals[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_is_looked_at),
		cmocka_unit_test(a_signal_is_8_bytes),
		cmocka_unit_test(points_run),
		cmocka_unit_test(a_responder_waits),
		cmocka_unit_test(a_delay_comes_back),
		cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(ends_have_words),
		cmocka_unit_test(wrong_words_are_flagged),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
