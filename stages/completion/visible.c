/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `visible`: does who sees a flag see the payload that was stored before it? One
 * agent writes a payload and then a flag, another one, already running, polls the flag and reads
 * the payload at once; what stands between at either side, and where both live, is varied. What
 * comes out is a count of violations. None seen is no proof, and the rows say so.
 */
#include "stages/completion/visible.h"
#include "harness/err.h"
#include "harness/probe.h"
#include "harness/service.h"
#include "stages/completion/visible_order.h"
#include "stages/crossing/where.h"
#include "stages/nic/nic.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x5f1e57a6, AUTO_MESSAGES = 10000, MESSAGES_MAX = 10000000, TIMED_MAX = 100000, WARMUP = 1024, SIZE_MAX_B = 64 << 10 };
/* Random pauses before a message, of some periods of the reader's poll, over a link too. */
enum { GAP_TICKS = 4096 };
#define PAYLOAD_BYTES (64ull << 20)
#define WAIT_NS 2000000000ull
#define START_S 20.0

struct visible_conf {
	struct where at;               /* mem: the payload's */
	const struct nic *nic;
	struct visible_order order;
	int loaded, warp, nic_cpu, ack; /* loaded: enum payload_load */
	uint64_t words, stride, messages, warmup;
	const char *order_class;
};

/* ---- the point ---- */

/* What is wrong anywhere, whatever the machine has. */
static int visible_legal(const struct point *pt, struct visible_conf *c, char *why, size_t len)
{
	int cpu_reads = fs_is(pt, "issuer", "cpu"), cpu_writes = !c->nic->on_gpu, rc;
	static const char *const vars[] = { "dst_mem", "flag_mem" };
	long long size = fs_num(pt, "size");
	char word[32];

	if (!c->nic->completes)
		return fs_refuse(EINVAL, why, len, "nic=null: nobody writes; legal: nic=soft, nic=peer");
	if ((rc = fence_side(pt, cpu_writes, cpu_writes ? "nic=soft" : "nic=peer", why, len)))
		return rc;
	if (cpu_reads && c->order.acquire == ACQUIRE_FENCE_GPU)
		return fs_refuse(EINVAL, why, len, "acquire=fence-gpu with issuer=cpu: a CPU knows no scopes; legal: none, fence-sys, load");
	if (cpu_reads && c->loaded == LOADED_PLAIN)
		return fs_refuse(EINVAL, why, len, "payload_load=plain with issuer=cpu: a CPU's loads are the same ones; legal: relaxed");
	if (!fs_is(pt, "sharing", "exclusive") && (cpu_writes || !fs_is(pt, "sharing", "warp")))
		return fs_refuse(EINVAL, why, len, "sharing=%s with nic=%s: a message is written by one thread, or by a warp of nic=peer; legal: %s",
				 fs_word_text(pt, "sharing", word, sizeof(word)), c->nic->name, cpu_writes ? "exclusive" : "exclusive, warp");
	if (size < 8 || size > SIZE_MAX_B || size % 8)
		return fs_refuse(EINVAL, why, len, "size=%lld: a payload is whole words of 8 B; legal: 8..%d, by 8", size, SIZE_MAX_B);
	if (c->words * c->stride > PAYLOAD_BYTES)
		return fs_refuse(EINVAL, why, len, "size=%lld with stride=%llu: words so far apart take %llu MiB; legal: at most %llu MiB", size,
				 (unsigned long long)c->stride, (unsigned long long)(c->words * c->stride >> 20), PAYLOAD_BYTES >> 20);
	if (c->messages > MESSAGES_MAX)
		return fs_refuse(EINVAL, why, len, "messages=%llu: legal: 1..%d", (unsigned long long)c->messages, MESSAGES_MAX);
	for (int i = 0; i < 2; i++) {
		int w = fs_word(pt, vars[i]);

		if (!cpu_reads && cpu_writes && (w == PW_GPU || w == PW_PEER))
			return fs_refuse(EINVAL, why, len, "%s=%s with nic=soft: a CPU can't reach GPU memory; legal: auto, host", vars[i],
					 w == PW_GPU ? "gpu" : "peer");
	}
	return 0;
}

