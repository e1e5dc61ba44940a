/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submitter=cpu in a pass of a rate: kernels that end, in the place of issuers that run. Their memory,
 * what they and their worker are given, and what came of them. Where issuers run these functions do nothing.
 */
#include "harness/err.h"
#include "stages/handoff/rate_ends.h"
#include "stages/handoff/rate_parts.h"
#include "stages/issuer/launches.h"
#include <stdlib.h>
#include <string.h>

#define DRAIN_S 20.0            /* for the last kernel to end */

struct rate_ends {
	struct buf words, handed;
	struct ends_args args;
	struct helper_kernels kernels;
	struct starter start;
};

static struct boundary_words *words_of(const struct rate_mem *m) { return (struct boundary_words *)m->ends->words.p; }

int rate_ends_init(struct rate_mem *m, const struct rate_conf *c)
{
	int issuer = c->path.issuer_gpu >= 0 ? c->path.issuer_gpu : PLACE_HOST, rc;

	if (!rate_ending(c))
		return 0;
	if (!(m->ends = calloc(1, sizeof(*m->ends))))
		return fs_fail(ENOMEM, "no memory for kernels that end");
	rc = place_alloc(&m->ends->handed, issuer, c->agents * sizeof(uint64_t), 4096, c->path.pinned);
	return rc ? rc : place_alloc(&m->ends->words, PLACE_HOST, sizeof(struct boundary_words), 4096, c->path.pinned);
}

void rate_ends_term(struct rate_mem *m)
{
	if (!m->ends)
		return;
	place_free(&m->ends->handed);
	place_free(&m->ends->words);
	free(m->ends);
	m->ends = NULL;
}

int rate_ends_open(const struct rate_mem *m, const struct rate_conf *c, int spans)
{
	struct rate_ends *e = m->ends;
	struct rate_args a;
	int rc;

	if (!e)
		return 0;
	if ((rc = place_set(&e->words, 0)) || (rc = place_set(&e->handed, 0)))
		return rc;
	rate_args_fill(m, c, &a);
	e->args = (struct ends_args){
		.out = a.out, .handed = (uint64_t *)e->handed.p, .warmup = a.warmup, .all = a.warmup + a.messages,
		.agents = a.agents, .batch = a.batch, .gettime = a.gettime,
	};
	e->kernels = (struct helper_kernels){
		.boundary = c->path.boundary, .start = &e->start, .words = words_of(m), .total = e->args.all * a.agents,
		.batch = a.agents * a.batch, .len = a.len, .slot_mask = a.slot_mask, .stride_shift = a.stride_shift, .kind = c->path.choice.kind,
	};
	return c->path.issuer_gpu < 0 ? 0 : ends_gpu_open(&e->start, &e->args, spans, c->blocks, c->threads, c->path.issuer_gpu);
}

const struct helper_kernels *rate_ends_kernels(const struct rate_mem *m) { return m->ends ? &m->ends->kernels : NULL; }

/* A function of each form. */
HD void ends_thread(const struct ends_args *a, struct boundary_words *w, uint64_t wait_ns, const int spans)
{
	uint64_t seen = 0;

	while ((seen = launches_next(w, seen, wait_ns))) {
		for (uint32_t i = 0; i < a->agents; i++)
			ends_issuer(a, i, spans);
		st64_published(&w->ended, seen);
	}
}

void ends_cpu_run(const struct ends_args *a, int spans, struct boundary_words *w, uint64_t wait_ns)
{
	if (spans)
		ends_thread(a, w, wait_ns, 1);
	else
		ends_thread(a, w, wait_ns, 0);
}

void rate_ends_run(const struct rate_mem *m, const struct rate_conf *c, int spans, uint64_t wait_ns)
{
	/* that a wait ran out is seen by what was not done */
	if (c->path.issuer_gpu >= 0)
		boundary_await(words_of(m), wait_ns);
	else
		ends_cpu_run(&m->ends->args, spans, words_of(m), wait_ns);
}

int rate_ends_stop(const struct rate_mem *m, const struct rate_conf *c, const struct worker_status *w)
{
	char what[64];
	int rc = 0;

	if (!m->ends || c->path.issuer_gpu < 0)
		return 0;
	/* launches count those that went well */
	snprintf(what, sizeof(what), "%s %llu", w->end == WORKER_LAUNCH ? "launch" : "the kernel of launch",
		 (unsigned long long)w->launches + (w->end == WORKER_LAUNCH));
	if (w->end == WORKER_LAUNCH || w->end == WORKER_KERNEL)
		rc = start_why(w->error, what);
	return rc ? rc : start_drain(&m->ends->start, DRAIN_S, "a kernel whose end hands over");
}

/* Behind the NIC's end: destroying a graph may wait for the device. */
void rate_ends_close(const struct rate_mem *m, const struct rate_conf *c)
{
	if (m->ends && c->path.issuer_gpu >= 0)
		start_close(&m->ends->start);
}
