/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of variables: look-up, parsing, canonical text, points and their
 * ids. Nothing here logs and nothing allocates; a refusal leaves its words in
 * fs_reason(). A name that is not in the table, asked for by code, is a
 * mistake in the program and aborts: a typing error must not read as 0.
 *
 * The id of a point is a hash over the text
 *
 *	PROBE NAME=VALUE NAME=VALUE ...
 *
 * with the variables that differ from their default, ordered by name, values
 * in canonical form. So neither the order of the table, nor a new variable,
 * nor the way a value was typed changes it. It must stay as it is: ids join
 * the points of runs made by different versions.
 */
#include "harness/err.h"
#include "harness/probe.h"
#include "harness/var.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest text of a value, formatted: the longest word and a number. */
#define VALUE_TEXT_MAX 160
/* How much of a refused text is repeated in the message. */
#define SHOWN_MAX 120

static void __attribute__((noreturn, format(printf, 1, 2))) broken(const char *fmt, ...)
{
	va_list ap;

	fputs("fivestage: mistake in the program: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

/* Appends, clipped to the buffer; *at never passes len - 1. */
static void __attribute__((format(printf, 4, 5)))
append(char *buf, size_t len, size_t *at, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (*at + 1 >= len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(buf + *at, len - *at, fmt, ap);
	va_end(ap);
	if (n > 0)
		*at = *at + (size_t)n < len ? *at + (size_t)n : len - 1;
}

/* ---- "a|b|c" ---- */

/* Index of text[0..len) among the words, or -1. */
static int words_find(const char *words, const char *text, size_t len)
{
	int i = 0;

	if (!words || !len)
		return -1;
	for (;; i++) {
		size_t n = strcspn(words, "|");

		if (n == len && !memcmp(words, text, len))
			return i;
		if (!words[n])
			return -1;
		words += n + 1;
	}
}

/* Start and length of word i; NULL when there are fewer. */
static const char *words_at(const char *words, int i, int *len)
{
	while (words) {
		size_t n = strcspn(words, "|");

		if (i-- == 0) {
			*len = (int)n;
			return words;
		}
		words = words[n] ? words + n + 1 : NULL;
	}
	return NULL;
}

/* ---- the table ---- */

int fs_var_count(void)
{
	int n = 0;

	while (fs_vars[n].name)
		n++;
	if (n > FS_VARS_MAX)
		broken("%d variables, a point holds %d", n, FS_VARS_MAX);
	return n;
}

int fs_var_find(const char *name)
{
	for (int i = 0; fs_vars[i].name; i++)
		if (!strcmp(fs_vars[i].name, name))
			return i;
	return -1;
}

static int is_bytes(const struct var *v)
{
	return v->unit && !strcmp(v->unit, "B");
}

/* -EINVAL: no number; -ERANGE: does not fit 64 bits. A minus is accepted only
 * where a negative number could be legal, a plus never. */
static int number_parse(const struct var *v, const char *s, int64_t *out)
{
	int neg = *s == '-' && v->lo < 0;
	int64_t n = 0;

	if (neg)
		s++;
	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s); s++) {
		int d = *s - '0';

		if (__builtin_mul_overflow(n, (int64_t)10, &n) ||
		    __builtin_add_overflow(n, (int64_t)(neg ? -d : d), &n))
			return -ERANGE;
	}
	if (*s && is_bytes(v)) {
		int64_t unit = *s == 'K' ? 1 << 10 : *s == 'M' ? 1 << 20 :
			       *s == 'G' ? 1 << 30 : 0;

		if (!unit)
			return -EINVAL;
		if (__builtin_mul_overflow(n, unit, &n))
			return -ERANGE;
		s++;
	}
	if (*s)
		return -EINVAL;
	*out = n;
	return 0;
}

static int refuse(const struct var *v, const char *text, const char *what)
{
	char legal[1024];

	return fs_reason_set(EINVAL, "%s: \"%.*s\"%s %s; legal: %s", v->name, SHOWN_MAX, text,
			     strlen(text) > SHOWN_MAX ? "..." : "", what,
			     fs_var_legal(v, legal, sizeof(legal)));
}

int fs_var_parse(const struct var *v, const char *text, struct value *out)
{
	const char *digits = text;
	int64_t n = 0;
	int pair = -1, rc;
	int word = words_find(v->words, text, strlen(text));

	if (word >= 0) {
		*out = (struct value){ .word = word, .pair = -1, .num = 0 };
		return 0;
	}
	if (!*text)
		return refuse(v, text, "is empty");
	if (v->pairs) {
		const char *colon = strchr(text, ':');

		if (!colon)
			return refuse(v, text, "is not legal");
		pair = words_find(v->pairs, text, (size_t)(colon - text));
		if (pair < 0)
			return refuse(v, text, "is not legal");
		digits = colon + 1;
	}
	if (v->lo > v->hi)
		return refuse(v, text, "is not legal");
	rc = number_parse(v, digits, &n);
	if (rc == -EINVAL)
		return refuse(v, text, v->words || v->pairs ? "is not legal" :
			      "is not a whole number");
	if (rc || n < v->lo || n > v->hi)
		return refuse(v, text, "is out of range");
	if (v->pow2 && (n <= 0 || (n & (n - 1))))
		return refuse(v, text, "is not a power of two");
	*out = (struct value){ .word = -1, .pair = pair, .num = n };
	return 0;
}

char *fs_var_format(const struct var *v, const struct value *val, char *buf, size_t len)
{
	const char *w;
	int n = 0;

	if (val->word >= 0) {
		w = words_at(v->words, val->word, &n);
		if (!w)
			broken("variable %s has no word %d", v->name, val->word);
		snprintf(buf, len, "%.*s", n, w);
	} else if (val->pair >= 0) {
		w = words_at(v->pairs, val->pair, &n);
		if (!w)
			broken("variable %s has no pair %d", v->name, val->pair);
		snprintf(buf, len, "%.*s:%lld", n, w, (long long)val->num);
	} else {
		snprintf(buf, len, "%lld", (long long)val->num);
	}
	return buf;
}

char *fs_var_legal(const struct var *v, char *buf, size_t len)
{
	int numbers = v->lo <= v->hi, n;
	const char *w;
	size_t at = 0;

	if (len)
		buf[0] = 0;
	for (int i = 0; (w = words_at(v->words, i, &n)); i++) {
		int more, last = !words_at(v->words, i + 1, &more) && !numbers;

		append(buf, len, &at, "%s%.*s", !i ? "" : last ? " or " : ", ", n, w);
	}
	if (!numbers)
		return buf;
	append(buf, len, &at, "%s%s%lld", at ? " or " : "", v->pairs ? "NAME:" : "",
	       (long long)v->lo);
	if (v->hi > v->lo)
		append(buf, len, &at, "..%lld", (long long)v->hi);
	if (v->pow2)
		append(buf, len, &at, ", a power of two");
	if (!v->pairs)
		return buf;
	append(buf, len, &at, ", NAME being ");
	for (int i = 0; (w = words_at(v->pairs, i, &n)); i++) {
		int more, last = !words_at(v->pairs, i + 1, &more);

		append(buf, len, &at, "%s%.*s", !i ? "" : last ? " or " : ", ", n, w);
	}
	return buf;
}

int fs_value_equal(const struct value *a, const struct value *b)
{
	return a->word == b->word && a->pair == b->pair && a->num == b->num;
}

/* ---- points ---- */

static struct value var_default(const struct var *v)
{
	struct value val;

	if (fs_var_parse(v, v->def, &val))
		broken("default of a variable: %s", fs_reason());
	return val;
}

/* Does variable i stand at its default? */
static int is_default(const struct point *pt, int i)
{
	struct value def = var_default(&fs_vars[i]);

	return fs_value_equal(&pt->val[i], &def);
}

void fs_point_init(struct point *pt, const struct probe *probe)
{
	int n = fs_var_count();

	memset(pt, 0, sizeof(*pt));
	pt->probe = probe;
	for (int i = 0; i < n; i++)
		pt->val[i] = var_default(&fs_vars[i]);
	fs_point_id(pt);
}

int fs_point_set(struct point *pt, const char *name, const char *text)
{
	int i = fs_var_find(name);

	if (i < 0)
		return fs_reason_set(ENOENT, "there is no variable \"%s\"", name);
	return fs_var_parse(&fs_vars[i], text, &pt->val[i]);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(fs_vars[*(const int *)a].name, fs_vars[*(const int *)b].name);
}

static uint64_t fnv1a(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

void fs_point_id(struct point *pt)
{
	uint64_t h = fnv1a(0xcbf29ce484222325ull, pt->probe ? pt->probe->name : "");
	char text[VALUE_TEXT_MAX];
	int at[FS_VARS_MAX], n = 0;

	for (int i = 0; fs_vars[i].name; i++)
		if (!is_default(pt, i))
			at[n++] = i;
	qsort(at, (size_t)n, sizeof(at[0]), by_name);
	for (int i = 0; i < n; i++) {
		const struct var *v = &fs_vars[at[i]];

		h = fnv1a(fnv1a(h, " "), v->name);
		h = fnv1a(fnv1a(h, "="), fs_var_format(v, &pt->val[at[i]], text, sizeof(text)));
	}
	snprintf(pt->id, sizeof(pt->id), "%012llx", (unsigned long long)(h >> 16));
}

char *fs_point_text(const struct point *pt, char *buf, size_t len)
{
	char text[VALUE_TEXT_MAX];
	size_t at = 0;

	if (len)
		buf[0] = 0;
	for (int i = 0; fs_vars[i].name; i++)
		if (!is_default(pt, i))
			append(buf, len, &at, "%s%s=%s", at ? " " : "", fs_vars[i].name,
			       fs_var_format(&fs_vars[i], &pt->val[i], text, sizeof(text)));
	return buf;
}

/* ---- readers ---- */

static int must_find(const char *name)
{
	int i = fs_var_find(name);

	if (i < 0)
		broken("there is no variable \"%s\"", name);
	return i;
}

int64_t fs_num(const struct point *pt, const char *name)
{
	return pt->val[must_find(name)].num;
}

int fs_word(const struct point *pt, const char *name)
{
	return pt->val[must_find(name)].word;
}

int fs_pair(const struct point *pt, const char *name)
{
	return pt->val[must_find(name)].pair;
}

int fs_is(const struct point *pt, const char *name, const char *word)
{
	int i = must_find(name), w = words_find(fs_vars[i].words, word, strlen(word));

	if (w < 0)
		broken("variable %s has no word \"%s\"", name, word);
	return pt->val[i].word == w;
}

const char *fs_word_text(const struct point *pt, const char *name, char *buf, size_t len)
{
	int i = must_find(name);

	return fs_var_format(&fs_vars[i], &pt->val[i], buf, len);
}

/* ---- probes ---- */

const struct probe *fs_probe_find(const char *name)
{
	for (int i = 0; fs_probes[i]; i++)
		if (!strcmp(fs_probes[i]->name, name))
			return fs_probes[i];
	return NULL;
}

static int named(const char *const *names, const char *name)
{
	for (int i = 0; names && names[i]; i++)
		if (!strcmp(names[i], name))
			return 1;
	return 0;
}

int fs_probe_reads(const struct probe *p, const char *var)
{
	return named(p->reads, var) || (fs_beside && named(fs_beside->reads, var));
}

int fs_probe_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	int rc = pt->probe->check ? pt->probe->check(pt, m, why, len) : 0;

	return rc || !fs_beside ? rc : fs_beside->check(pt, m, why, len);
}

int fs_probe_run(const struct point *pt, struct rows *out)
{
	void *state = NULL;
	int rc = fs_beside ? fs_beside->begin(pt, &state) : 0, rc2;

	if (rc)
		return rc;
	rc = pt->probe->run(pt, out);
	rc2 = fs_beside && state ? fs_beside->end(state, out) : 0;
	return rc ? rc : rc2;
}
