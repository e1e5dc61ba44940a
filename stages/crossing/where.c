/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/crossing/where.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/numa.h"
#include "harness/pin.h"
#include "stages/path.h"
#include "stages/place/seat.h"
#include "stages/place/which_gpu.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int where_issuer(const struct point *pt, const struct machine *m, const char *asked, const char *otherwise,
		 struct where *w, char *why, size_t len)
{
	int g = (int)fs_num(pt, "gpu"), rc = gpu_there(m, g, asked, otherwise, why, len);

	if (rc)
		return rc;
	w->issuer_gpu = g;
	w->pinned = 1;
	return 0;
}

int where_far(const struct point *pt, const struct machine *m, struct where *w, char *why, size_t len)
{
	int g, rc;

	if (w->far_gpu >= 0)
		return 0;
	if (!m->ngpus)
		return fs_refuse(ENODEV, why, len, "nic=peer needs a GPU: %s", m->gpu_reason[0] ? m->gpu_reason : "none found");
	if ((rc = gpu_of_nic_there(pt, m, w->issuer_gpu, "", &g, why, len)))
		return rc;
	w->far_gpu = g;
	w->pinned = 1;
	return 0;
}

int where_place(const struct point *pt, const struct machine *m, const char *var, int own, struct where *w, int *place,
		char *why, size_t len)
{
	int word = fs_word(pt, var), rc;

	*place = own;
	if (word == PW_HOST)
		*place = PLACE_HOST;
	if (word == PW_AUTO || word == PW_HOST)
		return 0;
	if (w->issuer_gpu < 0)
		return fs_refuse(EINVAL, why, len, "%s=%s from a CPU: it can't reach GPU memory; legal: auto, host", var,
			      word == PW_GPU ? "gpu" : "peer");
	*place = w->issuer_gpu;
	if (word == PW_GPU)
		return 0;
	if (fs_is(pt, "nic_gpu", "gpu"))
		return fs_refuse(EINVAL, why, len, "%s=peer with nic_gpu=gpu: that is no other GPU; legal: auto, host, gpu", var);
	if ((rc = where_far(pt, m, w, why, len)))
		return rc;
	*place = w->far_gpu;
	return w->far_gpu != w->issuer_gpu ? 0 :
	       fs_refuse(ENODEV, why, len, "%s=peer needs a second GPU that both reach; legal here: auto, host, gpu", var);
}

int where_host(const struct point *pt, const struct machine *m, int host, struct where *w, char *why, size_t len)
{
	const char *pci = w->issuer_gpu >= 0 && w->issuer_gpu < m->ngpus ? m->gpu[w->issuer_gpu].pci : "";
	char nodes[256];

	w->fault = fs_word(pt, "fault");
	if (w->fault != FAULT_NONE && w->fault != FAULT_WRONG_PLACE)
		return fs_refuse(EINVAL, why, len, "fault=%s: there is no queue here; legal: none, wrong-place",
			      fs_word_text(pt, "fault", nodes, sizeof(nodes)));
	w->node = fs_is(pt, "numa", "auto") ? -1 : (int)fs_num(pt, "numa");
	if (w->node >= 0 && !host)
		return fs_refuse(EINVAL, why, len, "numa=%d: none of this memory is the host's; legal: numa=auto", w->node);
	if (w->node >= 0 && !numa_has(w->node))
		return fs_refuse(ENODEV, why, len, "numa=%d: here memory is on node %s", w->node, numa_nodes(nodes, sizeof(nodes)));
	w->cpu = fs_is(pt, "cpu", "auto") ? pin_cpu_near(pci, 0, NULL) : (int)fs_num(pt, "cpu");
	return pin_may(w->cpu) ? 0 : fs_refuse(ENODEV, why, len, "cpu=%d: this process may not run there", w->cpu);
}

int where_fits(const struct machine *m, int place, uint64_t bytes, const char *what, char *why, size_t len)
{
	uint64_t has = place == PLACE_HOST ? numa_free(-1) : m->gpu[place].bytes;
	char name[16];

	if (!has || bytes <= has)
		return 0;
	return fs_refuse(ENODEV, why, len, "%s needs %llu MiB, and %s%s has %llu MiB%s", what, (unsigned long long)bytes >> 20,
		      place == PLACE_HOST ? "the " : "", place_name(place, name, sizeof(name)),
		      (unsigned long long)has >> 20, place == PLACE_HOST ? " free" : "");
}

