/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: points of the crossing that can't be are refused with what would be legal,
 * what is missing here is told from what is impossible anywhere, and the shipped
 * configs are legal on machines with no GPU, with one and with two: on a whole machine
 * nothing of them is skipped.
 *
 * Control: each refused point is legal once the setting that was complained of is changed.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "harness/plan.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static struct machine machine_of(int gpus)
{
	struct machine m = { .ngpus = gpus, .cpus = pin_cpus(), .gpu_reason = "none found" };

	for (int i = 0; i < gpus; i++) {
		m.gpu[i].sms = 132;
		m.gpu[i].bytes = 140ull << 30;
		m.gpu[i].peers = m.gpu[i].native_atomics = ((1u << gpus) - 1) & ~(1u << i);
	}
	return m;
}

static const struct refusal { const char *probe, *point; int gpus, code; const char *says, *legal, *cure; } refusals[] = {
	{ "load", "issuer=cpu mem=gpu", 2, EINVAL, "can't reach GPU memory", "auto, host", "mem=host" },
	{ "load", "issuer=cpu mem=peer", 2, EINVAL, "can't reach GPU memory", "auto, host", "mem=auto" },
	{ "load", "mem=peer", 1, ENODEV, "second GPU", "host, gpu", "mem=gpu" },
	{ "load", "mem=peer nic_gpu=gpu", 2, EINVAL, "nic_gpu=gpu", "host, gpu", "nic_gpu=1" },
	{ "load", "mem=peer nic_gpu=7", 2, ENODEV, "nic_gpu=7", "0..1", "nic_gpu=1" },
	{ "load", "", 0, ENODEV, "needs a GPU", "issuer=cpu", "issuer=cpu" },
	{ "load", "gpu=3", 2, ENODEV, "gpu=3", "0..1", "gpu=1" },
	{ "load", "numa=0", 2, EINVAL, "none of this memory", "numa=auto", "mem=host" },
	{ "load", "mem=host numa=1023", 2, ENODEV, "numa=1023", "node", "numa=auto" },
	{ "load", "set=4K stride=4K", 1, EINVAL, "two lines", "8..2048", "stride=128" },
	{ "load", "set=64G", 1, EINVAL, "lines", "larger stride", "stride=4K" },
	{ "load", "set=512G stride=1M", 1, ENODEV, "524288 MiB", "gpu 0", "set=64G" },
	{ "load", "messages=100", 1, EINVAL, "messages=100", "256..", "messages=256" },
	{ "load", "messages=100000000", 1, EINVAL, "minutes", "at most", "messages=1000000" },
	{ "load", "fault=opcode", 1, EINVAL, "fault=opcode", "wrong-place", "fault=wrong-place" },
	{ "load", "issuer=cpu cpu=4095", 0, ENODEV, "cpu=4095", "may not run", "cpu=auto" },
	{ "store", "nic=soft mem=gpu", 1, EINVAL, "mem=gpu", "auto, host", "mem=host" },
	{ "store", "nic=soft store_fence=sc-sys", 1, EINVAL, "store_fence=sc-sys", "nic=null", "nic=null" },
	{ "store", "issuer=cpu nic=null messages=20000000", 0, EINVAL, "messages=", "1..10000000", "messages=1000" },
	{ "store", "issuer=cpu", 0, EINVAL, "take turns", "two different", "nic=null" }, /* with cpu= and nic_cpu= below */
	{ "atomic", "issuer=cpu threads=32 blocks=32", 0, ENODEV, "1024 threads", "CPUs", "threads=1 blocks=1" },
	{ "atomic", "blocks=1024 threads=1024", 1, ENODEV, "blocks=1024", "1..264", "blocks=264" },
	{ "atomic", "messages=10", 1, EINVAL, "messages=10", "64..", "messages=64" },
	{ "atomic", "blocks=100 threads=1024 messages=1000000", 1, EINVAL, "minutes", "messages=auto", "messages=auto" },
	{ "bandwidth", "", 1, EINVAL, "size=8", "multiple of 16", "size=16" },
	{ "bandwidth", "size=1M mover=ce dir=read", 1, EINVAL, "dir=read", "dir=copy", "dir=copy" },
	{ "bandwidth", "size=1M dir=write src_mem=host", 1, EINVAL, "src_mem", "src_mem=auto", "src_mem=auto" },
	{ "bandwidth", "size=1M dir=read dst_mem=host", 1, EINVAL, "dst_mem", "dst_mem=auto", "dir=copy" },
	{ "bandwidth", "size=1M ways=both", 1, EINVAL, "one memory", "ways=one", "src_mem=host" },
	{ "bandwidth", "size=1M ways=both mover=cpu", 0, EINVAL, "mover=cpu", "sm or ce", "ways=one" },
	{ "bandwidth", "size=1M ways=to-all", 1, ENODEV, "no peer", "one, both", "ways=one" },
	{ "bandwidth", "size=1M ways=from-all src_mem=host", 3, EINVAL, "all its peers", "src_mem=auto", "src_mem=auto" },
	{ "bandwidth", "size=1M ways=to-all nic_gpu=2", 3, EINVAL, "all its peers", "nic_gpu=auto", "nic_gpu=auto" },
	{ "bandwidth", "size=1M ways=from-all dir=read", 4, EINVAL, "ways=from-all with dir=read", "dir=copy", "dir=copy" },
	{ "bandwidth", "size=1M ways=to-all mover=cpu", 4, EINVAL, "mover=cpu", "sm or ce", "mover=ce" },
	{ "bandwidth", "size=16G messages=2 warmup=0 ways=from-all", 8, EINVAL, "minutes", "at most", "size=1G" },
	{ "bandwidth", "size=1M mover=cpu dst_mem=gpu", 1, EINVAL, "can't reach GPU memory", "auto, host", "dst_mem=host" },
	{ "bandwidth", "size=1M mover=cpu threads=1024", 0, ENODEV, "1024 threads", "CPUs", "threads=auto" },
	{ "bandwidth", "size=1M mover=ce threads=2", 1, EINVAL, "threads", "sm or cpu", "threads=auto" },
	{ "bandwidth", "size=1M mover=ce blocks=2", 1, EINVAL, "blocks", "sm or cpu", "blocks=auto" },
	{ "bandwidth", "size=1M", 0, ENODEV, "needs a GPU", "mover=cpu", "mover=cpu" },
	{ "bandwidth", "size=1M messages=100000", 1, EINVAL, "minutes", "at most", "messages=100" },
	{ "bandwidth", "size=64G messages=2 warmup=0 ways=both dst_mem=peer", 2, EINVAL, "minutes", "at most", "size=1G" },
};

