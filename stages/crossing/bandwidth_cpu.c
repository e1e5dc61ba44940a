/* SPDX-License-Identifier: Apache-2.0 */
/* CPU threads that move bytes: each has a slice, and all of them begin together. */
#include "stages/crossing/bandwidth.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "stages/crossing/team.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Four 8-byte words, which a compiler turns into whatever vectors the machine has. */
typedef uint64_t vec __attribute__((vector_size(32), aligned(16), may_alias));

struct cpu_move { struct bw_args *a; uint64_t *sum; };

static uint64_t read_slice(const struct vec16 *p, uint64_t n)
{
	const vec *v = (const vec *)p;
	vec s[4] = { { 0 }, { 0 }, { 0 }, { 0 } }, all;
	uint64_t i = 0, sum = 0;

	for (; i + 4 <= n / 2; i += 4)
		for (int k = 0; k < 4; k++)
			s[k] += v[i + (uint64_t)k];
	all = s[0] + s[1] + s[2] + s[3];
	for (int k = 0; k < 4; k++)
		sum += all[k];
	for (i *= 2; i < n; i++)
		sum += p[i].a + p[i].b;
	return sum;
}

/* Elements from..from+n of the whole. */
static void write_slice(struct vec16 *p, uint64_t from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		p[i].a = bw_word(2 * (from + i));
		p[i].b = bw_word(2 * (from + i) + 1);
	}
}

static void member(struct team *t, int k, void *arg)
{
	const struct cpu_move *m = arg;
	struct bw_args *a = m->a;
	uint64_t from = a->n / a->blocks * (uint64_t)k, n = (unsigned)k + 1 < a->blocks ? a->n / a->blocks : a->n - from;
	const struct bw_way *w = &a->way[0];
	uint64_t sum = 0, t0 = 0;

	for (uint64_t s = 0; s < a->warmup + a->samples; s++) {
		if (team_meet(t))
			return;
		if (!k)
			t0 = mono_ns();
		for (uint64_t l = 0; l < a->loops; l++) {
			if (a->dir == DIR_READ)
				sum += read_slice(w->src + from, n);
			else if (a->dir == DIR_WRITE)
				write_slice(w->dst + from, from, n);
			else
				memcpy(w->dst + from, w->src + from, n * sizeof(struct vec16));
			__asm__ volatile("" : : : "memory"); /* the next loop is another one */
		}
		if (team_meet(t))
			return;
		if (!k && s >= a->warmup)
			a->way_ns[0][s - a->warmup] = a->both_ns[s - a->warmup] = (double)(mono_ns() - t0);
	}
	m->sum[k] = sum;
}

int bandwidth_cpu_run(struct bw_args *a, int cpu, double patience_s)
{
	struct cpu_move *m = calloc(1, sizeof(*m)); /* not freed while a thread may use it */
	int rc;

	if (m)
		m->sum = calloc(a->blocks, sizeof(*m->sum));
	if (!m || !m->sum) {
		free(m);
		return fs_fail(ENOMEM, "no memory for threads");
	}
	m->a = a;
	rc = team_run((int)a->blocks, cpu, member, m, patience_s);
	a->sum = 0;
	for (unsigned k = 0; k < a->blocks; k++)
		a->sum += m->sum[k];
	if (rc != -EBUSY) {
		free(m->sum);
		free(m);
	}
	return rc;
}
