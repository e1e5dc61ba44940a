/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `path`: one message through every mark, or messages a second. A
 * point is a handful of passes over one queue:
 *   - one that lets the clock's rate settle;
 *   - latency with marks: half of the bare messages, the marked ones, the other
 *     half, so that what looking costs is measured beside what is looked at;
 *   - a plant: one pass, in which blocks with the wait and without it alternate;
 *   - a rate: one bare pass (or a marked one, which then drains between blocks).
 */
#include "harness/err.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/issuer/boundary.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x5f1e57a6 };

struct path_run {
	const struct path_conf *c;
	struct path_mem mem;
	struct rows *out;
	uint64_t stale_wqe, stale_record, from_queue, wrong, messages, reloads, polls_period;
	uint64_t steal, involuntary;
	int unsettled, settling;
	uint64_t smid_issuer, smid_nic;
	uint64_t launches, asleep; /* of measured messages: of threads in a kernel's place, and those that slept */
	uint64_t looked_in, lookups, hits; /* of bare passes: messages, and what the NIC counted */
};

static int path_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct path_conf c;

	return path_resolve(pt, m, &c, why, len);
}

static double path_patience(const struct point *pt)
{
	/* before each pass of a point: three for each line */
	double ms = fs_is(pt, "cpu_state_ms", "auto") ? CPU_STATE_MS : (double)fs_num(pt, "cpu_state_ms");

	return 120 + (fs_is(pt, "cpu_state", "as-is") ? 0 : 3 * (double)fs_num(pt, "lines") * ms * 1e-3);
}

/* The code that a point's marks ask for. */
static int instr_of(const struct path_conf *c)
{
	if (c->marks == MARKS_OUTER)
		return BARE;
	return c->marks == MARKS_ROTATE || c->fault || c->plant[0] >= 0 || c->plant[1] >= 0 ? FLEX : ALL;
}

static void pass_init(struct pass *p, const struct path_conf *c, int instr, uint64_t messages)
{
	const struct interval *t;
	int n = interval_table(c->route, &t);

	memset(p, 0, sizeof(*p));
	p->instr = instr;
	p->rate = c->metric == METRIC_RATE;
	p->record = !p->rate || instr != BARE;
	p->messages = messages;
	p->warmup = c->warmup;
	p->seed = SEED;
	if (instr == BARE) {
		p->all = 1u << MARK_INTENT | 1u << MARK_NOTICED;
		return;
	}
	for (int i = 0; i < n; i++)
		p->all |= 1u << t[i].from | 1u << t[i].to;
	p->rotate = c->marks == MARKS_ROTATE;
}

static int settle(struct path_run *r);

/* The state of the CPUs before a pass. A GPU that waited for it has let its clock fall, so that it settles
 * anew between the state and the pass. */
static int take_state(struct path_run *r)
{
	uint64_t looked_in = r->looked_in, lookups = r->lookups, hits = r->hits;
	struct state_made made;
	int rc;

	if (r->settling)
		return 0;
	rc = path_state(r->c, &made);
	if (rc || r->c->cpu_state == CPU_AS_IS || !r->c->pinned)
		return rc;
	rc = settle(r);
	r->looked_in = looked_in;
	r->lookups = lookups;
	r->hits = hits;
	return rc;
}

/* Runs a pass and keeps count of what goes for the whole point. */
static int do_pass(struct path_run *r, struct pass *p)
{
	int rc = take_state(r);

	if (rc)
		return rc;
	path_freq(r->c, &p->f0);
	rc = path_pass(&r->mem, r->c, p);
	path_freq(r->c, &p->f1);
	r->stale_wqe += p->nic.stale_wqe;
	r->stale_record += p->nic.stale_record;
	r->from_queue += p->nic.from_queue;
	r->wrong += p->out.wrong_words + p->end_wrong;
	r->messages += p->out.done;
	r->reloads += p->out.reloads;
	r->unsettled |= !!p->out.unsettled;
	r->polls_period = p->out.poll_ticks;
	r->steal += p->d1.steal_ticks - p->d0.steal_ticks;
	r->involuntary += p->d1.involuntary - p->d0.involuntary;
	r->smid_issuer = p->out.smid;
	r->smid_nic = p->nic.smid;
	if (r->c->route.submitter == SUBMITTER_CPU && p->helper_pairs) {
		const struct helper_pair *a = p->helper_pairs, *z = a + p->npairs - 1;

		r->launches += z->launches - a->launches;
		r->asleep += z->sleeps - a->sleeps;
	}
	if (p->instr == BARE) {
		r->looked_in += p->out.done;
		r->lookups += p->nic.lookups;
		r->hits += p->nic.hits;
	}
	return rc;
}

