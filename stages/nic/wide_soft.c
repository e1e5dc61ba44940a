/* SPDX-License-Identifier: Apache-2.0 */
/* The software NIC for many queues on CPU threads, one a worker. */
#include "harness/err.h"
#include "harness/service.h"
#include "stages/nic/nic.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wide_thread {
	const struct nic_run *run;
	struct wide_queue *states;
	struct wide_worker me;
	struct service *service;
};

struct nic_run {
	struct nic_many p;
	struct wide_thread worker[WIDE_WORKERS_MAX];
};

/* What was rung before the stop is still worked on. */
HD void soft_serve(struct service *service, struct wide_thread *t, const int mixed)
{
	struct coop alone = { 0, 1 };
	uint32_t idle = 0;

	for (;;) {
		int stopping = service_stopping(service);

		if (wide_round(&t->run->p.wide, t->states, alone, &t->me, t->run->p.gettime, mixed))
			idle = 0;
		else if (stopping)
			break;
		else
			relax_turn(++idle, t->run->p.crowded);
	}
	wide_finish(&t->me, alone);
}

static void soft_worker(struct service *service, void *arg)
{
	struct wide_thread *t = arg;

	if (t->run->p.wide.mixed)
		soft_serve(service, t, 1);
	else
		soft_serve(service, t, 0);
}

static void soft_many_free(struct nic_run *r)
{
	for (uint32_t i = 0; i < r->p.wide.workers; i++)
		free(r->worker[i].states);
	free(r);
}

/* Stops those that run; -EBUSY when one would not, and all of it is left alone. */
static int soft_many_stop(struct nic_run *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->p.wide.workers; i++) {
		int rc2 = r->worker[i].service ? service_stop(r->worker[i].service, r->p.stop_s) : 0;

		rc = rc ? rc : rc2;
	}
	return rc;
}

int soft_start_many(const struct nic_many *p, struct nic_run **run)
{
	struct nic_run *r = calloc(1, sizeof(*r));
	uint32_t each = (p->wide.queues + p->wide.workers - 1) / p->wide.workers;
	int rc = 0;

	if (!r)
		return fs_fail(ENOMEM, "soft NIC: out of memory");
	r->p = *p;
	for (uint32_t i = 0; !rc && i < p->wide.workers; i++) {
		struct wide_thread *t = &r->worker[i];

		t->run = r;
		t->me.worker = i;
		t->states = calloc(each, sizeof(*t->states));
		rc = t->states ? service_start(&t->service, "soft NIC", p->cpus[i], soft_worker, t, p->start_s) :
				 fs_fail(ENOMEM, "soft NIC: out of memory");
	}
	if (rc) {
		if (!soft_many_stop(r))
			soft_many_free(r);
		return rc;
	}
	*run = r;
	return 0;
}

int soft_stop_many(struct nic_run *r, struct wide_status *st)
{
	int rc = soft_many_stop(r);

	if (rc)
		return rc; /* a thread still uses r */
	for (uint32_t i = 0; i < r->p.wide.workers; i++)
		st[i] = r->worker[i].me.st;
	soft_many_free(r);
	return 0;
}
