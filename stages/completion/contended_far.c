/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The others of a contended message on another GPU (`others_gpu`): what that asks for, and what can't be.
 * What they post into, and every word that all agents share, stays where the timed one's is; they reach it over
 * the link between the GPUs.
 */
#include "harness/err.h"
#include "stages/completion/contended_parts.h"
#include "stages/place/which_gpu.h"
#include <errno.h>

int cont_far_legal(const struct point *pt, struct cont_conf *c, int *fault, char *why, size_t len)
{
	int far_ = !fs_is(pt, "others_gpu", "auto");

	if (far_ && fs_is(pt, "issuer", "cpu"))
		return fs_refuse(EINVAL, why, len, "others_gpu=%lld with issuer=cpu: the others are CPU threads as the issuer is; legal: others_gpu=auto, or issuer=gpu",
				 (long long)fs_num(pt, "others_gpu"));
	if (far_ && fs_num(pt, "others_gpu") != fs_num(pt, "gpu") && !fs_is(pt, "submitter", "gpu"))
		return fs_refuse(EINVAL, why, len, "others_gpu=%lld with a worker: rings that another GPU hands over into aren't built; legal: others_gpu=auto, or submitter=gpu",
				 (long long)fs_num(pt, "others_gpu"));
	if (*fault != FAULT_FAILED_LAUNCH)
		return 0;
	if (!far_ || fs_num(pt, "others_gpu") == fs_num(pt, "gpu") || !c->others)
		return fs_refuse(EINVAL, why, len, "fault=failed-launch: it leaves others alone that are launched by themselves; legal: others=1.. with others_gpu=GPU, another than the issuer's");
	c->choice.refused = 1;
	*fault = FAULT_NONE;
	return 0;
}

static int both_reach(const struct machine *m, int a, int b) { return m->gpu[a].peers >> b & 1 && m->gpu[b].peers >> a & 1; }

/* Whoever posts stores to the queue and rings at the NIC, and all count who is there by an atomic. */
static int reaches(const struct path_conf *p, const struct machine *m, int far_, char *why, size_t len)
{
	int to[] = { p->issuer_gpu, p->nic_gpu };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		if (to[i] >= 0 && to[i] != far_ && !both_reach(m, far_, to[i]))
			return fs_refuse(ENODEV, why, len, "others_gpu=%d: GPU %d, where the %s, and it can't reach each other's memory (no peer access); legal: others_gpu=auto",
					 far_, to[i], i ? "NIC is" : "issuer is");
	if (!(m->gpu[far_].native_atomics >> p->issuer_gpu & 1))
		return fs_refuse(ENODEV, why, len, "others_gpu=%d: its atomics in the memory of GPU %d are not native, and agents count and reserve by them; legal: others_gpu=auto",
				 far_, p->issuer_gpu);
	return 0;
}

int cont_far_resolve(const struct point *pt, const struct machine *m, struct cont_conf *c, char *why, size_t len)
{
	struct path_conf *p = &c->rate.path;
	int far_ = fs_is(pt, "others_gpu", "auto") ? p->issuer_gpu : (int)fs_num(pt, "others_gpu"), rc;

	c->choice.far_device = -1;
	if (far_ == p->issuer_gpu)
		return 0;
	if ((rc = gpu_named(m, "others_gpu", far_, why, len)) || (rc = reaches(p, m, far_, why, len)))
		return rc;
	c->choice.far_device = far_;
	c->choice.far_agents = c->others;
	c->choice.far_beside = p->nic_gpu == far_ ? c->rate.workers : 0;
	if (c->queue == OTHERS_SHARED)
		c->choice.form = FORM_SYS;
	if (c->others)
		path_post_from(p, far_);
	return 0;
}

int cont_far_use(const struct cont_conf *c)
{
	const struct path_conf *p = &c->rate.path;
	int far_ = c->choice.far_device, rc;

	if (far_ < 0)
		return 0;
	rc = cuda_use(p->issuer_gpu, far_);
	return rc ? rc : cuda_use(p->nic_gpu, far_);
}

void cont_far_found(const struct cont_mem *m, const struct cont_conf *c, struct rows *out)
{
	char name[32];

	if (c->choice.far_device < 0)
		return;
	rows_found(out, "others_gpu", "%s", place_name(c->choice.far_device, name, sizeof(name)));
	rows_found(out, "words_mem", "%s", place_name(m->words.place, name, sizeof(name)));
	if (!form_owns(c->choice.form)) /* with nobody beside it as well */
		rows_found(out, "handoff_scope", "system");
}
