/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From experiments to points. Each experiment is a base point and zero or more
 * axes (one, unless a grid was asked for); every combination is a row, and
 * rows with the same values share one point.
 *
 * 1. Settings are applied to the base point, [global]'s first; a later one
 *    wins, and an axis wins over all.
 * 2. A point is looked up by its id. Equal ids with different values would
 *    join points that are not the same, so they are refused.
 * 3. The probe's check runs once a point. What it says is reported for every
 *    row that asks for the point, since each of these places is wrong.
 */
#include "harness/err.h"
#include "harness/plan.h"
#include "harness/plan_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct axis {
	int var;
	struct value *val;
	int n, at; /* at: which value stands now */
};

struct builder {
	struct plan *p;
	const struct machine *m;
	struct faults faults;
	int *check;         /* what the probe said, a point */
	int cap_points, cap_rows;
	int *slot, nslots;  /* open addressing by id: index of a point, or -1 */
};

/* ---- points by id ---- */

static int slots_grow(struct builder *b)
{
	int n = b->nslots ? b->nslots * 2 : 256;
	int *slot = malloc((size_t)n * sizeof(*slot));

	if (!slot)
		return fs_fail(ENOMEM, "out of memory");
	for (int i = 0; i < n; i++)
		slot[i] = -1;
	for (int i = 0; i < b->p->npoints; i++) {
		uint64_t at = strtoull(b->p->point[i].pt.id, NULL, 16) % (uint64_t)n;

		while (slot[at] >= 0)
			at = (at + 1) % (uint64_t)n;
		slot[at] = i;
	}
	free(b->slot);
	b->slot = slot;
	b->nslots = n;
	return 0;
}

/* The slot where a point of this id is, or would be put. */
static int *slot_of(struct builder *b, const char *id)
{
	uint64_t at = strtoull(id, NULL, 16) % (uint64_t)b->nslots;

	while (b->slot[at] >= 0 && strcmp(b->p->point[b->slot[at]].pt.id, id))
		at = (at + 1) % (uint64_t)b->nslots;
	return &b->slot[at];
}

static int same_values(const struct point *a, const struct point *b)
{
	if (a->probe != b->probe)
		return 0;
	for (int i = 0; fs_vars[i].name; i++)
		if (!fs_value_equal(&a->val[i], &b->val[i]))
			return 0;
	return 1;
}

static int points_reserve(struct builder *b)
{
	int cap = b->cap_points ? b->cap_points * 2 : 64;
	struct plan_point *point;
	int *check;

	if (b->p->npoints < b->cap_points)
		return 0;
	point = realloc(b->p->point, (size_t)cap * sizeof(*point));
	if (point)
		b->p->point = point;
	check = realloc(b->check, (size_t)cap * sizeof(*check));
	if (check)
		b->check = check;
	if (!point || !check)
		return fs_fail(ENOMEM, "out of memory");
	b->cap_points = cap;
	return 0;
}

/* Index of the point, which is made and checked if it is new. */
static int point_find(struct builder *b, const struct point *pt)
{
	struct plan_point *new;
	int *slot, i = b->p->npoints;

	if (2 * (i + 1) > b->nslots && slots_grow(b))
		return -ENOMEM;
	slot = slot_of(b, pt->id);
	if (*slot >= 0) {
		if (same_values(&b->p->point[*slot].pt, pt))
			return *slot;
		return fs_fail(EEXIST, "two different points have the id %s; change a value of one",
			       pt->id);
	}
	if (points_reserve(b))
		return -ENOMEM;
	new = &b->p->point[i];
	memset(new, 0, sizeof(*new));
	new->pt = *pt;
	b->check[i] = fs_probe_check(pt, b->m, new->why, sizeof(new->why));
	*slot = i;
	b->p->npoints++;
	return i;
}

/* ---- rows ---- */

/* "a*b" and "1*2" of the values that stand now. Cut texts would make rows
 * that can't be told apart, so they are refused. */
