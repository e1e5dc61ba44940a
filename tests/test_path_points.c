/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: every legal point of the probe `path` with a CPU issuer runs, checks its
 * payloads, and gives rows that hold together: stages add up to the total, submit
 * to the issuer's intervals, numbers are in order and words are legal.
 *
 * Control: rows with one number off are found out.
 */
#include "tests/path_rows.h"
#include "tests/random_points.h"

enum { POINTS = 3000, POINTS_MIN = 50, SEED = 77 };
#define BUDGET_S 12.0   /* for random points; a busy machine does fewer, POINTS_MIN at least */

static const char *const grid[] = {
	"op=write size=8", "op=write size=0", "op=write size=13", "op=write size=28", "op=write size=8 payload=pointer",
	"op=write size=4095", "op=write size=70000 page=64k", "op=write size=5000 segment=64", "op=read size=8",
	"op=read size=300", "op=read size=0", "op=nop", "doorbell=ring-record-ring", "doorbell=ring",
	"doorbell=record-ring recover_every=1", "doorbell=ring-record-ring recover_every=1", "ordering=none",
	"ordering=gpu-release", "ordering=threadfence", "ordering=sys-release", "depth=16 batch=1", "depth=16 batch=5",
	"depth=64 batch=64 entries=64", "depth=8 entries=8", "marks=rotate", "page=2m size=300", "metric=rate",
	"metric=rate depth=64 batch=7", "metric=rate payload=pointer size=24", "metric=rate depth=32 size=300",
	"messages=1 warmup=0", "messages=1", "messages=129 warmup=129", "check=none size=300", "check=each size=300",
	"check=end size=300", "metric=rate op=read size=40 warmup=0",
	"size=29 payload=inline", "size=92 payload=inline", "size=53 payload=inline depth=8 batch=3 entries=16",
	"metric=rate size=92 payload=inline depth=64 batch=7", "size=64 payload=inline recover_every=1",
	"metric=rate size=61 payload=inline check=end",
	"fresh=16", "fresh=4096 size=300", "fresh=64 cq=collapsed",
	"cq=collapsed", "cq=collapsed size=300", "cq=collapsed depth=16 batch=5", "cq=collapsed ordering=sys-release recover_every=1",
	"metric=rate cq=collapsed depth=32 batch=7 check=each", "metric=rate cq=collapsed depth=64 batch=3 check=end size=24",
	"metric=rate signal=2 depth=8", "metric=rate signal=16 depth=64 batch=7 check=end", "metric=rate signal=4 depth=4 size=300",
	"metric=rate signal=8 depth=64 cq=collapsed check=end", "metric=rate signal=64 depth=64 messages=129 warmup=0",
	"doorbell=blueflame", "doorbell=blueflame size=28 ordering=none", "doorbell=blueflame size=0 ordering=threadfence",
	"doorbell=blueflame size=300 ordering=sys-fence-record", "doorbell=blueflame payload=pointer recover_every=3",
	"doorbell=blueflame metric=rate", "doorbell=blueflame depth=8", "doorbell=blueflame metric=rate depth=64 check=none",
	"registration=staged size=300", "registration=on-demand mechanism=mlock", "registration=on-demand mechanism=mlock size=9000 xlat_cache=2 page=64k",
	"registration=on-demand mechanism=mlock size=4097 cq=collapsed fresh=64 recover_every=1",
	"mr_count=4", "mr_count=256 mr_order=random size=300 depth=8 batch=3", "xlat_cache=1", "xlat_cache=8 mr_count=4 size=300",
	"xlat_cache=2 mr_count=8 mr_order=random op=read size=40", "xlat_cache=16 mr_count=8 cq=collapsed depth=16 batch=5",
	"xlat_cache=256 mr_count=256 page=64k size=4096 recover_every=1", "metric=rate xlat_cache=4 mr_count=4 depth=64 batch=7",
	"metric=rate signal=16 depth=64 messages=7 check=end", "metric=rate signal=16 depth=64 messages=10000 check=end size=13",
	"submitter=proxy", "submitter=proxy proxy=baseline", "submitter=proxy consumer=gpu", "submitter=proxy size=0", "submitter=proxy size=28",
	"submitter=proxy size=300 doorbell=ring", "submitter=proxy op=read size=40 doorbell=ring-record-ring", "submitter=proxy op=nop",
	"submitter=proxy proxy=baseline size=5000 segment=64 mr_count=4", "submitter=proxy depth=8 entries=8 proxy_batch=3 recover_every=1",
	"submitter=proxy metric=rate depth=64 proxy_batch=16", "submitter=proxy proxy=baseline metric=rate depth=64 entries=64 proxy_batch=4 check=end",
	"submitter=host-doorbell", "submitter=host-doorbell consumer=cpu doorbell=ring", "submitter=host-doorbell depth=16 batch=5 size=300",
	"submitter=host-doorbell metric=rate depth=64 batch=7 consumer=cpu doorbell=ring-record-ring", "submitter=host-doorbell ordering=none op=read size=24",
	"consumer=cpu", "consumer=cpu depth=16 batch=5 size=70000", "consumer=cpu notify=interrupt", "consumer=cpu notify=interrupt depth=8 metric=rate",
	"consumer=cpu xlat_cache=8 mr_count=4 size=300",
	"submitter=cpu", "submitter=cpu size=300 doorbell=ring", "submitter=cpu op=read size=40 doorbell=ring-record-ring", "submitter=cpu op=nop",
	"submitter=cpu size=0 depth=4 batch=4 entries=4", "submitter=cpu size=5000 segment=64 depth=7 batch=7 mr_count=8 xlat_cache=4 fresh=0",
	"submitter=cpu metric=rate depth=64 batch=64 entries=64 check=end", "submitter=cpu fresh=256 recover_every=1",
};

