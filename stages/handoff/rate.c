/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `rate`: messages a second with many under way, by how queues are shared.
 * A pass starts the NIC's workers, runs all agents, stops the workers and looks at
 * what they left. Bare passes give the rate; others sum spans, which have to explain
 * it: agents over the time that each spends on a message.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/handoff/rate_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char with_spans[RATE_PASSES] = { 0, 1, 0, 1, 0, 0, 0 };
#define WAIT_NS 2000000000ull   /* of any one wait of an agent in which nothing goes on */
#define START_S 20.0            /* for a NIC to become ready, or to stop */
#define SHORT_PASS 8192u        /* messages: a millisecond or so behind a worker, */
#define SHORT_TURNS 64u         /* as this many kernels one after another are */

/* ---- a pass ---- */

/* How far the others were when an agent's wait ran out. */
static const char *wait_words(const struct rate_got *g, const struct rate_conf *c, uint32_t agent, char *buf, size_t len)
{
	uint64_t wqes = 0, cqes = 0;
	char worker[192];

	for (uint32_t i = 0; i < c->workers; i++) {
		wqes += g->nic[i].wqes;
		cqes += g->nic[i].cqes;
	}
	snprintf(buf, len, "%sthe NIC has done %llu messages and written %llu CQEs",
		 rate_help_words(&g->help, c, agent % c->queues, worker, sizeof(worker)), (unsigned long long)wqes, (unsigned long long)cqes);
	return buf;
}

/* An agent's own bad end. */
static int agent_verdict(const struct rate_got *g, const struct rate_conf *c)
{
	const struct rate_out *bad = NULL;
	char words[384];

	for (uint32_t i = 0; i < c->agents; i++)
		if (g->out[i].status != RATE_OK && (!bad || bad->status == RATE_GIVEN_UP))
			bad = &g->out[i];
	if (!bad)
		return 0;
	if (rate_ending(c))
		return fs_fail(ETIMEDOUT, "no kernel was launched behind message %llu in %.0f s; %s", (unsigned long long)g->help.st[0].done, WAIT_NS / 1e9,
			       wait_words(g, c, 0, words, sizeof(words)));
	if (bad->status == RATE_CQE_ERROR)
		return fs_fail(EREMOTEIO, "agent %d: message %llu: CQE with syndrome 0x%02llx, vendor 0x%02llx%s", (int)(bad - g->out),
			       (unsigned long long)bad->at, (unsigned long long)bad->syndrome, (unsigned long long)bad->vendor,
			       path_order_words(&c->path, words, sizeof(words)));
	if (bad->status == RATE_TIMEOUT)
		return fs_fail(ETIMEDOUT, "agent %d: no completion of message %llu, or no %s, in %.0f s; %s", (int)(bad - g->out),
			       (unsigned long long)bad->at, c->helpers ? "room for it" : "turn", WAIT_NS / 1e9,
			       wait_words(g, c, (uint32_t)(bad - g->out), words, sizeof(words)));
	return fs_fail(EPROTO, "agent %d ended without a status", (int)(bad - g->out));
}

/* How agents and workers ended. */
static int verdict(const struct rate_got *g, const struct rate_conf *c)
{
	uint64_t wqes = 0, odd = 0, stale = 0;
	int safe = strcmp(c->path.order_class, "unsafe"), rc;
	char words[384];

	if ((rc = rate_help_verdict(&g->help, c)) || (rc = agent_verdict(g, c)))
		return rc;
	for (uint32_t i = 0; i < c->workers; i++) {
		wqes += g->nic[i].wqes;
		odd += g->nic[i].odd_doorbells;
		stale += g->nic[i].stale_wqe;
	}
	if (c->path.nic->completes && wqes != c->warmup + c->messages)
		return fs_fail(EPROTO, "%llu messages were posted, and %s", (unsigned long long)(c->warmup + c->messages),
			       wait_words(g, c, 0, words, sizeof(words)));
	if (odd && safe)
		return fs_fail(EBADMSG, "%llu doorbells that announce nothing: foreign, or out of range", (unsigned long long)odd);
	if (stale && safe)
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s", (unsigned long long)stale, c->path.order_class);
	return 0;
}

