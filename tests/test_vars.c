/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: words of variables stand in the order of the enums that index them;
 * every variable is read by some probe, and probes read none that isn't there;
 * defaults are legal; and a combination that can't be is refused, with what
 * would be legal. Control: each refused point is legal once the setting that was
 * complained of is changed.
 */
#include "tests/points.h"

#include "stages/issuer/boundary.h"

#include "stages/completion/visible.h"
#include "stages/nic/nic.h"
#include "stages/suite.h"
#include "stages/translation/register.h"
#include <errno.h>

/* ---- words ---- */

struct words { const char *var; int pairs; int n; const char *const *word; };

static const char *const orderings[ORDERINGS] = {
	[ORD_NONE] = "none", [ORD_GPU_FENCE] = "gpu-fence", [ORD_GPU_FENCE_RECORD] = "gpu-fence-record",
	[ORD_GPU_RELEASE] = "gpu-release", [ORD_THREADFENCE] = "threadfence", [ORD_SYS_FENCE] = "sys-fence",
	[ORD_SYS_FENCE_RECORD] = "sys-fence-record", [ORD_SYS_RELEASE] = "sys-release",
};
static const char *const doorbells[DOORBELL_MODES] = {
	[DBM_RECORD_RING] = "record-ring", [DBM_RING_RECORD_RING] = "ring-record-ring", [DBM_RING] = "ring",
	[DBM_BLUEFLAME] = "blueflame", [DBM_BLUEFLAME_BULK] = "blueflame-bulk",
};
static const char *const faults[FAULTS] = {
	[FAULT_NONE] = "none", [FAULT_OPCODE] = "opcode", [FAULT_DS] = "ds", [FAULT_KEY] = "key",
	[FAULT_LKEY] = "lkey", [FAULT_LENGTH] = "length", [FAULT_QPN] = "qpn", [FAULT_INDEX] = "index",
	[FAULT_DEAD_NIC] = "dead-nic", [FAULT_LOST_DOORBELL] = "lost-doorbell",
	[FAULT_STALE_RECORD] = "stale-record", [FAULT_ERROR_CQE] = "error-cqe", [FAULT_LOST_CQE] = "lost-cqe",
	[FAULT_SLOW_NIC] = "slow-nic", [FAULT_STUCK_WORKER] = "stuck-worker", [FAULT_KILLED_WORKER] = "killed-worker",
	[FAULT_RING_OVERRUN] = "ring-overrun", [FAULT_DEAF_CONSUMER] = "deaf-consumer", [FAULT_FAILED_LAUNCH] = "failed-launch", [FAULT_LOST_WAKEUP] = "lost-wakeup", [FAULT_LOST_COPY] = "lost-copy",
	[FAULT_GPU_MEMORY] = "gpu-memory", [FAULT_GPU_STICKY] = "gpu-sticky",
	[FAULT_GPU_LOST] = "gpu-lost", [FAULT_WRONG_PLACE] = "wrong-place", [FAULT_NO_REPLY] = "no-reply",
};
static const char *const movers[] = { [MOVER_SM] = "sm", [MOVER_CE] = "ce", [MOVER_CPU] = "cpu" };
static const char *const dirs[] = { [DIR_READ] = "read", [DIR_WRITE] = "write", [DIR_COPY] = "copy" };
static const char *const ways[] = { [WAYS_ONE] = "one", [WAYS_BOTH] = "both", [WAYS_TO_ALL] = "to-all", [WAYS_FROM_ALL] = "from-all" };
static const char *const scopes[] = { [SCOPED_GPU] = "gpu", [SCOPED_SYS] = "sys" };
static const char *const fences[AFTERS] = {
	[AFTER_NONE] = "none", [AFTER_RELEASE_GPU] = "release-gpu", [AFTER_RELEASE_SYS] = "release-sys",
	[AFTER_SC_GPU] = "sc-gpu", [AFTER_SC_SYS] = "sc-sys",
};
static const char *const mechanisms[MECHANISMS] = {
	[MECH_POPULATE] = "populate", [MECH_MLOCK] = "mlock", [MECH_CUDA_MALLOC] = "cuda-malloc", [MECH_CU_MEM] = "cu-mem",
	[MECH_HOST_ALLOC] = "host-alloc", [MECH_HOST_REGISTER] = "host-register", [MECH_DMA_BUF] = "dma-buf",
	[MECH_CUDA_IPC] = "cuda-ipc", [MECH_REG_MR] = "reg-mr", [MECH_REG_DMABUF_MR] = "reg-dmabuf-mr",
	[MECH_PEERMEM] = "peermem", [MECH_ODP] = "odp",
};
static const char *const places[] = {
	[PW_AUTO] = "auto", [PW_HOST] = "host", [PW_GPU] = "gpu", [PW_PEER] = "peer",
};
static const char *const metrics[] = { [METRIC_LATENCY] = "latency", [METRIC_RATE] = "rate" };
static const char *const marks[] = { [MARKS_ALL] = "all", [MARKS_OUTER] = "outer", [MARKS_ROTATE] = "rotate" };
static const char *const checks[] = {
	[CHECK_AUTO] = "auto", [CHECK_EACH] = "each", [CHECK_END] = "end", [CHECK_NONE] = "none",
};
static const char *const submitters[SUBMITTERS] = {
	[SUBMITTER_GPU] = "gpu", [SUBMITTER_HOST_DOORBELL] = "host-doorbell", [SUBMITTER_PROXY] = "proxy", [SUBMITTER_CPU] = "cpu",
};
static const char *const consumers[] = { "auto", [1 + CONSUMER_GPU] = "gpu", [1 + CONSUMER_CPU] = "cpu" };
static const char *const notifies[NOTIFIES] = { [NOTIFY_POLL] = "poll", [NOTIFY_INTERRUPT] = "interrupt" };
static const char *const states[] = { [CPU_AS_IS] = "as-is", [CPU_COLD] = "cold", [CPU_WARM] = "warm" };
static const char *const boundaries[] = {
	"auto", [1 + BOUNDARY_STREAM] = "stream", [1 + BOUNDARY_GRAPH] = "graph", [1 + BOUNDARY_FUTEX] = "futex",
};
static const char *const forms[PROXY_FORMS] = { [PROXY_TUNED] = "tuned", [PROXY_BASELINE] = "baseline" };
static const char *const acquires[] = {
	[ACQUIRE_NONE] = "none", [ACQUIRE_FENCE_GPU] = "fence-gpu", [ACQUIRE_FENCE_SYS] = "fence-sys", [ACQUIRE_LOAD] = "load",
};
static const char *const payload_loads[] = { [LOADED_RELAXED] = "relaxed", [LOADED_PLAIN] = "plain" };
static const char *const earlies[] = { [EARLY_NONE] = "none", [EARLY_WRITER] = "writer", [EARLY_READER] = "reader" };
static const char *const cqs[] = { "ring", "collapsed" };
static const char *mark_names[MARKS];

