/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `rtt`: a message to another agent and its reply back, on the issuer's clock.
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/completion/rtt_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x3f1e57a6 };
#define WAIT_NS 2000000000ull   /* of any one wait of an agent in which nothing comes */
#define PASS_S 100.0

/* What is known of a message whose reply didn't come. */
static const char *lost_words(const struct rtt_conf *c, const struct rtt_got *got, char *buf, size_t len)
{
	const struct rtt_out *o = got->o;
	char workers[192];

	snprintf(buf, len, "%s%s; the responder has seen %llu puts and %s %llu replies",
		 o[RTT_PUT].sent_done ? "its put is completed" : "the NIC has not completed its put",
		 rtt_help_words(c, &got->help, workers, sizeof(workers)), (unsigned long long)o[RTT_REPLY].seen,
		 c->rate.helpers ? "handed over" : "rung for", (unsigned long long)o[RTT_REPLY].sent);
	return buf;
}

static int agent_verdict(const struct rtt_conf *c, const struct rtt_got *got, int who)
{
	static const char *const sent[RTT_WAYS] = { "put", "reply" };
	const struct rtt_out *o = got->o;
	unsigned long long at = o[who].at;
	char words[640];

	if (o[who].status == RATE_CQE_ERROR)
		return fs_fail(EREMOTEIO, "%s %llu: CQE with syndrome 0x%02llx, vendor 0x%02llx%s", sent[who], at,
			       (unsigned long long)o[who].syndrome, (unsigned long long)o[who].vendor,
			       path_order_words(&c->rate.path, words, sizeof(words)));
	if (o[who].status != RATE_TIMEOUT)
		return fs_fail(EPROTO, "the %s ended without a status", who == RTT_PUT ? "issuer" : "responder");
	if (o[who].wait == RTT_AT_CQE)
		return fs_fail(ETIMEDOUT, "%s %llu: no completion in %.0f s%s", sent[who], at, WAIT_NS / 1e9, rtt_help_words(c, &got->help, words, sizeof(words)));
	if (who == RTT_REPLY)
		return fs_fail(ETIMEDOUT, "message %llu: the responder saw none, and nobody said that there is none", at);
	if (o[who].wait == RTT_AT_READY)
		return fs_fail(ETIMEDOUT, "message %llu: the responder was not ready for it in %.0f s", at, WAIT_NS / 1e9);
	return fs_fail(ETIMEDOUT, "message %llu: no reply in %.0f s; %s", at, WAIT_NS / 1e9, lost_words(c, got, words, sizeof(words)));
}

int rtt_verdict(const struct rtt_conf *c, const struct rtt_got *got)
{
	int safe = strcmp(c->rate.path.order_class, "unsafe"), ok[RTT_WAYS], rc;
	uint64_t stale = 0, odd = 0, wqes = 0;
	const struct rtt_out *o = got->o;

	if ((rc = rate_help_failed(&got->help, &c->rate)))
		return rc;
	for (int w = 0; w < RTT_WAYS; w++)
		ok[w] = o[w].status == RATE_OK;
	/* who has given up says nothing of why */
	if (!ok[RTT_REPLY] && o[RTT_REPLY].status != RATE_GIVEN_UP)
		return agent_verdict(c, got, RTT_REPLY);
	if (!ok[RTT_PUT])
		return agent_verdict(c, got, RTT_PUT);
	if (!ok[RTT_REPLY])
		return agent_verdict(c, got, RTT_REPLY);
	for (uint32_t i = 0; i < c->rate.workers; i++) {
		stale += got->nic[i].stale_wqe;
		odd += got->nic[i].odd_doorbells;
		wqes += got->nic[i].wqes;
	}
	if (wqes != o[RTT_PUT].sent + o[RTT_REPLY].sent || o[RTT_PUT].sent != o[RTT_REPLY].sent)
		return fs_fail(EPROTO, "%llu puts and %llu replies were posted, and the NIC has done %llu messages",
			       (unsigned long long)o[RTT_PUT].sent, (unsigned long long)o[RTT_REPLY].sent, (unsigned long long)wqes);
	if (odd && safe)
		return fs_fail(EBADMSG, "%llu doorbells that announce nothing: foreign, or out of range", (unsigned long long)odd);
	if (stale && safe)
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s", (unsigned long long)stale, c->rate.path.order_class);
	for (int w = 0; w < RTT_WAYS; w++)
		if (o[w].wrong_words && safe)
			return fs_fail(EBADMSG, "%llu wrong payload words behind the last one, first in %s %llu, in a point whose order is %s",
				       (unsigned long long)o[w].wrong_words, w == RTT_PUT ? "reply" : "put",
				       (unsigned long long)o[w].wrong_message, c->rate.path.order_class);
	return 0;
}

