/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: memory that is registered on demand is registered once before each message that is read
 * from it, and taken back behind it, alternately and for the last one too; what is staged is
 * copied once a message. What that takes is in rows of its own and in a total, and adds up. A proxy registers what it
 * is handed inside the message, between the marks that are said.
 *
 * Controls: without the registration the message ends in its error, by way of the NIC's cache
 * too, though the one before it went well; a mechanism that fails ends the pass with its
 * reason; a generation that isn't told lets the cache use what was taken back.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>

/* A mechanism that counts, and fails when it is told to. */
static struct { int made, undone, holds, wrong, fail_at; const uint8_t *at; } seen;

static int count_make(struct reg *r)
{
	if (++seen.made == seen.fail_at)
		return fs_fail(ENOMEM, "planted: no more memory can be registered");
	seen.wrong += seen.holds != 0;
	seen.holds = 1;
	seen.at = r->p;
	return 0;
}

static int count_undo(struct reg *r)
{
	seen.wrong += !seen.holds || seen.at != r->p;
	seen.holds = 0;
	seen.undone++;
	return 0;
}

static int count_verify(struct reg *r)
{
	(void)r;
	return 0;
}

static const struct mech_ops counting = { reg_host_open, count_make, count_undo, count_verify, reg_host_close };

struct bed { struct path_conf c; struct path_mem m; };

static void bed_open(struct bed *b, const char *text)
{
	struct point pt;
	char why[256];

	memset(&seen, 0, sizeof(seen));
	point_of(&pt, "issuer=cpu nic=soft messages=200 warmup=0 mechanism=mlock");
	point_set(&pt, text);
	if (path_resolve(&pt, suite_machine(), &b->c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	if (b->c.mech)
		b->c.mech = &counting;
	assert_int_equal(pin_self(b->c.cpu), 0);
	assert_int_equal(path_mem_init(&b->m, &b->c), 0);
}

static int bed_pass(struct bed *b, struct pass *p)
{
	*p = (struct pass){ .instr = ALL, .record = 1, .all = ~0u, .messages = 200, .seed = 1 };
	return path_pass(&b->m, &b->c, p);
}

static const char *const points[] = {
	"registration=on-demand size=8", "registration=on-demand size=5000 page=64k", "registration=on-demand size=300 xlat_cache=256",
	"registration=on-demand size=8 submitter=proxy", "registration=on-demand size=5000 page=64k xlat_cache=256 submitter=proxy",
};

static void once_before_and_behind(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct bed b;
		struct pass p;

		bed_open(&b, points[i]);
		for (int k = 1; k <= 2; k++) {
			assert_int_equal(bed_pass(&b, &p), 0);
			assert_int_equal(seen.made, 200 * k);
			assert_int_equal(seen.undone, 200 * k);
			assert_int_equal(seen.wrong, 0);
			assert_int_equal(seen.holds, 0);
			assert_int_equal(p.out.wrong_words, 0);
			for (int m = 0; m < 200; m++)
				assert_true(p.before[m] >= 0 && p.after[m] >= 0); /* each has its own */
			assert_int_equal(p.nic.hits, 0); /* what is taken back leaves nothing in a cache */
			pass_term(&p);
		}
		path_mem_term(&b.m);
	}
}

/* control */
static void what_is_not_registered_is_refused(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct source *was;
		struct bed b;
		struct pass p;

		bed_open(&b, points[i]);
		for (int before = 0; before < 2; before++) { /* never yet; and after it has been once */
			was = b.m.source;
			b.m.source = NULL; /* nobody registers */
			assert_int_equal(bed_pass(&b, &p), -EREMOTEIO);
			assert_int_equal(p.out.done, 0);
			assert_int_equal(p.out.syndrome, SYND_LOCAL_PROT);
			pass_term(&p);
			b.m.source = was;
			assert_int_equal(bed_pass(&b, &p), 0);
			pass_term(&p);
		}
		path_mem_term(&b.m);
	}
}

