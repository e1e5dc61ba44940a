/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: lines are taken in turn. Each has a doorbell and tables of its own, a pass uses those of its
 * line, and the messages are shared out among them with none lost.
 *
 * Control: a key that is spoiled in one line's tables ends the passes of that line alone.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>

static void lines_are_taken_in_turn(void **state)
{
	struct path_conf c;
	struct path_mem m;
	struct point pt;
	char why[256];
	uint64_t id, share = 0;

	(void)state;
	point_of(&pt, "issuer=cpu nic=soft lines=3 messages=100 warmup=0");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(pin_self(c.cpu), 0);
	assert_int_equal(path_mem_init(&m, &c), 0);
	id = ((const struct mkey *)(m.keys.p + m.tables))[2].id;
	((struct mkey *)(m.keys.p + m.tables))[2].id ^= 1;
	for (m.line = 0; m.line < 3; m.line++) {
		struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = path_line_share(&c, 100, m.line), .seed = 1 };
		int rc = path_pass(&m, &c, &p);

		assert_int_equal(rc, m.line == 1 ? -EREMOTEIO : 0);
		if (m.line != 1)
			assert_int_equal(ld64(m.db.p + m.line * DB_STRIDE), doorbell_value(p.messages, PATH_QPN));
		share += p.messages;
		pass_term(&p);
	}
	assert_int_equal(share, 100); /* nobody's message is lost between them */
	assert_int_not_equal(id, 0);
	path_mem_term(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_taken_in_turn),
	};

	if (pin_cpus() < 2) {
		puts("skipped: an issuer and a NIC on CPUs need two of them");
		return 77;
	}
	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
