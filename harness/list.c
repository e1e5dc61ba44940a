/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list grammar, the same in files and on the command line:
 *
 *	LIST = ITEM {"," ITEM}
 *	ITEM = VALUE | A ".." B "*" F | A ".." B "+" S
 *
 * Blanks are allowed around items, not inside. B only bounds a range and need
 * not be hit; every value that comes out must be legal for the variable, so
 * that nothing is left out of a range unseen.
 */
#include "harness/err.h"
#include "harness/var.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	const struct var *v;
	struct value *out;
	int n, max;
};

static int list_add(struct list *l, const struct value *val)
{
	char text[160];

	for (int i = 0; i < l->n; i++)
		if (fs_value_equal(&l->out[i], val))
			return fs_reason_set(EINVAL, "%s: %s stands twice in the list", l->v->name,
					     fs_var_format(l->v, val, text, sizeof(text)));
	if (l->n >= l->max)
		return fs_reason_set(EINVAL, "%s: more than %d values", l->v->name, l->max);
	l->out[l->n++] = *val;
	return 0;
}

/* Any whole number, with the variable's suffixes: bounds and steps of a range
 * are not values of the variable. */
static int bound_parse(const struct var *v, const char *text, int64_t *out)
{
	struct var any = { .name = v->name, .unit = v->unit, .lo = INT64_MIN, .hi = INT64_MAX };
	struct value val;
	int rc = fs_var_parse(&any, text, &val);

	if (!rc)
		*out = val.num;
	return rc;
}

/* `item` is A..B*F or A..B+S, cut at `dots`; it is changed. */
static int range_parse(struct list *l, char *item, char *dots)
{
	const char *name = l->v->name;
	char whole[160], text[32], *op, kind;
	int64_t a, b, step;
	struct value val;
	int rc;

	snprintf(whole, sizeof(whole), "%s", item);
	if (l->v->lo > l->v->hi || l->v->pairs)
		return fs_var_parse(l->v, item, &val) ? -EINVAL : list_add(l, &val);
	op = strpbrk(dots + 2, "*+");
	if (!op)
		return fs_reason_set(EINVAL, "%s: range \"%s\" has neither factor nor step; legal: A..B*F "
				     "(A, A*F, ... up to B) or A..B+S", name, whole);
	kind = *op;
	*op = 0;
	*dots = 0;
	if (bound_parse(l->v, item, &a) || bound_parse(l->v, dots + 2, &b) ||
	    bound_parse(l->v, op + 1, &step))
		return fs_reason_set(EINVAL, "%s: range \"%s\" is made of something other than whole "
				     "numbers; legal: A..B*F or A..B+S", name, whole);
	if (a > b)
		return fs_reason_set(EINVAL, "%s: range \"%s\" descends", name, whole);
	if (kind == '*' && step < 2)
		return fs_reason_set(EINVAL, "%s: range \"%s\" never ends; legal: a factor of 2 or more",
				     name, whole);
	if (kind == '*' && a < 1)
		return fs_reason_set(EINVAL, "%s: range \"%s\" never ends; legal: a first value of 1 or "
				     "more before a factor", name, whole);
	if (kind == '+' && step < 1)
		return fs_reason_set(EINVAL, "%s: range \"%s\" never ends; legal: a step of 1 or more",
				     name, whole);
	for (;;) {
		/* By way of the text, so that a range obeys the rules of a value. */
		snprintf(text, sizeof(text), "%lld", (long long)a);
		rc = fs_var_parse(l->v, text, &val);
		if (!rc)
			rc = list_add(l, &val);
		if (rc)
			return rc;
		if (kind == '*' ? __builtin_mul_overflow(a, step, &a) :
				  __builtin_add_overflow(a, step, &a))
			return 0;
		if (a > b)
			return 0;
	}
}

static int item_parse(struct list *l, char *item)
{
	char *dots;
	struct value val;
	int rc;

	if (!*item)
		return fs_reason_set(EINVAL, "%s: an item of the list is empty", l->v->name);
	dots = strstr(item, "..");
	if (dots)
		return range_parse(l, item, dots);
	rc = fs_var_parse(l->v, item, &val);
	return rc ? rc : list_add(l, &val);
}

int fs_list_parse(const struct var *v, const char *text, struct value *out, int max)
{
	struct list l = { .v = v, .out = out, .max = max };
	char *copy = strdup(text), *item = copy;
	int rc = 0;

	if (!copy)
		return fs_reason_set(ENOMEM, "out of memory");
	while (item && !rc) {
		char *comma = strchr(item, ','), *end;

		if (comma)
			*comma = 0;
		item += strspn(item, " \t");
		end = item + strlen(item);
		while (end > item && isspace((unsigned char)end[-1]))
			*--end = 0;
		rc = item_parse(&l, item);
		item = comma ? comma + 1 : NULL;
	}
	free(copy);
	return rc ? rc : l.n;
}
