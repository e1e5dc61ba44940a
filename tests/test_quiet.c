/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the probe `quiet` waits until what it has to wait for is done, and for no
 * more: its own queue, or every queue, whoever has something under way; its rows hold
 * together; faults end in words; what can't be is refused.
 *
 * Control: a queue that isn't done is not passed over by scope=all, and is by scope=own.
 */
#include "tests/wide_rig.h"

#include "stages/completion/quiet.h"

#include <errno.h>

extern const struct probe probe_quiet;

static void quiet_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_quiet);
	point_set(pt, "issuer=cpu messages=2000 warmup=128");
	point_set(pt, text);
	fs_point_id(pt);
}

/* ---- in one thread ---- */

static void all_means_all(void **state)
{
	static struct wide_rig r;
	struct quiet_args a;
	struct rate_agent g;

	(void)state;
	wide_open(&r, "threads=4 depth=1");
	memset(&a, 0, sizeof(a));
	a.q = r.a;
	g.status = RATE_OK;
	for (uint32_t q = 0; q < 4; q += 2) {
		quiet_queue(&a, &g, q);
		assert_true(quiet_post(&a, &g, ORD_NONE));
		assert_int_equal(g.pi, 1);
	}
	/* nobody serves: neither is done */
	assert_false(quiet_all(&a, &g));
	assert_int_equal(g.status, RATE_TIMEOUT);
	g.status = RATE_OK;
	/* queue 2's worker alone */
	r.w.workers = 4;
	r.worker[0].worker = 2;
	assert_int_equal(wide_serve(&r, 0), 1);
	quiet_queue(&a, &g, 2);
	assert_true(quiet_await(&a, &g, 0)); /* its own is done */
	assert_false(quiet_all(&a, &g));     /* control: queue 0 is not */
	assert_int_equal(g.status, RATE_TIMEOUT);
	g.status = RATE_OK;
	r.worker[0].worker = 0;
	memset(r.states[0], 0, sizeof(*r.states[0]));
	assert_int_equal(wide_serve(&r, 0), 1);
	assert_true(quiet_all(&a, &g));
	for (uint32_t q = 0; q < 4; q++)
		assert_int_equal(ld64(r.a.share + q * SHARE_BYTES + QUIET_DONE), !(q & 1));
	wide_close(&r);
}

/* With lines=16 all queues are used equally, however many a pass has. */
static void passes_use_each_queue_once(void **state)
{
	static struct wide_rig r;
	struct quiet_args all;

	(void)state;
	wide_open(&r, "threads=16 depth=1");
	memset(&all, 0, sizeof(all));
	all.q = r.a;
	all.messages = 1003;
	for (uint32_t used = 1; used <= 16; used *= 2) {
		uint32_t seen = 0;
		uint64_t messages = 0;

		for (uint32_t k = 0; k < 16 / used; k++) {
			struct quiet_args a = quiet_part(&all, used, k);

			assert_int_equal(a.samples - all.samples, messages);
			messages += a.messages;
			for (uint32_t i = 0; i < a.q.queues; i++) {
				struct rate_agent part, whole;
				uint32_t q = k * used + i;

				quiet_queue(&a, &part, i);
				quiet_queue(&all, &whole, q);
				assert_memory_equal(&part.q, &whole.q, sizeof(part.q));
				assert_ptr_equal(part.share, whole.share);
				assert_int_equal(part.remote, whole.remote);
				assert_false(seen >> q & 1); /* control: one more would be the first again */
				seen |= 1u << q;
			}
		}
		assert_int_equal(seen, 0xffff);
		assert_int_equal(messages, 1003);
	}
	wide_close(&r);
}

/* ---- the probe ---- */

static const char *const points[] = {
	"queues=1", "queues=5", "queues=16 scope=all", "queues=3 scope=all size=28", "queues=2 size=0 ordering=none",
	"queues=7 scope=all doorbell=ring entries=4", "messages=1 warmup=0",
	"queues=1 lines=16", "queues=2 lines=6 scope=all messages=1001", "queues=4 lines=4", "queues=3 lines=3 messages=1",
};

static void points_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		const struct row *total, *submit;
		struct point pt;
		struct rows rs;

		quiet_point(&pt, points[i]);
		rows_init(&rs);
		if (probe_quiet.run(&pt, &rs))
			fail_msg("%s: %s", points[i], fs_reason());
		total = row_of(&rs, "total", "-", "latency");
		submit = row_of(&rs, "submit", "-", "latency");
		assert_non_null(total);
		assert_non_null(submit);
		assert_int_equal(total->s.n, fs_num(&pt, "messages"));
		assert_true(submit->s.mean > 0 && submit->s.mean < total->s.mean);
		assert_string_equal(total->origin, "emulated");
		rows_free(&rs);
	}
}

static const struct { const char *point; int code; const char *says, *never; } faults[] = {
	{ "fault=key queues=3", EREMOTEIO, "0x13", "ordering" },
	{ "fault=error-cqe queues=2 scope=all", EREMOTEIO, "0x14", "ordering" },
	/* an order that says nothing may be why; the control are those above */
	{ "fault=error-cqe queues=2 ordering=none", EREMOTEIO, "guaranteed: gpu-fence, ", "none, " },
	{ "fault=dead-nic queues=2", ETIMEDOUT, "queue 0: no completion", "ordering" },
	/* a pass that isn't the first says which of all queues it was */
	{ "fault=key queues=1 lines=4", EREMOTEIO, "queue 0", "ordering" },
};

static void faults_end_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct point pt;

		quiet_point(&pt, faults[i].point);
		point_fails(&pt, faults[i].code, faults[i].says, "");
		assert_null(strstr(fs_reason(), faults[i].never));
	}
}

static const struct { const char *point, *says; } refusals[] = {
	{ "nic=null", "legal: size=0..28, nic=soft or peer" },
	{ "size=29", "legal: size=0..28" },
	{ "queues=129", "queues=1..128" },
	{ "messages=5000000", "1..4000000" },
	{ "queues=3 lines=16", "legal: multiples of 3" },
	{ "queues=3 lines=2", "legal: multiples of 3" },
	{ "lines=16 messages=15", "messages=16.." },
	{ "fault=slow-nic", "isn't injected" },
};

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct point pt;

		quiet_point(&pt, refusals[i].point);
		point_refused(&pt, suite_machine(), refusals[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_means_all),
		cmocka_unit_test(passes_use_each_queue_once),
		cmocka_unit_test(points_run),
		cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