static void a_mechanism_that_fails(void **state)
{
	struct bed b;
	struct pass p;

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (int proxy = 0; proxy < 2; proxy++) {
		bed_open(&b, points[proxy ? 3 : 0]);
		seen.fail_at = 101;
		fs_reason_clear();
		assert_int_equal(bed_pass(&b, &p), proxy ? -ETIMEDOUT : -ENOMEM); /* the issuer waits for a proxy until its wait runs out */
		assert_non_null(strstr(fs_reason(), "planted"));
		if (proxy)
			assert_non_null(strstr(fs_reason(), "could not register the memory of message 100"));
		assert_int_equal(seen.undone, 100);
		pass_term(&p);
		assert_int_equal(bed_pass(&b, &p), 0); /* control: it goes on when it may */
		pass_term(&p);
		path_mem_term(&b.m);
	}
}

/* The NIC and the issuer on two threads: keys are taken back and given again beside a cache
 * that remembers them. The control's generation stands still, and what it hits was taken back. */
static void a_generation_is_told_across_threads(void **state)
{
	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (int told = 1; told >= 0; told--) {
		static uint64_t still; /* a generation that nobody raises */
		struct nic_run *run = NULL;
		struct engine_status st;
		struct nic_pass np = { .usual = USUAL_CACHED, .instr = ALL, .gpu = -1, .start_s = 20, .stop_s = 20 };
		struct issue_choice choice;
		struct issue_args a;
		struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = 128, .seed = 1 };
		struct bed b;
		struct issue_hook hook = { source_ready, NULL };

		bed_open(&b, "registration=on-demand size=300 xlat_cache=256 messages=128");
		hook.arg = b.m.source;
		np.cpu = b.c.nic_cpu;
		assert_int_equal(path_mem_reset(&b.m, &b.c), 0);
		assert_int_equal(source_begin(&b.m, &b.c), 0);
		path_engine(&b.m, &b.c, &p, &np.eng);
		if (!told)
			np.eng.generation = (const uint8_t *)&still;
		np.sink = (struct sink_conf){ .all = ~0u, .plant = { -1, -1 }, .block = b.m.block };
		path_issue(&b.m, &b.c, &p, &np.sink, &a);
		choice = b.c.choice;
		choice.instr = ALL;
		choice.cq = CQ_RING;
		assert_int_equal(b.c.nic->start(&np, &run), 0);
		assert_int_equal(issuer_cpu_run(&a, choice, b.m.stage, &hook, NULL), 0);
		assert_int_equal(source_end(&b.m), 0);
		assert_int_equal(b.c.nic->stop(run, &st), 0);
		assert_int_equal(((struct issue_out *)b.m.out.p)->status, ISSUE_OK);
		assert_int_equal(st.lookups, 256);
		if (told)
			assert_int_equal(st.hits, 0);
		else
			assert_true(st.hits > 0);
		path_mem_term(&b.m);
	}
}

/* ---- rows ---- */

static double mean_of(const struct rows *rs, const char *metric)
{
	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(rs->row[i].metric, metric) && !strcmp(rs->row[i].interval, "-"))
			return strcmp(metric, "latency") || !strcmp(rs->row[i].stage, "total") ? rs->row[i].s.mean : NAN;
	return NAN;
}

/* The mean of an interval. */
static double interval_of(const struct rows *rs, const char *interval)
{
	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(rs->row[i].interval, interval) && !strcmp(rs->row[i].metric, "latency"))
			return rs->row[i].s.mean;
	return NAN;
}

static double total_of(const struct rows *rs) { return row_of(rs, "total", "-", "latency")->s.mean; }

