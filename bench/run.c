/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fivestage run`: options and config files become a plan, the plan is checked
 * against the machine, and only then is anything written or run.
 */
#include "bench/resume.h"
#include "harness/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	struct resume u;
	struct machine m;
	struct plan p;
	uint64_t t0 = 0;
	int code = options_parse(&o, argc, argv);

	memset(&u, 0, sizeof u);
	u.lock = -1;
	plan_init(&p);
	if (code < 0 && o.resume) {
		code = resume_open(&u, &o);
		o.from = &u;
	}
	if (code < 0 && plan_make(&p, &o))
		code = FS_EXIT_USAGE;
	if (code < 0) {
		stop_install();
		t0 = mono_ns();
		crew_scout(&m);
		t0 = mono_ns() - t0;
		if (stop_wanted())
			code = stop_exit();
		else if (plan_expand(&p, &m))
			code = FS_EXIT_USAGE;
	}
	if (code < 0 && o.resume && resume_check(&u, &o, &p, &m))
		code = FS_EXIT_REFUSED;
	if (code < 0 && o.dry_run) {
		code = dry_run(&p, &o, (double)t0 * 1e-9);
	}
	if (code < 0)
		code = measure(&p, &m, &o);
	plan_free(&p);
	options_free(&o);
	resume_close(&u);
	return code;
}
