/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: which GPU a point's `nic_gpu` means is one thing for the path, for the crossing and for a load beside them; one that
 * the machine lacks is refused by the name of the variable that names it, and one that can't be reached with both.
 *
 * Control: each refused one is legal on a machine that differs in what was complained of.
 */
#include "tests/points.h"

#include "stages/place/which_gpu.h"
#include <errno.h>

enum { TO_0 = 1 << 0, TO_1 = 1 << 1, TO_2 = 1 << 2 };

/* Who reaches whom, by GPU. */
static struct machine machine_of(int gpus, uint32_t of0, uint32_t of1, uint32_t of2)
{
	struct machine m = { .ngpus = gpus };

	m.gpu[0].peers = of0;
	m.gpu[1].peers = of1;
	m.gpu[2].peers = of2;
	return m;
}

static void words_mean_a_gpu(void **state)
{
	static const struct { const char *point; int gpus, g; } rows[] = {
		{ "nic_gpu=gpu", 3, 0 }, { "gpu=2 nic_gpu=gpu", 3, 2 }, { "nic_gpu=1", 3, 1 }, { "gpu=1 nic_gpu=1", 3, 1 },
		{ "nic_gpu=auto", 3, 2 }, /* GPU 1 reaches it, and isn't reached */
		{ "gpu=2 nic_gpu=auto", 3, 0 }, { "gpu=1 nic_gpu=auto", 3, 1 }, /* none but itself */
		{ "nic_gpu=auto", 0, 0 }, { "gpu=5 nic_gpu=auto", 3, 5 }, { "nic_gpu=7", 3, 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct machine m = machine_of(rows[i].gpus, TO_2, TO_0, TO_0);
		struct point pt;

		point_of(&pt, rows[i].point);
		if (gpu_of_nic(&pt, &m) != rows[i].g)
			fail_msg("%s on %d: GPU %d, should be %d", rows[i].point, rows[i].gpus, gpu_of_nic(&pt, &m), rows[i].g);
	}
}

/* -ENODEV and these words, or none of them. */
static void says(int rc, const char *why, const char *words)
{
	assert_int_equal(rc, *words ? -ENODEV : 0);
	assert_string_equal(why, words);
}

static void what_is_not_there_is_refused(void **state)
{
	struct machine none = { .gpu_reason = "the driver is too old" }, silent = { .ngpus = 0 }, two = machine_of(2, TO_1, TO_0, 0);
	char why[256] = "";

	(void)state;
	says(gpu_there(&none, 0, "issuer=gpu", "issuer=cpu", why, sizeof(why)), why, "issuer=gpu needs a GPU: the driver is too old; without one: issuer=cpu");
	says(gpu_there(&silent, 0, "mover=sm", "mover=cpu", why, sizeof(why)), why, "mover=sm needs a GPU: none found; without one: mover=cpu");
	says(gpu_there(&two, 2, "issuer=gpu", "issuer=cpu", why, sizeof(why)), why, "gpu=2: this machine has GPU 0..1");
	says(gpu_named(&two, "others_gpu", 2, why, sizeof(why)), why, "others_gpu=2: this machine has GPU 0..1");
	why[0] = 0;
	says(gpu_there(&two, 1, "issuer=gpu", "issuer=cpu", why, sizeof(why)), why, ""); /* control */
	says(gpu_named(&two, "others_gpu", 1, why, sizeof(why)), why, "");
}

static void who_cannot_be_reached_is_refused(void **state)
{
	static const struct { const char *point; int from, g; const char *words; } rows[] = {
		{ "nic_gpu=2", 0, 2, "GPU 0 can't reach the memory of GPU 2 (no peer access)!" },
		{ "gpu=1 nic_gpu=0", 1, 0, "GPU 1 can't reach the memory of GPU 0 (no peer access)!" },
		{ "nic_gpu=3", 0, 3, "nic_gpu=3: this machine has GPU 0..2" }, { "nic_gpu=3", -1, 3, "nic_gpu=3: this machine has GPU 0..2" },
		{ "gpu=4 nic_gpu=auto", -1, 4, "gpu=4: this machine has GPU 0..2" }, { "gpu=4 nic_gpu=gpu", -1, 4, "gpu=4: this machine has GPU 0..2" },
		/* controls */
		{ "nic_gpu=1", 0, 1, "" }, { "nic_gpu=2", -1, 2, "" }, { "gpu=1 nic_gpu=0", -1, 0, "" }, { "gpu=1 nic_gpu=1", 1, 1, "" },
		{ "gpu=2 nic_gpu=gpu", 2, 2, "" }, { "gpu=4 nic_gpu=1", -1, 1, "" },
	};
	struct machine m = machine_of(3, TO_1, 0, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[256] = "";
		struct point pt;
		int g = -1;

		point_of(&pt, rows[i].point);
		says(gpu_of_nic_there(&pt, &m, rows[i].from, "!", &g, why, sizeof(why)), why, rows[i].words);
		assert_int_equal(g, rows[i].g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_mean_a_gpu),
		cmocka_unit_test(what_is_not_there_is_refused),
		cmocka_unit_test(who_cannot_be_reached_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