static void rows_add_up(void **state)
{
	static const char *const text[] = {
		"registration=on-demand size=300", "registration=staged size=300", "registration=on-demand size=300 marks=outer",
		"registration=staged size=8 host_page=4k", "registration=persistent size=300",
		"registration=on-demand size=300 submitter=proxy", "registration=staged size=300 submitter=proxy",
		"registration=on-demand size=300 submitter=proxy marks=outer",
	};

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		int inside = strstr(text[i], "on-demand") && strstr(text[i], "proxy");
		int staged = strstr(text[i], "staged") != NULL, none = strstr(text[i], "persistent") != NULL;
		struct point pt;
		struct rows rs;
		double cost;

		point_of(&pt, "issuer=cpu messages=200 warmup=8 mechanism=mlock");
		point_set(&pt, text[i]);
		rows_init(&rs);
		fs_reason_clear();
		for (int k = 0; probe_path.run(&pt, &rs); k++) { /* on CPUs that others use too a proxy may not run for as long as a wait lasts */
			if (k == 4 || !strstr(text[i], "proxy") || !strstr(fs_reason(), "no completion"))
				fail_msg("%s: %s", text[i], fs_reason());
			rows_free(&rs);
			rows_init(&rs);
			fs_reason_clear();
		}
		cost = staged ? mean_of(&rs, "staging_copy") : mean_of(&rs, "register") + mean_of(&rs, "deregister");
		assert_int_equal(isnan(cost), none);
		assert_int_equal(isnan(mean_of(&rs, "total_with_registration")), none);
		if (!none) {
			assert_true(cost > 0);
			assert_true(fabs(mean_of(&rs, "registration_cost") - cost) < 1e-6 * cost + 1e-3);
			if (inside && !strstr(text[i], "outer")) { /* by two clocks of CPUs that keep in step */
				assert_true(interval_of(&rs, "taken-resolved") > 0.99 * mean_of(&rs, "register"));
				assert_true(interval_of(&rs, "caught-relayed") > 0.99 * mean_of(&rs, "deregister"));
			}
			cost = inside ? total_of(&rs) : cost + total_of(&rs);
			assert_true(fabs(mean_of(&rs, "total_with_registration") - cost) < 1e-6 * cost + 1e-3);
			assert_true(isnan(staged ? mean_of(&rs, "register") : mean_of(&rs, "staging_copy")));
		}
		rows_free(&rs);
	}
}

/* More pages take longer: a mechanism that does nothing would not. */
static void locking_takes_longer_for_more(void **state)
{
	double least[2] = { INFINITY, INFINITY };

	(void)state;
	if (pin_cpus() < 2)
		skip();
	for (int i = 0; i < 6; i++) {
		struct point pt;
		struct rows rs;

		point_of(&pt, "issuer=cpu messages=64 registration=on-demand mechanism=mlock");
		point_set(&pt, i & 1 ? "size=1M" : "size=4K");
		rows_init(&rs);
		assert_int_equal(probe_path.run(&pt, &rs), 0);
		for (size_t k = 0; k < rs.n; k++)
			if (!strcmp(rs.row[k].metric, "register") && rs.row[k].s.min < least[i & 1])
				least[i & 1] = rs.row[k].s.min;
		rows_free(&rs);
	}
	assert_true(least[1] > 2 * least[0]);
}

static void who_can_register(void **state)
{
	static const struct { const char *text, *says; } refused[] = {
		{ "issuer=gpu nic=soft", "legal: submitter=proxy, or issuer=cpu" },
		{ "issuer=gpu nic=peer nic_gpu=gpu submitter=proxy", "legal: nic=soft" },
		{ "issuer=cpu nic=null", "legal: nic=soft" }, { "issuer=cpu nic=soft submitter=host-doorbell", "legal: submitter=gpu or proxy" },
		{ "issuer=cpu nic=soft submitter=proxy consumer=gpu", "consumer=auto" },
		{ "issuer=gpu nic=soft submitter=proxy mechanism=host-register", "legal: mechanism=mlock" },
		{ "issuer=gpu nic=soft submitter=proxy mechanism=dma-buf", "legal: mechanism=mlock, host-register" },
		{ "issuer=gpu nic=soft submitter=proxy src_mem=gpu", "a CPU can't reach GPU memory" },
	};
	struct machine one = { .cpus = 4, .ngpus = 1 };
	struct path_conf c;
	struct point pt;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		point_of(&pt, "registration=on-demand mechanism=mlock size=300");
		point_set(&pt, refused[i].text);
		assert_int_equal(point_refused(&pt, &one, refused[i].says), -EINVAL);
	}
	/* control */
	point_of(&pt, "registration=on-demand mechanism=mlock size=300 issuer=gpu nic=soft submitter=proxy");
	if (path_resolve(&pt, &one, &c, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(c.place[OBJ_SRC], PLACE_HOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_before_and_behind), cmocka_unit_test(what_is_not_registered_is_refused),
		cmocka_unit_test(a_mechanism_that_fails), cmocka_unit_test(a_generation_is_told_across_threads),
		cmocka_unit_test(rows_add_up), cmocka_unit_test(locking_takes_longer_for_more),
		cmocka_unit_test(who_can_register),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
