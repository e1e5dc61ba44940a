/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From marks to rows. A mark is a tick count of its agent; each block has both
 * clocks read at its ends, so that ticks become ns by the block's own rate (path_pairs.c). The
 * crossing is never a difference of two agents' clocks: it is the total, on the
 * issuer's clock, less what the agents spent themselves, each on its own.
 */
#include "harness/err.h"
#include "stages/path.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int issuer_slot[MARKS] = {
	[MARK_INTENT] = IS_INTENT + 1, [MARK_RESERVED] = IS_RESERVED + 1, [MARK_RESOLVED] = IS_RESOLVED + 1,
	[MARK_BUILT] = IS_BUILT + 1, [MARK_RUNG] = IS_RUNG + 1, [MARK_NOTICED] = IS_NOTICED + 1,
};
static const int nic_slot[MARKS] = {
	[MARK_SEEN] = NS_SEEN + 1, [MARK_STARTED] = NS_STARTED + 1, [MARK_FETCHED] = NS_FETCHED + 1,
	[MARK_TRANSLATED] = NS_TRANSLATED + 1, [MARK_READ] = NS_READ + 1, [MARK_WRITTEN] = NS_WRITTEN + 1,
	[MARK_COMPLETED] = NS_COMPLETED + 1,
};
static const int helper_slot[MARKS] = {
	[MARK_TAKEN] = HS_TAKEN + 1, [MARK_RESOLVED] = HS_RESOLVED + 1, [MARK_BUILT] = HS_BUILT + 1,
	[MARK_RUNG] = HS_RUNG + 1, [MARK_CAUGHT] = HS_CAUGHT + 1, [MARK_RELAYED] = HS_RELAYED + 1,
};

/* The slot of a mark at its agent, and 1 more. An issuer that hands over does so where others ring. */
static int slot_at(struct route r, int mark)
{
	switch (mark_agent(r, (enum mark)mark)) {
	case AGENT_ISSUER: return issuer_slot[mark == MARK_HANDED ? (int)MARK_RUNG : mark];
	case AGENT_HELPER: return helper_slot[mark];
	default: return nic_slot[mark];
	}
}

int spans_init(struct spans *s, struct route route, uint64_t cap)
{
	memset(s, 0, sizeof(*s));
	s->cap = cap;
	s->route = route;
	s->intervals = interval_table(route, &s->table);
	for (int i = 0; i < s->intervals; i++)
		if (!(s->interval[i] = malloc(cap * sizeof(double))))
			return fs_fail(ENOMEM, "no memory for samples");
	for (int i = 0; i < STAGES; i++)
		if (!(s->stage[i] = malloc(cap * sizeof(double))))
			return fs_fail(ENOMEM, "no memory for samples");
	s->looked = malloc(cap * sizeof(double));
	s->total = malloc(cap * sizeof(double));
	s->submit = malloc(cap * sizeof(double));
	s->wakeup = malloc(cap * sizeof(double));
	s->call = malloc(cap * sizeof(double));
	return s->looked && s->total && s->submit && s->wakeup && s->call ? 0 : fs_fail(ENOMEM, "no memory for samples");
}

void spans_term(struct spans *s)
{
	for (int i = 0; i < s->intervals; i++)
		free(s->interval[i]);
	for (int i = 0; i < STAGES; i++)
		free(s->stage[i]);
	free(s->before);
	free(s->after);
	free(s->fenced);
	free(s->looked);
	free(s->wakeup);
	free(s->call);
	free(s->total);
	free(s->submit);
	memset(s, 0, sizeof(*s));
}

/* Which marks message i shows. */
static uint32_t shown_of(const struct spans *s, const struct pass *p, uint64_t i)
{
	uint64_t n = (uint64_t)s->intervals, k = (p->out.first + i) % (n + 1);

	if (!p->rotate)
		return p->all;
	return k == n ? 1u << MARK_INTENT | 1u << MARK_NOTICED : 1u << s->table[k].from | 1u << s->table[k].to;
}

