/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in the directory of an interrupted run, and whether this program,
 * this command line and this machine may go on with it. A directory is
 *
 *   - a run's, when there is a run.json of this tool: it is the last file that
 *     is written before anything is measured, so plan.csv stands too;
 *   - a start's, when there is none and nothing else but what a start leaves:
 *     then nothing is lost, and the run begins, if it is said what to measure;
 *   - somebody else's otherwise, and left alone.
 */
#include "bench/resume.h"
#include "harness/file.h"
#include "revision.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX 16384
#define CELLS_MAX (FS_VARS_MAX + 8)

/* ---- the kind of directory ---- */

static int only_temporaries(const char *path)
{
	struct dirent *e;
	int only = 1;
	DIR *d = opendir(path);

	while (d && (e = readdir(d)))
		only &= !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || dir_is_temporary(e->d_name);
	if (d)
		closedir(d);
	return only;
}

/* There is no run.json. Something that a start wouldn't have left there, or "". */
static void foreign_name(const char *dir, char *name, size_t len)
{
	char points[4096];
	struct dirent *e;
	DIR *d = opendir(dir);

	*name = '\0';
	while (d && (e = readdir(d))) {
		const char *n = e->d_name;

		snprintf(points, sizeof points, "%s/points", dir);
		if (!strcmp(n, ".") || !strcmp(n, "..") || !strcmp(n, "plan.csv") || dir_is_temporary(n) ||
		    (!strcmp(n, "points") && only_temporaries(points)))
			continue;
		snprintf(name, len, "%s", n);
	}
	if (d)
		closedir(d);
}

static int refused(const char *dir, const char *why)
{
	fs_fail(EINVAL, "%s: %s", dir, why);
	return FS_EXIT_REFUSED;
}

static int never_began(const struct options *o)
{
	char name[512];

	foreign_name(o->dir, name, sizeof name);
	if (*name) {
		fs_fail(EINVAL, "%s: no directory of a run: there is %s, and no run.json", o->dir, name);
		return FS_EXIT_REFUSED;
	}
	if (!o->nwords && !o->nsettings)
		return refused(o->dir, "no run has begun there, so there is nothing to go on with; say what to "
			       "measure to begin one");
	fs_note("%s: no run has begun there: this is the start", o->dir);
	return -1;
}

/* ---- what the command line says against what the directory says ---- */

static const char *text_of(const json_t *j, const char *name)
{
	const char *s = json_string_value(json_object_get(j, name));

	return s ? s : "";
}

/* Its command line, parsed again; texts point into u->run. */
static int parse_again(struct resume *u, const char *dir)
{
	const json_t *argv = json_object_get(u->run, "argv");
	int n = (int)json_array_size(argv);

	u->argv = calloc((size_t)n + 1, sizeof *u->argv);
	if (!u->argv) {
		fs_fail(ENOMEM, "out of memory");
		return FS_EXIT_FAILED;
	}
	for (int i = 0; i < n; i++) {
		u->argv[i] = (char *)json_string_value(json_array_get(argv, (size_t)i));
		if (!u->argv[i])
			n = 0;
	}
	if (n < 2)
		return refused(dir, "its run.json has no command line: not as this program writes it");
	if (strcmp(u->argv[1], "run")) {
		fs_fail(EINVAL, "%s: made by `fivestage %s`; only what `fivestage run` made can be resumed", dir,
			u->argv[1]);
		return FS_EXIT_REFUSED;
	}
	if (options_parse(&u->was, n - 1, u->argv + 1) >= 0)
		return refused(dir, "its run.json has a command line that this program doesn't take");
	return -1;
}

/* What would make points of two kinds stand side by side. All of it is said. */
static int disagree(const struct resume *u, const struct options *o)
{
	long long seed = json_integer_value(json_object_get(u->run, "seed"));
	long long repeat = json_integer_value(json_object_get(u->run, "repeat"));
	int n = 0;

	if (strcmp(text_of(u->run, "version"), FS_VERSION) || strcmp(text_of(u->run, "revision"), FS_REVISION)) {
		fs_fail(EINVAL, "%s: made by fivestage %s (%s), this is %s (%s)", o->dir,
			text_of(u->run, "version"), text_of(u->run, "revision"), FS_VERSION, FS_REVISION);
		n++;
	}
	if ((o->given & ACCEPT_SEED) && (long long)o->seed != seed) {
		fs_fail(EINVAL, "%s: its --seed is %lld, not %llu", o->dir, seed, (unsigned long long)o->seed);
		n++;
	}
	if ((o->given & ACCEPT_REPEAT) && o->repeat != repeat) {
		fs_fail(EINVAL, "%s: its --repeat is %lld, not %d", o->dir, repeat, o->repeat);
		n++;
	}
	if (o->raw && !json_is_true(json_object_get(u->run, "raw"))) {
		fs_fail(EINVAL, "%s: it was begun without --raw", o->dir);
		n++;
	}
	if (o->cross && !u->was.cross) {
		fs_fail(EINVAL, "%s: it was begun without --cross", o->dir);
		n++;
	}
	return n;
}

