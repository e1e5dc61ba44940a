/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a value is read exactly or refused with what would be legal, and a
 * point's id depends on what the point is, not on how it was typed or on what
 * else is in the table.
 */
#include "tests/fake_tables.h"

#include <signal.h>
#include <sys/wait.h>

static const struct var *var(const char *name)
{
	int i = fs_var_find(name);

	assert_true(i >= 0);
	return &fs_vars[i];
}

static void reads(const char *name, const char *text, const char *canonical)
{
	char buf[160];
	struct value val;

	if (fs_var_parse(var(name), text, &val))
		fail_msg("%s=%s: %s", name, text, fs_reason());
	assert_string_equal(fs_var_format(var(name), &val, buf, sizeof(buf)), canonical);
}

static void refuses(const char *name, const char *text, const char *what)
{
	struct value val = { 7, 7, 7 };

	listen_start();
	int rc = fs_var_parse(var(name), text, &val);
	const char *logged = listen_stop();

	if (rc != -EINVAL)
		fail_msg("%s=\"%s\" gave %d", name, text, rc);
	assert_string_equal(logged, ""); /* the caller knows where it stood */
	assert_says(fs_reason(), name);
	assert_says(fs_reason(), text);
	assert_says(fs_reason(), what);
	assert_int_equal(val.num, 7);
}

static void numbers(void **state)
{
	(void)state;
	reads("size", "64", "64");
	reads("size", "064", "64");
	reads("size", "64K", "65536");
	reads("size", "1M", "1048576");
	reads("big", "8589934591G", "9223372035781033984");
	reads("big", "9223372036854775807", "9223372036854775807");
	reads("skew", "-8", "-8");
	reads("skew", "-0", "0");
	refuses("size", "", "legal: 1..1048576");
	refuses("size", "0", "out of range");
	refuses("size", "1048577", "legal: 1..1048576");
	refuses("size", "2M", "out of range");
	refuses("skew", "9", "legal: -8..8");
	refuses("skew", "-9", "legal: -8..8");
}

static void junk(void **state)
{
	static const char *const texts[] = {
		"+8", "-8", "--8", "8x", "8 ", " 8", "0x8", "8.0", "1e3", "K", "8KK", "8KB", "8k",
		"8T", "8,", "eight", "-", "8-",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuses("size", texts[i], "legal: 1..1048576");
	refuses("skew", "+1", "legal");
	refuses("skew", "--1", "legal");
	refuses("depth", "1K", "legal"); /* suffixes are for bytes */
}

static void overflow(void **state)
{
	(void)state;
	refuses("big", "9223372036854775808", "out of range");
	refuses("big", "18446744073709551617", "out of range"); /* 1 modulo 2^64 */
	refuses("big", "8589934592G", "out of range");
	refuses("big", "17179869185G", "out of range"); /* 1G modulo 2^64 */
	refuses("skew", "-9223372036854775809", "out of range");
}

static void powers(void **state)
{
	(void)state;
	reads("depth", "1024", "1024");
	refuses("depth", "12", "power of two");
	refuses("depth", "2048", "a power of two");
	refuses("depth", "0", "1..1024");
}

static void words(void **state)
{
	char buf[200];

	(void)state;
	reads("nic", "peer", "peer");
	reads("rate", "max", "max");
	reads("rate", "7", "7");
	refuses("nic", "sof", "legal: null, soft or peer");
	refuses("nic", "softy", "legal: null, soft or peer");
	refuses("nic", "null|soft", "legal: null, soft or peer");
	refuses("nic", "Soft", "legal: null, soft or peer");
	refuses("nic", "1", "legal: null, soft or peer");
	refuses("rate", "min", "legal: max or 1..1073741824");
	assert_string_equal(fs_var_legal(var("gpu"), buf, sizeof(buf)), "auto or 0..15");
	assert_string_equal(fs_var_legal(var("queue_mem"), buf, 8), "auto, h"); /* clipped, ended */
}

static void pairs(void **state)
{
	struct value val;

	(void)state;
	reads("plant", "none", "none");
	reads("plant", "rung:500", "rung:500");
	reads("plant", "intent:0001", "intent:1");
	refuses("plant", "500", "legal: none or NAME:1..1000000, NAME being intent or rung");
	refuses("plant", "rung", "NAME being intent or rung");
	refuses("plant", "rung:", "legal");
	refuses("plant", "rung:0", "out of range");
	refuses("plant", "rung:1000001", "out of range");
	refuses("plant", ":5", "legal");
	refuses("plant", "none:5", "legal");
	refuses("plant", "rung:5:6", "legal");
	refuses("plant", "seen:5", "legal");
	refuses("plant", "rung:+5", "legal");
	assert_int_equal(fs_var_parse(var("plant"), "rung:500", &val), 0);
	assert_int_equal(val.word, -1);
	assert_int_equal(val.pair, 1);
	assert_int_equal(val.num, 500);
}

static void long_text(void **state)
{
	char text[5000];
	struct value val;

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(fs_var_parse(var("size"), text, &val), -EINVAL);
	assert_says(fs_reason(), "legal: 1..1048576");
}

static void points(void **state)
{
	struct point pt;
	char buf[200];

	(void)state;
	fs_point_init(&pt, &path_probe);
	assert_string_equal(fs_point_text(&pt, buf, sizeof(buf)), "");
	assert_int_equal(fs_num(&pt, "size"), 8);
	assert_true(fs_is(&pt, "nic", "soft"));
	assert_int_equal(fs_point_set(&pt, "nic", "peer"), 0);
	assert_int_equal(fs_point_set(&pt, "size", "64"), 0);
	assert_int_equal(fs_point_set(&pt, "gpu", "3"), 0);
	assert_int_equal(fs_point_set(&pt, "plant", "rung:500"), 0);
	assert_string_equal(fs_point_text(&pt, buf, sizeof(buf)),
			    "size=64 nic=peer plant=rung:500 gpu=3");
	assert_int_equal(fs_word(&pt, "nic"), 2);
	assert_int_equal(fs_word(&pt, "gpu"), -1);
	assert_int_equal(fs_num(&pt, "gpu"), 3);
	assert_int_equal(fs_pair(&pt, "plant"), 1);
	assert_int_equal(fs_pair(&pt, "nic"), -1);
	assert_int_equal(fs_num(&pt, "nic"), 0);
	assert_false(fs_is(&pt, "nic", "soft"));
	assert_string_equal(fs_word_text(&pt, "plant", buf, sizeof(buf)), "rung:500");
	assert_int_equal(fs_point_set(&pt, "sise", "64"), -ENOENT);
	assert_says(fs_reason(), "sise");
	assert_int_equal(fs_point_set(&pt, "size", "0"), -EINVAL);
	assert_int_equal(fs_num(&pt, "size"), 64); /* a refused value changes nothing */
}

/* The id of a text, computed apart from the code under test. */
static const char *id_of(const char *text)
{
	static char id[17];
	uint64_t h = 14695981039346656037ull;

	for (; *text; text++)
		h = (h ^ (uint64_t)(unsigned char)*text) * 1099511628211ull;
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)h);
	id[12] = 0;
	return id;
}

