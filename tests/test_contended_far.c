/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: `others_gpu` puts the others of a contended message on another GPU, with the scope, the agents, the SMs and the order's
 * promise that follow; a machine that lacks it, or whose GPUs don't reach each other, is told in words; with the issuer's own
 * number, or auto, nothing changes.
 *
 * Controls: the same point without it, and the same machine with one bit more.
 */
#include "tests/points.h"

#include "stages/completion/contended_parts.h"
#include <errno.h>

extern const struct probe probe_contended;
extern const struct nic nic_peer;

static struct machine machine_of(int gpus)
{
	struct machine m = { .ngpus = gpus, .cpus = 8, .gpu_reason = "none found" };

	for (int i = 0; i < gpus; i++) {
		m.gpu[i].sms = 132;
		m.gpu[i].cc_major = 9;
		m.gpu[i].peers = m.gpu[i].native_atomics = ((1u << gpus) - 1) & ~(1u << i);
	}
	return m;
}

static int resolved(const char *text, const struct machine *m, struct cont_conf *c, char *why)
{
	struct point pt;

	fs_point_init(&pt, &probe_contended);
	point_set(&pt, "issuer=gpu nic=soft depth=16 others=4 ordering=sys-fence-record");
	point_set(&pt, text);
	fs_point_id(&pt);
	*why = 0;
	return cont_resolve(&pt, m, c, why, 256);
}

static void good(const char *text, const struct machine *m, struct cont_conf *c)
{
	char why[256];

	if (resolved(text, m, c, why))
		fail_msg("%s: %s", text, why);
}

static void others_are_where_they_are_asked_for(void **state)
{
	static const struct { const char *text; int far_device; unsigned agents, far_agents; int form; } points[] = {
		{ "", -1, 5, 0, FORM_SOLO }, { "others_gpu=0", -1, 5, 0, FORM_SOLO }, { "gpu=1 others_gpu=1", -1, 5, 0, FORM_SOLO },
		{ "others_queue=shared", -1, 5, 0, FORM_GPU }, { "others_queue=shared others_gpu=0", -1, 5, 0, FORM_GPU },
		{ "others_gpu=1", 1, 5, 4, FORM_SOLO }, { "others_gpu=1 trip=round", 1, 6, 4, FORM_SOLO },
		{ "others_gpu=1 others_queue=shared", 1, 5, 4, FORM_SYS }, { "others_gpu=1 others_queue=shared trip=round", 1, 6, 4, FORM_SYS },
		{ "gpu=1 others_gpu=0 others_queue=shared", 0, 5, 4, FORM_SYS }, { "others_gpu=1 others=0", 1, 1, 0, FORM_SOLO },
		{ "others_gpu=1 others=0 others_queue=shared", 1, 1, 0, FORM_SYS }, { "gpu=1 others_gpu=2 others=64", 2, 65, 64, FORM_SOLO },
	};
	const struct machine m = machine_of(3);
	struct cont_conf c;

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		good(points[i].text, &m, &c);
		if (c.choice.far_device != points[i].far_device || c.choice.agents != points[i].agents || c.choice.far_agents != points[i].far_agents ||
		    c.choice.form != points[i].form || c.choice.far_beside)
			fail_msg("%s: gpu %d, %u agents, %u there, form %d, beside %u", points[i].text, c.choice.far_device, c.choice.agents,
				 c.choice.far_agents, c.choice.form, c.choice.far_beside);
		/* what they post into stays with the issuer; behind PCIe that is the host's */
		for (int o = OBJ_QUEUE; o < OBJECTS_PLACED; o++)
			assert_true(c.rate.path.place[o] == PLACE_HOST || c.rate.path.place[o] == c.rate.path.issuer_gpu);
		assert_int_equal(c.senders, 1 + c.others);
	}
}

/* The SMs that a NIC holds are counted on its own GPU. */
static void a_nic_stands_beside_those_on_its_gpu(void **state)
{
	static const struct { const char *text; unsigned beside, far_beside; int form; const char *class; } points[] = {
		{ "nic_gpu=gpu others_gpu=1", 2, 0, FORM_SOLO, "guaranteed" }, { "nic_gpu=1 others_gpu=1", 0, 2, FORM_SOLO, "guaranteed" },
		{ "nic_gpu=2 others_gpu=1", 0, 0, FORM_SOLO, "guaranteed" }, { "nic_gpu=gpu others_gpu=1 ordering=gpu-fence", 2, 0, FORM_SOLO, "unsafe" },
		{ "nic_gpu=1 others_gpu=1 ordering=gpu-fence", 0, 2, FORM_SOLO, "relied-on" }, { "nic_gpu=gpu ordering=gpu-fence", 2, 0, FORM_SOLO, "guaranteed" },
	};
	const struct machine m = machine_of(3);
	struct cont_conf c;
	char why[256];

	(void)state;
	if (nic_peer.absent) { /* the claim is then of what follows a soft NIC alone */
		assert_int_equal(resolved("nic=peer nic_gpu=gpu others_gpu=1", &m, &c, why), -ENODEV);
		return;
	}
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		char text[160];

		snprintf(text, sizeof(text), "nic=peer nic_workers=2 %s", points[i].text);
		good(text, &m, &c);
		if (c.choice.beside != points[i].beside || c.choice.far_beside != points[i].far_beside || c.choice.form != points[i].form ||
		    strcmp(c.rate.path.order_class, points[i].class))
			fail_msg("%s: beside %u and %u, form %d, %s", text, c.choice.beside, c.choice.far_beside, c.choice.form, c.rate.path.order_class);
	}
}

