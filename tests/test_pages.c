/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: host memory comes in the pages that were asked for, or what was given is said:
 * small ones are small, huge ones huge or counted; what is locked and resident is
 * the kernel's own account; a wrong NUMA node is refused by name.
 *
 * Controls: memory that was not touched is not resident; small pages are not taken for huge
 * ones; the right node passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "harness/err.h"
#include "stages/place/pages.h"
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES (8ull << 20)

static void test_small(void **state)
{
	struct pages_found f;
	struct pages g;
	char why[200] = "";
	int some;

	(void)state;
	assert_int_equal(pages_reserve(&g, BYTES, PAGE_4K), 0);
	assert_int_equal((uintptr_t)g.p % PAGE_2M, 0);
	if (pages_look(&g, &f))
		skip();
	assert_int_equal(f.mapped, BYTES);
	assert_int_equal(f.resident, 0);
	assert_false(pages_as_asked(&g, &some, why, sizeof(why)));
	assert_false(some);
	assert_int_equal(pages_populate(&g), 0);
	assert_int_equal(pages_look(&g, &f), 0);
	assert_int_equal(f.resident, BYTES);
	assert_int_equal(f.huge, 0);
	assert_true(pages_as_asked(&g, &some, why, sizeof(why)));
	/* the same memory, had huge pages been asked for */
	g.page = PAGE_2M;
	assert_false(pages_as_asked(&g, &some, why, sizeof(why)));
	assert_false(some);
	assert_non_null(strstr(why, "0 of 8192 KiB are in pages of 2 MiB"));
	pages_free(&g);
}

static void test_huge(void **state)
{
	struct pages_found f;
	struct pages g;
	char why[200] = "";
	int some;

	(void)state;
	if (!host_has_huge(why, sizeof(why))) {
		assert_non_null(strstr(why, "2 MiB"));
		skip();
	}
	assert_int_equal(pages_reserve(&g, BYTES, PAGE_2M), 0);
	assert_int_equal(pages_populate(&g), 0);
	if (pages_look(&g, &f))
		skip();
	/* a full machine may have none left: then it says so */
	assert_int_equal(pages_as_asked(&g, &some, why, sizeof(why)), f.huge == BYTES);
	assert_int_equal(some, f.huge > 0);
	pages_free(&g);
}

static void test_locked(void **state)
{
	struct pages_found f;
	struct pages g;

	(void)state;
	assert_int_equal(pages_reserve(&g, BYTES, PAGE_4K), 0);
	assert_int_equal(pages_populate(&g), 0);
	/* a part, which cuts the mapping into three; sanitizers make mlock() do nothing */
	if (syscall(SYS_mlock, g.p + PAGE_2M, 1 << 20) || pages_look(&g, &f))
		skip();
	assert_int_equal(f.mapped, BYTES);
	assert_int_equal(f.locked, 1 << 20);
	pages_free(&g);
}

static void test_node(void **state)
{
	struct pages g;
	int node, same;

	(void)state;
	assert_int_equal(pages_reserve(&g, BYTES, PAGE_4K), 0);
	assert_int_equal(pages_populate(&g), 0);
	assert_int_equal(pages_assert_node(&g, -1, &node), 0);
	assert_int_equal(node, -1);
	fs_log_quiet(1);
	if (!pages_assert_node(&g, 1000, &node) && node < 0)
		skip(); /* the kernel doesn't say where pages are */
	assert_int_equal(pages_assert_node(&g, 1000, &node), -EFAULT);
	assert_non_null(strstr(fs_reason(), "asked for on NUMA node 1000 is on node"));
	assert_true(node >= 0);
	assert_int_equal(pages_assert_node(&g, node, &same), 0);
	assert_int_equal(same, node);
	pages_free(&g);
}

static void test_room(void **state)
{
	(void)state;
	assert_true(host_free_bytes() > 0);
	assert_true(host_lock_limit() > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