static uint64_t mark_of(struct route r, const struct pass *p, uint64_t i, int mark)
{
	uint64_t slot = (uint64_t)slot_at(r, mark) - 1;

	switch (mark_agent(r, (enum mark)mark)) {
	case AGENT_ISSUER: return p->marks[i * ISSUER_SLOTS + slot];
	case AGENT_HELPER: return p->helper_marks[i * HELPER_SLOTS + slot];
	default: return p->nic_marks[i * NIC_SLOTS + slot];
	}
}

/* Is there anything of an agent's? */
static int agent_kept(const struct pass *p, enum agent a)
{
	return a == AGENT_ISSUER ? p->marks != NULL : a == AGENT_HELPER ? p->helper_marks != NULL : p->nic_marks != NULL;
}

/* Ticks from one mark to another of the same clock; NAN where not both are shown. */
static double ticks_between(struct route r, const struct pass *p, uint64_t i, int from, int to, uint32_t shown)
{
	if (!(shown >> from & shown >> to & 1) || !agent_kept(p, mark_agent(r, (enum mark)from)) ||
	    !agent_kept(p, mark_agent(r, (enum mark)to)))
		return NAN;
	return (double)(int64_t)(mark_of(r, p, i, to) - mark_of(r, p, i, from));
}

/* The readings of both clocks of a mark's agent, which is the issuer or the NIC. */
static const struct clock_pair *agent_pairs(struct route r, const struct pass *p, int mark)
{
	return mark_agent(r, (enum mark)mark) == AGENT_NIC ? p->nic_pairs : p->pairs;
}

static int agent_on_gpu(const struct path_conf *c, enum agent a)
{
	return a == AGENT_ISSUER ? c->issuer_gpu >= 0 : a == AGENT_NIC && c->nic_gpu >= 0;
}

/*
 * How long a hop took: where both of its agents are CPUs by the one clock that they read, where both are on
 * one GPU by the timer that each read beside its own clock. NAN: it isn't known.
 */
static double hop_of(const struct spans *s, const struct path_conf *c, const struct pass *p, const struct interval *t,
		     uint64_t i, uint32_t shown, double own)
{
	int from = agent_on_gpu(c, mark_agent(s->route, t->from)), to = agent_on_gpu(c, mark_agent(s->route, t->to));
	uint64_t block = i / s->block;

	if (p->instr == BARE || p->rotate || !c->nic->completes || from != to)
		return NAN;
	/* the NIC's first reading is from its start, before the warm-up, when clocks may still have been on their way */
	if (from && !block && !p->out.first)
		return NAN;
	if (!from)
		return ticks_between(s->route, p, i, t->from, t->to, shown) * own;
	if (c->issuer_gpu != c->nic_gpu || !p->nic_marks || isnan(ticks_between(s->route, p, i, t->from, t->to, shown)))
		return NAN;
	return pairs_at(agent_pairs(s->route, p, t->to), p->npairs, block, mark_of(s->route, p, i, t->to), p->pairs[0].wall) -
	       pairs_at(agent_pairs(s->route, p, t->from), p->npairs, block, mark_of(s->route, p, i, t->from), p->pairs[0].wall);
}

/* From completed to where a sleeping consumer ran again; NAN where it hadn't slept. Both are CPUs. */
static double wakeup_of(const struct spans *s, const struct pass *p, uint64_t i)
{
	uint64_t woken = p->helper_marks ? p->helper_marks[i * HELPER_SLOTS + HS_WOKEN] : 0;

	return woken ? (double)(int64_t)(woken - mark_of(s->route, p, i, MARK_COMPLETED)) : NAN;
}

/* How long the launch behind message i took. */
static double call_of(const struct pass *p, uint64_t i)
{
	const uint64_t *h = p->helper_marks + i * HELPER_SLOTS;

	return (double)(int64_t)(h[HS_CALLED] - h[HS_RELAYED]);
}

/* As pairs_rate, of the helper's readings. */
static double helper_rate(const struct pass *p, uint64_t block)
{
	struct clock_pair two[2] = { p->helper_pairs[0].at, p->helper_pairs[p->npairs - 1].at };

	if (block + 1 < p->npairs && p->helper_pairs[block + 1].at.wall - p->helper_pairs[block].at.wall >= RATE_SPAN_NS) {
		two[0] = p->helper_pairs[block].at;
		two[1] = p->helper_pairs[block + 1].at;
	}
	return pairs_rate(two, 2, 0);
}

