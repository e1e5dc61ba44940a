/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: every legal point of the probe `path` with a CPU issuer runs, checks its
 * payloads, and gives rows that hold together: stages add up to the total, submit
 * to the issuer's intervals, numbers are in order and words are legal. Each fault
 * ends in its syndrome, or in a bounded wait that says how far messages got.
 * What stands in the ring of nic=null is verified.
 *
 * Controls: rows with one number off are found out; points without the fault
 * succeed; a ring that somebody spoils is not verified.
 */
#include "tests/points.h"

#include "harness/pin.h"
#include "stages/path_layout.h"

#include "stages/suite.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { POINTS = 3000, POINTS_MIN = 50, SEED = 77 };
#define BUDGET_S 12.0   /* for random points; a busy machine does fewer, POINTS_MIN at least */

/* ---- what rows must be ---- */

static double mean_of(const struct rows *rs, const char *stage, const char *interval)
{
	const struct row *r = row_of(rs, stage, interval, "latency");

	return r ? r->s.mean : NAN;
}

static int close_to(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-3;
}

/* NULL, or what is wrong with the sums. */
static const char *sums_wrong(const struct rows *rs, struct route r)
{
	const struct interval *t;
	int n = interval_table(r, &t);
	char name[64];
	double stages = 0, total = mean_of(rs, "total", "-"), submit = 0;

	for (int k = 0; k < STAGES; k++)
		stages += mean_of(rs, stage_names[k], "-");
	if (!close_to(stages, total))
		return "stages don't add up to the total";
	for (int k = 0; k < n; k++) {
		snprintf(name, sizeof(name), "%s-%s", mark_table[t[k].from].name, mark_table[t[k].to].name);
		submit += mean_of(rs, stage_names[t[k].stage], name);
		if (t[k].to == route_submitted(r))
			break;
	}
	if (!close_to(submit, mean_of(rs, "submit", "-")))
		return "the issuer's intervals don't add up to submit";
	if (!close_to(mean_of(rs, "issue", "intent-reserved"), mean_of(rs, "issue", "-")))
		return "issue is not its only interval";
	return NULL;
}

static int word_of(const char *w, const char *list)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "|%s|", w);
	return strstr(list, buf) != NULL;
}

/* NULL, or what is wrong with a row. */
static const char *row_wrong(const struct row *r, const struct path_conf *c)
{
	const struct summary *s = &r->s;
	/* with ordering=none even stale fetches are legal, if they are said */
	int may_flag = !strcmp(c->order_class, "unsafe");

	/* rung before `rung`: the crossing is a lower bound, and says so */
	may_flag |= (c->choice.mode == DBM_RING_RECORD_RING || (c->recover_every && c->depth > 1)) &&
		    !strcmp(r->stage, "crossing");

	/* an issuer that lost its CPU between two words of a line: tests/test_flame.c says how often */
	may_flag |= doorbell_is_flame(c->choice.mode) && !strcmp(r->reason_code, "from-queue");

	/* a third thread where there are two CPUs */
	may_flag |= c->crowded && !strcmp(r->reason_code, "crowded");

	/* a thread in a kernel's place that others kept from falling asleep */
	may_flag |= c->route.submitter == SUBMITTER_CPU && !strcmp(r->reason_code, "awake");

	if (r->status != FS_OK && !(r->status == FS_FLAGGED && may_flag && *r->reason))
		return "its status";
	if (!word_of(r->stage, "|issue|crossing|translation|handoff|completion|queueing|total|submit|-|"))
		return "its stage";
	if (!word_of(r->link, "|none|host|-|")) /* nothing lives on a GPU here */
		return "its link";
	if (!word_of(r->origin, "|measured|emulated|") || strcmp(r->order_class, c->order_class))
		return "its origin or order class";
	if (!word_of(r->unit, "|ns|Mmsg/s|GB/s|count|ns/msg|count/msg|cores|MHz|share|"))
		return "its unit";
	/* what a kernel doesn't tell is an empty cell with a reason */
	if (!strcmp(r->unit, "MHz") && isnan(s->mean))
		return !strcmp(r->reason_code, "absent") && *r->reason ? NULL : "it has no number and no reason";
	if (!s->n || isnan(s->mean))
		return "it has no number";
	/* (a rate is over all messages, its distribution over whole blocks) */
	if (!strcmp(r->metric, "rate") || !strcmp(r->metric, "goodput"))
		return s->mean > 0 && !(s->ci_lo > s->mean) && !(s->ci_hi < s->mean) ? NULL : "it is no rate, or outside its interval";
	if (!isnan(s->min) && (s->min > s->p50 + 1e-9 || s->p50 > s->max + 1e-9 || s->mean < s->min - 1e-6 || s->mean > s->max + 1e-6))
		return "min, median, mean and max are not in order";
	if (!isnan(s->ci_lo) && (s->ci_lo > s->mean + 1e-6 || s->ci_hi < s->mean - 1e-6))
		return "the mean is not in its interval";
	/* spans of one clock can't be negative; hops and differences can */
	if (!strcmp(r->metric, "latency") && strcmp(r->stage, "crossing") && s->mean < 0)
		return "it is negative";
	return NULL;
}

