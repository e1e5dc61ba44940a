/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agents of a pass are given: whose waits and marks each is told of, the NIC's engine, and its issuer.
 */
#include "stages/path_parts.h"
#include "stages/path_layout.h"
#include <string.h>

static const struct { int wqe, nic; } fault_table[FAULTS] = {
	[FAULT_OPCODE] = { WF_OPCODE, 0 }, [FAULT_DS] = { WF_DS, 0 }, [FAULT_KEY] = { WF_KEY, 0 },
	[FAULT_LKEY] = { WF_LKEY, 0 }, [FAULT_LENGTH] = { WF_LENGTH, 0 }, [FAULT_QPN] = { WF_QPN, 0 },
	[FAULT_INDEX] = { WF_INDEX, 0 },
	[FAULT_DEAD_NIC] = { 0, EF_DEAD }, [FAULT_LOST_DOORBELL] = { 0, EF_LOST_DOORBELL },
	[FAULT_STALE_RECORD] = { 0, EF_STALE_RECORD }, [FAULT_ERROR_CQE] = { 0, EF_ERROR_CQE },
	[FAULT_LOST_CQE] = { 0, EF_LOST_CQE }, [FAULT_SLOW_NIC] = { 0, EF_SLOW },
	[FAULT_RING_OVERRUN] = { WF_OVERRUN, 0 }, [FAULT_LOST_WAKEUP] = { 0, EF_LOST_EVENT },
};

void path_sinks(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct sink_conf *s)
{
	const struct interval *t;
	int n = interval_table(c->route, &t);

	memset(s, 0, sizeof(*s));
	s->all = p->all;
	s->gettime = c->gettime;
	s->block = m->block;
	if (p->rotate) {
		s->rotate = (uint32_t)n + 1;
		for (int i = 0; i < n; i++)
			s->pair[i] = 1u << t[i].from | 1u << t[i].to;
		s->pair[n] = 1u << MARK_INTENT | 1u << MARK_NOTICED;
	}
	for (int i = 0; i < 2; i++) {
		s->plant[i] = p->plants ? c->plant[i] : -1;
		s->plant_ns[i] = c->plant_ns[i];
	}
}

void path_sink(const struct path_conf *c, const struct sink_conf *all, enum agent agent, struct sink_conf *s)
{
	*s = *all;
	for (int i = 0; i < 2; i++) {
		if (s->plant[i] < 0)
			continue;
		if (mark_agent(c->route, (enum mark)s->plant[i]) != agent)
			s->plant[i] = -1;
		/* what it stores there is not the NIC's doorbell but the helper's */
		else if (agent == AGENT_ISSUER && s->plant[i] == MARK_HANDED)
			s->plant[i] = MARK_RUNG;
	}
}

void path_engine(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct engine *e)
{
	int rd = c->op == WQE_READ;
	const struct buf *local = rd ? &m->dst : &m->src, *remote = rd ? &m->src : &m->dst;

	memset(e, 0, sizeof(*e));
	e->wq = m->queue.p;
	e->dbrec = m->queue.p + m->record_off;
	e->db = path_db(m);
	e->cq = m->cq.p;
	e->log_n = c->log_n;
	e->log_ncqe = c->collapsed ? 0 : c->log_n; /* overwritten without a look at who has read it */
	e->qpn = PATH_QPN;
	e->segment = c->segment;
	e->recover_every = c->recover_every;
	e->fault = p->instr == FLEX ? (uint32_t)fault_table[c->fault].nic : EF_NONE;
	e->fault_at = p->warmup + p->messages / 2;
	e->tab.keys = (const struct mkey *)path_tables(m);
	e->tab.nkeys = m->nkeys;
	e->tab.ptes = (const uint64_t *)(path_tables(m) + m->ptes_off);
	e->tab.nptes = m->nptes;
	e->tab.win[0].base = (uint64_t)local->p;
	e->tab.win[0].bytes = local->bytes;
	e->tab.win[1].base = (uint64_t)remote->p;
	e->tab.win[1].bytes = remote->bytes;
	e->xlat = (uint64_t *)(path_tables(m) + m->xlat_off);
	e->xlat_pages = m->xlat_pages;
	e->cache_mask = c->cache ? c->cache - 1 : 0;
	e->cache_shift = c->page_shift;
	e->cache_from[0] = (uint64_t)local->p;
	e->cache_from[1] = (uint64_t)remote->p;
	e->generation = path_tables(m) + m->gen_off;
	e->flush_keep = m->keep;
	e->marks = (uint64_t *)m->nic_marks.p;
	e->pairs = (struct clock_pair *)m->nic_pairs.p;
	path_helper_events(m, c, e);
}