static const char *id_with(const struct probe *probe, const char *const *set)
{
	static struct point pt;

	fs_point_init(&pt, probe);
	for (; *set; set += 2)
		assert_int_equal(fs_point_set(&pt, set[0], set[1]), 0);
	fs_point_id(&pt);
	return pt.id;
}

#define ID(probe, ...) id_with(probe, (const char *const[]){ __VA_ARGS__, NULL })

static void ids(void **state)
{
	char want[FS_ID_LEN];

	(void)state;
	assert_string_equal(id_of(""), "cbf29ce48422"); /* FNV-1a's offset */
	assert_string_equal(id_of("a"), "af63dc4c8601");
	/* Only what isn't default is hashed, by name: so a variable that joins
	 * the table, anywhere, leaves ids alone. The table has eight more. */
	strcpy(want, id_of("path ordering=none size=65536"));
	assert_string_equal(ID(&path_probe, "size", "64K", "ordering", "none"), want);
	assert_string_equal(ID(&path_probe, "ordering", "none", "size", "65536"), want);
	/* A default that is written out is still a default. */
	assert_string_equal(ID(&path_probe, "ordering", "none", "size", "65536", "nic", "soft",
			       "depth", "1", "skew", "0"), want);
	assert_string_equal(ID(&path_probe, "size", "8", "plant", "none"), id_of("path"));
	assert_string_equal(ID(&path_probe, "plant", "rung:0500"), id_of("path plant=rung:500"));
	/* What differs has another id. */
	assert_string_not_equal(ID(&path_probe, "size", "65537", "ordering", "none"), want);
	assert_string_not_equal(ID(&clock_probe, "size", "65536", "ordering", "none"), want);
	/* Pinned: results of earlier versions are joined by these. */
	assert_string_equal(ID(&path_probe, "size", "64"), "543f6128f4c0");
}

static void equality(void **state)
{
	struct value a = { -1, -1, 0 }, word = { 0, -1, 0 }, pair = { -1, 0, 0 }, one = { -1, -1, 1 };

	(void)state;
	assert_true(fs_value_equal(&a, &a));
	assert_false(fs_value_equal(&a, &word));
	assert_false(fs_value_equal(&a, &pair));
	assert_false(fs_value_equal(&a, &one));
}

static void ask_num(const struct point *pt) { fs_num(pt, "sise"); }
static void ask_word(const struct point *pt) { fs_word(pt, "sise"); }
static void ask_pair(const struct point *pt) { fs_pair(pt, "sise"); }
static void ask_is(const struct point *pt) { fs_is(pt, "sise", "soft"); }
static void ask_is_word(const struct point *pt) { fs_is(pt, "nic", "sfot"); }
static void ask_text(const struct point *pt) { char b[9]; fs_word_text(pt, "sise", b, sizeof(b)); }

static void unknown_names_abort(void **state)
{
	void (*const ask[])(const struct point *) = {
		ask_num, ask_word, ask_pair, ask_is, ask_is_word, ask_text,
	};
	struct point pt;

	(void)state;
	fs_point_init(&pt, &path_probe);
	for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++) {
		int status;
		pid_t pid;

		listen_start();
		pid = fork();
		if (!pid) {
			signal(SIGABRT, SIG_DFL);
			ask[i](&pt);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		listen_stop();
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_says(said, i == 4 ? "sfot" : "sise");
	}
}

static void tables(void **state)
{
	(void)state;
	assert_int_equal(fs_var_count(), 10);
	assert_int_equal(fs_var_find("nic"), 1);
	assert_int_equal(fs_var_find("nix"), -1);
	assert_ptr_equal(fs_probe_find("clock"), &clock_probe);
	assert_null(fs_probe_find("cloc"));
	assert_true(fs_probe_reads(&clock_probe, "skew"));
	assert_false(fs_probe_reads(&clock_probe, "size"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(junk), cmocka_unit_test(overflow),
		cmocka_unit_test(powers), cmocka_unit_test(words), cmocka_unit_test(pairs),
		cmocka_unit_test(long_text), cmocka_unit_test(points), cmocka_unit_test(ids),
		cmocka_unit_test(equality), cmocka_unit_test(unknown_names_abort),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
