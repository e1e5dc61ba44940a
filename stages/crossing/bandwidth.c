/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `bandwidth`: bytes a second between two places, by who moves them, how many
 * at a time and which way; what arrived is compared.
 */
#include "stages/crossing/bandwidth_parts.h"
#include "harness/err.h"
#include "harness/probe.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4 << 20 };            /* of a pattern at once */

static int bw_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct bw_conf c;

	return bw_resolve(pt, m, &c, why, len);
}

/* ---- what is moved ---- */

/* Writes the pattern into b, or compares it: -EBADMSG with the first word that differs. */
static int bw_pattern(const struct buf *b, uint64_t bytes, int compare)
{
	uint64_t *words = malloc(CHUNK), got = 0, at = 0;
	int rc = words ? 0 : fs_fail(ENOMEM, "no memory for a pattern");

	for (uint64_t off = 0; off < bytes && !rc; off += CHUNK) {
		size_t n = bytes - off < CHUNK ? bytes - off : CHUNK;

		if (compare)
			rc = place_read(b, off, words, n);
		for (size_t i = 0; i < n / 8 && !rc; i++) {
			if (!compare) {
				words[i] = bw_word(off / 8 + i);
			} else if (words[i] != bw_word(off / 8 + i)) {
				got = words[i];
				at = off + i * 8;
				rc = -EBADMSG;
			}
		}
		if (!compare && !rc)
			rc = place_write(b, off, words, n);
	}
	free(words);
	if (rc == -EBADMSG)
		fs_fail(EBADMSG, "byte %llu holds 0x%llx, not what was moved there", (unsigned long long)at, (unsigned long long)got);
	return rc;
}

struct bw_mem { struct buf src[BW_WAYS_MAX], dst[BW_WAYS_MAX]; };

static void bw_term(struct bw_mem *m)
{
	for (int w = 0; w < BW_WAYS_MAX; w++) {
		place_free(&m->src[w]);
		place_free(&m->dst[w]);
	}
}

/* Each way has memory of its own. */
static int bw_init(struct bw_mem *m, const struct bw_conf *c, struct bw_args *a)
{
	int rc = 0;

	for (int w = 0; w < c->nways && !rc; w++) {
		if (c->dir != DIR_WRITE && !(rc = where_alloc(&m->src[w], &c->at, c->src[w], c->size)))
			rc = bw_pattern(&m->src[w], c->size, 0);
		if (c->dir != DIR_READ && !rc)
			rc = where_alloc(&m->dst[w], &c->at, c->dst[w], c->size);
		a->by[w] = c->by[w];
		a->way[w].src = (const struct vec16 *)m->src[w].p;
		a->way[w].dst = (struct vec16 *)m->dst[w].p;
	}
	return rc;
}

static int bw_arrived(const struct bw_mem *m, const struct bw_conf *c, const struct bw_args *a)
{
	int rc = 0;

	if (c->dir == DIR_READ && a->sum != bw_sum(2 * a->n) * a->loops * (a->samples + a->warmup))
		return fs_fail(EBADMSG, "the sum of what was read is wrong");
	for (int w = 0; w < c->nways && !rc && c->dir != DIR_READ; w++)
		rc = bw_pattern(&m->dst[w], c->size, 1);
	return rc;
}

/* ---- the probe ---- */

static int bw_move(const struct bw_conf *c, struct bw_args *a)
{
	return c->mover == MOVER_CPU ? bandwidth_cpu_run(a, c->at.cpu, BW_PATIENCE_S) :
				       bandwidth_gpu_run(a, c->mover == MOVER_CE, BW_PATIENCE_S);
}

/* How many times over a sample goes, by one that goes once. */
static int bw_measure(const struct bw_mem *m, struct bw_conf *c, struct bw_args *a)
{
	double times;
	int rc;

	a->loops = a->samples = a->warmup = 1;
	if ((rc = bw_move(c, a)))
		return rc;
	times = c->sample_ns / a->both_ns[0];
	/* what the one moved doesn't stand in for what is timed: bw_arrived() looks at the destination afterwards */
	for (int w = 0; w < c->nways && c->dir != DIR_READ; w++)
		if ((rc = place_set(&m->dst[w], 0)))
			return rc;
	c->loops = times <= 1 ? 1 : times < (double)c->loops_max ? (uint64_t)times : c->loops_max;
	a->loops = c->loops;
	a->samples = c->samples;
	a->warmup = c->warmup;
	return bw_move(c, a);
}

/* All peers that take part. */
static int bw_use(const struct bw_conf *c)
{
	int rc = 0;

	for (int w = 0; w < c->nways && !rc && bw_all_peers(c); w++)
		rc = cuda_use(c->at.issuer_gpu, c->src[w] == c->at.issuer_gpu ? c->dst[w] : c->src[w]);
	return rc;
}

static int bw_run(const struct point *pt, struct rows *out)
{
	struct bw_args a;
	struct bw_conf c;
	struct bw_mem m;
	char why[256];
	double *ns;
	int rc = bw_resolve(pt, suite_machine(), &c, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	if ((rc = where_use(&c.at, out)) || (rc = bw_use(&c)))
		return rc;
	memset(&a, 0, sizeof(a));
	memset(&m, 0, sizeof(m));
	a.ways = c.nways;
	a.split = c.ways == WAYS_BOTH;
	a.dir = c.dir;
	a.n = c.size / sizeof(struct vec16);
	a.threads = c.threads;
	a.blocks = c.blocks;
	if (!(ns = calloc((1 + BW_WAYS_MAX) * c.samples, sizeof(*ns))))
		return fs_fail(ENOMEM, "no memory for samples");
	a.both_ns = ns;
	for (int w = 0; w < BW_WAYS_MAX; w++)
		a.way_ns[w] = ns + (uint64_t)(1 + w) * c.samples;
	rc = bw_init(&m, &c, &a);
	if (!rc) {
		if (c.dir != DIR_WRITE)
			where_found(out, "src_mem", &m.src[0]);
		if (c.dir != DIR_READ)
			where_found(out, "dst_mem", &m.dst[0]);
		rc = bw_measure(&m, &c, &a);
	}
	if (!rc && !(rc = bw_arrived(&m, &c, &a)))
		rc = bw_rows(&c, &a, out);
	if (rc != -EBUSY) {
		bw_term(&m);
		free(ns);
	}
	return rc;
}

static double bw_patience(const struct point *pt)
{
	(void)pt;
	return 2 * BW_PATIENCE_S;
}

const struct probe probe_bandwidth = {
	.name = "bandwidth",
	.help = "bytes a second between two places: read, written or copied by GPU threads, a copy engine or CPU threads; and what the link could carry",
	.reads = bw_reads,
	.check = bw_check,
	.run = bw_run,
	.patience_s = bw_patience,
};
