/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/place/seat.h"
#include "stages/traffic/traffic.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/machine.h"
#include "harness/pin.h"
#include "harness/service.h"
#include "stages/nic/nic.h"
#include "stages/place/which_gpu.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_S 20.0
#define PIECE_S 10.0         /* that one piece may take */
#define SHARE_MIN 0.5        /* of its time that a load has to get, or the rows are flagged */

struct traffic {
	int kind, level, device; /* GPU; -1: none takes part */
	struct traffic_gpu *gpu;
	uint8_t *src, *dst;      /* of TRAFFIC_HOST */
	uint64_t bytes, pieces, begin_ns, end_ns, busy_ns;
	int error;               /* -errno of the thread's, with its reason */
	char reason[256];
	struct service *service;
};

static int kind_of(const struct point *pt) { return fs_word(pt, "load"); }

/* GPU of the issuer or, with a CPU in its place, of the NIC: the load's too. It may be none that `m` has. */
static int device_of(const struct point *pt, const struct machine *m)
{
	int of_nic = fs_probe_reads(pt->probe, "nic") && fs_is(pt, "nic", "peer") &&
		     fs_probe_reads(pt->probe, "issuer") && fs_is(pt, "issuer", "cpu");

	return of_nic ? gpu_of_nic(pt, m) : (int)fs_num(pt, "gpu");
}

static int other_of(const struct machine *m, int g)
{
	for (int n = 0; n < m->ngpus; n++)
		if (n != g && m->gpu[g].peers >> n & 1)
			return n;
	return -1;
}

/* A CPU for the load's thread: the last one, which agents of a point take last. */
static int own_cpu(void) { return pin_cpu(pin_cpus() - 1); }

/* CPUs that the point's own agents poll on. */
static int busy_cpus(const struct point *pt)
{
	int n = 0;

	if (fs_probe_reads(pt->probe, "issuer"))
		n += fs_is(pt, "issuer", "cpu") * (fs_probe_reads(pt->probe, "reply") ? 2 : 1); /* a responder beside it */
	if (fs_probe_reads(pt->probe, "nic"))
		n += fs_is(pt, "nic", "soft");
	return n;
}

static int traffic_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	int kind = kind_of(pt), g = device_of(pt, m), cpus = pin_cpus();

	if (kind == TRAFFIC_NONE) {
		if (fs_num(pt, "load_level") == 100)
			return 0;
		snprintf(why, len, "load_level=%d with load=none: there is nothing to pace; legal: another load, or load_level=100",
			 (int)fs_num(pt, "load_level"));
		return -EINVAL;
	}
	if (cpus <= busy_cpus(pt)) {
		snprintf(why, len, "load=%s needs a CPU beside the %d on which this point polls, and the process has %d",
			 kind == TRAFFIC_HOST ? "host" : "*", busy_cpus(pt), cpus);
		return -ENODEV;
	}
	if (kind == TRAFFIC_HOST)
		return 0;
	if (!m->ngpus) {
		snprintf(why, len, "this load needs a GPU: %s; legal without: load=none, host", m->gpu_reason[0] ? m->gpu_reason : "none found");
		return -ENODEV;
	}
	if (g >= m->ngpus) {
		snprintf(why, len, "a load of GPU %d: this machine has GPU 0..%d", g, m->ngpus - 1);
		return -ENODEV;
	}
	if (kind == TRAFFIC_PEER && other_of(m, g) < 0) {
		snprintf(why, len, "load=peer needs a second GPU that GPU %d reaches", g);
		return -ENODEV;
	}
	return 0;
}

/* ---- the thread ---- */

static void rest(const struct traffic *l, struct service *s, uint64_t piece_ns)
{
	uint64_t until = mono_ns() + piece_ns * (uint64_t)(100 - l->level) / (uint64_t)l->level;

	while (mono_ns() < until && !service_stopping(s))
		;
}

static void copy_host(struct traffic *l, struct service *s)
{
	while (!service_stopping(s)) {
		uint64_t t0 = mono_ns(), t;

		memcpy(l->dst, l->src, TRAFFIC_PIECE);
		__asm__ volatile("" : : "r"(l->dst) : "memory");
		t = mono_ns();
		l->bytes += TRAFFIC_PIECE;
		l->pieces++;
		l->busy_ns += t - t0;
		rest(l, s, t - t0);
	}
}

/* Waits for a slot's piece; 0, or -errno. */
static int piece_done(struct traffic *l, int k)
{
	uint64_t until = deadline_in_s(PIECE_S);
	int rc;

	while (!(rc = traffic_gpu_done(l->gpu, k)))
		if (deadline_over(until))
			return fs_fail(EBUSY, "a piece of the load did not end in %.0f s", PIECE_S);
	return rc < 0 ? rc : 0;
}

