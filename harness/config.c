/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Config files become experiments. A section is judged as a whole when it has
 * ended, since its probe decides which variables it may set; [global], which
 * comes first, is kept and copied into each. Every fault is reported at its own
 * line with what would be legal, and reading goes on, up to PLAN_FAULTS_MAX.
 */
#include "harness/err.h"
#include "harness/inifile.h"
#include "harness/plan.h"
#include "harness/plan_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char keys_legal[] = "probe, vary, values, title, absent";

/* Marks of [global]'s variables. */
enum { UNREAD, READ, NOT_COPIED };

struct config {
	struct plan *p;
	const char *path;
	struct faults faults;
	struct ini_section global; /* line 0: none */
	int sections;              /* experiments of this file */
	int others;                /* of the files before */
	struct value *vals;        /* scratch for lists */
};

/* "file.ini:12"; valid until the next call. */
static const char *at_line(const struct config *c, int line)
{
	static _Thread_local char where[4096 + 16];

	snprintf(where, sizeof(where), "%s:%d", c->path, line);
	return where;
}

#define FAULT(c, line, ...) plan_fault(&(c)->faults, at_line(c, line), __VA_ARGS__)

/* ---- keys ---- */

static int is_plan_key(const char *name)
{
	return !strcmp(name, "probe") || !strcmp(name, "vary") || !strcmp(name, "values") ||
	       !strcmp(name, "title") || !strcmp(name, "absent");
}

/* Does the key set a variable to something legal? */
static int key_variable(struct config *c, const struct ini_key *k, const struct probe *probe)
{
	int v = fs_var_find(k->name);
	char names[PLAN_NAMES_LEN];
	struct value val;

	if (v < 0)
		FAULT(c, k->line, "there is no key \"%s\"; legal: %s and the variables %s", k->name,
		      keys_legal, var_names(probe, names, sizeof(names)));
	else if (fs_var_parse(&fs_vars[v], k->text, &val))
		FAULT(c, k->line, "%s%s", fs_reason(), strpbrk(k->text, ",*+") ?
		      " (a list goes into `values`, with `vary`)" : "");
	else
		return 1;
	return 0;
}

static void absent_check(struct config *c, const struct ini_key *k)
{
	if (k && strcmp(k->text, "skip") && strcmp(k->text, "error"))
		FAULT(c, k->line, "absent: \"%s\" is not legal; legal: skip or error", k->text);
}

static void probe_check(struct config *c, const struct ini_key *k)
{
	char names[PLAN_NAMES_LEN];

	if (k && !fs_probe_find(k->text))
		FAULT(c, k->line, "there is no probe \"%s\"; legal: %s", k->text,
		      probe_names(names, sizeof(names)));
}

/* ---- sections ---- */

/* Whether the experiments' probes read these variables is known at the end of
 * the file; see global_unread(). */
static void global_end(struct config *c, struct ini_section *s)
{
	if (c->sections)
		FAULT(c, s->line, "[global] stands behind an experiment; legal: first in the file");
	for (int i = 0; i < s->n; i++) {
		struct ini_key *k = &s->key[i];

		k->mark = NOT_COPIED;
		if (!strcmp(k->name, "probe"))
			probe_check(c, k);
		else if (!strcmp(k->name, "absent"))
			absent_check(c, k);
		else if (is_plan_key(k->name))
			FAULT(c, k->line, "%s stands in [global]; legal: in an experiment's section",
			      k->name);
		else if (key_variable(c, k, NULL))
			k->mark = UNREAD;
	}
	c->global = *s;
	memset(s, 0, sizeof(*s));
}

static void vary_check(struct config *c, const struct ini_section *s,
		       const struct probe *probe)
{
	const struct ini_key *vary = ini_section_key(s, "vary");
	const struct ini_key *values = ini_section_key(s, "values"), *set;
	char names[PLAN_NAMES_LEN];
	int v;

	if (!vary && !values)
		return;
	if (!vary || !values) {
		FAULT(c, vary ? vary->line : values->line, "`%s` stands without `%s`",
		      vary ? "vary" : "values", vary ? "values" : "vary");
		return;
	}
	v = fs_var_find(vary->text);
	if (v < 0 || (probe && !fs_probe_reads(probe, vary->text))) {
		FAULT(c, vary->line, "%s%s%s \"%s\"; legal: %s",
		      v < 0 ? "there is no variable" : "probe \"", v < 0 ? "" : probe->name,
		      v < 0 ? "" : "\" doesn't read", vary->text,
		      var_names(probe, names, sizeof(names)));
		return;
	}
	set = ini_section_key(s, vary->text);
	if (set)
		FAULT(c, set->line, "%s is set here and varied in line %d; legal: one of the two",
		      set->name, vary->line);
	if (fs_list_parse(&fs_vars[v], values->text, c->vals, PLAN_VALUES_MAX) < 0)
		FAULT(c, values->line, "%s", fs_reason());
}

