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
#include "stages/path_parts.h"
#include "stages/suite.h"
#include <errno.h>
#include <string.h>

enum { SEED = 0x5f1e57a6 };

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

static int run_rate(struct path_run *r)
{
	int instr = instr_of(r->c), rc;
	struct pass p;
	struct spans s;

	pass_init(&p, r->c, instr, r->c->messages);
	rc = do_pass(r, &p);
	if (!rc)
		rc = path_rate_rows(&p, r->mem.block, r->c, r->out);
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
		rc = path_stale_rows(&r);
	path_found(&r);
	path_flags(&r);
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