/* At full level the next piece is under way before the last one is done. */
static int work_gpu(struct traffic *l, struct service *s)
{
	int ahead = l->level == 100 ? TRAFFIC_AHEAD : 1, rc = traffic_gpu_here(l->gpu), k = 0;
	uint64_t t0 = mono_ns(), t;
	long n[TRAFFIC_AHEAD] = { 0 };

	for (int i = 0; !rc && i < ahead; i++)
		rc = (n[i] = traffic_gpu_piece(l->gpu, i)) < 0 ? (int)n[i] : 0;
	while (!rc) {
		if ((rc = piece_done(l, k)))
			break;
		t = mono_ns();
		l->bytes += (uint64_t)n[k];
		l->pieces++;
		l->busy_ns += t - t0;
		n[k] = 0;
		if (service_stopping(s))
			break;
		rest(l, s, t - t0);
		t0 = mono_ns();
		rc = (n[k] = traffic_gpu_piece(l->gpu, k)) < 0 ? (int)n[k] : 0;
		k = (k + 1) % ahead;
	}
	for (int i = 0; !rc && i < ahead; i++)
		if (n[i] > 0)
			rc = piece_done(l, i);
	return rc;
}

static void traffic_serve(struct service *s, void *arg)
{
	struct traffic *l = arg;

	l->begin_ns = mono_ns();
	if (l->gpu) {
		fs_reason_clear();
		l->error = work_gpu(l, s);
		if (l->error)
			snprintf(l->reason, sizeof(l->reason), "%s", fs_reason());
	} else {
		copy_host(l, s);
	}
	l->end_ns = mono_ns();
}

/* ---- around a probe ---- */

static void traffic_free(struct traffic *l)
{
	if (l->gpu)
		traffic_gpu_close(l->gpu);
	free(l->src);
	free(l->dst);
	free(l);
}

static int traffic_begin(const struct point *pt, void **state)
{
	struct traffic *l;
	int kind = kind_of(pt), g = device_of(pt, suite_machine()), rc = 0;

	*state = NULL;
	if (kind == TRAFFIC_NONE)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return fs_fail(ENOMEM, "no memory for the load");
	l->kind = kind;
	l->level = (int)fs_num(pt, "load_level");
	l->device = kind == TRAFFIC_HOST ? -1 : g;
	if (kind == TRAFFIC_HOST) {
		l->src = aligned_alloc(4096, TRAFFIC_PIECE);
		l->dst = aligned_alloc(4096, TRAFFIC_PIECE);
		if (!l->src || !l->dst)
			rc = fs_fail(ENOMEM, "no memory for the load");
		else
			memset(l->src, 0x5a, TRAFFIC_PIECE), memset(l->dst, 0, TRAFFIC_PIECE);
	} else {
		rc = traffic_gpu_open(&l->gpu, kind, g, kind == TRAFFIC_PEER ? other_of(suite_machine(), g) : -1);
	}
	/* whose half an SM is in can't be measured once a load holds SMs */
	if (!rc && (kind == TRAFFIC_SM_READ || kind == TRAFFIC_SM_WRITE || kind == TRAFFIC_HBM) && fs_is(pt, "nic", "peer"))
		rc = seats_map(g, seats_sm(pt));
	pin_watch();
	if (!rc)
		rc = service_start(&l->service, "load", own_cpu(), traffic_serve, l, PATIENCE_S);
	if (rc) {
		if (!l->service)
			traffic_free(l);
		return rc;
	}
	*state = l;
	return 0;
}

/* Its own rate stands beside the victim's rows. */
static int traffic_row(const struct traffic *l, struct rows *out)
{
	double ns = (double)(l->end_ns - l->begin_ns), busy = (double)l->busy_ns / ns, want = l->level / 100.0;
	struct row *r = rows_add(out);
	char why[200];

	if (!r)
		return fs_fail(ENOMEM, "no memory for rows");
	snprintf(r->metric, sizeof(r->metric), "load_rate");
	snprintf(r->unit, sizeof(r->unit), "GB/s");
	snprintf(r->link, sizeof(r->link), "%s", l->kind == TRAFFIC_HOST ? "host" : l->kind == TRAFFIC_HBM ? "local" :
		 l->kind == TRAFFIC_PEER ? "nvlink" : "pcie");
	summary_one(&r->s, (double)l->bytes / ns);
	r->s.n = l->pieces;
	if (l->device >= 0)
		rows_found(out, "load_gpu", "%d", l->device);
	if (pin_threads(own_cpu()) > 1) {
		snprintf(why, sizeof(why), "the load's thread shares CPU %d with another one of this point's; legal without: more CPUs, or nic_cpu, helper_cpu and cpu elsewhere",
			 own_cpu());
		for (size_t i = 0; i < out->n; i++)
			row_flag(&out->row[i], "crowded", why);
	}
	if (busy < SHARE_MIN * want) {
		snprintf(why, sizeof(why), "the load was under way %.0f %% of the time, %d %% was asked for: its thread didn't get its CPU",
			 busy * 100, l->level);
		for (size_t i = 0; i < out->n; i++)
			row_flag(&out->row[i], "load", why);
	}
	return 0;
}

static int traffic_end(void *state, struct rows *out)
{
	struct traffic *l = state;
	int rc;

	if (!l)
		return 0;
	rc = service_stop(l->service, PATIENCE_S);
	if (rc)
		return rc; /* the thread still uses it */
	if (l->error)
		rc = fs_fail(-l->error, "the load ended: %s", l->reason);
	else
		rc = traffic_row(l, out);
	traffic_free(l);
	return rc;
}

static const char *const traffic_reads[] = { "load", "load_level", NULL };

const struct probe_beside traffic_beside = {
	.reads = traffic_reads,
	.check = traffic_check,
	.begin = traffic_begin,
	.end = traffic_end,
};
