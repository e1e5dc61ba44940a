/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: memory, what the readers share, and the command line. The plan owns
 * all its texts; plan_free() is legal at any time after plan_init(), also
 * after a reader failed halfway.
 */
#include "harness/err.h"
#include "harness/plan.h"
#include "harness/plan_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *p)
{
	memset(p, 0, sizeof(*p));
}

void plan_free(struct plan *p)
{
	for (int i = 0; i < p->nexp; i++) {
		struct experiment *e = &p->exp[i];

		for (int k = 0; k < e->nset; k++) {
			free(e->set[k].name);
			free(e->set[k].text);
			free(e->set[k].where);
		}
		free(e->set);
		free(e->name);
		free(e->where);
		free(e->probe);
		free(e->vary);
		free(e->values);
		free(e->vary_where);
		free(e->title);
	}
	free(p->exp);
	free(p->point);
	free(p->row);
	free(p->order);
	plan_init(p);
}

/* ---- shared by the readers ---- */

int plan_fault(struct faults *f, const char *where, const char *fmt, ...)
{
	char words[2048]; /* a copy: the arguments may be fs_reason()'s */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	f->n++;
	if (f->n <= PLAN_FAULTS_MAX)
		fs_fail(EINVAL, "%s: %s", where, words);
	if (f->n == PLAN_FAULTS_MAX)
		fs_note("%d faults; no more are reported", PLAN_FAULTS_MAX);
	return f->n >= PLAN_FAULTS_MAX;
}

struct experiment *plan_add(struct plan *p, const char *name, const char *where)
{
	struct experiment *e = p->exp;

	if (!(p->nexp & (p->nexp - 1))) /* full at each power of two: room for as many again */
		e = realloc(e, (p->nexp ? 2 * (size_t)p->nexp : 1) * sizeof(*e));
	if (!e)
		goto out;
	p->exp = e;
	e += p->nexp++;
	memset(e, 0, sizeof(*e));
	if (!text_replace(&e->name, name) && !text_replace(&e->where, where))
		return e;
out:
	fs_fail(ENOMEM, "out of memory");
	return NULL;
}

int experiment_set(struct experiment *e, const char *name, const char *text, const char *where)
{
	struct setting *s = realloc(e->set, ((size_t)e->nset + 1) * sizeof(*s));

	if (!s)
		return fs_fail(ENOMEM, "out of memory");
	e->set = s;
	s += e->nset++;
	memset(s, 0, sizeof(*s));
	if (text_replace(&s->name, name) || text_replace(&s->text, text))
		return -ENOMEM;
	return text_replace(&s->where, where);
}

int text_replace(char **slot, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return fs_fail(ENOMEM, "out of memory");
	free(*slot);
	*slot = copy;
	return 0;
}

char *var_names(const struct probe *probe, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = 0;
	for (int i = 0; fs_vars[i].name && at < len; i++)
		if (!probe || fs_probe_reads(probe, fs_vars[i].name))
			at += (size_t)snprintf(buf + at, len - at, "%s%s", at ? ", " : "",
					       fs_vars[i].name);
	return buf;
}

char *probe_names(char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = 0;
	for (int i = 0; fs_probes[i] && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", at ? ", " : "",
				       fs_probes[i]->name);
	return buf;
}

/* ---- the command line ---- */

static const char cli_where[] = "command line";

struct arg {
	char *name;       /* owned */
	const char *text; /* behind the '=' */
	int var, n;       /* row of the table; number of values */
	char one[160];    /* the value, when it is one */
};

struct cli {
	struct plan *p;
	struct arg *arg;
	int n;
	const char *probe; /* named by probe=, or NULL */
	int cross, config; /* config: experiments stood already */
	struct faults faults;
};

static int arg_parse(struct cli *c, const char *text, struct value *vals)
{
	const char *eq = strchr(text, '=');
	struct arg *a = &c->arg[c->n];
	char names[PLAN_NAMES_LEN];

	if (!eq || eq == text) {
		plan_fault(&c->faults, cli_where, "\"%s\" is no assignment; legal: NAME=VALUE[,VALUE...]",
			   text);
		return 0;
	}
	a->name = strndup(text, (size_t)(eq - text));
	if (!a->name)
		return fs_fail(ENOMEM, "out of memory");
	a->text = eq + 1;
	a->var = fs_var_find(a->name);
	a->n = 0;
	c->n++;
	for (int i = 0; i < c->n - 1; i++)
		if (!strcmp(c->arg[i].name, a->name)) {
			plan_fault(&c->faults, cli_where, "%s is given twice; legal: once, with a list",
				   a->name);
			return 0;
		}
	if (!strcmp(a->name, "probe")) {
		c->probe = a->text;
		if (!fs_probe_find(a->text))
			plan_fault(&c->faults, cli_where, "there is no probe \"%s\"; legal: %s", a->text,
				   probe_names(names, sizeof(names)));
		return 0;
	}
	if (a->var < 0) {
		plan_fault(&c->faults, cli_where, "there is no variable \"%s\"; legal: probe, %s",
			   a->name, var_names(NULL, names, sizeof(names)));
		return 0;
	}
	a->n = fs_list_parse(&fs_vars[a->var], a->text, vals, PLAN_VALUES_MAX);
	if (a->n < 0)
		plan_fault(&c->faults, cli_where, "%s", fs_reason());
	else
		fs_var_format(&fs_vars[a->var], &vals[0], a->one, sizeof(a->one));
	return 0;
}