/* The bytes of the messages that the rate counts; none where none is moved. */
static const char *goodput_wrong(const struct rows *rs, const struct path_conf *c)
{
	const struct row *rate = row_of(rs, "total", "-", "rate"), *bytes = row_of(rs, "total", "-", "goodput");
	int none = c->metric != METRIC_RATE || !c->nic->completes || c->choice.kind == POST_NOP || !c->size;

	if (none || !bytes)
		return none == !bytes ? NULL : "a goodput where no payload goes, or none where it does";
	return fabs(bytes->s.mean * 1e9 - rate->s.mean * 1e6 * c->size) <= 1e-9 * bytes->s.mean * 1e9 &&
	       !strcmp(bytes->origin, rate->origin) && bytes->s.n == rate->s.n ? NULL : "the goodput is not the rate's";
}

/* Rows of one kind that a point of these marks has to give. */
static const char *rows_missing(const struct rows *rs, const struct path_conf *c)
{
	const struct interval *t;
	int n = interval_table(c->route, &t);
	char name[64];

	if (c->metric == METRIC_RATE && !row_of(rs, "total", "-", "rate"))
		return "no rate";
	/* rotating, a total comes once in a turn */
	if (c->metric == METRIC_LATENCY && c->nic->completes && (c->marks != MARKS_ROTATE || c->messages > (uint64_t)n) && !row_of(rs, "total", "-", "latency"))
		return "no total";
	if (c->nic->completes && !row_of(rs, "handoff", "-", "stale_wqe"))
		return "no count of stale fetches";
	if (c->nic->completes && doorbell_is_flame(c->choice.mode) != !!row_of(rs, "handoff", "-", "from_queue"))
		return "no count of WQEs from the queue, or one where none goes another way";
	if (c->nic->completes && c->recover_every && !row_of(rs, "handoff", "-", "stale_record"))
		return "no count of stale records";
	for (int k = 0; c->marks == MARKS_ALL && k < n; k++) {
		snprintf(name, sizeof(name), "%s-%s", mark_table[t[k].from].name, mark_table[t[k].to].name);
		if ((c->nic->completes || mark_agent(c->route, t[k].to) == AGENT_ISSUER) && t[k].to != MARK_NOTICED &&
		    !row_of(rs, stage_names[t[k].stage], name, "latency"))
			return "an interval is missing";
	}
	return NULL;
}

static const char *rows_wrong(const struct rows *rs, const struct path_conf *c)
{
	const char *what;

	for (size_t i = 0; i < rs->n; i++) {
		if ((what = row_wrong(&rs->row[i], c)))
			return what;
		if (!strcmp(rs->row[i].metric, "latency") && c->marks == MARKS_ALL && rs->row[i].s.n != c->messages)
			return "a row has not one sample a message";
	}
	if ((what = rows_missing(rs, c)) || (what = goodput_wrong(rs, c)))
		return what;
	return c->nic->completes && c->marks == MARKS_ALL ? sums_wrong(rs, c->route) : NULL;
}

