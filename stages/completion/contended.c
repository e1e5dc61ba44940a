/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `contended`: one message at a time while others post through the same NIC. One pass:
 * all agents begin together, the timed one ends it.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/completion/contended_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x2b7c91e5, PAGE = 4096 };

static void mem_term(struct cont_mem *m)
{
	rate_mem_term(&m->rate);
	place_free(&m->stamps);
	place_free(&m->words);
	place_free(&m->own);
	place_free(&m->phase);
	cont_trip_term(m);
}

/* With round trips one more queue's worth of payload slots than there are queues: the puts'. */
static struct rate_conf slots_of(const struct cont_conf *c)
{
	struct rate_conf r = c->rate;

	r.queues += c->choice.trip == TRIP_ROUND;
	return r;
}

static int mem_init(struct cont_mem *m, const struct cont_conf *c)
{
	int near_ = c->choice.device >= 0 ? c->choice.device : PLACE_HOST, pinned = c->rate.path.pinned, rc;
	struct rate_conf slots = slots_of(c);

	if ((rc = rate_mem_init(&m->rate, &slots)) ||
	    (rc = place_alloc(&m->stamps, near_, c->messages * CONT_STAMPS * 8, PAGE, pinned)) ||
	    (rc = place_alloc(&m->words, near_, CONT_COUNTS + (size_t)c->choice.agents * SHARE_LINE, PAGE, pinned)) ||
	    (rc = place_alloc(&m->own, near_, sizeof(struct cont_out), PAGE, pinned)) ||
	    (rc = cont_trip_init(m, c)) || (rc = cont_help_init(m, c)))
		return rc;
	if ((rc = rate_mem_reset(&m->rate, &c->rate)) || (rc = place_set(&m->words, 0)))
		return rc;
	return place_set(&m->own, 0);
}

static void args_fill(const struct cont_mem *m, const struct cont_conf *c, struct cont_args *a)
{
	memset(a, 0, sizeof(*a));
	rate_args_fill(&m->rate, &c->rate, &a->q);
	a->q.agents = c->senders;
	a->q.queues = c->queues;
	a->q.wait_ns = CONT_WAIT_NS;
	a->messages = c->messages;
	a->warmup = c->warmup;
	a->seed = SEED;
	a->pace_ns = c->pace_ns;
	a->settle = (uint32_t)(c->choice.device >= 0);
	a->gap_ticks = path_gap_ticks(&c->rate.path);
	a->stamps = (uint64_t *)m->stamps.p;
	a->words = m->words.p;
	a->own = (struct cont_out *)m->own.p;
}

static int verdict_of_agents(const struct cont_conf *c, const struct cont_got *g, uint64_t done)
{
	const struct rate_out *bad = NULL;
	char words[256], who[32] = "the timed one", workers[192];

	for (uint32_t i = 0; i < c->senders; i++)
		if (g->out[i].status != RATE_OK && (!bad || bad->status == RATE_GIVEN_UP))
			bad = &g->out[i];
	if (!bad)
		return 0;
	if (g->own.overdue)
		return fs_fail(ETIMEDOUT, "the pass was not over after %.0f s, at message %llu of %llu; legal: fewer messages or others",
			       0.8 * RATE_PASS_S, (unsigned long long)g->own.overdue - 1, (unsigned long long)(c->warmup + c->messages));
	if (bad != g->out)
		snprintf(who, sizeof(who), "one of the others, %d", (int)(bad - g->out));
	if (bad->status == RATE_CQE_ERROR)
		return fs_fail(EREMOTEIO, "%s: message %llu: CQE with syndrome 0x%02llx, vendor 0x%02llx%s", who, (unsigned long long)bad->at,
			       (unsigned long long)bad->syndrome, (unsigned long long)bad->vendor,
			       path_order_words(&c->rate.path, words, sizeof(words)));
	if (bad->status == RATE_TIMEOUT)
		return fs_fail(ETIMEDOUT, "%s: no completion of message %llu, or no %s, while nothing went on for %.0f s; the NIC has done %llu messages%s", who,
			       (unsigned long long)bad->at, c->rate.helpers ? "room for it" : "turn", CONT_WAIT_NS / 1e9, (unsigned long long)done,
			       cont_help_words(c, g, workers, sizeof(workers)));
	return fs_fail(EPROTO, "%s ended without a status", who);
}