static int row_name(struct builder *b, const struct experiment *e, struct plan_row *r,
		    const struct axis *axis, int naxes)
{
	size_t vary = 0, value = 0;
	char text[160];

	for (int i = 0; i < naxes; i++) {
		const struct var *v = &fs_vars[axis[i].var];
		const char *star = i ? "*" : "";

		vary += (size_t)snprintf(r->varied + vary, sizeof(r->varied) - vary, "%s%s", star,
					 v->name);
		value += (size_t)snprintf(r->value + value, sizeof(r->value) - value, "%s%s", star,
					  fs_var_format(v, &axis[i].val[axis[i].at], text,
							sizeof(text)));
		if (vary >= sizeof(r->varied) || value >= sizeof(r->value)) {
			plan_fault(&b->faults, e->vary_where, "[%s] varies too much at once: the "
				   "names or the values together are over %zu characters", e->name,
				   sizeof(r->value) - 1);
			return -EINVAL;
		}
	}
	return 0;
}

static void row_check(struct builder *b, const struct experiment *e, const struct plan_row *r)
{
	struct plan_point *pp = &b->p->point[r->point];
	const char *where = e->vary_where ? e->vary_where : e->where;
	int rc = b->check[r->point];
	char text[512];

	if (!rc)
		return;
	if (rc == -ENODEV && e->absent_skip) {
		pp->skipped = 1;
		return;
	}
	plan_fault(&b->faults, where, "[%s]%s%s%s%s: probe %s with %s: %s%s", e->name,
		   *r->varied ? " " : "", r->varied, *r->varied ? "=" : "", r->value,
		   pp->pt.probe->name,
		   *fs_point_text(&pp->pt, text, sizeof(text)) ? text : "all defaults",
		   *pp->why ? pp->why : strerror(-rc),
		   rc == -ENODEV ? " (`absent = skip` in a config leaves such points out)" : "");
}

static int row_add(struct builder *b, int experiment, struct point *pt,
		   const struct axis *axis, int naxes)
{
	struct plan_row r = { .experiment = experiment };
	struct plan_row *row;

	fs_point_id(pt);
	if (row_name(b, &b->p->exp[experiment], &r, axis, naxes))
		return -EINVAL;
	r.point = point_find(b, pt);
	if (r.point < 0)
		return r.point;
	if (b->p->nrows == b->cap_rows) {
		int cap = b->cap_rows ? b->cap_rows * 2 : 64;

		row = realloc(b->p->row, (size_t)cap * sizeof(*row));
		if (!row)
			return fs_fail(ENOMEM, "out of memory");
		b->p->row = row;
		b->cap_rows = cap;
	}
	b->p->row[b->p->nrows++] = r;
	row_check(b, &b->p->exp[experiment], &r);
	return 0;
}

/* ---- experiments ---- */

/* The base point; faults are counted, -ENOENT when there is no probe. */
static int base_point(struct builder *b, const struct experiment *e, struct point *pt)
{
	const struct probe *probe = fs_probe_find(e->probe);
	char names[PLAN_NAMES_LEN];

	if (!probe) {
		plan_fault(&b->faults, e->where, "[%s] there is no probe \"%s\"; legal: %s", e->name,
			   e->probe, probe_names(names, sizeof(names)));
		return -ENOENT;
	}
	fs_point_init(pt, probe);
	for (int i = 0; i < e->nset; i++) {
		const struct setting *s = &e->set[i];

		if (fs_probe_reads(probe, s->name)) {
			if (fs_point_set(pt, s->name, s->text))
				plan_fault(&b->faults, s->where, "%s", fs_reason());
		} else if (i >= e->nglobal) {
			plan_fault(&b->faults, s->where, "[%s] probe \"%s\" doesn't read \"%s\"; legal: %s",
				   e->name, probe->name, s->name, var_names(probe, names, sizeof(names)));
		}
	}
	return 0;
}

