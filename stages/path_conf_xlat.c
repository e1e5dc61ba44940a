/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a point (path_conf.c) that is of translation: memory that isn't registered for good, regions, and
 * the NIC's cache.
 */
#include "harness/err.h"
#include "stages/path_conf_parts.h"
#include "stages/place/which_gpu.h"
#include <errno.h>
#include <stdio.h>

#define TABLE_BYTES (64ull << 20) /* page entries of all regions */

int path_registers_inside(const struct path_conf *c)
{
	return c->registration == REGISTERED_ON_DEMAND && c->route.submitter == SUBMITTER_PROXY;
}

/* Who registers: a CPU thread, which writes the NIC's tables. */
static int refuse_demand(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	int gpu = fs_is(pt, "issuer", "gpu");

	if (!c->nic->completes || c->nic->on_gpu)
		return fs_refuse(EINVAL, why, len, "registration=on-demand with nic=%s: a CPU thread writes the tables that the NIC looks keys up in; legal: nic=soft", c->nic->name);
	if (gpu && c->route.submitter != SUBMITTER_PROXY)
		return fs_refuse(EINVAL, why, len, "registration=on-demand with issuer=gpu: a kernel can register nothing, a CPU that it hands its message to can; legal: submitter=proxy, or issuer=cpu");
	if (gpu && fs_word(pt, "mechanism") == MECH_HOST_REGISTER)
		return fs_refuse(EINVAL, why, len, "mechanism=host-register with issuer=gpu: it is registered already, or the GPU could not have written the payload; legal: mechanism=mlock");
	if (c->route.submitter == SUBMITTER_PROXY && fs_word(pt, "mechanism") == MECH_HOST_REGISTER)
		return fs_refuse(EINVAL, why, len, "mechanism=host-register with submitter=proxy: a device is current for a thread, and the worker's has none; legal: mechanism=mlock, or submitter=gpu");
	return 0;
}

/* Who copies, from where: the issuer, from memory that it reaches. */
static int resolve_staging(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	int gpu = fs_is(pt, "issuer", "gpu");

	if (!gpu && fs_is(pt, "staged_from", "gpu"))
		return fs_refuse(EINVAL, why, len, "staged_from=gpu with issuer=cpu: a CPU can't reach GPU memory; legal: staged_from=auto, host");
	if (gpu && !fs_is(pt, "staged_from", "host") && !fs_is(pt, "host_page", "auto"))
		return fs_refuse(EINVAL, why, len, "host_page with what is copied in the GPU's own memory, which has pages of its own; legal: host_page=auto, or staged_from=host");
	if (gpu && ((c->choice.mode != DBM_RECORD_RING && c->route.submitter == SUBMITTER_GPU) || c->collapsed))
		return fs_refuse(EINVAL, why, len, "registration=staged with issuer=gpu is built for one form of queue; legal: doorbell=record-ring and cq=ring");
	return 0;
}

