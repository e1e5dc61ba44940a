/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a queue: reset its memory, start the NIC, run the issuer, stop
 * the NIC, bring marks and counters to the host, check what can only be checked
 * at the end.
 */
#include "harness/err.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS 2000000000ull   /* of any one wait of an agent */
#define START_S 20.0            /* for a NIC to become ready, or to stop */
#define PASS_S 100.0            /* for a GPU issuer's kernel */

static const struct { int wqe, nic; } fault_table[FAULTS] = {
	[FAULT_OPCODE] = { WF_OPCODE, 0 }, [FAULT_DS] = { WF_DS, 0 }, [FAULT_KEY] = { WF_KEY, 0 },
	[FAULT_LKEY] = { WF_LKEY, 0 }, [FAULT_LENGTH] = { WF_LENGTH, 0 }, [FAULT_QPN] = { WF_QPN, 0 },
	[FAULT_INDEX] = { WF_INDEX, 0 },
	[FAULT_DEAD_NIC] = { 0, EF_DEAD }, [FAULT_LOST_DOORBELL] = { 0, EF_LOST_DOORBELL },
	[FAULT_STALE_RECORD] = { 0, EF_STALE_RECORD }, [FAULT_ERROR_CQE] = { 0, EF_ERROR_CQE },
	[FAULT_LOST_CQE] = { 0, EF_LOST_CQE }, [FAULT_SLOW_NIC] = { 0, EF_SLOW },
	[FAULT_RING_OVERRUN] = { WF_OVERRUN, 0 }, [FAULT_LOST_WAKEUP] = { 0, EF_LOST_EVENT },
};

