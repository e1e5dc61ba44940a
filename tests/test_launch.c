/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: between two agents that read one clock the offset found is nought within its
 * uncertainty, before and after; a clock that is ahead is found to be, by as much; a
 * wait of what is started, before its first instruction or before its doorbell, comes
 * back where it stands, in size, and not in front of it; what can't be started is
 * refused. Controls: the clock that is ahead, and points without the wait.
 *
 * The machine may be busy: of many starts the shortest one counts, which no load
 * makes shorter than the wait.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "harness/service.h"
#include "stages/issue/launch.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { PLANT_NS = 500000, TRIPS = 2000, AHEAD_NS = 1000000 };
extern const struct probe probe_launch;

static void launch_point(struct point *pt, const char *text)
{
	fs_point_init(pt, &probe_launch);
	point_set(pt, "issuer=cpu messages=300 warmup=10");
	point_set(pt, text);
	fs_point_id(pt);
}

static int two_cpus(void)
{
	struct point pt;
	char why[256];

	launch_point(&pt, "");
	return probe_launch.check(&pt, suite_machine(), why, sizeof(why)) != -ENODEV;
}

static void launch_of(const char *text, struct rows *rs)
{
	struct point pt;

	launch_point(&pt, text);
	rows_init(rs);
	if (probe_launch.run(&pt, rs))
		fail_msg("%s: %s", text, fs_reason());
}

static const struct summary *figure(const struct rows *rs, const char *metric)
{
	const struct row *r = row_of(rs, !strcmp(metric, "clock_error") ? "-" : "issue", "-", metric);

	if (!r)
		fail_msg("no row %s", metric);
	return &r->s;
}

static double fact(const struct rows *rs, const char *name)
{
	for (int i = 0; i < rs->nfound; i++)
		if (!strcmp(rs->found[i].name, name))
			return atof(rs->found[i].text);
	fail_msg("no fact %s", name);
	return NAN;
}

static int close_to(double x, double y, double tolerance)
{
	return fabs(x - y) <= tolerance;
}

/* ---- clocks ---- */

struct side { struct echo e; uint64_t word[24]; }; /* words in lines of their own */

static void serve(struct service *me, void *arg)
{
	const struct side *s = arg;
	uint64_t asked = 0;

	while (!service_stopping(me))
		if (!echo_answer(&s->e, &asked))
			relax_cpu();
}

/* An agent's clock that is ahead, compared with this one's. */
static void offset_of(double ahead_ns, struct offset *o)
{
	const struct cpu_clock *c = suite_cpu_clock();
	int gettime = c->kind == CPU_CLOCK_GETTIME;
	struct timeline cpu = { ticks(gettime), 1 / c->ticks_per_ns }, agent = cpu;
	struct side *s = aligned_alloc(64, (sizeof(*s) + 63) / 64 * 64);
	struct service *thread;

	assert_non_null(s);
	assert_int_equal(pin_self(pin_cpu(0)), 0);
	memset(s, 0, sizeof(*s));
	s->e = (struct echo){ &s->word[0], &s->word[8], &s->word[16], (uint64_t)(ahead_ns * c->ticks_per_ns), gettime };
	assert_int_equal(service_start(&thread, "test", pin_cpu(1), serve, s, 60), 0);
	assert_int_equal(offset_measure(&s->e, &cpu, &agent, TRIPS, o), 0);
	assert_int_equal(service_stop(thread, 60), 0);
	free(s);
}

static void one_clock_has_no_offset(void **state)
{
	struct offset o;

	(void)state;
	if (!two_cpus())
		skip();
	offset_of(0, &o);
	assert_true(o.error_ns > 0 && o.trip_ns > 0);
	assert_true(fabs(o.ns) <= o.error_ns);
	/* control: one that is ahead isn't taken for the same one */
	offset_of(AHEAD_NS, &o);
	assert_true(o.error_ns < AHEAD_NS / 2);
	assert_true(fabs(o.ns) > o.error_ns);
	assert_true(close_to(o.ns, AHEAD_NS, o.error_ns));
}

static void nobody_answers(void **state)
{
	struct side *s = calloc(1, sizeof(*s));
	struct timeline cpu = { 0, 1 }, agent = cpu;
	struct offset o;

	(void)state;
	s->e = (struct echo){ &s->word[0], &s->word[8], &s->word[16], 0, 1 };
	assert_int_equal(offset_measure(&s->e, &cpu, &agent, TRIPS, &o), -ETIMEDOUT);
	assert_non_null(strstr(fs_reason(), "question 1"));
	free(s);
}

/* By made-up measurements: 100 ns gained over a millisecond. */
static void offsets_between_two(void **state)
{
	const struct offset a = { 1e6, 500, 40, 80 }, b = { 2e6, 600, 70, 140 };

	(void)state;
	assert_true(close_to(offset_at(&a, &b, 1.25e6), 525, 1e-9));
	assert_true(close_to(offset_error(&a, &b), 70, 1e-9));
	assert_true(close_to(offset_drift_ppm(&a, &b), 100, 1e-6));
	assert_true(close_to(offset_at(&a, &a, 3e6), 500, 1e-9)); /* one alone holds for ever */
	assert_true(isnan(offset_drift_ppm(&a, &a)));
}

/* ---- starts ---- */

