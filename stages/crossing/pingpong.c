/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `pingpong`: what stage 2 of the path has to agree with. Two flags,
 * placed where the path has its doorbell and its completion queue, between the
 * same agents, polled in the same way; no queue, no engine, no payload. As a
 * rate: 64-byte lines handed over and back, the ceiling of any queue between
 * these two places.
 */
#include "stages/crossing/pingpong.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "harness/service.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x5f1e57a6 };
#define WAIT_NS 2000000000ull
#define PATIENCE_S 60.0

static int pp_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct path_conf c;
	int rc = path_resolve(pt, m, &c, why, len);

	if (!rc && !c.nic->completes) {
		snprintf(why, len, "nic=null: nobody answers; legal: nic=soft or nic=peer");
		return -EINVAL;
	}
	if (!rc && c.metric == METRIC_RATE && c.messages < 1000) {
		snprintf(why, len, "messages=%llu: a rate of lines needs some; legal: messages=1000..", (unsigned long long)c.messages);
		return -EINVAL;
	}
	if (!rc && (fs_num(pt, "ahead") % 16 || (fs_num(pt, "ahead") && c.metric == METRIC_RATE)))
		return fs_refuse(EINVAL, why, len, "ahead=%lld with metric=%s: a payload goes before a flag in words of 16 bytes; legal: 0, or with metric=latency a multiple of 16",
				 (long long)fs_num(pt, "ahead"), c.metric == METRIC_RATE ? "rate" : "latency");
	return rc;
}

/* ---- the responder on a CPU ---- */

struct cpu_side { struct pingpong p; int form; struct service *service; };

static void pp_serve(struct service *me, void *arg)
{
	struct cpu_side *side = arg;
	const struct pingpong p = side->p;
	struct responder r = { .begin = clock_pair_read(p.gettime) };

	if (side->form == PP_LINES) {
		while (!service_stopping(me))
			if (!pp_answer_line(&p, &r))
				relax_cpu();
	} else {
		while (!service_stopping(me))
			if (!(side->form == PP_AHEAD ? pp_answer_flag(&p, &r, 1) : pp_answer_flag(&p, &r, 0)))
				relax_cpu();
	}
	p.out->wrong = r.wrong;
	p.out->begin = r.begin;
	p.out->end = clock_pair_read(p.gettime);
	p.out->span_ticks = r.span;
	p.out->spans = r.spans;
}

/* ---- memory ---- */

struct pp_mem { struct buf there, back, ahead_there, ahead_back, samples, pairs, out, far_out; };

static void pp_term(struct pp_mem *m)
{
	place_free(&m->there);
	place_free(&m->back);
	place_free(&m->ahead_there);
	place_free(&m->ahead_back);
	place_free(&m->samples);
	place_free(&m->pairs);
	place_free(&m->out);
	place_free(&m->far_out);
}

static int pp_init(struct pp_mem *m, const struct path_conf *c, uint32_t ahead, struct pingpong *issuer, struct pingpong *responder)
{
	int near_ = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST, rc;
	size_t bytes = ((size_t)1 << c->log_n) * PP_LINE;

	memset(m, 0, sizeof(*m));
	if ((rc = place_kept(&m->there, "doorbell", c->place[OBJ_DB], path_db_bytes(c), 4096, c->pinned)) ||
	    (rc = place_kept(&m->back, "cq", c->place[OBJ_CQ], bytes, 4096, c->pinned)) ||
	    (ahead && ((rc = place_alloc(&m->ahead_there, c->place[OBJ_DB], PP_AHEAD_MAX, 4096, c->pinned)) ||
		       (rc = place_alloc(&m->ahead_back, c->place[OBJ_CQ], PP_AHEAD_MAX, 4096, c->pinned)))) ||
	    (rc = place_alloc(&m->samples, near_, c->messages * 8, 4096, c->pinned)) ||
	    (rc = place_alloc(&m->pairs, near_, 2 * sizeof(struct clock_pair), 64, c->pinned)) ||
	    (rc = place_alloc(&m->out, near_, sizeof(struct pingpong_out), 64, c->pinned)) ||
	    (rc = place_alloc(&m->far_out, c->place[OBJ_KEYS], sizeof(struct pingpong_out), 64, c->pinned)))
		return rc;
	memset(issuer, 0, sizeof(*issuer));
	issuer->there = m->there.p;
	issuer->back = m->back.p;
	issuer->ahead_there = m->ahead_there.p;
	issuer->ahead_back = m->ahead_back.p;
	issuer->ahead = ahead;
	issuer->entries = 1ull << c->log_n;
	issuer->warmup = (c->warmup + 127) / 128 * 128;
	issuer->messages = c->messages;
	issuer->wait_ns = WAIT_NS;
	issuer->seed = SEED;
	issuer->depth = c->depth;
	issuer->batch = c->batch;
	issuer->settle = (uint32_t)c->pinned;
	issuer->gap_ticks = path_gap_ticks(c);
	issuer->gettime = c->gettime;
	issuer->samples = (uint64_t *)m->samples.p;
	issuer->pairs = (struct clock_pair *)m->pairs.p;
	issuer->out = (struct pingpong_out *)m->out.p;
	*responder = *issuer;
	responder->out = (struct pingpong_out *)m->far_out.p;
	return 0;
}

