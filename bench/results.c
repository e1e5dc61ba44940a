/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a run (docs/method.md lists their columns). Each is whole when
 * it stands: plan.csv and run.json before the first point, points/ID.REP.csv
 * after each, summary.csv and samples.csv merged from them at the end of a
 * complete run. points/ID.REP.json holds what was found about a point until
 * run.json is written again, so that a kill doesn't lose it.
 */
#include "bench/resume.h"
#include "harness/clock.h"
#include "harness/file.h"
#include "harness/pin.h"
#include "revision.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static json_t *clock_json(void)
{
	struct cpu_clock c;

	memset(&c, 0, sizeof c);
	if (cpu_clock_measure(&c))
		return json_pack("{s:o}", "reason", wire_text(fs_reason()));
	return json_pack("{s:s,s:o,s:f,s:f,s:f,s:f}",
			 "kind", c.kind == CPU_CLOCK_TSC ? "tsc" : "clock_gettime",
			 "why", wire_text(c.why), "ticks_per_ns", c.ticks_per_ns,
			 "rate_err", c.rate_err, "step_ns", c.step_ns, "read_ns", c.read_ns);
}

static json_t *argv_json(const struct options *o)
{
	json_t *a = json_array();

	json_array_append_new(a, json_string("fivestage"));
	for (int i = 0; i < o->argc; i++)
		json_array_append_new(a, wire_text(o->argv[i]));
	return a;
}

static void set_time(json_t *run, const char *name, uint64_t wall)
{
	char text[32], ns[32];

	snprintf(ns, sizeof ns, "%s_ns", name);
	json_object_set_new(run, name, json_string(utc_text(wall, text, sizeof text)));
	json_object_set_new(run, ns, json_integer((json_int_t)wall));
}

/* name → null, or why it is absent */
static json_t *nics_json(void)
{
	json_t *j = json_object();
	struct suite_nic n;

	for (int i = 0; suite_nic(i, &n); i++)
		json_object_set_new(j, n.name, n.absent ? wire_text(n.absent) : json_null());
	return j;
}

static json_t *run_json(const struct results *r, const struct machine *m)
{
	const struct options *o = r->opt;
	json_t *j = json_object(), *absent = json_object();

	json_object_set_new(j, "schema", json_integer(FS_SCHEMA));
	json_object_set_new(j, "tool", json_string("fivestage"));
	json_object_set_new(j, "version", json_string(FS_VERSION));
	json_object_set_new(j, "revision", json_string(FS_REVISION));
	json_object_set_new(j, "argv", argv_json(o));
	json_object_set_new(j, "seed", json_integer((json_int_t)o->seed));
	json_object_set_new(j, "repeat", json_integer(o->repeat));
	json_object_set_new(j, "raw", json_boolean(o->raw));
	json_object_set_new(j, "timeout_s", o->timeout_s > 0 ? json_real(o->timeout_s) : json_null());
	set_time(j, "start", wall_ns());
	json_object_set_new(j, "end", json_null());
	json_object_set_new(j, "complete", json_false());
	json_object_set_new(j, "exit_code", json_null());
	json_object_set_new(j, "environment", json_pack("{s:o,s:n}", "before", environment_json(), "after"));
	json_object_set_new(j, "machine", machine_to_json(m));
	json_object_set_new(j, "topology", pin_topology_json());
	json_object_set_new(j, "clock", clock_json());
	json_object_set_new(j, "nics", nics_json());
	suite_not_built(absent);
	json_object_set_new(j, "not_built", absent);
	json_object_set(j, "points", r->points);
	return j;
}

static void found_keep(struct results *r, const char *id, int rep, json_t *found)
{
	json_t *reps = json_object_get(r->points, id);
	char key[16];

	if (!reps) {
		reps = json_object();
		json_object_set_new(r->points, id, reps);
	}
	snprintf(key, sizeof key, "%d", rep);
	if (found)
		json_object_set(reps, key, found);
	else
		json_object_set_new(reps, key, json_object());
}

/* Nothing has run yet: what was made is taken away, so that it can be tried again. */
static void results_undo(const struct results *r)
{
	static const char *const made[] = { "run.json", "plan.csv" };
	char path[4200];

	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", r->dir, made[i]);
		unlink(path);
	}
	rmdir(r->points_dir);
	rmdir(r->dir);
}

/* The lock is taken before the directory is looked at, so that of two who start
 * there one is refused. */
