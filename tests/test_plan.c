/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a plan holds exactly the points that were asked for, each once; what
 * can't run is refused where it was asked for; and the order of words on the
 * command line doesn't matter.
 */
#include "tests/fake_tables.h"

#include "harness/file.h"
#include "harness/plan.h"

static void config(struct plan *p, const char *text)
{
	char *path = file_of(text, strlen(text));

	assert_int_equal(plan_read(p, path), 0);
	unlink(path);
	free(path);
}

/* ARGS is a NULL-terminated list; what was said is in `said`. */
static int cli(struct plan *p, int cross, const char *const *args)
{
	int n = 0, rc;

	while (args[n])
		n++;
	listen_start();
	rc = plan_cli(p, (char *const *)args, n, cross);
	listen_stop();
	return rc;
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define CLI(p, cross, ...) cli(p, cross, ARGS(__VA_ARGS__))

static int expand(struct plan *p, const struct machine *m)
{
	int rc;

	listen_start();
	rc = plan_expand(p, m);
	listen_stop();
	return rc;
}

/* A plan from a config (or NULL) and the command line; fine or fail. */
static void plan(struct plan *p, const char *text, int cross, const char *const *args)
{
	plan_init(p);
	if (text)
		config(p, text);
	if (cli(p, cross, args) || expand(p, NULL))
		fail_msg("%s", said);
}

#define PLAN(p, text, cross, ...) plan(p, text, cross, ARGS(__VA_ARGS__))

/* The rows as "EXPERIMENT VARIED=VALUE {POINT}; ..." */
static const char *rows(const struct plan *p)
{
	static char out[8192];
	char text[512];
	size_t at = 0;

	out[0] = 0;
	for (int i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->row[i];

		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s %s=%s {%s}", i ? "; " : "",
				       p->exp[r->experiment].name, r->varied, r->value,
				       fs_point_text(&p->point[r->point].pt, text, sizeof(text)));
	}
	return out;
}

/* One fault of the command line, with those words. */
static void refuse(const char *text, int cross, const char *words, const char *const *args)
{
	struct plan p;
	int rc;

	plan_init(&p);
	if (text)
		config(&p, text);
	rc = cli(&p, cross, args);
	plan_free(&p);
	assert_int_equal(rc, -EINVAL);
	assert_says(said, "command line: ");
	assert_says(said, words);
	if (lines_of(said) != 1)
		fail_msg("expected one fault:\n%s", said);
}

#define REFUSE(text, cross, words, ...) refuse(text, cross, words, ARGS(__VA_ARGS__))

static const char two[] = "[a]\nvary = size\nvalues = 8,16\n"
			  "[b]\nvary = ordering\nvalues = none,sys-fence\n"
			  "[c]\nprobe = clock\n";

/* ---- the command line ---- */

static void cli_alone(void **state)
{
	struct plan p;

	(void)state;
	PLAN(&p, NULL, 0, NULL);
	assert_string_equal(rows(&p), "cli = {}");
	assert_string_equal(p.exp[0].probe, "path");
	plan_free(&p);
	PLAN(&p, NULL, 0, "size=64K", "nic=null");
	assert_string_equal(rows(&p), "cli = {size=65536 nic=null}");
	assert_string_equal(p.exp[0].set[0].where, "command line");
	plan_free(&p);
	PLAN(&p, NULL, 0, "size=8..32*2", "nic=null");
	assert_string_equal(rows(&p), "cli size=8 {nic=null}; cli size=16 {size=16 nic=null}; "
			    "cli size=32 {size=32 nic=null}");
	assert_string_equal(p.exp[0].vary_where, "command line");
	plan_free(&p);
	PLAN(&p, NULL, 0, "size=16..16*2"); /* a list of one value is a value */
	assert_string_equal(rows(&p), "cli = {size=16}");
	plan_free(&p);
	PLAN(&p, NULL, 0, "skew=-1", "probe=clock"); /* probe= behind what it decides */
	assert_string_equal(rows(&p), "cli = {skew=-1}");
	plan_free(&p);
}

