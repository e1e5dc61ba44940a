/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `launch`: what it takes to start what sends. A CPU thread decides; a kernel
 * is launched, a graph is, or something that waits sees a flag. Two figures of each
 * start: to the first instruction, which is a hop between two clocks and carries what is
 * not known of their offset in its interval; and to the first doorbell as this CPU sees
 * it, there and back on one clock.
 *
 * In the order of a point: memory and everything that loads; round trips between the
 * clocks; the starts, one at a time; round trips again.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/issue/launch_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };
#define DRIFT_PPM_MAX 500.0     /* crystals differ by a tenth of it */
#define ASLEEP_MIN 0.9          /* of the starts have to find their thread asleep */

static int no(char *why, size_t len, const char *words)
{
	snprintf(why, len, "%s", words);
	return -EINVAL;
}

/* The starts, plants and places that can't be. */
static int launch_legal(const struct point *pt, char *why, size_t len)
{
	int cpu = fs_is(pt, "issuer", "cpu"), start = fs_word(pt, "start"), mark = fs_pair(pt, "plant");
	int mem = fs_word(pt, "flag_mem");

	if (cpu && (start == START_STREAM || start == START_GRAPH))
		return no(why, len, "start=stream and start=graph need a GPU: a thread of a CPU is launched into no queue; legal with issuer=cpu: start=flag, futex");
	if (!cpu && start == START_FUTEX)
		return no(why, len, "start=futex wakes a thread of a CPU; legal with issuer=gpu: start=stream, graph, flag");
	if (mem != PW_AUTO && start != START_FLAG)
		return no(why, len, "flag_mem without a flag that is polled: it goes with start=flag; legal: flag_mem=auto");
	if (cpu && (mem == PW_GPU || mem == PW_PEER))
		return no(why, len, "flag_mem on a GPU with issuer=cpu: a CPU can't poll there; legal: auto, host");
	if (mem == PW_PEER)
		return no(why, len, "flag_mem=peer: one GPU takes part; legal: auto, host, gpu");
	if (mark >= 0 && mark != MARK_INTENT && mark != MARK_RUNG)
		return no(why, len, "plant: what is started has two moments; legal: intent:NS before its first instruction is stamped, rung:NS before its doorbell");
	return 0;
}

/* Agents, CPUs and amounts are those of a path with this issuer. */
static int launch_resolve(const struct point *pt, const struct machine *m, struct launch_conf *c, char *why, size_t len)
{
	int rc = launch_legal(pt, why, len);
	struct point p = *pt;

	memset(c, 0, sizeof(*c));
	if (rc || (rc = fs_point_set(&p, "nic", fs_is(pt, "issuer", "cpu") ? "soft" : "null")) ||
	    (rc = fs_point_set(&p, "plant", "none")) || (rc = path_resolve(&p, m, &c->path, why, len)))
		return rc;
	c->start = fs_word(pt, "start");
	c->flag_place = fs_is(pt, "flag_mem", "gpu") ? c->path.issuer_gpu : PLACE_HOST;
	if (fs_pair(pt, "plant") == MARK_INTENT)
		c->first_ns = (uint32_t)fs_num(pt, "plant");
	if (fs_pair(pt, "plant") == MARK_RUNG)
		c->bell_ns = (uint32_t)fs_num(pt, "plant");
	c->path.order_class = "-";
	return 0;
}

static int launch_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct launch_conf c;

	return launch_resolve(pt, m, &c, why, len);
}

/* ---- rows ---- */

static struct row *start_row(struct rows *out, const struct launch *l, const char *metric)
{
	struct row *r = path_row(out, &l->c.path, "issue", metric, "ns");

	if (r)
		snprintf(r->link, sizeof(r->link), "%s", link_name(PLACE_HOST, l->gpu ? l->c.path.issuer_gpu : PLACE_HOST));
	return r;
}

/* A row of readings `to` less the decision, on the CPU's clock. */
static int span_row(struct rows *out, const struct launch *l, const char *metric, size_t to, double *ns)
{
	struct row *r = start_row(out, l, metric);

	for (uint64_t i = 0; i < l->starts; i++)
		ns[i] = (double)(*(const uint64_t *)((const char *)&l->lap[i] + to) - l->lap[i].decided) * l->cpu.ns_per_unit;
	return r ? summary_of(ns, l->starts, 128, &r->s) : -ENOMEM;
}

