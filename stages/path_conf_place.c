/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a point (path_conf.c) that says where everything is: which GPUs take part, in whose memory each
 * object lives, on which CPUs and SMs the agents run.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/path_conf_parts.h"
#include "stages/place/seat.h"
#include "stages/place/which_gpu.h"
#include <errno.h>

const char *link_name(int from, int to)
{
	if (from == to)
		return from == PLACE_HOST ? "host" : "local";
	if (from == PLACE_HOST || to == PLACE_HOST)
		return "pcie";
	return "nvlink";
}

/* The GPUs of the point; -1 where none takes part. */
int path_resolve_gpus(const struct point *pt, const struct machine *m, struct path_conf *c,
			char *why, size_t len)
{
	int g = (int)fs_num(pt, "gpu"), rc;

	c->issuer_gpu = fs_is(pt, "issuer", "gpu") ? g : -1;
	c->nic_gpu = -1;
	if (c->nic->absent)
		return fs_refuse(ENODEV, why, len, "nic=%s: %s; legal here: null, soft", c->nic->name, c->nic->absent);
	if (c->issuer_gpu < 0 && !c->nic->on_gpu)
		return 0;
	if ((rc = gpu_there(m, g, c->nic->on_gpu ? "nic=peer" : "issuer=gpu", "issuer=cpu with nic=soft or nic=null", why, len)))
		return rc;
	if (c->choice.mode == DBM_BLUEFLAME_BULK && m->gpu[g].cc_major < 9)
		return fs_refuse(ENODEV, why, len, "doorbell=blueflame-bulk needs cp.async.bulk, of compute capability 9.0; GPU %d has %d.%d; legal here: doorbell=blueflame",
				 g, m->gpu[g].cc_major, m->gpu[g].cc_minor);
	return c->nic->on_gpu ? gpu_of_nic_there(pt, m, c->issuer_gpu, "; nic_gpu=gpu is legal", &c->nic_gpu, why, len) : 0;
}

/* The objects, and the variables that place them. */
static const struct { const char *var; enum object obj; } placed[] = {
	{ "queue_mem", OBJ_QUEUE }, { "db_mem", OBJ_DB }, { "cq_mem", OBJ_CQ },
	{ "src_mem", OBJ_SRC }, { "dst_mem", OBJ_DST },
};
enum { PLACED = sizeof(placed) / sizeof(placed[0]) };

/* What no machine allows: a CPU that reaches into a GPU, a peer without one. */
int path_refuse_places(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	for (int i = 0; i < PLACED; i++) {
		int w = fs_word(pt, placed[i].var);

		if (path_cpu_touches(pt, c, placed[i].obj) && (w == PW_GPU || w == PW_PEER))
			return fs_refuse(EINVAL, why, len, "%s=%s with %s: a CPU can't reach GPU memory; legal: auto, host",
				  placed[i].var, w == PW_GPU ? "gpu" : "peer",
				  fs_is(pt, "issuer", "cpu") ? "issuer=cpu" : !c->nic->on_gpu && c->nic->completes ? "nic=soft" :
				  c->route.submitter == SUBMITTER_GPU ? "consumer=cpu" : "a helper");
		if (w == PW_PEER && (!c->nic->on_gpu || fs_is(pt, "nic_gpu", "gpu")))
			return fs_refuse(EINVAL, why, len, "%s=peer needs nic=peer on another GPU; legal: auto, host, gpu",
				  placed[i].var);
	}
	return 0;
}