void rate_nic_fill(const struct rate_conf *c, struct nic_many *many)
{
	int n = pin_cpus();

	memset(many, 0, sizeof(*many));
	many->gpu = c->path.nic_gpu;
	many->gettime = c->path.gettime;
	many->crowded = c->crowded;
	for (uint32_t i = 0; i < c->workers; i++) {
		int k = 0;

		while (k < n && pin_cpu(k) != c->path.nic_cpu)
			k++;
		many->cpus[i] = pin_cpu((k + (int)i) % n);
	}
	many->start_s = many->stop_s = START_S;
}

static int start_nic(const struct rate_mem *m, const struct rate_conf *c, struct nic_run **nic)
{
	struct nic_many many;

	*nic = NULL;
	if (!c->workers)
		return 0;
	rate_nic_fill(c, &many);
	rate_wide_fill(m, c, &many.wide);
	return c->path.nic->start_many(&many, nic);
}

/* The agents' part of a pass: on the GPU or on CPUs, posting or handing over. */
static int run_agents(const struct rate_mem *m, const struct rate_conf *c, int spans)
{
	unsigned beside = c->path.nic->on_gpu && c->path.nic_gpu == c->path.issuer_gpu ? c->workers : 0;
	int ord = c->path.choice.ord, kind = c->path.choice.kind, dev = c->path.issuer_gpu;
	struct hand_args h;
	struct rate_args a;

	if (rate_ending(c)) {
		rate_ends_run(m, c, spans, WAIT_NS);
		return 0;
	}
	if (c->helpers) {
		int instr = c->fault == FAULT_RING_OVERRUN ? HAND_FAULTY : spans ? HAND_SPANS : HAND_BARE;

		rate_hand_fill(m, c, &h);
		h.r.wait_ns = WAIT_NS;
		return dev >= 0 ? hand_gpu_run(&h, c->path.form, instr, c->blocks, c->threads, beside, dev, RATE_PASS_S) :
				  rate_cpu_hand(c, &h, instr);
	}
	rate_args_fill(m, c, &a);
	a.wait_ns = WAIT_NS;
	return dev >= 0 ? rate_gpu_run(&a, ord, c->form, kind, spans, c->blocks, c->threads, beside, dev, RATE_PASS_S) :
			  rate_cpu_run(c, &a, spans);
}

/* Kernels are there before a NIC is resident. */
static int load_agents(const struct rate_mem *m, const struct rate_conf *c, int spans)
{
	int dev = c->path.issuer_gpu;

	if (rate_ending(c))
		return rate_ends_open(m, c, spans);
	if (dev < 0)
		return 0;
	if (c->helpers)
		return hand_gpu_load(c->path.form, c->fault == FAULT_RING_OVERRUN ? HAND_FAULTY : spans ? HAND_SPANS : HAND_BARE, dev);
	return rate_gpu_load(c->path.choice.ord, c->form, c->path.choice.kind, spans, dev);
}

/* NIC, workers, agents, and back; what each gave. -EBUSY: somebody would not end. */
static int run_all(const struct rate_mem *m, const struct rate_conf *c, struct rate_got *g, int spans)
{
	struct rate_help *help = NULL;
	struct nic_run *nic;
	int rc, ends[3] = { 0, 0, 0 };

	memset(g->nic, 0, sizeof(g->nic));
	if ((rc = load_agents(m, c, spans)) || (rc = start_nic(m, c, &nic))) {
		rate_ends_close(m, c);
		return rc;
	}
	rc = rate_help_start(m, c, &help);
	rc = rc ? rc : run_agents(m, c, spans);
	/* whoever takes messages ends behind whoever brings them */
	ends[0] = rate_help_stop(help, &g->help);
	ends[1] = rate_ends_stop(m, c, g->help.st);
	if (nic)
		ends[2] = c->path.nic->stop_many(nic, g->nic);
	for (int i = 0; i < 3; i++)
		rc = ends[i] == -EBUSY || !rc ? (rc == -EBUSY ? rc : ends[i]) : rc;
	if (rc != -EBUSY) /* else somebody still uses what it destroys */
		rate_ends_close(m, c);
	return rc;
}