/* The order in which they were typed must not matter. */
static int by_table(const void *a, const void *b)
{
	return ((const struct arg *)a)->var - ((const struct arg *)b)->var;
}

static int vary_replace(struct experiment *e, const char *vary, const char *values)
{
	int rc = text_replace(&e->vary, vary);

	if (!rc)
		rc = text_replace(&e->values, values);
	return rc ? rc : text_replace(&e->vary_where, cli_where);
}

/* Adds a name and its list to what the cli experiment varies. */
static int vary_extend(struct experiment *e, const struct arg *a)
{
	char *vary = NULL, *values = NULL;
	int rc = -ENOMEM;

	if (!e->vary)
		return vary_replace(e, a->name, a->text);
	if (asprintf(&vary, "%s*%s", e->vary, a->name) < 0)
		vary = NULL;
	else if (asprintf(&values, "%s" PLAN_GRID "%s", e->values, a->text) < 0)
		values = NULL;
	if (vary && values)
		rc = vary_replace(e, vary, values);
	else
		fs_fail(ENOMEM, "out of memory");
	free(vary);
	free(values);
	return rc;
}

static int apply_to_cli(struct cli *c, const struct arg *a)
{
	struct experiment *e = &c->p->exp[0];
	const struct probe *probe = fs_probe_find(e->probe);
	char names[PLAN_NAMES_LEN];

	if (probe && !fs_probe_reads(probe, a->name))
		plan_fault(&c->faults, cli_where, "probe \"%s\" doesn't read \"%s\"; legal: %s",
			   e->probe, a->name, var_names(probe, names, sizeof(names)));
	return a->n > 1 ? vary_extend(e, a) : experiment_set(e, a->name, a->one, cli_where);
}

static int apply_to_config(struct cli *c, const struct arg *a)
{
	int taken = 0, rc = 0;

	for (int i = 0; i < c->p->nexp && !rc; i++) {
		struct experiment *e = &c->p->exp[i];
		const struct probe *probe = fs_probe_find(e->probe);

		if (!probe)
			taken = 1; /* reported where the probe was named */
		if (e->vary && !strcmp(e->vary, a->name)) {
			rc = vary_replace(e, a->name, a->text);
			taken = 1;
		} else if (a->n == 1 && probe && fs_probe_reads(probe, a->name)) {
			rc = experiment_set(e, a->name, a->one, cli_where);
			taken = 1;
		}
	}
	if (!taken && a->n == 1)
		plan_fault(&c->faults, cli_where, "no experiment's probe reads \"%s\"", a->name);
	else if (!taken)
		plan_fault(&c->faults, cli_where, "no experiment varies \"%s\"; legal: a single value",
			   a->name);
	return rc;
}

/* The cli experiment, if there is no other, and probe=, which decides what is
 * read and so goes before the rest. */
static int cli_start(struct cli *c)
{
	const char *probe = c->probe ? c->probe : c->config ? NULL : "path";
	char names[PLAN_NAMES_LEN];
	int rc = 0;

	if (!c->config && !plan_add(c->p, "cli", cli_where))
		return -ENOMEM;
	if (!c->config && !c->probe && !fs_probe_find(probe))
		plan_fault(&c->faults, cli_where, "there is no probe \"%s\"; legal: probe=%s", probe,
			   probe_names(names, sizeof(names)));
	for (int i = 0; probe && i < c->p->nexp && !rc; i++)
		rc = text_replace(&c->p->exp[i].probe, probe);
	return rc;
}

static int cli_apply(struct cli *c)
{
	const struct arg *list = NULL;
	int rc = cli_start(c);

	qsort(c->arg, (size_t)c->n, sizeof(c->arg[0]), by_table);
	for (int i = 0; i < c->n && !rc; i++) {
		const struct arg *a = &c->arg[i];

		if (a->n < 1)
			continue;
		if (a->n > 1 && list && !c->cross)
			plan_fault(&c->faults, cli_where, "both \"%s\" and \"%s\" are lists; legal: one "
				   "list, or --cross for the grid", list->name, a->name);
		if (a->n > 1)
			list = a;
		rc = c->config ? apply_to_config(c, a) : apply_to_cli(c, a);
	}
	return rc;
}

int plan_cli(struct plan *p, char *const *args, int nargs, int cross)
{
	struct cli c = { .p = p, .cross = cross, .config = p->nexp > 0 };
	struct value *vals = malloc(PLAN_VALUES_MAX * sizeof(*vals));
	int rc = 0;

	c.arg = calloc((size_t)nargs + 1, sizeof(*c.arg));
	if (!vals || !c.arg)
		rc = fs_fail(ENOMEM, "out of memory");
	for (int i = 0; i < nargs && !rc; i++)
		rc = arg_parse(&c, args[i], vals);
	if (!rc)
		rc = cli_apply(&c);
	for (int i = 0; c.arg && i < c.n; i++)
		free(c.arg[i].name);
	free(c.arg);
	free(vals);
	return rc ? rc : c.faults.n ? -EINVAL : 0;
}