/* The hop: the agent's stamp brought over to the CPU's clock. What is not known of the
 * offset, and the step of the stamp itself, widen the interval of the mean. */
static int first_row(struct rows *out, const struct launch *l, double *ns, double *unknown)
{
	struct row *r = start_row(out, l, "to_first");
	double step = (double)*l->echo.step * l->agent.ns_per_unit, drift = offset_drift_ppm(&l->before, &l->after);
	int rc;

	for (uint64_t i = 0; i < l->starts; i++) {
		double at = timeline_ns(&l->cpu, l->lap[i].decided);

		ns[i] = timeline_ns(&l->agent, l->lap[i].stamp) - offset_at(&l->before, &l->after, at) - at;
	}
	if (!r)
		return -ENOMEM;
	rc = summary_of(ns, l->starts, 128, &r->s);
	*unknown = offset_error(&l->before, &l->after) + step;
	r->s.ci_lo = (isnan(r->s.ci_lo) ? r->s.mean : r->s.ci_lo) - *unknown;
	r->s.ci_hi = (isnan(r->s.ci_hi) ? r->s.mean : r->s.ci_hi) + *unknown;
	if (fabs(drift) > DRIFT_PPM_MAX)
		row_flag(r, "drift", "the two clocks ran apart by more than 500 parts per million: no one offset holds between the comparisons");
	if (!l->gpu && (fabs(l->before.ns) > l->before.error_ns || fabs(l->after.ns) > l->after.error_ns))
		row_flag(r, "offset", "both agents read one clock, and yet an offset was found that is larger than its uncertainty");
	return rc;
}

static void offset_facts(struct rows *out, const char *when, const struct launch *l, const struct offset *o)
{
	char name[32];
	/* between the clocks as they are: ns of %globaltimer less ns of CLOCK_MONOTONIC_RAW */
	long long zero = l->gpu ? (long long)(l->agent.zero - l->mono_zero) : 0;

	snprintf(name, sizeof(name), "offset_%s_ns", when);
	rows_found(out, name, "%lld", zero + llround(o->ns));
	snprintf(name, sizeof(name), "offset_%s_error_ns", when);
	rows_found(out, name, "%.1f", o->error_ns);
}

static int launch_rows(struct launch *l, struct rows *out)
{
	double *ns = malloc(l->starts * sizeof(*ns)), unknown;
	struct row *r;
	int rc;

	if (!ns)
		return fs_fail(ENOMEM, "no memory for samples");
	if ((rc = span_row(out, l, "to_rung", offsetof(struct lap, rung), ns)) || (rc = first_row(out, l, ns, &unknown)) ||
	    (rc = span_row(out, l, "call", offsetof(struct lap, called), ns)) ||
	    ((l->c.start == START_STREAM || l->c.start == START_GRAPH) &&
	     (rc = span_row(out, l, "to_end", offsetof(struct lap, ended), ns))))
		goto out;
	if (!(r = path_row(out, &l->c.path, "-", "clock_error", "ns"))) {
		rc = -ENOMEM;
		goto out;
	}
	summary_one(&r->s, unknown);
	for (size_t i = 0; i < out->n && l->c.start == START_FUTEX; i++)
		if (out->row[i].status == FS_OK && (double)l->asleep < ASLEEP_MIN * (double)l->starts && !strcmp(out->row[i].stage, "issue"))
			row_flag(&out->row[i], "awake", "in more than a tenth of the starts the thread had not fallen asleep yet");
	if (l->c.start == START_FUTEX)
		rows_found(out, "asleep", "%llu of %llu", (unsigned long long)l->asleep, (unsigned long long)l->starts);
	offset_facts(out, "before", l, &l->before);
	offset_facts(out, "after", l, &l->after);
	rows_found(out, "offset_drift_ppm", "%.3f", offset_drift_ppm(&l->before, &l->after));
	rows_found(out, "offset_trip_ns", "%.1f", fmin(l->before.trip_ns, l->after.trip_ns));
	rows_found(out, "agent_step_ns", "%.1f", (double)*l->echo.step * l->agent.ns_per_unit);
out:
	free(ns);
	return rc;
}