/* CPUs whose threads post for the agents or are the NIC: different ones, the first worker's first. */
static int state_cpus(const struct rate_conf *c, int cpus[STATE_CPUS_MAX])
{
	struct nic_many many;
	int n = 0, k;

	rate_nic_fill(c, &many);
	for (uint32_t i = 0; i < c->helpers + (c->path.nic->on_gpu ? 0 : c->workers); i++) {
		int cpu = i < c->helpers ? c->helper_cpu[i] : many.cpus[i - c->helpers];

		for (k = 0; k < n && cpus[k] != cpu; k++)
			;
		if (k == n)
			cpus[n++] = cpu;
	}
	return n;
}

static int run_pass(struct rate_mem *m, const struct rate_conf *c, struct rate_got *g, int spans)
{
	int64_t wrong;
	int rc;

	if ((rc = rate_mem_reset(m, c)) || (rc = run_all(m, c, g, spans)) ||
	    (rc = place_read(&m->out, 0, g->out, c->agents * sizeof(*g->out))) || (rc = verdict(g, c)))
		return rc;
	if ((wrong = rate_wrong(m, c)) < 0)
		return (int)wrong;
	if (wrong && strcmp(c->path.order_class, "unsafe"))
		return fs_fail(EBADMSG, "%lld wrong words at the end, in %s", (long long)wrong,
			       c->path.nic->completes ? "payloads" : "rings, records and doorbells");
	g->found_wrong = (uint64_t)wrong;
	return 0;
}

/* ---- what came of it ---- */

static double span_of(const struct rate_out *o) { return (double)(o->end.wall - o->begin.wall); }

/* Adds a pass that went well. */
static int take_pass(const struct rate_conf *c, struct rate_got *g, int spans)
{
	uint64_t first = UINT64_MAX, last = 0;
	double own = 0, all, per = 0;

	for (uint32_t i = 0; i < c->agents; i++) {
		const struct rate_out *o = &g->out[i];

		first = o->begin.wall < first ? o->begin.wall : first;
		last = o->end.wall > last ? o->end.wall : last;
		own += span_of(o);
	}
	if (last <= first)
		return fs_fail(ERANGE, "%llu messages took no time by the agents' clock; legal: more messages", (unsigned long long)c->messages);
	all = (double)(last - first);
	g->together = fmin(g->together, own / all / c->agents);
	g->messages += c->warmup + c->messages;
	g->wrong += g->found_wrong;
	for (uint32_t i = 0; i < c->workers; i++)
		g->stale += g->nic[i].stale_wqe;
	if (!spans) {
		g->bare[g->nbare++] = (double)c->messages * 1e3 / all;
		for (uint32_t i = 0; i < c->agents; i++)
			g->queue[c->form == FORM_BLOCK ? i / c->threads : i % c->queues] += (double)g->out[i].messages * 1e3 / span_of(&g->out[i]);
		for (uint32_t i = 0; i < c->workers; i++)
			g->busy[i] += g->nic[i].all ? (double)g->nic[i].busy / (double)g->nic[i].all : 0;
		rate_help_take(c, &g->help);
		return 0;
	}
	g->marked[g->nmarked] = (double)c->messages * 1e3 / all;
	for (uint32_t i = 0; i < c->agents; i++) {
		const struct rate_out *o = &g->out[i];
		double rate = span_of(o) / (double)(o->end.ticks - o->begin.ticks), ns = 0;

		for (int k = 0; k < RATE_SPANS; k++) {
			g->span_ns[k] += (double)o->ticks[k] * rate;
			ns += (double)o->ticks[k] * rate;
		}
		g->turns += (double)o->turns;
		per += ns > 0 ? (double)o->messages / ns : 0; /* with a lock some never had their turn */
	}
	g->explained[g->nmarked++] = per * 1e3;
	return 0;
}

