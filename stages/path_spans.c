/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From marks to spans in ns. A mark is a tick count of its agent; each block has both
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

/* Message i of a pass, and which marks it shows. */
struct message {
	const struct pass *p;
	struct route route;
	uint64_t i;
	uint32_t shown;
};

static struct message message_of(const struct spans *s, const struct path_conf *c, const struct pass *p, uint64_t i)
{
	uint64_t n = (uint64_t)s->intervals, k = (p->out.first + i) % (n + 1);
	struct message m = { p, s->route, i, p->all };

	if (p->rotate)
		m.shown = k == n ? 1u << MARK_INTENT | 1u << MARK_NOTICED : 1u << s->table[k].from | 1u << s->table[k].to;
	if (!c->nic->completes)
		m.shown &= ~(1u << MARK_NOTICED);
	return m;
}

static uint64_t mark_of(const struct message *m, int mark)
{
	uint64_t slot = (uint64_t)slot_at(m->route, mark) - 1;

	switch (mark_agent(m->route, (enum mark)mark)) {
	case AGENT_ISSUER: return m->p->marks[m->i * ISSUER_SLOTS + slot];
	case AGENT_HELPER: return m->p->helper_marks[m->i * HELPER_SLOTS + slot];
	default: return m->p->nic_marks[m->i * NIC_SLOTS + slot];
	}
}

/* Is there anything of an agent's? */
static int agent_kept(const struct pass *p, enum agent a)
{
	return a == AGENT_ISSUER ? p->marks != NULL : a == AGENT_HELPER ? p->helper_marks != NULL : p->nic_marks != NULL;
}

static int mark_shown(const struct message *m, int mark)
{
	return m->shown >> mark & 1 && agent_kept(m->p, mark_agent(m->route, (enum mark)mark));
}

/* Ticks from one mark to another of the same clock; NAN where not both are shown. */
static double ticks_between(const struct message *m, int from, int to)
{
	return mark_shown(m, from) && mark_shown(m, to) ? (double)(int64_t)(mark_of(m, to) - mark_of(m, from)) : NAN;
}

/* When a mark of the issuer or the NIC was, by the wall clock that its agent read beside its own, since the pass began. */
static double wall_of(const struct message *m, uint64_t block, int mark)
{
	const struct clock_pair *pairs = mark_agent(m->route, (enum mark)mark) == AGENT_NIC ? m->p->nic_pairs : m->p->pairs;

	return pairs_at(pairs, m->p->npairs, block, mark_of(m, mark), m->p->pairs[0].wall);
}

static int agent_on_gpu(const struct path_conf *c, enum agent a)
{
	return a == AGENT_ISSUER ? c->issuer_gpu >= 0 : a == AGENT_NIC && c->nic_gpu >= 0;
}

/*
 * How long a hop took: where both of its agents are CPUs by the one clock that they read, where both are on
 * one GPU by the timer that each read beside its own clock. NAN: it isn't known.
 */
static double hop_of(const struct path_conf *c, const struct message *m, const struct interval *t, uint64_t block, double own)
{
	int from = agent_on_gpu(c, mark_agent(m->route, t->from)), to = agent_on_gpu(c, mark_agent(m->route, t->to));
	double ticks = ticks_between(m, t->from, t->to);

	if (m->p->instr == BARE || m->p->rotate || !c->nic->completes || from != to)
		return NAN;
	/* the NIC's first reading is from its start, before the warm-up, when clocks may still have been on their way */
	if (from && !block && !m->p->out.first)
		return NAN;
	if (!from)
		return ticks * own;
	if (c->issuer_gpu != c->nic_gpu || !m->p->nic_marks || isnan(ticks))
		return NAN;
	return wall_of(m, block, t->to) - wall_of(m, block, t->from);
}

/* From completed to where a sleeping consumer ran again; NAN where it hadn't slept. Both are CPUs. */
static double wakeup_of(const struct message *m)
{
	uint64_t woken = m->p->helper_marks ? m->p->helper_marks[m->i * HELPER_SLOTS + HS_WOKEN] : 0;

	return woken ? (double)(int64_t)(woken - mark_of(m, MARK_COMPLETED)) : NAN;
}

