/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: each fault of the probe `path` ends in its syndrome, or in a bounded wait that
 * says how far messages got; an order that isn't safe is named, and which are; a NIC that
 * is only slow is no error.
 *
 * Controls: the same points without the fault succeed; of an order that is safe no word is said.
 */
#include "tests/path_rows.h"

#include <errno.h>

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

		/* the fault is in the middle: message 100 */
		point_of(&pt, "issuer=cpu messages=200 warmup=0");
		point_set(&pt, faults[i].point);
		point_fails(&pt, faults[i].code, faults[i].says, strstr(faults[i].point, "messages") ? "" : faults[i].more);
		point_set(&pt, "fault=none"); /* control */
		path_run(&pt);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_end_in_words),
		cmocka_unit_test(an_unsafe_order_names_the_safe_ones),
		cmocka_unit_test(a_slow_nic_is_slow),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
