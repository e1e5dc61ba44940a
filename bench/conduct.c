/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan is run: repetition by repetition, each with fresh children, in the
 * plan's shuffled order. Every point ends as rows in a file: its own, one
 * `skipped` row, or rows that all say `failed` with the reason. What fails is
 * that point alone; the others go on. In a directory that is resumed, points that
 * stand are read instead of run, all but those that failed.
 */
#include "bench/resume.h"
#include "harness/clock.h"
#include "harness/progress.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A probe that says nothing has a minute. */
#define PATIENCE_S 60.0

struct tally { int ok, flagged, skipped, failed, timeouts; };

struct conduct {
	struct plan *plan;
	const struct options *opt;
	const struct hooks *hooks;
	struct results res;
	struct crew crew;
	struct progress progress;
	struct tally tally;
	int seq, done;           /* the last place in the order; points that stand by now */
	unsigned char *stands;   /* results_open */
};

/* How one point ended, as far as its rows don't say. */
struct ending { int err; char code[24], reason[256]; };

double point_patience_s(const struct point *pt, const struct options *o)
{
	if (o->timeout_s > 0)
		return o->timeout_s;
	return pt->probe->patience_s ? pt->probe->patience_s(pt) : PATIENCE_S;
}

static const char *code_word(int err)
{
	switch (err) {
	case -ETIMEDOUT: return "timeout";
	case -ENODEV: return "absent";
	case -ENOMEM: return "memory";
	case -EINVAL: return "impossible";
	default: return "error";
	}
}

__attribute__((format(printf, 4, 5)))
static void end_with(struct ending *e, int err, const char *code, const char *fmt, ...)
{
	va_list ap;

	e->err = err;
	snprintf(e->code, sizeof e->code, "%s", code);
	va_start(ap, fmt);
	vsnprintf(e->reason, sizeof e->reason, fmt, ap);
	va_end(ap);
}

static int ask(struct conduct *c, struct member *m, int point, int rep)
{
	const struct point *pt = &c->plan->point[point].pt;
	json_t *msg, *vars = json_object();
	char text[96], raw[4096];
	int err;

	for (int v = 0; fs_vars[v].name; v++)
		json_object_set_new(vars, fs_vars[v].name,
				    wire_text(fs_var_format(&fs_vars[v], &pt->val[v], text, sizeof text)));
	results_raw_path(&c->res, point, rep, 0, raw, sizeof raw);
	msg = json_pack("{s:s,s:s,s:s,s:o,s:i,s:o}", "op", "run", "id", pt->id,
			"probe", pt->probe->name, "vars", vars, "rep", rep,
			"raw", c->opt->raw ? wire_text(raw) : json_null());
	err = msg ? child_send(&m->child, msg) : -ENOMEM;
	json_decref(msg);
	return err;
}

/* Takes one message in. 1: that was the last one. -EPROTO: not one of ours. */
static int take(const json_t *msg, struct rows *rs, json_t **found, struct ending *e)
{
	const json_t *row = json_object_get(msg, "row"), *done = json_object_get(msg, "done");
	json_t *facts = json_object_get(msg, "found");

	if (row) {
		struct row *r = rows_add(rs);

		return r ? row_from_json(row, r) : -ENOMEM;
	}
	if (json_is_object(facts)) {
		json_decref(*found);
		*found = json_incref(facts);
		return 0;
	}
	if (json_is_integer(done)) {
		const char *why = json_string_value(json_object_get(msg, "reason"));
		int err = (int)json_integer_value(done);

		if (err)
			end_with(e, err < 0 ? err : -EPROTO, code_word(err), "%s",
				 why && *why ? why : strerror(abs(err)));
		return 1;
	}
	return -EPROTO;
}

/* Measures one point in its group's child. A child that has failed in any way
 * is not trusted with another point. -EINTR: stopped. */
static int measure(struct conduct *c, int point, int rep, struct rows *rs, json_t **found,
		   struct ending *e)
{
	const struct point *pt = &c->plan->point[point].pt;
	double patience = point_patience_s(pt, c->opt), left_s;
	struct member *m;
	char how[128] = "";
	json_t *msg;
	int err = crew_get(&c->crew, pt, &m), last = 0;