/* Runs a point and looks at its rows. */
static void run_point(const struct point *pt)
{
	struct path_conf c;
	struct rows rs;
	char why[256], text[512];
	const char *what = NULL;
	int rc;

	assert_int_equal(path_resolve(pt, suite_machine(), &c, why, sizeof(why)), 0);
	rows_init(&rs);
	fs_reason_clear();
	rc = probe_path.run(pt, &rs);
	if (rc || (what = rows_wrong(&rs, &c)))
		fail_msg("%s: %s", fs_point_text(pt, text, sizeof(text)), rc ? fs_reason() : what);
	rows_free(&rs);
}

/* ---- points ---- */

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
				run_point(&pt);
		}
}

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

static void set_number(struct point *pt, const char *name, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	assert_int_equal(fs_point_set(pt, name, text), 0);
}

/* Some word of the variable: any, since what can't be is refused by the probe. */
static void set_word(struct point *pt, const char *name)
{
	struct value *v = &pt->val[fs_var_find(name)];
	const char *w = fs_vars[fs_var_find(name)].words;
	uint64_t n = 1;

	for (; *w; w++)
		n += *w == '|';
	*v = (struct value){ .word = (int)below(n), .pair = -1 };
}

static void random_point(struct point *pt)
{
	static const char *const words[] = { "op", "payload", "ordering", "doorbell", "page", "marks", "metric", "check" };
	uint64_t entries = 4u << below(7);

	point_of(pt, "issuer=cpu");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		set_word(pt, words[i]);
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
		set_word(pt, "registration");
	}
	if (!below(8)) {
		set_number(pt, "mr_count", 1u << below(9));
		set_word(pt, "mr_order");
	}
	if (!below(8))
		set_number(pt, "xlat_cache", 1u << below(9));
	if (!below(6)) { /* no other could be */
		static const char *const helps[] = { "submitter", "consumer", "proxy", "notify", "boundary" };

		for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++)
			set_word(pt, helps[i]);
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
		run_point(&pt);
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
	assert_null(rows_wrong(&rs, &c));
	for (size_t i = 0; i < sizeof(touched) / sizeof(touched[0]); i++) {
		struct row *r = (struct row *)row_of(&rs, touched[i], "-", "latency");
		double was = r->s.mean;

		/* (a share of it too: on a busy machine a mean may be any number of us) */
		r->s.mean += 0.1 + 1e-4 * mean_of(&rs, "total", "-");
		assert_non_null(rows_wrong(&rs, &c));
		r->s.mean = was;
	}
	((struct row *)row_of(&rs, "issue", "-", "latency"))->s.n--;
	assert_non_null(rows_wrong(&rs, &c));
	rows_free(&rs);
}

/* ---- faults ---- */

