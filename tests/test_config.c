/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a config is read whole and as it stands (long lines too, of which
 * libinih would keep 199 characters), and every fault is reported at its line
 * with what would be legal.
 */
#include "tests/fake_tables.h"

#include "harness/plan.h"
#include <time.h>

/* Reads these bytes as a file; what was said is in `said`. */
static int read_bytes(struct plan *p, const char *bytes, size_t len)
{
	char *path = file_of(bytes, len);
	int rc;

	listen_start();
	rc = plan_read(p, path);
	listen_stop();
	unlink(path);
	free(path);
	return rc;
}

static void accept(struct plan *p, const char *text)
{
	plan_init(p);
	if (read_bytes(p, text, strlen(text)))
		fail_msg("refused:\n%s", said);
	assert_string_equal(said, "");
}

/* One fault, at that line, with those words. */
static void refuse(const char *text, int line, const char *words)
{
	struct plan p;
	char where[32];

	plan_init(&p);
	assert_int_equal(read_bytes(&p, text, strlen(text)), -EINVAL);
	plan_free(&p);
	if (line) {
		snprintf(where, sizeof(where), ":%d: ", line);
		assert_says(said, where);
	}
	assert_says(said, words);
	if (lines_of(said) != 1)
		fail_msg("expected one fault:\n%s", said);
}

static const char *where_line(const char *where)
{
	const char *colon = strrchr(where, ':');

	return colon ? colon + 1 : "";
}

static void experiments(void **state)
{
	struct plan p;
	struct experiment *e;

	(void)state;
	accept(&p, "# a comment\n"
		   "[global]\n"
		   "nic = peer\n"
		   "skew = 3\n"
		   "size=4K\n"
		   "absent = skip\n"
		   "\n"
		   "[ordering]\n"
		   "vary = ordering\n"
		   "values = none, gpu-fence, sys-fence\n"
		   "size = 64\n"
		   "title = What a fence costs; really: = [x] # 1\n"
		   "; another comment\n"
		   "[clock.1_a-b] ; and one here\n"
		   "probe = clock\t; and here\n"
		   "absent = error\n");
	assert_int_equal(p.nexp, 2);
	e = &p.exp[0];
	assert_string_equal(e->name, "ordering");
	assert_string_equal(where_line(e->where), "8");
	assert_string_equal(e->probe, "path");
	assert_string_equal(e->vary, "ordering");
	assert_string_equal(e->values, "none, gpu-fence, sys-fence");
	assert_string_equal(where_line(e->vary_where), "10");
	assert_string_equal(e->title, "What a fence costs; really: = [x] # 1");
	assert_true(e->absent_skip);
	assert_int_equal(e->nset, 4);
	assert_int_equal(e->nglobal, 3);
	assert_string_equal(e->set[0].name, "nic");
	assert_string_equal(e->set[2].text, "4K");
	assert_string_equal(where_line(e->set[2].where), "5");
	assert_string_equal(e->set[3].name, "size");
	assert_string_equal(e->set[3].text, "64");
	assert_string_equal(where_line(e->set[3].where), "11");
	e = &p.exp[1];
	assert_string_equal(e->name, "clock.1_a-b");
	assert_string_equal(e->probe, "clock");
	assert_null(e->vary);
	assert_null(e->title);
	assert_false(e->absent_skip);
	plan_free(&p);
}

/* Each section's settings reach the point; [global] gives way. */
static void values_reach_points(void **state)
{
	struct plan p;

	(void)state;
	accept(&p, "[global]\nsize = 4K\nskew = 3\ndepth = 4\nordering = none\n"
		   "[a]\nsize = 64\nvary = ordering\nvalues = none,sys-fence\n"
		   "[b]\nprobe = clock\n");
	assert_int_equal(plan_expand(&p, NULL), 0);
	assert_int_equal(p.npoints, 3);
	assert_int_equal(fs_num(&p.point[0].pt, "size"), 64);
	assert_int_equal(fs_num(&p.point[0].pt, "depth"), 4);
	assert_int_equal(fs_num(&p.point[0].pt, "skew"), 0); /* path doesn't read it */
	assert_true(fs_is(&p.point[1].pt, "ordering", "sys-fence"));
	assert_int_equal(fs_num(&p.point[2].pt, "skew"), 3);
	assert_int_equal(fs_num(&p.point[2].pt, "size"), 8);
	plan_free(&p);
}

