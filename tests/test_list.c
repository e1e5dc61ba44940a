/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a list gives exactly the values that it names, in order, or is
 * refused; a range neither runs away nor leaves anything out unseen.
 */
#include "tests/fake_tables.h"

#define MAX 64

static const struct var *var(const char *name)
{
	int i = fs_var_find(name);

	assert_true(i >= 0);
	return &fs_vars[i];
}

static void gives(const char *name, const char *text, const char *want)
{
	struct value val[MAX];
	char got[1024] = "", one[160];
	int n = fs_list_parse(var(name), text, val, MAX);

	if (n < 0)
		fail_msg("%s=%s: %s", name, text, fs_reason());
	for (int i = 0; i < n; i++) {
		strcat(got, i ? " " : "");
		strcat(got, fs_var_format(var(name), &val[i], one, sizeof(one)));
	}
	assert_string_equal(got, want);
}

static void refuses(const char *name, const char *text, const char *what)
{
	struct value val[MAX];
	int n = fs_list_parse(var(name), text, val, MAX);

	if (n != -EINVAL)
		fail_msg("%s=\"%s\" gave %d", name, text, n);
	assert_says(fs_reason(), name);
	assert_says(fs_reason(), what);
}

static void values(void **state)
{
	(void)state;
	gives("size", "8", "8");
	gives("size", "8,64, 4K ,1M", "8 64 4096 1048576");
	gives("size", " 8 ", "8");
	gives("ordering", "sys-fence, none", "sys-fence none");
	gives("plant", "none,rung:5,intent:5", "none rung:5 intent:5");
	gives("rate", "max,1..4*2,10", "max 1 2 4 10");
	refuses("size", "8,abc", "abc");
	refuses("size", "8,0", "out of range");
	refuses("size", "8 64", "legal");
	refuses("plant", "none,5", "NAME being");
}

static void ranges(void **state)
{
	(void)state;
	gives("size", "8..64*2", "8 16 32 64");
	gives("size", "8..100*3", "8 24 72"); /* B bounds, it need not be hit */
	gives("size", "1K..1M*32", "1024 32768 1048576");
	gives("size", "1..8+1", "1 2 3 4 5 6 7 8");
	gives("size", "1..8+3", "1 4 7");
	gives("size", "4K..12K+4K", "4096 8192 12288");
	gives("size", "8..8*2", "8");
	gives("size", "8..8+1", "8");
	gives("skew", "-4..4+4", "-4 0 4");
	gives("depth", "1..1024*4", "1 4 16 64 256 1024");
	gives("gpu", "auto,0..3+1", "auto 0 1 2 3");
	gives("size", "1,8..32*2,100", "1 8 16 32 100");
	/* The next step would pass 64 bits. */
	gives("big", "1..9223372036854775807*4611686018427387904", "1 4611686018427387904");
	gives("big", "9223372036854775806..9223372036854775807+1",
	      "9223372036854775806 9223372036854775807");
}

static void bad_ranges(void **state)
{
	(void)state;
	refuses("size", "64..8*2", "descends");
	refuses("size", "64..8+2", "descends");
	refuses("size", "8..64*1", "never ends");
	refuses("size", "8..64*0", "never ends");
	refuses("size", "8..64+0", "never ends");
	refuses("skew", "-4..4+-1", "never ends");
	refuses("big", "0..64*2", "never ends"); /* 0 stays 0 */
	refuses("skew", "-4..4*2", "never ends");
	refuses("size", "8..64", "neither factor nor step");
	refuses("size", "8..*2", "whole numbers");
	refuses("size", "..64*2", "whole numbers");
	refuses("size", "8..64*", "whole numbers");
	refuses("size", "8..64*x", "whole numbers");
	refuses("size", "8..64*2*2", "whole numbers");
	refuses("size", "8 .. 64*2", "whole numbers");
	refuses("size", "8..16..32*2", "whole numbers");
	/* Every value must be legal. */
	refuses("size", "0..8+1", "out of range");
	refuses("size", "1..2M*2", "out of range");
	refuses("depth", "1..4+1", "power of two");
	refuses("nic", "null..peer+1", "legal: null, soft or peer");
	refuses("plant", "rung:1..rung:8*2", "legal: none or NAME");
}

static void empty_items(void **state)
{
	(void)state;
	refuses("size", "", "empty");
	refuses("size", "  ", "empty");
	refuses("size", ",8", "empty");
	refuses("size", "8,", "empty");
	refuses("size", "8,,16", "empty");
	refuses("size", "8, ,16", "empty");
}

static void twice(void **state)
{
	(void)state;
	refuses("size", "8,16,8", "8 stands twice");
	refuses("size", "64K,65536", "65536 stands twice");
	refuses("size", "8..64*2,32", "32 stands twice");
	refuses("ordering", "none,none", "none stands twice");
	refuses("plant", "rung:5,rung:05", "rung:5 stands twice");
}

static void too_many(void **state)
{
	struct value val[5] = { 0 };

	(void)state;
	val[4].num = 99;
	assert_int_equal(fs_list_parse(var("size"), "1..4+1", val, 4), 4);
	assert_int_equal(fs_list_parse(var("size"), "1..5+1", val, 4), -EINVAL);
	assert_says(fs_reason(), "more than 4");
	assert_int_equal(fs_list_parse(var("size"), "1,2,3,4,5", val, 4), -EINVAL);
	assert_int_equal(val[4].num, 99);
	/* Refused long before it has run through. */
	assert_int_equal(fs_list_parse(var("big"), "1..9223372036854775807+1", val, 4), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values), cmocka_unit_test(ranges), cmocka_unit_test(bad_ranges),
		cmocka_unit_test(empty_items), cmocka_unit_test(twice), cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