static int results_start(struct results *r, const struct machine *m)
{
	int err = dir_prepare(r->dir, r->lock < 0);
	char path[4200];

	snprintf(path, sizeof path, "%s/run.json", r->dir);
	if (err == -EEXIST && !access(path, F_OK))
		fs_note("a run that was interrupted goes on with: %s", resume_command(r->dir, path, sizeof path));
	if (err)
		return err;
	if (r->lock < 0)
		r->lock = dir_lock(r->dir);
	if (r->lock < 0)
		return r->lock;
	if (r->opt->from) { /* leftovers of a start, and nothing else (resume.c) */
		err = dir_sweep(r->dir);
		if (!err)
			err = dir_sweep(r->points_dir);
	} else
		err = dir_prepare(r->dir, 1);
	if (err)
		return err;
	err = dir_prepare(r->points_dir, 0);
	r->points = json_object();
	r->run = run_json(r, m);
	if (!err)
		err = plan_write(r->plan, r->dir);
	/* The last file of a start: with it, there is a run (resume.c). */
	if (!err)
		err = json_write(r->dir, "run.json", r->run);
	if (err)
		results_undo(r);
	return err;
}

static void part_path(const struct results *r, const char *id, int rep, char *buf, size_t len)
{
	snprintf(buf, len, "%s/%s.%d.json", r->points_dir, id, rep);
}

/* What was found about points that stand, but came into no run.json any more. */
static void parts_load(struct results *r)
{
	for (int k = 0; k < r->plan->npoints * r->opt->repeat; k++) {
		const char *id = r->plan->point[k / r->opt->repeat].pt.id;
		int rep = 1 + k % r->opt->repeat;
		char path[4096];
		json_t *found;

		part_path(r, id, rep, path, sizeof path);
		found = r->stands[k] ? json_load_file(path, JSON_REJECT_DUPLICATES, NULL) : NULL;
		if (found)
			found_keep(r, id, rep, found);
		json_decref(found);
	}
}

/* They go once run.json has them. */
static void parts_unlink(const struct results *r)
{
	for (int k = 0; k < r->plan->npoints * r->opt->repeat; k++) {
		char path[4096];

		part_path(r, r->plan->point[k / r->opt->repeat].pt.id, 1 + k % r->opt->repeat, path, sizeof path);
		unlink(path);
	}
}

static json_t *resumption_json(const struct results *r)
{
	const struct resume *u = r->opt->from;
	json_t *j = json_object();

	set_time(j, "start", wall_ns());
	json_object_set_new(j, "argv", argv_json(r->opt));
	json_object_set_new(j, "timeout_s", r->opt->timeout_s > 0 ? json_real(r->opt->timeout_s) : json_null());
	json_object_set_new(j, "kept", json_integer(u->kept));
	json_object_set_new(j, "missing", json_integer(u->missing));
	json_object_set_new(j, "failed_again", json_integer(u->failed));
	json_object_set_new(j, "environment", environment_json());
	return j;
}

static int results_reopen(struct results *r)
{
	json_t *list;
	int err = dir_sweep(r->dir);

	if (!err)
		err = dir_prepare(r->points_dir, 0);
	if (!err)
		err = dir_sweep(r->points_dir);
	if (err)
		return err;
	r->run = json_incref(r->opt->from->run);
	r->points = json_incref(json_object_get(r->run, "points"));
	if (!json_is_object(r->points)) {
		json_decref(r->points);
		r->points = json_object();
		json_object_set(r->run, "points", r->points);
	}
	parts_load(r);
	list = json_object_get(r->run, "resumptions");
	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(r->run, "resumptions", list);
	}
	json_array_append_new(list, resumption_json(r));
	json_object_set_new(r->run, "end", json_null());
	json_object_del(r->run, "end_ns");
	json_object_set_new(r->run, "complete", json_false());
	json_object_set_new(r->run, "exit_code", json_null());
	return json_write(r->dir, "run.json", r->run);
}

static void results_name(struct results *r, const struct plan *p, const struct options *o)
{
	memset(r, 0, sizeof *r);
	r->plan = p;
	r->opt = o;
	r->lock = -1;
	if (o->dir)
		snprintf(r->dir, sizeof r->dir, "%s", o->dir);
	else
		default_dir(r->dir, sizeof r->dir);
	snprintf(r->points_dir, sizeof r->points_dir, "%s/points", r->dir);
	if (o->from) {
		r->lock = o->from->lock;
		o->from->lock = -1;
	}
}

int results_open(struct results *r, const struct plan *p, const struct machine *m,
		 const struct options *o, const unsigned char *stands)
{
	results_name(r, p, o);
	r->stands = stands;
	if (o->dir && strlen(o->dir) >= sizeof r->dir)
		return fs_fail(ENAMETOOLONG, "-o: %zu characters are too many", strlen(o->dir));
	return o->from && o->from->run ? results_reopen(r) : results_start(r, m);
}

void results_tidy(struct results *r, const struct plan *p, const struct options *o)
{
	results_name(r, p, o);
	parts_unlink(r);
	dir_sweep(r->dir);
	dir_sweep(r->points_dir);
}