/* The clock's rate settles before anything counts; also the first touch of code
 * and memory. Payloads are not checked, since it ends where it ends. */
static int settle(struct path_run *r)
{
	struct path_conf c = *r->c;
	const struct path_conf *keep = r->c;
	struct pass p;
	int rc;

	c.check = CHECK_NONE;
	c.fault = FAULT_NONE;
	r->c = &c;
	pass_init(&p, &c, instr_of(keep), r->mem.block);
	p.record = 1;
	p.rate = 0;
	p.settle = c.pinned;
	r->settling = 1; /* whatever state it found is gone behind it */
	rc = do_pass(r, &p);
	r->settling = 0;
	r->c = keep;
	r->looked_in = r->lookups = r->hits = 0;
	pass_term(&p);
	return rc;
}

/* Runs a recorded pass and appends its spans; `help`: and rows of what a helper used. */
static int span_pass(struct path_run *r, int instr, uint64_t messages, struct spans *s, FILE *raw, int help)
{
	struct pass p;
	int rc;

	pass_init(&p, r->c, instr, messages);
	rc = do_pass(r, &p);
	if (!rc)
		rc = spans_add(s, &r->mem, r->c, &p, ALL_BLOCKS);
	if (!rc && raw)
		pass_raw(r->c, &p, raw);
	if (!rc && help && !(rc = path_helper_rows(&p, r->c, r->out)))
		rc = path_freq_rows(&p.f0, &p.f1, r->c, r->out);
	pass_term(&p);
	return rc;
}

static int observer_row(struct path_run *r, const struct spans *all, const struct spans *outer)
{
	struct row *row = path_row(r->out, r->c, "total", "observer", "ns");

	if (!row)
		return -ENOMEM;
	row->s.n = all->n;
	return diff_of(all->total, all->n, outer->total, outer->n, all->block, &row->s.mean,
		       &row->s.ci_lo, &row->s.ci_hi);
}

static int polls_row(struct path_run *r, const struct spans *s)
{
	struct row *row = path_row(r->out, r->c, "crossing", "polls", "count");

	if (!row)
		return -ENOMEM;
	row->s.n = s->n;
	row->s.mean = s->polls;
	return 0;
}

/* By the marked messages; bare passes have the NIC's counts alone, their warm-up among them. */
static int cache_rows(struct path_run *r, const struct spans *s, int instr)
{
	if (!r->c->cache)
		return 0;
	return instr != BARE ? spans_cache_rows(s, r->c, r->out) :
			       cache_count_rows(r->c, r->looked_in, r->lookups, r->hits, r->out);
}

static int run_latency(struct path_run *r)
{
	const struct path_conf *c = r->c;
	int instr = instr_of(c), rc;
	/* the bare arm serves only to be compared; a spoiled message has none */
	int observe = c->marks == MARKS_ALL && c->nic->completes && !c->fault && c->messages >= 8;
	struct spans s, outer;

	if (r->out->raw && c->lines > 1)
		fs_note("no raw samples of a point with lines=%u: it is so many passes", c->lines);
	memset(&outer, 0, sizeof(outer));
	rc = spans_init(&s, c->route, c->messages);
	if (!rc)
		rc = spans_init(&outer, c->route, c->messages);
	for (uint32_t k = 0; !rc && k < c->lines; k++) {
		uint64_t n = path_line_share(c, c->messages, k);

		r->mem.line = k;
		if (observe && n >= 4)
			rc = span_pass(r, BARE, n / 4, &outer, NULL, 0);
		if (!rc)
			rc = span_pass(r, instr, n, &s, c->lines > 1 ? NULL : r->out->raw, !k);
		if (!rc && observe && n >= 4)
			rc = span_pass(r, BARE, n / 4, &outer, NULL, 0);
	}
	observe &= outer.n > 0;
	if (!rc)
		rc = spans_rows(&s, c, r->out);
	if (!rc)
		rc = cache_rows(r, &s, instr);
	if (!rc)
		rc = spans_source_rows(&s, c, r->out);
	if (!rc)
		rc = spans_helper_rows(&s, c, r->out);
	if (!rc && observe)
		rc = observer_row(r, &s, &outer);
	if (!rc && instr != BARE && c->nic->completes && c->route.submitter != SUBMITTER_CPU) /* no issuer polls there */
		rc = polls_row(r, &s);
	spans_term(&s);
	spans_term(&outer);
	return rc;
}

