/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables: what a point of a measurement assigns. A variable is one row of a
 * table (the rows are in stages/vars.c); the command line, config files, CSV
 * columns, `list` and the README table all derive from the row.
 *
 * A legal value is one of: a word of `words`; a whole number in lo..hi (with
 * the binary suffixes K, M, G on input when the unit is "B"); or, with
 * `pairs`, WORD:NUMBER with WORD from `pairs` and NUMBER in lo..hi.
 */
#ifndef FS_VAR_H
#define FS_VAR_H

#include <stddef.h>
#include <stdint.h>

struct var {
	const char *name;
	const char *unit;   /* "B", "ns", "" */
	const char *words;  /* "auto|host|gpu", NULL: none */
	int64_t lo, hi;     /* legal numbers, both included; lo > hi: none */
	const char *pairs;  /* words legal before a colon, NULL: no pairs; with
	                     * pairs, a bare number is not legal */
	const char *def;    /* default, as it would be typed */
	const char *help;   /* one line */
	int pow2;           /* numbers must be powers of two */
};

struct value {
	int word;     /* index in `words`, or -1 */
	int pair;     /* index in `pairs`, or -1 */
	int64_t num;  /* the number; 0 with a word */
};

/* The table that the program was linked with; ends with a row whose name is
 * NULL. Defined by stages/vars.c (tests bring their own). */
extern const struct var fs_vars[];
int fs_var_count(void);
/* Index of a variable, or -1. */
int fs_var_find(const char *name);

/* -EINVAL with a reason that names the variable, the value and what would be
 * legal. Does not log: the caller knows where the text stands. */
int fs_var_parse(const struct var *v, const char *text, struct value *out);
/* Canonical text (plain digits, no suffix). Returns buf. */
char *fs_var_format(const struct var *v, const struct value *val, char *buf, size_t len);
/* "auto, host, gpu or 0..16777216", for messages and `list`. Returns buf. */
char *fs_var_legal(const struct var *v, char *buf, size_t len);
int fs_value_equal(const struct value *a, const struct value *b);

/*
 * One list grammar for files and the command line: commas between items; an
 * item is a value, A..B*F (geometric: A, A*F, ... <= B) or A..B+S
 * (arithmetic). Fills at most `max` values, returns how many, or -EINVAL with
 * a reason (empty item, descending or endless range, factor < 2, step < 1,
 * a value twice, more than `max`).
 */
int fs_list_parse(const struct var *v, const char *text, struct value *out, int max);

/* ---- a point: a value for every variable ---- */
#define FS_VARS_MAX 128
#define FS_ID_LEN 13 /* 12 hex digits and the end */

struct probe;
struct point {
	const struct probe *probe;
	struct value val[FS_VARS_MAX]; /* parallel to fs_vars */
	char id[FS_ID_LEN];
};

/* Every variable at its default. */
void fs_point_init(struct point *pt, const struct probe *probe);
/* Sets one by text; -ENOENT unknown name, -EINVAL illegal value, with a reason. */
int fs_point_set(struct point *pt, const char *name, const char *text);
/* Computes `id`: the first 48 bits of an FNV-1a/64 hash over the probe's name
 * and the canonical "name=value" of the non-default ones, by name order. */
void fs_point_id(struct point *pt);
/* "size=64 nic=soft", the non-default ones in table order. Returns buf. */
char *fs_point_text(const struct point *pt, char *buf, size_t len);

/* Readers; an unknown name is a programming error and aborts. */
int64_t fs_num(const struct point *pt, const char *name);   /* the number; 0 if a word stands */
int fs_word(const struct point *pt, const char *name);      /* index in words, -1 if a number or pair stands */
int fs_pair(const struct point *pt, const char *name);      /* index in pairs, -1 */
int fs_is(const struct point *pt, const char *name, const char *word); /* is it that word? */
const char *fs_word_text(const struct point *pt, const char *name, char *buf, size_t len);

#endif
