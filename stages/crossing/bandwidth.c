/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `bandwidth`: bytes a second between two places, by who moves them, how many
 * at a time and which way; what arrived is compared. Beside each figure a ceiling, computed
 * from what the machine says of the link.
 */
#include "stages/crossing/bandwidth.h"
#include "harness/err.h"
#include "harness/nvml.h"
#include "harness/probe.h"
#include "stages/crossing/ceiling.h"
#include "stages/crossing/team.h"
#include "stages/crossing/where.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AUTO_SAMPLES = 20, AUTO_WARMUP = 2, AUTO_THREADS = 512, CHUNK = 4 << 20 };
enum { ENGINE_LOOPS_MAX = 256 };     /* copies that may be queued behind a gate: a stream takes about a thousand */
#define LOOPS_MAX 65536ull
#define GPU_SAMPLE_NS 20e6           /* a CUDA event tells half a microsecond */
#define CPU_SAMPLE_NS 5e6
#define PATIENCE_S 100.0
#define SLOW_GB_S 1.0                /* to say how long a point may take */

_Static_assert(BW_WAYS_MAX >= FS_GPUS_MAX - 1, "every peer has a way");

struct bw_conf {
	struct where at;
	int mover, dir, ways;            /* words */
	int nways;
	int src[BW_WAYS_MAX], dst[BW_WAYS_MAX]; /* places */
	int by[BW_WAYS_MAX];             /* the GPU that moves each; -1: CPUs */
	uint64_t size, loops, loops_max, samples, warmup;
	double sample_ns;                /* that a sample should take, at least */
	unsigned threads, blocks;
};

/* Between a GPU and each of its peers at once. */
static int bw_all_peers(const struct bw_conf *c) { return c->ways == WAYS_TO_ALL || c->ways == WAYS_FROM_ALL; }

/* What no machine allows. */
static int bw_legal(const struct point *pt, const struct bw_conf *c, char *why, size_t len)
{
	const char *unused = c->dir == DIR_READ ? "dst_mem" : c->dir == DIR_WRITE ? "src_mem" : NULL;

	if (c->size < sizeof(struct vec16) || c->size % sizeof(struct vec16))
		return fs_refuse(EINVAL, why, len, "size=%llu: bytes are moved in words of 16; legal: a multiple of 16 from 16 on",
			      (unsigned long long)c->size);
	if (unused && !fs_is(pt, unused, "auto"))
		return fs_refuse(EINVAL, why, len, "%s with dir=%s: nothing is %s; legal: %s=auto", unused,
			      c->dir == DIR_READ ? "read" : "write", c->dir == DIR_READ ? "written" : "read", unused);
	if (c->mover == MOVER_CE && c->dir != DIR_COPY)
		return fs_refuse(EINVAL, why, len, "dir=%s with mover=ce: a copy engine copies; legal: dir=copy", c->dir == DIR_READ ? "read" : "write");
	if (c->ways != WAYS_ONE && (c->dir != DIR_COPY || c->mover == MOVER_CPU))
		return fs_refuse(EINVAL, why, len, "ways=%s with dir=%s and mover=%s: legal with dir=copy and mover=sm or ce",
			      c->ways == WAYS_BOTH ? "both" : c->ways == WAYS_TO_ALL ? "to-all" : "from-all", c->dir == DIR_READ ? "read" : c->dir == DIR_WRITE ? "write" : "copy", c->mover == MOVER_CPU ? "cpu" : c->mover == MOVER_CE ? "ce" : "sm");
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

static int bw_resolve(const struct point *pt, const struct machine *m, struct bw_conf *c, char *why, size_t len)
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
	if ((double)(c->samples + c->warmup) * sample_s > PATIENCE_S)
		return fs_refuse(EINVAL, why, len, "messages=%llu samples of %llu MiB would take minutes; legal: at most %.0f",
			      (unsigned long long)c->samples, (unsigned long long)c->size >> 20, PATIENCE_S / sample_s);
	rc = where_host(pt, m, bw_needs(c, PLACE_HOST) != 0, &c->at, why, len);
	return rc ? rc : bw_fits(m, c, why, len);
}

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

/* ---- rows ---- */

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

static int bw_rows(const struct bw_conf *c, const struct bw_args *a, struct rows *out)
{
	double ceiling, back = 0;
	char why[160], why_back[160];
	struct row *r;
	int rc = bw_row(out, c, "bandwidth", a->both_ns, (unsigned)c->nways);

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

/* ---- the probe ---- */

static int bw_move(const struct bw_conf *c, struct bw_args *a)
{
	return c->mover == MOVER_CPU ? bandwidth_cpu_run(a, c->at.cpu, PATIENCE_S) :
				       bandwidth_gpu_run(a, c->mover == MOVER_CE, PATIENCE_S);
}

/* How many times over a sample goes, by one that goes once. */
static int bw_measure(struct bw_conf *c, struct bw_args *a)
{
	double times;
	int rc;

	a->loops = a->samples = a->warmup = 1;
	if ((rc = bw_move(c, a)))
		return rc;
	times = c->sample_ns / a->both_ns[0];
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
		rc = bw_measure(&c, &a);
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
	return 2 * PATIENCE_S;
}

static const char *const bw_reads[] = {
	"mover", "dir", "ways", "size", "threads", "blocks", "gpu", "nic_gpu", "src_mem", "dst_mem", "numa", "fault",
	"messages", "warmup", "cpu", NULL
};

const struct probe probe_bandwidth = {
	.name = "bandwidth",
	.help = "bytes a second between two places: read, written or copied by GPU threads, a copy engine or CPU threads; and what the link could carry",
	.reads = bw_reads,
	.check = bw_check,
	.run = bw_run,
	.patience_s = bw_patience,
};