static const struct words all_words[] = {
	{ "ordering", 0, ORDERINGS, orderings }, { "doorbell", 0, DOORBELL_MODES, doorbells },
	{ "fault", 0, FAULTS, faults }, { "queue_mem", 0, 4, places }, { "db_mem", 0, 4, places },
	{ "cq_mem", 0, 4, places }, { "src_mem", 0, 4, places }, { "dst_mem", 0, 4, places }, { "mem", 0, 4, places },
	{ "mechanism", 0, MECHANISMS, mechanisms },
	{ "submitter", 0, SUBMITTERS, submitters }, { "consumer", 0, 1 + CONSUMERS, consumers },
	{ "notify", 0, NOTIFIES, notifies }, { "proxy", 0, PROXY_FORMS, forms }, { "boundary", 0, 1 + BOUNDARIES, boundaries },
	{ "cpu_state", 0, 3, states },
	{ "cq", 0, 2, cqs }, { "metric", 0, 2, metrics }, { "marks", 0, 3, marks }, { "check", 0, 4, checks },
	{ "mover", 0, MOVERS, movers }, { "dir", 0, DIRS, dirs }, { "ways", 0, WAYS_WORDS_N, ways },
	{ "atomic_scope", 0, SCOPE_WORDS_N, scopes }, { "store_fence", 0, AFTERS, fences },
	{ "acquire", 0, ACQUIRES, acquires }, { "early", 0, 3, earlies },
	{ "payload_load", 0, PAYLOAD_LOADS, payload_loads },
	{ "plant", 1, MARKS, mark_names }, { "untold", 1, MARKS, mark_names },
};