static void forms(void **state)
{
	struct plan p;

	(void)state;
	/* libinih takes an indented line for a continuation. */
	accept(&p, "[a]\n    nic = null\n    size = 16\n");
	assert_int_equal(p.exp[0].nset, 2);
	plan_free(&p);
	accept(&p, "\xef\xbb\xbf[a]\r\nnic = null\r\nsize\t=\t16 \r\n[ b ]\r\n");
	assert_int_equal(p.nexp, 2);
	assert_string_equal(p.exp[0].set[0].text, "null");
	assert_string_equal(p.exp[0].set[1].text, "16");
	assert_string_equal(p.exp[1].name, "b");
	plan_free(&p);
	accept(&p, "[a]\nsize = 16"); /* no newline at the end */
	assert_string_equal(p.exp[0].set[0].text, "16");
	plan_free(&p);
	accept(&p, "[global]\nprobe = clock\n[a]\nskew = 1\n[b]\nprobe = path\n");
	assert_string_equal(p.exp[0].probe, "clock");
	assert_string_equal(p.exp[1].probe, "path");
	plan_free(&p);
	/* A text that looks like the stand-in. */
	accept(&p, "[a]\ntitle = @2\n[b]\ntitle = @7\n");
	assert_string_equal(p.exp[0].title, "@2");
	assert_string_equal(p.exp[1].title, "@7");
	plan_free(&p);
}

/* A config whose third line is a list of `len` characters, 10 + 6 n. */
static char *list_config(size_t len, int *values)
{
	char *text = calloc(1, len + 64), *line = text + sprintf(text, "[a]\nvary = size\n");
	size_t at = (size_t)sprintf(line, "values = 1");

	for (*values = 1; at < len; ++*values)
		at += (size_t)sprintf(line + at, ", %d", 999 + *values);
	assert_int_equal(at, len);
	return text;
}

static void long_lines(void **state)
{
	static const size_t lens[] = { 190, 198, 199, 200, 201, 400, 1990, 4096 };
	struct plan p;

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = 10 + (lens[i] - 10) / 6 * 6;
		int values;
		char *text = list_config(len, &values), *full;

		/* Filled up with blanks to the length that is wanted. */
		assert_true(asprintf(&full, "%s%*s\nsize2 = 1\n", text, (int)(lens[i] - len), "") > 0);
		free(text);
		/* The fault behind it shows that the count of lines holds. */
		refuse(full, 4, "size2");
		*strstr(full, "size2") = 0;
		accept(&p, full);
		assert_int_equal(plan_expand(&p, NULL), 0);
		assert_int_equal(p.npoints, values);
		assert_int_equal(fs_num(&p.point[values - 1].pt, "size"), values > 1 ? 998 + values : 1);
		plan_free(&p);
		free(full);
	}
}

static void long_title(void **state)
{
	char text[5000] = "[a]\ntitle = ";
	struct plan p;
	size_t at = strlen(text), room = 4096 - strlen("title = ");

	(void)state;
	memset(text + at, 'x', room - 1);
	text[at + room - 1] = 'y';
	accept(&p, text);
	assert_int_equal(strlen(p.exp[0].title), room);
	assert_int_equal(p.exp[0].title[room - 1], 'y');
	plan_free(&p);
	text[at + room] = 'z';
	refuse(text, 2, "over 4096 characters");
}

