/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: cpu_state leaves the CPUs of helper and NIC alone, or keeps a thread busy on each different one, for as long
 * as it says, before each pass and no other time; a CPU's clock is what the kernel's file says, and where that says
 * nothing the cell is empty with a reason. What can't be is refused.
 *
 * Controls: as-is does nothing; a file that says something else is no number.
 */
#include "tests/points.h"

#include "harness/clock.h"
#include "harness/freq.h"
#include "harness/pin.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/fivestage-state-XXXXXX";

/* The fake kernel says so of a CPU; NULL: it has no such file any more. */
static void says(int cpu, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu%d", root, cpu);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%d/cpufreq", root, cpu);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%d/cpufreq/scaling_cur_freq", root, cpu);
	if (!text) {
		unlink(path);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_root(void **unused) { (void)unused; return mkdtemp(root) ? 0 : -1; }

static int remove_root(void **unused)
{
	char path[256];

	(void)unused;
	for (int cpu = 0; cpu < 16; cpu++) {
		says(cpu, NULL);
		snprintf(path, sizeof(path), "%s/cpu%d/cpufreq", root, cpu);
		rmdir(path);
		snprintf(path, sizeof(path), "%s/cpu%d", root, cpu);
		rmdir(path);
	}
	return rmdir(root);
}

static void a_frequency_is_what_the_file_says(void **unused)
{
	static const char *const none[] = { "", "\n", "<unknown>\n", "0\n", "fast\n", "2500 MHz\n", "999999999999999999999999\n" };
	struct freq f;

	(void)unused;
	says(7, "2500000\n");
	says(8, "4000123");
	freq_read(root, 7, &f);
	assert_true(f.mhz == 2500 && !f.why[0]);
	freq_read(root, 8, &f);
	assert_true(f.mhz == 4000.123 && !f.why[0]);
	freq_read(root, 9, &f);
	assert_true(isnan(f.mhz) && strstr(f.why, "CPU 9") && strstr(f.why, "No such file"));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		says(7, none[i]);
		freq_read(root, 7, &f);
		if (!isnan(f.mhz) || !strstr(f.why, "CPU 7"))
			fail_msg("\"%s\": %.3f MHz, \"%s\"", none[i], f.mhz, f.why);
	}
}

/* A path without the machine's own CPUs: words alone decide. */
static void conf_of(struct path_conf *c, int submitter, int consumer, int helper, int nic)
{
	memset(c, 0, sizeof(*c));
	c->nic = &nic_soft;
	c->route.submitter = (enum submitter)submitter;
	c->route.consumer = (enum consumer)consumer;
	c->helper_cpu = helper;
	c->nic_cpu = nic;
	c->order_class = "-";
	c->sys_cpu = root;
}

static void rows_are_of_the_helper_or_the_nic(void **unused)
{
	struct path_conf c;
	struct pass p;
	struct rows rs;
	const struct row *r;
	int cpus[2];

	(void)unused;
	says(3, "1200000\n");
	says(5, "2500000\n");
	memset(&p, 0, sizeof(p));
	conf_of(&c, SUBMITTER_GPU, CONSUMER_GPU, 5, 3);
	assert_int_equal(path_state_cpus(&c, cpus), 1);
	assert_int_equal(cpus[0], 3);
	conf_of(&c, SUBMITTER_PROXY, CONSUMER_CPU, 3, 3);
	assert_int_equal(path_state_cpus(&c, cpus), 1);
	conf_of(&c, SUBMITTER_PROXY, CONSUMER_CPU, 5, 3);
	assert_int_equal(path_state_cpus(&c, cpus), 2);
	assert_true(cpus[0] == 5 && cpus[1] == 3);
	path_freq(&c, &p.f0);
	says(5, "4000000\n");
	path_freq(&c, &p.f1);
	rows_init(&rs);
	assert_int_equal(path_freq_rows(&p.f0, &p.f1, &c, &rs), 0);
	r = row_of(&rs, "-", "-", "cpu_mhz_before");
	assert_true(r && r->s.mean == 2500 && !strcmp(r->unit, "MHz") && !r->reason[0]);
	r = row_of(&rs, "-", "-", "cpu_mhz_after");
	assert_true(r && r->s.mean == 4000);
	rows_free(&rs);
	says(5, NULL);
	path_freq(&c, &p.f1);
	rows_init(&rs);
	assert_int_equal(path_freq_rows(&p.f0, &p.f1, &c, &rs), 0);
	r = row_of(&rs, "-", "-", "cpu_mhz_after");
	assert_true(r && isnan(r->s.mean) && r->status == FS_OK && !strcmp(r->reason_code, "absent") && strstr(r->reason, "CPU 5"));
	rows_free(&rs);
	c.nic = &nic_null;
	c.route.submitter = SUBMITTER_GPU;
	c.route.consumer = CONSUMER_GPU;
	rows_init(&rs);
	assert_int_equal(path_freq_rows(&p.f0, &p.f1, &c, &rs), 0);
	assert_int_equal(rs.n, 0);
	rows_free(&rs);
}