/* Word i of "a|b|c"; NULL behind the last. */
static const char *word_at(const char *list, int i, char *buf, size_t len)
{
	const char *end;

	for (; i; i--) {
		list = strchr(list, '|');
		if (!list++)
			return NULL;
	}
	end = strchrnul(list, '|');
	snprintf(buf, len, "%.*s", (int)(end - list), list);
	return buf;
}

/* 0, or one more than the place of the first word that is another. */
static int words_differ(const char *list, const char *const *want, int n)
{
	char buf[64];

	for (int i = 0; i < n; i++) {
		const char *got = word_at(list, i, buf, sizeof(buf));

		if (!got || strcmp(got, want[i]))
			return i + 1;
	}
	return word_at(list, n, buf, sizeof(buf)) ? n + 1 : 0;
}

static void words_are_in_the_order_of_enums(void **state)
{
	(void)state;
	for (int i = 0; i < MARKS; i++)
		mark_names[i] = mark_table[i].name;
	for (size_t i = 0; i < sizeof(all_words) / sizeof(all_words[0]); i++) {
		const struct var *v = &fs_vars[fs_var_find(all_words[i].var)];
		int off = words_differ(all_words[i].pairs ? v->pairs : v->words, all_words[i].word, all_words[i].n);

		if (off)
			fail_msg("%s: word %d is another than its enum's", v->name, off - 1);
	}
	/* control */
	assert_int_equal(words_differ("latency|rate", metrics, 2), 0);
	assert_int_equal(words_differ("rate|latency", metrics, 2), 1);
	assert_int_equal(words_differ("latency", metrics, 2), 2);
	assert_int_equal(words_differ("latency|rate|both", metrics, 2), 3);
}

static void words_become_what_they_say(void **state)
{
	static const struct { const char *text; int op, kind; uint32_t size; } ops[] = {
		{ "op=write size=28", WQE_WRITE, POST_INLINE, 28 }, { "op=write size=29", WQE_WRITE, POST_WRITE, 29 },
		{ "size=28 payload=inline", WQE_WRITE, POST_INLINE, 28 }, { "size=29 payload=inline", WQE_WRITE, POST_INLINE2, 29 },
		{ "size=92 payload=inline", WQE_WRITE, POST_INLINE2, 92 },
		{ "op=write size=8 payload=pointer", WQE_WRITE, POST_WRITE, 8 }, { "op=read size=8", WQE_READ, POST_READ, 8 },
		{ "op=nop size=8", WQE_NOP, POST_NOP, 0 },
	};
	static const struct { const char *word; uint32_t shift; } pages[] = { { "4k", 12 }, { "64k", 16 }, { "2m", 21 } };
	const struct machine none = { .cpus = 1 };
	struct path_conf c;
	struct point pt;
	char why[256], buf[64];
	int i;

	(void)state;
	for (i = 0; nics[i]; i++) {
		assert_non_null(word_at(fs_vars[fs_var_find("nic")].words, i, buf, sizeof(buf)));
		assert_string_equal(buf, nics[i]->name);
	}
	assert_null(word_at(fs_vars[fs_var_find("nic")].words, i, buf, sizeof(buf)));
	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
		point_of(&pt, "issuer=cpu");
		point_set(&pt, ops[k].text);
		assert_int_equal(path_resolve(&pt, &none, &c, why, sizeof(why)), 0);
		assert_int_equal(c.op, ops[k].op);
		assert_int_equal(c.choice.kind, ops[k].kind);
		assert_int_equal(c.size, ops[k].size);
	}
	for (int k = 0; k < 3; k++) {
		point_of(&pt, "issuer=cpu");
		assert_int_equal(fs_point_set(&pt, "page", pages[k].word), 0);
		assert_int_equal(path_resolve(&pt, &none, &c, why, sizeof(why)), 0);
		assert_int_equal(c.page_shift, pages[k].shift);
	}
}