static void cli_refusals(void **state)
{
	(void)state;
	REFUSE(NULL, 0, "no assignment; legal: NAME=VALUE", "size");
	REFUSE(NULL, 0, "no assignment", "=8");
	REFUSE(NULL, 0, "no variable \"sise\"; legal: probe, size, nic", "sise=8");
	REFUSE(NULL, 0, "legal: 1..1048576", "size=0");
	REFUSE(NULL, 0, "empty", "size=");
	REFUSE(NULL, 0, "empty", "size=8,");
	REFUSE(NULL, 0, "size is given twice", "size=8", "nic=soft", "size=16");
	REFUSE(NULL, 0, "probe is given twice", "probe=path", "probe=path");
	REFUSE(NULL, 0, "no probe \"pth\"; legal: path, clock", "probe=pth", "size=8");
	REFUSE(NULL, 0, "no probe \"path,clock\"", "probe=path,clock");
	REFUSE(NULL, 0, "probe \"path\" doesn't read \"skew\"; legal: size, nic", "skew=1");
	REFUSE(NULL, 0, "probe \"clock\" doesn't read \"size\"; legal: gpu, skew", "size=8,16",
	       "probe=clock");
	REFUSE(NULL, 0, "both \"size\" and \"nic\" are lists; legal: one list, or --cross",
	       "nic=null,soft", "size=8,16");
	REFUSE(two, 0, "no experiment's probe reads \"rate\"", "rate=1");
	REFUSE(two, 0, "no experiment varies \"depth\"; legal: a single value", "depth=1,2");
	REFUSE(two, 1, "no experiment varies \"depth\"", "depth=1,2");
	REFUSE(two, 0, "are lists", "size=8,32", "ordering=none,gpu-fence");
	REFUSE(two, 0, "no probe \"pth\"", "probe=pth", "size=8");
}

static void cli_all_faults(void **state)
{
	struct plan p;

	(void)state;
	plan_init(&p);
	assert_int_equal(CLI(&p, 0, "size=0", "nix=1", "nic=x", "junk"), -EINVAL);
	assert_int_equal(lines_of(said), 4);
	plan_free(&p);
}

static void grid(void **state)
{
	struct plan p, q;

	(void)state;
	PLAN(&p, NULL, 1, "size=8,16", "nic=null,soft");
	assert_string_equal(rows(&p), "cli size*nic=8*null {nic=null}; cli size*nic=8*soft {}; "
			    "cli size*nic=16*null {size=16 nic=null}; cli size*nic=16*soft {size=16}");
	PLAN(&q, NULL, 1, "nic=null,soft", "size=8..16*2");
	for (int i = 0; i < 4; i++)
		assert_string_equal(p.point[i].pt.id, q.point[i].pt.id);
	plan_free(&q);
	plan_free(&p);
	PLAN(&p, NULL, 1, "size=8,16", "nic=null,soft", "depth=1..4*2", "gpu=3");
	assert_int_equal(p.nrows, 12);
	assert_string_equal(p.row[11].varied, "size*nic*depth");
	assert_string_equal(p.row[11].value, "16*soft*4");
	plan_free(&p);
	PLAN(&p, NULL, 1, "size=8,16"); /* --cross with one list: no grid */
	assert_string_equal(p.row[1].varied, "size");
	plan_free(&p);
}

