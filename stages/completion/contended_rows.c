/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a contended message: its intervals on its own clock, and the load that was carried beside. */
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/completion/contended_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 16 };            /* neighbouring messages are not independent */
#define BUSY 0.9                /* from here on the NIC's workers are the limit */
#define KEPT 0.9                /* the part of what a pace asks for that has to be carried */

/* Of stamps `from` to `to`; whose: everybody's, those who post themselves, those of them who share a queue, or hand over. */
enum whose { OF_ALL, OF_POSTING, OF_SHARING, OF_HANDING };
struct piece { int from, to; const char *stage, *interval; enum whose whose; };

static const struct piece pieces[] = {
	{ CONT_INTENT, CONT_NOTICED, "total", "-", OF_ALL },
	{ CONT_INTENT, CONT_RUNG, "submit", "-", OF_ALL },
	{ CONT_INTENT, CONT_RESERVED, "issue", "intent-reserved", OF_ALL },
	{ CONT_RESERVED, CONT_BUILT, "handoff", "reserved-built", OF_POSTING },
	{ CONT_BUILT, CONT_TURN, "queueing", "built-turn", OF_SHARING },
	{ CONT_TURN, CONT_RUNG, "handoff", "turn-rung", OF_POSTING },
	{ CONT_RUNG, CONT_NOTICED, "-", "rung-noticed", OF_POSTING },
	{ CONT_RESERVED, CONT_RUNG, "handoff", "reserved-handed", OF_HANDING },
	{ CONT_RUNG, CONT_NOTICED, "-", "handed-noticed", OF_HANDING },
};

static int piece_is_of(const struct piece *p, const struct cont_conf *c)
{
	if (p->whose == OF_ALL)
		return 1;
	return (p->whose == OF_HANDING) == mode_hands(c->choice.mode) && (p->whose != OF_SHARING || !form_owns(c->choice.form));
}

static int piece_row(const struct cont_conf *c, const struct piece *p, const uint64_t *t, double rate, double *ns, struct rows *out)
{
	int whole = p->from == CONT_INTENT && p->to == CONT_NOTICED;
	struct row *r = path_row(out, &c->rate.path, p->stage, whole && c->choice.trip == TRIP_ROUND ? "rtt" : "latency", "ns");

	if (!r)
		return -ENOMEM;
	for (uint64_t i = 0; i < c->messages; i++)
		ns[i] = (double)(t[i * CONT_STAMPS + p->to] - t[i * CONT_STAMPS + p->from]) * rate;
	snprintf(r->interval, sizeof(r->interval), "%s", p->interval);
	path_origin(r, &c->rate.path, p->to == CONT_NOTICED);
	return summary_of(ns, c->messages, BATCH, &r->s);
}

static int one_row(const struct cont_conf *c, const char *metric, const char *unit, double x, uint64_t n, struct rows *out)
{
	struct row *r = path_row(out, &c->rate.path, "-", metric, unit);

	if (!r)
		return -ENOMEM;
	summary_one(&r->s, x);
	r->s.n = n;
	path_origin(r, &c->rate.path, 1);
	return 0;
}

static double busy_of(const struct cont_conf *c, const struct cont_got *g)
{
	double busy = 0;

	for (uint32_t i = 0; i < c->rate.workers; i++)
		busy += g->nic[i].all ? (double)g->nic[i].busy / (double)g->nic[i].all / c->rate.workers : 0;
	return busy;
}

static void crowd_words(const struct cont_conf *c, char *why, size_t len)
{
	char workers[48] = "";

	if (c->rate.helpers)
		snprintf(workers, sizeof(workers), ", %u worker%s", c->rate.helpers, c->rate.helpers > 1 ? "s" : "");
	snprintf(why, len, "%u posting threads%s and %u of the NIC share %d CPUs: what one waits for is the scheduler",
		 c->choice.device < 0 ? c->choice.agents : 0, workers, c->rate.path.nic->on_gpu ? 0 : c->rate.workers, pin_cpus());
}

