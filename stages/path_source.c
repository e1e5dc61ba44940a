/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a message's payload comes from when it isn't in memory that stays registered: memory
 * that is registered before the message and taken back behind it, or memory that is copied
 * into a registered buffer, between two messages and outside the marks. The issuer copies, by its own clock
 * (issuer/staging.h). A CPU thread registers, by CLOCK_MONOTONIC_RAW, as the probe `register` does: the issuer's; or a proxy,
 * of what it is handed, and then both lie inside the message.
 *
 * Registering is what the mechanism does for a device (mlock, cudaHostRegister), and then what the
 * NIC needs: page entries and the key's entry in its tables. Taking back: the key's entry first, the
 * generation that tells the NIC's cache, then the mechanism's inverse. Between the two a
 * message that reads the memory ends in an error, so that a point that succeeds has been
 * registered each time.
 */
#include "harness/clock.h"
#include "harness/err.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	const struct path_conf *c;
	struct path_mem *m;
	struct reg all;          /* the memory of all slots, the host's; or */
	struct buf gpu;          /* of a GPU's that is copied from */
	struct buf ticks;        /* what the copies took, [keep + 1][STAGED_WORDS] */
	int pinned;              /* a GPU reaches it */
	struct reg held;         /* the slot that is registered */
	uint64_t message;        /* of that one */
	int holds, verified;
	double *before, *after;  /* ns, message m's at m % cap */
	uint64_t cap;
};

static uint8_t *slot_at(uint8_t *base, const struct path_conf *c, uint64_t message)
{
	return base + (message & (c->slots - 1)) * c->stride;
}

/* What the NIC's tables say of the local key. All stores relaxed: the doorbell releases them. */
static void key_write(const struct source *s, const uint8_t *at)
{
	const struct path_conf *c = s->c;
	uint8_t *tables = path_tables(s->m);
	struct mkey *k = (struct mkey *)tables + (path_key(c, 0, 0) >> 8);
	uint64_t *pte = (uint64_t *)(tables + s->m->ptes_off), pages = c->stride >> c->page_shift;

	for (uint64_t i = 0; i < pages; i++)
		st64(pte + i, ((uint64_t)at + (i << c->page_shift)) | PTE_PRESENT);
	st64(&k->start, (uint64_t)at);
	st64(&k->len, c->stride);
	st64(&k->pages, pair32(0, (uint32_t)pages));
	st64(&k->id, pair32(path_key(c, 0, 0), MKEY_VALID | MKEY_LOCAL_READ | MKEY_LOCAL_WRITE | c->page_shift << MKEY_SHIFT_BIT));
}

static void key_take_back(const struct source *s)
{
	uint8_t *tables = path_tables(s->m), *gen = tables + s->m->gen_off;
	struct mkey *k = (struct mkey *)tables + (path_key(s->c, 0, 0) >> 8);

	st64(&k->id, 0);
	st64_release_sys(gen, ld64(gen) + 1);
}

static int take_back(struct source *s)
{
	uint64_t t = mono_ns();
	int rc;

	if (!s->holds)
		return 0;
	key_take_back(s);
	rc = s->c->mech->undo(&s->held);
	t = mono_ns() - t;
	s->holds = 0;
	if (s->cap)
		s->after[s->message % s->cap] = (double)t;
	return rc;
}

/* The slot's memory, with what this message sends in it. */
static int give(struct source *s, uint64_t m)
{
	const struct path_conf *c = s->c;
	struct coop alone = { 0, 1 };
	uint8_t *at = slot_at(s->all.host.p, c, m);
	uint64_t t;
	int rc;

	if (!path_registers_inside(c)) /* there the issuer has filled it */
		job_fill(at, c->size, m, alone);
	s->held = s->all;
	s->held.host.p = at;
	s->held.p = at;
	s->held.bytes = s->held.host.bytes = (c->size + c->host_page - 1) / c->host_page * c->host_page;
	s->message = m;
	t = mono_ns();
	if (!(rc = c->mech->make(&s->held)))
		key_write(s, at);
	t = mono_ns() - t;
	s->before[m % s->cap] = (double)t;
	if (rc)
		return rc;
	s->holds = 1;
	if (!s->verified) /* outside what is timed, once */
		rc = c->mech->verify(&s->held);
	s->verified = 1;
	return rc == 1 ? fs_fail(EFAULT, "%s", s->held.why) : rc;
}

int source_ready(void *source, uint64_t m)
{
	struct source *s = source;
	int rc = take_back(s);

	return rc ? rc : give(s, m);
}

static int staging_init(struct source *s, const struct path_conf *c)
{
	int issuer = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST;
	int rc = place_alloc(&s->ticks, issuer, ((size_t)s->m->keep + 1) * STAGED_WORDS * 8, 4096, c->pinned);

	if (rc)
		return rc;
	if (c->staged_from != PLACE_HOST)
		return place_alloc(&s->gpu, c->staged_from, s->all.bytes, 4096, c->pinned);
	if ((rc = reg_host_open(&s->all)) || issuer == PLACE_HOST)
		return rc;
	/* not for the NIC: a GPU reaches no other memory of the host's */
	rc = pages_pin(&s->all.host);
	s->pinned = !rc;
	return rc;
}

