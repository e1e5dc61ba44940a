/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the probes of the crossing do what they say they time. Loads go once round
 * a random cycle through every line; stores arrive, and are answered; adds add up;
 * bytes arrive where they were moved to; memory is where it was asked for; a wait that
 * is in vain ends.
 *
 * Controls: chains in an order that can be guessed, in two cycles or out of the lines
 * are found out; so are a spoiled line, a word that wasn't moved, memory that was put
 * somewhere else.
 */
#include "tests/points.h"

#include "harness/numa.h"
#include "harness/pin.h"
#include "stages/crossing/atomic.h"
#include "stages/crossing/bandwidth.h"
#include "stages/crossing/chain.h"
#include "stages/crossing/load.h"
#include "stages/crossing/store.h"
#include "stages/crossing/team.h"
#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- running a probe ---- */

static int run_point(const char *probe, const char *text, struct rows *rs)
{
	struct point pt;
	char why[256];

	fs_point_init(&pt, fs_probe_find(probe));
	point_set(&pt, text);
	rows_init(rs);
	if (pt.probe->check(&pt, suite_machine(), why, sizeof(why)))
		fail_msg("%s %s: %s", probe, text, why);
	return pt.probe->run(&pt, rs);
}

static void run_well(const char *probe, const char *text, struct rows *rs)
{
	int rc = run_point(probe, text, rs);

	if (rc)
		fail_msg("%s %s: %d %s", probe, text, rc, fs_reason());
	for (size_t i = 0; i < rs->n; i++) {
		const struct summary *s = &rs->row[i].s;

		assert_true(isnan(s->mean) || (s->n > 0 && s->min <= s->mean && s->mean <= s->max));
	}
}

static const char *found_of(const struct rows *rs, const char *name)
{
	for (int i = 0; i < rs->nfound; i++)
		if (!strcmp(rs->found[i].name, name))
			return rs->found[i].text;
	return "";
}

/* ---- loads ---- */

static void chains_are_one_random_cycle(void **state)
{
	static const uint32_t sizes[] = { 2, 3, 5, 63, 64, 65, 1000, 4096, 100003 };
	uint32_t *next = malloc(100003 * sizeof(*next)), *back = malloc(100003 * sizeof(*back));

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		for (uint64_t seed = 1; seed < 6; seed++) {
			chain_draw(next, sizes[k], seed);
			assert_null(chain_wrong(next, sizes[k]));
			assert_int_equal(chain_after(next, sizes[k]), 0);
		}
	/* another seed, another cycle */
	chain_draw(next, 1000, 1);
	chain_draw(back, 1000, 2);
	assert_memory_not_equal(next, back, 1000 * sizeof(*next));
	/* controls */
	for (uint32_t i = 0; i < 1000; i++)
		next[i] = (i + 1) % 1000;
	assert_string_equal(chain_wrong(next, 1000), "its steps can be guessed");
	for (uint32_t i = 0; i < 1000; i++)
		next[i] = (i + 7 * 64 + 1) % 1000; /* 449: prime to 1000 */
	assert_string_equal(chain_wrong(next, 1000), "its steps can be guessed");
	chain_draw(next, 1000, 3);
	next[17] = next[next[17]]; /* leaves a line out */
	assert_string_equal(chain_wrong(next, 1000), "it isn't one cycle through all lines");
	chain_draw(next, 1000, 3);
	next[0] = 0;
	assert_string_equal(chain_wrong(next, 1000), "it isn't one cycle through all lines");
	chain_draw(next, 1000, 3);
	next[next[0]] = 1000;
	assert_string_equal(chain_wrong(next, 1000), "it leaves the lines");
	free(next);
	free(back);
}