/* ---- the probe ---- */

static int launch_init(struct launch *l)
{
	uint64_t n = l->c.path.warmup + l->c.path.messages + 1;
	const struct cpu_clock *clock = suite_cpu_clock();
	int pinned = l->c.path.pinned, rc;
	struct clock_pair p;

	l->starts = l->c.path.messages;
	if (!(l->lap = calloc(l->starts, sizeof(*l->lap))))
		return fs_fail(ENOMEM, "no memory for samples");
	if ((rc = place_kept(&l->flag, "flag", l->c.flag_place, LINE, 4096, pinned)) ||
	    (rc = place_kept(&l->words, "clock words", PLACE_HOST, 4 * LINE, 4096, pinned)) ||
	    (rc = place_alloc(&l->counts, PLACE_HOST, l->c.flag_place != PLACE_HOST ? n * 8 : 8, 4096, pinned)) ||
	    (rc = place_set(&l->flag, 0)) || (rc = place_set(&l->words, 0)))
		return rc;
	for (uint64_t i = 0; l->c.flag_place != PLACE_HOST && i < n; i++)
		((uint64_t *)l->counts.p)[i] = i;
	l->side = (struct launch_side){ (uint64_t *)l->flag.p, (uint64_t *)l->words.p, l->c.first_ns, l->c.bell_ns, l->c.path.gettime };
	l->echo = (struct echo){ (uint64_t *)(l->words.p + LINE), (uint64_t *)(l->words.p + 2 * LINE),
				 (uint64_t *)(l->words.p + 3 * LINE), 0, l->c.path.gettime };
	p = clock_pair_read(l->c.path.gettime);
	l->mono_zero = p.wall;
	l->cpu = (struct timeline){ p.ticks, 1 / clock->ticks_per_ns };
	l->agent = l->cpu;
	if (l->c.path.issuer_gpu < 0) {
		*l->echo.step = (uint64_t)(clock->step_ns * clock->ticks_per_ns + 0.5);
		return 0;
	}
	l->agent = (struct timeline){ 0, 1 };
	return launch_gpu_open(&l->gpu, &l->side, (const uint64_t *)l->counts.p, l->c.path.issuer_gpu);
}

static void launch_term(struct launch *l)
{
	launch_gpu_close(l->gpu);
	place_free(&l->flag);
	place_free(&l->words);
	place_free(&l->counts);
	free(l->lap);
	free(l);
}

static int launch_run(const struct point *pt, struct rows *out)
{
	struct launch *l = calloc(1, sizeof(*l)); /* not freed while a thread may use it */
	char why[256];
	int rc;

	if (!l)
		return fs_fail(ENOMEM, "no memory for a point");
	rc = launch_resolve(pt, suite_machine(), &l->c, why, sizeof(why));
	if (rc) {
		free(l);
		return fs_fail(-rc, "%s", why);
	}
	l->c.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	rc = pin_self(l->c.path.cpu);
	rc = rc || !l->c.path.pinned ? rc : cuda_use(l->c.path.issuer_gpu, -1);
	rc = rc ? rc : launch_init(l);
	rc = rc ? rc : launch_clocks(l, &l->before);
	rc = rc ? rc : launch_starts(l);
	rc = rc ? rc : launch_clocks(l, &l->after);
	rc = rc ? rc : launch_rows(l, out);
	if (rc != -EBUSY)
		launch_term(l);
	return rc;
}

static double launch_patience(const struct point *pt)
{
	(void)pt;
	return 120;
}

static const char *const launch_reads[] = {
	"issuer", "gpu", "start", "flag_mem", "messages", "warmup", "plant", "cpu", "nic_cpu", NULL
};

const struct probe probe_launch = {
	.name = "launch",
	.help = "what it takes to start: from a CPU's decision to the first instruction, and to the first doorbell that it sees",
	.reads = launch_reads,
	.check = launch_check,
	.run = launch_run,
	.patience_s = launch_patience,
};
