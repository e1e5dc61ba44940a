/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fivestage list`: everything derives from the tables of the program, so that
 * what it prints is what it does. What is not built in is listed, with why.
 */
#include "bench/generate.h"
#include "stages/stage.h"
#include "stages/suite.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which probes read a variable: "path, floor". */
const char *list_readers(const char *var, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = 0; fs_probes[i] && n < len; i++)
		if (fs_probe_reads(fs_probes[i], var))
			n += (size_t)snprintf(buf + n, len - n, "%s%s", n ? ", " : "", fs_probes[i]->name);
	return buf;
}

static int is_number(const char *text)
{
	return *text >= '0' && *text <= '9';
}

static int list_variables(const struct options *o)
{
	char legal[1024], probes[256];

	if (o->markdown)
		printf("| variable | legal | default | unit | what | probes |\n|---|---|---|---|---|---|\n");
	else
		printf("variables:\n");
	for (const struct var *v = fs_vars; v->name; v++) {
		fs_var_legal(v, legal, sizeof legal);
		list_readers(v->name, probes, sizeof probes);
		if (o->markdown)
			printf("| `%s` | %s | `%s` | %s | %s | %s |\n", v->name, legal, v->def, v->unit,
			       v->help, probes);
		else
			printf("  %-14s %s\n  %-14s   default %s%s%s; legal: %s\n  %-14s   read by: %s\n",
			       v->name, v->help, "", v->def, is_number(v->def) ? " " : "",
			       is_number(v->def) ? v->unit : "", legal,
			       "", probes[0] ? probes : "no probe");
	}
	return FS_EXIT_OK;
}

static int list_probes(const struct options *o)
{
	(void)o;
	printf("probes:\n");
	for (int i = 0; fs_probes[i]; i++) {
		printf("  %-14s %s\n  %-14s   reads:", fs_probes[i]->name, fs_probes[i]->help, "");
		for (int k = 0; fs_probes[i]->reads[k]; k++)
			printf(" %s", fs_probes[i]->reads[k]);
		putchar('\n');
	}
	return FS_EXIT_OK;
}

static int list_nics(const struct options *o)
{
	struct suite_nic n;

	(void)o;
	printf("nics:\n");
	for (int i = 0; suite_nic(i, &n); i++) {
		printf("  %-8s watched by %s; %s\n", n.name, n.watcher, n.purpose);
		if (n.absent)
			printf("  %-8s   not available: %s\n", "", n.absent);
	}
	return FS_EXIT_OK;
}

/* A stage's intervals with one submitter. */
static void stage_print(enum stage s, enum submitter by)
{
	static const char *const words[SUBMITTERS] = {
#define X(NAME, word, help) word,
		FS_SUBMITTERS(X)
#undef X
	};
	struct route r = { by, CONSUMER_GPU };
	const struct interval *t;
	int n = interval_table(r, &t), first = 1;

	printf("  %-12s   %-14s", "", words[by]);
	for (int i = 0; i < n; i++)
		if (t[i].stage == s) {
			printf("%s%s-%s", first ? "" : ", ", mark_table[t[i].from].name, mark_table[t[i].to].name);
			first = 0;
		}
	putchar('\n');
}

static int list_stages(const struct options *o)
{
	(void)o;
	printf("stages, with their intervals by who submits (with a CPU that looks at the CQ completed-noticed\n"
	       "becomes completed-caught, caught-relayed of the completion, and relayed-noticed):\n");
	for (int s = 0; s < STAGES; s++) {
		printf("  %-12s %s\n", stage_names[s], stage_help[s]);
		for (int k = 0; k < SUBMITTERS; k++)
			stage_print((enum stage)s, (enum submitter)k);
	}
	printf("marks:\n");
	for (int k = 0; k < MARKS; k++) {
		static const char *const agents[] = { "issuer", "helper", "nic" };

		printf("  %-12s %-7s %s\n", mark_table[k].name, agents[mark_table[k].agent],
		       mark_table[k].moment);
	}
	return FS_EXIT_OK;
}

/* A config's first comment says what it is for. */
static void config_print(const char *dir, const char *name)
{
	char path[4096], line[512] = "";
	const char *what = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\r\n")] = '\0';
		if ((line[0] == '#' || line[0] == ';') && !strstr(line, "SPDX")) {
			what = line + 1 + strspn(line + 1, "#; ");
			break;
		}
		if (line[0] && line[0] != '#' && line[0] != ';')
			break;
	}
	if (f)
		fclose(f);
	printf("  %-24s %s\n", name, what);
}

static int is_ini(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && d->d_name[0] != '.' && !strcmp(d->d_name + n - 4, ".ini");
}

static int list_configs(const struct options *o)
{
	static const char *const under[] = { "", "figures/" };
	char dir[2048], sub[2100], name[512];

	(void)o;
	if (configs_dir(dir, sizeof dir)) {
		printf("configs: none: %s\n", fs_reason());
		return FS_EXIT_OK;
	}
	printf("configs in %s:\n", dir);
	for (int u = 0; u < 2; u++) {
		struct dirent **e;
		int n;

		snprintf(sub, sizeof sub, "%s/%s", dir, under[u]);
		n = scandir(sub, &e, is_ini, alphasort);
		for (int i = 0; i < n; i++) {
			snprintf(name, sizeof name, "%s%s", under[u], e[i]->d_name);
			config_print(dir, name);
			free(e[i]);
		}
		if (n >= 0)
			free(e);
	}
	return FS_EXIT_OK;
}

static int list_man(const struct options *o)
{
	(void)o;
	manual_print(stdout);
	return FS_EXIT_OK;
}

static int list_completion(const struct options *o)
{
	(void)o;
	completion_print(stdout);
	return FS_EXIT_OK;
}

/* The hidden ones are for the build (meson.build) and are listed when named alone. */
static const struct { const char *name; int (*list)(const struct options *o); int hidden; } lists[] = {
	{ "variables", list_variables, 0 }, { "probes", list_probes, 0 }, { "nics", list_nics, 0 },
	{ "stages", list_stages, 0 }, { "configs", list_configs, 0 },
	{ "man", list_man, 1 }, { "completion", list_completion, 1 },
};
#define NLISTS (sizeof lists / sizeof lists[0])

int cmd_list(int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, argc, argv);

	if (code < 0 && o.markdown && (o.nwords != 1 || strcmp(o.words[0], "variables"))) {
		fs_fail(EINVAL, "list: --markdown goes with `variables`");
		code = FS_EXIT_USAGE;
	}
	for (int w = 0; w < o.nwords && code < 0; w++) {
		size_t i;

		for (i = 0; i < NLISTS && strcmp(lists[i].name, o.words[w]); i++)
			;
		if (i == NLISTS) {
			fs_fail(EINVAL, "list: %s is nothing to list; legal: variables, probes, nics, "
				"stages, configs", o.words[w]);
			code = FS_EXIT_USAGE;
		}
	}
	for (size_t i = 0; i < NLISTS && code < 0; i++) {
		int wanted = !o.nwords && !lists[i].hidden;

		for (int w = 0; w < o.nwords; w++)
			wanted |= !strcmp(o.words[w], lists[i].name);
		if (wanted)
			lists[i].list(&o);
	}
	options_free(&o);
	return code < 0 ? FS_EXIT_OK : code;
}
