/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: with registration=staged each payload is copied, whole and nothing beyond it, from memory that isn't registered into the
 * memory that the NIC reads, before its message; by one lane and by the 32 of a GPU's warp, whose loop runs here lane by lane.
 * What can't be is refused, and where a GPU copies from and to is as it was asked for.
 *
 * Controls: a message whose copy is left out is found by its check, that message and no other; the memory that is copied from isn't the
 * registered one; more bytes take longer.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { ROOM = 16384, EDGE = 64 };

static void copies_are_whole(void **state)
{
	static const uint64_t sizes[] = { 1, 7, 8, 15, 16, 17, 300, 511, 512, 513, 4095, 4096, 4097, 8191, ROOM - 3 };
	static uint8_t from[ROOM] __attribute__((aligned(16))), to[EDGE + ROOM + EDGE] __attribute__((aligned(16)));

	(void)state;
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 31 + i / 251);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		for (int lanes = 1; lanes <= 32; lanes += 31) {
			memset(to, 0xee, sizeof(to));
			for (int lane = 0; lane < lanes; lane++)
				job_copy(to + EDGE, from, sizes[k], (struct coop){ lane, lanes });
			assert_memory_equal(to + EDGE, from, sizes[k]);
			for (size_t i = 0; i < sizeof(to); i++)
				if (i < EDGE || i >= EDGE + sizes[k])
					assert_int_equal(to[i], 0xee);
			/* control: a lane less leaves a hole, where it has a part at all */
			if (lanes == 1 || sizes[k] < 32 * 16)
				continue;
			memset(to, 0xee, sizeof(to));
			for (int lane = 0; lane < lanes - 1; lane++)
				job_copy(to + EDGE, from, sizes[k], (struct coop){ lane, lanes });
			assert_true(memcmp(to + EDGE, from, sizes[k]) != 0);
		}
}

/* ---- the probe, with a CPU thread as issuer ---- */

static int run_point(const char *text, struct rows *rs)
{
	struct point pt;

	point_of(&pt, "issuer=cpu nic=soft messages=200 warmup=8 registration=staged");
	point_set(&pt, text);
	for (int i = 0;; i++) {
		int rc;

		rows_init(rs);
		fs_reason_clear();
		rc = probe_path.run(&pt, rs);
		/* three threads that poll, on two CPUs that others use too: one may not have run for as long as a wait lasts */
		if (rc != -ETIMEDOUT || i == 4)
			return rc;
		rows_free(rs);
	}
}

static const char *const points[] = {
	"size=1", "size=8", "size=64", "size=65", "size=300 host_page=4k", "size=5000 page=64k", "size=300 marks=outer", "size=300 marks=rotate",
	"size=4097 ordering=sys-release", "size=300 doorbell=blueflame", "size=300 cq=collapsed", "size=300 submitter=proxy", "size=70000 messages=40",
};

static void each_message_is_copied(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		const struct row *copy, *total;
		struct rows rs;

		if (run_point(points[i], &rs))
			fail_msg("%s: %s", points[i], fs_reason());
		copy = row_of(&rs, "translation", "-", "staging_copy");
		total = row_of(&rs, "total", "-", "total_with_registration");
		assert_non_null(copy);
		assert_non_null(total);
		assert_true(copy->s.mean > 0 && total->s.mean > 0);
		assert_int_equal(copy->s.n, strstr(points[i], "messages=40") ? 40 : 200);
		assert_null(row_of(&rs, "translation", "-", "staging_fence")); /* a CPU has none */
		rows_free(&rs);
	}
}

/* control */
static void a_lost_copy_is_found(void **state)
{
	static const char *const text[] = { "size=8", "size=300", "size=5000", "size=300 submitter=proxy" };

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct rows rs;
		char words[64], point[128];

		snprintf(point, sizeof(point), "warmup=128 fault=lost-copy %s", text[i]);
		assert_int_equal(run_point(point, &rs), -EBADMSG);
		/* of the message in the middle every word is another's */
		snprintf(words, sizeof(words), "%d wrong payload words, first in message %d", i == 0 ? 1 : i == 2 ? 625 : 41, 128 + 100);
		if (i != 1 && i != 3 ? !strstr(fs_reason(), words) : !strstr(fs_reason(), "first in message 228"))
			fail_msg("%s: %s; expected \"%s\"", text[i], fs_reason(), words);
		rows_free(&rs);
	}
}