static void form_faults(void **state)
{
	char name[64];

	(void)state;
	refuse("[a]\nsize 64\n", 2, "no assignment; legal: NAME = VALUE");
	refuse("[a]\nsize: 64\n", 2, "no assignment");
	refuse("[a]\nsize =\n", 2, "size has no value");
	refuse("[a]\nsize = ; 8\n", 2, "size has no value");
	refuse("[a]\n= 64\n", 2, "is no name");
	refuse("[a]\nsi ze = 64\n", 2, "is no name");
	refuse("[a]\nsize = 64\nsize = 64\n", 3, "size stands already in line 2");
	refuse("size = 64\n[a]\n", 1, "before any section");
	refuse("[a\nsize = 64\n[b]\n", 1, "no section; legal: [NAME]");
	refuse("[a] b\nsize = 64\n[b]\n", 1, "no section");
	refuse("[]\n[b]\n", 1, "no section");
	refuse("[a b]\n[b]\n", 1, "no section");
	refuse("[\n[b]\n", 1, "no section");
	refuse("[a]\n\n[b]\n[a]\nsize = 64\n", 4, "section [a] stands already in line 1");
	refuse("[global]\n[global]\n[a]\n", 2, "section [global] stands already in line 1");
	refuse("[a]\n[global]\n", 2, "legal: first in the file");
	refuse("", 0, "no experiment");
	refuse("# nothing\n", 0, "no experiment");
	refuse("[global]\nsize = 8\n", 0, "no experiment");
	/* 48 characters: libinih would cut at 49, and merge. */
	memset(name, 'n', sizeof(name));
	snprintf(name + 1 + 48, sizeof(name) - 49, "]\n[b]\n");
	name[0] = '[';
	refuse(name, 1, "at most 47");
}

static void bytes_faults(void **state)
{
	static const char nul[] = "[a]\nsize = 8\0 16\nnic = nix\n";
	struct plan p;

	(void)state;
	plan_init(&p);
	assert_int_equal(read_bytes(&p, nul, sizeof(nul) - 1), -EINVAL);
	plan_free(&p);
	assert_says(said, ":2: the line has a NUL byte");
	assert_says(said, ":3: nic: \"nix\""); /* and goes on */
	assert_int_equal(lines_of(said), 2);
}

static void meaning_faults(void **state)
{
	(void)state;
	refuse("[a]\nsise = 64\n", 2, "no key \"sise\"; legal: probe, vary, values, title, absent and "
	       "the variables size, nic");
	refuse("[a]\nsize = 0\n", 2, "legal: 1..1048576");
	refuse("[a]\nsize = 8,16\n", 2, "a list goes into `values`");
	refuse("[a]\nskew = 1\n", 2, "probe \"path\" doesn't read \"skew\"; legal: size, nic");
	refuse("[a]\nprobe = clock\nsize = 8\n", 3, "probe \"clock\" doesn't read \"size\"; legal: gpu, "
	       "skew");
	refuse("[a]\nsize = 8\nprobe = clock\n", 2, "doesn't read"); /* in any order */
	refuse("[a]\nprobe = pth\nskew = 1\n", 2, "no probe \"pth\"; legal: path, clock");
	refuse("[global]\nprobe = pth\n[a]\nskew = 1\n[b]\n", 2, "legal: path, clock");
	refuse("[a]\nvary = size\n", 2, "`vary` stands without `values`");
	refuse("[a]\nvalues = 8\n", 2, "`values` stands without `vary`");
	refuse("[a]\nvary = sise\nvalues = 8\n", 2, "no variable \"sise\"; legal: size, nic");
	refuse("[a]\nvary = skew\nvalues = 1\n", 2, "probe \"path\" doesn't read \"skew\"");
	refuse("[a]\nvary = probe\nvalues = path,clock\n", 2, "no variable \"probe\"");
	refuse("[a]\nvary = size\nvalues = 8,,16\n", 3, "empty");
	refuse("[a]\nvary = size\nvalues = 8,0\n", 3, "legal: 1..1048576");
	refuse("[a]\nvary = size\nvalues = 8..64\n", 3, "legal: A..B*F");
	refuse("[a]\nvary = size\nvalues = 8,16\nsize = 8\n", 4, "varied in line 2");
	refuse("[a]\nabsent = maybe\n", 2, "legal: skip or error");
	refuse("[global]\nabsent = maybe\n[a]\n", 2, "legal: skip or error");
	refuse("[global]\nvary = size\n[a]\n", 2, "vary stands in [global]");
	refuse("[global]\ntitle = x\n[a]\n", 2, "title stands in [global]");
	refuse("[global]\nsise = 1\n[a]\n", 2, "no key \"sise\"");
	refuse("[global]\nsize = x\n[a]\n", 2, "legal: 1..1048576");
	refuse("[global]\nsize = 8\n[a]\nprobe = clock\n", 2, "no experiment's probe reads \"size\"");
}

