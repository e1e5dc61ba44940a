/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a point of the probe `bandwidth` to what it asks of the machine: who moves what from where to where, how often
 * and for how long.
 */
#include "stages/crossing/bandwidth_parts.h"
#include "harness/err.h"
#include "stages/crossing/team.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum { AUTO_SAMPLES = 20, AUTO_WARMUP = 2, AUTO_THREADS = 512 };
enum { ENGINE_LOOPS_MAX = 256 };     /* copies that may be queued behind a gate: a stream takes about a thousand */
#define LOOPS_MAX 65536ull
#define GPU_SAMPLE_NS 20e6           /* a CUDA event tells half a microsecond */
#define CPU_SAMPLE_NS 5e6
#define SLOW_GB_S 1.0                /* to say how long a point may take */

_Static_assert(BW_WAYS_MAX >= FS_GPUS_MAX - 1, "every peer has a way");

/* What no machine allows. */
static int bw_legal(const struct point *pt, const struct bw_conf *c, char *why, size_t len)
{
	const char *unused = c->dir == DIR_READ ? "dst_mem" : c->dir == DIR_WRITE ? "src_mem" : NULL;
	char mover[8], dir[8], ways[12];

	if (c->size < sizeof(struct vec16) || c->size % sizeof(struct vec16))
		return fs_refuse(EINVAL, why, len, "size=%llu: bytes are moved in words of 16; legal: a multiple of 16 from 16 on",
			      (unsigned long long)c->size);
	if (unused && !fs_is(pt, unused, "auto"))
		return fs_refuse(EINVAL, why, len, "%s with dir=%s: nothing is %s; legal: %s=auto", unused,
			      c->dir == DIR_READ ? "read" : "write", c->dir == DIR_READ ? "written" : "read", unused);
	fs_word_text(pt, "mover", mover, sizeof(mover));
	fs_word_text(pt, "dir", dir, sizeof(dir));
	fs_word_text(pt, "ways", ways, sizeof(ways));
	if (c->mover == MOVER_CE && c->dir != DIR_COPY)
		return fs_refuse(EINVAL, why, len, "dir=%s with mover=ce: a copy engine copies; legal: dir=copy", dir);
	if (c->ways != WAYS_ONE && (c->dir != DIR_COPY || c->mover == MOVER_CPU))
		return fs_refuse(EINVAL, why, len, "ways=%s with dir=%s and mover=%s: legal with dir=copy and mover=sm or ce", ways, dir, mover);
	if (c->mover == MOVER_CE && (!fs_is(pt, "threads", "auto") || !fs_is(pt, "blocks", "auto")))
		return fs_refuse(EINVAL, why, len, "threads or blocks with mover=ce: an engine has none; legal with mover=sm or cpu");
	return 0;
}

/* From the GPU to each of its peers, or from each of them to it; whom the bytes leave moves them. */
static int bw_all(const struct point *pt, const struct machine *m, struct bw_conf *c, char *why, size_t len)
{
	const char *word = c->ways == WAYS_TO_ALL ? "to-all" : "from-all";
	int own = c->at.issuer_gpu;

	if (!fs_is(pt, "src_mem", "auto") || !fs_is(pt, "dst_mem", "auto") || !fs_is(pt, "nic_gpu", "auto"))
		return fs_refuse(EINVAL, why, len, "ways=%s is between gpu=%d and all its peers; legal: src_mem=auto, dst_mem=auto, nic_gpu=auto", word, own);
	for (int g = 0; g < m->ngpus; g++)
		if (g != own && m->gpu[own].peers >> g & 1 && m->gpu[g].peers >> own & 1) {
			c->src[c->nways] = c->ways == WAYS_TO_ALL ? own : g;
			c->dst[c->nways] = c->ways == WAYS_TO_ALL ? g : own;
			c->by[c->nways] = c->src[c->nways];
			c->nways++;
		}
	return c->nways ? 0 : fs_refuse(ENODEV, why, len, "ways=%s: GPU %d has no peer that reaches it and that it reaches; legal here: ways=one, both", word, own);
}

