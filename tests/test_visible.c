/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the probe `visible` counts older words behind a flag as violations, and newer ones
 * as none; its writer never comes ahead of its reader; where an order is promised none is
 * seen between two CPUs; each combination has the class that the memory models give it; rows
 * say what none seen is worth; what can't be is refused.
 *
 * Controls: a flag that is stored before its payload, and a payload that is read before its flag,
 * are counted; a violation fails the point where the class excludes it.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "stages/completion/visible_order.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

extern const struct probe probe_visible;
enum { WORDS = 5, STRIDE = 24, TRIES = 10 };

static void visible_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_visible);
	point_set(pt, "issuer=cpu messages=2000 warmup=128");
	point_set(pt, text);
	fs_point_id(pt);
}

/* ---- in one thread ---- */

struct rig {
	_Alignas(64) uint64_t payload[WORDS * STRIDE / 8 + 1], flag, ack;
	uint64_t samples[16];
	struct clock_pair pairs[2];
	struct visible_out out;
	struct visible_far far_;
	struct visible_args a;
};

static void rig_open(struct rig *r, uint64_t messages)
{
	memset(r, 0, sizeof(*r));
	memset(r->payload, 0xee, sizeof(r->payload));
	r->a = (struct visible_args){ .payload = (uint8_t *)r->payload, .flag = (uint8_t *)&r->flag, .ack = (uint8_t *)&r->ack, .words = WORDS,
		.stride = STRIDE, .messages = messages, .wait_ns = 20000000, .seed = 1, .gap_ticks = 16, .gettime = 1, .samples = r->samples,
		.pairs = r->pairs, .out = &r->out, .far_ = &r->far_ };
}

static const struct coop alone = { 0, 1 };

static void words_are_told_apart(void **state)
{
	struct visible_seen s;
	struct rig r;

	(void)state;
	rig_open(&r, 1);
	visible_fill(&r.a, 7, alone);
	for (size_t i = 0; i < sizeof(r.payload) / 8; i++) /* so many bytes apart, and nothing between */
		assert_int_equal(r.payload[i] != 0xeeeeeeeeeeeeeeeeull, i % (STRIDE / 8) == 0 && i / (STRIDE / 8) < WORDS);
	for (int early = 0; early < 2; early++) {
		s = early ? visible_compare(&r.a, 7, LOADED_RELAXED, 1) : visible_compare(&r.a, 7, LOADED_RELAXED, 0);
		assert_true(!s.stale && !s.newer);
	}
	s = visible_compare(&r.a, 8, LOADED_RELAXED, 0);
	assert_true(s.stale == WORDS && !s.newer);
	s = visible_compare(&r.a, 6, LOADED_RELAXED, 0);
	assert_true(!s.stale && s.newer == WORDS);
	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t *w = &r.payload[i * STRIDE / 8];

		*w = payload_word(6, i);
		s = visible_compare(&r.a, 7, LOADED_RELAXED, 0);
		assert_true(s.stale == 1 && !s.newer);
		*w = payload_word(7, i + 1); /* of this message, but another word: of none that there is */
		s = visible_compare(&r.a, 7, LOADED_RELAXED, 0);
		assert_true(!s.stale && s.newer == 1);
		*w = payload_word(7, i);
	}
}

/* The reader alone: what it counts of a message whose flag stands. */
static void the_reader_counts(void **state)
{
	static const struct { uint64_t of; uint32_t violated, stale, newer; } has[] = {
		{ 0, 1, WORDS, 0 }, { 1, 0, 0, 0 }, { 2, 0, 0, WORDS },
	};
	struct rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(has) / sizeof(has[0]); i++)
		for (int form = 0; form < VISIBLE_FORMS; form++) {
			rig_open(&r, 1);
			visible_fill(&r.a, has[i].of, alone);
			r.flag = 1;
			r.ack = VISIBLE_NOT_YET;
			if (form == FORM_VISIBLE_BARE)
				visible_read(&r.a, ACQUIRE_NONE, LOADED_RELAXED, FORM_VISIBLE_BARE);
			else if (form == FORM_VISIBLE_TIMED)
				visible_read(&r.a, ACQUIRE_LOAD, LOADED_RELAXED, FORM_VISIBLE_TIMED);
			else
				visible_read(&r.a, ACQUIRE_FENCE_SYS, LOADED_RELAXED, FORM_VISIBLE_EARLY);
			assert_int_equal(r.out.status, VISIBLE_OK);
			assert_int_equal(r.out.done, 1);
			assert_int_equal(r.out.violated, has[i].violated);
			assert_int_equal(r.out.first, has[i].violated);
			assert_int_equal(r.out.stale, has[i].stale);
			assert_int_equal(r.out.newer, has[i].newer);
			assert_int_equal(r.ack, 1);
			assert_int_equal(r.samples[0] != 0, form == FORM_VISIBLE_TIMED);
		}
}