int spans_add(struct spans *s, const struct path_mem *m, const struct path_conf *c, const struct pass *p, int which)
{
	uint64_t npairs = p->npairs, polls = 0, j = s->n;

	if (p->before && !s->before) {
		s->before = malloc(s->cap * sizeof(double));
		s->after = malloc(s->cap * sizeof(double));
		s->fenced = malloc(s->cap * sizeof(double));
		if (!s->before || !s->after || !s->fenced)
			return fs_fail(ENOMEM, "no memory for samples");
	}
	s->block = m->block;
	for (uint64_t i = 0; i < p->messages; i++) {
		uint32_t shown = shown_of(s, p, i);
		double fi = pairs_rate(p->pairs, npairs, i / m->block), own = 0;
		double fn = p->nic_marks ? pairs_rate(p->nic_pairs, npairs, i / m->block) : NAN, fh = NAN;

		if (which != ALL_BLOCKS && block_planted(p->out.first + i, m->block) != which)
			continue;
		if (j == s->cap)
			return fs_fail(EOVERFLOW, "more samples than planned");
		if (!c->nic->completes)
			shown &= ~(1u << MARK_NOTICED);
		if (p->helper_marks)
			fh = helper_rate(p, i / m->block);
		for (int k = 0; k < STAGES; k++)
			s->stage[k][j] = 0;
		for (int k = 0; k < s->intervals; k++) {
			const struct interval *t = &s->table[k];
			enum agent by = mark_agent(s->route, t->to);
			double f = by == AGENT_NIC ? fn : by == AGENT_HELPER ? fh : fi;
			int hop = interval_is_hop(s->route, t);
			double d = hop ? hop_of(s, c, p, t, i, shown, f) : ticks_between(s->route, p, i, t->from, t->to, shown) * f;

			s->interval[k][j] = d;
			if (hop)
				continue;
			s->stage[t->stage][j] += d;
			own += d;
		}
		s->total[j] = ticks_between(s->route, p, i, MARK_INTENT, MARK_NOTICED, shown) * fi;
		s->submit[j] = ticks_between(s->route, p, i, MARK_INTENT, (int)route_submitted(s->route), shown) * fi;
		s->wakeup[j] = c->notify == NOTIFY_INTERRUPT && p->nic_marks ? wakeup_of(s, p, i) * fh : NAN;
		s->call[j] = c->route.submitter == SUBMITTER_CPU && p->helper_marks ? call_of(p, i) * fh : NAN;
		s->stage[STAGE_CROSSING][j] = s->total[j] - own;
		if (p->before) {
			s->before[j] = p->before[i];
			s->after[j] = p->after[i];
			s->fenced[j] = p->fenced[i];
		}
		s->looked[j] = p->nic_marks && c->cache ? (double)p->nic_marks[i * NIC_SLOTS + NS_LOOKED] : 0;
		polls += p->marks[i * ISSUER_SLOTS + IS_POLLS];
		j++;
	}
	if (j > s->n)
		s->polls = (s->polls * (double)s->n + (double)polls) / (double)j;
	s->n = j;
	return 0;
}

/* ---- rows ---- */

struct row *path_row(struct rows *out, const struct path_conf *c, const char *stage,
		     const char *metric, const char *unit)
{
	struct row *r = rows_add(out);

	if (!r)
		return NULL;
	snprintf(r->stage, sizeof(r->stage), "%s", stage);
	snprintf(r->metric, sizeof(r->metric), "%s", metric);
	snprintf(r->unit, sizeof(r->unit), "%s", unit);
	snprintf(r->order_class, sizeof(r->order_class), "%s", c->order_class);
	return r;
}

void path_origin(struct row *r, const struct path_conf *c, int emulated)
{
	snprintf(r->origin, sizeof(r->origin), "%s", emulated && c->nic->emulated ? "emulated" : "measured");
}

static int agent_place(const struct path_conf *c, enum agent a)
{
	return a == AGENT_NIC ? c->place[OBJ_KEYS] : a == AGENT_ISSUER && c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST;
}

