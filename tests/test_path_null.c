/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: what stands in the ring of nic=null behind a pass of the probe `path`, in its record
 * and in its doorbell is verified, every byte that its messages used.
 *
 * Controls: a ring that nobody spoils is verified, and so is one that is spoiled where no message wrote.
 */
#include "tests/points.h"

#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>

static struct nic_pass spoiler_pass;
static const void *spoiler_at;
static uint8_t spoiler_bit;

static int spoiler_start(const struct nic_pass *p, struct nic_run **run)
{
	spoiler_pass = *p;
	*run = NULL;
	return 0;
}

/* Somebody who writes to memory that nobody should. */
static int spoiler_stop(struct nic_run *run, struct engine_status *st)
{
	(void)run;
	memset(st, 0, sizeof(*st));
	if (spoiler_at)
		*(uint8_t *)spoiler_at ^= spoiler_bit;
	return 0;
}

static const struct nic spoiler = { .name = "spoiler", .start = spoiler_start, .stop = spoiler_stop };

static int null_pass(struct path_mem *m, struct path_conf *c)
{
	struct pass p = { .instr = ALL, .record = 1, .all = 1u << MARK_INTENT, .messages = 200, .seed = 1 };
	int rc = path_pass(m, c, &p);

	pass_term(&p);
	return rc;
}

static void the_null_ring_is_verified(void **state)
{
	static const char *const points[] = { "size=24", "size=40 op=write", "op=read", "op=nop", "doorbell=ring", "size=60 payload=inline depth=16",
		"doorbell=blueflame size=24", "doorbell=blueflame size=40" };

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct path_mem m;
		struct path_conf c;
		struct point pt;
		char why[256];
		uint32_t used, span;

		point_of(&pt, "issuer=cpu nic=null entries=32 depth=32 messages=200");
		point_set(&pt, points[i]);
		assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
		c.nic = &spoiler;
		assert_int_equal(path_mem_init(&m, &c), 0);
		spoiler_at = NULL;
		assert_int_equal(null_pass(&m, &c), 0);
		used = WQE_SEG * (c.choice.kind == POST_NOP ? 1 : post_is_inline(c.choice.kind) ? wqe_ds_inline(c.size) :
				  wqe_ds_pointer(c.size));
		span = WQEBB * post_blocks(c.choice.kind);
		spoiler_bit = 0x10;
		for (uint32_t b = 0; b < 32 * WQEBB; b += 9) { /* every byte offset, over all slots */
			spoiler_at = spoiler_pass.eng.wq + b;
			assert_int_equal(null_pass(&m, &c), b % span < used ? -EBADMSG : 0);
		}
		spoiler_at = spoiler_pass.eng.dbrec + DBREC_SEND + 3;
		assert_int_equal(null_pass(&m, &c), c.choice.mode == DBM_RING ? 0 : -EBADMSG);
		spoiler_at = spoiler_pass.eng.db + 2;
		assert_int_equal(null_pass(&m, &c), -EBADMSG);
		spoiler_at = spoiler_pass.eng.db + 61; /* BlueFlame's line has eight words */
		assert_int_equal(null_pass(&m, &c), doorbell_is_flame(c.choice.mode) ? -EBADMSG : 0);
		path_mem_term(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_null_ring_is_verified),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