static int axis_open(struct builder *b, const struct experiment *e, struct axis *axis,
		     const char *name, const char *values)
{
	char names[PLAN_NAMES_LEN];
	const struct probe *probe = fs_probe_find(e->probe);

	axis->var = fs_var_find(name);
	if (axis->var < 0 || !fs_probe_reads(probe, name)) {
		plan_fault(&b->faults, e->vary_where, "[%s] probe \"%s\" doesn't read \"%s\"; legal: %s",
			   e->name, e->probe, name, var_names(probe, names, sizeof(names)));
		return 0;
	}
	axis->val = malloc(PLAN_VALUES_MAX * sizeof(*axis->val));
	if (!axis->val)
		return fs_fail(ENOMEM, "out of memory");
	axis->n = fs_list_parse(&fs_vars[axis->var], values, axis->val, PLAN_VALUES_MAX);
	if (axis->n < 0)
		plan_fault(&b->faults, e->vary_where, "%s", fs_reason());
	return 0;
}

/* Splits `vary` and `values`, which are parallel. Returns how many axes. */
static int axes_open(struct builder *b, const struct experiment *e, struct axis *axis)
{
	char *vary = strdup(e->vary), *values = strdup(e->values);
	char *v = vary, *l = values, *name, *list;
	int n = 0, rc = 0;

	if (!vary || !values)
		rc = fs_fail(ENOMEM, "out of memory");
	while (!rc && n < FS_VARS_MAX && (name = strsep(&v, "*")) && (list = strsep(&l, PLAN_GRID)))
		rc = axis_open(b, e, &axis[n++], name, list);
	free(vary);
	free(values);
	return rc ? rc : n;
}

/* Steps the last axis first, like a counter; 0 when all are through. */
static int axes_step(struct axis *axis, int n)
{
	while (n-- > 0) {
		if (++axis[n].at < axis[n].n)
			return 1;
		axis[n].at = 0;
	}
	return 0;
}

static int experiment_expand(struct builder *b, int experiment)
{
	const struct experiment *e = &b->p->exp[experiment];
	struct axis axis[FS_VARS_MAX] = { 0 };
	int before = b->faults.n, naxes = 0, rc;
	int64_t rows = 1;
	struct point pt;

	if (base_point(b, e, &pt))
		return 0;
	if (e->vary)
		naxes = axes_open(b, e, axis);
	rc = naxes < 0 ? naxes : 0;
	if (rc || b->faults.n > before)
		goto out; /* half an experiment would only repeat the fault */
	for (int i = 0; i < naxes && rows <= PLAN_ROWS_MAX; i++)
		rows *= axis[i].n;
	if (b->p->nrows + rows > PLAN_ROWS_MAX) {
		plan_fault(&b->faults, e->vary_where ? e->vary_where : e->where,
			   "[%s] the plan has more than %d points", e->name, PLAN_ROWS_MAX);
		goto out;
	}
	do {
		for (int i = 0; i < naxes; i++)
			pt.val[axis[i].var] = axis[i].val[axis[i].at];
		rc = row_add(b, experiment, &pt, axis, naxes);
	} while (!rc && axes_step(axis, naxes));
out:
	for (int i = 0; i < FS_VARS_MAX; i++)
		free(axis[i].val);
	return rc;
}

int plan_expand(struct plan *p, const struct machine *m)
{
	struct builder b = { .p = p, .m = m };
	int rc = 0;

	free(p->point);
	free(p->row);
	free(p->order);
	p->point = NULL;
	p->row = NULL;
	p->order = NULL;
	p->npoints = p->nrows = 0;
	if (!p->nexp)
		return fs_fail(EINVAL, "the plan has no experiment");
	for (int i = 0; i < p->nexp && !rc; i++)
		rc = experiment_expand(&b, i);
	if (!rc && b.faults.n > PLAN_FAULTS_MAX)
		fs_note("%d faults in all", b.faults.n);
	if (!rc && b.faults.n)
		rc = -EINVAL;
	if (!rc) {
		p->order = malloc(((size_t)p->npoints + 1) * sizeof(*p->order));
		if (!p->order)
			rc = fs_fail(ENOMEM, "out of memory");
		for (int i = 0; p->order && i < p->npoints; i++)
			p->order[i] = i;
	}
	free(b.check);
	free(b.slot);
	return rc;
}