static void all_faults(void **state)
{
	const char *text = "[global]\nsize = x\nskew = 1\n[a]\nnic = nix\nfoo = 1\nvary = size\n"
			   "[b]\nplant = 5\njunk\nvalues = 3\n[b]\n";
	static const int lines[] = { 2, 3, 5, 6, 7, 9, 10, 11, 12 };
	struct plan p;
	char where[16];

	(void)state;
	plan_init(&p);
	assert_int_equal(read_bytes(&p, text, strlen(text)), -EINVAL);
	plan_free(&p);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(where, sizeof(where), ":%d: ", lines[i]);
		assert_says(said, where);
	}
	assert_int_equal(lines_of(said), sizeof(lines) / sizeof(lines[0]));
}

static void twenty_faults(void **state)
{
	char text[1024] = "[a]\n";
	struct plan p;

	(void)state;
	for (int i = 0; i < 30; i++)
		sprintf(text + strlen(text), "junk %d\n", i);
	plan_init(&p);
	assert_int_equal(read_bytes(&p, text, strlen(text)), -EINVAL);
	plan_free(&p);
	assert_says(said, ":21: ");
	assert_null(strstr(said, ":22: "));
	assert_says(said, "20 faults; no more are reported");
	assert_int_equal(lines_of(said), 21);
}

static void several_files(void **state)
{
	struct plan p;

	(void)state;
	accept(&p, "[global]\nsize = 64\n[a]\n");
	/* A [global] is its own file's. */
	assert_int_equal(read_bytes(&p, "[b]\n", 4), 0);
	assert_int_equal(p.nexp, 2);
	assert_int_equal(p.exp[1].nset, 0);
	assert_int_equal(read_bytes(&p, "[c]\n[a]\n", 8), -EINVAL);
	assert_says(said, ":2: section [a] stands already in ");
	assert_says(said, p.exp[0].where);
	plan_free(&p);
}

static void unreadable(void **state)
{
	struct plan p;

	(void)state;
	plan_init(&p);
	listen_start();
	int absent = plan_read(&p, "/nonexistent/x.ini");
	int dir = plan_read(&p, "/");
	int endless = plan_read(&p, "/dev/zero");
	listen_stop();
	assert_int_equal(absent, -ENOENT);
	assert_int_equal(dir, -EISDIR);
	assert_int_equal(endless, -EINVAL);
	assert_says(said, "/nonexistent/x.ini: No such file");
	plan_free(&p);
}

/* CPU seconds that a file of so many sections takes, the least of three times. */
static double sections_s(int n)
{
	size_t len = (size_t)n * 40, at = 0;
	char *text = malloc(len);
	double least = 1e9;

	assert_non_null(text);
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, len - at, "[s%d]\nsize = 8\n", i);
	for (int i = 0; i < 3; i++) {
		clock_t t = clock();
		struct plan p;
		double s;

		plan_init(&p);
		assert_int_equal(read_bytes(&p, text, at), 0);
		assert_int_equal(p.nexp, n);
		plan_free(&p);
		s = (double)(clock() - t) / CLOCKS_PER_SEC;
		least = s < least ? s : least;
	}
	free(text);
	return least;
}

/* Eight times as many take eight times as long, not 64 times. */
static void many_sections(void **state)
{
	double few = sections_s(2500), many = sections_s(20000);

	(void)state;
	print_message("2500 sections: %.3f s, 20000: %.3f s\n", few, many);
	assert_true(many < 24 * few + 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(experiments), cmocka_unit_test(values_reach_points),
		cmocka_unit_test(forms), cmocka_unit_test(long_lines), cmocka_unit_test(long_title),
		cmocka_unit_test(form_faults), cmocka_unit_test(bytes_faults),
		cmocka_unit_test(meaning_faults), cmocka_unit_test(all_faults),
		cmocka_unit_test(twenty_faults), cmocka_unit_test(several_files),
		cmocka_unit_test(unreadable), cmocka_unit_test(many_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
