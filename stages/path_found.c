/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader of a point has to know beside its figures: what the NIC saw that it should not have, flags, and what was
 * found out for run.json.
 */
#include "harness/err.h"
#include "stages/issuer/boundary.h"
#include "stages/path_parts.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A count of all messages. */
static int stale_row(const struct path_run *r, const char *metric, uint64_t count)
{
	struct row *row = path_row(r->out, r->c, "handoff", metric, "count");

	if (!row)
		return -ENOMEM;
	row->s.n = r->messages;
	row->s.mean = (double)count;
	return 0;
}

int path_stale_rows(const struct path_run *r)
{
	int rc;

	if (!r->c->nic->completes)
		return 0;
	rc = stale_row(r, "stale_wqe", r->stale_wqe);
	if (!rc && doorbell_is_flame(r->c->choice.mode))
		rc = stale_row(r, "from_queue", r->from_queue);
	if (!rc && r->c->recover_every)
		rc = stale_row(r, "stale_record", r->stale_record);
	return rc;
}

void unsettled_flag(struct row *r)
{
	row_flag(r, "unsettled", "the GPU's clock was still changing its rate when the warm-up had to end");
}

static void flag(struct rows *out, const char *code, const char *why)
{
	for (size_t i = 0; i < out->n; i++)
		if (!out->row[i].reason_code[0]) /* an empty cell says why it is empty */
			row_flag(&out->row[i], code, why);
}

static void crossing_flag(struct rows *out, const char *code, const char *why)
{
	for (size_t i = 0; i < out->n; i++)
		if (!strcmp(out->row[i].stage, stage_names[STAGE_CROSSING]))
			row_flag(&out->row[i], code, why);
}

void path_flags(const struct path_run *r)
{
	char why[320], words[256];

	if (r->stale_wqe || r->wrong || (r->stale_record && !strcmp(r->c->order_class, "unsafe"))) {
		snprintf(why, sizeof(why), "%llu stale WQE fetches, %llu stale records and %llu wrong payload words in %llu messages%s",
			 (unsigned long long)r->stale_wqe, (unsigned long long)r->stale_record,
			 (unsigned long long)r->wrong, (unsigned long long)r->messages, path_order_words(r->c, words, sizeof(words)));
		flag(r->out, "stale", why);
	}
	if (r->from_queue && !r->c->recover_every) { /* there it is asked for */
		snprintf(why, sizeof(why), "the NIC fetched %llu of %llu WQEs from the queue: they were not (all) in the doorbell's line",
			 (unsigned long long)r->from_queue, (unsigned long long)r->messages);
		flag(r->out, "from-queue", why);
	}
	if (r->c->crowded)
		flag(r->out, "crowded", "the helper shares its CPU with the NIC: they take turns");
	if (r->c->boundary == BOUNDARY_FUTEX && (double)r->asleep < ASLEEP_MIN * (double)r->launches)
		flag(r->out, "awake", AWAKE_WORDS);
	if (r->c->fault == FAULT_SLOW_NIC)
		flag(r->out, "fault", "fault=slow-nic: the NIC waits 100 us in every message of the second half");
	if (r->c->choice.mode == DBM_RING_RECORD_RING && r->c->metric == METRIC_LATENCY && r->c->nic->completes)
		crossing_flag(r->out, "early-ring", "the NIC may start at the first ring, before `rung`: this is a lower bound");
	if (r->c->recover_every && r->c->depth > 1 && r->c->nic->completes)
		crossing_flag(r->out, "early-record", "a record that is read may be ahead of its doorbell: this is a lower bound");
	for (size_t i = 0; r->unsettled && i < r->out->n; i++)
		unsettled_flag(&r->out->row[i]);
}

void path_found(const struct path_run *r)
{
	static const char *const objects[OBJECTS_PLACED] = { "-", "queue_mem", "db_mem", "cq_mem", "src_mem", "dst_mem", "keys_mem" };
	static const char *const kinds[POST_KINDS] = { "inline", "pointer", "pointer", "none", "inline" };
	static const char *const checks[] = { "auto", "each", "end", "none" };
	const struct path_conf *c = r->c;
	char name[32];

	/* what posting costs depends on it, and nothing else of the point shows it */
	if (!c->nic->completes)
		fs_note("nic=null: the doorbell lives in the memory of %s", place_name(c->place[OBJ_DB], name, sizeof(name)));
	for (int i = OBJ_QUEUE; i < OBJECTS_PLACED; i++)
		rows_found(r->out, objects[i], "%s", place_name(c->place[i], name, sizeof(name)));
	rows_found(r->out, "payload", "%s", kinds[c->choice.kind]);
	rows_found(r->out, "check", "%s", checks[c->check]);
	rows_found(r->out, "order_class", "%s", c->order_class);
	rows_found(r->out, "messages", "%llu", (unsigned long long)c->messages);
	rows_found(r->out, "slots", "%llu", (unsigned long long)c->slots);
	if (c->cache || c->mr_count > 1)
		rows_found(r->out, "translations", "%llu of a side", (unsigned long long)path_translations(c));
	rows_found(r->out, "block", "%u", r->mem.block);
	if (c->nic->completes && c->marks == MARKS_ALL && !route_helped(c->route) && (c->issuer_gpu >= 0) == (c->nic_gpu >= 0))
		rows_found(r->out, "hops", "%s", c->issuer_gpu != c->nic_gpu ? "their sum: two GPUs have two timers" :
			   c->issuer_gpu >= 0 ? "by the GPU's timer: means; one message's is up to a step of it off" : "by the clock of CPUs");
	rows_found(r->out, "issuer", "%s", place_name(c->issuer_gpu, name, sizeof(name)));
	if (c->nic->on_gpu)
		rows_found(r->out, "nic_gpu", "%d", c->nic_gpu);
	if (c->issuer_gpu >= 0)
		rows_found(r->out, "issuer_smid", "%llu", (unsigned long long)r->smid_issuer);
	if (c->nic_gpu >= 0)
		rows_found(r->out, "nic_smid", "%llu", (unsigned long long)r->smid_nic);
	rows_found(r->out, "cpu", "%d", c->cpu);
	if (c->nic->completes && !c->nic->on_gpu)
		rows_found(r->out, "nic_cpu", "%d", c->nic_cpu);
	if (route_helped(c->route)) {
		rows_found(r->out, "consumer", "%s", c->route.consumer == CONSUMER_CPU ? "cpu" : "gpu");
		rows_found(r->out, "helper_cpu", "%d", c->helper_cpu);
	}
	path_boundary_found(&r->mem, c, r->out);
	rows_found(r->out, "cpu_stamps_with", "%s", c->gettime ? "clock_gettime" : "tsc");
	rows_found(r->out, "poll_ticks", "%llu", (unsigned long long)r->polls_period);
	rows_found(r->out, "ci_reloads", "%llu", (unsigned long long)r->reloads);
	rows_found(r->out, "messages_done", "%llu", (unsigned long long)r->messages);
	rows_found(r->out, "steal_ticks", "%llu", (unsigned long long)r->steal);
	rows_found(r->out, "involuntary_switches", "%llu", (unsigned long long)r->involuntary);
}