/* The same point with so few messages that CPUs which idled stay what they are. */
static struct rate_conf in_short(const struct rate_conf *c)
{
	uint64_t signal = 1ull << c->log_signal, unit = (signal > c->path.batch ? signal : c->path.batch) * c->agents;
	struct rate_conf few = *c;

	few.messages = rate_ending(c) ? SHORT_TURNS * unit : unit < SHORT_PASS ? SHORT_PASS / unit * unit : unit;
	if (few.messages > c->messages)
		few.messages = c->messages;
	few.warmup = 0;
	return few;
}

/* A pass behind a state of the CPUs. A GPU that waited for it has let its clock fall: a short pass before, which doesn't count. */
static int run_in_state(struct rate_mem *m, const struct rate_conf *c, struct rate_got *g, int spans)
{
	int cpus[STATE_CPUS_MAX], n = state_cpus(c, cpus), rc;
	struct rate_conf few = in_short(c);
	struct state_made made;

	rc = cpus_state(c->path.cpu_state, c->path.cpu_state_ms, cpus, n, &made);
	if (!rc && c->path.cpu_state != CPU_AS_IS && c->path.pinned)
		rc = run_pass(m, &few, g, spans);
	if (!rc && n)
		freq_read(c->path.sys_cpu, cpus[0], &g->before);
	rc = rc ? rc : run_pass(m, c, g, spans);
	if (!rc && n)
		freq_read(c->path.sys_cpu, cpus[0], &g->after);
	return rc;
}

static int measure(struct rate_mem *m, const struct rate_conf *c, struct rate_got *g, struct rows *out)
{
	int rc = 0;

	g->out = calloc(c->agents, sizeof(*g->out));
	g->queue = calloc(c->queues, sizeof(*g->queue));
	g->busy = calloc(WIDE_WORKERS_MAX, sizeof(*g->busy));
	g->together = 1;
	if (!g->out || !g->queue || !g->busy)
		return fs_fail(ENOMEM, "no memory for agents");
	rc = rate_mem_init(m, c);
	for (int i = 0; !rc && i < RATE_PASSES; i++) {
		if (with_spans[i] && !c->spans)
			continue;
		rc = run_in_state(m, c, g, with_spans[i]);
		rc = rc ? rc : take_pass(c, g, with_spans[i]);
	}
	return rc ? rc : rate_rows(c, g, out);
}

static int rate_probe(const struct point *pt, struct rows *out)
{
	struct rate_got g;
	struct rate_conf c;
	struct rate_mem m;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	memset(&g, 0, sizeof(g));
	rc = rate_resolve(pt, suite_machine(), &c, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.path.cpu)))
		return rc;
	cuda_inject(c.fault == FAULT_GPU_MEMORY ? INJECT_MEMORY : c.fault == FAULT_GPU_STICKY ? INJECT_STICKY :
		    c.fault == FAULT_GPU_LOST ? INJECT_LOST : INJECT_NONE);
	if (c.path.pinned && (rc = cuda_use(c.path.issuer_gpu, c.path.nic_gpu)))
		return rc;
	rc = measure(&m, &c, &g, out);
	rate_found(&c, &g, out);
	if (rc != -EBUSY) /* else an agent or a worker would not stop and still uses it */
		rate_mem_term(&m);
	free(g.out);
	free(g.queue);
	free(g.busy);
	return rc;
}

static int rate_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct rate_conf c;

	return rate_resolve(pt, m, &c, why, len);
}

static double rate_patience(const struct point *pt)
{
	double ms = fs_is(pt, "cpu_state_ms", "auto") ? CPU_STATE_MS : (double)fs_num(pt, "cpu_state_ms");

	/* NIC and workers, each to start and to stop */
	return RATE_PASSES * (RATE_PASS_S + 4 * START_S + (fs_is(pt, "cpu_state", "as-is") ? 0 : RATE_PASS_S + 4 * START_S + ms * 1e-3));
}

const struct probe probe_rate = {
	.name = "rate",
	.help = "messages a second with many under way: threads, blocks and queues, how they share them, and what a turn's spans explain of it",
	.reads = rate_reads,
	.check = rate_check,
	.run = rate_probe,
	.patience_s = rate_patience,
};
