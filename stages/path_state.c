/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that CPUs are in when a pass begins: idle for a while before, busy for a while, or
 * as they are; and how fast the kernel says that they run. Helper's and NIC's: a CPU issuer's
 * thread is what runs in between.
 */
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/service.h"
#include "stages/path_conf_parts.h"
#include "stages/queue/hd.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define START_S 20.0            /* for a busy thread to begin, or to end */

int path_state_cpus(const struct path_conf *c, int cpus[2])
{
	int n = 0;

	if (route_helped(c->route))
		cpus[n++] = c->helper_cpu;
	if (c->nic->completes && !c->nic->on_gpu && (!n || cpus[0] != c->nic_cpu))
		cpus[n++] = c->nic_cpu;
	return n;
}

int path_refuse_state(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	if (c->cpu_state == CPU_AS_IS)
		return fs_is(pt, "cpu_state_ms", "auto") ? 0 :
		       fs_refuse(EINVAL, why, len, "cpu_state_ms says how long CPUs are kept idle or busy before a pass; legal: cpu_state=cold, warm");
	if (!route_helped(c->route) && (!c->nic->completes || c->nic->on_gpu))
		return fs_refuse(EINVAL, why, len, "cpu_state=%s: no CPU thread is helper or NIC; legal: as-is, or nic=soft, or a submitter or consumer on a CPU",
				 c->cpu_state == CPU_COLD ? "cold" : "warm");
	return 0;
}

static void busy(struct service *me, void *arg)
{
	uint64_t *turns = arg;

	do
		++*turns;
	while (!service_stopping(me));
}

static void sleep_until(uint64_t until)
{
	while (!deadline_over(until)) {
		uint64_t left = until - mono_ns();
		struct timespec nap = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };

		if (left < 1ull << 62) /* it may just have passed */
			nanosleep(&nap, NULL);
	}
}

int cpus_state(int state, uint32_t ms, const int *cpus, int n, struct state_made *made)
{
	static uint64_t turns[STATE_CPUS_MAX][16]; /* a line each; a thread that would not end still counts there */
	struct service *s[STATE_CPUS_MAX] = { NULL };
	uint64_t begin = mono_ns(), until;
	int rc = 0, rc2;

	memset(made, 0, sizeof(*made));
	if (state == CPU_AS_IS)
		return 0;
	for (int i = 0; !rc && state == CPU_WARM && i < n; i++) {
		turns[i][0] = 0;
		rc = service_start(&s[i], "busy", cpus[i], busy, turns[i], START_S);
	}
	until = deadline_in_s(ms * 1e-3); /* with all of them running */
	if (!rc)
		sleep_until(until);
	for (int i = 0; i < n; i++) {
		if (!s[i])
			continue;
		rc2 = service_stop(s[i], START_S);
		rc = rc2 == -EBUSY || !rc ? rc2 : rc;
		made->busy++;
	}
	made->ns = mono_ns() - begin;
	return rc;
}

int path_state(const struct path_conf *c, struct state_made *made)
{
	int cpus[2], n = path_state_cpus(c, cpus);

	return cpus_state(c->cpu_state, c->cpu_state_ms, cpus, n, made);
}

void path_freq(const struct path_conf *c, struct freq *f)
{
	int cpus[2];

	if (path_state_cpus(c, cpus))
		freq_read(c->sys_cpu, cpus[0], f);
}

static int mhz_row(const struct path_conf *c, const char *metric, const struct freq *f, struct rows *out)
{
	struct row *r = path_row(out, c, "-", metric, "MHz");

	if (!r)
		return -ENOMEM;
	path_origin(r, c, 0);
	if (!isnan(f->mhz)) {
		summary_one(&r->s, f->mhz);
		return 0;
	}
	snprintf(r->reason_code, sizeof(r->reason_code), "absent");
	snprintf(r->reason, sizeof(r->reason), "%s", f->why);
	return 0;
}

int path_freq_rows(const struct freq *before, const struct freq *after, const struct path_conf *c, struct rows *out)
{
	int cpus[2], rc;

	if (!path_state_cpus(c, cpus))
		return 0;
	rc = mhz_row(c, "cpu_mhz_before", before, out);
	return rc ? rc : mhz_row(c, "cpu_mhz_after", after, out);
}