/* How long the launch behind a message took. */
static double call_of(const struct message *m)
{
	const uint64_t *h = m->p->helper_marks + m->i * HELPER_SLOTS;

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

/* ns per tick of each agent's clock in a block; NAN of one that kept no marks. */
static void rates_of(const struct pass *p, uint64_t block, double rate[])
{
	rate[AGENT_ISSUER] = pairs_rate(p->pairs, p->npairs, block);
	rate[AGENT_NIC] = p->nic_marks ? pairs_rate(p->nic_pairs, p->npairs, block) : NAN;
	rate[AGENT_HELPER] = p->helper_marks ? helper_rate(p, block) : NAN;
}

/* The spans of a message, as the j-th. */
static void span_of(struct spans *s, const struct path_conf *c, const struct message *m, uint64_t j)
{
	const struct pass *p = m->p;
	uint64_t block = m->i / s->block;
	double rate[AGENTS], own = 0;

	rates_of(p, block, rate);
	for (int k = 0; k < STAGES; k++)
		s->stage[k][j] = 0;
	for (int k = 0; k < s->intervals; k++) {
		const struct interval *t = &s->table[k];
		double f = rate[mark_agent(s->route, t->to)];
		int hop = interval_is_hop(s->route, t);
		double d = hop ? hop_of(c, m, t, block, f) : ticks_between(m, t->from, t->to) * f;

		s->interval[k][j] = d;
		if (hop)
			continue;
		s->stage[t->stage][j] += d;
		own += d;
	}
	s->total[j] = ticks_between(m, MARK_INTENT, MARK_NOTICED) * rate[AGENT_ISSUER];
	s->submit[j] = ticks_between(m, MARK_INTENT, (int)route_submitted(s->route)) * rate[AGENT_ISSUER];
	s->wakeup[j] = c->notify == NOTIFY_INTERRUPT && p->nic_marks ? wakeup_of(m) * rate[AGENT_HELPER] : NAN;
	s->call[j] = c->route.submitter == SUBMITTER_CPU && p->helper_marks ? call_of(m) * rate[AGENT_HELPER] : NAN;
	s->stage[STAGE_CROSSING][j] = s->total[j] - own;
	if (p->before) {
		s->before[j] = p->before[m->i];
		s->after[j] = p->after[m->i];
		s->fenced[j] = p->fenced[m->i];
	}
	s->looked[j] = p->nic_marks && c->cache ? (double)p->nic_marks[m->i * NIC_SLOTS + NS_LOOKED] : 0;
}

int spans_add(struct spans *s, const struct path_mem *m, const struct path_conf *c, const struct pass *p, int which)
{
	uint64_t polls = 0, j = s->n;

	if (p->before && !s->before) {
		s->before = malloc(s->cap * sizeof(double));
		s->after = malloc(s->cap * sizeof(double));
		s->fenced = malloc(s->cap * sizeof(double));
		if (!s->before || !s->after || !s->fenced)
			return fs_fail(ENOMEM, "no memory for samples");
	}
	s->block = m->block;
	for (uint64_t i = 0; i < p->messages; i++) {
		struct message one = message_of(s, c, p, i);

		if (which != ALL_BLOCKS && block_planted(p->out.first + i, m->block) != which)
			continue;
		if (j == s->cap)
			return fs_fail(EOVERFLOW, "more samples than planned");
		span_of(s, c, &one, j++);
		polls += p->marks[i * ISSUER_SLOTS + IS_POLLS];
	}
	if (j > s->n)
		s->polls = (s->polls * (double)s->n + (double)polls) / (double)j;
	s->n = j;
	return 0;
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
		struct message one = message_of(&s, c, p, i);

		fprintf(f, "%llu", (unsigned long long)(p->out.first + i));
		for (int k = 0; k < MARKS; k++) {
			if (!route_has(c->route, (enum mark)k))
				continue;
			if (mark_shown(&one, k))
				fprintf(f, ",%llu", (unsigned long long)mark_of(&one, k));
			else
				fprintf(f, ",");
		}
		if (p->instr == BARE || !c->nic->completes || c->route.submitter == SUBMITTER_CPU)
			fprintf(f, ",\n");
		else
			fprintf(f, ",%llu\n", (unsigned long long)p->marks[i * ISSUER_SLOTS + IS_POLLS]);
	}
}
