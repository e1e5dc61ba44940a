/* SPDX-License-Identifier: Apache-2.0 */
/* The probe `tlb`: from a point to what it asks of the machine. */
#include "harness/err.h"
#include "harness/machine.h"
#include "harness/pin.h"
#include "stages/place/pages.h"
#include "stages/place/which_gpu.h"
#include "stages/translation/ladder.h"
#include "stages/translation/tlb.h"
#include "stages/vars.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PAGES_LEAST = 4 * RUNG_LEAST };

static int resolve_owner(const struct point *pt, const struct machine *m, struct tlb_conf *c, char *why, size_t len)
{
	int mem = fs_word(pt, "mem"), g = c->device, rc;

	c->owner = mem == PW_HOST || g < 0 ? PLACE_HOST : g;
	if (g < 0)
		return mem == PW_GPU || mem == PW_PEER ?
		       fs_refuse(EINVAL, why, len, "mem=%s with issuer=cpu: a CPU can't reach GPU memory; legal: auto, host",
			  mem == PW_GPU ? "gpu" : "peer") : 0;
	if ((rc = gpu_there(m, g, "issuer=gpu", "issuer=cpu", why, len)) || mem != PW_PEER)
		return rc;
	c->owner = machine_far(m, g);
	return c->owner != g ? 0 : fs_refuse(ENODEV, why, len, "mem=peer needs a second GPU that both reach; legal here: auto, host, gpu");
}

/* Not more than there is: said before anything is allocated. */
static int resolve_set(const struct point *pt, const struct machine *m, struct tlb_conf *c, char *why, size_t len)
{
	uint64_t least = (uint64_t)PAGES_LEAST << c->page_shift, room;
	int asked = !fs_is(pt, "set", "auto");

	c->bytes = asked ? (uint64_t)fs_num(pt, "set") >> c->page_shift << c->page_shift : 0;
	if (asked && c->bytes < least)
		return fs_refuse(EINVAL, why, len, "set=%lld in pages of %llu KiB: a ladder needs %d; legal: set=%llu..", (long long)fs_num(pt, "set"),
			  1ull << c->page_shift >> 10, PAGES_LEAST, (unsigned long long)least);
	if (c->owner != PLACE_HOST) {
		room = m->gpu[c->owner].bytes;
		if (c->bytes > room)
			return fs_refuse(ENODEV, why, len, "set=%llu MiB: GPU %d has %llu MiB", MIB(c->bytes), c->owner, MIB(room));
		return 0;
	}
	room = host_free_bytes();
	if (!c->bytes) {
		c->bytes = room && room / 2 < SET_AUTO_HOST ? room / 2 >> c->page_shift << c->page_shift : SET_AUTO_HOST;
		if (c->bytes < least)
			return fs_refuse(ENODEV, why, len, "%llu MiB of host memory are free: too little for a ladder", MIB(room));
	}
	if (room && c->bytes > room)
		return fs_refuse(ENODEV, why, len, "set=%llu MiB: %llu MiB of host memory are free", MIB(c->bytes), MIB(room));
	return 0;
}

int tlb_resolve(const struct point *pt, const struct machine *m, struct tlb_conf *c, char *why, size_t len)
{
	int huge = fs_is(pt, "host_page", "2m"), rc;

	memset(c, 0, sizeof(*c));
	c->device = fs_is(pt, "issuer", "gpu") ? (int)fs_num(pt, "gpu") : -1;
	if (c->device >= 0 && !fs_is(pt, "host_page", "auto") && (fs_is(pt, "mem", "auto") || fs_is(pt, "mem", "gpu") || fs_is(pt, "mem", "peer")))
		return fs_refuse(EINVAL, why, len, "host_page=%s: the memory is a GPU's; legal: host_page=auto, or mem=host", huge ? "2m" : "4k");
	if ((rc = resolve_owner(pt, m, c, why, len)))
		return rc;
	c->line_shift = c->device >= 0 ? 7 : 6; /* a line of an H200's L2, of a CPU's caches */
	c->page_shift = c->owner != PLACE_HOST || huge ? 21 : 12;
	if (huge && !host_has_huge(why, len))
		return -ENODEV;
	if ((rc = resolve_set(pt, m, c, why, len)))
		return rc;
	c->cpu = !fs_is(pt, "cpu", "auto") ? (int)fs_num(pt, "cpu") :
		 pin_cpu_near(c->device >= 0 ? m->gpu[c->device].pci : "", 0, NULL);
	return pin_may(c->cpu) ? 0 : fs_refuse(ENODEV, why, len, "cpu=%d: this process may not run there", c->cpu);
}