static void every_kind_of_point(void **state)
{
	static const char *const marks[] = { "marks=all", "marks=outer", "marks=rotate" };
	struct machine none = { .cpus = 1 };
	struct path_conf c;
	struct point pt;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (int k = 0; k < 6; k++) {
			point_of(&pt, "issuer=cpu messages=200 warmup=64");
			point_set(&pt, k & 1 ? "nic=null" : "nic=soft");
			point_set(&pt, marks[k / 2]);
			point_set(&pt, grid[i]);
			if (!path_resolve(&pt, &none, &c, why, sizeof(why)))
				path_run(&pt);
		}
}

static void set_any_word(struct point *pt, const char *name)
{
	uint64_t n = 1;

	for (const char *w = fs_vars[fs_var_find(name)].words; *w; w++)
		n += *w == '|';
	set_word(pt, name, n);
}

static void random_point(struct point *pt)
{
	static const char *const words[] = { "op", "payload", "ordering", "doorbell", "page", "marks", "metric", "check" };
	uint64_t entries = 4u << below(7);

	point_of(pt, "issuer=cpu");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		set_any_word(pt, words[i]);
	if (below(8)) /* large pages take long to clear */
		point_set(pt, "page=4k");
	point_set(pt, below(4) ? "nic=soft" : "nic=null");
	set_number(pt, "size", below(4) ? below(100) : below(8) ? below(400) : below(20000));
	set_number(pt, "entries", entries);
	set_number(pt, "depth", below(2) ? 1 : 1 + below(entries));
	set_number(pt, "batch", below(2) ? 1 : 1 + below(8));
	set_number(pt, "segment", 64u << below(8));
	set_number(pt, "recover_every", below(2) ? 0 : 1 + below(5));
	set_number(pt, "messages", 1 + below(300));
	set_number(pt, "warmup", below(200));
	if (doorbell_is_flame(fs_word(pt, "doorbell"))) /* few others could be */
		point_set(pt, "doorbell=blueflame op=write depth=1 batch=1");
	else if (!below(8))
		point_set(pt, "cq=collapsed");
	if (!below(8)) {
		point_set(pt, "metric=latency depth=1 batch=1");
		set_number(pt, "fresh", 16 * below(40));
	}
	if (!below(8)) {
		point_set(pt, "metric=latency op=write payload=auto nic=soft depth=1 batch=1 signal=1 mechanism=mlock");
		set_any_word(pt, "registration");
	}
	if (!below(8)) {
		set_number(pt, "mr_count", 1u << below(9));
		set_any_word(pt, "mr_order");
	}
	if (!below(8))
		set_number(pt, "xlat_cache", 1u << below(9));
	if (!below(6)) { /* no other could be */
		static const char *const helps[] = { "submitter", "consumer", "proxy", "notify", "boundary" };

		for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++)
			set_any_word(pt, helps[i]);
		point_set(pt, "registration=persistent mechanism=populate cq=ring doorbell=record-ring ordering=gpu-fence batch=1");
		set_number(pt, "proxy_batch", 1 + below(PROXY_BATCH_MAX));
		if (fs_word(pt, "submitter") != SUBMITTER_PROXY)
			point_set(pt, "proxy=tuned proxy_batch=1");
		if (fs_word(pt, "submitter") == SUBMITTER_CPU)
			point_set(pt, "depth=1");
		else
			point_set(pt, "boundary=auto");
		if (fs_word(pt, "submitter") != SUBMITTER_GPU || !fs_is(pt, "consumer", "cpu"))
			point_set(pt, "notify=poll");
		if (fs_is(pt, "marks", "rotate"))
			point_set(pt, "marks=all");
	} else if (!below(8)) { /* few others could be */
		uint64_t signal = 1u << below(5), batch = 1 + below(8);

		point_set(pt, below(2) ? "metric=rate marks=outer check=end nic=soft" : "metric=rate marks=outer check=none nic=soft");
		set_number(pt, "entries", 64);
		set_number(pt, "signal", signal);
		set_number(pt, "batch", batch);
		set_number(pt, "depth", signal + batch - 1 + below(24));
	}
	fs_point_id(pt);
}

