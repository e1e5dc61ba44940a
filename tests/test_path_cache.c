/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: with several memory regions and the NIC's translation cache the probe `path` gives as many
 * hits and misses as the order of its messages says beforehand: in turn all hits or none, in the
 * random order what a direct-mapped cache gives on that very order. Bytes are right all the
 * while (check=each), hits and misses add up, and their means to the interval they split.
 *
 * Control: the same model with half the entries disagrees; a region's key that is spoiled in the
 * tables ends the pass, cached or not.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>

enum { MESSAGES = 1000, WARMUP = 512 };

static double number(const struct rows *rs, const char *metric)
{
	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(rs->row[i].metric, metric))
			return rs->row[i].s.mean;
	return NAN;
}

static uint64_t count(const struct rows *rs, const char *metric)
{
	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(rs->row[i].metric, metric))
			return rs->row[i].s.n;
	return 0;
}

/* Hits of inline messages from `first` on, by their order alone. */
static uint64_t predicted(const struct path_conf *c, uint32_t entries, uint64_t first, uint64_t messages)
{
	uint64_t last[512] = { 0 }, hits = 0;

	for (uint64_t m = 0; m < first + messages; m++) {
		uint64_t slot = m % c->slots, page = slot * c->stride >> c->page_shift;
		uint64_t index = 1 + c->mr_count + path_mr_of(c, slot), me = index << 32 | (page + 1);
		uint64_t *e = &last[(index + page) % entries];

		hits += m >= first && *e == me;
		*e = me;
	}
	return hits;
}

static void resolved(struct point *pt, struct path_conf *c, const char *text)
{
	char why[256];

	point_of(pt, "issuer=cpu nic=soft messages=1000 warmup=512");
	point_set(pt, text);
	if (path_resolve(pt, suite_machine(), c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
}

static const struct { const char *text; int hits; /* a message's, -1: by the model alone */ } points[] = {
	{ "mr_count=1 xlat_cache=1", 1 },
	{ "mr_count=8 xlat_cache=8", 1 },
	{ "mr_count=8 xlat_cache=64", 1 },
	{ "mr_count=8 xlat_cache=4", 0 },
	{ "mr_count=256 xlat_cache=1", 0 },
	{ "mr_count=256 xlat_cache=256", 1 },
	{ "mr_count=4 xlat_cache=4 batch=3 depth=4", 1 },
	{ "mr_count=16 mr_order=random xlat_cache=4", -1 },
	{ "mr_count=64 mr_order=random xlat_cache=16", -1 },
	{ "mr_count=16 mr_order=random xlat_cache=16 size=28 page=64k", 1 },
};

static void hits_are_as_predicted(void **state)
{
	int controls = 0;

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t want, first = WARMUP;
		struct path_conf c;
		struct point pt;
		struct rows rs;
		double hits, misses;

		resolved(&pt, &c, points[i].text);
		want = predicted(&c, c.cache, first, MESSAGES);
		controls += c.cache > 1 && predicted(&c, c.cache / 2, first, MESSAGES) != want;
		if (points[i].hits >= 0)
			assert_int_equal(want, MESSAGES * points[i].hits);
		rows_init(&rs);
		assert_int_equal(probe_path.run(&pt, &rs), 0);
		hits = number(&rs, "xlat_hits");
		misses = number(&rs, "xlat_misses");
		if ((uint64_t)hits != want)
			fail_msg("%s: %.0f hits, predicted were %llu", points[i].text, hits, (unsigned long long)want);
		assert_int_equal(hits + misses, MESSAGES);
		assert_int_equal(count(&rs, "latency_hit"), want);
		assert_int_equal(count(&rs, "latency_miss"), MESSAGES - want);
		if (want && want < MESSAGES) { /* both parts make the whole */
			double all = row_of(&rs, "translation", "fetched-translated", "latency")->s.mean;
			double sum = (hits * number(&rs, "latency_hit") + misses * number(&rs, "latency_miss")) / MESSAGES;

			assert_true(fabs(all - sum) < 1e-6 * all + 1e-3);
		}
		rows_free(&rs);
	}
	assert_true(controls >= 3);
}

/* A random order of m keys and n entries: n / m of the messages hit, in the long run. */
static void a_random_order_hits_by_the_ratio(void **state)
{
	struct path_conf c;
	struct point pt;

	(void)state;
	for (uint32_t m = 2; m <= 64; m *= 2)
		for (uint32_t n = 1; n <= m; n *= 2) {
			double share;

			resolved(&pt, &c, "mr_order=random mr_count=2");
			c.mr_count = m;
			share = (double)predicted(&c, n, 256, 4096) / 4096;
			assert_true(fabs(share - (double)n / m) < 0.12); /* of 256 draws: four deviations at most */
		}
}

/* Bare passes have counts alone, with their warm-up. */
static void bare_counts(void **state)
{
	struct path_conf c;
	struct point pt;
	struct rows rs;

	(void)state;
	if (pin_cpus() < 2)
		skip();
	resolved(&pt, &c, "marks=outer mr_count=8 xlat_cache=8 payload=pointer metric=rate depth=8");
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	/* one region for each slot on either side, and each shares its entry with another one: */
	assert_int_equal(number(&rs, "xlat_hits") + number(&rs, "xlat_misses"), 2 * count(&rs, "xlat_hits"));
	assert_true(count(&rs, "xlat_hits") >= MESSAGES);
	rows_free(&rs);
	resolved(&pt, &c, "marks=outer mr_count=8 xlat_cache=16 payload=pointer metric=rate depth=8");
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	assert_int_equal(number(&rs, "xlat_misses"), 16); /* each once */
	rows_free(&rs);
}

/* control */
static void a_spoiled_region_is_met(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (int cached = 0; cached < 2; cached++)
		for (uint32_t k = 0; k < 2; k++) {
			struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = 64, .seed = 1 };
			struct path_conf c;
			struct path_mem m;
			struct point pt;
			int rc;

			resolved(&pt, &c, cached ? "mr_count=4 xlat_cache=8 payload=pointer warmup=0" : "mr_count=4 payload=pointer warmup=0");
			assert_int_equal(pin_self(c.cpu), 0);
			assert_int_equal(path_mem_init(&m, &c), 0);
			((struct mkey *)m.keys.p)[path_key(&c, (int)k, 2) >> 8].id ^= 1;
			rc = path_pass(&m, &c, &p);
			assert_int_equal(rc, -EREMOTEIO);
			assert_int_equal(p.out.done, 2); /* the third message's */
			assert_int_equal(p.out.syndrome, k ? SYND_REMOTE_ACCESS : SYND_LOCAL_PROT);
			pass_term(&p);
			path_mem_term(&m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_are_as_predicted), cmocka_unit_test(a_random_order_hits_by_the_ratio),
		cmocka_unit_test(bare_counts), cmocka_unit_test(a_spoiled_region_is_met),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