static void cli_over_config(void **state)
{
	struct plan p;

	(void)state;
	/* Set where it is read; c's probe doesn't. */
	PLAN(&p, two, 0, "nic=null");
	assert_string_equal(rows(&p), "a size=8 {nic=null}; a size=16 {size=16 nic=null}; "
			    "b ordering=none {nic=null ordering=none}; "
			    "b ordering=sys-fence {nic=null ordering=sys-fence}; c = {}");
	plan_free(&p);
	/* A single value replaces what a varies, and is set in b. */
	PLAN(&p, two, 0, "size=64");
	assert_string_equal(rows(&p), "a size=64 {size=64}; b ordering=none {size=64 ordering=none}; "
			    "b ordering=sys-fence {size=64 ordering=sys-fence}; c = {}");
	assert_string_equal(p.exp[0].vary_where, "command line");
	plan_free(&p);
	/* A list replaces in a alone. */
	PLAN(&p, two, 0, "size=64,128");
	assert_string_equal(rows(&p), "a size=64 {size=64}; a size=128 {size=128}; "
			    "b ordering=none {ordering=none}; b ordering=sys-fence {ordering=sys-fence}; "
			    "c = {}");
	plan_free(&p);
	/* A setting of a section gives way. */
	PLAN(&p, "[global]\nsize = 4\n[a]\nsize = 16\n", 0, "size=32");
	assert_string_equal(rows(&p), "a = {size=32}");
	plan_free(&p);
	/* Another probe takes of [global] what it reads... */
	PLAN(&p, "[global]\nsize = 4\nskew = 2\n[a]\n[b]\nprobe = clock\n", 0, "probe=clock");
	assert_string_equal(rows(&p), "a = {skew=2}; b = {skew=2}");
	assert_int_equal(p.npoints, 1);
	plan_free(&p);
	/* ... but a section's own settings must be read. */
	plan_init(&p);
	config(&p, two);
	assert_int_equal(CLI(&p, 0, "probe=clock"), 0);
	assert_int_equal(expand(&p, NULL), -EINVAL);
	assert_says(said, ":3: [a] probe \"clock\" doesn't read \"size\"; legal: gpu, skew");
	assert_int_equal(lines_of(said), 2);
	plan_free(&p);
}

/* ---- points ---- */

static void shared_points(void **state)
{
	struct plan p;

	(void)state;
	fake_checks = 0;
	/* a's 64K, b's 65536, and c, which writes defaults out: one point. */
	PLAN(&p, "[a]\nvary = size\nvalues = 8,64K\n"
		 "[b]\nvary = nic\nvalues = soft,null\nsize = 65536\n"
		 "[c]\nsize = 64K\nnic = soft\nplant = none\n", 0, NULL);
	assert_int_equal(p.nrows, 5);
	assert_int_equal(p.npoints, 3);
	assert_int_equal(fake_checks, 3);
	assert_int_equal(p.row[1].point, p.row[2].point);
	assert_int_equal(p.row[1].point, p.row[4].point);
	assert_string_equal(p.row[1].value, "65536");
	assert_string_equal(p.row[4].varied, "");
	assert_string_equal(p.row[4].value, "");
	/* Expanding again gives the same. */
	assert_int_equal(expand(&p, NULL), 0);
	assert_int_equal(p.npoints, 3);
	plan_free(&p);
}

static void probes_keep_apart(void **state)
{
	struct plan p;

	(void)state;
	PLAN(&p, "[a]\n[b]\nprobe = clock\n", 0, NULL);
	assert_int_equal(p.npoints, 2);
	plan_free(&p);
}

static void many_points(void **state)
{
	struct plan p;

	(void)state;
	PLAN(&p, NULL, 1, "size=1..4000+1", "nic=null,soft"); /* the table of ids grows */
	assert_int_equal(p.npoints, 8000);
	assert_int_equal(p.nrows, 8000);
	plan_free(&p);
	plan_init(&p);
	assert_int_equal(CLI(&p, 1, "size=1..4000+1", "big=1..4000+1"), 0);
	assert_int_equal(expand(&p, NULL), -EINVAL);
	assert_says(said, "command line: [cli] the plan has more than 65536 points");
	plan_free(&p);
	REFUSE(NULL, 0, "more than 4096 values", "size=1..5000+1");
}

static void impossible_points(void **state)
{
	struct plan p;

	(void)state;
	plan_init(&p);
	config(&p, "[a]\nnic = null\nvary = plant\nvalues = none,rung:5,rung:6\n"
		   "[ok]\nplant = rung:5\n"
		   "[b]\nnic = null\nplant = rung:5\n");
	assert_int_equal(CLI(&p, 0, NULL), 0);
	assert_int_equal(expand(&p, NULL), -EINVAL);
	/* Each where it was asked for, though a's and b's is one point. */
	assert_says(said, ":4: [a] plant=rung:5: probe path with nic=null plant=rung:5: nic=null has no "
		    "marks to plant in; legal: nic=soft");
	assert_says(said, ":4: [a] plant=rung:6: ");
	assert_says(said, ":7: [b]: probe path with nic=null plant=rung:5: ");
	assert_int_equal(lines_of(said), 3);
	plan_free(&p);
	plan_init(&p);
	assert_int_equal(CLI(&p, 1, "nic=null", "plant=rung:1..9*2"), -EINVAL); /* no such range */
	plan_free(&p);
	plan_init(&p);
	assert_int_equal(CLI(&p, 1, "nic=null", "plant=rung:5", "size=1..100+1"), 0);
	assert_int_equal(expand(&p, NULL), -EINVAL);
	assert_says(said, "command line: [cli] size=1: ");
	assert_says(said, "100 faults in all");
	assert_int_equal(lines_of(said), 22);
	plan_free(&p);
}