/* What stands in memory is the chain, and the loop follows it line by line. */
static void loads_follow_the_chain(void **state)
{
	enum { LINES = 5000, BLOCKS = 7 };
	static const uint64_t strides[] = { 8, 64, 128, 8 << 20 };
	uint32_t next[LINES], back[LINES];
	uint64_t samples[BLOCKS];
	struct clock_pair pairs[2];
	struct load_out out;

	(void)state;
	for (size_t k = 0; k < sizeof(strides) / sizeof(strides[0]); k++) {
		uint32_t n = strides[k] > 4096 ? 3 : LINES;
		struct load_args a = { .warmup = 10, .blocks = BLOCKS, .samples = samples, .pairs = pairs, .out = &out,
				       .gettime = 1 };
		struct buf b;

		assert_int_equal(place_alloc(&b, PLACE_HOST, n * strides[k], 4096, 0), 0);
		chain_draw(next, n, k + 1);
		assert_int_equal(chain_write(&b, strides[k], next, n), 0);
		assert_int_equal(chain_read(&b, strides[k], back, n), 0);
		assert_memory_equal(next, back, n * sizeof(*next));
		a.start = b.p;
		load_loop(&a);
		assert_int_equal(out.loads, LOAD_BLOCK + BLOCKS * LOAD_BLOCK);
		assert_int_equal(out.end - (uint64_t)b.p, chain_after(next, out.loads) * strides[k]);
		for (int i = 0; i < BLOCKS; i++)
			assert_true(samples[i] > 0);
		/* control: a line that leads to itself holds the loads up */
		memcpy(b.p + chain_after(next, 5) * strides[k], &(uint64_t){ (uint64_t)b.p + chain_after(next, 5) * strides[k] }, 8);
		load_loop(&a);
		assert_int_equal(out.end - (uint64_t)b.p, chain_after(next, 5) * strides[k]);
		memset(b.p, 1, 8);
		assert_int_equal(chain_read(&b, strides[k], back, n), -EBADMSG);
		place_free(&b);
	}
}

static void load_has_its_rows(void **state)
{
	struct rows rs;
	const struct row *r;

	(void)state;
	run_well("load", "issuer=cpu set=64K stride=64 messages=2000", &rs);
	r = row_of(&rs, "crossing", "-", "latency");
	assert_non_null(r);
	assert_int_equal(r->s.n, 8); /* blocks */
	assert_string_equal(r->link, "host");
	assert_string_equal(found_of(&rs, "lines"), "1024");
	assert_non_null(row_of(&rs, "-", "-", "floor"));
	rows_free(&rs);
}

/* ---- stores ---- */

static void stores_are_posted(void **state)
{
	static const char *const points[] = {
		"store_fence=none", "store_fence=release-gpu", "store_fence=release-sys", "store_fence=sc-gpu", "store_fence=sc-sys", "messages=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		char text[128];
		struct rows rs;

		snprintf(text, sizeof(text), "issuer=cpu nic=null messages=1000 %s", points[i]);
		run_well("store", text, &rs);
		assert_non_null(row_of(&rs, "-", "-", "store"));
		assert_null(row_of(&rs, "total", "-", "latency")); /* nobody answers */
		rows_free(&rs);
	}
}

static void stores_are_seen_and_answered(void **state)
{
	const struct row *total, *crossing, *there, *back, *own, *bound;
	struct rows rs;

	(void)state;
	if (pin_cpus() < 2)
		skip();
	run_well("store", "issuer=cpu nic=soft messages=1000", &rs);
	total = row_of(&rs, "total", "-", "latency");
	crossing = row_of(&rs, "crossing", "-", "latency");
	own = row_of(&rs, "-", "-", "responder");
	there = row_of(&rs, "crossing", "-", "one_way");
	back = row_of(&rs, "crossing", "-", "one_way_back");
	bound = row_of(&rs, "-", "-", "offset_bound");
	assert_true(total && crossing && own && there && back && bound);
	assert_int_equal(total->s.n, 1000);
	assert_true(fabs(total->s.mean - own->s.mean - crossing->s.mean) < 1e-3 * total->s.mean);
	/* from before the store to noticed: the total, and what one reading of a clock takes */
	assert_true(there->s.mean + back->s.mean >= total->s.mean);
	assert_true(bound->s.mean >= 0 && bound->s.mean <= (there->s.min + back->s.min) / 2 + 1e-6);
	rows_free(&rs);
}