/* No flag comes: it ends, and says how far it came; the warm-up isn't counted. */
static void a_reader_without_a_writer_ends(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, 2);
	visible_read(&r.a, ACQUIRE_LOAD, LOADED_RELAXED, FORM_VISIBLE_BARE);
	assert_int_equal(r.out.status, VISIBLE_TIMEOUT);
	assert_int_equal(r.out.done, 0);
	rig_open(&r, 2);
	r.flag = 1;
	r.a.warmup = 1;
	visible_fill(&r.a, 0, alone); /* stale, in the warm-up */
	visible_read(&r.a, ACQUIRE_LOAD, LOADED_RELAXED, FORM_VISIBLE_BARE);
	assert_int_equal(r.out.status, VISIBLE_TIMEOUT);
	assert_int_equal(r.out.done, 1);
	assert_int_equal(r.out.violated, 0);
	assert_int_equal(r.ack, 1);
}

/* The writer alone: a message each time the reader has said that it is through, and never else. */
static void the_writer_waits(void **state)
{
	(void)state;
	for (int early = 0; early < 2; early++) {
		struct visible_writer w = { 0, 1 };
		struct rig r;

		rig_open(&r, 1);
		r.a.early = early ? EARLY_WRITER : EARLY_NONE;
		r.ack = VISIBLE_NOT_YET;
		assert_false(visible_write(&r.a, &w, FENCE_NONE, alone)); /* nobody reads yet */
		assert_int_equal(r.payload[0], 0xeeeeeeeeeeeeeeeeull);
		assert_int_equal(r.flag, 0);
		for (uint64_t m = 1; m < 4; m++) {
			r.ack = m - 1;
			assert_true(visible_write(&r.a, &w, FENCE_STORE_RELEASE_SYS, alone));
			assert_int_equal(r.flag, m);
			assert_true(!visible_compare(&r.a, m, LOADED_RELAXED, 0).stale && !visible_compare(&r.a, m, LOADED_RELAXED, 0).newer);
			assert_false(visible_write(&r.a, &w, FENCE_STORE_RELEASE_SYS, alone));
			assert_int_equal(r.flag, m);
			assert_int_equal(w.m, m);
		}
	}
}

/* ---- two CPUs ---- */

static void run_well(const char *text, struct rows *rs)
{
	struct point pt;

	visible_point(&pt, text);
	rows_init(rs);
	if (probe_visible.run(&pt, rs))
		fail_msg("%s: %s", text, fs_reason());
}

static const struct { const char *point, *order_class; } orders[] = {
	{ "fence=store-release-sys", "guaranteed" }, { "fence=store-release-sys acquire=load size=64", "guaranteed" },
	{ "fence=store-release-sys size=1K stride=8", "guaranteed" }, { "fence=store-release-sys acquire=none", "unsafe" },
	{ "fence=none acquire=load", "unsafe" }, { "messages=1 warmup=0 fence=store-release-sys", "guaranteed" },
#ifdef __x86_64__
	{ "fence=sfence", "relied-on" }, { "fence=mfence acquire=load", "relied-on" }, { "fence=lock acquire=none", "unsafe" },
#endif
};