	if (err) {
		end_with(e, err, "child", "no child could be started: %s", fs_reason());
		return 0;
	}
	left_s = patience + (m->points++ || c->opt->timeout_s > 0 ? 0 : CREW_START_S);
	err = ask(c, m, point, rep);
	while (!err && !last) {
		err = recv_patiently(&m->child, &left_s, &msg);
		if (err)
			break;
		last = take(msg, rs, found, e);
		json_decref(msg);
		if (last < 0)
			err = last;
	}
	if (!err && !e->err)
		return 0;
	/* Who ends us may have ended the child first: that is no failure of the point. */
	if (err == -EPIPE && stop_wanted())
		err = -EINTR;
	crew_drop(m, err == -EPIPE ? 1.0 : 0, how, sizeof how);
	if (err == -ETIMEDOUT)
		end_with(e, err, "timeout", "no end within %g s; the child was killed", patience);
	else if (err == -EPIPE)
		end_with(e, err, "crash", "child ended: %s", how);
	else if (err && err != -EINTR)
		end_with(e, err, "protocol", "the child's answer makes no sense: %s; child ended: %s",
			 strerror(-err), how);
	return err == -EINTR ? err : 0;
}

/* Would all experiments that the point stands in rather do without it? */
static int may_skip(const struct plan *p, int point)
{
	for (int k = 0; k < p->nrows; k++)
		if (p->row[k].point == point && !p->exp[p->row[k].experiment].absent_skip)
			return 0;
	return 1;
}

/* Rows of a point that didn't come to its end say so, all of them: a half of a
 * measurement is none. */
static int mark_rows(struct rows *rs, enum fs_status status, const char *code, const char *reason)
{
	if (!rs->n && !rows_add(rs))
		return -ENOMEM;
	for (size_t i = 0; i < rs->n; i++) {
		struct row *r = &rs->row[i];

		if (r->status == FS_FAILED && r->reason[0])
			continue;
		r->status = status;
		snprintf(r->reason_code, sizeof r->reason_code, "%s", code);
		snprintf(r->reason, sizeof r->reason, "%s", reason);
	}
	return 0;
}

static void count(struct tally *t, const struct rows *rs, const struct ending *e)
{
	enum fs_status worst = rows_worst(rs);

	t->ok += worst == FS_OK;
	t->flagged += worst == FS_FLAGGED;
	t->skipped += worst == FS_SKIPPED;
	t->failed += worst == FS_FAILED;
	t->timeouts += worst == FS_FAILED && !strcmp(e->code, "timeout");
}

/* One point, whatever becomes of it. -errno only when the run can't go on. */
static int point_run(struct conduct *c, int point, int rep)
{
	const struct plan_point *pp = &c->plan->point[point];
	struct ending e = { 0, "", "" };
	uint64_t t_start = wall_ns();
	json_t *found = NULL;
	struct rows rs;
	char what[384], text[256];
	int err = 0;

	rows_init(&rs);
	if (pp->skipped)
		err = mark_rows(&rs, FS_SKIPPED, "absent", pp->why);
	else
		err = measure(c, point, rep, &rs, &found, &e);
	if (!pp->skipped && c->opt->raw) {
		int rc = results_raw_done(&c->res, point, rep, !err && !e.err);

		err = err ? err : rc;
	}
	if (!err && e.err)
		err = mark_rows(&rs, e.err == -ENODEV && may_skip(c->plan, point) ? FS_SKIPPED : FS_FAILED,
				e.code, e.reason);
	if (!err && !rs.n) {
		end_with(&e, -ENODATA, "empty", "the probe gave no row");
		err = mark_rows(&rs, FS_FAILED, e.code, e.reason);
	}
	if (!err)
		err = results_point(&c->res, point, rep, ++c->seq, t_start, &rs, found);
	if (!err) {
		c->done++;
		count(&c->tally, &rs, &e);
		if (c->hooks->rows)
			c->hooks->rows(c->hooks->arg, point, rep, &rs);
		snprintf(what, sizeof what, "%s %s %s%s%s", pp->pt.id, pp->pt.probe->name,
			 fs_point_text(&pp->pt, text, sizeof text), e.err ? ": " : "", e.err ? e.reason : "");
		progress_step(&c->progress, what);
	}
	json_decref(found);
	rows_free(&rs);
	return err;
}

