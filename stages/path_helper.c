/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper in a pass of `path`: its memory, what it is given, what came of it. Where the route
 * has none these functions do nothing.
 */
#include "harness/err.h"
#include "stages/issuer/boundary.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HELPER_S 20.0           /* to start, or to stop */

/* Behind the descriptors, a line each. */
enum { LINE = 64, HAND_PROGRESS = 0, HAND_ARMED = 2 * LINE, HAND_WORDS = 4 * LINE };

static size_t ring_bytes(const struct path_conf *c) { return ((size_t)HAND_SLOT << c->log_n) + LINE; }
static uint8_t *hand_words(const struct path_mem *m, const struct path_conf *c) { return m->hand.p + ring_bytes(c); }

/* Messages of a block, and blocks that are kept of a pass. */
static uint32_t helper_block(const struct path_mem *m, int record) { return record ? m->block : BARE_BLOCK; }
static uint32_t helper_blocks(const struct path_mem *m, const struct path_conf *c, int record)
{
	return (uint32_t)(c->messages / helper_block(m, record)) + 3;
}

int path_helper_init(struct path_mem *m, const struct path_conf *c)
{
	uint32_t blocks = helper_blocks(m, c, 1);
	int rc;

	m->event = -1;
	if (!route_helped(c->route))
		return 0;
	if ((rc = place_alloc(&m->hand, PLACE_HOST, ring_bytes(c) + HAND_WORDS, 4096, c->pinned)) ||
	    (rc = place_alloc(&m->relay, PLACE_HOST, ((size_t)1 << c->log_n) * CQE_SIZE, 4096, c->pinned)))
		return rc;
	m->helper_marks = calloc((size_t)m->keep * HELPER_SLOTS, 8);
	m->helper_pairs = calloc(blocks, sizeof(*m->helper_pairs));
	m->helper_stage = aligned_alloc(LINE, (size_t)m->block * SINK_SLOTS * 8);
	if (!m->helper_marks || !m->helper_pairs || !m->helper_stage)
		return fs_fail(ENOMEM, "no memory for a helper's marks");
	if (c->notify == NOTIFY_INTERRUPT && (m->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return fs_fail(errno, "eventfd: %s", strerror(errno));
	return 0;
}

void path_helper_term(struct path_mem *m)
{
	place_free(&m->hand);
	place_free(&m->relay);
	free(m->helper_marks);
	free(m->helper_pairs);
	free(m->helper_stage);
	m->helper_marks = m->helper_stage = NULL;
	m->helper_pairs = NULL;
	if (m->event >= 0)
		close(m->event);
	m->event = -1;
}

int path_helper_reset(struct path_mem *m, const struct path_conf *c)
{
	uint64_t old;
	int rc;

	if (!route_helped(c->route))
		return 0;
	if ((rc = place_set(&m->hand, 0)) || (rc = place_set(&m->relay, 0xff)))
		return rc;
	memset(m->helper_stage, 0, (size_t)m->block * SINK_SLOTS * 8);
	if (m->event >= 0 && read(m->event, &old, sizeof(old)) < 0 && errno != EAGAIN)
		return fs_fail(errno, "eventfd: %s", strerror(errno));
	return 0;
}

/* What the issuer and the NIC have to know of it. */
void path_helper_hands(const struct path_mem *m, const struct path_conf *c, struct issue_args *a)
{
	if (!route_helped(c->route))
		return;
	a->hand = m->hand.p;
	a->tail = (uint64_t *)(m->home.p + LINE / 2);
	a->progress = (const uint64_t *)(hand_words(m, c) + HAND_PROGRESS);
	if (c->route.submitter == SUBMITTER_HOST_DOORBELL)
		a->q.db = m->hand.p;
	if (c->route.consumer == CONSUMER_CPU)
		a->q.cq = m->relay.p;
	/* where nobody completes, how far the helper is makes room: nobody overtakes it by a lap */
	if (!c->nic->completes)
		a->q.ci_word = (uint64_t *)(hand_words(m, c) + HAND_PROGRESS);
}

void path_helper_events(const struct path_mem *m, const struct path_conf *c, struct engine *e)
{
	if (m->event < 0)
		return;
	e->armed = (uint64_t *)(hand_words(m, c) + HAND_ARMED);
	e->event = m->event;
}

static uint32_t helper_fault_of(const struct path_conf *c)
{
	switch (c->fault) {
	case FAULT_STUCK_WORKER: return HF_STUCK;
	case FAULT_KILLED_WORKER: return HF_KILLED;
	case FAULT_DEAF_CONSUMER: return HF_DEAF;
	case FAULT_FAILED_LAUNCH: return HF_LAUNCH;
	default: return HF_NONE;
	}
}

int path_helper_start(const struct path_mem *m, const struct path_conf *c, const struct pass *p,
		      const struct sink_conf *all, struct helper **h)
{
	struct issue_args issuer;
	struct helper_args a;

	*h = NULL;
	if (!route_helped(c->route))
		return 0;
	/* it resolves as the issuer would, and rings where the issuer would */
	path_issue(m, c, p, all, &issuer);
	memset(&a, 0, sizeof(a));
	a.q = issuer.q;
	a.q.db = path_db(m);
	a.q.cq = m->cq.p;
	a.route = c->route;
	a.hand = m->hand.p;
	a.progress = (uint64_t *)(hand_words(m, c) + HAND_PROGRESS);
	a.relay = m->relay.p;
	a.keys = issuer.keys;
	a.chunk_shift = issuer.chunk_shift;
	a.local = (uint64_t)issuer.local;
	a.remote = (uint64_t)issuer.remote_view;
	a.mode = c->choice.mode;
	a.instr = p->instr;
	a.batch = c->proxy_batch;
	a.event = m->event;
	a.armed = (uint64_t *)(hand_words(m, c) + HAND_ARMED);
	a.crowded = c->crowded;
	path_boundary_kernels(m, c, &a.kernels);
	source_help(m, c, &a.source);
	a.fault = p->instr == FLEX ? helper_fault_of(c) : (uint32_t)HF_NONE;
	a.fault_at = p->warmup + p->messages / 2;
	path_sink(c, all, AGENT_HELPER, &a.sink);
	a.sink.block = m->block;
	a.block = helper_block(m, p->record);
	a.blocks = helper_blocks(m, c, p->record);
	a.keep = p->record && p->instr != BARE ? m->keep : 0;
	a.stage = m->helper_stage;
	a.marks = m->helper_marks;
	a.pairs = m->helper_pairs;
	return helper_start(&a, c->helper_cpu, HELPER_S, h);
}

int path_helper_stop(struct helper *h, struct pass *p)
{
	return h ? helper_stop(h, HELPER_S, &p->help) : 0;
}

int path_helper_collect(const struct path_mem *m, const struct path_conf *c, struct pass *p)
{
	uint32_t block = helper_block(m, p->record), blocks = helper_blocks(m, c, p->record);
	uint64_t first = p->out.first;

	if (!route_helped(c->route))
		return 0;
	p->helper_pairs = calloc(p->npairs, sizeof(*p->helper_pairs));
	if (!p->helper_pairs)
		return fs_fail(ENOMEM, "no memory for marks");
	for (uint64_t b = 0; b < p->npairs; b++)
		p->helper_pairs[b] = first / block + b ? m->helper_pairs[(first / block + b - 1) % blocks] : p->help.begin;
	if (!p->record || p->instr == BARE)
		return 0;
	p->helper_marks = malloc(p->messages * HELPER_SLOTS * 8);
	if (!p->helper_marks)
		return fs_fail(ENOMEM, "no memory for marks");
	for (uint64_t i = 0; i < p->messages; i++)
		memcpy(p->helper_marks + i * HELPER_SLOTS, m->helper_marks + (first + i) % m->keep * HELPER_SLOTS, HELPER_SLOTS * 8);
	return 0;
}

const char *path_helper_words(const struct pass *p, const struct path_conf *c, char *buf, size_t len)
{
	const struct helper_status *h = &p->help;
	buf[0] = '\0';
	if (!route_helped(c->route))
		return buf;
	switch (h->end) {
	case HELPER_OVERRUN:
		snprintf(buf, len, "; the ring of descriptors was overrun: where message %llu should stand the proxy found message %llu",
			 (unsigned long long)h->taken, (unsigned long long)h->found);
		return buf;
	case HELPER_FOREIGN:
		snprintf(buf, len, "; the helper was handed a word that announces nothing, after message %llu", (unsigned long long)h->taken);
		return buf;
	case HELPER_EVENT:
		snprintf(buf, len, "; the consumer's epoll failed: %s", strerror(h->error));
		return buf;
	case HELPER_DIED:
		snprintf(buf, len, "; the helper's thread had ended: taken %llu, passed on %llu", (unsigned long long)h->taken,
			 (unsigned long long)h->relayed);
		return buf;
	case HELPER_SOURCE:
		snprintf(buf, len, "; the proxy could not register the memory of message %llu, or take it back: %s", (unsigned long long)h->relayed, h->why);
		return buf;
	default:
		break;
	}
	if (h->lost)
		snprintf(buf, len, "; the consumer slept while a CQE was there: the NIC raised no event (completions passed on %llu)",
			 (unsigned long long)h->relayed);
	else if (c->route.submitter == SUBMITTER_GPU)
		snprintf(buf, len, "; the consumer passed on %llu completions", (unsigned long long)h->relayed);
	else if (c->route.consumer == CONSUMER_CPU)
		snprintf(buf, len, "; the helper rang for %llu, passed on %llu completions", (unsigned long long)h->taken, (unsigned long long)h->relayed);
	else
		snprintf(buf, len, "; the helper rang for %llu", (unsigned long long)h->taken);
	return buf;
}

static int count_row(const struct path_conf *c, const char *metric, const char *unit, double mean, uint64_t n, struct rows *out)
{
	struct row *r = path_row(out, c, "-", metric, unit);

	if (!r)
		return -ENOMEM;
	summary_one(&r->s, mean);
	r->s.n = n;
	path_origin(r, c, 0);
	return 0;
}

int path_helper_rows(const struct pass *p, const struct path_conf *c, struct rows *out)
{
	const struct helper_pair *a, *z;
	double n = (double)p->messages, ns;
	int rc;

	if (!p->helper_pairs || p->npairs < 2)
		return 0;
	a = p->helper_pairs;
	z = a + p->npairs - 1;
	ns = (double)(z->at.wall - a->at.wall);
	/* of whole blocks, their pauses and flushes included: that is what its CPU was kept for */
	if ((rc = count_row(c, "helper_cpu", "ns/msg", (double)(z->cpu_ns - a->cpu_ns) / n, p->messages, out)) ||
	    (rc = count_row(c, "helper_cores", "cores", ns > 0 ? (double)(z->cpu_ns - a->cpu_ns) / ns : 0, p->messages, out)) ||
	    (rc = count_row(c, "helper_switches", "count/msg", (double)(z->waited - a->waited) / n, p->messages, out)) ||
	    (rc = count_row(c, "helper_preempted", "count/msg", (double)(z->preempted - a->preempted) / n, p->messages, out)))
		return rc;
	if (c->route.submitter != SUBMITTER_GPU &&
	    (rc = count_row(c, "helper_rings", "count/msg", (double)(z->rings - a->rings) / n, p->messages, out)))
		return rc;
	if (c->boundary == BOUNDARY_FUTEX && z->launches > a->launches)
		return count_row(c, "asleep", "share", (double)(z->sleeps - a->sleeps) / (double)(z->launches - a->launches),
				 z->launches - a->launches, out);
	if (c->notify != NOTIFY_INTERRUPT)
		return 0;
	if ((rc = count_row(c, "sleeps", "count/msg", (double)(z->sleeps - a->sleeps) / n, p->messages, out)))
		return rc;
	return count_row(c, "wakeups", "count/msg", (double)(z->wakeups - a->wakeups) / n, p->messages, out);
}