static void sink_fill(const struct path_conf *c, const struct pass *p, struct sink_conf *s)
{
	const struct interval *t;
	int n = interval_table(c->route, &t);

	memset(s, 0, sizeof(*s));
	s->all = p->all;
	s->gettime = c->gettime;
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

/* Where marks are kept every message has its own CQE: in the pass that settles too. */
static uint32_t signal_of(const struct path_conf *c, const struct pass *p) { return p->record ? 1 : c->signal; }

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
	a->wait_ns = WAIT_NS;
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

/* With check=end every measured message has a slot of its own: the source is
 * filled before, the target compared after. */
static int end_slots(struct path_mem *m, const struct path_conf *c, struct pass *p, int fill)
{
	const struct buf *b = fill ? &m->src : &m->dst;
	struct coop alone = { 0, 1 };
	uint8_t *tmp = calloc(c->slots, c->stride);
	uint64_t first = fill ? p->warmup : p->out.first, i;
	int rc = 0;

	if (!tmp)
		return fs_fail(ENOMEM, "no memory to check payloads");
	if (!fill)
		rc = place_read(b, 0, tmp, c->slots * c->stride);
	for (i = first; !rc && i < first + p->messages; i++) {
		uint8_t *at = tmp + (i & (c->slots - 1)) * c->stride;

		if (fill)
			job_fill(at, c->size, i, alone);
		else
			p->end_wrong += job_check(at, c->size, i, alone);
	}
	if (fill && !rc)
		rc = place_write(b, 0, tmp, c->slots * c->stride);
	free(tmp);
	return rc;
}

static void *fetch(const struct buf *b, size_t off, size_t bytes, int *rc)
{
	void *x = malloc(bytes ? bytes : 1);

	if (!x)
		*rc = fs_fail(ENOMEM, "no memory for marks");
	else if (!*rc)
		*rc = place_read(b, off, x, bytes);
	return x;
}

/* The NIC's records of messages first..first+n-1, out of its ring of them, and
 * its clock at both ends of each of their blocks. */
static int collect_nic(const struct path_mem *m, struct pass *p)
{
	uint64_t first = p->out.first, blocks = m->keep / m->block, nb = (p->messages + m->block - 1) / m->block;
	struct clock_pair *ring;
	uint64_t *marks;
	int rc = 0;

	marks = fetch(&m->nic_marks, 0, (uint64_t)m->keep * NIC_SLOTS * 8, &rc);
	ring = fetch(&m->nic_pairs, 0, blocks * sizeof(*ring), &rc);
	p->nic_marks = malloc(p->messages * NIC_SLOTS * 8);
	p->nic_pairs = malloc((nb + 1) * sizeof(*ring));
	if (!rc && (!p->nic_marks || !p->nic_pairs))
		rc = fs_fail(ENOMEM, "no memory for marks");
	for (uint64_t i = 0; !rc && i < p->messages; i++)
		memcpy(p->nic_marks + i * NIC_SLOTS, marks + (first + i) % m->keep * NIC_SLOTS, NIC_SLOTS * 8);
	for (uint64_t b = 0; !rc && b <= nb; b++)
		p->nic_pairs[b] = first / m->block + b ? ring[(first / m->block + b - 1) % blocks] : p->nic.begin;
	free(marks);
	free(ring);
	return rc;
}

static int collect(struct path_mem *m, const struct path_conf *c, struct pass *p)
{
	uint32_t block = p->record ? m->block : BARE_BLOCK;
	int rc = 0;

	p->npairs = 1 + (p->messages + block - 1) / block;
	p->pairs = fetch(&m->issuer_pairs, 0, p->npairs * sizeof(*p->pairs), &rc);
	if (p->record)
		p->marks = fetch(&m->issuer_marks, 0, p->messages * ISSUER_SLOTS * 8, &rc);
	if (!rc && p->instr != BARE && c->nic->completes)
		rc = collect_nic(m, p);
	if (!rc)
		rc = path_helper_collect(m, c, p);
	if (!rc && c->check == CHECK_END)
		rc = end_slots(m, c, p, 0);
	if (!rc && m->source)
		rc = source_collect(m, p);
	return rc;
}

static const char *syndrome_words(uint64_t s)
{
	switch (s) {
	case SYND_LOCAL_LENGTH: return "local length error";
	case SYND_LOCAL_QP_OP: return "local QP operation error";
	case SYND_LOCAL_PROT: return "local protection error";
	case SYND_FLUSHED: return "flushed";
	case SYND_LOCAL_ACCESS: return "local access error";
	case SYND_REMOTE_INVALID: return "remote invalid request error";
	case SYND_REMOTE_ACCESS: return "remote access error";
	case SYND_REMOTE_OP: return "remote operation error";
	default: return "unknown syndrome";
	}
}

/* How far each mark got, for a wait that ran out. */
static const char *progress_words(const struct pass *p, const struct path_conf *c, char *buf, size_t len)
{
	const uint64_t *l = p->nic.last;

	snprintf(buf, len, "messages that reached each mark: %s %llu, seen %llu, fetched %llu, translated %llu, written %llu, completed %llu, noticed %llu",
		 mark_table[route_submitted(c->route)].name, (unsigned long long)p->out.posted, (unsigned long long)l[NS_SEEN],
		 (unsigned long long)l[NS_FETCHED], (unsigned long long)l[NS_TRANSLATED],
		 (unsigned long long)l[NS_WRITTEN], (unsigned long long)l[NS_COMPLETED],
		 (unsigned long long)p->out.done);
	return buf;
}

static int verdict(const struct path_conf *c, const struct pass *p)
{
	const struct issue_out *o = &p->out;
	char words[256], help[200];

	switch (o->status) {
	case ISSUE_OK:
		break;
	case ISSUE_CQE_ERROR:
		return fs_fail(EREMOTEIO, "message %llu: CQE with syndrome 0x%02llx (%s), vendor 0x%02llx, wqe_counter %llu%s",
			       (unsigned long long)o->done, (unsigned long long)o->syndrome, syndrome_words(o->syndrome),
			       (unsigned long long)o->vendor, (unsigned long long)o->counter,
			       path_order_words(c, words, sizeof(words)));
	case ISSUE_TIMEOUT:
		return fs_fail(ETIMEDOUT, "no completion of message %llu in %.0f s; %s%s", (unsigned long long)o->done,
			       WAIT_NS / 1e9, progress_words(p, c, words, sizeof(words)), path_helper_words(p, c, help, sizeof(help)));
	case ISSUE_UNLAUNCHED:
		return fs_fail(EIO, "launch %llu failed: %s", (unsigned long long)p->help.launches, strerror(p->help.error));
	case ISSUE_ODD_CQE:
		return fs_fail(EPROTO, "message %llu: a CQE with wqe_counter %llu", (unsigned long long)o->done,
			       (unsigned long long)o->counter);
	default:
		return fs_fail(EPROTO, "the issuer ended without a status; %s", progress_words(p, c, words, sizeof(words)));
	}
	if (o->wrong_words && strcmp(c->order_class, "unsafe"))
		return fs_fail(EBADMSG, "%llu wrong payload words, first in message %llu",
			       (unsigned long long)o->wrong_words, (unsigned long long)o->wrong_message);
	if (p->end_wrong && strcmp(c->order_class, "unsafe"))
		return fs_fail(EBADMSG, "%llu wrong payload words at the end", (unsigned long long)p->end_wrong);
	if (strcmp(c->order_class, "unsafe") && p->nic.stale_wqe)
		return fs_fail(EBADMSG, "%llu stale WQE fetches in a point whose order is %s",
			       (unsigned long long)p->nic.stale_wqe, c->order_class);
	/* after a recovery the doorbell may have been overtaken; else none is odd */
	if (strcmp(c->order_class, "unsafe") && p->nic.odd_doorbells && !c->recover_every)
		return fs_fail(EBADMSG, "%llu doorbells that announce nothing: foreign, or out of range",
			       (unsigned long long)p->nic.odd_doorbells);
	/* between the first ring and the record, a record behind is legal */
	if (strcmp(c->order_class, "unsafe") && p->nic.stale_record && c->choice.mode != DBM_RING_RECORD_RING)
		return fs_fail(EBADMSG, "%llu stale doorbell records in a point whose order is %s",
			       (unsigned long long)p->nic.stale_record, c->order_class);
	return 0;
}

/* After a pass into `null`, the queue holds exactly what was posted. */
static int verify_null(struct path_mem *m, const struct path_conf *c, const struct pass *p)
{
	uint64_t n = 1ull << c->log_n, i, got[WQE_BLOCKS_MAX * WQE_WORDS], want[WQE_BLOCKS_MAX * WQE_WORDS], pi = p->out.posted;
	struct queue q = { .qpn = PATH_QPN };
	struct resolved x = { 0, 0, 0 };
	uint32_t blocks = post_blocks(c->choice.kind), rec;
	uint32_t words = c->choice.kind == POST_NOP ? 2 : post_is_inline(c->choice.kind) ?
			 wqe_ds_inline(c->size) * 2 : wqe_ds_pointer(c->size) * 2;
	int rd = c->op == WQE_READ, rc;

	for (i = pi > c->depth ? pi - c->depth : 0; i < pi; i++) {
		uint64_t off = (i & (c->slots - 1)) * c->stride;

		x.lkey = path_key(c, 0, path_mr_of(c, i & (c->slots - 1)));
		x.rkey = path_key(c, 1, path_mr_of(c, i & (c->slots - 1)));
		x.raddr = c->choice.kind == POST_NOP ? 0 : (uint64_t)(rd ? m->src.p : m->dst.p) + off;
		wqe_build_at(&q, want, i * blocks, i, &x, (uint64_t)(rd ? m->dst.p : m->src.p) + off, c->size, c->choice.kind);
		wqe_build_second(want + WQE_WORDS, i);
		for (uint32_t k = 0; k < blocks; k++)
			if ((rc = place_read(&m->queue, ((i * blocks + k) & (n - 1)) * WQEBB, got + k * WQE_WORDS, WQEBB)))
				return rc;
		for (uint32_t k = 0; k < words; k++)
			if (got[k] != want[k])
				return fs_fail(EBADMSG, "null: word %u of WQE %llu is %016llx, posted was %016llx", k,
					       (unsigned long long)i, (unsigned long long)got[k], (unsigned long long)want[k]);
	}
	if ((rc = place_read(&m->queue, m->record_off + DBREC_SEND, &rec, 4)) ||
	    (rc = place_read(&m->db, (size_t)(path_db(m) - m->db.p), got, 8)))
		return rc;
	pi *= blocks; /* from messages to indices */
	if (c->choice.mode != DBM_RING && rec != dbrec_value(pi))
		return fs_fail(EBADMSG, "null: the record says %u, the next free index is %llu", dbrec_index(rec), (unsigned long long)pi);
	if (doorbell_is_flame(c->choice.mode)) {
		/* the whole line is the last WQE, words behind its last segment among it */
		if ((rc = place_read(&m->db, (size_t)(path_db(m) - m->db.p), got, WQEBB)))
			return rc;
		for (uint32_t k = 0; pi && k < WQE_WORDS; k++)
			if (got[k] != want[k])
				return fs_fail(EBADMSG, "null: word %u of the doorbell's line is %016llx, stored was %016llx", k,
					       (unsigned long long)got[k], (unsigned long long)want[k]);
	} else if (got[0] != doorbell_value(pi, PATH_QPN))
		return fs_fail(EBADMSG, "null: the doorbell is %016llx, rung was %016llx", (unsigned long long)got[0],
			       (unsigned long long)doorbell_value(pi, PATH_QPN));
	return 0;
}

static int usual_of(const struct path_conf *c, int sparse)
{
	if (doorbell_is_flame(c->choice.mode))
		return USUAL_FLAME;
	if (c->cache)
		return USUAL_CACHED;
	return post_blocks(c->choice.kind) > 1 ? USUAL_TWO : sparse ? USUAL_SPARSE : USUAL;
}

int path_pass(struct path_mem *m, const struct path_conf *c, struct pass *p)
{
	int sparse = signal_of(c, p) > 1;
	struct nic_pass np = { .usual = usual_of(c, sparse), .instr = p->instr, .gpu = c->nic_gpu, .cpu = c->nic_cpu, .crowded = c->crowded,
			       .start_s = START_S, .stop_s = START_S };
	struct issue_choice choice = c->choice;
	struct issue_args a;
	struct sink_conf sink;
	struct issue_hook hook = { source_ready, m->source };
	struct issue_staging staging, *staged = NULL;
	struct nic_run *run = NULL;
	struct helper *helper = NULL;
	uint64_t block = p->record ? m->block : BARE_BLOCK, unit = p->plants ? 2 * block : block;
	int rc, rc2;

	/* to where the issuer ends its warm-up: messages count from there; of plants from an even block on, whose pauses are the next one's */
	p->warmup = (p->warmup + unit - 1) / unit * unit;
	choice.instr = p->instr;
	choice.mode = path_issuer_mode(c);
	choice.cq = c->collapsed || sparse ? CQ_OTHER : CQ_RING;
	if ((choice.staged = source_staging(m, c, p, &staging)))
		staged = &staging;
	sink_fill(c, p, &sink);
	sink.block = m->block;
	if ((rc = path_mem_reset(m, c)) || (c->check == CHECK_END && (rc = end_slots(m, c, p, 1))) ||
	    (m->source && (rc = source_begin(m, c))))
		return rc;
	path_engine(m, c, p, &np.eng);
	path_sink(c, &sink, AGENT_NIC, &np.sink);
	path_issue(m, c, p, &sink, &a);
	if ((rc = path_boundary_open(m, c, p, &a)) ||
	    (!m->boundary && c->issuer_gpu >= 0 && (rc = issuer_gpu_load(choice, c->issuer_gpu))))
		return rc;
	if ((rc = c->nic->start(&np, &run))) {
		if (rc != -EBUSY)
			path_boundary_close(m, c);
		return rc;
	}
	rc = path_helper_start(m, c, p, &sink, &helper);
	disturb_read(&p->d0);
	if (rc)
		;
	else if (m->boundary)
		path_boundary_run(m, c, p, WAIT_NS);
	else if (c->issuer_gpu >= 0)
		rc = issuer_gpu_run(&a, choice, staged, c->issuer_gpu, PASS_S);
	else
		rc = issuer_cpu_run(&a, choice, m->stage, &hook, staged);
	disturb_read(&p->d1);
	rc2 = path_helper_stop(helper, p);
	rc = rc2 == -EBUSY || !rc ? rc2 : rc;
	rc = rc ? rc : path_boundary_stop(m, c, p);
	if (m->source && rc != -EBUSY && (rc2 = source_end(m)) && !rc) /* a helper that would not end still uses it */
		rc = rc2;
	rc2 = c->nic->stop(run, &p->nic);
	/* a NIC that won't stop still uses the memory: that comes before any other reason */
	rc = rc2 == -EBUSY || !rc ? rc2 : rc;
	if (rc != -EBUSY) /* closing may wait for a device on which something is resident */
		path_boundary_close(m, c);
	if (!rc)
		rc = m->boundary ? path_boundary_report(m, c, p, &p->out) : place_read(&m->out, 0, &p->out, sizeof(p->out));
	if (!rc)
		rc = p->out.status == ISSUE_OK ? collect(m, c, p) : 0;
	if (!rc)
		rc = verdict(c, p);
	if (!rc && !c->nic->completes)
		rc = verify_null(m, c, p);
	return rc;
}

void pass_term(struct pass *p)
{
	free(p->marks);
	free(p->pairs);
	free(p->before);
	free(p->after);
	free(p->fenced);
	p->before = p->after = p->fenced = NULL;
	free(p->nic_marks);
	free(p->nic_pairs);
	free(p->helper_marks);
	free(p->helper_pairs);
	p->marks = p->nic_marks = p->helper_marks = NULL;
	p->pairs = p->nic_pairs = NULL;
	p->helper_pairs = NULL;
}