int path_resolve_places(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	int near_ = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST;
	int far_ = c->nic_gpu >= 0 ? c->nic_gpu : c->nic->completes ? PLACE_HOST : near_;
	int rd = c->op == WQE_READ;
	int home[OBJECTS] = {
		[OBJ_QUEUE] = near_, [OBJ_DB] = far_, [OBJ_CQ] = near_,
		[OBJ_SRC] = rd ? far_ : near_, [OBJ_DST] = rd ? near_ : far_,
	};

	c->place[OBJ_KEYS] = far_;
	for (int i = 0; i < PLACED; i++) {
		int obj = (int)placed[i].obj, w = fs_word(pt, placed[i].var);

		if (path_cpu_touches(pt, c, placed[i].obj) || w == PW_HOST)
			c->place[obj] = PLACE_HOST;
		else if (w == PW_AUTO)
			c->place[obj] = home[obj];
		else if (w == PW_GPU)
			c->place[obj] = c->issuer_gpu;
		else if (c->nic_gpu == c->issuer_gpu)
			return fs_refuse(ENODEV, why, len, "%s=peer needs a second GPU that both reach; legal here: auto, host, gpu",
				  placed[i].var);
		else
			c->place[obj] = c->nic_gpu;
	}
	return 0;
}

/* CPUs near the issuer's GPU, if there is one. The NIC's stands beside the issuer's;
 * where the issuer is a GPU, a few further on: a virtual machine doesn't say which of
 * its CPUs share a core, and the first one starts and awaits kernels. */
int path_resolve_cpus(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len)
{
	const char *pci = c->issuer_gpu >= 0 && c->issuer_gpu < m->ngpus ? m->gpu[c->issuer_gpu].pci : "";
	int n = pin_cpus(), beside = c->issuer_gpu >= 0 && n > 3 ? 3 : n > 1;
	int help = beside == 3 ? (n > 5 ? 5 : 2) : n > 2 ? 2 : beside;

	c->cpu = fs_is(pt, "cpu", "auto") ? pin_cpu_near(pci, 0, NULL) : (int)fs_num(pt, "cpu");
	c->nic_cpu = fs_is(pt, "nic_cpu", "auto") ? pin_cpu_near(pci, beside, NULL) : (int)fs_num(pt, "nic_cpu");
	c->helper_cpu = fs_is(pt, "helper_cpu", "auto") ? pin_cpu_near(pci, help, NULL) : (int)fs_num(pt, "helper_cpu");
	for (int i = 0; i < 3; i++) {
		const char *const v = i == 2 ? "helper_cpu" : i ? "nic_cpu" : "cpu";
		int cpu = i == 2 ? c->helper_cpu : i ? c->nic_cpu : c->cpu;

		if (!pin_may(cpu))
			return fs_refuse(ENODEV, why, len, "%s=%d: this process may not run there", v, cpu);
	}
	/* two agents that take turns on one CPU measure the scheduler */
	if (c->issuer_gpu < 0 && c->nic->completes && !c->nic->on_gpu && c->cpu == c->nic_cpu)
		return n > 1 ? fs_refuse(EINVAL, why, len, "issuer=cpu and nic=soft both on CPU %d: they would take turns; legal: two different CPUs", c->cpu) :
			       fs_refuse(ENODEV, why, len, "issuer=cpu with nic=soft needs two CPUs; this process may use CPU %d alone", c->cpu);
	if (!route_helped(c->route))
		return 0;
	/* the issuer's loop has no place where it could give way */
	if (c->issuer_gpu < 0 && c->helper_cpu == c->cpu)
		return n > 1 ? fs_refuse(EINVAL, why, len, "issuer=cpu and its helper both on CPU %d: they would take turns; legal: two different CPUs", c->cpu) :
			       fs_refuse(ENODEV, why, len, "a helper beside issuer=cpu needs two CPUs; this process may use CPU %d alone", c->cpu);
	c->crowded = c->nic->completes && !c->nic->on_gpu && c->helper_cpu == c->nic_cpu;
	return 0;
}

/* Seats as far as the words alone say: `auto` may be the issuer's GPU or another. */
int path_refuse_seats(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	int g = fs_is(pt, "issuer", "gpu") ? (int)fs_num(pt, "gpu") : -1, nic = -1, s, n;

	if (c->nic->on_gpu) {
		if (fs_is(pt, "nic_gpu", "auto"))
			return 0;
		nic = fs_is(pt, "nic_gpu", "gpu") ? (int)fs_num(pt, "gpu") : (int)fs_num(pt, "nic_gpu");
	}
	return seats_resolve(pt, NULL, g, nic, &s, &n, why, len);
}
