/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the order of running is a permutation, decided by seed and repetition
 * alone, fair to every point, and it alternates between NICs and placements as
 * far as that can be done.
 */
#include "tests/fake_tables.h"

#include "harness/plan.h"

static void config(struct plan *p, const char *text)
{
	char *path = file_of(text, strlen(text));

	assert_int_equal(plan_read(p, path), 0);
	unlink(path);
	free(path);
}

static int repeats(const struct plan *p)
{
	int n = 0;

	for (int i = 1; i < p->npoints; i++) {
		const struct point *a = &p->point[p->order[i - 1]].pt;
		const struct point *b = &p->point[p->order[i]].pt;

		n += fs_word(a, "nic") == fs_word(b, "nic") &&
		     fs_word(a, "queue_mem") == fs_word(b, "queue_mem");
	}
	return n;
}

static void is_permutation(const struct plan *p)
{
	char *seen = calloc(1, (size_t)p->npoints);

	for (int i = 0; i < p->npoints; i++) {
		assert_in_range(p->order[i], 0, p->npoints - 1);
		assert_false(seen[p->order[i]]);
		seen[p->order[i]] = 1;
	}
	free(seen);
}

/* Four keys with a, b, c, d points. */
static void plan_of(struct plan *p, int a, int b, int c, int d)
{
	static const char *const nic[] = { "soft", "null", "soft", "null" };
	static const char *const mem[] = { "auto", "auto", "gpu", "gpu" };
	const int n[] = { a, b, c, d };
	char text[512] = "";

	for (int i = 0; i < 4; i++)
		if (n[i])
			sprintf(text + strlen(text), "[k%d]\nnic = %s\nqueue_mem = %s\nvary = size\n"
				"values = 1..%d+1\n", i, nic[i], mem[i], n[i]);
	plan_init(p);
	config(p, text);
	assert_int_equal(plan_expand(p, NULL), 0);
	assert_int_equal(p->npoints, a + b + c + d);
}

static void order(void **state)
{
	struct plan p;
	int was[40], moved = 0, seeded = 0;

	(void)state;
	plan_of(&p, 10, 10, 10, 10);
	plan_order(&p, 7, 3);
	is_permutation(&p);
	memcpy(was, p.order, sizeof(was));
	plan_order(&p, 7, 4);
	is_permutation(&p);
	for (int i = 0; i < 40; i++)
		moved += p.order[i] != was[i];
	plan_order(&p, 8, 2);
	for (int i = 0; i < 40; i++)
		seeded += p.order[i] != was[i];
	assert_true(moved > 20 && seeded > 20);
	plan_order(&p, 7, 3); /* decided by the two numbers alone */
	assert_memory_equal(p.order, was, sizeof(was));
	plan_free(&p);
}

/* Every place in the order comes to every point about equally often. */
static void order_is_fair(void **state)
{
	enum { N = 8, REPS = 8000 };
	int count[N][N] = { { 0 } };
	struct plan p;

	(void)state;
	plan_of(&p, N, 0, 0, 0);
	for (int rep = 0; rep < REPS; rep++) {
		plan_order(&p, 1, rep);
		for (int i = 0; i < N; i++)
			count[i][p.order[i]]++;
	}
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++) /* 1000 expected, deviation 30 */
			assert_in_range(count[i][k], 840, 1160);
	plan_free(&p);
}

static void order_alternates(void **state)
{
	static const int sizes[][4] = {
		{ 1, 0, 0, 0 }, { 5, 0, 0, 0 }, { 5, 5, 0, 0 }, { 6, 5, 0, 0 }, { 7, 5, 0, 0 },
		{ 20, 5, 0, 0 }, { 10, 5, 5, 0 }, { 11, 5, 5, 0 }, { 12, 5, 5, 0 }, { 10, 8, 2, 0 },
		{ 9, 9, 1, 1 }, { 30, 1, 1, 1 }, { 4, 3, 2, 1 }, { 1, 1, 1, 1 }, { 2, 2, 1, 0 },
		{ 3, 7, 2, 3 }, { 8, 1, 8, 7 }, { 13, 6, 6, 0 }, { 25, 24, 24, 1 },
	};
	struct plan p;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const int *n = sizes[i];
		int most = 0, all = n[0] + n[1] + n[2] + n[3], least;

		for (int k = 0; k < 4; k++)
			most = n[k] > most ? n[k] : most;
		least = 2 * most > all + 1 ? 2 * most - all - 1 : 0;
		plan_of(&p, n[0], n[1], n[2], n[3]);
		for (int rep = 0; rep < 50; rep++) {
			plan_order(&p, 42, rep);
			is_permutation(&p);
			assert_int_equal(repeats(&p), least);
		}
		plan_free(&p);
	}
}

/* Few points among many are spread, so that drift doesn't fall on them alone. */
static void order_spreads(void **state)
{
	struct plan p;

	(void)state;
	plan_of(&p, 36, 4, 0, 0);
	plan_order(&p, 5, 0);
	for (int quarter = 0; quarter < 4; quarter++) {
		int n = 0;

		for (int i = quarter * 10; i < quarter * 10 + 10; i++)
			n += fs_is(&p.point[p.order[i]].pt, "nic", "null");
		assert_int_equal(n, 1);
	}
	plan_free(&p);
	plan_of(&p, 20, 16, 4, 0);
	plan_order(&p, 5, 0);
	for (int half = 0; half < 2; half++) {
		int n = 0;

		for (int i = half * 20; i < half * 20 + 20; i++)
			n += fs_is(&p.point[p.order[i]].pt, "queue_mem", "gpu");
		assert_int_equal(n, 2);
	}
	plan_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order), cmocka_unit_test(order_is_fair),
		cmocka_unit_test(order_alternates), cmocka_unit_test(order_spreads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
