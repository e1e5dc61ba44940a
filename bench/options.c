/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the commands: one table, any order, `--name VALUE` or
 * `--name=VALUE`. What a command doesn't accept is an error that says what it
 * does accept; numbers are checked whole.
 */
#include "bench/bench.h"
#include "harness/clock.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct opt { const char *name, *value; unsigned accept; } opts[] = {
	{ "-o", "DIR", ACCEPT_DIR },
	{ "--repeat", "N", ACCEPT_REPEAT },
	{ "--seed", "N", ACCEPT_SEED },
	{ "--raw", NULL, ACCEPT_RAW },
	{ "--dry-run", NULL, ACCEPT_DRY_RUN },
	{ "--timeout", "S", ACCEPT_TIMEOUT },
	{ "--cross", NULL, ACCEPT_CROSS },
	{ "--ns", "NS", ACCEPT_NS },
	{ "--untold", "MARK:NS", ACCEPT_UNTOLD },
	{ "--markdown", NULL, ACCEPT_MARKDOWN },
};
#define NOPTS (sizeof opts / sizeof opts[0])

static int refuse(const char *cmd, unsigned accepts, const char *arg)
{
	char legal[512] = "--help";
	size_t n = strlen(legal);

	for (size_t i = 0; i < NOPTS; i++)
		if (accepts & opts[i].accept)
			n += (size_t)snprintf(legal + n, sizeof legal - n, ", %s%s%s", opts[i].name,
					      opts[i].value ? " " : "",
					      opts[i].value ? opts[i].value : "");
	fs_fail(EINVAL, "%s: %s is no option here; legal: %s", cmd, arg, legal);
	return FS_EXIT_USAGE;
}

/* A whole number in lo..hi. */
static int number(const char *cmd, const struct opt *o, const char *text, long long lo, long long hi,
		  long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno || end == text || *end || isspace((unsigned char)*text) || *out < lo || *out > hi) {
		fs_fail(EINVAL, "%s: %s %s: legal is a whole number in %lld..%lld", cmd, o->name, text, lo, hi);
		return FS_EXIT_USAGE;
	}
	return -1;
}

static int seconds(const char *cmd, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || isspace((unsigned char)*text) || !(*out >= 0.01 && *out <= 1e6)) {
		fs_fail(EINVAL, "%s: --timeout %s: legal are seconds in 0.01..1000000", cmd, text);
		return FS_EXIT_USAGE;
	}
	return -1;
}

static int apply(struct options *o, const char *cmd, const struct opt *opt, char *value)
{
	long long n = 0;
	int code = -1;

	switch (opt->accept) {
	case ACCEPT_DIR:
		if (!*value) {
			fs_fail(EINVAL, "%s: -o needs a directory", cmd);
			return FS_EXIT_USAGE;
		}
		o->dir = value;
		break;
	case ACCEPT_REPEAT:
		code = number(cmd, opt, value, 1, REPEAT_MAX, &n);
		o->repeat = (int)n;
		break;
	case ACCEPT_SEED:
		code = number(cmd, opt, value, 0, INT64_MAX, &n);
		o->seed = (uint64_t)n;
		break;
	case ACCEPT_TIMEOUT:
		code = seconds(cmd, value, &o->timeout_s);
		break;
	case ACCEPT_NS:
		code = number(cmd, opt, value, 1, 1000000000, &o->ns);
		break;
	case ACCEPT_RAW: o->raw = 1; break;
	case ACCEPT_DRY_RUN: o->dry_run = 1; break;
	case ACCEPT_CROSS: o->cross = 1; break;
	case ACCEPT_MARKDOWN: o->markdown = 1; break;
	case ACCEPT_UNTOLD: o->untold = value; break;
	}
	return code;
}

/* One option, at argv[*i]; moves *i over its value. */
static int option(struct options *o, unsigned accepts, int *i)
{
	char *arg = o->argv[*i], *eq = strchr(arg, '=');
	size_t len = eq && arg[1] == '-' ? (size_t)(eq - arg) : strlen(arg);
	const struct opt *opt = NULL;
	char *value = NULL;

	for (size_t k = 0; k < NOPTS; k++)
		if ((accepts & opts[k].accept) && strlen(opts[k].name) == len &&
		    !strncmp(opts[k].name, arg, len))
			opt = &opts[k];
	if (!opt)
		return refuse(o->argv[0], accepts, arg);
	if (arg[len] == '=')
		value = arg + len + 1;
	if (!opt->value && value) {
		fs_fail(EINVAL, "%s: %s takes no value", o->argv[0], opt->name);
		return FS_EXIT_USAGE;
	}
	if (opt->value && !value) {
		if (*i + 1 >= o->argc) {
			fs_fail(EINVAL, "%s: %s needs a value: %s", o->argv[0], opt->name, opt->value);
			return FS_EXIT_USAGE;
		}
		value = o->argv[++*i];
	}
	return apply(o, o->argv[0], opt, value);
}

/* NAME=VALUE, where NAME could be a variable's. */
static int is_setting(const char *arg)
{
	const char *p = arg;

	while (isalnum((unsigned char)*p) || *p == '_' || *p == '-')
		p++;
	return p > arg && *p == '=';
}

static int plain(struct options *o, unsigned accepts, char *arg)
{
	size_t len = strlen(arg);
	int ini = len > 4 && !strcmp(arg + len - 4, ".ini");

	if ((accepts & ACCEPT_SETTINGS) && is_setting(arg) && !ini) {
		o->settings[o->nsettings++] = arg;
		return -1;
	}
	if (accepts & ACCEPT_WORDS) {
		o->words[o->nwords++] = arg;
		return -1;
	}
	fs_fail(EINVAL, "%s: %s: legal here are options%s", o->argv[0], arg,
		accepts & ACCEPT_SETTINGS ? " and NAME=VALUE" : "");
	return FS_EXIT_USAGE;
}

int options_parse(struct options *o, int argc, char **argv, unsigned accepts, const char *help)
{
	int code = -1;

	memset(o, 0, sizeof *o);
	o->argc = argc;
	o->argv = argv;
	o->repeat = 1;
	/* Short enough to be typed again. */
	o->seed = (wall_ns() / 1000) % 1000000000u;
	o->words = calloc((size_t)argc + 1, sizeof *o->words);
	o->settings = calloc((size_t)argc + 1, sizeof *o->settings);
	if (!o->words || !o->settings) {
		fs_fail(ENOMEM, "out of memory");
		return FS_EXIT_FAILED;
	}
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help, stdout);
			return FS_EXIT_OK;
		}
	for (int i = 1; i < argc && code < 0; i++)
		code = argv[i][0] == '-' ? option(o, accepts, &i) : plain(o, accepts, argv[i]);
	return code;
}

void options_free(struct options *o)
{
	free(o->words);
	free(o->settings);
}