int path_resolve_registration(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len)
{
	const char *word = c->registration == REGISTERED_STAGED ? "staged" : "on-demand", *legal;
	int w = fs_word(pt, "mechanism"), rc;
	char name[32], asked[48];

	if (c->registration != REGISTERED_STAGED && !fs_is(pt, "staged_from", "auto"))
		return fs_refuse(EINVAL, why, len, "staged_from without registration=staged: nothing is copied; legal: staged_from=auto");
	if (c->fault == FAULT_LOST_COPY && (c->registration != REGISTERED_STAGED || c->check != CHECK_EACH))
		return fs_refuse(EINVAL, why, len, "fault=lost-copy: it is of a message that is copied, and seen by its check; legal: registration=staged with check=each or auto");
	if (c->registration == REGISTERED_PERSISTENT)
		return fs_is(pt, "host_page", "auto") ? 0 :
		       fs_refuse(EINVAL, why, len, "host_page with registration=persistent: it is of memory that is registered on demand, or copied from; legal: host_page=auto");
	if (c->registration == REGISTERED_ON_DEMAND && (rc = refuse_demand(pt, c, why, len)))
		return rc;
	if (!c->nic->completes)
		return fs_refuse(EINVAL, why, len, "registration=staged with nic=%s: nobody reads what is copied; legal: nic=soft, peer", c->nic->name);
	if (c->choice.kind != POST_WRITE || !c->size)
		return fs_refuse(EINVAL, why, len, "registration=%s: it is of the memory that a payload is read from; legal: op=write with size=1.. and payload=pointer or auto", word);
	if (c->metric != METRIC_LATENCY || c->depth > 1 || c->plant[0] >= 0 || c->plant[1] >= 0 || (c->fault && c->fault != FAULT_LOST_COPY) || c->mr_count > 1 || c->lines > 1)
		return fs_refuse(EINVAL, why, len, "registration=%s: legal with metric=latency and depth=1, mr_count=1, lines=1, without plant, and without fault but lost-copy", word);
	if (fs_is(pt, "host_page", "2m") && !host_has_huge(why, len))
		return -ENODEV;
	if (c->registration == REGISTERED_STAGED) {
		if ((rc = resolve_staging(pt, c, why, len)))
			return rc;
		c->staged_from = fs_is(pt, "issuer", "gpu") && !fs_is(pt, "staged_from", "host") ? (int)fs_num(pt, "gpu") : PLACE_HOST;
		return 0;
	}
	fs_word_text(pt, "mechanism", name, sizeof(name));
	c->mech = mech_registers(w, &legal);
	if (!c->mech)
		return fs_refuse(EINVAL, why, len, "registration=on-demand with mechanism=%s: it doesn't register memory that holds something already; legal: mechanism=%s", name, legal);
	c->reg_device = mech_needs_gpu(w) ? (int)fs_num(pt, "gpu") : -1;
	snprintf(asked, sizeof(asked), "mechanism=%s", name);
	if (c->reg_device >= 0 && (rc = gpu_there(m, c->reg_device, asked, "mlock", why, len)))
		return rc;
	if (mech_locks(w) && c->stride > host_lock_limit())
		return fs_refuse(ENODEV, why, len, "size=%u: this process may lock %llu B (ulimit -l)", c->size, (unsigned long long)host_lock_limit());
	return 0;
}

int path_resolve_translation(const struct point *pt, struct path_conf *c, char *why, size_t len)
{
	uint64_t page = 1ull << c->page_shift, entries;

	c->cache = (uint32_t)fs_num(pt, "xlat_cache");
	if (c->mr_count == 1 && c->mr_random)
		return fs_refuse(EINVAL, why, len, "mr_order=random with mr_count=1: there is one region to take; legal: mr_count=2.., or mr_order=turn");
	if ((c->mr_count > 1 || c->cache) && c->op == WQE_NOP)
		return fs_refuse(EINVAL, why, len, "%s with op=nop: it has no key; legal: op=write or read", c->cache ? "xlat_cache" : "mr_count");
	entries = 2 * c->mr_count * (((c->slots * c->stride - 1) >> c->page_shift) + 1);
	if (c->mr_count > 1 && entries * 8 > TABLE_BYTES)
		return fs_refuse(EINVAL, why, len, "mr_count=%u with size=%u and page=%lluK: each region has page entries of its own, %llu MiB in all; legal: at most %llu MiB, by a larger page or fewer regions",
			  c->mr_count, c->size, (unsigned long long)page >> 10, (unsigned long long)(entries * 8 >> 20), TABLE_BYTES >> 20);
	if (!c->cache)
		return 0;
	if (c->cache & (c->cache - 1))
		return fs_refuse(EINVAL, why, len, "xlat_cache=%u: legal: 0, or a power of two up to %d", c->cache, CACHE_MOST);
	if (!c->nic->completes)
		return fs_refuse(EINVAL, why, len, "xlat_cache with nic=null: nobody translates; legal: xlat_cache=0");
	if (!c->size)
		return fs_refuse(EINVAL, why, len, "xlat_cache with size=0: nothing is translated; legal: size=1..");
	if (c->signal > 1 || c->choice.kind == POST_INLINE2)
		return fs_refuse(EINVAL, why, len, "xlat_cache with %s: it is built for WQEs of one block that each ask for a CQE; legal: %s, or xlat_cache=0",
			  c->signal > 1 ? "signal" : "an inline payload of two blocks", c->signal > 1 ? "signal=1" : "payload=pointer");
	if (doorbell_is_flame(c->choice.mode))
		return fs_refuse(EINVAL, why, len, "xlat_cache with a WQE in the doorbell's line: it is built for WQEs that are fetched; legal: doorbell=record-ring, ring-record-ring or ring, or xlat_cache=0");
	if (c->stride > page)
		return fs_refuse(EINVAL, why, len, "xlat_cache with size=%u and page=%lluK: an entry is one page, and a payload has to lie on one; legal: size=1..%llu, or a larger page",
			  c->size, (unsigned long long)page >> 10, (unsigned long long)page);
	return 0;
}
