/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file out of many at the end of a run: summary.csv from points/ID.REP.csv
 * and, with --raw, samples.csv from points/ID.REP.samples.csv, in the plan's
 * order, repetitions of a point together.
 */
#include "bench/bench.h"
#include "harness/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies all but the header line; with `prefix`, puts it before each line. */
static int append(FILE *to, FILE *from, const char *prefix)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int err = 0;

	while ((n = getline(&line, &cap, from)) > 0)
		if (fprintf(to, "%s", prefix) < 0 || fwrite(line, 1, (size_t)n, to) != (size_t)n)
			err = -EIO;
	free(line);
	return err;
}

static int merge_summary(struct results *r)
{
	struct outfile o;
	int err = outfile_open(&o, r->dir, "summary.csv");

	if (err)
		return err;
	fprintf(o.f, "%s\n", fs_summary_header);
	for (int i = 0; i < r->plan->npoints && !err; i++)
		for (int rep = 1; rep <= r->opt->repeat && !err; rep++) {
			char path[4096], header[1024];
			FILE *f;

			snprintf(path, sizeof path, "%s/%s.%d.csv", r->points_dir,
				 r->plan->point[i].pt.id, rep);
			f = fopen(path, "r");
			if (!f || !fgets(header, sizeof header, f))
				err = fs_fail(errno ? errno : EIO, "%s: cannot be read for the summary", path);
			else
				err = append(o.f, f, "");
			if (f)
				fclose(f);
		}
	if (err) {
		outfile_abort(&o);
		return err;
	}
	return outfile_commit(&o);
}

/* One file of samples; its header must be the first one's. A file that has
 * another stays where it is, and a line says so. Returns 1 when it was merged. */
static int merge_one(struct outfile *o, char **header, const char *path, const char *prefix)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	int err = 0, same = 1;

	if (!f)
		return errno == ENOENT ? 0 : fs_fail(errno, "%s: %s", path, strerror(errno));
	if (getline(&line, &cap, f) > 0) {
		if (!*header) {
			fprintf(o->f, "point,rep,%s", line);
			*header = line;
			line = NULL;
		} else
			same = !strcmp(*header, line);
		if (same)
			err = append(o->f, f, prefix);
	}
	free(line);
	fclose(f);
	if (!same)
		fs_note("%s has columns of its own: it stays there, outside samples.csv", path);
	return err ? err : same;
}

/*
 * samples.csv of an earlier end: its parts are gone, so what stands is copied
 * from it. It is in the plan's order, as is the new one: one pass does.
 */
struct old { FILE *f; char *line; size_t cap; int held; /* a line that wasn't taken yet */ };

static void old_open(struct old *o, const struct results *r, char **header, FILE *to)
{
	static const char first[] = "point,rep,";
	char path[4096];

	memset(o, 0, sizeof *o);
	snprintf(path, sizeof path, "%s/samples.csv", r->dir);
	o->f = fopen(path, "re");
	if (!o->f)
		return;
	if (getline(&o->line, &o->cap, o->f) > 0 && !strncmp(o->line, first, sizeof first - 1)) {
		*header = strdup(o->line + sizeof first - 1);
		fputs(o->line, to);
	}
	o->held = getline(&o->line, &o->cap, o->f) > 0;
}

/* Moves past the lines that begin with `prefix`; writes them to `to` if it isn't NULL. */
static int old_take(struct old *o, const char *prefix, FILE *to)
{
	int taken = 0;

	while (o->held && !strncmp(o->line, prefix, strlen(prefix))) {
		if (to && fputs(o->line, to) < 0)
			return -EIO;
		taken = 1;
		o->held = getline(&o->line, &o->cap, o->f) > 0;
	}
	return to ? taken : 0;
}

static void old_close(struct old *o)
{
	free(o->line);
	if (o->f)
		fclose(o->f);
}

static int merge_samples(struct results *r)
{
	int n = r->plan->npoints * r->opt->repeat, err;
	char *merged = calloc((size_t)n + 1, 1), *header = NULL, path[4096];
	struct outfile o;
	struct old old;

	if (!merged)
		return fs_fail(ENOMEM, "out of memory");
	err = outfile_open(&o, r->dir, "samples.csv");
	if (err) {
		free(merged);
		return err;
	}
	old_open(&old, r, &header, o.f);
	for (int k = 0; k < n && err >= 0; k++) {
		int i = k / r->opt->repeat, rep = 1 + k % r->opt->repeat;
		char prefix[64];

		results_raw_path(r, i, rep, 1, path, sizeof path);
		snprintf(prefix, sizeof prefix, "%s,%d,", r->plan->point[i].pt.id, rep);
		err = merge_one(&o, &header, path, prefix);
		merged[k] = err == 1;
		/* A part is newer; and of a point that ran again nothing old is left. */
		if (err >= 0)
			err = old_take(&old, prefix, err == 0 && r->stands[k] ? o.f : NULL);
	}
	old_close(&old);
	if (err >= 0 && header)
		err = outfile_commit(&o);
	else /* no probe of this plan had samples: then there is no file */
		outfile_abort(&o);
	/* The parts go only when the whole stands. */
	for (int k = 0; k < n && !err; k++)
		if (merged[k]) {
			results_raw_path(r, k / r->opt->repeat, 1 + k % r->opt->repeat, 1, path, sizeof path);
			unlink(path);
		}
	free(header);
	free(merged);
	return err < 0 ? err : 0;
}

int results_merge(struct results *r)
{
	int err = merge_summary(r);

	return err || !r->opt->raw ? err : merge_samples(r);
}