/* ---- the tables fit each other ---- */

static int read_by_some(const char *var)
{
	int n = 0;

	for (int p = 0; fs_probes[p]; p++)
		n += fs_probe_reads(fs_probes[p], var) > 0;
	return n;
}

static void tables_fit(void **state)
{
	(void)state;
	for (int i = 0; fs_vars[i].name; i++) {
		const struct var *v = &fs_vars[i];
		struct value val;
		char text[160];

		if (!read_by_some(v->name))
			fail_msg("%s is read by no probe", v->name);
		assert_int_equal(fs_var_find(v->name), i); /* a name stands once */
		assert_true(v->help && *v->help && v->unit);
		assert_int_equal(fs_var_parse(v, v->def, &val), 0);
		assert_string_equal(fs_var_format(v, &val, text, sizeof(text)), v->def);
	}
	assert_int_equal(read_by_some("nothing"), 0); /* control */
	for (int p = 0; fs_probes[p]; p++) {
		const struct probe *b = fs_probes[p];

		assert_true(b->name && b->help && b->check && b->run && b->patience_s);
		assert_ptr_equal(fs_probe_find(b->name), b);
		for (int i = 0; b->reads[i]; i++) {
			if (fs_var_find(b->reads[i]) < 0)
				fail_msg("%s reads %s, which is no variable", b->name, b->reads[i]);
			for (int k = 0; k < i; k++)
				assert_string_not_equal(b->reads[i], b->reads[k]);
		}
	}
}

/* Every probe's point of defaults may run, where there is what it is made for. (A
 * bandwidth has to be told how much it moves: a message's 8 B are no transfer.) */
static void defaults_are_legal(void **state)
{
	struct machine m = { .ngpus = 1, .cpus = 2, .gpu = { { .sms = 132, .bytes = 1ull << 37 } } };
	char why[256] = "";

	(void)state;
	for (int p = 0; fs_probes[p]; p++)
		for (int cpu = 0; cpu < 2; cpu++) {
			struct point pt;

			fs_point_init(&pt, fs_probes[p]);
			if (cpu)
				point_set(&pt, "issuer=cpu mover=cpu");
			if (!strcmp(pt.probe->name, "bandwidth"))
				point_set(&pt, "size=1M");
			m.ngpus = !cpu;
			if (fs_probes[p]->check(&pt, &m, why, sizeof(why)))
				fail_msg("%s: %s", fs_probes[p]->name, why);
		}
}

/* ---- what can't be ---- */