/* Sets of [global], whether this probe reads them or not: the command line may
 * still name another one. */
static int global_copy(struct config *c, struct experiment *e, const struct probe *probe)
{
	int rc = 0;

	for (int i = 0; i < c->global.n && !rc; i++) {
		struct ini_key *k = &c->global.key[i];

		if (k->mark == NOT_COPIED)
			continue;
		if (!probe || fs_probe_reads(probe, k->name))
			k->mark = READ;
		rc = experiment_set(e, k->name, k->text, at_line(c, k->line));
	}
	e->nglobal = e->nset;
	return rc;
}

static int section_copy(struct config *c, const struct ini_section *s, struct experiment *e,
			const struct probe *probe)
{
	char names[PLAN_NAMES_LEN];
	int rc = 0;

	for (int i = 0; i < s->n && !rc; i++) {
		const struct ini_key *k = &s->key[i];

		if (!strcmp(k->name, "vary"))
			rc = text_replace(&e->vary, k->text);
		else if (!strcmp(k->name, "title"))
			rc = text_replace(&e->title, k->text);
		else if (!strcmp(k->name, "values"))
			rc = text_replace(&e->values, k->text) ? -ENOMEM :
			     text_replace(&e->vary_where, at_line(c, k->line));
		if (is_plan_key(k->name) || !key_variable(c, k, probe))
			continue;
		if (probe && !fs_probe_reads(probe, k->name))
			FAULT(c, k->line, "probe \"%s\" doesn't read \"%s\"; legal: %s", probe->name,
			      k->name, var_names(probe, names, sizeof(names)));
		rc = experiment_set(e, k->name, k->text, at_line(c, k->line));
	}
	return rc;
}

static int experiment_end(struct config *c, const struct ini_section *s)
{
	const struct ini_key *own = ini_section_key(s, "probe");
	const struct ini_key *named = own ? own : ini_section_key(&c->global, "probe");
	const struct ini_key *absent = ini_section_key(s, "absent");
	const char *name = named ? named->text : "path";
	const struct probe *probe = fs_probe_find(name);
	char names[PLAN_NAMES_LEN];
	struct experiment *e;
	int rc;

	/* twice in one file is found while it is read */
	for (int i = 0; i < c->others; i++)
		if (!strcmp(c->p->exp[i].name, s->name))
			FAULT(c, s->line, "section [%s] stands already in %s", s->name,
			      c->p->exp[i].where);
	e = plan_add(c->p, s->name, at_line(c, s->line));
	if (!e || text_replace(&e->probe, name))
		return -ENOMEM;
	c->sections++;
	probe_check(c, own);
	if (!named && !probe)
		FAULT(c, s->line, "[%s] names no probe; legal: probe = one of %s", s->name,
		      probe_names(names, sizeof(names)));
	absent_check(c, absent);
	if (!absent)
		absent = ini_section_key(&c->global, "absent");
	e->absent_skip = absent && !strcmp(absent->text, "skip");
	vary_check(c, s, probe);
	rc = global_copy(c, e, probe);
	return rc ? rc : section_copy(c, s, e, probe);
}

static int section_end(void *user, struct ini_section *s)
{
	struct config *c = user;

	if (strcmp(s->name, "global"))
		return experiment_end(c, s);
	global_end(c, s);
	return 0;
}

static void global_unread(struct config *c)
{
	for (int i = 0; i < c->global.n; i++) {
		const struct ini_key *k = &c->global.key[i];

		if (k->mark == UNREAD)
			FAULT(c, k->line, "no experiment's probe reads \"%s\"", k->name);
	}
}

int plan_read(struct plan *p, const char *path)
{
	struct config c = { .p = p, .path = path, .others = p->nexp };
	int rc;

	c.vals = malloc(PLAN_VALUES_MAX * sizeof(*c.vals));
	if (!c.vals)
		return fs_fail(ENOMEM, "out of memory");
	rc = inifile_read(path, &c.faults, section_end, &c);
	if (!rc && c.faults.n < PLAN_FAULTS_MAX) {
		if (c.sections)
			global_unread(&c);
		else if (!c.faults.n)
			plan_fault(&c.faults, path, "no experiment; legal: a section besides [global]");
	}
	ini_section_free(&c.global);
	free(c.vals);
	return rc ? rc : c.faults.n ? -EINVAL : 0;
}