/* ---- rows ---- */

/* What came of one line: appends its n samples, in ns, and the same less the
 * responder's own time, as the path's crossing has no agent in it. */
struct pp_got { double *total, *crossing; uint64_t n, spans; double far_ns; int unsettled; struct pingpong_out near_out, far_out; };

static int pp_take(const struct pp_mem *m, const struct path_conf *c, uint64_t n, struct pp_got *g, struct rows *out)
{
	struct clock_pair p[2];
	double rate;
	uint64_t *x;
	int rc;

	if ((rc = place_read(&m->out, 0, &g->near_out, sizeof(g->near_out))) ||
	    (rc = place_read(&m->far_out, 0, &g->far_out, sizeof(g->far_out))) ||
	    (rc = place_read(&m->pairs, 0, p, sizeof(p))))
		return rc;
	if (g->near_out.status != ISSUE_OK)
		return fs_fail(ETIMEDOUT, "no answer to flag %llu in %.0f s", (unsigned long long)g->near_out.done + 1, WAIT_NS / 1e9);
	if (g->near_out.wrong || g->far_out.wrong)
		return fs_fail(EBADMSG, "%llu payloads had not arrived with their flags", (unsigned long long)(g->near_out.wrong + g->far_out.wrong));
	if (c->metric == METRIC_RATE) {
		struct row *r = path_row(out, c, "crossing", "rate", "Mmsg/s");

		if (!r)
			return -ENOMEM;
		summary_one(&r->s, (double)(c->messages - 1) * 1e3 / (double)(p[1].wall - p[0].wall));
		return 0;
	}
	if (!(x = malloc(n * sizeof(*x))))
		return fs_fail(ENOMEM, "no memory for samples");
	if ((rc = place_read(&m->samples, 0, x, n * sizeof(*x)))) {
		free(x);
		return rc;
	}
	rate = (double)(p[1].wall - p[0].wall) / (double)(p[1].ticks - p[0].ticks);
	g->far_ns = (double)(g->far_out.end.wall - g->far_out.begin.wall) /
		    (double)(g->far_out.end.ticks - g->far_out.begin.ticks) *
		    (double)g->far_out.span_ticks / (double)(g->far_out.spans ? g->far_out.spans : 1);
	g->spans += g->far_out.spans;
	g->unsettled |= g->near_out.unsettled != 0;
	for (uint64_t i = 0; i < n; i++) {
		g->total[g->n] = (double)x[i] * rate;
		g->crossing[g->n] = g->total[g->n] - g->far_ns;
		g->n++;
	}
	free(x);
	return 0;
}

static int pp_rows(const struct pp_got *g, const struct path_conf *c, struct rows *out)
{
	double far_ns = 0;
	struct row *r;
	int rc;

	if (c->metric == METRIC_RATE)
		return 0;
	for (uint64_t i = 0; i < g->n; i++)
		far_ns += (g->total[i] - g->crossing[i]) / (double)g->n;
	r = path_row(out, c, "total", "latency", "ns");
	if (!r || (rc = summary_of(g->total, g->n, 128, &r->s)))
		return r ? rc : -ENOMEM;
	r = path_row(out, c, "crossing", "latency", "ns");
	if (!r || (rc = summary_of(g->crossing, g->n, 128, &r->s)))
		return r ? rc : -ENOMEM;
	if (c->issuer_gpu >= 0)
		rows_found(out, "issuer_smid", "%llu", (unsigned long long)g->near_out.smid);
	if (c->nic_gpu >= 0)
		rows_found(out, "nic_smid", "%llu", (unsigned long long)g->far_out.smid);
	rows_found(out, "poll_ticks", "%llu", (unsigned long long)g->near_out.poll_ticks);
	r = path_row(out, c, "-", "responder", "ns");
	if (!r)
		return -ENOMEM;
	summary_one(&r->s, far_ns);
	r->s.n = g->spans;
	for (size_t i = 0; g->unsettled && i < out->n; i++)
		unsettled_flag(&out->row[i]);
	return 0;
}