int source_init(struct path_mem *m, const struct path_conf *c)
{
	struct source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fs_fail(ENOMEM, "no memory for a source");
	m->source = s;
	s->c = c;
	s->m = m;
	s->all.device = c->reg_device;
	s->all.fd = -1;
	s->all.bytes = c->slots * c->stride;
	s->all.host.page = c->host_page;
	rc = c->registration == REGISTERED_STAGED ? staging_init(s, c) : c->mech->open(&s->all);
	if (rc == 1)
		snprintf(m->lacks, sizeof(m->lacks), "%s", s->all.why);
	if (rc || c->registration == REGISTERED_STAGED)
		return rc;
	if (c->issuer_gpu >= 0 && (rc = pages_pin(&s->all.host)))
		return rc;
	s->pinned = c->issuer_gpu >= 0;
	m->src = (struct buf){ .p = s->all.host.p, .bytes = s->all.bytes, .place = PLACE_HOST, .kept = 1 };
	return 0;
}

/* Until something is registered nobody may read it. */
void source_forbid(const struct path_mem *m)
{
	const struct source *s = m->source;

	if (s && s->c->registration == REGISTERED_ON_DEMAND)
		key_take_back(s);
}

void source_term(struct path_mem *m)
{
	struct source *s = m->source;

	if (!s)
		return;
	take_back(s);
	if (s->pinned)
		pages_unpin(&s->all.host);
	if (s->c->registration == REGISTERED_STAGED)
		reg_host_close(&s->all);
	else
		s->c->mech->close(&s->all);
	place_free(&s->gpu);
	place_free(&s->ticks);
	free(s->before);
	free(s->after);
	free(s);
	m->source = NULL;
}

int source_begin(const struct path_mem *m, const struct path_conf *c)
{
	struct source *s = m->source;

	if (c->registration == REGISTERED_STAGED)
		return 0;
	s->cap = m->keep; /* as many as are measured, wherever the warm-up ends */
	free(s->before);
	free(s->after);
	s->before = malloc(s->cap * sizeof(double));
	s->after = malloc(s->cap * sizeof(double));
	if (!s->before || !s->after)
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < s->cap; i++)
		s->before[i] = s->after[i] = NAN;
	return 0;
}

static int source_back(void *source) { return take_back(source); }

void source_help(const struct path_mem *m, const struct path_conf *c, struct helper_source *h)
{
	if (m->source && path_registers_inside(c))
		*h = (struct helper_source){ source_ready, source_back, m->source };
}

int source_staging(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct issue_staging *g)
{
	const struct source *s = m->source;

	if (!s || c->registration != REGISTERED_STAGED)
		return 0;
	g->source = c->staged_from == PLACE_HOST ? s->all.host.p : s->gpu.p;
	g->ticks = (uint64_t *)s->ticks.p;
	g->lost_at = p->instr == FLEX && c->fault == FAULT_LOST_COPY ? p->messages / 2 : ~0ull;
	return 1;
}

int source_end(const struct path_mem *m) { return take_back(m->source); }

/* Ticks of the copies to ns, each by its block's own rate. */
static int staging_collect(const struct source *s, struct pass *p)
{
	size_t bytes = p->messages * STAGED_WORDS * 8;
	uint64_t *t = malloc(bytes);
	int fence = s->c->issuer_gpu >= 0; /* a CPU has none there */
	int rc = t ? place_read(&s->ticks, 0, t, bytes) : fs_fail(ENOMEM, "no memory for samples");

	for (uint64_t i = 0; !rc && i < p->messages; i++) {
		double f = pairs_rate(p->pairs, p->npairs, i / s->m->block), fenced = (double)t[i * STAGED_WORDS + STAGED_FENCE] * f;

		p->before[i] = (double)t[i * STAGED_WORDS + STAGED_COPY] * f + (fence ? fenced : 0);
		p->after[i] = 0;
		p->fenced[i] = fence ? fenced : NAN;
	}
	free(t);
	return rc;
}

int source_collect(const struct path_mem *m, struct pass *p)
{
	const struct source *s = m->source;
	size_t bytes = p->messages * sizeof(double);
	int staged = s->c->registration == REGISTERED_STAGED;

	p->before = malloc(bytes);
	p->after = malloc(bytes);
	p->fenced = malloc(bytes);
	if (!p->before || !p->after || !p->fenced)
		return fs_fail(ENOMEM, "no memory for samples");
	if (staged)
		return staging_collect(s, p);
	for (uint64_t i = 0; i < p->messages; i++) {
		p->before[i] = s->before[(p->out.first + i) % s->cap];
		p->after[i] = s->after[(p->out.first + i) % s->cap];
		p->fenced[i] = NAN;
	}
	return 0;
}