static const struct refusal { const char *point; int code; const char *says, *legal; const char *cure; } refusals[] = {
	{ "size=93 payload=inline", EINVAL, "size=93", "size=0..92", "size=92" },
	{ "size=128 payload=inline", EINVAL, "92 B", "payload=pointer", "payload=pointer" },
	{ "size=64 payload=inline doorbell=ring", EINVAL, "two basic blocks", "doorbell=record-ring", "doorbell=record-ring" },
	{ "size=64 payload=inline doorbell=ring", EINVAL, "two basic blocks", "size=0..28", "size=28" },
	{ "size=64 payload=inline depth=17 entries=32", EINVAL, "two to a message", "depth=1..16", "depth=16" },
	{ "op=read payload=inline", EINVAL, "op=read", "payload=pointer", "payload=auto" },
	{ "op=nop payload=inline", EINVAL, "op=nop", "payload=pointer", "payload=auto" },
	{ "queue_mem=gpu", EINVAL, "queue_mem=gpu", "auto, host", "queue_mem=host" },
	{ "db_mem=peer", EINVAL, "db_mem=peer", "auto, host", "db_mem=auto" },
	{ "issuer=gpu nic=soft cq_mem=gpu", EINVAL, "nic=soft", "auto, host", "issuer=cpu cq_mem=host" },
	{ "src_mem=gpu", EINVAL, "can't reach GPU memory", "auto, host", "src_mem=auto" },
	{ "nic=null dst_mem=peer", EINVAL, "dst_mem=peer", "auto, host", "dst_mem=auto" },
	{ "issuer=gpu nic=null dst_mem=peer", EINVAL, "nic=peer", "auto, host, gpu", "issuer=cpu dst_mem=auto" },
	{ "nic=peer", ENODEV, "peer", "nic=null", "nic=soft" },
	{ "nic=peer", ENODEV, "peer", "soft", "nic=null" },
	{ "issuer=gpu", ENODEV, "issuer=gpu", "issuer=cpu", "issuer=cpu" },
	{ "depth=64 entries=32", EINVAL, "depth=64", "depth=1..32", "depth=32" },
	{ "depth=4 batch=8", EINVAL, "batch=8", "batch=1..4", "batch=4" },
	{ "doorbell=ring recover_every=4", EINVAL, "no record", "recover_every=0", "recover_every=0" },
	{ "signal=4 depth=16", EINVAL, "`noticed` of its own", "metric=rate with marks=outer", "metric=rate marks=outer" },
	{ "signal=4 depth=16 metric=rate", EINVAL, "signal=4", "signal=1", "signal=1" },
	{ "signal=8 depth=8 batch=4 metric=rate marks=outer", EINVAL, "is full before", "depth=11..", "depth=11" },
	{ "signal=3 depth=8 metric=rate marks=outer", EINVAL, "signal=3", "powers of two", "signal=2" },
	{ "signal=8 depth=4 metric=rate marks=outer", EINVAL, "depth=4", "depth=8..", "depth=8" },
	{ "signal=4 depth=16 metric=rate marks=outer check=each", EINVAL, "can't be looked at", "check=end", "check=end" },
	{ "signal=4 depth=16 metric=rate marks=outer nic=null", EINVAL, "nobody completes", "signal=1", "signal=1" },
	{ "fresh=24", EINVAL, "by 16 bytes", "fresh=16", "fresh=16" },
	{ "fresh=64 depth=2", EINVAL, "fresh=64", "depth=1", "depth=1" },
	{ "fresh=64 metric=rate", EINVAL, "metric=rate", "metric=latency", "metric=latency" },
	{ "cq=collapsed nic=null", EINVAL, "nobody completes", "cq=ring", "cq=ring" },
	{ "cq=collapsed op=read", EINVAL, "is built for writes", "cq=ring", "op=write" },
	{ "cq=collapsed doorbell=ring", EINVAL, "record-ring", "cq=ring", "doorbell=record-ring" },
	{ "cq=collapsed size=64 payload=inline", EINVAL, "one basic block", "cq=ring", "payload=pointer" },
	{ "cq=collapsed fault=lost-cqe depth=2", EINVAL, "speaks for the lost one", "depth=1", "depth=1" },
	{ "fault=key size=0", EINVAL, "fault=key", "size=1..", "size=8" },
	{ "fault=length op=nop", EINVAL, "fault=length", "op=write", "op=write" },
	{ "fault=lkey", EINVAL, "fault=lkey", "payload=pointer", "payload=pointer" },
	{ "fault=lkey op=nop", EINVAL, "no local key", "payload=pointer", "op=write payload=pointer" },
	{ "fault=stale-record", EINVAL, "recover_every", "1..", "recover_every=1" },
	{ "fault=qpn nic=null", EINVAL, "nic=null", "fault=none", "fault=none" },
	{ "fault=qpn marks=outer", EINVAL, "marks=all", "metric=latency", "marks=all" },
	{ "fault=qpn metric=rate", EINVAL, "marks=all", "metric=latency", "metric=latency" },
	{ "size=32M", EINVAL, "size=33554432", "size=0..16777216", "size=16M" },
	{ "fault=wrong-place", EINVAL, "wrong-place", "load, store", "fault=none" },
	{ "fault=no-reply", EINVAL, "no-reply", "probe rtt", "fault=none" },
	{ "fault=gpu-lost", EINVAL, "needs a GPU", "issuer=gpu", "fault=none" },
	{ "plant=built:100 nic=null", EINVAL, "nic=null", "no path", "plant=none" },
	{ "untold=built:100 nic=null", EINVAL, "nic=null", "no path", "untold=none" },
	{ "plant=built:99", EINVAL, "plant=built:99", "100 ns or more", "plant=built:100" },
	{ "untold=read:1", EINVAL, "untold=read:1", "tens of ns", "untold=read:100" },
	{ "plant=taken:100", EINVAL, "taken", "submitter=host-doorbell", "plant=rung:100" },
	{ "plant=handed:100", EINVAL, "handed", "submitter=host-doorbell, proxy or cpu", "plant=built:100" },
	{ "plant=built:100 marks=outer", EINVAL, "marks=all", "metric=latency", "marks=all" },
	{ "plant=built:100 metric=rate", EINVAL, "marks=all", "metric=latency", "metric=latency" },
	{ "check=end size=1M messages=1000", EINVAL, "a slot of its own", "check=each", "check=each" },
	{ "depth=32768 entries=32768 size=1M marks=outer", EINVAL, "payload memory", "4096 MiB", "depth=64" },
	{ "depth=2048 entries=2048 metric=rate", EINVAL, "depth=2048", "marks=outer", "marks=outer" },
	{ "nic=null marks=outer", EINVAL, "nothing is noticed", "marks=all", "metric=rate" },
	{ "messages=5000000", EINVAL, "messages=5000000", "4000000", "messages=4000000" },
	{ "cpu=4095", ENODEV, "cpu=4095", "may not run", "cpu=auto" },
};

