/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a load runs beside any probe for as long as the probe does, at the level that
 * was asked for, and says at what rate; a load that didn't get its CPU flags the rows
 * beside it; a point with a load is another point than one without; what can't be is
 * refused with what would be legal, and what the machine lacks with what that is.
 *
 * Controls: without a load there is no such row; a lower level carries less.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/pin.h"
#include "stages/traffic/traffic.h"
#include "stages/suite.h"
#include <errno.h>

static uint32_t hold_ms;
static int on_cpu = -1;   /* where the victim pins itself; -1: nowhere */

/* A victim that takes its time. */
static int victim_run(const struct point *pt, struct rows *out)
{
	uint64_t until = deadline_in_s(hold_ms / 1e3);
	struct row *r = rows_add(out);

	(void)pt;
	if (on_cpu >= 0)
		assert_int_equal(pin_self(on_cpu), 0);
	while (!deadline_over(until))
		;
	assert_non_null(r);
	strcpy(r->metric, "victim");
	summary_one(&r->s, 1);
	return 0;
}

static const char *const victim_reads[] = { "gpu", NULL };
static const struct probe victim = { .name = "victim", .reads = victim_reads, .run = victim_run };

static const struct row *load_of(const struct rows *rs) { return row_of(rs, "-", "-", "load_rate"); }

static void run_victim(const char *text, struct rows *rs)
{
	struct point pt;
	char why[256];

	fs_point_init(&pt, &victim);
	point_set(&pt, text);
	fs_point_id(&pt);
	if (fs_probe_check(&pt, suite_machine(), why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	rows_init(rs);
	assert_int_equal(fs_probe_run(&pt, rs), 0);
	assert_non_null(row_of(rs, "-", "-", "victim"));
}

/* A load has the last CPU: a victim there shares it, and control, one elsewhere doesn't. */
static void sharing_its_cpu_is_said(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	hold_ms = 20;
	for (int last = 1; last >= 0; last--) {
		struct rows rs;

		on_cpu = pin_cpu(last ? pin_cpus() - 1 : 0);
		run_victim("load=host", &rs);
		assert_int_equal(!strcmp(row_of(&rs, "-", "-", "victim")->reason_code, "crowded"), last);
		rows_free(&rs);
	}
	on_cpu = -1;
}

static void beside_any_probe(void **state)
{
	struct rows rs;

	(void)state;
	hold_ms = 50;
	run_victim("load=none", &rs); /* control */
	assert_null(load_of(&rs));
	assert_int_equal(rs.n, 1);
	rows_free(&rs);
	run_victim("load=host", &rs);
	assert_non_null(load_of(&rs));
	assert_true(load_of(&rs)->s.mean > 0 && load_of(&rs)->s.n > 0);
	assert_string_equal(load_of(&rs)->unit, "GB/s");
	assert_string_equal(load_of(&rs)->link, "host");
	rows_free(&rs);
}

/* By the load's own clock, so that a busy machine changes both arms alike: pieces and
 * the rests after them. The rate of a quarter is at most half of a whole in some of ten
 * attempts, of which all would have to fail. */
static void a_level_is_a_share(void **state)
{
	int less = 0;

	(void)state;
	hold_ms = 120;
	for (int k = 0; k < 10 && !less; k++) {
		double rate[2];

		for (int i = 0; i < 2; i++) {
			struct rows rs;

			run_victim(i ? "load=host load_level=25" : "load=host", &rs);
			rate[i] = load_of(&rs)->s.mean;
			rows_free(&rs);
		}
		less = rate[1] < rate[0] / 2;
	}
	assert_true(less);
}

static void another_point(void **state)
{
	struct point a, b;

	(void)state;
	point_of(&a, "issuer=cpu");
	point_of(&b, "issuer=cpu load=host");
	assert_string_not_equal(a.id, b.id);
	point_of(&b, "issuer=cpu load=none load_level=100"); /* control: what it was before */
	assert_string_equal(a.id, b.id);
}

static const struct { const char *point; int code; const char *says; } refusals[] = {
	{ "issuer=cpu nic=null load_level=50", EINVAL, "nothing to pace; legal" },
	{ "issuer=cpu nic=null load=h2d", ENODEV, "GPU" },
	{ "issuer=cpu nic=null load=hbm", ENODEV, "GPU" },
	{ "issuer=cpu nic=null load=peer", ENODEV, "GPU" },
};

static void what_cannot_be_is_refused(void **state)
{
	struct machine none = { .cpus = 2 };
	char why[256];
	struct point pt;

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		point_of(&pt, refusals[i].point);
		why[0] = 0;
		if (fs_probe_check(&pt, &none, why, sizeof(why)) != -refusals[i].code || !strstr(why, refusals[i].says))
			fail_msg("%s: %s", refusals[i].point, why);
	}
	/* as many CPUs as poll already */
	if (pin_cpus() == 2) {
		point_of(&pt, "issuer=cpu nic=soft load=host");
		assert_int_equal(fs_probe_check(&pt, &none, why, sizeof(why)), -ENODEV);
		assert_non_null(strstr(why, "needs a CPU beside the 2"));
	}
}

/* Of three GPUs that a load beside each would tell apart: 0 reaches 1, 1 reaches 0, nobody else anybody. */
static const struct { const char *point; int code; const char *says; } of_gpus[] = {
	{ "issuer=gpu nic=peer load=peer", 0, "" }, { "issuer=cpu nic=peer load=peer", 0, "" },
	{ "issuer=cpu nic=peer nic_gpu=gpu gpu=2 load=peer", ENODEV, "GPU 2 reaches" },
	{ "issuer=cpu nic=peer nic_gpu=2 load=peer", ENODEV, "GPU 2 reaches" },
	{ "issuer=cpu nic=peer nic_gpu=3 load=h2d", ENODEV, "GPU 3" },
	{ "issuer=gpu nic=peer nic_gpu=2 load=peer", 0, "" }, /* control: the issuer's, which reaches one */
	{ "issuer=cpu nic=soft nic_gpu=2 load=peer", 0, "" }, { "issuer=gpu nic=soft gpu=2 load=peer", ENODEV, "GPU 2 reaches" },
};

static void a_load_is_of_the_gpu_that_takes_part(void **state)
{
	struct machine three = { .cpus = 2, .ngpus = 3 };

	(void)state;
	if (pin_cpus() < 3)
		print_message("with CPUs for a load beside issuer and NIC, all of these would be tried\n");
	three.gpu[0].peers = 2;
	three.gpu[1].peers = 1;
	for (size_t i = 0; i < sizeof(of_gpus) / sizeof(of_gpus[0]); i++) {
		char why[256] = "";
		struct point pt;

		if (pin_cpus() < 3 && strstr(of_gpus[i].point, "issuer=cpu nic=soft"))
			continue;
		point_of(&pt, of_gpus[i].point);
		if (traffic_beside.check(&pt, &three, why, sizeof(why)) != -of_gpus[i].code || !strstr(why, of_gpus[i].says))
			fail_msg("%s: %s", of_gpus[i].point, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sharing_its_cpu_is_said), cmocka_unit_test(beside_any_probe),
		cmocka_unit_test(a_level_is_a_share),
		cmocka_unit_test(another_point),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_load_is_of_the_gpu_that_takes_part),
	};

	if (pin_cpus() < 2) {
		print_message("skipped: one CPU\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
