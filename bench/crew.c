/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The children. Points that share NIC, issuer and devices are measured in one
 * process a repetition; the order of running interleaves NICs, so several such
 * processes live at a time, idle between their points. Whatever goes wrong in
 * one ends with it.
 */
#include "bench/bench.h"
#include "harness/clock.h"
#include "harness/pin.h"
#include "harness/sysfile.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A wait of 0.1 s that lasted longer: we were stopped, and so was the child, or nobody had a
 * CPU. So much of it counts. */
#define AWAY_S 0.5

/* Variables that decide which process a point runs in, where they exist. */
static const char *const group_vars[] = { "nic", "issuer", "gpu", "nic_gpu" };

static volatile sig_atomic_t stopped;

static void stop_handler(int sig)
{
	/* The first one stops in good order, a second one at once: whatever is being
	 * written has no name yet, and children die with us. */
	if (stopped) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	stopped = sig;
}

void stop_install(void)
{
	struct sigaction sa = { .sa_handler = stop_handler }, was;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	/* nohup has it ignored, and means it */
	if (!sigaction(SIGHUP, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &sa, NULL);
}

int stop_wanted(void)
{
	return stopped;
}

int stop_exit(void)
{
	return 128 + stopped;
}

static void key_of(const struct point *pt, char *key, size_t len)
{
	size_t n = 0;

	key[0] = '\0';
	for (size_t i = 0; i < sizeof group_vars / sizeof group_vars[0]; i++) {
		int v = fs_var_find(group_vars[i]);
		char text[96];

		if (v < 0 || n >= len)
			continue;
		n += (size_t)snprintf(key + n, len - n, "%s ",
				      fs_var_format(&fs_vars[v], &pt->val[v], text, sizeof text));
	}
}

int crew_groups(const struct plan *p, const unsigned char *wanted)
{
	char (*keys)[sizeof ((struct member *)0)->key] = calloc((size_t)p->npoints + 1, sizeof *keys);
	int n = 0;

	for (int i = 0; keys && i < p->npoints; i++) {
		int k = 0;

		if (!wanted[i])
			continue;
		key_of(&p->point[i].pt, keys[n], sizeof keys[n]);
		while (strcmp(keys[k], keys[n]))
			k++;
		n += k == n;
	}
	free(keys);
	return n;
}

void crew_init(struct crew *c)
{
	memset(c, 0, sizeof *c);
	for (int i = 0; i < CREW_MAX; i++)
		c->member[i].child.pid = -1;
}

static long peak_kb_of(pid_t pid)
{
	char kb[32];

	return sysfile_value(kb, sizeof kb, "VmHWM", "/proc/%ld/status", (long)pid) ? 0 : atol(kb);
}

long crew_peak_kb(struct crew *c)
{
	long sum = 0;

	for (int i = 0; i < CREW_MAX; i++)
		if (c->member[i].child.pid > 0)
			sum += peak_kb_of(c->member[i].child.pid);
	if (sum > c->peak_kb)
		c->peak_kb = sum;
	return c->peak_kb;
}

int crew_get(struct crew *c, const struct point *pt, struct member **out)
{
	char *argv[] = { "fivestage", "serve", NULL };
	struct member *m = NULL;
	char key[sizeof m->key];
	int err;

	key_of(pt, key, sizeof key);
	for (int i = 0; i < CREW_MAX; i++)
		if (c->member[i].child.pid > 0 && !strcmp(c->member[i].key, key))
			m = &c->member[i];
	if (!m) {
		/* A free place, else the one that has been idle longest. */
		for (int i = 0; i < CREW_MAX; i++)
			if (!m || c->member[i].child.pid <= 0 ||
			    (m->child.pid > 0 && c->member[i].used < m->used))
				m = &c->member[i];
		if (m->child.pid > 0) {
			crew_peak_kb(c);
			crew_drop(m, 0.5, NULL, 0);
		}
		err = child_start(&m->child, argv);
		if (err)
			return err;
		strcpy(m->key, key);
		m->points = 0;
	}
	m->used = ++c->uses;
	*out = m;
	return 0;
}

void crew_drop(struct member *m, double grace_s, char *how, size_t len)
{
	char unread[128];

	child_end(&m->child, grace_s, how ? how : unread, how ? len : sizeof unread);
	m->child.pid = -1;
}

void crew_end(struct crew *c, double grace_s)
{
	crew_peak_kb(c);
	/* All at once: one by one their ends would add up (a driver may take long). */
	for (int i = 0; i < CREW_MAX; i++)
		if (c->member[i].child.pid > 0)
			child_hang_up(&c->member[i].child, grace_s <= 0);
	for (int i = 0; i < CREW_MAX; i++)
		if (c->member[i].child.pid > 0)
			crew_drop(&c->member[i], grace_s, NULL, 0);
}

int recv_patiently(struct child *c, double *left_s, json_t **msg)
{
	for (;;) {
		uint64_t before = mono_ns();
		double passed;
		int err;

		if (stop_wanted())
			return -EINTR;
		err = child_recv(c, *left_s < 0.1 ? *left_s : 0.1, msg);
		passed = (double)(mono_ns() - before) * 1e-9;
		*left_s -= passed < AWAY_S ? passed : AWAY_S;
		if (err != -ETIMEDOUT && err != -EINTR)
			return err;
		if (*left_s <= 0)
			return -ETIMEDOUT;
	}
}

void crew_scout(struct machine *m)
{
	char *argv[] = { "fivestage", "serve", NULL };
	struct child c;
	json_t *ask = json_pack("{s:s}", "op", "scout"), *answer = NULL;
	char how[128] = "";
	double left_s = 60;
	int err;

	memset(m, 0, sizeof *m);
	err = child_start(&c, argv);
	if (!err) {
		err = child_send(&c, ask);
		if (!err)
			err = recv_patiently(&c, &left_s, &answer);
		/* One that has answered is in no hurry; one that hasn't has had its time. */
		child_end(&c, err == -ETIMEDOUT || err == -EINTR ? 0 : 2, how, sizeof how);
	}
	if (!err)
		err = machine_from_json(answer, m);
	if (err) {
		memset(m, 0, sizeof *m);
		m->cpus = pin_cpus();
		snprintf(m->gpu_reason, sizeof m->gpu_reason, "the look at the machine failed: %s%s%s",
			 err == -ETIMEDOUT ? "no answer within 60 s" : strerror(-err),
			 how[0] ? "; child ended: " : "", how);
		fs_note("%s; going on without GPUs", m->gpu_reason);
	}
	json_decref(ask);
	json_decref(answer);
}