static int all_points(struct conduct *c)
{
	int err = 0;

	for (int rep = 1; rep <= c->opt->repeat && !err; rep++) {
		plan_order(c->plan, c->opt->seed, rep);
		for (int k = 0; k < c->plan->npoints && !err; k++) {
			int point = c->plan->order[k];

			if (stop_wanted())
				err = -EINTR;
			else if (!c->stands[point * c->opt->repeat + rep - 1])
				err = point_run(c, point, rep);
		}
		crew_end(&c->crew, err ? 0 : 0.5);
	}
	return err;
}

static int exit_of(const struct tally *t)
{
	if (t->failed && !t->ok && !t->flagged && t->timeouts == t->failed)
		return FS_EXIT_TIMEOUT;
	if (t->failed)
		return FS_EXIT_FAILED;
	return t->ok || t->flagged ? FS_EXIT_OK : FS_EXIT_SKIPPED;
}

/* One that stands counts as if it had just been measured. */
static void stands(void *arg, int point, int rep, const struct rows *rs)
{
	static const struct ending none;
	struct conduct *c = arg;

	c->done++;
	count(&c->tally, rs, &none);
	if (c->hooks->rows)
		c->hooks->rows(c->hooks->arg, point, rep, rs);
}

/* ---- the run ---- */

static void say_how_it_stopped(const struct conduct *c, int err, const char *how_far)
{
	const struct command *cmd = command_find(c->opt->argv[0]);
	char line[4096];

	if (err == -EINTR)
		fs_note("interrupted after %s; finished points are in %s", how_far, c->res.points_dir);
	if (cmd && (cmd->accepts & ACCEPT_RESUME))
		fs_note("to go on: %s", resume_command(c->res.dir, line, sizeof line));
}

static int run_all(struct conduct *c, const struct machine *m)
{
	int total = c->plan->npoints * c->opt->repeat, code, err, closed;
	char how_far[128];

	err = results_open(&c->res, c->plan, m, c->opt, c->stands);
	if (err)
		return FS_EXIT_REFUSED;
	if (!c->opt->dir)
		fs_note("results go to %s", c->res.dir);
	progress_begin(&c->progress, total - c->done);
	err = all_points(c);
	progress_end(&c->progress);
	code = err == -EINTR ? stop_exit() : err ? FS_EXIT_FAILED : exit_of(&c->tally);
	if (!err && c->hooks->conclude)
		code = c->hooks->conclude(c->hooks->arg, code);
	snprintf(how_far, sizeof how_far, "%d of %d: %d ok, %d flagged, %d failed, %d skipped",
		 c->done, total, c->tally.ok, c->tally.flagged, c->tally.failed, c->tally.skipped);
	c->res.children_kb = c->crew.peak_kb;
	closed = results_close(&c->res, !err, how_far, code);
	if (closed && !err)
		code = FS_EXIT_FAILED;
	if (err || closed)
		say_how_it_stopped(c, err, how_far);
	return code;
}

int conduct(struct plan *p, const struct machine *m, const struct options *o,
	    const struct hooks *h, char *dir, size_t len)
{
	struct conduct c = { .plan = p, .opt = o, .hooks = h, .res.lock = -1 };
	int code = FS_EXIT_REFUSED;

	crew_init(&c.crew);
	c.stands = calloc((size_t)p->npoints * (size_t)o->repeat + 1, 1);
	snprintf(dir, len, "%s", o->dir ? o->dir : "");
	if (!c.stands)
		fs_fail(ENOMEM, "out of memory");
	else if (!standing_read(p, o, c.stands, &c.seq, stands, &c)) {
		if (o->from && o->from->run)
			fs_note("%s: %d points and repetitions stand, %d failed and %d missing ones %s", o->dir,
				o->from->kept, o->from->failed, o->from->missing, o->from->failed + o->from->missing ?
				"are measured now" : "are left: nothing is measured");
		/* What is whole stays as it is, to the byte; a summary.csv that is gone is merged again, out of the points. */
		if (o->from && o->from->complete && c.done == p->npoints * o->repeat && results_there(o)) {
			results_tidy(&c.res, p, o);
			code = exit_of(&c.tally);
		} else
			code = run_all(&c, m);
	}
	if (c.res.dir[0])
		snprintf(dir, len, "%s", c.res.dir);
	results_free(&c.res);
	free(c.stands);
	return code;
}