static int run_plant(struct path_run *r)
{
	const struct path_conf *c = r->c;
	struct spans s[2];
	struct pass p;
	int rc;

	pass_init(&p, c, FLEX, c->messages);
	p.plants = 1;
	memset(&s[1], 0, sizeof(s[1]));
	rc = spans_init(&s[0], c->route, p.messages);
	if (!rc)
		rc = spans_init(&s[1], c->route, p.messages);
	if (!rc)
		rc = do_pass(r, &p);
	for (int i = PLAIN_BLOCKS; !rc && i <= PLANTED_BLOCKS; i++)
		rc = spans_add(&s[i], &r->mem, c, &p, i);
	if (!rc && r->out->raw)
		pass_raw(c, &p, r->out->raw);
	if (!rc)
		rc = spans_rows(&s[PLANTED_BLOCKS], c, r->out);
	if (!rc)
		rc = cache_rows(r, &s[PLANTED_BLOCKS], FLEX);
	if (!rc)
		rc = spans_delta_rows(&s[PLANTED_BLOCKS], &s[PLAIN_BLOCKS], c, r->out);
	if (!rc)
		rc = path_freq_rows(&p.f0, &p.f1, c, r->out);
	if (!rc)
		rc = wall_delta_row(&p, r->mem.block, c, r->out);
	pass_term(&p);
	spans_term(&s[0]);
	spans_term(&s[1]);
	return rc;
}

/* Payload bytes a second; of a NIC that moves them. */
static int goodput_row(struct path_run *r, struct summary rate, const char *origin)
{
	char from[sizeof(r->out->row->origin)];
	struct row *row;

	if (!r->c->nic->completes || r->c->choice.kind == POST_NOP || !r->c->size)
		return 0;
	snprintf(from, sizeof(from), "%s", origin); /* it may lie in a row that moves */
	row = path_row(r->out, r->c, "total", "goodput", "GB/s");
	if (!row)
		return -ENOMEM;
	summary_scale(&rate, r->c->size / 1e3);
	row->s = rate;
	snprintf(row->origin, sizeof(row->origin), "%s", from);
	return 0;
}

/* Messages a second, by block, and over all. */
static int rate_rows(struct path_run *r, const struct pass *p)
{
	const struct clock_pair *a = p->pairs, *z = p->pairs + p->npairs - 1;
	uint64_t blocks = p->npairs - 1, each;
	double *x = malloc((blocks ? blocks : 1) * sizeof(*x));
	struct row *row = path_row(r->out, r->c, "total", "rate", "Mmsg/s");
	uint64_t k = 0, left = p->messages;
	int rc = 0;

	if (!x || !row) {
		free(x);
		return fs_fail(ENOMEM, "no memory for rates");
	}
	each = (p->messages + blocks - 1) / blocks;
	each = p->record ? r->mem.block : each > BARE_BLOCK ? each : BARE_BLOCK;
	for (uint64_t b = 0; b < blocks; b++) {
		uint64_t m = left < each ? left : each, ns = p->pairs[b + 1].wall - p->pairs[b].wall;

		left -= m;
		if (ns && m == each)
			x[k++] = (double)m * 1e3 / (double)ns;
	}
	/* few blocks say nothing of a distribution */
	if (k >= 5)
		rc = summary_of(x, k, 1, &row->s);
	if (!rc && z->wall > a->wall) {
		double all = (double)p->messages * 1e3 / (double)(z->wall - a->wall);

		if (k >= 5) { /* over all messages; the blocks say how far it is known */
			row->s.ci_lo += all - row->s.mean;
			row->s.ci_hi += all - row->s.mean;
			row->s.mean = all;
		} else {
			summary_one(&row->s, all);
		}
	}
	snprintf(row->origin, sizeof(row->origin), "%s", r->c->nic->emulated ? "emulated" : "measured");
	free(x);
	return rc ? rc : goodput_row(r, row->s, row->origin);
}