static void an_order_promises_what_it_does_for_both(void **state)
{
	enum { HERE, THERE, NONE = -1 };
	static const struct { int ord, nic_gpu, queue, others; const char *class; } orders[] = {
		{ ORD_SYS_FENCE, HERE, HERE, THERE, "guaranteed" }, { ORD_SYS_RELEASE, NONE, NONE, THERE, "guaranteed" },
		{ ORD_SYS_FENCE_RECORD, THERE, HERE, THERE, "guaranteed" }, { ORD_NONE, HERE, HERE, THERE, "unsafe" },
		{ ORD_GPU_FENCE, HERE, HERE, NONE, "guaranteed" },   /* control: nobody else */
		{ ORD_GPU_FENCE, HERE, HERE, THERE, "unsafe" },      /* the NIC is outside the others' scope, and so is the queue */
		{ ORD_THREADFENCE, THERE, HERE, NONE, "relied-on" }, { ORD_THREADFENCE, THERE, HERE, THERE, "relied-on" },
		{ ORD_GPU_RELEASE, THERE, THERE, NONE, "unsafe" }, { ORD_GPU_RELEASE, THERE, THERE, THERE, "unsafe" },
		{ ORD_GPU_FENCE_RECORD, NONE, NONE, THERE, "unsafe" },
	};
	const struct machine m = machine_of(2);
	struct cont_conf c;
	char words[256];

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct path_conf *p = &c.rate.path;

		good("", &m, &c);
		p->choice.ord = orders[i].ord;
		p->nic_gpu = orders[i].nic_gpu;
		p->place[OBJ_QUEUE] = orders[i].queue;
		path_post_from(p, orders[i].others);
		if (strcmp(p->order_class, orders[i].class))
			fail_msg("%zu: %s, expected %s", i, p->order_class, orders[i].class);
		path_order_words(p, words, sizeof(words));
		assert_int_equal(*words != 0, !strcmp(orders[i].class, "unsafe"));
		/* what is named as guaranteed is so for the others too */
		if (orders[i].others == THERE && *words) {
			assert_non_null(strstr(words, "guaranteed: sys-fence, sys-fence-record, sys-release"));
			assert_non_null(strstr(words, orders[i].nic_gpu < 0 ? "behind PCIe" : "on another device"));
		}
	}
	good("others_gpu=1 ordering=gpu-fence", &m, &c);
	assert_string_equal(c.rate.path.order_class, "unsafe");
	/* a payload's last word comes last by a NIC's habit, as without */
	good("others_gpu=1 trip=round size=16", &m, &c);
	assert_string_equal(c.rate.path.order_class, "relied-on");
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct { const char *text; int gpus, rc; const char *says; } refusals[] = {
		{ "issuer=cpu others_gpu=0", 2, -EINVAL, "others_gpu=auto, or issuer=gpu" }, { "issuer=cpu others_gpu=1", 0, -EINVAL, "issuer=gpu" },
		{ "others_gpu=1", 1, -ENODEV, "others_gpu=1: this machine has GPU 0..0" }, { "others_gpu=15", 2, -ENODEV, "GPU 0..1" },
		{ "others_gpu=1", 0, -ENODEV, "needs a GPU" }, { "fault=failed-launch", 2, -EINVAL, "others=1.. with others_gpu=GPU" },
		{ "fault=failed-launch others_gpu=0", 2, -EINVAL, "others=1.." }, { "fault=failed-launch others_gpu=1 others=0", 2, -EINVAL, "others=1.." },
		{ "fault=failed-launch others_gpu=1 issuer=cpu", 2, -EINVAL, "issuer=gpu" }, { "fault=opcode others_gpu=1", 2, -EINVAL, "legal: none, key" },
		{ "others_gpu=1 submitter=proxy", 2, -EINVAL, "others_gpu=auto, or submitter=gpu" },
	};
	struct machine m;
	struct cont_conf c;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		int rc;

		m = machine_of(refusals[i].gpus);
		rc = resolved(refusals[i].text, &m, &c, why);
		if (rc != refusals[i].rc || !strstr(why, refusals[i].says))
			fail_msg("%s: %d, \"%s\"; expected %d and \"%s\"", refusals[i].text, rc, why, refusals[i].rc, refusals[i].says);
	}
	m = machine_of(2);
	for (int from = 0; from < 2; from++) { /* one way is not enough */
		m.gpu[from].peers = 0;
		assert_int_equal(resolved("others_gpu=1", &m, &c, why), -ENODEV);
		assert_non_null(strstr(why, "others_gpu=1: GPU 0, where the issuer is, and it can't reach each other's memory (no peer access); legal: others_gpu=auto"));
		m.gpu[from].peers = 1u << !from;
	}
	good("others_gpu=1 fault=failed-launch", &m, &c);
	assert_true(c.choice.refused && c.rate.fault == FAULT_NONE);
	good("others_gpu=1 fault=dead-nic", &m, &c);
	assert_true(!c.choice.refused && c.rate.fault == FAULT_DEAD_NIC);
	m.gpu[1].native_atomics = 0;
	assert_int_equal(resolved("others_gpu=1", &m, &c, why), -ENODEV);
	assert_non_null(strstr(why, "not native"));
	good("others_gpu=auto", &m, &c); /* control */
	m.gpu[1].native_atomics = 1;
	m.gpu[0].native_atomics = 0; /* nobody reaches that way */
	good("others_gpu=1", &m, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_where_they_are_asked_for), cmocka_unit_test(a_nic_stands_beside_those_on_its_gpu),
		cmocka_unit_test(an_order_promises_what_it_does_for_both), cmocka_unit_test(what_cannot_be_is_refused),
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