/* One that nobody polls on, if there is one; else the NIC's, which has nothing to do while the responder has. */
static int pick_cpu(const struct rtt_conf *c, const struct nic_many *many)
{
	uint32_t threads = c->rate.path.nic->on_gpu ? 0 : c->rate.workers;

	for (int k = 0; k < pin_cpus(); k++) {
		int cpu = pin_cpu(k), taken = cpu == c->rate.path.cpu;

		for (uint32_t i = 0; i < threads; i++)
			taken |= many->cpus[i] == cpu;
		for (uint32_t i = 0; i < c->rate.helpers; i++)
			taken |= c->rate.helper_cpu[i] == cpu;
		if (!taken)
			return cpu;
	}
	return threads ? many->cpus[0] : c->rate.path.cpu;
}

/* NIC, workers, agents, and back. -EBUSY: somebody would not end. */
static int run_all(const struct rtt_mem *m, const struct rtt_conf *c, const struct nic_many *many, const struct rtt_hand_args *h,
		   struct rtt_got *got)
{
	int gpu = c->choice.issuer >= 0, ends[2], rc;
	struct rate_help *help;
	struct nic_run *nic;

	/* a kernel is there before a NIC is resident */
	if ((gpu && (rc = rtt_gpu_load(c->choice))) || (rc = c->rate.path.nic->start_many(many, &nic)))
		return rc;
	rc = rtt_help_start(m, c, &h->r, &help);
	rc = rc ? rc : gpu ? rtt_gpu_run(h, c->choice, PASS_S) : rtt_cpu_run(c, h, PASS_S);
	/* whoever takes messages ends behind whoever brings them */
	ends[0] = rate_help_stop(help, &got->help);
	ends[1] = c->rate.path.nic->stop_many(nic, got->nic);
	for (int i = 0; i < 2; i++)
		rc = rc != -EBUSY && (ends[i] == -EBUSY || !rc) ? ends[i] : rc;
	return rc;
}

int rtt_pass(struct rtt_mem *m, const struct rtt_conf *conf, struct rtt_got *got)
{
	struct rtt_conf c = *conf;
	struct rtt_hand_args h;
	struct nic_many many;
	int rc;

	memset(&h, 0, sizeof(h));
	rtt_args_fill(m, &c, &h.r);
	h.r.seed = SEED;
	for (int w = 0; w < RTT_WAYS; w++)
		h.r.way[w].wait_ns = WAIT_NS;
	rtt_hand_fill(m, &c, &h);
	rate_nic_fill(&c.rate, &many);
	rtt_wide_fill(m, &c, &many.wide);
	c.responder_cpu = pick_cpu(&c, &many);
	if ((rc = run_all(m, &c, &many, &h, got)) || (rc = place_read(&m->out, 0, got->o, sizeof(got->o))) || (rc = rtt_verdict(&c, got)))
		return rc;
	rtt_help_take(&c, &got->help);
	return 0;
}

