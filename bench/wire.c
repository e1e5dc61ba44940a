/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as JSON between child and parent. A missing number is null; texts that
 * are too long for their field, or no UTF-8, are an error of the child's and
 * never the parent's end.
 */
#include "bench/bench.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

json_t *wire_text(const char *s)
{
	json_t *j = json_string(s);

	if (!j) {
		char *copy = strdup(s);

		for (char *p = copy; p && *p; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		j = copy ? json_string(copy) : NULL;
		free(copy);
	}
	return j;
}

/* The fields of a row, once for both directions. */
static const struct { const char *name; size_t at, len; } texts[] = {
#define TEXT(f) { #f, offsetof(struct row, f), sizeof ((struct row *)0)->f }
	TEXT(stage), TEXT(interval), TEXT(link), TEXT(metric), TEXT(unit),
	TEXT(origin), TEXT(order_class), TEXT(reason_code), TEXT(reason),
#undef TEXT
};

static const struct { const char *name; size_t at; } numbers[] = {
#define NUMBER(f) { #f, offsetof(struct row, s.f) }
	NUMBER(mean), NUMBER(ci_lo), NUMBER(ci_hi), NUMBER(min), NUMBER(p50), NUMBER(p90),
	NUMBER(p99), NUMBER(p999), NUMBER(max), NUMBER(mad),
#undef NUMBER
};

#define COUNT(a) (sizeof (a) / sizeof (a)[0])

json_t *row_to_json(const struct row *r)
{
	json_t *j = json_object();

	for (size_t i = 0; i < COUNT(texts); i++)
		json_object_set_new(j, texts[i].name, wire_text((const char *)r + texts[i].at));
	for (size_t i = 0; i < COUNT(numbers); i++) {
		double x = *(const double *)((const char *)r + numbers[i].at);

		json_object_set_new(j, numbers[i].name, isfinite(x) ? json_real(x) : json_null());
	}
	json_object_set_new(j, "n", json_integer((json_int_t)r->s.n));
	json_object_set_new(j, "status", json_integer(r->status));
	return j;
}

int row_from_json(const json_t *j, struct row *r)
{
	const json_t *n = json_object_get(j, "n"), *status = json_object_get(j, "status");

	memset(r, 0, sizeof *r);
	summary_none(&r->s);
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *s = json_string_value(json_object_get(j, texts[i].name));

		if (!s)
			return fs_reason_set(EPROTO, "a row of the child's lacks %s", texts[i].name);
		snprintf((char *)r + texts[i].at, texts[i].len, "%s", s);
	}
	for (size_t i = 0; i < COUNT(numbers); i++) {
		const json_t *x = json_object_get(j, numbers[i].name);

		*(double *)((char *)r + numbers[i].at) = json_is_number(x) ? json_number_value(x) : NAN;
	}
	if (!json_is_integer(n) || !json_is_integer(status) || json_integer_value(n) < 0 ||
	    json_integer_value(status) < FS_OK || json_integer_value(status) > FS_FAILED)
		return fs_reason_set(EPROTO, "a row of the child's has no count or status");
	r->s.n = (uint64_t)json_integer_value(n);
	r->status = (enum fs_status)json_integer_value(status);
	return 0;
}