static void what_is_copied_from_is_not_registered(void **state)
{
	struct issue_staging g;
	struct path_conf c;
	struct path_mem m;
	struct pass p = { .messages = 200 };
	struct point pt;
	char why[256];

	(void)state;
	if (pin_cpus() < 2)
		skip();
	point_of(&pt, "issuer=cpu nic=soft messages=200 registration=staged size=300");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(path_mem_init(&m, &c), 0);
	assert_int_equal(source_staging(&m, &c, &p, &g), 1);
	assert_true(g.source + c.slots * c.stride <= m.src.p || g.source >= m.src.p + m.src.bytes);
	assert_int_equal(g.lost_at, ~0ull);
	path_mem_term(&m);
}

static void more_bytes_take_longer(void **state)
{
	double least[2] = { INFINITY, INFINITY };

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (int i = 0; i < 4; i++) {
		struct rows rs;
		const struct row *r;

		assert_int_equal(run_point(i & 1 ? "size=1M messages=64" : "size=256 messages=64", &rs), 0);
		r = row_of(&rs, "translation", "-", "staging_copy");
		assert_non_null(r);
		least[i & 1] = r->s.min < least[i & 1] ? r->s.min : least[i & 1];
		rows_free(&rs);
	}
	assert_true(least[1] > 2 * least[0]);
}

/* ---- what a point asks for, on a machine that isn't here ---- */

static void places_are_as_asked_for(void **state)
{
	static const struct { const char *text; int from, src; } wanted[] = {
		{ "issuer=gpu nic=peer nic_gpu=gpu", 0, 0 }, { "issuer=gpu nic=peer nic_gpu=gpu staged_from=host host_page=4k", PLACE_HOST, 0 },
		{ "issuer=gpu nic=peer nic_gpu=gpu src_mem=host staged_from=gpu", 0, PLACE_HOST },
		{ "issuer=gpu nic=soft", 0, PLACE_HOST }, { "issuer=gpu nic=soft submitter=proxy staged_from=host", PLACE_HOST, PLACE_HOST },
		{ "issuer=cpu nic=soft", PLACE_HOST, PLACE_HOST },
	};
	static const struct { const char *text, *says; } refused[] = {
		{ "issuer=cpu nic=soft staged_from=gpu", "legal: staged_from=auto, host" },
		{ "issuer=gpu nic=peer nic_gpu=gpu host_page=4k", "legal: host_page=auto, or staged_from=host" },
		{ "issuer=gpu nic=soft doorbell=ring", "legal: doorbell=record-ring and cq=ring" },
		{ "issuer=gpu nic=soft cq=collapsed", "legal: doorbell=record-ring and cq=ring" },
		{ "issuer=gpu nic=soft doorbell=blueflame", "legal: doorbell=record-ring and cq=ring" },
		{ "issuer=gpu nic=null", "nobody reads what is copied; legal: nic=soft, peer" },
		{ "issuer=cpu nic=soft depth=2", "legal with metric=latency and depth=1" },
		{ "issuer=cpu nic=soft fault=key", "without fault but lost-copy" },
		{ "issuer=cpu nic=soft fault=lost-copy check=none", "legal: registration=staged with check=each or auto" },
		{ "issuer=cpu nic=soft registration=persistent fault=lost-copy", "legal: registration=staged with check=each or auto" },
		{ "issuer=cpu nic=soft registration=persistent staged_from=host", "legal: staged_from=auto" },
		{ "issuer=cpu nic=soft submitter=host-doorbell", "legal: submitter=gpu or proxy" },
		{ "issuer=gpu nic=soft submitter=cpu", "legal: submitter=gpu or proxy" },
	};
	struct machine one = { .cpus = 4, .ngpus = 1 };
	struct path_conf c;
	struct point pt;
	char why[256];
	int rc;

	(void)state;
	one.gpu[0].cc_major = 9;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		point_of(&pt, "registration=staged size=300");
		point_set(&pt, wanted[i].text);
		rc = path_resolve(&pt, &one, &c, why, sizeof(why));
		if (rc && pin_cpus() < 2)
			continue;
		assert_int_equal(c.staged_from, wanted[i].from);
		if (rc == -ENODEV && c.nic->absent) /* a build without CUDA */
			continue;
		if (rc)
			fail_msg("%s: %s", wanted[i].text, why);
		assert_int_equal(c.place[OBJ_SRC], wanted[i].src);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		point_of(&pt, "registration=staged size=300");
		point_set(&pt, refused[i].text);
		assert_int_equal(point_refused(&pt, &one, refused[i].says), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_whole), cmocka_unit_test(each_message_is_copied), cmocka_unit_test(a_lost_copy_is_found),
		cmocka_unit_test(what_is_copied_from_is_not_registered), cmocka_unit_test(more_bytes_take_longer),
		cmocka_unit_test(places_are_as_asked_for),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