static void impossible_points_are_refused(void **state)
{
	const struct machine none = { .cpus = 1, .gpu_reason = "none found" };

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *f = &refusals[i];
		struct path_conf c;
		struct point pt;
		char why[256] = "";
		int rc;

		point_of(&pt, "issuer=cpu");
		point_set(&pt, f->point);
		rc = path_resolve(&pt, &none, &c, why, sizeof(why));
		if (rc != -f->code || !strstr(why, f->says) || (f->code == EINVAL && !strstr(why, f->legal)))
			fail_msg("\"%s\": %d \"%s\", should be %d and say \"%s\", \"%s\"", f->point, rc, why, -f->code,
				 f->says, f->legal);
		assert_true(strlen(why) < sizeof(why) - 1); /* not cut */
		/* the probe says what it is made of says */
		assert_int_equal(probe_path.check(&pt, &none, why, sizeof(why)), rc);
		point_set(&pt, f->cure);
		if (path_resolve(&pt, &none, &c, why, sizeof(why)))
			fail_msg("\"%s\", then %s: still refused: %s", f->point, f->cure, why);
	}
}

/* What other probes refuse of their own. */
static void other_probes_refuse_too(void **state)
{
	const struct machine none = { .cpus = 1 };
	struct point pt;
	char why[256];

	(void)state;
	fs_point_init(&pt, fs_probe_find("pingpong"));
	point_set(&pt, "issuer=cpu nic=null");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "nic=soft"));
	point_set(&pt, "nic=soft");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), 0);
	fs_point_init(&pt, fs_probe_find("floor"));
	point_set(&pt, "issuer=cpu size=29");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "size=0..28"));
	point_set(&pt, "size=28");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), 0);
	fs_point_init(&pt, fs_probe_find("rate"));
	point_set(&pt, "issuer=cpu nic=null size=64 payload=inline sharing=gpu");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "two basic blocks"));
	point_set(&pt, "sharing=exclusive");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), 0);
	point_set(&pt, "sharing=gpu payload=pointer");
	assert_int_equal(pt.probe->check(&pt, &none, why, sizeof(why)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_in_the_order_of_enums), cmocka_unit_test(words_become_what_they_say),
		cmocka_unit_test(tables_fit), cmocka_unit_test(defaults_are_legal),
		cmocka_unit_test(impossible_points_are_refused), cmocka_unit_test(other_probes_refuse_too),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
