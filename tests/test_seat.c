/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: SMs are told apart into those near to the issuer's and those far by the widest
 * gap of what a ping-pong with them takes, and only where it is one; seats that can't be
 * are refused, with what would be legal.
 *
 * Controls: noise without a gap gives one group; each refused pair of seats is legal once
 * the setting that was complained of is changed.
 */
#include "tests/points.h"

#include "stages/place/seat.h"
#include <errno.h>

enum { SMS = 132 };

static uint32_t rnd(uint32_t *s) { return *s = *s * 1664525u + 1013904223u; }

/* Two groups as on an H200, in random order; SM `own` is the issuer's. */
static void two_halves_are_told_apart(void **state)
{
	uint32_t s = 1;
	double ns[SMS];
	uint8_t far[SMS];

	(void)state;
	for (int round = 0; round < 1000; round++) {
		uint8_t want[SMS];
		uint32_t n = 0, own = rnd(&s) % SMS;

		for (uint32_t i = 0; i < SMS; i++) {
			want[i] = i != own && rnd(&s) >> 16 & 1;
			n += want[i];
			ns[i] = i == own ? 0 : (want[i] ? 320 : 243) + (double)(rnd(&s) % 2500) / 100;
		}
		assert_int_equal(seats_split(ns, SMS, far), n);
		assert_memory_equal(far, want, SMS);
	}
}

static void noise_is_one_group(void **state)
{
	uint32_t s = 7;
	double ns[SMS];
	uint8_t far[SMS];

	(void)state;
	for (int round = 0; round < 1000; round++) {
		for (uint32_t i = 0; i < SMS; i++)
			ns[i] = i ? 240 + (double)(rnd(&s) % 3000) / 100 : 0;
		assert_int_equal(seats_split(ns, SMS, far), 0);
	}
	/* nor is nothing, or a single one */
	memset(ns, 0, sizeof(ns));
	assert_int_equal(seats_split(ns, SMS, far), 0);
	ns[5] = 250;
	assert_int_equal(seats_split(ns, SMS, far), 0);
}

/* One that didn't come has no value, and is in no group. */
static void what_is_not_known_is_not_far(void **state)
{
	double ns[SMS];
	uint8_t far[SMS];

	(void)state;
	for (uint32_t i = 0; i < SMS; i++)
		ns[i] = i < 3 ? 0 : i < 60 ? 250 : 340;
	assert_int_equal(seats_split(ns, SMS, far), SMS - 60);
	for (uint32_t i = 0; i < SMS; i++)
		assert_int_equal(far[i], i >= 60);
}

static int seats(const char *sm, const char *nic_sm, int issuer_gpu, int nic_gpu, char *why)
{
	struct point pt;
	int s, n;

	fs_point_init(&pt, &probe_path);
	assert_int_equal(fs_point_set(&pt, "sm", sm), 0);
	assert_int_equal(fs_point_set(&pt, "nic_sm", nic_sm), 0);
	why[0] = 0;
	return seats_resolve(&pt, NULL, issuer_gpu, nic_gpu, &s, &n, why, 256);
}

static void seats_that_cannot_be_are_refused(void **state)
{
	static const struct { const char *sm, *nic_sm; int issuer, nic; const char *word; const char *sm2, *nic_sm2; } t[] = {
		{ "4", "auto", -1, 0, "legal: sm=auto", "auto", "auto" },
		{ "auto", "7", 0, -1, "legal: nic_sm=auto", "auto", "auto" },
		{ "any", "near", 0, 0, "sm=auto or a number", "3", "near" },
		{ "auto", "far", 0, 1, "on one GPU", "auto", "5" },
		{ "9", "9", 0, 0, "two different", "9", "10" },
		{ "auto", "0", 0, 0, "two different", "auto", "1" },
	};
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(seats(t[i].sm, t[i].nic_sm, t[i].issuer, t[i].nic, why), -EINVAL);
		if (!strstr(why, t[i].word))
			fail_msg("sm=%s nic_sm=%s: \"%s\" doesn't say \"%s\"", t[i].sm, t[i].nic_sm, why, t[i].word);
		assert_int_equal(seats(t[i].sm2, t[i].nic_sm2, t[i].issuer, t[i].nic, why), 0);
	}
}

/* Where the machine is known, so is how many it has. */
static void an_sm_that_is_not_there_is_refused(void **state)
{
	static struct machine m = { .ngpus = 2 };
	struct point pt;
	char why[256];
	int s, n;

	(void)state;
	m.gpu[0].sms = m.gpu[1].sms = 132;
	fs_point_init(&pt, &probe_path);
	assert_int_equal(fs_point_set(&pt, "sm", "132"), 0);
	assert_int_equal(seats_resolve(&pt, &m, 0, -1, &s, &n, why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "legal: 0..131"));
	assert_int_equal(seats_resolve(&pt, NULL, 0, -1, &s, &n, why, sizeof(why)), 0);
	assert_int_equal(fs_point_set(&pt, "sm", "131"), 0);
	assert_int_equal(seats_resolve(&pt, &m, 0, -1, &s, &n, why, sizeof(why)), 0);
	assert_int_equal(fs_point_set(&pt, "nic_sm", "200"), 0);
	assert_int_equal(seats_resolve(&pt, &m, 0, 1, &s, &n, why, sizeof(why)), -ENODEV);
}

/* auto is near where there is something to be near to. */
static void auto_is_near_on_one_gpu(void **state)
{
	static const struct { const char *sm, *nic_sm; int issuer, nic, want_sm, want_nic; } t[] = {
		{ "auto", "auto", 0, 0, SEAT_AUTO, SEAT_NEAR },
		{ "any", "auto", 0, 0, SEAT_ANY, SEAT_ANY },
		{ "17", "auto", 0, 0, 17, SEAT_NEAR },
		{ "auto", "auto", 0, 1, SEAT_AUTO, SEAT_AUTO },
		{ "auto", "far", 1, 1, SEAT_AUTO, SEAT_FAR },
		{ "auto", "auto", -1, 0, SEAT_AUTO, SEAT_AUTO },
	};
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct point pt;
		int s, n;

		fs_point_init(&pt, &probe_path);
		assert_int_equal(fs_point_set(&pt, "sm", t[i].sm), 0);
		assert_int_equal(fs_point_set(&pt, "nic_sm", t[i].nic_sm), 0);
		assert_int_equal(seats_resolve(&pt, NULL, t[i].issuer, t[i].nic, &s, &n, why, sizeof(why)), 0);
		assert_int_equal(s, t[i].want_sm);
		assert_int_equal(n, t[i].want_nic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_halves_are_told_apart),
		cmocka_unit_test(noise_is_one_group),
		cmocka_unit_test(what_is_not_known_is_not_far),
		cmocka_unit_test(seats_that_cannot_be_are_refused),
		cmocka_unit_test(an_sm_that_is_not_there_is_refused),
		cmocka_unit_test(auto_is_near_on_one_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