static const struct { const char *point; int code; const char *says, *more; } faults[] = {
	{ "fault=opcode", EREMOTEIO, "0x02", "local QP operation" },
	{ "fault=ds", EREMOTEIO, "0x02", "local QP operation" },
	{ "fault=qpn", EREMOTEIO, "0x02", "local QP operation" },
	{ "fault=index", EREMOTEIO, "0x02", "local QP operation" },
	{ "fault=key", EREMOTEIO, "0x13", "remote access" },
	{ "fault=key size=300", EREMOTEIO, "0x13", "remote access" },
	{ "fault=key op=read", EREMOTEIO, "0x13", "remote access" },
	{ "fault=lkey payload=pointer", EREMOTEIO, "0x04", "local protection" },
	{ "fault=lkey op=read", EREMOTEIO, "0x04", "local protection" },
	{ "fault=length", EREMOTEIO, "0x01", "local length" },
	{ "fault=length size=64", EREMOTEIO, "0x01", "local length" },
	{ "fault=length size=64 payload=inline", EREMOTEIO, "0x01", "local length" },
	{ "fault=ds size=92 payload=inline", EREMOTEIO, "0x02", "local QP operation" },
	{ "fault=key size=92 payload=inline", EREMOTEIO, "0x13", "message 100" },
	{ "fault=index size=92 payload=inline depth=4 entries=8", EREMOTEIO, "0x02", "wqe_counter 200" },
	{ "fault=length size=64 op=read", EREMOTEIO, "0x01", "local length" },
	{ "fault=length size=1M messages=10", EREMOTEIO, "0x01", "local length" },
	{ "fault=opcode depth=16 batch=4", EREMOTEIO, "0x02", "message 100" },
	{ "fault=key marks=rotate", EREMOTEIO, "0x13", "wqe_counter 100" },
	{ "fault=error-cqe", EREMOTEIO, "0x14", "remote operation" },
	{ "fault=length ordering=none", EREMOTEIO, "ordering=none doesn't order the WQE before the doorbell", "guaranteed: gpu-fence, " },
	{ "fault=stale-record recover_every=1", EBADMSG, "stale doorbell records", "guaranteed" },
	{ "fault=lost-cqe depth=2", EPROTO, "message 100", "wqe_counter 101" },
	{ "fault=key cq=collapsed", EREMOTEIO, "0x13", "wqe_counter 100" },
	{ "fault=key doorbell=blueflame", EREMOTEIO, "0x13", "wqe_counter 100" },
	{ "fault=opcode doorbell=blueflame", EREMOTEIO, "0x02", "local QP operation" },
	{ "fault=lkey doorbell=blueflame payload=pointer", EREMOTEIO, "0x04", "local protection" },
	{ "fault=length doorbell=blueflame", EREMOTEIO, "0x01", "local length" },
	{ "fault=index doorbell=blueflame", EREMOTEIO, "0x02", "message 100" },
	{ "fault=error-cqe doorbell=blueflame", EREMOTEIO, "0x14", "remote operation" },
	{ "fault=error-cqe cq=collapsed", EREMOTEIO, "0x14", "remote operation" },
	/* each of these waits two seconds */
	{ "fault=dead-nic", ETIMEDOUT, "no completion of message 100 in 2 s", "rung 101, seen 100" },
	{ "fault=lost-cqe cq=collapsed", ETIMEDOUT, "no completion of message 100 in 2 s", "rung 101, seen 101" },
	/* the WQE's first word is the doorbell: another queue's */
	{ "fault=qpn doorbell=blueflame", ETIMEDOUT, "no completion of message 100 in 2 s", "rung 101, seen 100" },
	{ "fault=lost-doorbell doorbell=blueflame", ETIMEDOUT, "no completion of message 100 in 2 s", "rung 101, seen 100" },
	{ "fault=lost-doorbell", ETIMEDOUT, "no completion of message 100 in 2 s", "rung 101, seen 100" },
};

static void faults_end_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct point pt;
		struct rows rs;
		int rc;

		/* the fault is in the middle: message 100 */
		point_of(&pt, "issuer=cpu messages=200 warmup=0");
		point_set(&pt, faults[i].point);
		fs_reason_clear();
		rows_init(&rs);
		rc = probe_path.run(&pt, &rs);
		if (rc != -faults[i].code || !strstr(fs_reason(), faults[i].says) || (!strstr(faults[i].point, "messages") && !strstr(fs_reason(), faults[i].more)))
			fail_msg("%s: %d \"%s\", should be %d and say \"%s\", \"%s\"", faults[i].point, rc, fs_reason(),
				 -faults[i].code, faults[i].says, faults[i].more);
		rows_free(&rs);
		point_set(&pt, "fault=none"); /* control */
		run_point(&pt);
	}
}

/* A GPU's fence of its own scope before a NIC on a CPU; the classes are what is asked, no GPU. */
static void an_unsafe_order_names_the_safe_ones(void **state)
{
	struct path_conf c;
	struct point pt;
	char why[256], words[256];

	(void)state;
	point_of(&pt, "issuer=cpu ordering=gpu-fence");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_string_equal(path_order_words(&c, words, sizeof(words)), ""); /* control: a CPU's is safe */
	c.issuer_gpu = 0;
	c.order_class = "unsafe";
	assert_string_equal(path_order_words(&c, words, sizeof(words)),
			    "; ordering=gpu-fence doesn't order the WQE before the doorbell for a NIC behind PCIe (order_class unsafe); "
			    "guaranteed: sys-fence, sys-fence-record, sys-release");
	c.choice.ord = ORD_GPU_FENCE_RECORD; /* the longest of them isn't cut */
	assert_non_null(strstr(path_order_words(&c, words, sizeof(words)), "sys-release"));
}

/* Not an error: it is slower by what the fault says, 100 us a message. */
static void a_slow_nic_is_slow(void **state)
{
	struct point pt;
	struct rows rs;

	(void)state;
	point_of(&pt, "issuer=cpu messages=200 warmup=0 fault=slow-nic");
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	assert_true(row_of(&rs, "total", "-", "latency")->s.max >= 100000);
	assert_true(row_of(&rs, "total", "-", "latency")->s.mean >= 50000);
	rows_free(&rs);
}