static void flags(const struct cont_conf *c, const struct cont_got *g, struct rows *out)
{
	double busy = busy_of(c, g), helped = cont_help_busy(c, g), wall = (double)(g->own.end.wall - g->own.begin.wall);
	double asked = c->pace_ns ? (double)c->others * c->rate.path.batch / (double)c->pace_ns : 0; /* messages a ns */
	const char *code = NULL;
	char why[320], words[256];
	uint64_t stale = 0, wrong = g->wrong + g->trip[RTT_PUT].wrong_words + g->trip[RTT_REPLY].wrong_words;

	for (uint32_t i = 0; i < c->rate.workers; i++)
		stale += g->nic[i].stale_wqe;
	if (stale || wrong) {
		code = "stale";
		snprintf(why, sizeof(why), "%llu stale WQE fetches and %llu wrong payload words%s", (unsigned long long)stale,
			 (unsigned long long)wrong, path_order_words(&c->rate.path, words, sizeof(words)));
	} else if (c->rate.crowded) {
		code = "crowded";
		crowd_words(c, why, sizeof(why));
	} else if (busy > BUSY) {
		code = "nic-limit";
		snprintf(why, sizeof(why), "the stand-in was the limit: its %u workers were busy %.0f %% of the time", c->rate.workers, busy * 100);
	} else if (helped > BUSY) {
		code = "worker-limit";
		snprintf(why, sizeof(why), "who posts was the limit: a worker was busy %.0f %% of the time", helped * 100);
	} else if ((double)g->own.others < KEPT * asked * wall) {
		code = "behind";
		snprintf(why, sizeof(why), "the others carried %.3g Mmsg/s of the %.3g that their pace asks for", (double)g->own.others * 1e3 / wall,
			 asked * 1e3);
	} else if (c->choice.trip == TRIP_ROUND && c->choice.device >= 0 && g->out[0].smid == g->out[c->senders].smid) {
		code = "one-sm";
		snprintf(why, sizeof(why), "the timed one and the responder were both on SM %llu: they took turns", (unsigned long long)g->out[0].smid);
	} else if (g->own.unsettled) {
		code = "unsettled";
		snprintf(why, sizeof(why), "the SM's clock had not settled");
	}
	for (size_t i = 0; code && i < out->n; i++)
		row_flag(&out->row[i], code, why);
}

int cont_rows(const struct cont_mem *m, const struct cont_conf *c, struct cont_got *g, struct rows *out)
{
	const struct clock_pair *a = &g->own.begin, *z = &g->own.end;
	uint64_t *t = malloc(c->messages * CONT_STAMPS * sizeof(*t));
	double *ns = malloc(2 * c->messages * sizeof(*ns)), *total = ns ? ns + c->messages : NULL, wall = (double)(z->wall - a->wall), rate;
	int rc;

	if (!t || !ns)
		rc = fs_fail(ENOMEM, "no memory for samples");
	else if (z->ticks <= a->ticks || z->wall <= a->wall)
		rc = fs_fail(ERANGE, "the messages took no time by the agents' clock; legal: more messages");
	else
		rc = place_read(&m->stamps, 0, t, c->messages * CONT_STAMPS * sizeof(*t));
	rate = rc ? 0 : wall / (double)(z->ticks - a->ticks);
	for (size_t i = 0; !rc && i < sizeof(pieces) / sizeof(pieces[0]); i++)
		if (piece_is_of(&pieces[i], c))
			rc = piece_row(c, &pieces[i], t, rate, i ? ns : total, out);
	if (!rc && c->choice.trip == TRIP_ROUND)
		rc = cont_trip_rows(m, c, g, total, out);
	if (!rc && !(rc = one_row(c, "carried", "Mmsg/s", (double)g->own.others * 1e3 / wall, g->own.others, out)))
		rc = one_row(c, "nic_busy", "share", busy_of(c, g), 1, out);
	free(t);
	free(ns);
	rc = rc ? rc : cont_help_rows(c, g, out);
	if (!rc)
		flags(c, g, out);
	return rc;
}