static void impossible_points_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *f = &refusals[i];
		const struct machine m = machine_of(f->gpus);
		struct point pt;
		char why[256] = "";
		int rc;

		fs_point_init(&pt, fs_probe_find(f->probe));
		point_set(&pt, f->point);
		if (strstr(f->says, "take turns")) {
			char cpus[64];

			snprintf(cpus, sizeof(cpus), "cpu=%d nic_cpu=%d", pin_cpu(0), pin_cpu(0));
			point_set(&pt, cpus);
			if (pin_cpus() < 2)
				continue;
		}
		rc = pt.probe->check(&pt, &m, why, sizeof(why));
		if (rc != -f->code || !strstr(why, f->says) || !strstr(why, f->legal))
			fail_msg("%s \"%s\": %d \"%s\", should be %d and say \"%s\", \"%s\"", f->probe, f->point, rc, why,
				 -f->code, f->says, f->legal);
		assert_true(strlen(why) < sizeof(why) - 1); /* not cut */
		point_set(&pt, f->cure);
		if (pt.probe->check(&pt, &m, why, sizeof(why)))
			fail_msg("%s \"%s\", then %s: still refused: %s", f->probe, f->point, f->cure, why);
	}
}

/* Peers that can't reach each other, or not atomically. */
static void peers_have_to_reach_each_other(void **state)
{
	struct machine m = machine_of(2);
	struct point pt;
	char why[256];

	(void)state;
	fs_point_init(&pt, fs_probe_find("atomic"));
	point_set(&pt, "mem=peer");
	assert_int_equal(pt.probe->check(&pt, &m, why, sizeof(why)), 0);
	m.gpu[0].native_atomics = 0;
	assert_int_equal(pt.probe->check(&pt, &m, why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "native atomics"));
	fs_point_init(&pt, fs_probe_find("load"));
	point_set(&pt, "mem=peer nic_gpu=1");
	assert_int_equal(pt.probe->check(&pt, &m, why, sizeof(why)), 0);
	m.gpu[0].peers = 0;
	assert_int_equal(pt.probe->check(&pt, &m, why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "no peer access"));
}

/* What may be left out of the configs on a machine with two GPUs: nodes and CPUs that this one lacks. */
static int excused(const char *why)
{
	return strstr(why, "built without CUDA") || strstr(why, "numa=") || strstr(why, "CPU") || strstr(why, "MiB free");
}

static void configs_are_legal_everywhere(void **state)
{
	static const char *const configs[] = { "crossing.ini", "crossing-quick.ini" };

	(void)state;
	for (int c = 0; c < 2; c++)
		for (int gpus = 0; gpus <= 2; gpus++) {
			const struct machine m = machine_of(gpus);
			struct plan plan;
			char path[512];
			int skipped = 0;

			snprintf(path, sizeof(path), "%s/configs/%s", FS_SOURCE_DIR, configs[c]);
			plan_init(&plan);
			assert_int_equal(plan_read(&plan, path), 0);
			if (plan_expand(&plan, &m))
				fail_msg("%s with %d GPUs: %s", configs[c], gpus, fs_reason());
			for (int i = 0; i < plan.npoints; i++) {
				skipped += plan.point[i].skipped;
				assert_true(!plan.point[i].skipped || plan.point[i].why[0]);
				if (gpus == 2 && plan.point[i].skipped && !excused(plan.point[i].why))
					fail_msg("%s: skipped on a whole machine: %s", configs[c], plan.point[i].why);
			}
			if (gpus < 2 && !skipped) /* control: something is missing there */
				fail_msg("%s with %d GPUs: none of %d points is skipped", configs[c], gpus, plan.npoints);
			plan_free(&plan);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_points_are_refused), cmocka_unit_test(peers_have_to_reach_each_other),
		cmocka_unit_test(configs_are_legal_everywhere),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