/* Many periods of the NIC's poll, so that its phase is even: a GPU polls every
 * 0.2 us, or every us over PCIe, a CPU in less. */
uint32_t path_gap_ticks(const struct path_conf *c)
{
	return c->nic->on_gpu ? 16384 : 2048;
}

/* Where marks are kept every message has its own CQE: in the pass that settles too. */
static uint32_t signal_of(const struct path_conf *c, const struct pass *p) { return p->record ? 1 : c->signal; }

struct issue_choice path_choice(const struct path_conf *c, const struct pass *p)
{
	struct issue_choice choice = c->choice;

	choice.instr = p->instr;
	choice.mode = path_issuer_mode(c);
	choice.cq = c->collapsed || signal_of(c, p) > 1 ? CQ_OTHER : CQ_RING;
	choice.staged = c->registration == REGISTERED_STAGED;
	return choice;
}

int path_usual(const struct path_conf *c, const struct pass *p)
{
	if (doorbell_is_flame(c->choice.mode))
		return USUAL_FLAME;
	if (c->cache)
		return USUAL_CACHED;
	return post_blocks(c->choice.kind) > 1 ? USUAL_TWO : signal_of(c, p) > 1 ? USUAL_SPARSE : USUAL;
}

void path_issue(const struct path_mem *m, const struct path_conf *c, const struct pass *p,
		const struct sink_conf *sink, struct issue_args *a)
{
	int rd = c->op == WQE_READ;

	memset(a, 0, sizeof(*a));
	a->q.wq = m->queue.p;
	a->q.dbrec = m->queue.p + m->record_off;
	a->q.db = path_db(m);
	a->q.cq = m->cq.p;
	a->q.ci_word = (uint64_t *)m->home.p;
	a->q.log_n = c->log_n;
	a->q.log_ncqe = c->collapsed ? 0 : c->log_n;
	a->q.qpn = PATH_QPN;
	a->q.depth = c->depth * post_blocks(c->choice.kind);
	a->local = rd ? m->dst.p : m->src.p;
	a->remote_view = rd ? m->src.p : m->dst.p;
	a->stride_shift = (uint32_t)__builtin_ctzll(c->stride);
	/* with several regions each slot looks up its own: the same instructions as with one */
	a->chunk_shift = c->mr_count > 1 ? a->stride_shift : 21;
	while ((c->slots * c->stride - 1) >> a->chunk_shift > RESOLVER_CHUNKS - 1)
		a->chunk_shift++;
	for (uint32_t i = 0; i < RESOLVER_CHUNKS; i++) {
		a->keys.local[i] = path_key(c, 0, path_mr_of(c, i));
		a->keys.remote[i] = path_key(c, 1, path_mr_of(c, i));
	}
	a->slot_mask = (uint32_t)(c->slots - 1);
	a->len = c->size;
	a->batch = c->batch;
	a->signal = signal_of(c, p);
	a->collapsed = c->collapsed;
	a->warmup = p->warmup;
	a->messages = p->messages;
	a->wait_ns = PATH_WAIT_NS;
	a->check = c->check == CHECK_EACH;
	a->hooked = m->source && !path_registers_inside(c); /* a hook registers, or a copy follows */
	a->fill = a->check | (m->source != NULL);
	a->consumed = (uint32_t)c->nic->completes;
	a->record = (uint32_t)p->record;
	a->settle = (uint32_t)p->settle;
	if (c->depth == 1 && !p->rate) {
		a->gap_ticks = path_gap_ticks(c);
		a->fresh = c->fresh;
		a->fresh_at = m->fresh.p;
		a->dither = (uint32_t)c->nic->completes;
	}
	a->ord = c->choice.ord;
	a->mode = path_issuer_mode(c);
	a->fault = p->instr == FLEX ? (uint32_t)fault_table[c->fault].wqe : WF_NONE;
	a->fault_at = p->messages / 2;
	a->seed = p->seed;
	path_sink(c, sink, AGENT_ISSUER, &a->sink);
	a->sink.block = p->record ? m->block : BARE_BLOCK;
	a->marks = (uint64_t *)m->issuer_marks.p;
	a->pairs = (struct clock_pair *)m->issuer_pairs.p;
	a->out = (struct issue_out *)m->out.p;
	path_helper_hands(m, c, a);
}