static int run_rate(struct path_run *r)
{
	int instr = instr_of(r->c), rc;
	struct pass p;
	struct spans s;

	pass_init(&p, r->c, instr, r->c->messages);
	rc = do_pass(r, &p);
	if (!rc)
		rc = rate_rows(r, &p);
	if (!rc && !(rc = path_helper_rows(&p, r->c, r->out)))
		rc = path_freq_rows(&p.f0, &p.f1, r->c, r->out);
	if (!rc && r->out->raw) {
		if (instr != BARE)
			pass_raw(r->c, &p, r->out->raw);
		else
			fs_note("no raw samples of a rate with marks=outer: it keeps none");
	}
	if (!rc && instr != BARE && !(rc = spans_init(&s, r->c->route, p.messages))) {
		if (!(rc = spans_add(&s, &r->mem, r->c, &p, ALL_BLOCKS)))
			rc = spans_rows(&s, r->c, r->out);
		if (!rc)
			rc = cache_rows(r, &s, instr);
		spans_term(&s);
	}
	if (!rc && instr == BARE)
		rc = cache_rows(r, NULL, BARE);
	pass_term(&p);
	return rc;
}

/* What the NIC saw that it should not have: legal in an unsafe point, and said. */
static int stale_rows(struct path_run *r)
{
	struct row *row;

	if (!r->c->nic->completes)
		return 0;
	row = path_row(r->out, r->c, "handoff", "stale_wqe", "count");
	if (!row)
		return -ENOMEM;
	row->s.n = r->messages;
	row->s.mean = (double)r->stale_wqe;
	if (doorbell_is_flame(r->c->choice.mode)) {
		row = path_row(r->out, r->c, "handoff", "from_queue", "count");
		if (!row)
			return -ENOMEM;
		row->s.n = r->messages;
		row->s.mean = (double)r->from_queue;
	}
	if (r->c->recover_every) {
		row = path_row(r->out, r->c, "handoff", "stale_record", "count");
		if (!row)
			return -ENOMEM;
		row->s.n = r->messages;
		row->s.mean = (double)r->stale_record;
	}
	return 0;
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

static void flags(struct path_run *r)
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
		for (size_t i = 0; i < r->out->n; i++)
			if (!strcmp(r->out->row[i].stage, stage_names[STAGE_CROSSING]))
				row_flag(&r->out->row[i], "early-ring", "the NIC may start at the first ring, before `rung`: this is a lower bound");
	if (r->c->recover_every && r->c->depth > 1 && r->c->nic->completes)
		for (size_t i = 0; i < r->out->n; i++)
			if (!strcmp(r->out->row[i].stage, stage_names[STAGE_CROSSING]))
				row_flag(&r->out->row[i], "early-record", "a record that is read may be ahead of its doorbell: this is a lower bound");
	for (size_t i = 0; r->unsettled && i < r->out->n; i++)
		unsettled_flag(&r->out->row[i]);
}

static void found(struct path_run *r)
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

/* The point is skipped. */
static int lacking(struct path_run *r)
{
	struct row *row = rows_add(r->out);

	if (!row)
		return -ENOMEM;
	row->status = FS_SKIPPED;
	strcpy(row->reason_code, "absent");
	snprintf(row->reason, sizeof(row->reason), "%s", r->mem.lacks);
	return 0;
}

static int path_run(const struct point *pt, struct rows *out)
{
	struct path_conf c;
	struct path_run r = { .c = &c, .out = out };
	char why[256];
	int rc;

	rc = path_resolve(pt, suite_machine(), &c, why, sizeof(why));
	if (rc)
		return fs_fail(-rc, "%s", why);
	c.gettime = suite_cpu_clock()->kind == CPU_CLOCK_GETTIME;
	if ((rc = pin_self(c.cpu)))
		return rc;
	cuda_inject(c.fault == FAULT_GPU_MEMORY ? INJECT_MEMORY : c.fault == FAULT_GPU_STICKY ? INJECT_STICKY :
		    c.fault == FAULT_GPU_LOST ? INJECT_LOST : INJECT_NONE);
	if ((rc = path_use(&c, out)))
		return rc;
	rc = path_mem_init(&r.mem, &c);
	if (rc == 1) {
		rc = lacking(&r);
		path_mem_term(&r.mem);
		return rc;
	}
	if (!rc)
		rc = settle(&r);
	if (!rc)
		rc = c.metric == METRIC_RATE ? run_rate(&r) :
		     c.plant[0] >= 0 || c.plant[1] >= 0 ? run_plant(&r) : run_latency(&r);
	if (!rc)
		rc = stale_rows(&r);
	found(&r);
	flags(&r);
	if (rc != -EBUSY) /* else an agent would not stop and still uses it */
		path_mem_term(&r.mem);
	return rc;
}

const struct probe probe_path = {
	.name = "path",
	.help = "one message from intent to noticed, taken apart into five stages; or messages a second",
	.reads = path_reads,
	.check = path_check,
	.run = path_run,
	.patience_s = path_patience,
};