/* Agents, then places. */
static int visible_places(const struct point *pt, const struct machine *m, struct visible_conf *c, char *why, size_t len)
{
	int cpu_reads = fs_is(pt, "issuer", "cpu"), host, home, rc;
	struct visible_order *o = &c->order;

	if (!cpu_reads && (rc = where_issuer(pt, m, "issuer=gpu", "issuer=cpu with nic=soft", &c->at, why, len)))
		return rc;
	/* of a CPU alone: before what is missing here */
	if (cpu_reads && ((rc = where_place(pt, m, "dst_mem", PLACE_HOST, &c->at, &c->at.mem, why, len)) ||
			  (rc = where_place(pt, m, "flag_mem", PLACE_HOST, &c->at, &o->flag, why, len))))
		return rc;
	if (c->nic->on_gpu && (rc = where_far(pt, m, &c->at, why, len)))
		return rc;
	host = cpu_reads || !c->nic->on_gpu;
	home = host ? PLACE_HOST : c->at.issuer_gpu;
	if ((rc = where_place(pt, m, "dst_mem", home, &c->at, &c->at.mem, why, len)) ||
	    (rc = where_place(pt, m, "flag_mem", home, &c->at, &o->flag, why, len)) ||
	    (rc = where_host(pt, m, 0, &c->at, why, len)) ||
	    (rc = where_seats(pt, &c->at, c->nic->on_gpu ? c->at.far_gpu : -1, why, len)))
		return rc;
	o->payload = c->at.mem;
	o->reader = where_issuer_place(&c->at);
	o->writer = c->nic->on_gpu ? c->at.far_gpu : PLACE_HOST;
	c->ack = host ? PLACE_HOST : o->writer;
	return c->nic->on_gpu ? 0 : where_nic_cpu(pt, m, &c->at, &c->nic_cpu, why, len);
}

static int visible_resolve(const struct point *pt, const struct machine *m, struct visible_conf *c, char *why, size_t len)
{
	int rc;

	memset(c, 0, sizeof(*c));
	c->at.issuer_gpu = c->at.far_gpu = -1;
	c->nic = nics[fs_word(pt, "nic")];
	c->order.fence = fs_word(pt, "fence");
	c->order.acquire = fs_word(pt, "acquire");
	c->order.early = fs_word(pt, "early");
	c->loaded = fs_word(pt, "payload_load");
	c->warp = fs_is(pt, "sharing", "warp");
	c->words = (uint64_t)fs_num(pt, "size") / 8;
	c->stride = (uint64_t)fs_num(pt, "stride");
	c->messages = (uint64_t)number_or(pt, "messages", AUTO_MESSAGES);
	c->warmup = (uint64_t)number_or(pt, "warmup", WARMUP);
	if (c->nic->absent)
		return fs_refuse(ENODEV, why, len, "nic=%s: %s; legal here: soft", c->nic->name, c->nic->absent);
	if ((rc = visible_legal(pt, c, why, len)) || (rc = visible_places(pt, m, c, why, len)))
		return rc;
	c->order_class = visible_class(&c->order);
	return 0;
}

static int visible_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct visible_conf c;

	return visible_resolve(pt, m, &c, why, len);
}

/* ---- memory ---- */

/* The first page of `res` and of `far_` has what is one of a kind. */
enum { RES_PAIRS = 512, RES_SAMPLES = 4096 };
struct visible_mem { struct buf payload, flag, ack, res, far_; };

static void visible_term(struct visible_mem *m)
{
	place_free(&m->payload);
	place_free(&m->flag);
	place_free(&m->ack);
	place_free(&m->res);
	place_free(&m->far_);
}

static uint64_t timed_messages(const struct visible_conf *c)
{
	return c->messages < TIMED_MAX ? c->messages : TIMED_MAX;
}