static void states_take_what_they_say(void **unused)
{
	struct state_made made;
	struct path_conf c;

	(void)unused;
	conf_of(&c, SUBMITTER_PROXY, CONSUMER_CPU, pin_cpu(0), pin_cpu(pin_cpus() > 1));
	c.cpu_state_ms = 30;
	for (int state = CPU_AS_IS; state <= CPU_WARM; state++) {
		c.cpu_state = state;
		assert_int_equal(path_state(&c, &made), 0);
		assert_int_equal(made.busy, state == CPU_WARM ? 1 + (pin_cpus() > 1) : 0);
		if (state == CPU_AS_IS)
			assert_int_equal(made.ns, 0);
		else
			assert_true(made.ns >= 30000000);
	}
	c.helper_cpu = c.nic_cpu;
	assert_int_equal(path_state(&c, &made), 0);
	assert_int_equal(made.busy, 1);
}

/* A whole point: a state before each of its passes, and none before one that settles; three of path, with marks=outer five of rate. */
static void point_has_its_state(const struct probe *probe, const char *text, int passes)
{
	static const char *const states[] = { "cpu_state=as-is", "cpu_state=cold cpu_state_ms=50", "cpu_state=warm cpu_state_ms=50" };

	for (int i = 0; i < 3; i++) {
		uint64_t begin = mono_ns();
		const struct row *r[2];
		struct rows rs;
		struct point pt;

		/* where two CPUs have to do a helper shares one, and other rows are flagged */
		fs_point_init(&pt, probe);
		point_set(&pt, text);
		point_set(&pt, states[i]);
		rows_init(&rs);
		if (probe->run(&pt, &rs))
			fail_msg("%s: %s: %s", probe->name, states[i], fs_reason());
		assert_true(!i || mono_ns() - begin >= (uint64_t)passes * 50000000);
		r[0] = row_of(&rs, "-", "-", "cpu_mhz_before");
		r[1] = row_of(&rs, "-", "-", "cpu_mhz_after");
		for (int k = 0; k < 2; k++)
			assert_true(r[k] && !(r[k]->s.mean <= 0) && isnan(r[k]->s.mean) == !strcmp(r[k]->reason_code, "absent"));
		rows_free(&rs);
	}
}

static void a_point_has_its_state(void **unused)
{
	(void)unused;
	if (pin_cpus() < 2)
		skip();
	point_has_its_state(fs_probe_find("path"), "issuer=cpu nic=soft consumer=cpu messages=64 warmup=0", 3);
	point_has_its_state(fs_probe_find("rate"), "issuer=cpu nic=soft marks=outer messages=1024", 5);
	point_has_its_state(fs_probe_find("rate"), "issuer=cpu submitter=proxy nic=null marks=outer messages=1024", 5);
}

static void what_cannot_be_is_refused(void **unused)
{
	static const struct { const char *text, *says; } refusals[] = {
		{ "nic=soft cpu_state_ms=5", "cpu_state=cold, warm" }, { "nic=null cpu_state=cold", "nic=soft" },
		{ "nic=null cpu_state=warm", "no CPU thread" },
	};
	struct machine none = { .cpus = 2 };
	struct path_conf c;
	struct point pt;
	char why[256];

	(void)unused;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		point_of(&pt, "issuer=cpu");
		point_set(&pt, refusals[i].text);
		assert_int_equal(point_refused(&pt, &none, refusals[i].says), -EINVAL);
	}
	point_of(&pt, "issuer=cpu nic=null submitter=host-doorbell cpu_state=cold cpu_state_ms=5");
	assert_true(pin_cpus() < 2 || !path_resolve(&pt, &none, &c, why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frequency_is_what_the_file_says), cmocka_unit_test(rows_are_of_the_helper_or_the_nic),
		cmocka_unit_test(states_take_what_they_say), cmocka_unit_test(a_point_has_its_state),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