static int bw_places(const struct point *pt, const struct machine *m, struct bw_conf *c, char *why, size_t len)
{
	int own = PLACE_HOST, rc = 0;

	if (c->mover != MOVER_CPU) {
		if ((rc = where_issuer(pt, m, c->mover == MOVER_SM ? "mover=sm" : "mover=ce", "mover=cpu", &c->at, why, len)))
			return rc;
		own = c->at.issuer_gpu;
	}
	if (bw_all_peers(c))
		return bw_all(pt, m, c, why, len);
	c->nways = 1 + (c->ways == WAYS_BOTH);
	if ((rc = where_place(pt, m, "src_mem", own, &c->at, &c->src[0], why, len)) ||
	    (rc = where_place(pt, m, "dst_mem", own, &c->at, &c->dst[0], why, len)))
		return rc;
	if (c->ways == WAYS_BOTH && c->src[0] == c->dst[0])
		return fs_refuse(EINVAL, why, len, "ways=both within one memory: there is one way; legal: ways=one, or src_mem and dst_mem apart");
	c->by[0] = c->by[1] = c->at.issuer_gpu;
	c->src[1] = c->dst[0];
	c->dst[1] = c->src[0];
	/* between two GPUs each moves what leaves it, by its threads; both copy engines are the mover's */
	if (c->mover == MOVER_SM && c->src[0] == c->at.issuer_gpu && c->dst[0] >= 0)
		c->by[1] = c->dst[0];
	return 0;
}

/* What the ways need of a place's memory, both sides'. */
static uint64_t bw_needs(const struct bw_conf *c, int place)
{
	uint64_t n = 0;

	for (int w = 0; w < c->nways; w++)
		n += (uint64_t)(c->dir != DIR_WRITE && c->src[w] == place) + (uint64_t)(c->dir != DIR_READ && c->dst[w] == place);
	return n * c->size;
}

static int bw_fits(const struct machine *m, const struct bw_conf *c, char *why, size_t len)
{
	int rc = bw_needs(c, PLACE_HOST) ? where_fits(m, PLACE_HOST, bw_needs(c, PLACE_HOST), "size", why, len) : 0;

	for (int g = 0; g < m->ngpus && !rc; g++)
		if (bw_needs(c, g))
			rc = where_fits(m, g, bw_needs(c, g), "size", why, len);
	return rc;
}

/* A block for each SM; to all peers they share the one GPU's. */
static int bw_auto_blocks(const struct machine *m, const struct bw_conf *c)
{
	int sms = m->gpu[c->at.issuer_gpu].sms;

	return c->ways != WAYS_TO_ALL ? sms : sms > c->nways ? sms / c->nways : 1;
}

int bw_resolve(const struct point *pt, const struct machine *m, struct bw_conf *c, char *why, size_t len)
{
	double sample_s;
	int rc;

	memset(c, 0, sizeof(*c));
	c->at.issuer_gpu = c->at.far_gpu = -1;
	c->mover = fs_word(pt, "mover");
	c->dir = fs_word(pt, "dir");
	c->ways = fs_word(pt, "ways");
	c->size = (uint64_t)fs_num(pt, "size");
	if ((rc = bw_legal(pt, c, why, len)) || (rc = bw_places(pt, m, c, why, len)))
		return rc;
	c->loops_max = c->mover == MOVER_CE ? ENGINE_LOOPS_MAX : LOOPS_MAX;
	c->sample_ns = c->mover == MOVER_CPU ? CPU_SAMPLE_NS : GPU_SAMPLE_NS;
	c->samples = (uint64_t)number_or(pt, "messages", AUTO_SAMPLES);
	c->warmup = (uint64_t)number_or(pt, "warmup", AUTO_WARMUP);
	c->threads = (unsigned)number_or(pt, "threads", c->mover == MOVER_SM ? AUTO_THREADS : 1);
	c->blocks = (unsigned)number_or(pt, "blocks", c->mover == MOVER_SM ? bw_auto_blocks(m, c) :
					c->mover == MOVER_CPU && fs_is(pt, "threads", "auto") ? team_max() : 1);
	if (c->mover == MOVER_CPU) {
		c->blocks *= c->threads;
		c->threads = 1;
	}
	if (c->mover == MOVER_CPU && (int)c->blocks > team_max())
		return fs_refuse(ENODEV, why, len, "%u threads: this process has %d CPUs, one for each", c->blocks, team_max());
	sample_s = (double)c->size * (c->ways == WAYS_BOTH ? 1 : c->nways) / SLOW_GB_S / 1e9 + c->sample_ns * 2 / 1e9;
	if ((double)(c->samples + c->warmup) * sample_s > BW_PATIENCE_S)
		return fs_refuse(EINVAL, why, len, "messages=%llu samples of %llu MiB and warmup=%llu would take minutes; legal: at most %.0f of both together",
			      (unsigned long long)c->samples, (unsigned long long)c->size >> 20, (unsigned long long)c->warmup,
			      floor(BW_PATIENCE_S / sample_s));
	rc = where_host(pt, m, bw_needs(c, PLACE_HOST) != 0, &c->at, why, len);
	return rc ? rc : bw_fits(m, c, why, len);
}

const char *const bw_reads[] = {
	"mover", "dir", "ways", "size", "threads", "blocks", "gpu", "nic_gpu", "src_mem", "dst_mem", "numa", "fault",
	"messages", "warmup", "cpu", NULL
};