/* ---- the probe ---- */

static int pp_measure(const struct path_conf *c, const struct pingpong *near_, const struct pingpong *far_)
{
	int form = c->metric == METRIC_RATE ? PP_LINES : near_->ahead ? PP_AHEAD : PP_FLAGS, rc, rc2 = 0;
	struct cpu_side *cpu = calloc(1, sizeof(*cpu)); /* not freed while its thread may use it */
	struct pingpong_gpu *gpu = NULL;

	if (!cpu)
		return fs_fail(ENOMEM, "no memory for the responder");
	cpu->p = *far_;
	cpu->form = form;
	rc = c->nic->on_gpu ? pingpong_gpu_respond(far_, form, c->nic_gpu, PATIENCE_S, &gpu) :
			      service_start(&cpu->service, "pingpong", c->nic_cpu, pp_serve, cpu, PATIENCE_S);
	if (rc)
		return rc;
	if (c->issuer_gpu >= 0)
		rc = pingpong_gpu_issue(near_, form, c->issuer_gpu, PATIENCE_S);
	else if (form == PP_LINES)
		pp_lines(near_);
	else if (form == PP_AHEAD)
		pp_flags(near_, 1);
	else
		pp_flags(near_, 0);
	rc2 = c->nic->on_gpu ? pingpong_gpu_stop(gpu, PATIENCE_S) : service_stop(cpu->service, PATIENCE_S);
	if (rc2 != -EBUSY)
		free(cpu);
	return rc2 == -EBUSY || !rc ? rc2 : rc;
}

static int pp_run(const struct point *pt, struct rows *out)
{
	struct pingpong near_, far_;
	struct path_conf c;
	struct pp_mem m;
	struct pp_got g;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	rc = path_resolve(pt, suite_machine(), &c, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	c.order_class = "-";
	if ((rc = pin_self(c.cpu)) || (rc = path_use(&c, out)))
		return rc;
	memset(&g, 0, sizeof(g));
	g.total = malloc(c.messages * sizeof(double));
	g.crossing = malloc(c.messages * sizeof(double));
	rc = g.total && g.crossing ? pp_init(&m, &c, (uint32_t)fs_num(pt, "ahead"), &near_, &far_) : fs_fail(ENOMEM, "no memory for samples");
	for (uint32_t k = 0; !rc && k < c.lines; k++) {
		near_.messages = far_.messages = path_line_share(&c, c.messages, k);
		near_.there = far_.there = m.there.p + (size_t)k * DB_STRIDE;
		/* the lines may have served before */
		if ((rc = place_set(&m.there, 0)) || (rc = place_set(&m.back, 0xff)) ||
		    (rc = place_set(&m.out, 0)) || (rc = place_set(&m.far_out, 0)) ||
		    (rc = pp_measure(&c, &near_, &far_)) || (rc = pp_take(&m, &c, near_.messages, &g, out)))
			break;
	}
	if (!rc)
		rc = pp_rows(&g, &c, out);
	if (rc != -EBUSY)
		pp_term(&m);
	free(g.total);
	free(g.crossing);
	return rc;
}

static double pp_patience(const struct point *pt)
{
	(void)pt;
	return 120;
}

static const char *const pp_reads[] = {
	"metric", "nic", "issuer", "gpu", "nic_gpu", "db_mem", "cq_mem", "depth", "batch", "entries",
	"lines", "ahead", "messages", "warmup", "cpu", "nic_cpu", "sm", "nic_sm", NULL
};

const struct probe probe_pingpong = {
	.name = "pingpong",
	.help = "flags there and back between the path's doorbell and its CQ, nothing else; as a rate: 64-byte lines handed over and back",
	.reads = pp_reads,
	.check = pp_check,
	.run = pp_run,
	.patience_s = pp_patience,
};
