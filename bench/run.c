/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fivestage run`: options and config files become a plan, the plan is checked
 * against the machine, and only then is anything written or run.
 */
#include "bench/bench.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"fivestage run [CONFIG.ini ...] [OPTIONS] [NAME=VALUE[,VALUE...]]...\n"
	"\n"
	"Measures the points of the configs, or of the settings; without either, those of\n"
	"the shipped default.ini. A config is looked for as it is named and then among the\n"
	"shipped ones (`fivestage list configs`). NAME=V1,V2 varies that variable, also as\n"
	"8..1M*2 or 1..8+1; probe=NAME chooses what is measured.\n"
	"\n"
	"  -o DIR         where results go (results/<UTC time>-<host>); must be empty or new\n"
	"  --repeat N     repetitions, each in fresh processes (1)\n"
	"  --seed N       of the order of points (from the time; recorded)\n"
	"  --raw          also samples.csv: the marks of every message (not of plants and bare rates)\n"
	"  --dry-run      print the points and stop; writes nothing\n"
	"  --timeout S    seconds that a point may take, instead of what its probe says\n"
	"  --cross        several lists make a grid\n";

/* A file that can be read to its end: a pipe might never have one. */
static int is_config(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* A config by name: as a path, then among the shipped ones. */
static int config_find(const char *word, char *path, size_t len)
{
	char dir[2048];

	if (!*word)
		return fs_fail(EINVAL, "an empty argument (legal: CONFIG.ini, NAME=VALUE, options)");
	snprintf(path, len, "%s", word);
	if (is_config(path))
		return 0;
	if (!access(path, F_OK))
		return fs_fail(EINVAL, "%s: no regular file (legal: CONFIG.ini, NAME=VALUE, options)", word);
	if (word[0] != '/' && !configs_dir(dir, sizeof dir)) {
		snprintf(path, len, "%s/%s", dir, word);
		if (is_config(path))
			return 0;
		return fs_fail(ENOENT, "%s: no such config, neither here nor in %s "
			       "(legal: CONFIG.ini, NAME=VALUE, options)", word, dir);
	}
	return fs_fail(ENOENT, "%s: no such config (legal: CONFIG.ini, NAME=VALUE, options)", word);
}

static int plan_make(struct plan *p, const struct options *o)
{
	char path[4096];
	int err = 0;

	if (!o->nwords && !o->nsettings) {
		char dir[2048];

		if (configs_dir(dir, sizeof dir))
			return fs_fail(ENOENT, "%s", fs_reason());
		snprintf(path, sizeof path, "%s/default.ini", dir);
		return plan_read(p, path);
	}
	for (int i = 0; i < o->nwords && !err; i++) {
		err = config_find(o->words[i], path, sizeof path);
		if (!err)
			err = plan_read(p, path);
	}
	return err || !o->nsettings ? err : plan_cli(p, o->settings, o->nsettings, o->cross);
}

static void dry_run(const struct plan *p, const struct options *o)
{
	double seconds = 0;
	int skipped = 0;

	for (int i = 0; i < p->npoints; i++) {
		const struct plan_point *pp = &p->point[i];
		char text[512];

		fs_point_text(&pp->pt, text, sizeof text);
		printf("%s  %-10s %s\n", pp->pt.id, pp->pt.probe->name, text[0] ? text : "all defaults");
		for (int k = 0; k < p->nrows; k++)
			if (p->row[k].point == i) {
				const struct plan_row *r = &p->row[k];

				printf("              in %s", p->exp[r->experiment].name);
				if (r->varied[0] && strcmp(r->varied, "-"))
					printf(" as %s=%s", r->varied, r->value);
				putchar('\n');
			}
		if (pp->skipped) {
			printf("              skipped: %s\n", pp->why);
			skipped++;
		} else
			seconds += point_patience_s(&pp->pt, o);
	}
	printf("%d point%s, %d of them skipped; %d repetition%s; at most %.0f s by the probes' patience\n",
	       p->npoints, p->npoints == 1 ? "" : "s", skipped, o->repeat, o->repeat == 1 ? "" : "s",
	       seconds * o->repeat);
}

static int measure(struct plan *p, const struct machine *m, const struct options *o)
{
	struct table *t = table_new(p);
	struct hooks h = { .rows = table_rows, .arg = t };
	char dir[2048];
	int code;

	if (!t) {
		fs_fail(ENOMEM, "out of memory");
		return FS_EXIT_FAILED;
	}
	code = conduct(p, m, o, &h, dir, sizeof dir);
	if (code != FS_EXIT_REFUSED) {
		table_print(t, stdout);
		printf("results: %s\n", dir);
	}
	table_free(t);
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct options o;
	struct machine m;
	struct plan p;
	int code = options_parse(&o, argc, argv,
				 ACCEPT_DIR | ACCEPT_REPEAT | ACCEPT_SEED | ACCEPT_RAW | ACCEPT_DRY_RUN |
				 ACCEPT_TIMEOUT | ACCEPT_CROSS | ACCEPT_WORDS | ACCEPT_SETTINGS, help);

	plan_init(&p);
	if (code < 0 && plan_make(&p, &o))
		code = FS_EXIT_USAGE;
	if (code < 0) {
		stop_install();
		crew_scout(&m);
		if (stop_wanted())
			code = 130;
		else if (plan_expand(&p, &m))
			code = FS_EXIT_USAGE;
	}
	if (code < 0 && o.dry_run) {
		dry_run(&p, &o);
		code = FS_EXIT_OK;
	}
	if (code < 0)
		code = measure(&p, &m, &o);
	plan_free(&p);
	options_free(&o);
	return code;
}
