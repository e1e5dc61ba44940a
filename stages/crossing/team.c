/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/crossing/team.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/service.h"
#include "stages/queue/hd.h"
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

enum { SPINS = 4096 }; /* before a thread that waits gives its CPU away */

struct member { struct team *team; int k; struct service *service; };
struct team {
	int n, late;
	uint64_t came;           /* arrivals at meetings, of all of them */
	uint64_t until;
	void (*fn)(struct team *t, int k, void *arg);
	void *arg;
	struct member member[];
};

int team_max(void)
{
	return pin_cpus();
}

int team_meet(struct team *t)
{
	uint64_t n = (uint64_t)t->n, mine = __atomic_fetch_add(&t->came, 1, __ATOMIC_ACQ_REL);
	uint64_t all = (mine / n + 1) * n;

	for (int spins = 1; __atomic_load_n(&t->came, __ATOMIC_ACQUIRE) < all; spins++) {
		if (__atomic_load_n(&t->late, __ATOMIC_RELAXED))
			return 1;
		if (spins % SPINS) {
			relax_cpu();
			continue;
		}
		if (deadline_over(t->until))
			__atomic_store_n(&t->late, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return __atomic_load_n(&t->late, __ATOMIC_RELAXED);
}

static void member_main(struct service *s, void *arg)
{
	struct member *m = arg;

	(void)s;
	m->team->fn(m->team, m->k, m->team->arg);
}

int team_run(int n, int cpu, void (*fn)(struct team *t, int k, void *arg), void *arg, double patience_s)
{
	struct team *t = calloc(1, sizeof(*t) + (size_t)n * sizeof(t->member[0]));
	int rc, busy = 0, started = 1;

	if (!t)
		return fs_fail(ENOMEM, "no memory for threads");
	t->n = n;
	t->fn = fn;
	t->arg = arg;
	t->until = deadline_in_s(patience_s);
	rc = pin_self(cpu);
	for (int i = 0; i < pin_cpus() && started < n && !rc; i++) {
		struct member *m = &t->member[started];

		if (pin_cpu(i) == cpu)
			continue;
		m->team = t;
		m->k = started;
		rc = service_start(&m->service, "a team", pin_cpu(i), member_main, m, patience_s);
		started += m->service != NULL;
	}
	if (!rc && started < n)
		rc = fs_fail(EINVAL, "%d threads for %d CPUs", n, pin_cpus());
	if (rc)
		__atomic_store_n(&t->late, 1, __ATOMIC_RELAXED);
	else
		fn(t, 0, arg);
	for (int k = 1; k < started; k++)
		if (service_stop(t->member[k].service, patience_s))
			busy = 1;
	if (!rc && t->late)
		rc = fs_fail(ETIMEDOUT, "threads waited for each other for more than %.0f s", patience_s);
	if (busy)
		return -EBUSY; /* t stays with the thread that didn't end */
	free(t);
	return rc;
}