int cont_verdict(const struct cont_conf *c, const struct cont_got *g)
{
	int safe = strcmp(c->rate.path.order_class, "unsafe"), rc;
	uint64_t posted = 0, done = 0, odd = 0, stale = 0;

	for (uint32_t i = 0; i < c->senders; i++)
		posted += g->out[i].messages;
	posted += g->trip[RTT_REPLY].sent;
	for (uint32_t i = 0; i < c->rate.workers; i++) {
		done += g->nic[i].wqes;
		odd += g->nic[i].odd_doorbells;
		stale += g->nic[i].stale_wqe;
	}
	if ((rc = rate_help_failed(&g->help, &c->rate)) || (rc = cont_trip_failed(c, g)) || (rc = verdict_of_agents(c, g, done)))
		return rc;
	if (done != posted)
		return fs_fail(EPROTO, "%llu messages were posted, and the NIC has done %llu", (unsigned long long)posted, (unsigned long long)done);
	if (odd && safe)
		return fs_fail(EBADMSG, "%llu doorbells that announce nothing: foreign, or out of range", (unsigned long long)odd);
	if (stale && safe)
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s", (unsigned long long)stale, c->rate.path.order_class);
	if (g->wrong && safe)
		return fs_fail(EBADMSG, "%llu wrong words at the end, in payloads", (unsigned long long)g->wrong);
	return cont_trip_verdict(c, g);
}

/* What stands at the targets, by what was posted into each queue. */
static int check_payloads(const struct cont_mem *m, const struct cont_conf *c, struct cont_got *g)
{
	uint64_t *posted = calloc(c->queues, sizeof(*posted));
	int64_t wrong;

	if (!posted)
		return fs_fail(ENOMEM, "no memory to check payloads");
	for (uint32_t i = 0; i < c->senders; i++)
		posted[i % c->queues] += g->out[i].messages;
	wrong = c->choice.trip == TRIP_ROUND ? cont_trip_wrong(m, c, posted) : rate_wrong_of(&m->rate, &c->rate, posted);
	free(posted);
	if (wrong < 0)
		return (int)wrong;
	g->wrong = (uint64_t)wrong;
	return 0;
}

static int run_pass(struct cont_mem *m, const struct cont_conf *c, struct cont_got *g)
{
	struct nic_many many;
	struct cont_trip_args h;
	struct rate_help *help;
	struct cont_hands x;
	struct nic_run *nic;
	int gpu = c->choice.device >= 0, rc, ends[2];

	args_fill(m, c, &h.a);
	cont_trip_fill(m, c, &h);
	cont_help_fill(m, c, &h, &x);
	rate_nic_fill(&c->rate, &many);
	rate_wide_fill(&m->rate, &c->rate, &many.wide);
	many.wide.fault_at = c->warmup + c->messages / 2; /* of the timed message's queue */
	if ((gpu && (rc = cont_gpu_load(c->choice))) || (rc = c->rate.path.nic->start_many(&many, &nic)))
		return rc;
	rc = cont_help_start(m, c, &help);
	rc = rc ? rc : gpu ? cont_gpu_run(&h, &x, c->choice, RATE_PASS_S) : cont_cpu_run(c, &h, &x, RATE_PASS_S);
	/* whoever takes messages ends behind whoever brings them */
	ends[0] = cont_help_stop(c, help, g);
	ends[1] = c->rate.path.nic->stop_many(nic, g->nic);
	for (int i = 0; i < 2; i++)
		rc = rc != -EBUSY && (ends[i] == -EBUSY || !rc) ? ends[i] : rc;
	if (rc || (rc = place_read(&m->rate.out, 0, g->out, c->choice.agents * sizeof(*g->out))) ||
	    (rc = place_read(&m->own, 0, &g->own, sizeof(g->own))) ||
	    (c->choice.trip == TRIP_ROUND && (rc = place_read(&m->trip.out, 0, g->trip, sizeof(g->trip)))) || (rc = check_payloads(m, c, g)))
		return rc;
	return cont_verdict(c, g);
}