static void random_points(void **state)
{
	uint64_t until = deadline_in_s(BUDGET_S);
	int done = 0, refused = 0;

	(void)state;
	seed = SEED;
	while (done < POINTS && (done < POINTS_MIN || !deadline_over(until))) {
		struct path_conf c;
		struct point pt;
		char why[256];

		random_point(&pt);
		if (path_resolve(&pt, suite_machine(), &c, why, sizeof(why))) {
			refused++;
			continue;
		}
		path_run(&pt);
		done++;
	}
	print_message("%d random points, %d more were no legal ones\n", done, refused);
	assert_true(refused < 4 * done);
}

/* control */
static void rows_that_are_off_are_seen(void **state)
{
	static const char *const touched[] = { "crossing", "completion", "queueing", "submit", "total" };
	struct path_conf c;
	struct point pt;
	struct rows rs;
	char why[256];

	(void)state;
	point_of(&pt, "issuer=cpu messages=200");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	assert_null(path_rows_wrong(&rs, &c));
	for (size_t i = 0; i < sizeof(touched) / sizeof(touched[0]); i++) {
		struct row *r = (struct row *)row_of(&rs, touched[i], "-", "latency");
		double was = r->s.mean;

		/* (a share of it too: on a busy machine a mean may be any number of us) */
		r->s.mean += 0.1 + 1e-4 * path_mean_of(&rs, "total", "-");
		assert_non_null(path_rows_wrong(&rs, &c));
		r->s.mean = was;
	}
	((struct row *)row_of(&rs, "issue", "-", "latency"))->s.n--;
	assert_non_null(path_rows_wrong(&rs, &c));
	rows_free(&rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_point),
		cmocka_unit_test(random_points),
		cmocka_unit_test(rows_that_are_off_are_seen),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