/* Nobody answers: it ends, and says how far it came. */
static void a_store_without_an_answer_ends(void **state)
{
	_Alignas(64) static uint8_t there[64], back[64];
	uint64_t samples[16];
	struct clock_pair pairs[2];
	struct store_out out;
	struct store_args a = { .there = there, .back = back, .messages = 8, .wait_ns = 20000000, .seed = 1, .gap_ticks = 16,
				.gettime = 1, .samples = samples, .pairs = pairs, .out = &out };

	(void)state;
	store_ask(&a);
	assert_int_equal(out.status, 1);
	assert_int_equal(out.done, 0);
	st64(back, 1); /* one answer and no more */
	store_ask(&a);
	assert_int_equal(out.status, 1);
	assert_int_equal(out.done, 1);
}

/* ---- atomics ---- */

static void adds_add_up(void **state)
{
	char text[64];

	(void)state;
	for (int n = 1; n <= pin_cpus() && n <= 3; n++) {
		struct rows rs;

		snprintf(text, sizeof(text), "issuer=cpu messages=20000 blocks=%d", n);
		run_well("atomic", text, &rs);
		assert_int_equal(row_of(&rs, "crossing", "-", "latency")->s.n, (20000 + ATOMIC_BLOCK - 1) / ATOMIC_BLOCK);
		assert_true(row_of(&rs, "crossing", "-", "rate")->s.mean > 0);
		snprintf(text, sizeof(text), "%d threads", n);
		assert_string_equal(found_of(&rs, "at_one_word"), text);
		rows_free(&rs);
	}
}

/* Each add gets what the one before has left, and every one of them counts. */
static void a_block_of_adds(void **state)
{
	uint64_t word[2] = { 5, 0 };
	struct atomic_args a = { .word = (uint8_t *)word };

	(void)state;
	assert_int_equal(atomic_block(&a, 0, 1), 5 + ATOMIC_BLOCK - 1);
	assert_int_equal(word[0], 5 + ATOMIC_BLOCK);
	atomic_block(&a, (uint64_t)1 << 63, 1); /* an address that depends on the value */
	assert_int_equal(word[1], 1);
}

/* ---- teams ---- */

struct meeting { int came[8]; int rounds; int stay_away; };

static void meet(struct team *t, int k, void *arg)
{
	struct meeting *m = arg;

	if (m->stay_away == k)
		return;
	for (int r = 0; r < m->rounds; r++) {
		__atomic_fetch_add(&m->came[k], 1, __ATOMIC_RELAXED);
		if (team_meet(t))
			return;
		for (int i = 0; i < 2; i++) /* nobody is a round ahead, or behind */
			assert_true(abs(__atomic_load_n(&m->came[i], __ATOMIC_RELAXED) - (r + 1)) <= 1);
	}
}

static void a_team_meets_or_ends(void **state)
{
	struct meeting m = { .rounds = 50, .stay_away = -1 }, one = { .rounds = 3, .stay_away = 1 };

	(void)state;
	if (pin_cpus() < 2)
		skip();
	assert_int_equal(team_run(2, pin_cpu(0), meet, &m, 60), 0);
	assert_int_equal(m.came[0], 50);
	assert_int_equal(m.came[1], 50);
	assert_int_equal(team_run(2, pin_cpu(0), meet, &one, 0.3), -ETIMEDOUT); /* the control */
	assert_int_equal(team_run(pin_cpus() + 1, pin_cpu(0), meet, &m, 1), -EINVAL);
}

/* ---- bytes ---- */

