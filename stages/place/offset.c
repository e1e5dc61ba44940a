/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's side of the round trips, and what two of them say of the time between. */
#include "stages/place/offset.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "stages/queue/sink.h"
#include <errno.h>
#include <math.h>

enum { POLLS_PER_CLOCK = 1024, GAP_TICKS = 16384, SEED = 0x0ff5e7 };
enum { TRIPS_MIN = 32 };
#define WAIT_S 2.0
#define BUDGET_S 0.5 /* on a CPU that others use each trip may cost a turn of theirs */

/* The next stamp; 0: none came. */
static uint64_t answer_of(const struct echo *e, uint64_t last, uint64_t *seen, int gettime)
{
	uint64_t until = 0, v;

	for (unsigned polls = 1; (v = ld64_poll(e->answer)) == last; polls++) {
		if (polls % POLLS_PER_CLOCK == 0) {
			until = until ? until : deadline_in_s(WAIT_S);
			if (deadline_over(until))
				return 0;
		}
		relax_cpu();
	}
	*seen = ticks(gettime);
	return v;
}

int offset_measure(const struct echo *e, const struct timeline *cpu, struct timeline *agent, unsigned trips, struct offset *o)
{
	uint64_t last = ld64(e->answer), asked = ld64(e->ask), rnd = SEED, until = deadline_in_s(BUDGET_S);
	double step = 0;

	o->trip_ns = INFINITY;
	for (unsigned i = 0; i < trips && (i < TRIPS_MIN || !deadline_over(until)); i++) {
		uint64_t sent, seen, stamp;
		double half;

		wait_ticks(GAP_TICKS / 4 + random_below(&rnd, GAP_TICKS), e->gettime);
		sent = ticks(e->gettime);
		st64(e->ask, ++asked);
		stamp = answer_of(e, last, &seen, e->gettime);
		if (!stamp)
			return fs_fail(ETIMEDOUT, "clocks: no answer to question %u in %.0f s", i + 1, WAIT_S);
		last = stamp;
		agent->zero = agent->zero ? agent->zero : stamp;
		step = (double)ld64_acquire(e->step) * agent->ns_per_unit;
		half = (double)(seen - sent) * cpu->ns_per_unit / 2;
		if (2 * half >= o->trip_ns)
			continue;
		o->trip_ns = 2 * half;
		o->at_ns = timeline_ns(cpu, sent) + half;
		o->ns = timeline_ns(agent, stamp) - o->at_ns;
		o->error_ns = half + step;
	}
	return 0;
}

double offset_at(const struct offset *a, const struct offset *b, double at_ns)
{
	return b->at_ns > a->at_ns ? a->ns + (b->ns - a->ns) * (at_ns - a->at_ns) / (b->at_ns - a->at_ns) : a->ns;
}

double offset_error(const struct offset *a, const struct offset *b)
{
	return fmax(a->error_ns, b->error_ns);
}

double offset_drift_ppm(const struct offset *a, const struct offset *b)
{
	return b->at_ns > a->at_ns ? (b->ns - a->ns) / (b->at_ns - a->at_ns) * 1e6 : NAN;
}