static void adopt(const struct resume *u, struct options *o)
{
	o->seed = (uint64_t)json_integer_value(json_object_get(u->run, "seed"));
	o->repeat = (int)json_integer_value(json_object_get(u->run, "repeat"));
	o->raw = json_is_true(json_object_get(u->run, "raw"));
	if (!(o->given & ACCEPT_TIMEOUT))
		o->timeout_s = u->was.timeout_s;
	if (o->nwords || o->nsettings)
		return;
	/* Both have room for every argument of their own line. */
	free(o->words);
	free(o->settings);
	o->words = calloc((size_t)u->was.nwords + 1, sizeof *o->words);
	o->settings = calloc((size_t)u->was.nsettings + 1, sizeof *o->settings);
	if (!o->words || !o->settings)
		return; /* none of them is counted then: the plan will differ */
	memcpy(o->words, u->was.words, (size_t)u->was.nwords * sizeof *o->words);
	memcpy(o->settings, u->was.settings, (size_t)u->was.nsettings * sizeof *o->settings);
	o->nwords = u->was.nwords;
	o->nsettings = u->was.nsettings;
	o->cross = u->was.cross;
}

int resume_open(struct resume *u, struct options *o)
{
	char path[4096];
	json_error_t e;
	struct stat st;
	int code;

	memset(u, 0, sizeof *u);
	u->lock = -1;
	if (stat(o->dir, &st) || !S_ISDIR(st.st_mode))
		return refused(o->dir, "no such directory, so there is nothing to go on with");
	u->lock = dir_lock(o->dir);
	if (u->lock < 0)
		return FS_EXIT_REFUSED;
	snprintf(path, sizeof path, "%s/run.json", o->dir);
	if (access(path, F_OK))
		return never_began(o);
	u->run = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	if (!u->run) {
		fs_fail(EINVAL, "%s:%d: %s: not as this program writes it", path, e.line, e.text);
		return FS_EXIT_REFUSED;
	}
	if (strcmp(text_of(u->run, "tool"), "fivestage"))
		return refused(o->dir, "the run.json there is another tool's");
	if (json_integer_value(json_object_get(u->run, "schema")) != FS_SCHEMA)
		return refused(o->dir, "its run.json has another schema than this program's");
	if (json_integer_value(json_object_get(u->run, "repeat")) < 1 ||
	    json_integer_value(json_object_get(u->run, "repeat")) > REPEAT_MAX)
		return refused(o->dir, "its run.json has no number of repetitions: not as this program writes it");
	code = parse_again(u, o->dir);
	if (code < 0 && disagree(u, o))
		code = FS_EXIT_REFUSED;
	u->complete = json_is_true(json_object_get(u->run, "complete"));
	if (code < 0)
		adopt(u, o);
	return code;
}

void resume_close(struct resume *u)
{
	if (u->lock >= 0)
		close(u->lock);
	options_free(&u->was);
	free(u->argv);
	json_decref(u->run);
	memset(u, 0, sizeof *u);
	u->lock = -1;
}

/* ---- plan and machine ---- */

struct record { char buf[RECORD_MAX], *cell[CELLS_MAX]; int n; };

static int record_read(FILE *f, struct record *r)
{
	r->n = csv_read(f, r->buf, sizeof r->buf, r->cell, CELLS_MAX);
	return r->n;
}

/* The first row in which two plan.csv differ, in words. `head`: their columns. */
static int plans_compare(const char *dir, FILE *there, FILE *here, struct record r[3])
{
	struct record *head = &r[0], *a = &r[1], *b = &r[2];

	if (record_read(there, head) < 0 || record_read(here, b) < 0 || head->n != b->n)
		return fs_fail(EINVAL, "%s/plan.csv: not the columns that this program writes", dir);
	for (int row = 1;; row++) {
		if (record_read(there, a) < 0)
			return fs_fail(EINVAL, "%s/plan.csv:%d: not as this program writes it", dir, row + 1);
		record_read(here, b);
		if (!a->n && !b->n)
			return 0;
		if (!a->n || !b->n)
			return fs_fail(EINVAL, "%s: another plan: %s, with point %s; legal: what it was begun "
				       "with, or nothing", dir,
				       a->n ? "it has more rows" : "it ends where this one goes on",
				       a->n ? a->cell[0] : b->cell[0]);
		for (int i = 1; i < a->n && i < b->n; i++) /* 0 is the id: a hash of the others */
			if (strcmp(a->cell[i], b->cell[i]))
				return fs_fail(EINVAL, "%s: another plan: in its row %d %s is %s, not %s; legal: "
					       "what it was begun with, or nothing", dir, row, head->cell[i],
					       *a->cell[i] ? a->cell[i] : "nothing",
					       *b->cell[i] ? b->cell[i] : "nothing");
	}
}