static void orders_hold(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const struct row *v, *share, *words, *ns;
		struct point pt;
		struct rows rs;

		visible_point(&pt, orders[i].point);
		run_well(orders[i].point, &rs);
		v = row_of(&rs, "completion", "-", "violations");
		share = row_of(&rs, "completion", "-", "violation_share");
		words = row_of(&rs, "completion", "-", "stale_words");
		ns = row_of(&rs, "completion", "-", "flag_to_payload");
		assert_true(v && share && words && ns);
		assert_int_equal(v->s.n, fs_num(&pt, "messages"));
		assert_int_equal(ns->s.n, fs_num(&pt, "messages"));
		assert_true(ns->s.min > 0);
		for (size_t k = 0; k < rs.n; k++)
			assert_string_equal(rs.row[k].order_class, orders[i].order_class);
#ifndef __x86_64__
		if (!strcmp(orders[i].order_class, "unsafe")) {
			rows_free(&rs);
			continue;
		}
#endif
		assert_true(v->s.mean == 0 && words->s.mean == 0 && share->s.mean == 0);
		/* of none seen it can't be said that there are none */
		assert_string_equal(v->reason_code, "none-seen");
		assert_non_null(strstr(v->reason, "no proof"));
		assert_true(share->s.ci_lo == 0 && fabs(share->s.ci_hi - 100 * (1 - pow(0.025, 1.0 / (double)v->s.n))) < 1e-6);
		rows_free(&rs);
	}
}

/* The controls. One of the two may have no CPU for all of a pass's messages. */
static void what_is_early_is_counted(void **state)
{
	static const char *const points[] = {
		"early=writer", "early=reader", "early=writer fence=store-release-sys acquire=load size=64",
		"early=reader fence=store-release-sys acquire=load size=64", "early=writer acquire=none", "early=reader acquire=none",
	};

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		int seen = 0;

		for (int t = 0; t < TRIES && !seen; t++) {
			const struct row *v, *share, *words;
			struct rows rs;

			run_well(points[i], &rs);
			v = row_of(&rs, "completion", "-", "violations");
			share = row_of(&rs, "completion", "-", "violation_share");
			words = row_of(&rs, "completion", "-", "stale_words");
			assert_true(v && share && words && words->s.mean >= v->s.mean);
			assert_string_equal(v->order_class, "unsafe");
			seen = v->s.mean > 0;
			assert_int_equal(v->status, seen ? FS_FLAGGED : FS_OK);
			assert_string_equal(v->reason_code, seen ? "violations" : "none-seen");
			assert_true(fabs(share->s.mean - 100 * v->s.mean / (double)v->s.n) < 1e-9);
			if (seen)
				assert_true(share->s.ci_lo > 0);
			/* what was read before the flag is no time behind it */
			assert_int_equal(!row_of(&rs, "completion", "-", "flag_to_payload"), !!strstr(points[i], "early=reader"));
			rows_free(&rs);
		}
		if (!seen)
			fail_msg("%s: no violation was counted", points[i]);
	}
}

/* ---- classes ---- */

enum { CPU = PLACE_HOST, HOST = PLACE_HOST, GPU = 0, PEER = 1 };

static const struct { struct visible_order o; const char *is; } classes[] = {
	/* fence, acquire, early, writer, reader, payload, flag */
	{ { FENCE_STORE_RELEASE_SYS, ACQUIRE_LOAD, EARLY_NONE, CPU, CPU, HOST, HOST }, "guaranteed" },
	{ { FENCE_NONE, ACQUIRE_LOAD, EARLY_NONE, CPU, CPU, HOST, HOST }, "unsafe" },
	{ { FENCE_MFENCE, ACQUIRE_FENCE_SYS, EARLY_NONE, CPU, GPU, HOST, HOST }, "relied-on" },
	{ { FENCE_RELEASE_SYS, ACQUIRE_FENCE_SYS, EARLY_NONE, GPU, GPU, HOST, GPU }, "guaranteed" },
	{ { FENCE_SC_SYS, ACQUIRE_LOAD, EARLY_NONE, PEER, GPU, GPU, HOST }, "guaranteed" },
	{ { FENCE_RELEASE_SYS, ACQUIRE_FENCE_SYS, EARLY_WRITER, GPU, GPU, GPU, GPU }, "unsafe" },
	{ { FENCE_RELEASE_SYS, ACQUIRE_FENCE_SYS, EARLY_READER, GPU, GPU, GPU, GPU }, "unsafe" },
	{ { FENCE_RELEASE_SYS, ACQUIRE_NONE, EARLY_NONE, GPU, GPU, GPU, GPU }, "unsafe" },
	/* GPU scope, on either side: the other one inside it, at one's own memory, elsewhere */
	{ { FENCE_RELEASE_GPU, ACQUIRE_FENCE_GPU, EARLY_NONE, GPU, GPU, HOST, GPU }, "guaranteed" },
	{ { FENCE_SC_GPU, ACQUIRE_FENCE_SYS, EARLY_NONE, PEER, GPU, PEER, PEER }, "relied-on" },
	{ { FENCE_SC_GPU, ACQUIRE_FENCE_SYS, EARLY_NONE, PEER, GPU, GPU, PEER }, "unsafe" },
	{ { FENCE_STORE_RELEASE_GPU, ACQUIRE_LOAD, EARLY_NONE, GPU, CPU, HOST, HOST }, "unsafe" },
	{ { FENCE_RELEASE_SYS, ACQUIRE_FENCE_GPU, EARLY_NONE, PEER, GPU, GPU, GPU }, "relied-on" },
	{ { FENCE_RELEASE_SYS, ACQUIRE_FENCE_GPU, EARLY_NONE, PEER, GPU, GPU, HOST }, "unsafe" },
	{ { FENCE_STORE_RELEASE_SYS, ACQUIRE_FENCE_GPU, EARLY_NONE, CPU, GPU, HOST, HOST }, "unsafe" },
	/* no memory is both agents' own */
	{ { FENCE_RELEASE_GPU, ACQUIRE_FENCE_GPU, EARLY_NONE, PEER, GPU, GPU, GPU }, "unsafe" },
};