/* What is known of the offset stands in the row's interval. */
static void rows_hold_together(const struct rows *rs, uint64_t n)
{
	const struct summary *first = figure(rs, "to_first"), *rung = figure(rs, "to_rung"), *call = figure(rs, "call");
	double error = figure(rs, "clock_error")->mean;

	assert_true(first->n == n && rung->n == n && call->n == n);
	assert_true(error > 0 && first->ci_hi - first->ci_lo >= 2 * error);
	assert_true(first->ci_lo <= first->mean && first->mean <= first->ci_hi);
	assert_true(call->min > 0 && rung->min > 0);
	/* the stamp lies between the decision and the doorbell seen */
	assert_true(first->mean >= -error && first->mean <= rung->mean + error);
	assert_true(fabs(fact(rs, "offset_before_ns")) <= fact(rs, "offset_before_error_ns") + 1);
	assert_true(fabs(fact(rs, "offset_after_ns")) <= fact(rs, "offset_after_error_ns") + 1);
	assert_null(row_of(rs, "issue", "-", "to_end")); /* nothing ends here */
}

static void waits_come_back(void **state)
{
	static const struct { const char *start; } of[] = { { "start=flag" }, { "start=futex" } };

	(void)state;
	if (!two_cpus())
		skip();
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct rows plain, first, bell;
		char text[96];

		launch_of(of[i].start, &plain);
		snprintf(text, sizeof(text), "%s plant=intent:%d", of[i].start, PLANT_NS);
		launch_of(text, &first);
		snprintf(text, sizeof(text), "%s plant=rung:%d", of[i].start, PLANT_NS);
		launch_of(text, &bell);
		rows_hold_together(&plain, 300);
		rows_hold_together(&first, 300);
		rows_hold_together(&bell, 300);
		/* nowhere without it */
		assert_true(figure(&plain, "to_first")->min < PLANT_NS / 2.0);
		assert_true(figure(&plain, "to_rung")->min < PLANT_NS / 2.0);
		/* before the first instruction: in both */
		assert_true(figure(&first, "to_first")->min >= PLANT_NS - figure(&first, "clock_error")->mean);
		assert_true(figure(&first, "to_first")->min < 1.5 * PLANT_NS);
		assert_true(figure(&first, "to_rung")->min >= PLANT_NS);
		/* before the doorbell: behind the first instruction alone */
		assert_true(figure(&bell, "to_first")->min < PLANT_NS / 2.0);
		assert_true(figure(&bell, "to_rung")->min >= PLANT_NS);
		assert_true(figure(&bell, "to_rung")->min < 1.5 * PLANT_NS);
		rows_free(&plain);
		rows_free(&first);
		rows_free(&bell);
	}
}

static void sleepers_are_counted(void **state)
{
	const struct row *r;
	struct rows rs;
	double asleep;

	(void)state;
	if (!two_cpus())
		skip();
	launch_of("start=futex", &rs);
	asleep = fact(&rs, "asleep");
	r = row_of(&rs, "issue", "-", "to_rung");
	assert_true(asleep >= 0 && asleep <= 300);
	assert_int_equal(!strcmp(r->reason_code, "awake"), asleep < 270);
	rows_free(&rs);
}

/* ---- what can't be ---- */

static void impossible_starts_are_refused(void **state)
{
	static const struct { const char *point; int code; const char *legal, *cure; } refused[] = {
		{ "start=stream", EINVAL, "start=flag, futex", "start=flag" },
		{ "start=graph", EINVAL, "start=flag, futex", "start=futex" },
		{ "issuer=gpu start=futex", EINVAL, "start=stream, graph, flag", "issuer=cpu" },
		{ "flag_mem=gpu", EINVAL, "auto, host", "flag_mem=host" },
		{ "flag_mem=peer", EINVAL, "auto, host", "flag_mem=auto" },
		{ "issuer=gpu flag_mem=peer", EINVAL, "auto, host, gpu", "issuer=cpu flag_mem=host" },
		{ "start=futex flag_mem=host", EINVAL, "flag_mem=auto", "start=flag" },
		{ "plant=built:100", EINVAL, "intent:NS", "plant=rung:100" },
		{ "issuer=gpu start=stream", ENODEV, "GPU", "issuer=cpu start=flag" },
		{ "cpu=4095", ENODEV, "may not run", "cpu=auto" },
	};
	const struct machine none = { .cpus = 1, .gpu_reason = "none found" };

	(void)state;
	if (!two_cpus())
		skip();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct point pt;
		char why[256] = "";
		int rc;

		launch_point(&pt, refused[i].point);
		rc = probe_launch.check(&pt, &none, why, sizeof(why));
		if (rc != -refused[i].code || !strstr(why, refused[i].legal))
			fail_msg("\"%s\": %d \"%s\"", refused[i].point, rc, why);
		assert_true(strlen(why) < sizeof(why) - 1);
		point_set(&pt, refused[i].cure);
		if (probe_launch.check(&pt, &none, why, sizeof(why)))
			fail_msg("\"%s\", then %s: still refused: %s", refused[i].point, refused[i].cure, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_clock_has_no_offset), cmocka_unit_test(nobody_answers), cmocka_unit_test(offsets_between_two),
		cmocka_unit_test(waits_come_back), cmocka_unit_test(sleepers_are_counted),
		cmocka_unit_test(impossible_starts_are_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
