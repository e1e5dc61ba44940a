/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the probe `bandwidth`; beside its figures a ceiling, computed from what the machine says of the link.
 */
#include "stages/crossing/bandwidth_parts.h"
#include "harness/err.h"
#include "harness/nvml.h"
#include "stages/crossing/ceiling.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *bw_link(const struct bw_conf *c)
{
	int own = c->mover == MOVER_CPU ? PLACE_HOST : c->at.issuer_gpu;

	if (c->dir == DIR_COPY && c->src[0] != c->dst[0])
		return link_name(c->src[0], c->dst[0]);
	return link_name(own, c->dir == DIR_WRITE ? c->dst[0] : c->src[0]);
}

/* One way, from `from` (or the mover) to `to`; NAN with words where it isn't known. */
static double bw_ceiling(const struct bw_conf *c, int back, char *why, size_t len)
{
	static json_t *nvml;
	const char *link = bw_link(c);
	int own = c->at.issuer_gpu, from = back ? c->dst[0] : c->src[0];
	int to_gpu = c->dir == DIR_READ || (c->dir == DIR_COPY && from == PLACE_HOST);
	struct ceiling_facts f;
	double x = NAN;

	snprintf(why, len, "not known: nothing here says what the host's memory can carry");
	if (!strcmp(link, "host") || own < 0)
		return NAN;
	nvml = nvml ? nvml : nvml_json();
	ceiling_facts_of(nvml, suite_machine()->gpu[own].pci, &f);
	if (!strcmp(link, "pcie")) {
		/* what comes to a GPU was read by it: completions */
		x = ceiling_pcie(f.pcie_gen, f.pcie_width, f.pcie_mps, to_gpu);
		snprintf(why, len, isnan(x) ? "not known: the PCIe link (generation %d, x%d) isn't told, or has no formula here" :
			 "PCIe generation %d, x%d%s", f.pcie_gen, f.pcie_width, f.pcie_mps ? ", packets of the set maximum" : ", packets not counted: their size isn't told");
	} else if (!strcmp(link, "nvlink")) {
		x = ceiling_nvlink(f.nvlinks, f.nvlink_mb_s);
		snprintf(why, len, isnan(x) ? "not known: no NVLink, or its rate isn't told" : "%d NVLinks of %.0f MB/s", f.nvlinks, f.nvlink_mb_s);
	} else {
		/* a copy within one memory reads and writes each byte */
		x = ceiling_memory(f.mem_mhz, f.mem_bus_bits) / (c->dir == DIR_COPY ? 2 : 1);
		snprintf(why, len, isnan(x) ? "not known: the memory's clock or width isn't told" : "memory at %.0f MHz, twice a clock, %d bits wide", f.mem_mhz, f.mem_bus_bits);
	}
	return x;
}

static int bw_row(struct rows *out, const struct bw_conf *c, const char *metric, const double *ns, unsigned ways)
{
	double gb = (double)c->size * (double)c->loops * ways, *x = malloc(c->samples * sizeof(*x));
	struct row *r = x ? cross_row(out, "crossing", bw_link(c), metric, "GB/s") : NULL;
	int rc;

	for (uint64_t i = 0; r && i < c->samples; i++)
		x[i] = gb / ns[i];
	rc = r ? summary_of(x, c->samples, 1, &r->s) : fs_fail(ENOMEM, "no memory for samples");
	free(x);
	return rc;
}

int bw_rows(const struct bw_conf *c, const struct bw_args *a, struct rows *out)
{
	double ceiling, carried, back = 0;
	char why[160], why_back[160];
	struct row *r;
	int rc = bw_row(out, c, "bandwidth", a->both_ns, (unsigned)c->nways);

	carried = rc ? 0 : out->row[out->n - 1].s.p50;
	if (!rc && bw_all_peers(c)) {
		for (int w = 1; w < c->nways; w++) /* the slowest of each sample, into the first one's */
			for (uint64_t i = 0; i < c->samples; i++)
				a->way_ns[0][i] = fmax(a->way_ns[0][i], a->way_ns[w][i]);
		rc = bw_row(out, c, "bandwidth_slowest", a->way_ns[0], 1);
	}
	if (!rc && c->ways == WAYS_BOTH && !(rc = bw_row(out, c, "bandwidth_there", a->way_ns[0], 1)))
		rc = bw_row(out, c, "bandwidth_back", a->way_ns[1], 1);
	if (rc)
		return rc;
	if (!(r = cross_row(out, "crossing", bw_link(c), "ceiling", "GB/s")))
		return -ENOMEM;
	ceiling = bw_ceiling(c, 0, why, sizeof(why));
	if (c->ways == WAYS_BOTH)
		back = bw_ceiling(c, 1, why_back, sizeof(why_back));
	snprintf(r->origin, sizeof(r->origin), "analytic");
	if (isnan(ceiling)) {
		snprintf(r->reason_code, sizeof(r->reason_code), "not-known");
		snprintf(r->reason, sizeof(r->reason), "%s", why);
	} else {
		summary_one(&r->s, ceiling + back);
		if (carried > ceiling + back) {
			snprintf(r->reason_code, sizeof(r->reason_code), "exceeded");
			snprintf(r->reason, sizeof(r->reason), "%.4g GB/s were carried: what was moved stayed in a cache, or the machine tells its link wrongly", carried);
		}
	}
	rows_found(out, "ceiling", "%.90s", why);
	rows_found(out, "moved", "%llu x %llu B a sample", (unsigned long long)c->loops, (unsigned long long)c->size);
	rows_found(out, "threads", "%u x %u", c->blocks, c->threads);
	if (c->ways == WAYS_BOTH)
		rows_found(out, "back_by", "GPU %d", c->by[1]);
	if (bw_all_peers(c))
		rows_found(out, "peers", "%d", c->nways);
	return 0;
}