/* ---- the ring behind nic=null ---- */

static struct nic_pass spoiler_pass;
static const void *spoiler_at;
static uint8_t spoiler_bit;

static int spoiler_start(const struct nic_pass *p, struct nic_run **run)
{
	spoiler_pass = *p;
	*run = NULL;
	return 0;
}

/* Somebody who writes to memory that nobody should. */
static int spoiler_stop(struct nic_run *run, struct engine_status *st)
{
	(void)run;
	memset(st, 0, sizeof(*st));
	if (spoiler_at)
		*(uint8_t *)spoiler_at ^= spoiler_bit;
	return 0;
}

static const struct nic spoiler = { .name = "spoiler", .start = spoiler_start, .stop = spoiler_stop };

static int null_pass(struct path_mem *m, struct path_conf *c)
{
	struct pass p = { .instr = ALL, .record = 1, .all = 1u << MARK_INTENT, .messages = 200, .seed = 1 };
	int rc = path_pass(m, c, &p);

	pass_term(&p);
	return rc;
}

static void the_null_ring_is_verified(void **state)
{
	static const char *const points[] = { "size=24", "size=40 op=write", "op=read", "op=nop", "doorbell=ring", "size=60 payload=inline depth=16",
		"doorbell=blueflame size=24", "doorbell=blueflame size=40" };

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct path_mem m;
		struct path_conf c;
		struct point pt;
		char why[256];
		uint32_t used, span;

		point_of(&pt, "issuer=cpu nic=null entries=32 depth=32 messages=200");
		point_set(&pt, points[i]);
		assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
		c.nic = &spoiler;
		assert_int_equal(path_mem_init(&m, &c), 0);
		spoiler_at = NULL;
		assert_int_equal(null_pass(&m, &c), 0);
		used = WQE_SEG * (c.choice.kind == POST_NOP ? 1 : post_is_inline(c.choice.kind) ? wqe_ds_inline(c.size) :
				  wqe_ds_pointer(c.size));
		span = WQEBB * post_blocks(c.choice.kind);
		spoiler_bit = 0x10;
		for (uint32_t b = 0; b < 32 * WQEBB; b += 9) { /* every byte offset, over all slots */
			spoiler_at = spoiler_pass.eng.wq + b;
			assert_int_equal(null_pass(&m, &c), b % span < used ? -EBADMSG : 0);
		}
		spoiler_at = spoiler_pass.eng.dbrec + DBREC_SEND + 3;
		assert_int_equal(null_pass(&m, &c), c.choice.mode == DBM_RING ? 0 : -EBADMSG);
		spoiler_at = spoiler_pass.eng.db + 2;
		assert_int_equal(null_pass(&m, &c), -EBADMSG);
		spoiler_at = spoiler_pass.eng.db + 61; /* BlueFlame's line has eight words */
		assert_int_equal(null_pass(&m, &c), doorbell_is_flame(c.choice.mode) ? -EBADMSG : 0);
		path_mem_term(&m);
	}
}

/* ---- passes ---- */

static int messages_done(const char *text)
{
	struct point pt;
	struct rows rs;
	int n = -1;

	point_of(&pt, "issuer=cpu messages=200 warmup=0");
	point_set(&pt, text);
	rows_init(&rs);
	assert_int_equal(probe_path.run(&pt, &rs), 0);
	for (int i = 0; i < rs.nfound; i++)
		if (!strcmp(rs.found[i].name, "messages_done"))
			n = atoi(rs.found[i].text);
	assert_int_equal(row_of(&rs, "total", "-", "observer") != NULL, strstr(text, "all") != NULL);
	rows_free(&rs);
	return n;
}

/* Bare passes, a quarter of the messages before and after, run where their difference is a row. */
static void nothing_runs_that_is_not_shown(void **state)
{
	(void)state;
	assert_int_equal(messages_done("marks=all") - messages_done("marks=rotate"), 100);
}

/* ---- a full queue ---- */

/* Every message of a batch is decided on when its turn comes, also in a batch that
 * found no room at first: its intent is not before the one before it was built. */
