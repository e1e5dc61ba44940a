/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages that measure nothing, for tests of everything around them: the probe
 * `fake` ends as its variable `mode` says, and the probe `path` gives figures
 * that are computed from its settings, with plants where they belong.
 * FS_FAKE_GPUS=N gives the machine N GPUs, FS_FAKE_SCOUT=crash none and a dead
 * scout; FS_FAKE_FLAG names a file without which mode=once fails.
 */
#include "harness/err.h"
#include "harness/machine.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/stage.h"
#include "stages/suite.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK_WORDS "intent|reserved|resolved|built|handed|taken|rung|seen|started|fetched|" \
	"translated|read|written|completed|caught|relayed|noticed"
#define NONE .lo = 1, .hi = 0

const struct var fs_vars[] = {
	{ .name = "nic", .unit = "", .words = "null|soft|peer", NONE, .def = "soft", .help = "who watches" },
	{ .name = "issuer", .unit = "", .words = "gpu|cpu", NONE, .def = "cpu", .help = "who submits" },
	{ .name = "submitter", .unit = "", .words = "gpu|cpu", NONE, .def = "gpu", .help = "who posts" },
	{ .name = "size", .unit = "B", .lo = 8, .hi = 1 << 20, .def = "8", .help = "payload", .pow2 = 1 },
	{ .name = "depth", .unit = "", .lo = 1, .hi = 1024, .def = "1", .help = "in flight" },
	{ .name = "mode", .unit = "", .words = "ok|crash|abort|hang|fail|flag|absent|empty|slow|own-row|pid|long|once|idle",
	  NONE, .def = "ok", .help = "how the point ends" },
	{ .name = "ms", .unit = "ms", .lo = 0, .hi = 100000, .def = "0", .help = "how long it takes" },
	{ .name = "lie", .unit = "ns", .lo = 0, .hi = 1000000, .def = "0", .help = "an error of the fake path" },
	{ .name = "plant", .unit = "ns", .words = "none", .lo = 1, .hi = 1000000000, .pairs = MARK_WORDS,
	  .def = "none", .help = "a wait" },
	{ .name = "untold", .unit = "ns", .words = "none", .lo = 1, .hi = 1000000000, .pairs = MARK_WORDS,
	  .def = "none", .help = "a wait that the checker isn't told" },
	{ 0 }
};

/* One row of a stage or an interval, with a mean and little else. */
static struct row *put(struct rows *rs, const char *stage, const char *interval, const char *metric,
		       double mean)
{
	struct row *r = rows_add(rs);

	if (!r)
		abort();
	snprintf(r->stage, sizeof r->stage, "%s", stage);
	snprintf(r->interval, sizeof r->interval, "%s", interval);
	snprintf(r->metric, sizeof r->metric, "%s", metric);
	snprintf(r->unit, sizeof r->unit, "ns");
	snprintf(r->origin, sizeof r->origin, "emulated");
	summary_one(&r->s, mean);
	r->s.ci_lo = mean - 1;
	r->s.ci_hi = mean + 1;
	return r;
}

static void put_stages(const struct point *pt, struct rows *rs)
{
	double total = 0;

	for (int s = 0; s < STAGES; s++) {
		double ns = 100.0 * (s + 1) + (double)fs_num(pt, "size");

		if (s == STAGE_QUEUEING && fs_var_find("mode") >= 0 && fs_is(pt, "mode", "idle"))
			ns = 3;
		put(rs, stage_names[s], "-", "latency", ns);
		total += ns;
	}
	put(rs, "total", "-", "latency", total);
	rows_found(rs, "queue_mem", "host, asked for \"auto\"");
	if (rs->raw) {
		fprintf(rs->raw, "message,intent,noticed\n");
		for (int k = 0; k < 3; k++)
			fprintf(rs->raw, "%d,%d,%d\n", k, 1000 * k, 1000 * k + 500);
	}
}