/* The loop of GPU threads, by one thread after the other: every word is moved once. */
static void parts_make_the_whole(void **state)
{
	enum { N = 1500 };
	static const uint64_t threads[] = { 1, 3, 32, 200, 2000 }, sizes[] = { 1, 7, 8, 9, 255, 256, 257, N };
	static struct vec16 src[N], dst[N + 1];

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		src[i] = (struct vec16){ bw_word(2 * i), bw_word(2 * i + 1) };
	for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct bw_way w = { dst, src, 0 };
			uint64_t n = sizes[s], sum = 0;

			for (int dir = 0; dir < DIRS; dir++) {
				memset(dst, 0, sizeof(dst));
				sum = 0;
				for (uint64_t i = 0; i < threads[t]; i++)
					sum += dir == DIR_READ ? bw_part(&w, n, i, threads[t], DIR_READ) :
					       dir == DIR_WRITE ? bw_part(&w, n, i, threads[t], DIR_WRITE) :
								  bw_part(&w, n, i, threads[t], DIR_COPY);
				if (dir == DIR_READ)
					assert_int_equal(sum, bw_sum(2 * n));
				else
					assert_memory_equal(dst, src, n * sizeof(*dst));
				assert_int_equal(dst[n].a, 0); /* and none behind the last */
			}
			src[n / 2].b ^= 1; /* the control */
			sum = bw_part(&w, n, 0, 1, DIR_READ);
			assert_int_not_equal(sum, bw_sum(2 * n));
			src[n / 2].b ^= 1;
		}
}