static void found(const struct cont_mem *m, const struct cont_conf *c, const struct cont_got *g, struct rows *out)
{
	static const char *const objects[OBJECTS_PLACED] = { "-", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem", "keys_mem" };
	const struct path_conf *p = &c->rate.path;
	char name[32];

	for (int i = OBJ_QUEUE; i < OBJECTS_PLACED; i++)
		rows_found(out, objects[i], "%s", place_name(p->place[i], name, sizeof(name)));
	rows_found(out, "issuer", "%s", place_name(p->issuer_gpu, name, sizeof(name)));
	if (c->choice.device >= 0)
		rows_found(out, "issuer_smid", "%llu", (unsigned long long)g->out[0].smid);
	if (c->choice.device >= 0 && c->choice.trip == TRIP_ROUND)
		rows_found(out, "responder_smid", "%llu", (unsigned long long)g->out[c->senders].smid);
	cont_far_found(m, c, out);
	rows_found(out, "queues", "%u", c->rate.queues);
	rows_found(out, "nic_workers", "%u", c->rate.workers);
	for (uint32_t i = 0; i < c->rate.helpers; i++) {
		snprintf(name, sizeof(name), "worker_%u_cpu", i);
		rows_found(out, name, "%d", c->rate.helper_cpu[i]);
	}
	rows_found(out, "poll_ticks", "%llu", (unsigned long long)g->own.poll_ticks);
	rows_found(out, "order_class", "%s", p->order_class);
	rows_found(out, "cpu_stamps_with", "%s", p->gettime ? "clock_gettime" : "tsc");
}

static int cont_probe(const struct point *pt, struct rows *out)
{
	struct cont_got g;
	struct cont_conf c;
	struct cont_mem m;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	memset(&g, 0, sizeof(g));
	if ((rc = cont_resolve(pt, suite_machine(), &c, why, sizeof(why))))
		return fs_fail(-rc, "%s", why);
	c.rate.path.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	cuda_inject(INJECT_NONE); /* an earlier point of this process may have had something injected */
	if ((rc = pin_self(c.rate.path.cpu)) ||
	    (c.rate.path.pinned && ((rc = cuda_use(c.rate.path.issuer_gpu, c.rate.path.nic_gpu)) || (rc = cont_far_use(&c)))))
		return rc;
	if (!(g.out = calloc(c.choice.agents, sizeof(*g.out))))
		return fs_fail(ENOMEM, "no memory for agents");
	if (!(rc = mem_init(&m, &c)) && !(rc = run_pass(&m, &c, &g)) && !(rc = cont_rows(&m, &c, &g, out)))
		found(&m, &c, &g, out);
	if (rc != -EBUSY) /* else an agent or a worker would not stop and still uses it */
		mem_term(&m);
	free(g.out);
	return rc;
}

static int cont_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct cont_conf c;

	return cont_resolve(pt, m, &c, why, len);
}

static double cont_patience(const struct point *pt)
{
	/* workers, two at most, each to start and to stop */
	return 2 * RATE_PASS_S + 60 + (fs_is(pt, "submitter", "proxy") ? 80 : 0);
}

/* Messages with what stands between them, where nobody waits long; a GPU's were never timed. */
static double cont_guess(const struct point *pt)
{
	double messages = fs_is(pt, "messages", "auto") ? CONT_MESSAGES : (double)fs_num(pt, "messages");
	double warmup = fs_is(pt, "warmup", "auto") ? CONT_WARMUP : (double)fs_num(pt, "warmup");
	double each_ns = (fs_is(pt, "issuer", "cpu") ? 5000 : 15000) + (fs_is(pt, "submitter", "proxy") ? 5000 : 0);

	each_ns = each_ns * (fs_is(pt, "trip", "round") ? 2 : 1) + 1000 * (double)fs_num(pt, "others");

	return 0.05 + (messages + warmup) * each_ns * 1e-9;
}

const struct probe probe_contended = {
	.name = "contended",
	.help = "one message or round trip at a time while others post through the same NIC, into queues of their own or into its own",
	.reads = cont_reads,
	.check = cont_check,
	.run = cont_probe,
	.patience_s = cont_patience,
	.guess_s = cont_guess,
};
