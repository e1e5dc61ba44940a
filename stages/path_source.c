/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a message's payload comes from when it isn't in memory that stays registered: memory
 * that is registered before the message and taken back behind it, or memory that is copied
 * into a registered buffer. Both are done by the issuer's CPU thread between two messages, outside the
 * marks, and timed each by CLOCK_MONOTONIC_RAW, as the probe `register` does.
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
	struct reg all;          /* the memory of all slots */
	struct reg held;         /* the slot that is registered */
	uint64_t message;        /* of that one */
	int holds, verified;
	double *before, *after;  /* ns, of the pass's messages, [cap] */
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
	if (s->message < s->cap)
		s->after[s->message] = (double)t;
	return rc;
}

/* With ordering=none the NIC's reads race with it, which is what that order is there to show; a race
 * checker is to look for others, so there it is made of atomic stores, as payloads are elsewhere. */
static void staging_copy(uint8_t *to, const uint8_t *from, size_t n)
{
#ifdef __SANITIZE_THREAD__
	for (size_t i = 0; i < n; i++)
		st8(to + i, from[i]);
#else
	memcpy(to, from, n);
#endif
}

/* The slot's memory, with what this message sends in it. */
static int give(struct source *s, uint64_t m)
{
	const struct path_conf *c = s->c;
	struct coop alone = { 0, 1 };
	uint8_t *at = slot_at(s->all.host.p, c, m);
	uint64_t t;
	int rc = 0;

	job_fill(at, c->size, m, alone);
	s->held = s->all;
	s->held.host.p = at;
	s->held.p = at;
	s->held.bytes = s->held.host.bytes = (c->size + c->host_page - 1) / c->host_page * c->host_page;
	s->message = m;
	t = mono_ns();
	if (c->registration == REGISTERED_STAGED) {
		staging_copy(slot_at(s->m->src.p, c, m), at, c->size);
	} else {
		rc = c->mech->make(&s->held);
		if (!rc)
			key_write(s, at);
	}
	t = mono_ns() - t;
	if (m < s->cap)
		s->before[m] = (double)t;
	if (rc || c->registration == REGISTERED_STAGED)
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
	rc = c->registration == REGISTERED_STAGED ? reg_host_open(&s->all) : c->mech->open(&s->all);
	if (rc == 1)
		snprintf(m->lacks, sizeof(m->lacks), "%s", s->all.why);
	if (rc || c->registration == REGISTERED_STAGED)
		return rc;
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
	if (s->c->registration == REGISTERED_STAGED)
		reg_host_close(&s->all);
	else
		s->c->mech->close(&s->all);
	free(s->before);
	free(s->after);
	free(s);
	m->source = NULL;
}

int source_begin(const struct path_mem *m, const struct path_conf *c, const struct pass *p)
{
	struct source *s = m->source;

	s->c = c;
	s->cap = p->warmup + p->messages;
	free(s->before);
	free(s->after);
	s->before = malloc(s->cap * sizeof(double));
	s->after = malloc(s->cap * sizeof(double));
	if (!s->before || !s->after)
		return fs_fail(ENOMEM, "no memory for samples");
	for (uint64_t i = 0; i < s->cap; i++)
		s->before[i] = s->after[i] = c->registration == REGISTERED_STAGED ? 0 : NAN;
	return 0;
}

int source_end(const struct path_mem *m) { return take_back(m->source); }

int source_collect(const struct path_mem *m, struct pass *p)
{
	const struct source *s = m->source;
	size_t bytes = p->messages * sizeof(double);

	if (p->out.first + p->messages > s->cap)
		return fs_fail(EPROTO, "the warm-up was longer than planned");
	p->before = malloc(bytes);
	p->after = malloc(bytes);
	if (!p->before || !p->after)
		return fs_fail(ENOMEM, "no memory for samples");
	memcpy(p->before, s->before + p->out.first, bytes);
	memcpy(p->after, s->after + p->out.first, bytes);
	return 0;
}