static void absent_points(void **state)
{
	static const char skip[] = "[a]\nabsent = skip\nvary = nic\nvalues = soft,peer\n";
	struct machine m = { .ngpus = 1 };
	struct plan p;

	(void)state;
	PLAN(&p, skip, 0, NULL);
	assert_int_equal(p.npoints, 2);
	assert_false(p.point[0].skipped);
	assert_true(p.point[1].skipped);
	assert_string_equal(p.point[1].why, "nic=peer needs a GPU");
	assert_int_equal(plan_expand(&p, &m), 0);
	assert_false(p.point[1].skipped);
	/* Another experiment that insists on the same point. */
	config(&p, "[b]\nnic = peer\n");
	assert_int_equal(expand(&p, NULL), -EINVAL);
	assert_says(said, ":1: [b]: probe path with nic=peer: nic=peer needs a GPU");
	assert_int_equal(lines_of(said), 1);
	plan_free(&p);
	/* Skipping is for what is absent, not for what is impossible. */
	plan_init(&p);
	config(&p, "[a]\nabsent = skip\nnic = null\nplant = rung:5\n");
	assert_int_equal(expand(&p, NULL), -EINVAL);
	plan_free(&p);
}

static void empty_plan(void **state)
{
	struct plan p;

	(void)state;
	plan_init(&p);
	assert_int_equal(expand(&p, NULL), -EINVAL);
	plan_order(&p, 1, 0);
	plan_free(&p);
	plan_free(&p); /* twice is fine */
}

/* ---- plan.csv ---- */

static void csv(void **state)
{
	char dir[] = "/tmp/fivestage-plan-XXXXXX", path[64], buf[4096], *cells[32];
	struct plan p;
	FILE *f;

	(void)state;
	PLAN(&p, "[a]\nvary = size\nvalues = 8,64K\n[c]\nplant = rung:5\nprobe = path\n", 0, NULL);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(plan_write(&p, dir), 0);
	snprintf(path, sizeof(path), "%s/plan.csv", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(csv_read(f, buf, sizeof(buf), cells, 32), 15);
	assert_string_equal(cells[0], "point");
	assert_string_equal(cells[1], "experiment");
	assert_string_equal(cells[2], "probe");
	assert_string_equal(cells[3], "varied");
	assert_string_equal(cells[4], "value");
	for (int i = 0; i < 10; i++)
		assert_string_equal(cells[5 + i], fs_vars[i].name);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(csv_read(f, buf, sizeof(buf), cells, 32), 15);
		assert_string_equal(cells[0], p.point[i].pt.id);
		assert_string_equal(cells[1], i < 2 ? "a" : "c");
		assert_string_equal(cells[2], "path");
		assert_string_equal(cells[3], i < 2 ? "size" : "");
		assert_string_equal(cells[4], i == 0 ? "8" : i == 1 ? "65536" : "");
		assert_string_equal(cells[5], i == 1 ? "65536" : "8");
		assert_string_equal(cells[9], i == 2 ? "rung:5" : "none");
	}
	assert_int_equal(csv_read(f, buf, sizeof(buf), cells, 32), 0);
	fclose(f);
	unlink(path);
	rmdir(dir);
	listen_start();
	assert_true(plan_write(&p, "/nonexistent") < 0);
	listen_stop();
	plan_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cli_alone), cmocka_unit_test(cli_refusals),
		cmocka_unit_test(cli_all_faults), cmocka_unit_test(grid),
		cmocka_unit_test(cli_over_config), cmocka_unit_test(shared_points),
		cmocka_unit_test(probes_keep_apart), cmocka_unit_test(many_points),
		cmocka_unit_test(impossible_points), cmocka_unit_test(absent_points),
		cmocka_unit_test(empty_plan), cmocka_unit_test(csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
