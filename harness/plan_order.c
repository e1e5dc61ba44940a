/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of running. Slow drift (clocks, heat, neighbours) must not fall on
 * one variant alone, so the points are
 *
 * 1. shuffled (Fisher-Yates), from the seed and the repetition alone: the same
 *    two numbers give the same order on every machine;
 * 2. dealt from groups of equal key (NIC, issuer, devices and placements): the
 *    group that is furthest behind its share comes next, unless it was dealt
 *    just before. So a small group is spread over the whole run, and a key
 *    repeats only where one group outnumbers all others together.
 */
#include "harness/err.h"
#include "harness/plan.h"

#include <stdlib.h>
#include <string.h>

static const char *const key_names[] = {
	"nic", "issuer", "nic_gpu", "queue_mem", "db_mem", "cq_mem",
};
#define NKEYS ((int)(sizeof(key_names) / sizeof(key_names[0])))

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static void shuffle(int *order, int n, uint64_t seed, int rep)
{
	/* Hashed first, so that (seed, rep) and (seed + 1, rep - 1) differ. */
	uint64_t state = splitmix64(&seed) + (uint64_t)rep;

	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int k = (int)((unsigned __int128)splitmix64(&state) * (unsigned)(i + 1) >> 64);
		int was = order[i];

		order[i] = order[k];
		order[k] = was;
	}
}

static int same_key(const struct point *a, const struct point *b)
{
	for (int i = 0; i < NKEYS; i++) {
		int v = fs_var_find(key_names[i]);

		if (v >= 0 && !fs_value_equal(&a->val[v], &b->val[v]))
			return 0;
	}
	return 1;
}

struct group { int first, last, left, size; }; /* chain of positions in the shuffle */

/* Returns the number of groups; next[] chains the positions of each. */
static int group_points(const struct plan *p, const int *order, struct group *g, int *next)
{
	int n = 0;

	for (int i = 0; i < p->npoints; i++) {
		const struct point *pt = &p->point[order[i]].pt;
		int k = 0;

		while (k < n && !same_key(&p->point[order[g[k].first]].pt, pt))
			k++;
		next[i] = -1;
		if (k == n)
			g[n++] = (struct group){ .first = i, .last = i };
		else
			next[g[k].last] = i;
		g[k].last = i;
		g[k].left = ++g[k].size;
	}
	return n;
}

/* The group other than `not` that is furthest behind its share. */
static int most_behind(const struct group *g, int ngroups, int not)
{
	int best = -1;

	for (int k = 0; k < ngroups; k++) {
		int64_t a = 2 * (int64_t)(g[k].size - g[k].left) + 1, b;

		if (k == not || !g[k].left)
			continue;
		b = best < 0 ? 0 : 2 * (int64_t)(g[best].size - g[best].left) + 1;
		if (best < 0 || a * g[best].size < b * g[k].size)
			best = k;
	}
	return best;
}

static int largest(const struct group *g, int ngroups)
{
	int best = 0;

	for (int k = 1; k < ngroups; k++)
		if (g[k].left > g[best].left)
			best = k;
	return best;
}

static void deal(const int *from, int n, struct group *g, int ngroups, const int *next, int *to)
{
	int big = largest(g, ngroups), others = n - g[big].size, last = -1;
	int crowd = g[big].size > others + 1; /* repeats can't be avoided */

	for (int i = 0; i < n; i++) {
		int dealt = g[big].size - g[big].left, k;

		if (crowd) {
			/* The big group fills the gaps between the others evenly. */
			int64_t due = (int64_t)(i - dealt + 1) * g[big].size / (others + 1);

			k = dealt < due ? big : most_behind(g, ngroups, big);
		} else {
			/* A group with over half of what is left can't wait. */
			k = largest(g, ngroups);
			if (2 * g[k].left <= n - i || k == last)
				k = most_behind(g, ngroups, last);
		}
		to[i] = from[g[k].first];
		g[k].first = next[g[k].first];
		g[k].left--;
		last = k;
	}
}

void plan_order(struct plan *p, uint64_t seed, int rep)
{
	size_t n = (size_t)p->npoints;
	int *shuffled, *next;
	struct group *g;

	if (!n)
		return;
	shuffle(p->order, p->npoints, seed, rep);
	shuffled = malloc(n * sizeof(*shuffled));
	next = malloc(n * sizeof(*next));
	g = calloc(n, sizeof(*g));
	if (shuffled && next && g) {
		memcpy(shuffled, p->order, n * sizeof(*shuffled));
		deal(shuffled, p->npoints, g, group_points(p, shuffled, g, next), next, p->order);
	} else {
		fs_note("out of memory: points run shuffled, without alternation");
	}
	free(shuffled);
	free(next);
	free(g);
}