static void classes_are_those_of_the_models(void **state)
{
	struct visible_out got = { .status = VISIBLE_OK, .done = 10, .violated = 1, .first = 3, .stale = 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		int unsafe = !strcmp(classes[i].is, "unsafe");

		if (strcmp(visible_class(&classes[i].o), classes[i].is))
			fail_msg("class %zu is %s", i, visible_class(&classes[i].o));
		got.violated = got.stale = 0;
		assert_int_equal(visible_verdict(&classes[i].o, 10, &got, 1), 0);
		got.violated = got.stale = 2;
		assert_int_equal(visible_verdict(&classes[i].o, 10, &got, 1), unsafe ? 0 : -EBADMSG);
		if (!unsafe)
			assert_non_null(strstr(fs_reason(), classes[i].is));
	}
	/* in whatever class */
	got.newer = 1;
	assert_int_equal(visible_verdict(&classes[1].o, 10, &got, 1), -EPROTO);
	got.status = VISIBLE_TIMEOUT;
	assert_int_equal(visible_verdict(&classes[1].o, 10, &got, 1), -ETIMEDOUT);
	got.status = 0;
	assert_int_equal(visible_verdict(&classes[1].o, 10, &got, 1), -EPROTO);
}

/* ---- refusals ---- */

static const struct { const char *point, *says, *otherwise; } refusals[] = {
	{ "nic=null", "legal: nic=soft", "nic=soft" },
	{ "fence=release-sys", "store-release-sys, sfence", "fence=store-release-sys" },
	{ "acquire=fence-gpu", "none, fence-sys, load", "acquire=fence-sys" },
	{ "payload_load=plain", "legal: relaxed", "payload_load=relaxed" },
	{ "sharing=warp", "legal: exclusive", "sharing=exclusive" },
	{ "sharing=block", "legal: exclusive", "sharing=exclusive" },
	{ "size=12", "8..65536, by 8", "size=16" },
	{ "size=0", "8..65536", "size=8" },
	{ "size=128K", "8..65536", "size=64K" },
	{ "size=64K stride=16K", "at most 64 MiB", "size=64K stride=8K" },
	{ "messages=20000000", "1..10000000", "messages=10000000" },
	{ "dst_mem=gpu", "auto, host", "dst_mem=host" },
	{ "flag_mem=peer", "auto, host", "flag_mem=auto" },
	{ "issuer=gpu flag_mem=gpu", "auto, host", "issuer=cpu flag_mem=host" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		char why[256] = "";
		struct point pt;

		visible_point(&pt, refusals[i].point);
		if (probe_visible.check(&pt, suite_machine(), why, sizeof(why)) != -EINVAL || !strstr(why, refusals[i].says))
			fail_msg("%s: %s", refusals[i].point, why);
		point_set(&pt, refusals[i].otherwise);
		if (probe_visible.check(&pt, suite_machine(), why, sizeof(why)))
			fail_msg("%s: %s", refusals[i].otherwise, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_told_apart),
		cmocka_unit_test(the_reader_counts),
		cmocka_unit_test(a_reader_without_a_writer_ends),
		cmocka_unit_test(the_writer_waits),
		cmocka_unit_test(orders_hold),
		cmocka_unit_test(what_is_early_is_counted),
		cmocka_unit_test(classes_are_those_of_the_models),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
