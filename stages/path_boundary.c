/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submitter=cpu in a pass of `path`: kernels that end, in the place of an issuer that runs. Their
 * memory, what they and their helper are given, and what came of them. Where the route has none
 * these functions do nothing.
 */
#include "harness/err.h"
#include "stages/issuer/boundary.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include "stages/place/start.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_S 20.0            /* for the last kernel to end */

struct path_boundary {
	struct buf state, words;
	struct boundary_args args;
	struct starter start;
	struct boundary_state left; /* the state as the pass left it */
};

static struct boundary_words *words_of(const struct path_mem *m) { return (struct boundary_words *)m->boundary->words.p; }

int path_boundary_init(struct path_mem *m, const struct path_conf *c)
{
	int issuer = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST, rc;

	if (c->route.submitter != SUBMITTER_CPU)
		return 0;
	if (!(m->boundary = calloc(1, sizeof(*m->boundary))))
		return fs_fail(ENOMEM, "no memory for kernels' state");
	rc = place_alloc(&m->boundary->state, issuer, sizeof(struct boundary_state), 4096, c->pinned);
	return rc ? rc : place_alloc(&m->boundary->words, PLACE_HOST, sizeof(struct boundary_words), 4096, c->pinned);
}

void path_boundary_term(struct path_mem *m)
{
	if (!m->boundary)
		return;
	place_free(&m->boundary->state);
	place_free(&m->boundary->words);
	free(m->boundary);
	m->boundary = NULL;
}

static int instr_of(const struct pass *p) { return p->instr == BARE && !p->record ? (int)MUTE : p->instr; }

int path_boundary_open(const struct path_mem *m, const struct path_conf *c, const struct pass *p, const struct issue_args *a)
{
	struct path_boundary *b = m->boundary;
	int rc;

	if (!b)
		return 0;
	if ((rc = place_set(&b->state, 0)) || (rc = place_set(&b->words, 0)))
		return rc;
	memset(&b->args, 0, sizeof(b->args));
	b->args.state = (struct boundary_state *)b->state.p;
	b->args.marks = a->marks;
	b->args.pairs = a->pairs;
	b->args.local = a->local;
	b->args.remote_view = a->remote_view;
	b->args.fresh_at = a->fresh_at;
	b->args.warmup = a->warmup;
	b->args.messages = a->messages;
	b->args.seed = a->seed;
	b->args.slot_mask = a->slot_mask;
	b->args.stride_shift = a->stride_shift;
	b->args.len = a->len;
	b->args.batch = a->batch;
	b->args.fresh = a->fresh;
	b->args.gap_ticks = a->gap_ticks;
	b->args.reads = c->choice.kind == POST_READ;
	/* what carries its payload along is made by the helper, as a library would from what it was told */
	b->args.fill = a->fill && c->choice.kind != POST_NOP && !post_is_inline(c->choice.kind);
	b->args.check = a->check;
	b->args.sink = a->sink;
	return c->issuer_gpu < 0 ? 0 : boundary_gpu_open(&b->start, &b->args, instr_of(p), c->issuer_gpu);
}

void path_boundary_kernels(const struct path_mem *m, const struct path_conf *c, struct helper_kernels *k)
{
	struct path_boundary *b = m->boundary;

	if (!b)
		return;
	k->boundary = c->boundary;
	k->start = &b->start;
	k->words = words_of(m);
	k->total = b->args.warmup + b->args.messages;
	k->batch = b->args.batch;
	k->len = b->args.len;
	k->slot_mask = b->args.slot_mask;
	k->stride_shift = b->args.stride_shift;
	k->kind = c->choice.kind;
}

void path_boundary_run(const struct path_mem *m, const struct path_conf *c, const struct pass *p, uint64_t wait_ns)
{
	/* that a wait ran out is seen by what was not done */
	if (c->issuer_gpu >= 0)
		boundary_await(words_of(m), wait_ns);
	else
		boundary_cpu_run(&m->boundary->args, instr_of(p), words_of(m), wait_ns);
}

int path_boundary_stop(const struct path_mem *m, const struct path_conf *c, const struct pass *p)
{
	const struct helper_status *h = &p->help;
	struct path_boundary *b = m->boundary;
	char what[64];
	int rc = 0;

	if (!b || c->issuer_gpu < 0)
		return 0;
	snprintf(what, sizeof(what), "%s %llu", h->end == HELPER_LAUNCH ? "launch" : "the kernel of launch",
		 (unsigned long long)h->launches + (h->end == HELPER_LAUNCH)); /* these are counted when they went well */
	if (h->end == HELPER_LAUNCH || h->end == HELPER_KERNEL)
		rc = start_why(h->error, what);
	return rc ? rc : start_drain(&b->start, DRAIN_S, "a kernel whose end hands over");
}

/* Behind the NIC's end: destroying a graph may wait for the device. */
void path_boundary_close(const struct path_mem *m, const struct path_conf *c)
{
	if (m->boundary && c->issuer_gpu >= 0)
		start_close(&m->boundary->start);
}

/* The pass as an issuer would report it. */
static void report(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct issue_out *o)
{
	const struct boundary_state *s = &m->boundary->left;
	const struct helper_status *h = &p->help;
	uint64_t total = p->warmup + p->messages;

	memset(o, 0, sizeof(*o));
	o->first = p->warmup;
	o->posted = s->next;
	o->done = s->from;
	o->wrong_words = s->wrong_words;
	o->wrong_message = s->wrong_message;
	o->smid = c->issuer_gpu >= 0 ? s->smid - 1 : 0;
	o->status = s->next == total && s->from == total ? ISSUE_OK : ISSUE_TIMEOUT;
	if (h->end == HELPER_LAUNCH)
		o->status = ISSUE_UNLAUNCHED;
	if (h->end != HELPER_CQE)
		return;
	o->done = h->relayed;
	o->counter = cqe_counter(h->w7);
	o->status = cqe_opcode(h->w7) == CQE_REQ ? ISSUE_ODD_CQE : ISSUE_CQE_ERROR;
	o->syndrome = cqe_syndrome(h->w6);
	o->vendor = cqe_vendor(h->w6);
}

int path_boundary_report(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct issue_out *o)
{
	int rc = place_read(&m->boundary->state, 0, &m->boundary->left, sizeof(m->boundary->left));

	if (!rc)
		report(m, c, p, o);
	return rc;
}

void path_boundary_found(const struct path_mem *m, const struct path_conf *c, struct rows *out)
{
	const struct boundary_state *s;

	if (!m->boundary)
		return;
	s = &m->boundary->left;
	rows_found(out, "boundary", "%s", boundary_names[c->boundary]);
	rows_found(out, c->issuer_gpu >= 0 ? "issuer_step_ns" : "issuer_step_ticks", "%llu", (unsigned long long)s->step);
	if (c->issuer_gpu >= 0)
		rows_found(out, "issuer_sm_moves", "%llu", (unsigned long long)s->moves);
}