static void found(const struct rtt_conf *c, const struct rtt_out *o, struct rows *out)
{
	static const char *const objects[OBJECTS_PLACED] = { "-", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem", "keys_mem" };
	static const char *const agents[RTT_WAYS] = { "issuer", "responder" };
	char name[32], far_[32], key[32];

	for (int i = OBJ_QUEUE; i < OBJECTS_PLACED; i++)
		rows_found(out, objects[i], "%s; the reply's %s", place_name(c->way[RTT_PUT].path.place[i], name, sizeof(name)),
			   place_name(c->way[RTT_REPLY].path.place[i], far_, sizeof(far_)));
	for (int w = 0; w < RTT_WAYS; w++) {
		rows_found(out, agents[w], "%s", place_name(w == RTT_PUT ? c->choice.issuer : c->choice.responder, name, sizeof(name)));
		snprintf(key, sizeof(key), "%s_smid", agents[w]);
		if (c->choice.issuer >= 0)
			rows_found(out, key, "%llu", (unsigned long long)o[w].smid);
	}
	rows_found(out, "poll_ticks", "%llu", (unsigned long long)o[RTT_PUT].poll_ticks);
	rows_found(out, "nic_workers", "%u", c->rate.workers);
	for (uint32_t i = 0; i < c->rate.helpers; i++) {
		snprintf(key, sizeof(key), "worker_%u_cpu", i);
		rows_found(out, key, "%d", c->rate.helper_cpu[i]);
	}
	rows_found(out, "order_class", "%s", c->rate.path.order_class);
}

static int rtt_probe(const struct point *pt, struct rows *out)
{
	struct rtt_got got;
	struct rtt_conf c;
	struct rtt_mem m;
	char why[256];
	int rc;

	memset(&m, 0, sizeof(m));
	memset(&got, 0, sizeof(got));
	if ((rc = rtt_resolve(pt, suite_machine(), &c, why, sizeof(why))))
		return fs_fail(-rc, "%s", why);
	rtt_clock(&c, suite_cpu_clock()->kind == CPU_CLOCK_GETTIME);
	if ((rc = pin_self(c.rate.path.cpu)) || (c.rate.path.pinned && (rc = cuda_use(c.rate.path.issuer_gpu, c.rate.path.nic_gpu))))
		return rc;
	if (!(rc = rtt_mem_init(&m, &c)) && !(rc = rtt_pass(&m, &c, &got)) && !(rc = rtt_rows(&m, &c, &got, out)))
		found(&c, got.o, out);
	if (rc != -EBUSY) /* else an agent or a worker would not stop and still uses it */
		rtt_mem_term(&m);
	return rc;
}

static int rtt_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct rtt_conf c;

	return rtt_resolve(pt, m, &c, why, len);
}

static double rtt_patience(const struct point *pt)
{
	/* two workers, each to start and to stop */
	return 2 * PASS_S + 60 + (fs_is(pt, "submitter", "proxy") ? 80 : 0);
}

/* Round trips with what stands between them, on CPUs that are free; those of GPUs were never timed. */
static double rtt_guess(const struct point *pt)
{
	double messages = fs_is(pt, "messages", "auto") ? RTT_MESSAGES : (double)fs_num(pt, "messages");
	double warmup = fs_is(pt, "warmup", "auto") ? RTT_WARMUP : (double)fs_num(pt, "warmup");
	double each_ns = fs_is(pt, "issuer", "cpu") ? 10000 : 25000;

	each_ns += fs_is(pt, "submitter", "proxy") ? 10000 : 0;
	return 0.05 + (messages + warmup) * (each_ns + (double)fs_num(pt, "respond_ns") / 2) * 1e-9;
}

const struct probe probe_rtt = {
	.name = "rtt",
	.help = "a message into another agent's memory and its reply back, each seen by its last word",
	.reads = rtt_reads,
	.check = rtt_check,
	.run = rtt_probe,
	.patience_s = rtt_patience,
	.guess_s = rtt_guess,
};
