/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: the NIC's kernel on a GPU does with WQEs that lie there what the engine
 * should: every payload at its target, a good CQE each; and a spoiled key ends in a
 * syndrome and flushes. It runs alone: WQEs, record and doorbell are written before
 * it starts and its stop word is set, so that a sanitizer which runs one kernel at a
 * time can look at it. Control: a payload that is changed behind it is found. (A kernel
 * that expects WQEs in its doorbell's line, which it empties when it starts, has them from the queue.)
 */
#include "tests/points.h"

#include "stages/path_layout.h"
#include "stages/queue/coop.h"
#include "stages/suite.h"
#include <stdlib.h>

enum { MESSAGES = 40 };

struct bench {
	struct path_conf c;
	struct path_mem m;
	struct pass p;
	struct engine_status st;
};

static int expect_lines;

/* Runs MESSAGES WQEs of a point through the kernel; message `spoiled` has another key. */
static void serve(struct bench *b, const char *text, int instr, int spoiled)
{
	struct nic_pass np = { .instr = instr, .start_s = 20, .stop_s = 20 };
	struct queue q = { .qpn = PATH_QPN };
	struct coop alone = { 0, 1 };
	uint64_t w[WQE_BLOCKS_MAX * WQE_WORDS], db;
	uint32_t rec, blocks;
	struct nic_run *run;
	struct point pt;
	char why[256];

	memset(b, 0, sizeof(*b));
	point_of(&pt, "nic=peer nic_gpu=gpu messages=40 depth=64");
	point_set(&pt, text);
	if (path_resolve(&pt, suite_machine(), &b->c, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	assert_int_equal(cuda_use(b->c.issuer_gpu, b->c.nic_gpu), 0);
	assert_int_equal(path_mem_init(&b->m, &b->c), 0);
	assert_int_equal(path_mem_reset(&b->m, &b->c), 0);
	blocks = post_blocks(b->c.choice.kind);
	db = doorbell_value(MESSAGES * blocks, PATH_QPN);
	rec = dbrec_value(MESSAGES * blocks);
	np.usual = expect_lines ? USUAL_FLAME : b->c.cache ? USUAL_CACHED : blocks > 1 ? USUAL_TWO : USUAL;
	for (uint64_t m = 0; m < MESSAGES; m++) {
		uint64_t off = (m & (b->c.slots - 1)) * b->c.stride;
		int rd = b->c.op == WQE_READ;
		uint32_t mr = path_mr_of(&b->c, m & (b->c.slots - 1));
		struct resolved x = { path_key(&b->c, 0, mr), path_key(&b->c, 1, mr) ^ (m == (uint64_t)spoiled), (uint64_t)(rd ? b->m.src.p : b->m.dst.p) + off };
		uint8_t *payload = calloc(1, b->c.stride);

		assert_non_null(payload);
		job_fill(payload, b->c.size, m, alone);
		assert_int_equal(place_write(&b->m.src, off, payload, b->c.stride), 0);
		free(payload);
		wqe_build_at(&q, w, m * blocks, m, &x, (uint64_t)(rd ? b->m.dst.p : b->m.src.p) + off, b->c.size, b->c.choice.kind);
		wqe_build_second(w + WQE_WORDS, m);
		assert_int_equal(place_write(&b->m.queue, m * blocks * WQEBB, w, blocks * WQEBB), 0);
	}
	assert_int_equal(place_write(&b->m.queue, b->m.record_off + DBREC_SEND, &rec, 4), 0);
	assert_int_equal(place_write(&b->m.db, 0, &db, 8), 0);
	b->p.instr = instr;
	b->p.messages = MESSAGES;
	path_engine(&b->m, &b->c, &b->p, &np.eng);
	np.gpu = b->c.nic_gpu;
	np.sink.all = ~0u;
	np.sink.plant[0] = np.sink.plant[1] = -1;
	np.sink.block = b->m.block;
	cuda_inject(INJECT_STOPPED);
	if (b->c.nic->start(&np, &run) || b->c.nic->stop(run, &b->st))
		fail_msg("%s: %s", text, fs_reason());
	cuda_inject(INJECT_NONE);
}

static uint64_t wrong_words(struct bench *b, uint64_t m)
{
	uint8_t *payload = calloc(1, b->c.stride);
	struct coop alone = { 0, 1 };
	uint64_t bad;

	assert_non_null(payload);
	assert_int_equal(place_read(&b->m.dst, (m & (b->c.slots - 1)) * b->c.stride, payload, b->c.stride), 0);
	bad = job_check(payload, b->c.size, m, alone);
	free(payload);
	return bad;
}

static void everything_arrives(void **state)
{
	static const char *const points[] = {
		"size=8", "size=28", "size=3", "size=0", "op=nop", "size=64", "size=100 payload=pointer",
		"size=92 payload=inline", "size=53 payload=inline", "size=4096", "size=9000 segment=1024", "size=70000 page=64k", "op=read size=300", "size=5001 page=4k",
		"size=300 payload=pointer mr_count=16 xlat_cache=16", "size=28 mr_count=4 mr_order=random xlat_cache=2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		for (int instr = BARE; instr < INSTRS; instr++) {
			struct bench b;

			serve(&b, points[i], instr, -1);
			assert_int_equal(b.st.wqes, MESSAGES);
			assert_int_equal(b.st.cqes, MESSAGES);
			assert_int_equal(b.st.syndrome, 0);
			for (uint64_t m = 0; m < MESSAGES; m++) {
				uint64_t w7;

				if (b.c.choice.kind != POST_NOP && wrong_words(&b, m))
					fail_msg("%s: message %llu is wrong", points[i], (unsigned long long)m);
				assert_int_equal(place_read(&b.m.cq, m * CQE_SIZE + 56, &w7, 8), 0);
				assert_true(cqe_valid(w7, 0));
				assert_int_equal(cqe_opcode(w7), CQE_REQ);
				assert_int_equal(cqe_counter(w7), m * post_blocks(b.c.choice.kind));
			}
			path_mem_term(&b.m);
		}
}

static void lines_that_are_not_there_come_from_the_queue(void **state)
{
	static const char *const points[] = { "size=8", "size=300" };

	(void)state;
	expect_lines = 1;
	for (size_t i = 0; i < 2; i++)
		for (int instr = BARE; instr < INSTRS; instr++) {
			struct bench b;

			serve(&b, points[i], instr, -1);
			assert_int_equal(b.st.from_queue, MESSAGES);
			assert_int_equal(b.st.cqes, MESSAGES);
			for (uint64_t m = 0; m < MESSAGES; m++)
				assert_int_equal(wrong_words(&b, m), 0);
			path_mem_term(&b.m);
		}
	expect_lines = 0;
}

/* The translation cache: of 8 regions on a side, in turn, each is walked for once where it has an
 * entry to itself, and each time where two share one. */
static void a_cache_hits_as_predicted(void **state)
{
	static const struct { const char *text; uint64_t lookups, hits; } points[] = {
		{ "size=8 mr_count=8 xlat_cache=8", MESSAGES, MESSAGES - 8 },
		{ "size=8 mr_count=8 xlat_cache=4", MESSAGES, 0 },
		{ "size=8 xlat_cache=1", MESSAGES, MESSAGES - 1 },
		{ "size=8 mr_count=8 xlat_cache=16 payload=pointer", 2 * MESSAGES, 2 * MESSAGES - 16 },
		{ "size=8 mr_count=8 xlat_cache=4 op=read", 2 * MESSAGES, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		for (int instr = BARE; instr < INSTRS; instr++) {
			struct bench b;

			/* slots of 8 bytes: all on one page */
			serve(&b, points[i].text, instr, -1);
			assert_int_equal(b.st.syndrome, 0);
			assert_int_equal(b.st.lookups, points[i].lookups);
			assert_int_equal(b.st.hits, points[i].hits);
			for (uint64_t m = 0; m < MESSAGES; m++)
				assert_int_equal(wrong_words(&b, m), 0);
			path_mem_term(&b.m);
			serve(&b, points[i].text, instr, 30); /* control: a spoiled key is no hit */
			assert_int_equal(b.st.syndrome, SYND_REMOTE_ACCESS);
			path_mem_term(&b.m);
		}
}

static void a_wrong_key_flushes(void **state)
{
	struct bench b;
	uint64_t w6;

	(void)state;
	serve(&b, "size=8", ALL, 7);
	assert_int_equal(b.st.syndrome, SYND_REMOTE_ACCESS);
	for (uint64_t m = 7; m < MESSAGES; m++) {
		assert_int_equal(place_read(&b.m.cq, m * CQE_SIZE + 48, &w6, 8), 0);
		assert_int_equal(cqe_syndrome(w6), m == 7 ? SYND_REMOTE_ACCESS : SYND_FLUSHED);
	}
	assert_int_equal(wrong_words(&b, 6), 0);
	path_mem_term(&b.m);
}

static void a_changed_payload_is_found(void **state)
{
	struct bench b;
	uint8_t odd = 0x55;

	(void)state;
	serve(&b, "size=300", ALL, -1);
	assert_int_equal(wrong_words(&b, 3), 0);
	assert_int_equal(place_write(&b.m.dst, 3 * b.c.stride + 17, &odd, 1), 0);
	assert_int_equal(wrong_words(&b, 3), 1);
	path_mem_term(&b.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives), cmocka_unit_test(lines_that_are_not_there_come_from_the_queue),
		cmocka_unit_test(a_cache_hits_as_predicted), cmocka_unit_test(a_wrong_key_flushes),
		cmocka_unit_test(a_changed_payload_is_found),
	};
	const struct machine *m = suite_machine();

	if (!m->ngpus) {
		printf("skipped: %s\n", m->gpu_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