int where_resolve(const struct point *pt, const struct machine *m, struct where *w, char *why, size_t len)
{
	int rc;

	memset(w, 0, sizeof(*w));
	w->issuer_gpu = w->far_gpu = -1;
	/* what is wrong anywhere is said before what is missing here */
	if (fs_is(pt, "issuer", "cpu"))
		return (rc = where_place(pt, m, "mem", PLACE_HOST, w, &w->mem, why, len)) ? rc : where_host(pt, m, 1, w, why, len);
	rc = where_issuer(pt, m, "issuer=gpu", "issuer=cpu", w, why, len);
	if (!rc)
		rc = where_place(pt, m, "mem", w->issuer_gpu, w, &w->mem, why, len);
	return rc ? rc : where_host(pt, m, w->mem == PLACE_HOST, w, why, len);
}

int where_seats(const struct point *pt, struct where *w, int nic_gpu, char *why, size_t len)
{
	w->seated = 1;
	w->nic_on = nic_gpu;
	return seats_resolve(pt, suite_machine(), w->issuer_gpu, nic_gpu, &w->sm, &w->nic_sm, why, len);
}

int where_nic_cpu(const struct point *pt, const struct machine *m, const struct where *w, int *cpu, char *why, size_t len)
{
	const char *pci = w->issuer_gpu >= 0 ? m->gpu[w->issuer_gpu].pci : "";
	int beside = w->issuer_gpu >= 0 && pin_cpus() > 3 ? 3 : pin_cpus() > 1;

	*cpu = fs_is(pt, "nic_cpu", "auto") ? pin_cpu_near(pci, beside, NULL) : (int)fs_num(pt, "nic_cpu");
	if (!pin_may(*cpu))
		return fs_refuse(ENODEV, why, len, "nic_cpu=%d: this process may not run there", *cpu);
	if (w->issuer_gpu >= 0 || *cpu != w->cpu)
		return 0;
	return pin_cpus() > 1 ? fs_refuse(EINVAL, why, len, "issuer=cpu and nic=soft both on CPU %d: they would take turns; legal: two different CPUs", *cpu) :
				fs_refuse(ENODEV, why, len, "issuer=cpu with nic=soft needs two CPUs; this process may use CPU %d alone", *cpu);
}

int where_use(struct where *w, struct rows *out)
{
	struct seat_map map;
	int rc = pin_self(w->cpu);

	w->gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if (!rc && w->pinned)
		rc = cuda_use(w->issuer_gpu, w->far_gpu);
	if (!rc && w->pinned && w->seated && !(rc = seats_take(w->issuer_gpu, w->nic_on, w->sm, w->nic_sm, &map)))
		seats_found(out, &map);
	place_plant(w->fault == FAULT_WRONG_PLACE);
	return rc;
}

int where_alloc(struct buf *b, const struct where *w, int place, uint64_t bytes)
{
	return place_alloc_near(b, place, bytes, 4096, w->pinned, w->node);
}

void where_found(struct rows *out, const char *name, const struct buf *b)
{
	int node = b->place == PLACE_HOST ? pin_node_of_page(b->p) : -1;
	char at[16];

	place_name(b->place, at, sizeof(at));
	if (node >= 0)
		rows_found(out, name, "%s, node %d", at, node);
	else
		rows_found(out, name, "%s%s", at, b->place == PLACE_HOST ? ", its node is not told" : "");
}

struct row *cross_row(struct rows *out, const char *stage, const char *link, const char *metric, const char *unit)
{
	struct row *r = rows_add(out);

	if (!r)
		return NULL;
	snprintf(r->stage, sizeof(r->stage), "%s", stage);
	snprintf(r->link, sizeof(r->link), "%s", link);
	snprintf(r->metric, sizeof(r->metric), "%s", metric);
	snprintf(r->unit, sizeof(r->unit), "%s", unit);
	return r;
}

int where_issuer_place(const struct where *w)
{
	return w->issuer_gpu >= 0 ? w->issuer_gpu : PLACE_HOST;
}

int cross_latency(struct row *r, const uint64_t *x, uint64_t n, double rate)
{
	double *ns;
	int rc;

	if (!r)
		return -ENOMEM;
	if (!(ns = malloc(n * sizeof(*ns))))
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < n; i++)
		ns[i] = (double)x[i] * rate;
	rc = summary_of(ns, n, 8, &r->s);
	free(ns);
	return rc;
}

double number_or(const struct point *pt, const char *var, double otherwise)
{
	return fs_is(pt, var, "auto") ? otherwise : (double)fs_num(pt, var);
}