static void bytes_arrive(void **state)
{
	static const char *const dirs[] = { "read", "write", "copy" };
	static const char *const sizes[] = { "16", "48", "4K", "4112", "1M" };
	char text[128];

	(void)state;
	for (int d = 0; d < 3; d++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (int n = 1; n <= pin_cpus() && n <= 2; n++) {
				struct rows rs;

				snprintf(text, sizeof(text), "mover=cpu dir=%s size=%s blocks=%d messages=3 warmup=1", dirs[d], sizes[s], n);
				run_well("bandwidth", text, &rs);
				assert_true(row_of(&rs, "crossing", "-", "bandwidth")->s.mean > 0);
				assert_int_equal(row_of(&rs, "crossing", "-", "bandwidth")->s.n, 3);
				assert_true(isnan(row_of(&rs, "crossing", "-", "ceiling")->s.mean)); /* nobody knows */
				assert_non_null(strstr(row_of(&rs, "crossing", "-", "ceiling")->reason, "not known"));
				rows_free(&rs);
			}
}

/* Slices of CPU threads: all of it, and what is left out is seen. */
static void slices_make_the_whole(void **state)
{
	enum { N = 1001 };
	static struct vec16 src[N], dst[N];
	double ns[3];
	struct bw_args a = { .way = { { dst, src, 0 } }, .ways = 1, .n = N, .loops = 2, .samples = 1, .both_ns = ns,
			     .way_ns = { ns + 1, ns + 2 } };

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		src[i] = (struct vec16){ bw_word(2 * i), bw_word(2 * i + 1) };
	for (a.blocks = 1; (int)a.blocks <= pin_cpus() && a.blocks <= 4; a.blocks++) {
		a.dir = DIR_READ;
		assert_int_equal(bandwidth_cpu_run(&a, pin_cpu(0), 60), 0);
		assert_int_equal(a.sum, 2 * bw_sum(2 * N));
		for (a.dir = DIR_WRITE; a.dir <= DIR_COPY; a.dir++) {
			memset(dst, 0, sizeof(dst));
			assert_int_equal(bandwidth_cpu_run(&a, pin_cpu(0), 60), 0);
			assert_memory_equal(dst, src, sizeof(dst));
			assert_true(ns[0] > 0);
		}
	}
	a.blocks = 1;
	a.n = N - 1; /* control: the last word isn't moved */
	memset(dst, 0, sizeof(dst));
	assert_int_equal(bandwidth_cpu_run(&a, pin_cpu(0), 60), 0);
	assert_memory_not_equal(dst, src, sizeof(dst));
}

/* ---- placement ---- */

static const struct { const char *probe, *point; } placed[] = {
	{ "load", "issuer=cpu set=64K messages=256" }, { "store", "issuer=cpu nic=null messages=256" },
	{ "atomic", "issuer=cpu messages=64" }, { "bandwidth", "mover=cpu size=64K messages=2" },
};

static void a_wrong_place_fails_by_name(void **state)
{
	char text[128] = "";
	int at;

	(void)state;
	if (numa_check(&text, 1, 0, &at) < 0 || pin_node_of_cpu(pin_cpu(0)) < 0)
		skip(); /* the kernel doesn't say where a page is */
	for (size_t i = 0; i < sizeof(placed) / sizeof(placed[0]); i++) {
		struct rows rs;

		snprintf(text, sizeof(text), "%s fault=wrong-place", placed[i].point);
		assert_int_equal(run_point(placed[i].probe, text, &rs), -EFAULT);
		assert_non_null(strstr(fs_reason(), "asked for on NUMA node"));
		assert_int_equal(rs.n, 0); /* nothing was timed */
		rows_free(&rs);
		run_well(placed[i].probe, placed[i].point, &rs); /* and the next one is not planted */
		assert_non_null(strstr(found_of(&rs, i == 3 ? "src_mem" : "mem"), "host, node"));
		rows_free(&rs);
	}
}

static void memory_comes_from_the_node(void **state)
{
	char nodes[256];
	struct buf b;
	int at;

	(void)state;
	numa_nodes(nodes, sizeof(nodes));
	for (int n = 0; n < 8; n++) {
		if (!numa_has(n))
			continue;
		if (place_alloc_near(&b, PLACE_HOST, 1 << 20, 4096, 0, n) == -EPERM)
			skip(); /* a sandbox without set_mempolicy */
		assert_int_not_equal(numa_check(b.p, b.bytes, n, &at), 1);
		if (!numa_check(b.p, b.bytes, n, &at)) /* control: it isn't on another one */
			assert_int_equal(numa_check(b.p, b.bytes, n + 1, &at), 1);
		place_free(&b);
	}
	assert_false(numa_has(1023));
	assert_false(numa_has(-1));
}

static void too_much_is_refused_before_it_is_taken(void **state)
{
	uint64_t free_ = place_free_bytes(PLACE_HOST, -1);
	struct machine m = { .cpus = 1 };
	struct point pt;
	struct buf b;
	char why[256];

	(void)state;
	if (!free_)
		skip();
	assert_int_equal(place_alloc_near(&b, PLACE_HOST, 2 * free_, 4096, 0, -1), -ENOMEM);
	assert_non_null(strstr(fs_reason(), "nothing was allocated"));
	assert_null(b.raw);
	/* the parent says so before there is a child */
	fs_point_init(&pt, fs_probe_find("load"));
	point_set(&pt, "issuer=cpu set=1024G stride=1M");
	assert_int_equal(pt.probe->check(&pt, &m, why, sizeof(why)), free_ < 1ull << 40 ? -ENODEV : 0);
	fs_point_init(&pt, fs_probe_find("bandwidth"));
	point_set(&pt, "mover=cpu size=64G messages=1 warmup=0");
	assert_int_equal(pt.probe->check(&pt, &m, why, sizeof(why)), free_ < 64ull << 30 ? -ENODEV : 0);
	if (free_ < 64ull << 30)
		assert_non_null(strstr(why, "MiB free"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_one_random_cycle), cmocka_unit_test(loads_follow_the_chain),
		cmocka_unit_test(load_has_its_rows), cmocka_unit_test(stores_are_posted),
		cmocka_unit_test(stores_are_seen_and_answered), cmocka_unit_test(a_store_without_an_answer_ends),
		cmocka_unit_test(adds_add_up), cmocka_unit_test(a_block_of_adds), cmocka_unit_test(a_team_meets_or_ends),
		cmocka_unit_test(parts_make_the_whole), cmocka_unit_test(bytes_arrive), cmocka_unit_test(slices_make_the_whole),
		cmocka_unit_test(a_wrong_place_fails_by_name), cmocka_unit_test(memory_comes_from_the_node),
		cmocka_unit_test(too_much_is_refused_before_it_is_taken),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