static int plan_same(const char *dir, const struct plan *p)
{
	struct record *r = calloc(3, sizeof *r);
	char path[4096], *text = NULL;
	FILE *here = NULL, *there;
	size_t len = 0;
	int rc;

	snprintf(path, sizeof path, "%s/plan.csv", dir);
	there = fopen(path, "re");
	if (there && r && (here = open_memstream(&text, &len))) {
		plan_print(p, here);
		fclose(here);
		here = fmemopen(text, len, "r");
	}
	if (!there)
		rc = fs_fail(errno, "%s: %s", path, strerror(errno));
	else if (!here)
		rc = fs_fail(ENOMEM, "out of memory");
	else
		rc = plans_compare(dir, there, here, r);
	if (here)
		fclose(here);
	if (there)
		fclose(there);
	free(text);
	free(r);
	return rc;
}

/* What is measured here would stand beside what was measured there. */
static int machine_same(const struct resume *u, const char *dir, const struct machine *m)
{
	const json_t *gpus = json_object_get(json_object_get(u->run, "machine"), "gpus");
	json_t *env = environment_json();
	const char *was = NULL, *is = NULL, *were = NULL, *are = NULL;
	int rc = 0;

	if ((int)json_array_size(gpus) != m->ngpus)
		rc = fs_fail(EINVAL, "%s: begun with %zu GPUs; here are %d", dir, json_array_size(gpus), m->ngpus);
	for (int i = 0; i < m->ngpus && !rc; i++)
		if (strcmp(text_of(json_array_get(gpus, (size_t)i), "uuid"), m->gpu[i].uuid))
			rc = fs_fail(EINVAL, "%s: begun with other GPUs: GPU %d was %s, here it is %s", dir, i,
				     text_of(json_array_get(gpus, (size_t)i), "uuid"), m->gpu[i].uuid);
	json_unpack(u->run, "{s:{s:{s:{s:s}}}}", "environment", "before", "cpu", "model", &was);
	json_unpack(env, "{s:{s:s}}", "cpu", "model", &is);
	if (!rc && was && is && strcmp(was, is))
		rc = fs_fail(EINVAL, "%s: begun on another CPU: %s; this is %s", dir, was, is);
	/* Threads are pinned within these, and memory is near them or not; programs before this didn't tell. */
	json_unpack(u->run, "{s:{s:{s:{s:s}}}}", "environment", "before", "cpu", "allowed", &were);
	json_unpack(env, "{s:{s:s}}", "cpu", "allowed", &are);
	if (!rc && were && are && strcmp(were, are))
		rc = fs_fail(EINVAL, "%s: begun on the CPUs %s; this process may use %s (taskset -c %s goes on as before, if it may use them)",
			     dir, were, are, were);
	json_decref(env);
	return rc;
}

int resume_check(const struct resume *u, const struct options *o, const struct plan *p,
		 const struct machine *m)
{
	int rc;

	if (!u->run)
		return 0;
	rc = plan_same(o->dir, p);
	return rc ? rc : machine_same(u, o->dir, m);
}

/* ---- how to go on ---- */

/* A word as a shell takes it: bare, or in single quotes. */
static size_t shell_word(char *buf, size_t len, const char *word)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%,=-";
	size_t n = 0;

	if (*word && strspn(word, bare) == strlen(word))
		return (size_t)snprintf(buf, len, "%s", word);
	n += (size_t)snprintf(buf, len, "'");
	for (; *word && n + 8 < len; word++)
		n += (size_t)snprintf(buf + n, len - n, *word == '\'' ? "'\\''" : "%c", *word);
	return n + (size_t)snprintf(buf + n, len - n, "'");
}

char *resume_command(const char *dir, char *buf, size_t len)
{
	size_t n = shell_word(buf, len, fs_program);

	if (n < len)
		n += (size_t)snprintf(buf + n, len - n, " run --resume -o ");
	if (n < len)
		shell_word(buf + n, len - n, dir);
	return buf;
}