static int fake_run(const struct point *pt, struct rows *rs)
{
	if (fs_num(pt, "ms"))
		usleep((useconds_t)fs_num(pt, "ms") * 1000);
	if (fs_is(pt, "mode", "slow"))
		usleep(300000);
	if (fs_is(pt, "mode", "crash")) {
		/* Not through a sanitizer's handler: it is the signal that is tested. */
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	if (fs_is(pt, "mode", "abort")) {
		put_stages(pt, rs);
		_exit(3);
	}
	if (fs_is(pt, "mode", "hang"))
		for (;;)
			pause();
	if (fs_is(pt, "mode", "empty"))
		return 0;
	if (fs_is(pt, "mode", "absent"))
		return fs_reason_set(ENODEV, "the device went away");
	put_stages(pt, rs);
	/* fails until the file is there */
	if (fs_is(pt, "mode", "once") && (!getenv("FS_FAKE_FLAG") || access(getenv("FS_FAKE_FLAG"), F_OK)))
		return fs_fail(EIO, "not yet");
	if (fs_is(pt, "mode", "fail"))
		return fs_fail(EIO, "it failed, as \"told\", with a comma");
	if (fs_is(pt, "mode", "own-row")) {
		struct row *r = &rs->row[0];

		r->status = FS_FAILED;
		snprintf(r->reason_code, sizeof r->reason_code, "stale");
		snprintf(r->reason, sizeof r->reason, "7 stale fetches");
	}
	if (fs_is(pt, "mode", "flag")) {
		struct row *r = &rs->row[0];

		r->status = FS_FLAGGED;
		snprintf(r->reason_code, sizeof r->reason_code, "steal");
		snprintf(r->reason, sizeof r->reason, "the host took time away");
	}
	if (fs_is(pt, "mode", "pid"))
		rows_found(rs, "pid", "%d", (int)getpid());
	/* More than a pipe holds. */
	for (int i = 0; fs_is(pt, "mode", "long") && i < 2000; i++)
		put(rs, "-", "-", "filler", i);
	return 0;
}

static double plant_ns(const struct point *pt, const char *var, int mark)
{
	return fs_pair(pt, var) == mark ? (double)fs_num(pt, var) : 0;
}

/* What path would give: each wait in its own interval, hops in the crossing. */
static int path_run(const struct point *pt, struct rows *rs)
{
	const struct interval *t;
	struct route r = { SUBMITTER_GPU, CONSUMER_GPU };
	int n = interval_table(r, &t), planted = !fs_is(pt, "plant", "none");
	double crossing = 0, total = 0;

	put_stages(pt, rs);
	for (int i = 0; i < n && planted; i++) {
		double ns = plant_ns(pt, "plant", t[i].to) + plant_ns(pt, "untold", t[i].to);
		char name[64];

		total += ns;
		if (interval_is_hop(r, &t[i])) {
			crossing += ns;
			continue;
		}
		if (t[i].to == MARK_READ)
			ns += (double)fs_num(pt, "lie");
		snprintf(name, sizeof name, "%s-%s", mark_table[t[i].from].name, mark_table[t[i].to].name);
		put(rs, stage_names[t[i].stage], name, "plant_delta", ns);
	}
	if (planted) {
		put(rs, stage_names[STAGE_CROSSING], "-", "plant_delta", crossing);
		put(rs, "total", "-", "plant_delta", total);
		put(rs, "-", "-", "plant_wall", total + plant_ns(pt, "plant", MARK_INTENT) +
		    plant_ns(pt, "untold", MARK_INTENT));
	}
	return 0;
}

static int check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	if (fs_is(pt, "nic", "null") && fs_num(pt, "depth") > 64) {
		snprintf(why, len, "nic=null has no more than depth=64");
		return -EINVAL;
	}
	if (fs_is(pt, "issuer", "gpu") && !m->ngpus) {
		snprintf(why, len, "issuer=gpu needs a GPU: %s", m->gpu_reason);
		return -ENODEV;
	}
	return 0;
}

static double patience_s(const struct point *pt)
{
	(void)pt;
	return 30;
}

static const char *const fake_reads[] = { "nic", "issuer", "submitter", "size", "depth", "mode", "ms", NULL };
static const char *const path_reads[] = { "nic", "issuer", "submitter", "size", "depth", "plant", "untold",
					  "lie", NULL };
static const struct probe fake = { "fake", "ends as it is told", fake_reads, check, fake_run, patience_s, NULL };
static const struct probe path = { "path", "computed figures", path_reads, check, path_run, patience_s, NULL };
const struct probe *const fs_probes[] = { &path, &fake, NULL };
const struct probe_beside *const fs_beside = NULL;

int suite_scout(struct machine *m)
{
	const char *gpus = getenv("FS_FAKE_GPUS"), *scout = getenv("FS_FAKE_SCOUT");

	if (scout && !strcmp(scout, "crash"))
		_exit(9);
	m->ngpus = gpus ? atoi(gpus) : 0;
	for (int i = 0; i < m->ngpus && i < FS_GPUS_MAX; i++)
		snprintf(m->gpu[i].name, sizeof m->gpu[i].name, "Fake %d", i);
	if (!m->ngpus)
		snprintf(m->gpu_reason, sizeof m->gpu_reason, "these stages are fake");
	m->cpus = pin_cpus();
	return 0;
}

json_t *suite_lend(int device, size_t bytes)
{
	if (device)
		return fs_fail(ENODEV, "no GPU %d to lend from", device), NULL;
	return json_pack("{s:I}", "handle", (json_int_t)bytes);
}

void suite_not_built(json_t *out)
{
	json_object_set_new(out, "everything", json_string("these stages are fake"));
}

int suite_nic(int i, struct suite_nic *row)
{
	static const struct suite_nic rows[] = {
		{ "null", "nobody", "the floor", NULL, 0 },
		{ "soft", "a CPU thread", "runs everywhere", NULL, 0 },
		{ "peer", "a kernel", "crossings", "these stages are fake", 1 },
	};

	if (i >= 3)
		return 0;
	*row = rows[i];
	return 1;
}