/* Which link an interval crosses: from its agent to the object that it touches. */
const char *path_link(const struct path_conf *c, const struct interval *t)
{
	int from = agent_place(c, mark_agent(c->route, t->from)), to = agent_place(c, mark_agent(c->route, t->to));
	/* with BlueFlame what is fetched is in the doorbell's line */
	int object = t->to == MARK_FETCHED && doorbell_is_flame(c->choice.mode) ? OBJ_DB : (int)t->object;
	int place = c->place[object];

	if (t->object == OBJ_NONE)
		return "none";
	if (interval_is_hop(c->route, t)) /* the store goes there, the poll comes from the other side */
		return place == to ? link_name(from, to) : link_name(to, place);
	return link_name(to, place);
}

/* Summary of those samples that are there; marks = rotate leaves gaps. */
int spans_summary(const double *x, uint64_t n, uint32_t block, struct summary *s)
{
	double *y = malloc((n ? n : 1) * sizeof(*y));
	uint64_t k = 0;
	int rc;

	if (!y)
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < n; i++)
		if (!isnan(x[i]))
			y[k++] = x[i];
	summary_none(s);
	rc = k ? summary_of(y, k, k == n ? block : block / 8, s) : 0;
	free(y);
	return rc;
}

/* With one pair of marks a message, sums exist as sums of means alone. */
static void rotate_stages(const struct spans *s, struct summary iv[], struct summary stage[STAGES],
			  const struct summary *total, struct summary *submit)
{
	double mean[STAGES] = { 0 }, var[STAGES] = { 0 }, own = 0, own_var = 0, sub = 0, sub_var = 0;
	uint64_t n[STAGES] = { 0 }, sub_n = 0;

	for (int k = 0; k < s->intervals; k++) {
		double h = (iv[k].ci_hi - iv[k].ci_lo) / 2;

		if (interval_is_hop(s->route, &s->table[k]))
			continue;
		mean[s->table[k].stage] += iv[k].mean;
		var[s->table[k].stage] += h * h;
		n[s->table[k].stage] = iv[k].n;
		own += iv[k].mean;
		own_var += h * h;
		if (mark_table[s->table[k].to].agent == AGENT_ISSUER) {
			sub_n = iv[k].n;
			sub += iv[k].mean;
			sub_var += h * h;
		}
	}
	n[STAGE_CROSSING] = total->n;
	mean[STAGE_CROSSING] = total->mean - own;
	var[STAGE_CROSSING] = own_var + (total->ci_hi - total->ci_lo) * (total->ci_hi - total->ci_lo) / 4;
	for (int k = 0; k < STAGES; k++) {
		summary_none(&stage[k]);
		stage[k].n = n[k];
		stage[k].mean = mean[k];
		stage[k].ci_lo = mean[k] - sqrt(var[k]);
		stage[k].ci_hi = mean[k] + sqrt(var[k]);
	}
	summary_none(submit);
	submit->n = sub_n;
	submit->mean = sub;
	submit->ci_lo = sub - sqrt(sub_var);
	submit->ci_hi = sub + sqrt(sub_var);
}

static int interval_rows(const struct spans *s, const struct path_conf *c, struct summary iv[], struct rows *out)
{
	for (int k = 0; k < s->intervals; k++) {
		const struct interval *t = &s->table[k];
		struct row *r;

		if (!iv[k].n)
			continue;
		r = path_row(out, c, stage_names[t->stage], "latency", "ns");
		if (!r)
			return -ENOMEM;
		snprintf(r->interval, sizeof(r->interval), "%s-%s", mark_table[t->from].name, mark_table[t->to].name);
		snprintf(r->link, sizeof(r->link), "%s", path_link(c, t));
		r->s = iv[k];
		path_origin(r, c, mark_table[t->to].agent == AGENT_NIC && !interval_is_hop(c->route, t));
	}
	return 0;
}

static int whole_row(const char *stage, const struct summary *s, const struct path_conf *c, int emulated, struct rows *out)
{
	struct row *r;

	if (!s->n || isnan(s->mean))
		return 0;
	r = path_row(out, c, stage, "latency", "ns");
	if (!r)
		return -ENOMEM;
	r->s = *s;
	path_origin(r, c, emulated);
	return 0;
}

/* Does a stage hold a NIC's own span? */
static int stage_emulated(const struct spans *s, int stage)
{
	for (int k = 0; k < s->intervals; k++)
		if ((int)s->table[k].stage == stage && !interval_is_hop(s->route, &s->table[k]) &&
		    mark_table[s->table[k].to].agent == AGENT_NIC)
			return 1;
	return 0;
}

