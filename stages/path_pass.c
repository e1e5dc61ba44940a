/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a queue: reset its memory, start the NIC, run the issuer, stop
 * the NIC, bring marks and counters to the host, check what can only be checked
 * at the end. What the agents are given is in path_args.c, what came of them in path_verdict.c.
 */
#include "harness/err.h"
#include "stages/path_parts.h"
#include "stages/path_layout.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define START_S 20.0            /* for a NIC to become ready, or to stop */
#define PASS_S 100.0            /* for a GPU issuer's kernel */

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

/* Its memory as it is before the first message, and the sources of those that are checked or registered. */
static int make_ready(struct path_mem *m, const struct path_conf *c, struct pass *p)
{
	uint64_t block = p->record ? m->block : BARE_BLOCK, unit = p->plants ? 2 * block : block;
	int rc;

	/* to where the issuer ends its warm-up: messages count from there; of plants from an even block on, whose pauses are the next one's */
	p->warmup = (p->warmup + unit - 1) / unit * unit;
	if ((rc = path_mem_reset(m, c)) || (c->check == CHECK_END && (rc = end_slots(m, c, p, 1))))
		return rc;
	return m->source ? source_begin(m, c) : 0;
}

/* The issuer's part, until its last message is noticed or a wait has run out. */
static int issue(const struct path_mem *m, const struct path_conf *c, const struct pass *p, const struct issue_args *a,
		 struct issue_choice choice)
{
	struct issue_hook hook = { source_ready, m->source };
	struct issue_staging staging;
	const struct issue_staging *staged = source_staging(m, c, p, &staging) ? &staging : NULL;

	if (m->boundary) {
		path_boundary_run(m, c, p, PATH_WAIT_NS);
		return 0;
	}
	return c->issuer_gpu >= 0 ? issuer_gpu_run(a, choice, staged, c->issuer_gpu, PASS_S) :
				    issuer_cpu_run(a, choice, m->stage, &hook, staged);
}

int path_pass(struct path_mem *m, const struct path_conf *c, struct pass *p)
{
	struct nic_pass np = { .usual = path_usual(c, p), .instr = p->instr, .gpu = c->nic_gpu, .cpu = c->nic_cpu, .crowded = c->crowded,
			       .start_s = START_S, .stop_s = START_S };
	struct issue_choice choice = path_choice(c, p);
	struct issue_args a;
	struct sink_conf sink;
	struct nic_run *run = NULL;
	struct helper *helper = NULL;
	int rc, rc2;

	if ((rc = make_ready(m, c, p)))
		return rc;
	path_sinks(m, c, p, &sink);
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
	if (!rc)
		rc = issue(m, c, p, &a, choice);
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
		rc = path_verdict(c, p);
	if (!rc && !c->nic->completes)
		rc = path_verify_null(m, c, p);
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
