/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a point will take: a guess from its settings, for --dry-run. It is
 *
 *	fixed + messages * (message + size * byte + plant / 2) * passes, and what cpu_state takes
 *
 * with the rates below, fitted by eye to the starts of the points in results/
 * (a machine of two cores, an H200). Most points there are within a factor of
 * two; another machine, or one that is busy, is what it is. What a variable
 * means is asked for by name and missing ones are left out, so that a probe that
 * reads none of them gets `fixed` and a little.
 *
 * Starting a child isn't in it: dryrun.c adds what that took just now.
 */
#include "bench/bench.h"
#include "stages/vars.h"
#include <string.h>

static const struct speed {
	const char *issuer, *nic;   /* NULL: any */
	double fixed_s, message_ns, byte_ns;
} speeds[] = {
	{ "cpu", NULL, 0.006, 2800, 0.55 },
	{ "gpu", "soft", 0.035, 7000, 7.0 },
	{ "gpu", "null", 0.030, 2500, 0 },
	{ "gpu", NULL, 0.025, 5000, 1.3 },
	{ NULL, NULL, 0.020, 1000, 1.0 },
};

#define BIG 65536          /* above it, auto means fewer messages */
#define PASSES 1.5         /* half as many again show what looking costs */
#define PLANT_PASSES 6.0   /* pairs of shorter passes */
#define RATE_SHARE 0.2     /* of a message's time, when many are under way */

static int reads(const struct point *pt, const char *name)
{
	return fs_var_find(name) >= 0 && fs_probe_reads(pt->probe, name);
}

static int is(const struct point *pt, const char *name, const char *word)
{
	return reads(pt, name) && fs_is(pt, name, word);
}

static const struct speed *speed_of(const struct point *pt)
{
	const struct speed *s = speeds;

	while (s->issuer && !(is(pt, "issuer", s->issuer) && (!s->nic || is(pt, "nic", s->nic))))
		s++;
	return s;
}

/* What CPUs are kept idle or busy for, before each of the passes that a latency usually has. */
static double state_s(const struct point *pt)
{
	if (!reads(pt, "cpu_state") || fs_is(pt, "cpu_state", "as-is"))
		return 0;
	return (is(pt, "metric", "rate") ? 1 : 3) * 1e-3 *
	       (fs_is(pt, "cpu_state_ms", "auto") ? CPU_STATE_MS : (double)fs_num(pt, "cpu_state_ms"));
}

double point_estimate_s(const struct point *pt)
{
	const struct speed *s = speed_of(pt);
	double size = reads(pt, "size") ? (double)fs_num(pt, "size") : 0;
	double plant_ns = reads(pt, "plant") ? (double)fs_num(pt, "plant") : 0;
	double passes = plant_ns > 0 ? PLANT_PASSES : PASSES, messages = 10000;
	double each_ns = s->message_ns + size * s->byte_ns + plant_ns / 2;

	if (pt->probe->guess_s)
		return pt->probe->guess_s(pt);
	if (!reads(pt, "messages"))
		return s->fixed_s;
	if (size > BIG)
		messages *= BIG / size;
	if (is(pt, "metric", "rate")) {
		messages *= 10;
		passes = 1;
		each_ns *= RATE_SHARE;
	}
	if (!fs_is(pt, "messages", "auto"))
		messages = (double)fs_num(pt, "messages");
	return s->fixed_s + state_s(pt) + messages * each_ns * 1e-9 * passes;
}