static int visible_init(struct visible_mem *m, const struct visible_conf *c, struct visible_args *a)
{
	int rc;

	memset(a, 0, sizeof(*a));
	if ((rc = where_alloc(&m->payload, &c->at, c->order.payload, c->words * c->stride)) ||
	    (rc = where_alloc(&m->flag, &c->at, c->order.flag, 4096)) ||
	    (rc = place_alloc(&m->ack, c->ack, 4096, 4096, c->at.pinned)) ||
	    (rc = place_alloc(&m->res, c->order.reader, RES_SAMPLES + timed_messages(c) * 8, 4096, c->at.pinned)) ||
	    (rc = place_alloc(&m->far_, c->order.writer, 4096, 4096, c->at.pinned)))
		return rc;
	a->payload = m->payload.p;
	a->flag = m->flag.p;
	a->ack = m->ack.p;
	a->words = c->words;
	a->stride = c->stride;
	a->warmup = c->warmup;
	a->messages = c->messages;
	a->wait_ns = WAIT_NS;
	a->seed = SEED;
	a->settle = (uint32_t)c->at.pinned;
	a->gap_ticks = GAP_TICKS;
	a->early = (uint32_t)c->order.early;
	a->gettime = c->at.gettime;
	a->samples = (uint64_t *)(m->res.p + RES_SAMPLES);
	a->pairs = (struct clock_pair *)(m->res.p + RES_PAIRS);
	a->out = (struct visible_out *)m->res.p;
	a->far_ = (struct visible_far *)m->far_.p;
	return 0;
}

/* ---- both agents on CPUs ---- */

struct cpu_writer { struct visible_args a; int fence; };

static void cpu_write(struct service *me, void *arg)
{
	const struct cpu_writer *cw = arg;
	struct visible_writer w = { 0, cw->a.seed | 1 };
	const struct coop alone = { 0, 1 };

	while (!service_stopping(me)) {
		switch (cw->fence) {
#define X(NAME, word, help) case FENCE_##NAME: visible_write(&cw->a, &w, FENCE_##NAME, alone); break;
		FS_FENCES_BOTH(X)
		FS_FENCES_CPU(X)
#undef X
		}
	}
	visible_written(&cw->a, &w, 0);
}

