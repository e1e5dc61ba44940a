/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a pass of the probe `path` does for each message what its point says, and nothing beside:
 * each is decided on in its turn, also when the queue is full; it writes all its fresh bytes and none
 * beside them; and no pass runs whose rows aren't shown.
 *
 * Controls: another message's bytes are not taken for them; the queue was full; with every mark more passes run.
 */
#include "tests/points.h"

#include "stages/path_layout.h"
#include "stages/suite.h"
#include <stdlib.h>

static int messages_done(const char *text)
{
	struct point pt;
	struct rows rs;
	int n = -1;

	point_of(&pt, "issuer=cpu messages=200 warmup=0");
	point_set(&pt, text);
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	for (int i = 0; i < rs.nfound; i++)
		if (!strcmp(rs.found[i].name, "messages_done"))
			n = atoi(rs.found[i].text);
	assert_int_equal(row_of(&rs, "total", "-", "observer") != NULL, strstr(text, "all") != NULL);
	rows_free(&rs);
	return n;
}

/* Bare passes, a quarter of the messages before and after, run where their difference is a row. */
static void nothing_runs_that_is_not_shown(void **state)
{
	(void)state;
	assert_int_equal(messages_done("marks=all") - messages_done("marks=rotate"), 100);
}

/* Every message of a batch is decided on when its turn comes, also in a batch that
 * found no room at first: its intent is not before the one before it was built. */
static void a_batch_that_waited_has_its_own_intents(void **state)
{
	struct path_conf c;
	struct path_mem m;
	struct point pt;
	char why[256];
	struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = 64, .seed = 1 };

	(void)state;
	point_of(&pt, "issuer=cpu nic=null depth=8 batch=4 entries=16 messages=64 warmup=0");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(path_mem_init(&m, &c), 0);
	assert_int_equal(path_pass(&m, &c, &p), 0);
	assert_true(p.out.reloads > 4); /* it did find none */
	for (int i = 1; i < 64; i++)
		assert_true(p.marks[i * ISSUER_SLOTS + IS_INTENT] >= p.marks[(i - 1) * ISSUER_SLOTS + IS_BUILT]);
	pass_term(&p);
	path_mem_term(&m);
}

/* Every message writes its bytes, all of them, and none beside: the last one's stand there. */
static void fresh_bytes_are_written(void **state)
{
	static const uint32_t bytes[] = { 0, 16, 48, 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = 64, .seed = 1 };
		struct coop alone = { 0, 1 };
		struct path_conf c;
		struct path_mem m;
		struct point pt;
		char why[256], text[32];

		point_of(&pt, "issuer=cpu nic=null messages=64 warmup=0");
		snprintf(text, sizeof(text), "fresh=%u", bytes[i]);
		point_set(&pt, text);
		assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
		assert_int_equal(path_mem_init(&m, &c), 0);
		memset(m.fresh.p, 0x5a, m.fresh.bytes);
		assert_int_equal(path_pass(&m, &c, &p), 0);
		assert_int_equal(job_check(m.fresh.p, bytes[i], p.out.done - 1, alone), 0);
		for (uint64_t b = bytes[i]; b < m.fresh.bytes; b++)
			assert_int_equal(m.fresh.p[b], 0x5a);
		if (bytes[i]) /* control */
			assert_int_not_equal(job_check(m.fresh.p, bytes[i], p.out.done, alone), 0);
		pass_term(&p);
		path_mem_term(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_bytes_are_written),
		cmocka_unit_test(nothing_runs_that_is_not_shown),
		cmocka_unit_test(a_batch_that_waited_has_its_own_intents),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
