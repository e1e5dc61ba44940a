/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fivestage validate`: is the attribution right? One mark at a time, an agent
 * is made to wait a known time just before it (a plant: 500 ns by a GPU thread, 5 us
 * by a CPU thread, whose waits and neighbours are rougher); the time must come
 * back in the interval that ends in that mark, in size, and nowhere else. Since
 * stages add up to the total by construction, that sum is printed and not
 * judged. The probe `path` pairs planted with plain blocks itself and gives the
 * differences; bench/check.c judges them.
 */
#include "bench/check.h"
#include "harness/file.h"
#include "stages/stage.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Room for settings of ours beside the user's. */
#define OURS 6

struct args { char **v; int n; char text[OURS][1024]; int ours; };

__attribute__((format(printf, 2, 3)))
static void args_add(struct args *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->text[a->ours], sizeof a->text[0], fmt, ap);
	va_end(ap);
	a->v[a->n++] = a->text[a->ours++];
}

static const char *setting_of(const struct options *o, const char *name)
{
	size_t len = strlen(name);

	for (int i = o->nsettings - 1; i >= 0; i--)
		if (!strncmp(o->settings[i], name, len) && o->settings[i][len] == '=')
			return o->settings[i] + len + 1;
	return NULL;
}

/* Who submits and who looks for completions, in all points; `auto` as the probe takes it. */
static struct route route_of(const struct options *o)
{
	static const char *const submitters[SUBMITTERS] = {
#define X(NAME, word, help) word,
		FS_SUBMITTERS(X)
#undef X
	};
	const char *submitter = setting_of(o, "submitter"), *consumer = setting_of(o, "consumer");
	struct route r = { SUBMITTER_GPU, CONSUMER_GPU };

	for (int k = 0; submitter && k < SUBMITTERS; k++)
		if (!strcmp(submitter, submitters[k]))
			r.submitter = (enum submitter)k;
	if (consumer && strcmp(consumer, "auto"))
		r.consumer = strcmp(consumer, "cpu") ? CONSUMER_GPU : CONSUMER_CPU;
	else
		r.consumer = route_consumer(r.submitter);
	return r;
}

/* The user's settings, our defaults and the list of plants, as a plan. */
static int plan_make(struct plan *p, const struct options *o, const struct machine *m, struct route r, int cpu[AGENTS])
{
	static const char *const ours[] = { "plant", "untold", "probe" };
	struct args a = { .v = calloc((size_t)o->nsettings + OURS, sizeof *a.v) };
	const char *issuer = setting_of(o, "issuer"), *nic = setting_of(o, "nic");
	struct suite_nic row;
	char plants[1024] = "";
	long long ns;
	size_t n = 0;
	int err;

	if (!a.v)
		return fs_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		if (setting_of(o, ours[i])) {
			free(a.v);
			return fs_fail(EINVAL, "validate: %s is not free here; plants are what is varied "
				       "(--ns, --untold)", ours[i]);
		}
	cpu[AGENT_ISSUER] = issuer ? strcmp(issuer, "gpu") != 0 : !m->ngpus;
	cpu[AGENT_NIC] = cpu[AGENT_HELPER] = 1;
	for (int k = 0; suite_nic(k, &row); k++)
		if (nic && !strcmp(row.name, nic))
			cpu[AGENT_NIC] = !row.on_gpu;
	for (int k = 0; k < MARKS; k++) {
		ns = o->ns ? o->ns : cpu[mark_agent(r, (enum mark)k)] ? 5000 : 500;
		if (route_has(r, (enum mark)k))
			n += (size_t)snprintf(plants + n, sizeof plants - n, "%s%s:%lld", n ? "," : "",
					      mark_table[k].name, ns);
	}
	args_add(&a, "probe=path");
	if (!issuer)
		args_add(&a, "issuer=%s", cpu[AGENT_ISSUER] ? "cpu" : "gpu");
	if (!nic)
		args_add(&a, "nic=soft");
	args_add(&a, "plant=%s", plants);
	if (o->untold)
		args_add(&a, "untold=%s", o->untold);
	for (int i = 0; i < o->nsettings; i++)
		a.v[a.n++] = o->settings[i];
	err = plan_cli(p, a.v, a.n, 0);
	free(a.v);
	return err;
}

static void print_report(const struct check *c)
{
	int off = 0;

	printf("%-18s %-30s %11s %11s  %-32s %s\n", "plant", "its place", "came back", "wall time",
	       "largest elsewhere", "verdict");
	for (int i = 0; i < c->nplants; i++) {
		const struct plant *p = &c->plant[i];

		plant_print(p, stdout);
		off += p->off > 0;
	}
	for (int i = 0; i < c->nplants; i++)
		for (int k = 0; k < c->plant[i].nfindings; k++)
			finding_print(&c->plant[i], &c->plant[i].finding[k], stdout);
	if (off)
		printf("validate: %d of %d plants off\n", off, c->nplants);
	else
		printf("validate: all %d plants came back in their place, in size, and nowhere else\n",
		       c->nplants);
}

static int write_csv(const struct check *c, const char *dir)
{
	struct outfile o;
	int err = outfile_open(&o, dir, "validate.csv");

	if (err)
		return err;
	check_csv(c, o.f);
	return outfile_commit(&o);
}

static int measure(struct plan *p, const struct machine *m, const struct options *o, struct route r, const int cpu[AGENTS])
{
	struct check *c = check_new(p, r, cpu);
	struct hooks h = { .rows = check_rows, .conclude = check_conclude, .arg = c };
	char dir[2048];
	int code;

	if (!c) {
		fs_fail(ENOMEM, "out of memory");
		return FS_EXIT_FAILED;
	}
	code = conduct(p, m, o, &h, dir, sizeof dir);
	if (code != FS_EXIT_REFUSED && c->concluded) {
		if (write_csv(c, dir))
			code = FS_EXIT_FAILED;
		print_report(c);
		printf("results: %s\n", dir);
	}
	check_free(c);
	return code;
}

int cmd_validate(int argc, char **argv)
{
	struct options o;
	struct machine m;
	struct plan p;
	int cpu[AGENTS] = { 0 }, code = options_parse(&o, argc, argv);

	plan_init(&p);
	if (code < 0) {
		stop_install();
		crew_scout(&m);
		if (stop_wanted())
			code = stop_exit();
		else if (plan_make(&p, &o, &m, route_of(&o), cpu) || plan_expand(&p, &m))
			code = FS_EXIT_USAGE;
	}
	if (code < 0)
		code = measure(&p, &m, &o, route_of(&o), cpu);
	plan_free(&p);
	options_free(&o);
	return code;
}