#define FORM(acquire, form) static void read_##acquire##_##form(const struct visible_args *a) \
	{ visible_read(a, ACQUIRE_##acquire, LOADED_RELAXED, FORM_VISIBLE_##form); }
#define X(NAME, word, help) FORM(NAME, BARE) FORM(NAME, TIMED) FORM(NAME, EARLY)
FS_ACQUIRES(X)
#undef X
#undef FORM
static void (*const cpu_reads[ACQUIRES][VISIBLE_FORMS])(const struct visible_args *a) = {
#define X(NAME, word, help) { read_##NAME##_BARE, read_##NAME##_TIMED, read_##NAME##_EARLY },
	FS_ACQUIRES(X)
#undef X
};

/* ---- one pass: the writer starts, the reader runs, the writer stops ---- */

/* A message takes a few us, over PCIe some ten. */
static double pass_s(const struct visible_conf *c)
{
	return 60 + (double)(c->messages + c->warmup) * 30e-6;
}

static int visible_agents(const struct visible_conf *c, const struct visible_args *a, struct cpu_writer *cw, int form)
{
	int reader = c->at.issuer_gpu, acquire = c->order.acquire, rc = 0, rc2;
	struct service *s = NULL;

	cw->a = *a;
	cw->fence = c->order.fence;
	if (reader >= 0)
		rc = visible_gpu_load(acquire, c->loaded, form, reader);
	if (!rc)
		rc = c->nic->on_gpu ? visible_gpu_write(a, c->order.fence, c->warp, c->at.far_gpu, START_S) :
				      service_start(&s, "the writer", c->nic_cpu, cpu_write, cw, START_S);
	if (rc)
		return rc;
	if (reader >= 0)
		rc = visible_gpu_read(a, acquire, c->loaded, form, reader, pass_s(c));
	else
		cpu_reads[acquire][form](a);
	rc2 = c->nic->on_gpu ? visible_gpu_stop(c->at.far_gpu, START_S) : service_stop(s, START_S);
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}

static int visible_pass(const struct visible_mem *m, const struct visible_conf *c, const struct visible_args *args, int form,
			struct visible_out *o, struct visible_far *f)
{
	struct cpu_writer *cw = calloc(1, sizeof(*cw)); /* not freed while its thread may use it */
	struct visible_args a = *args;
	int rc;

	if (!cw)
		return fs_fail(ENOMEM, "no memory for the writer");
	if (form == FORM_VISIBLE_TIMED)
		a.messages = timed_messages(c);
	/* words of message 0, no flag, and nobody who reads yet */
	if (!(rc = place_set(&m->payload, 0)) && !(rc = place_set(&m->flag, 0)) && !(rc = place_set(&m->res, 0)) &&
	    !(rc = place_set(&m->far_, 0)) && !(rc = place_set(&m->ack, 0xff)))
		rc = visible_agents(c, &a, cw, form);
	if (rc != -EBUSY)
		free(cw);
	if (rc || (rc = place_read(&m->res, 0, o, sizeof(*o))) || (rc = place_read(&m->far_, 0, f, sizeof(*f))))
		return rc;
	return visible_verdict(&c->order, a.messages, o, WAIT_NS);
}

/* ---- rows ---- */

static int latency_row(const struct visible_mem *m, const struct visible_conf *c, int unsettled, struct rows *out)
{
	uint64_t n = timed_messages(c), *x = malloc(n * 8);
	double *ns = malloc(n * sizeof(*ns)), rate;
	struct clock_pair p[2];
	struct row *r;
	int rc = x && ns ? place_read(&m->res, RES_PAIRS, p, sizeof(p)) : fs_fail(ENOMEM, "no memory for samples");

	if (!rc && !(rc = place_read(&m->res, RES_SAMPLES, x, n * 8))) {
		rate = (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks);
		for (uint64_t i = 0; i < n; i++)
			ns[i] = (double)x[i] * rate;
		r = cross_row(out, "completion", link_name(c->order.reader, c->order.payload), "flag_to_payload", "ns");
		rc = r ? summary_of(ns, n, 128, &r->s) : -ENOMEM;
		if (r)
			snprintf(r->order_class, sizeof(r->order_class), "%s", c->order_class);
		if (r && unsettled)
			unsettled_flag(r);
	}
	free(x);
	free(ns);
	return rc;
}

static int visible_measure(const struct visible_mem *m, const struct visible_conf *c, const struct visible_args *a, struct rows *out)
{
	int early = c->order.early == EARLY_READER, rc;
	struct visible_out o, timed;
	struct visible_far f, also;

	if ((rc = visible_pass(m, c, a, early ? FORM_VISIBLE_EARLY : FORM_VISIBLE_BARE, &o, &f)) ||
	    (rc = visible_rows(&c->order, link_name(c->order.reader, c->order.payload), c->messages, &o, out)))
		return rc;
	if (c->at.issuer_gpu >= 0)
		rows_found(out, "issuer_smid", "%llu", (unsigned long long)o.smid);
	if (c->nic->on_gpu)
		rows_found(out, "nic_smid", "%llu", (unsigned long long)f.smid);
	rows_found(out, "order_class", "%s", c->order_class);
	if (early) /* what it has read was not behind the flag */
		return 0;
	if ((rc = visible_pass(m, c, a, FORM_VISIBLE_TIMED, &timed, &also)))
		return rc;
	rows_found(out, "timed_violations", "%llu", (unsigned long long)timed.violated);
	return latency_row(m, c, timed.unsettled != 0, out);
}

/* ---- the probe ---- */

static int visible_run(const struct point *pt, struct rows *out)
{
	struct visible_mem m;
	struct visible_conf c;
	struct visible_args a;
	char why[256];
	int rc = visible_resolve(pt, suite_machine(), &c, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	if ((rc = where_use(&c.at, out)))
		return rc;
	memset(&m, 0, sizeof(m));
	rc = visible_init(&m, &c, &a);
	if (!rc) {
		where_found(out, "dst_mem", &m.payload);
		where_found(out, "flag_mem", &m.flag);
		rc = visible_measure(&m, &c, &a, out);
	}
	if (rc != -EBUSY) /* else an agent would not stop and still uses it */
		visible_term(&m);
	return rc;
}

static double visible_patience(const struct point *pt)
{
	struct visible_conf c = { .messages = (uint64_t)number_or(pt, "messages", AUTO_MESSAGES),
				  .warmup = (uint64_t)number_or(pt, "warmup", WARMUP) };

	return 2 * (pass_s(&c) + 2 * START_S) + 20;
}

static const char *const visible_reads[] = {
	"nic", "issuer", "gpu", "nic_gpu", "fence", "acquire", "payload_load", "early", "sharing", "size", "stride", "dst_mem", "flag_mem",
	"messages", "warmup", "cpu", "nic_cpu", "sm", "nic_sm", NULL
};

const struct probe probe_visible = {
	.name = "visible",
	.help = "a flag behind its payload: how often who sees the flag finds an older payload, by what orders the two on either side and where they live",
	.reads = visible_reads,
	.check = visible_check,
	.run = visible_run,
	.patience_s = visible_patience,
};
