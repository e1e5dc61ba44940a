/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the probe `fence` makes the stores that it is asked for, before the fence, and
 * the one behind it; each fence is legal for the side that has it and refused for the
 * other; on an x86 CPU a full fence costs more than the bare store. Controls: without
 * stores the ring stays as it was; a release store there, which is a plain one, costs
 * less than a full fence.
 */
#include "tests/points.h"

#include "stages/issue/fence.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>

enum { MESSAGES = 500, TRIES = 10 };
extern const struct probe probe_fence;

static void fence_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_fence);
	point_set(pt, "issuer=cpu messages=2000 warmup=100");
	point_set(pt, text);
	fs_point_id(pt);
}

static void fence_of(const char *text, struct rows *rs)
{
	struct point pt;

	fence_point(&pt, text);
	rows_init(rs);
	if (probe_fence.run(&pt, rs))
		fail_msg("%s: %s", text, fs_reason());
}

/* ---- the stores ---- */

static void loop_of(uint32_t stores, uint8_t *ring)
{
	static uint64_t samples[MESSAGES], unsettled;
	struct clock_pair pairs[2];
	struct fence_args a = { .ring = ring, .word = ring + FENCE_RING, .stores = stores, .gap_ticks = 16, .gettime = 1,
				.messages = MESSAGES, .seed = 1, .samples = samples, .pairs = pairs, .unsettled = &unsettled };

	memset(ring, 0xee, FENCE_RING + 64);
	fence_loop(&a, FENCE_NONE);
}

/* 0, or one more than the first 16 bytes that are not what message and store make of them. */
static uint32_t ring_wrong(const uint8_t *ring, uint32_t stores)
{
	for (uint32_t i = 0; i < FENCE_RING / 16; i++) {
		const uint64_t *w = (const uint64_t *)(ring + i * 16);
		uint64_t m = stores ? i / stores : 0;

		if (!stores || m >= MESSAGES) {
			if (w[0] != 0xeeeeeeeeeeeeeeeeull || w[1] != w[0])
				return i + 1;
		} else if (w[0] != m || w[1] != m + i % stores) {
			return i + 1;
		}
	}
	return 0;
}

static void stores_are_made(void **state)
{
	uint8_t *ring = aligned_alloc(4096, FENCE_RING + 4096);

	(void)state;
	for (uint32_t stores = 0; stores <= 4; stores++) {
		loop_of(stores, ring);
		assert_int_equal(ring_wrong(ring, stores), 0);
		assert_int_equal(*(uint64_t *)(ring + FENCE_RING), MESSAGES - 1);
	}
	/* control: another number of them is told apart */
	assert_int_not_equal(ring_wrong(ring, 3), 0);
	assert_int_not_equal(ring_wrong(ring, 0), 0);
	free(ring);
}

/* ---- sides ---- */

static void each_side_has_its_own(void **state)
{
	static const struct { const char *word; int gpu, cpu; } fences[FENCES] = {
		[FENCE_NONE] = { "none", 1, 1 }, [FENCE_STORE_RELEASE_SYS] = { "store-release-sys", 1, 1 },
		[FENCE_RELEASE_GPU] = { "release-gpu", 1, 0 }, [FENCE_SC_GPU] = { "sc-gpu", 1, 0 },
		[FENCE_STORE_RELEASE_GPU] = { "store-release-gpu", 1, 0 }, [FENCE_RELEASE_SYS] = { "release-sys", 1, 0 },
		[FENCE_SC_SYS] = { "sc-sys", 1, 0 }, [FENCE_SFENCE] = { "sfence", 0, 1 },
		[FENCE_MFENCE] = { "mfence", 0, 1 }, [FENCE_LOCK] = { "lock", 0, 1 },
	};
	const struct machine one = { .ngpus = 1, .cpus = 1 };

	(void)state;
	for (int i = 0; i < FENCES; i++)
		for (int cpu = 0; cpu < 2; cpu++) {
			char text[96], why[256] = "";
			struct point pt;
			int rc, legal = cpu ? fences[i].cpu : fences[i].gpu;

#ifndef __x86_64__
			if (fences[i].cpu && !fences[i].gpu)
				continue;
#endif
			snprintf(text, sizeof(text), "issuer=%s fence=%s", cpu ? "cpu" : "gpu", fences[i].word);
			fence_point(&pt, text);
			assert_int_equal(fs_word(&pt, "fence"), i);
			rc = probe_fence.check(&pt, &one, why, sizeof(why));
			if (rc != (legal ? 0 : -EINVAL))
				fail_msg("%s: %d \"%s\"", text, rc, why);
			if (legal)
				continue;
			assert_non_null(strstr(why, cpu ? "legal: none, store-release-sys, sfence, mfence, lock" :
						    "legal: none, store-release-sys, release-gpu, sc-gpu, store-release-gpu, release-sys, sc-sys"));
			assert_true(strlen(why) < sizeof(why) - 1);
		}
}

/* ---- costs ---- */

static double cost_of(const char *fence)
{
	const struct row *r;
	struct rows rs;
	char text[64];
	double p50;

	snprintf(text, sizeof(text), "fence=%s", fence);
	fence_of(text, &rs);
	r = row_of(&rs, "handoff", "-", "fence");
	assert_non_null(r);
	assert_int_equal(r->s.n, 2000);
	assert_int_equal(r->status, FS_OK);
	assert_string_equal(r->unit, "ns");
	assert_string_equal(r->link, "host");
	assert_true(r->s.min > 0 && r->s.min <= r->s.p50);
	p50 = r->s.p50;
	rows_free(&rs);
	return p50;
}

static void a_full_fence_is_dearer(void **state)
{
	double none = 0, release = 0, lock = 0, full = 0;

	(void)state;
#ifndef __x86_64__
	assert_true(cost_of("none") > 0 && cost_of("store-release-sys") > 0);
	skip();
#endif
	/* a busy machine may spoil one try */
	for (int i = 0; i < TRIES; i++) {
		none = cost_of("none");
		release = cost_of("store-release-sys");
		lock = cost_of("lock");
		full = cost_of("mfence");
		assert_true(cost_of("sfence") > 0);
#ifdef __SANITIZE_THREAD__
		release = 0; /* there a release store is a call that costs more than a fence */
#endif
		if (full > none && full > release && lock > none)
			return;
	}
	fail_msg("none %.1f, release store %.1f, lock %.1f, mfence %.1f ns", none, release, lock, full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_are_made), cmocka_unit_test(each_side_has_its_own), cmocka_unit_test(a_full_fence_is_dearer),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
