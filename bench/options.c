/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the commands: one table, any order, `--name VALUE` or
 * `--name=VALUE`. What a command doesn't accept is an error that says what it
 * does accept; numbers are checked whole. --help prints the same table.
 */
#include "bench/bench.h"
#include "harness/clock.h"
#include "harness/term.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH 80
#define HELP_INDENT 20

const struct option_row fs_options[] = {
	{ .name = "-o", .value = "DIR", .accept = ACCEPT_DIR, .fill = "directory",
	  .help = "where results go (results/<UTC time>-<host>); must be new or empty, but for --resume" },
	{ .name = "--repeat", .value = "N", .accept = ACCEPT_REPEAT, .lo = 1, .hi = REPEAT_MAX,
	  .help = "repetitions, each in fresh processes (1)" },
	{ .name = "--seed", .value = "N", .accept = ACCEPT_SEED, .lo = 0, .hi = INT64_MAX,
	  .help = "of the order of points (from the time; recorded)" },
	{ .name = "--raw", .accept = ACCEPT_RAW,
	  .help = "also samples.csv: the marks of every message (not of bare rates)" },
	{ .name = "--dry-run", .accept = ACCEPT_DRY_RUN,
	  .help = "print the points, how many they are and how long they may take; writes nothing" },
	{ .name = "--resume", .accept = ACCEPT_RESUME,
	  .help = "go on with the interrupted run in the directory of -o" },
	{ .name = "--timeout", .value = "S", .accept = ACCEPT_TIMEOUT, .lo = 0, .hi = 1000000,
	  .help = "seconds that a point may take (0.01..1000000), instead of what its probe says" },
	{ .name = "--cross", .accept = ACCEPT_CROSS,
	  .help = "several lists make a grid" },
	{ .name = "--ns", .value = "NS", .accept = ACCEPT_NS, .lo = 100, .hi = 10000000, /* of a plant */
	  .help = "the wait that is planted (500 with a GPU issuer, 5000 with a CPU)" },
	{ .name = "--untold", .value = "MARK:NS", .accept = ACCEPT_UNTOLD, .fill = "mark",
	  .help = "negative control: a second wait that the checker isn't told of; validation must then fail" },
	{ .name = "--markdown", .accept = ACCEPT_MARKDOWN,
	  .help = "`variables` as the table of the README" },
	{ .name = NULL },
};

static int refuse(const struct command *cmd, const char *arg)
{
	char legal[512] = "--help";
	size_t n = strlen(legal);

	for (const struct option_row *o = fs_options; o->name; o++)
		if (cmd->accepts & o->accept)
			n += (size_t)snprintf(legal + n, sizeof legal - n, ", %s%s%s", o->name,
					      o->value ? " " : "", o->value ? o->value : "");
	fs_fail(EINVAL, "%s: %s is no option here; legal: %s", cmd->name, arg, legal);
	return FS_EXIT_USAGE;
}

/* A whole number in the option's range. */
static int number(const char *cmd, const struct option_row *o, const char *text, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno || end == text || *end || isspace((unsigned char)*text) || *out < o->lo || *out > o->hi) {
		fs_fail(EINVAL, "%s: %s %s: legal is a whole number in %lld..%lld", cmd, o->name, text,
			o->lo, o->hi);
		return FS_EXIT_USAGE;
	}
	return -1;
}

static int seconds(const char *cmd, const struct option_row *o, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || isspace((unsigned char)*text) || !(*out >= 0.01 && *out <= (double)o->hi)) {
		fs_fail(EINVAL, "%s: %s %s: legal are seconds in 0.01..%lld", cmd, o->name, text, o->hi);
		return FS_EXIT_USAGE;
	}
	return -1;
}

static int apply(struct options *o, const char *cmd, const struct option_row *opt, char *value)
{
	long long n = 0;
	int code = -1;

	o->given |= opt->accept;
	switch (opt->accept) {
	case ACCEPT_DIR:
		if (!*value) {
			fs_fail(EINVAL, "%s: -o needs a directory", cmd);
			return FS_EXIT_USAGE;
		}
		o->dir = value;
		break;
	case ACCEPT_REPEAT:
		code = number(cmd, opt, value, &n);
		o->repeat = (int)n;
		break;
	case ACCEPT_SEED:
		code = number(cmd, opt, value, &n);
		o->seed = (uint64_t)n;
		break;
	case ACCEPT_TIMEOUT:
		code = seconds(cmd, opt, value, &o->timeout_s);
		break;
	case ACCEPT_NS:
		code = number(cmd, opt, value, &o->ns);
		break;
	case ACCEPT_RAW: o->raw = 1; break;
	case ACCEPT_DRY_RUN: o->dry_run = 1; break;
	case ACCEPT_RESUME: o->resume = 1; break;
	case ACCEPT_CROSS: o->cross = 1; break;
	case ACCEPT_MARKDOWN: o->markdown = 1; break;
	case ACCEPT_UNTOLD: o->untold = value; break;
	}
	return code;
}

/* One option, at argv[*i]; moves *i over its value. */
static int option(struct options *o, const struct command *cmd, int *i)
{
	char *arg = o->argv[*i], *eq = strchr(arg, '=');
	size_t len = eq && arg[1] == '-' ? (size_t)(eq - arg) : strlen(arg);
	const struct option_row *opt = NULL;
	char *value = NULL;

	for (const struct option_row *k = fs_options; k->name; k++)
		if ((cmd->accepts & k->accept) && strlen(k->name) == len && !strncmp(k->name, arg, len))
			opt = k;
	if (!opt)
		return refuse(cmd, arg);
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

void help_print(const struct command *cmd, FILE *f)
{
	fprintf(f, "fivestage %s %s\n\n", cmd->name, cmd->usage);
	term_wrap(f, cmd->text, 0, 0, HELP_WIDTH);
	fputc('\n', f);
	for (const struct option_row *o = fs_options; o->name; o++) {
		int n;

		if (!(cmd->accepts & o->accept))
			continue;
		n = fprintf(f, "  %s %s", o->name, o->value ? o->value : "");
		fprintf(f, "%*s", HELP_INDENT - n, "");
		term_wrap(f, o->help, HELP_INDENT, HELP_INDENT, HELP_WIDTH);
	}
}

int options_parse(struct options *o, int argc, char **argv)
{
	const struct command *cmd = command_find(argv[0]);
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
			help_print(cmd, stdout);
			return FS_EXIT_OK;
		}
	for (int i = 1; i < argc && code < 0; i++)
		code = argv[i][0] == '-' ? option(o, cmd, &i) : plain(o, cmd->accepts, argv[i]);
	if (code < 0 && o->resume && !o->dir) {
		fs_fail(EINVAL, "%s: --resume needs -o DIR, the directory to go on with", argv[0]);
		code = FS_EXIT_USAGE;
	}
	return code;
}

void options_free(struct options *o)
{
	free(o->words);
	free(o->settings);
}