/* A variable's value, "-" where the probe doesn't read it. */
static const char *cell(const struct point *pt, const char *name, char *buf, size_t len)
{
	int v = fs_var_find(name);

	if (v < 0 || !fs_probe_reads(pt->probe, name))
		return "-";
	return fs_var_format(&fs_vars[v], &pt->val[v], buf, len);
}

int results_point(struct results *r, int point, int rep, int seq, uint64_t t_start,
		  const struct rows *rs, json_t *found)
{
	const struct point *pt = &r->plan->point[point].pt;
	char nic[96], issuer[96], submitter[96], name[64], part[64], key[16];
	struct row_context c = {
		.point = pt->id, .rep = rep, .seq = seq, .t_start_ns = (long long)t_start,
		.probe = pt->probe->name,
		.nic = cell(pt, "nic", nic, sizeof nic),
		.issuer = cell(pt, "issuer", issuer, sizeof issuer),
		.submitter = cell(pt, "submitter", submitter, sizeof submitter),
		.size_b = -1,
	};
	struct outfile o;
	int err;

	if (fs_var_find("size") >= 0 && fs_probe_reads(pt->probe, "size"))
		c.size_b = fs_num(pt, "size");
	snprintf(name, sizeof name, "%s.%d.csv", pt->id, rep);
	/* What was found goes first: where rows stand, the point is finished. */
	found_keep(r, pt->id, rep, found);
	snprintf(key, sizeof key, "%d", rep);
	snprintf(part, sizeof part, "%s.%d.json", pt->id, rep);
	err = json_write(r->points_dir, part, json_object_get(json_object_get(r->points, pt->id), key));
	if (!err)
		err = outfile_open(&o, r->points_dir, name);
	if (err)
		return err;
	fprintf(o.f, "%s\n", fs_summary_header);
	for (int k = 0; k < r->plan->nrows; k++) {
		const struct plan_row *pr = &r->plan->row[k];

		if (pr->point != point)
			continue;
		c.experiment = r->plan->exp[pr->experiment].name;
		c.varied = pr->varied;
		c.value = pr->value;
		for (size_t i = 0; i < rs->n; i++)
			summary_row_write(o.f, &c, &rs->row[i]);
	}
	return outfile_commit(&o);
}

int results_there(const struct options *o)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/summary.csv", o->dir);
	return !access(path, F_OK);
}

void results_raw_path(const struct results *r, int point, int rep, int finished, char *buf, size_t len)
{
	/* hidden until it is whole, as every other file (dir_sweep knows the name) */
	snprintf(buf, len, "%s/%s%s.%d.samples.csv%s", r->points_dir, finished ? "" : ".",
		 r->plan->point[point].pt.id, rep, finished ? "" : ".tmp0");
}

int results_raw_done(struct results *r, int point, int rep, int ok)
{
	char tmp[4096], whole[4096];
	int rc;

	results_raw_path(r, point, rep, 0, tmp, sizeof tmp);
	results_raw_path(r, point, rep, 1, whole, sizeof whole);
	if (!ok) {
		unlink(tmp);
		return 0;
	}
	rc = file_place(tmp, whole);
	return rc == -ENOENT ? 0 : rc; /* a probe that has no samples leaves none */
}

/* Peaks of resident memory, ours and that of the children that lived together. */
static json_t *memory_json(long children_kb)
{
	struct rusage self;

	if (getrusage(RUSAGE_SELF, &self))
		return json_pack("{s:o}", "reason", wire_text(strerror(errno)));
	return json_pack("{s:I,s:I,s:I}", "parent_kb", (json_int_t)self.ru_maxrss,
			 "children_kb", (json_int_t)children_kb,
			 "sum_kb", (json_int_t)(self.ru_maxrss + children_kb));
}

int results_close(struct results *r, int complete, const char *how_far, int exit_code)
{
	int err = complete ? results_merge(r) : 0;

	set_time(r->run, "end", wall_ns());
	json_object_set_new(json_object_get(r->run, "environment"), "after", environment_json());
	json_object_set_new(r->run, "complete", json_boolean(complete && !err));
	json_object_set_new(r->run, "how_far", wire_text(how_far));
	json_object_set_new(r->run, "peak_memory", memory_json(r->children_kb));
	json_object_set_new(r->run, "exit_code", json_integer(err ? FS_EXIT_FAILED : exit_code));
	if (json_write(r->dir, "run.json", r->run))
		return err ? err : -EIO;
	parts_unlink(r);
	return err;
}

void results_free(struct results *r)
{
	if (r->lock >= 0)
		close(r->lock);
	json_decref(r->run);
	json_decref(r->points);
}