int spans_rows(const struct spans *s, const struct path_conf *c, struct rows *out)
{
	struct summary iv[INTERVALS_MAX], stage[STAGES], total, submit;
	int rc, all = c->marks == MARKS_ALL;

	if ((rc = spans_summary(s->total, s->n, s->block, &total)) ||
	    (rc = spans_summary(s->submit, s->n, s->block, &submit)))
		return rc;
	for (int k = 0; k < s->intervals; k++)
		if ((rc = spans_summary(s->interval[k], s->n, s->block, &iv[k])))
			return rc;
	for (int k = 0; k < STAGES; k++)
		if ((rc = spans_summary(s->stage[k], all ? s->n : 0, s->block, &stage[k])))
			return rc;
	if (c->marks == MARKS_ROTATE)
		rotate_stages(s, iv, stage, &total, &submit);
	if (c->marks != MARKS_OUTER && (rc = interval_rows(s, c, iv, out)))
		return rc;
	for (int k = 0; k < STAGES && c->marks != MARKS_OUTER; k++)
		if ((rc = whole_row(stage_names[k], &stage[k], c, stage_emulated(s, k), out)))
			return rc;
	if (c->marks != MARKS_OUTER && (rc = whole_row("submit", &submit, c, 0, out)))
		return rc;
	return whole_row("total", &total, c, 1, out);
}

/* A row of the crossing from those samples that are there; none without any. */
static int crossing_row(const struct spans *s, const double *x, const char *metric, const struct path_conf *c, struct rows *out)
{
	struct summary sum;
	struct row *r;
	int rc;

	if ((rc = spans_summary(x, s->n, s->block, &sum)) || !sum.n)
		return rc;
	if (!(r = path_row(out, c, stage_names[STAGE_CROSSING], metric, "ns")))
		return -ENOMEM;
	r->s = sum;
	path_origin(r, c, 0);
	return 0;
}

int spans_helper_rows(const struct spans *s, const struct path_conf *c, struct rows *out)
{
	int rc = 0;

	if (c->marks == MARKS_OUTER)
		return 0;
	if (c->notify == NOTIFY_INTERRUPT)
		rc = crossing_row(s, s->wakeup, "wakeup", c, out);
	if (!rc && c->route.submitter == SUBMITTER_CPU)
		rc = crossing_row(s, s->call, "launch_call", c, out);
	return rc;
}

static double mean_of(const double *x, uint64_t n)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Of ten pairs or more a tenth of the differences is left out at either end: a stolen
 * time slice in one block is no property of a plant. The interval is that of a trimmed mean
 * (Tukey and McLaughlin, 1963: the deviation of the winsorised values).
 */
int paired_summary(double *d, uint64_t n, struct summary *s)
{
	uint64_t cut = n >= 10 ? n / 10 : 0, kept = n - 2 * cut;
	double mean, half, *w;
	struct summary wins;
	int rc;

	if (!n)
		return fs_fail(EINVAL, "no pair of blocks");
	qsort(d, n, sizeof(*d), by_size);
	if (!(w = malloc(n * sizeof(*w))))
		return fs_fail(ENOMEM, "no memory for pairs of blocks");
	memcpy(w, d, n * sizeof(*w));
	for (uint64_t i = 0; i < cut; i++) {
		w[i] = d[cut];
		w[n - 1 - i] = d[n - 1 - cut];
	}
	mean = mean_of(d + cut, kept);
	rc = summary_of(w, n, 1, &wins);
	if (!rc)
		rc = summary_of(d, n, 1, s);
	if (rc) {
		free(w);
		return rc;
	}
	half = (wins.ci_hi - wins.ci_lo) / 2 * (double)n / (double)kept;
	s->mean = mean;
	s->ci_lo = mean - half;
	s->ci_hi = mean + half;
	free(w);
	return rc;
}