static void a_batch_that_waited_has_its_own_intents(void **state)
{
	struct path_conf c;
	struct path_mem m;
	struct point pt;
	char why[256];
	struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = 64, .seed = 1 };

	(void)state;
	point_of(&pt, "issuer=cpu nic=null depth=8 batch=4 entries=16 messages=64 warmup=0");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(path_mem_init(&m, &c), 0);
	assert_int_equal(path_pass(&m, &c, &p), 0);
	assert_true(p.out.reloads > 4); /* it did find none */
	for (int i = 1; i < 64; i++)
		assert_true(p.marks[i * ISSUER_SLOTS + IS_INTENT] >= p.marks[(i - 1) * ISSUER_SLOTS + IS_BUILT]);
	pass_term(&p);
	path_mem_term(&m);
}

/* ---- what was written before ---- */

/* Every message writes its bytes, all of them, and none beside: the last one's stand there. */
static void fresh_bytes_are_written(void **state)
{
	static const uint32_t bytes[] = { 0, 16, 48, 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = 64, .seed = 1 };
		struct coop alone = { 0, 1 };
		struct path_conf c;
		struct path_mem m;
		struct point pt;
		char why[256];

		point_of(&pt, "issuer=cpu nic=null messages=64 warmup=0");
		set_number(&pt, "fresh", bytes[i]);
		assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
		assert_int_equal(path_mem_init(&m, &c), 0);
		memset(m.fresh.p, 0x5a, m.fresh.bytes);
		assert_int_equal(path_pass(&m, &c, &p), 0);
		assert_int_equal(job_check(m.fresh.p, bytes[i], p.out.done - 1, alone), 0);
		for (uint64_t b = bytes[i]; b < m.fresh.bytes; b++)
			assert_int_equal(m.fresh.p[b], 0x5a);
		if (bytes[i]) /* control */
			assert_int_not_equal(job_check(m.fresh.p, bytes[i], p.out.done, alone), 0);
		pass_term(&p);
		path_mem_term(&m);
	}
}

/* ---- lines ---- */

/* Each line has a doorbell and tables of its own, and a pass uses those of its line:
 * a key that is spoiled in one line's tables ends the passes of that line alone. */
static void lines_are_taken_in_turn(void **state)
{
	struct path_conf c;
	struct path_mem m;
	struct point pt;
	char why[256];
	uint64_t id, share = 0;

	(void)state;
	if (pin_cpus() < 2)
		skip();
	point_of(&pt, "issuer=cpu nic=soft lines=3 messages=100 warmup=0");
	assert_int_equal(path_resolve(&pt, suite_machine(), &c, why, sizeof(why)), 0);
	assert_int_equal(pin_self(c.cpu), 0);
	assert_int_equal(path_mem_init(&m, &c), 0);
	id = ((const struct mkey *)(m.keys.p + m.tables))[2].id;
	((struct mkey *)(m.keys.p + m.tables))[2].id ^= 1;
	for (m.line = 0; m.line < 3; m.line++) {
		struct pass p = { .instr = ALL, .record = 1, .all = ~0u, .messages = path_line_share(&c, 100, m.line), .seed = 1 };
		int rc = path_pass(&m, &c, &p);

		assert_int_equal(rc, m.line == 1 ? -EREMOTEIO : 0);
		if (m.line != 1)
			assert_int_equal(ld64(m.db.p + m.line * DB_STRIDE), doorbell_value(p.messages, PATH_QPN));
		share += p.messages;
		pass_term(&p);
	}
	assert_int_equal(share, 100); /* nobody's message is lost between them */
	assert_int_not_equal(id, 0);
	path_mem_term(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_point), cmocka_unit_test(random_points),
		cmocka_unit_test(rows_that_are_off_are_seen), cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(an_unsafe_order_names_the_safe_ones), cmocka_unit_test(a_slow_nic_is_slow), cmocka_unit_test(the_null_ring_is_verified),
		cmocka_unit_test(lines_are_taken_in_turn), cmocka_unit_test(fresh_bytes_are_written),
		cmocka_unit_test(nothing_runs_that_is_not_shown),
		cmocka_unit_test(a_batch_that_waited_has_its_own_intents),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