/* Each pair is a block of either series, which are neighbours or nearly so. */
static int delta_row(const double *planted, const double *plain, uint64_t n, uint32_t block,
		     const char *stage, const char *from, const char *to, const struct path_conf *c, struct rows *out)
{
	struct row *r = path_row(out, c, stage, "plant_delta", "ns");
	double *d = malloc((n / block + 1) * sizeof(*d));
	int rc;

	if (!r || !d) {
		free(d);
		return fs_fail(ENOMEM, "no memory for pairs of blocks");
	}
	if (from)
		snprintf(r->interval, sizeof(r->interval), "%s-%s", from, to);
	for (uint64_t i = 0; i < n / block; i++)
		d[i] = mean_of(planted + i * block, block) - mean_of(plain + i * block, block);
	rc = paired_summary(d, n / block, &r->s);
	free(d);
	return rc;
}

int spans_delta_rows(const struct spans *p, const struct spans *b, const struct path_conf *c, struct rows *out)
{
	uint64_t n = p->n < b->n ? p->n : b->n;
	int rc;

	for (int k = 0; k < p->intervals; k++) {
		const struct interval *t = &p->table[k];

		if (interval_is_hop(c->route, t))
			continue;
		rc = delta_row(p->interval[k], b->interval[k], n, p->block, stage_names[t->stage],
			       mark_table[t->from].name, mark_table[t->to].name, c, out);
		if (rc)
			return rc;
	}
	rc = delta_row(p->stage[STAGE_CROSSING], b->stage[STAGE_CROSSING], n, p->block,
		       stage_names[STAGE_CROSSING], NULL, NULL, c, out);
	return rc ? rc : delta_row(p->total, b->total, n, p->block, "total", NULL, NULL, c, out);
}

int wall_delta_row(const struct pass *p, uint32_t block, const struct path_conf *c, struct rows *out)
{
	uint64_t n[2] = { 0, 0 }, blocks = p->messages / block;
	struct row *r = path_row(out, c, "-", "plant_wall", "ns");
	double *d = malloc((blocks + 1) * sizeof(*d)), *wall[2] = { NULL, NULL };
	int rc = 0;

	for (int w = 0; w < 2; w++)
		wall[w] = malloc((blocks + 1) * sizeof(*wall[w]));
	if (!r || !d || !wall[0] || !wall[1])
		rc = fs_fail(ENOMEM, "no memory for pairs of blocks");
	for (uint64_t b = 0; !rc && b < blocks; b++) {
		int w = block_planted(p->out.first + b * block, block);

		wall[w][n[w]++] = (double)(int64_t)(p->pairs[b + 1].wall - p->pairs[b].wall) / block;
	}
	n[0] = n[0] < n[1] ? n[0] : n[1];
	for (uint64_t i = 0; !rc && i < n[0]; i++)
		d[i] = wall[1][i] - wall[0][i];
	if (!rc)
		rc = paired_summary(d, n[0], &r->s);
	free(d);
	free(wall[0]);
	free(wall[1]);
	return rc;
}

/* Marks that a message doesn't show are empty cells; so is `polls` where nobody
 * counted. */
void pass_raw(const struct path_conf *c, const struct pass *p, FILE *f)
{
	struct spans s = { 0 };

	s.route = c->route;
	s.intervals = interval_table(c->route, &s.table);
	fprintf(f, "message");
	for (int k = 0; k < MARKS; k++)
		if (route_has(c->route, (enum mark)k))
			fprintf(f, ",%s", mark_table[k].name);
	fprintf(f, ",polls\n");
	for (uint64_t i = 0; i < p->messages; i++) {
		uint32_t shown = shown_of(&s, p, i);

		if (!c->nic->completes)
			shown &= ~(1u << MARK_NOTICED);
		fprintf(f, "%llu", (unsigned long long)(p->out.first + i));
		for (int k = 0; k < MARKS; k++) {
			if (!route_has(c->route, (enum mark)k))
				continue;
			if (!(shown >> k & 1) || !agent_kept(p, mark_agent(c->route, (enum mark)k)))
				fprintf(f, ",");
			else
				fprintf(f, ",%llu", (unsigned long long)mark_of(c->route, p, i, k));
		}
		if (p->instr == BARE || !c->nic->completes || c->route.submitter == SUBMITTER_CPU)
			fprintf(f, ",\n");
		else
			fprintf(f, ",%llu\n", (unsigned long long)p->marks[i * ISSUER_SLOTS + IS_POLLS]);
	}
}
