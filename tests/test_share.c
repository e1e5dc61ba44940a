/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: agents that share a queue publish in the order in which they reserved: one
 * that is ready before its turn waits, and nothing is lost, doubled or out of order,
 * whatever the sharing, among threads of several GPUs too; an agent waits for room exactly as long as there is none; a
 * wait without end is bounded, and the others give up with it; one that is passed over
 * while others go on is patient, within a bound; a lock's agents draw from one count.
 *
 * Controls: agents that believe the queue to be their own spoil it, and are found out;
 * with room there is no wait; where nothing goes on patience ends; a look that was too
 * early is repeated.
 */
#include "tests/wide_rig.h"

#include "harness/pin.h"
#include "harness/service.h"
#include <unistd.h>

static struct wide_rig r;

/* ---- in one thread: who waits for whom ---- */

static void turns_come_in_order(const int form)
{
	uint64_t m[3];

	wide_open(&r, "sharing=gpu threads=3 depth=64 batch=2");
	for (int i = 0; i < 3; i++)
		m[i] = rate_reserve(&r.a, &r.agent[i], 2, form);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(m[i], 2 * i);
	for (int i = 2; i >= 0; i--) { /* built the other way round */
		wide_put(&r, (uint32_t)i, m[i]);
		wide_put(&r, (uint32_t)i, m[i] + 1);
	}
	/* too early: nobody has published what came before; bounded */
	rate_turn(&r.a, &r.agent[1], m[1], form);
	assert_int_equal(r.agent[1].status, RATE_TIMEOUT);
	r.agent[1].status = RATE_OK;
	assert_int_equal(wide_serve(&r, 0), 0);
	for (int i = 0; i < 3; i++) {
		rate_turn(&r.a, &r.agent[i], m[i], form);
		assert_int_equal(r.agent[i].status, RATE_OK);
		rate_publish(&r.a, &r.agent[i], m[i] + 2, ORD_SYS_FENCE_RECORD, form);
		wide_serve(&r, 0);
		assert_int_equal(r.worker[0].st.wqes, 2 * i + 2);
	}
	for (uint64_t k = 0; k < 6; k++) {
		assert_int_equal(wide_syndrome(&r, 0, k), 0);
		assert_int_equal(wide_slot_wrong(&r, 0, k), 0);
	}
	wide_close(&r);
}

static void a_turn_comes_in_the_order_of_reservation(void **state)
{
	(void)state;
	turns_come_in_order(FORM_GPU);
	turns_come_in_order(FORM_SYS);
}

/* A CPU has one scope; what a GPU's threads synchronize with is chosen here. */
static void a_form_has_its_scope(void **state)
{
	(void)state;
	assert_int_equal(form_scope(FORM_BLOCK), SCOPE_BLOCK);
	assert_int_equal(form_scope(FORM_TEAMS), SCOPE_GPU);
	assert_int_equal(form_scope(FORM_GPU), SCOPE_GPU);
	assert_int_equal(form_scope(FORM_SYS), SCOPE_SYS);
	assert_false(form_owns(FORM_SYS) || form_teams(FORM_SYS));
}

/* The look that is made with the reservation is enough where it sees the turn. */
static void an_early_look_is_made_once(void **state)
{
	uint64_t m[2], *turn;

	(void)state;
	wide_open(&r, "sharing=gpu threads=2 depth=64 batch=1");
	turn = share_word(r.agent[0].share, SHARE_TURN);
	for (int i = 0; i < 2; i++)
		m[i] = rate_reserve(&r.a, &r.agent[i], 1, FORM_GPU);
	st64(turn, 77); /* nobody looks again */
	rate_turn(&r.a, &r.agent[0], m[0], FORM_GPU);
	assert_int_equal(r.agent[0].status, RATE_OK);
	st64(turn, 0);
	rate_turn(&r.a, &r.agent[1], m[1], FORM_GPU); /* control: it was too early */
	assert_int_equal(r.agent[1].status, RATE_TIMEOUT);
	r.agent[1].status = RATE_OK;
	st64(turn, m[1]);
	rate_turn(&r.a, &r.agent[1], m[1], FORM_GPU);
	assert_int_equal(r.agent[1].status, RATE_OK);
	wide_close(&r);
}

static void a_lock_has_one_count_for_all(void **state)
{
	uint64_t *locked;

	(void)state;
	wide_open(&r, "nic=null sharing=lock threads=2 depth=64 batch=2 messages=64 warmup=0");
	locked = share_word(r.agent[0].share, SHARE_LOCKED);
	for (int i = 0; i < 2; i++)
		r.agent[i].goal = rate_goal(&r.a, &r.agent[i], r.a.messages);
	assert_int_equal(r.agent[0].goal, r.c.messages);
	rate_post(&r.a, &r.agent[0], r.a.messages, lone, ORD_NONE, FORM_LOCK, POST_INLINE, 1);
	assert_int_equal(r.agent[0].turns, r.c.messages / 2); /* nobody else was there */
	rate_post(&r.a, &r.agent[1], r.a.messages, lone, ORD_NONE, FORM_LOCK, POST_INLINE, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(r.agent[i].status, RATE_OK);
	assert_int_equal(r.agent[1].turns, 0);
	assert_int_equal(ld64(locked), 0);
	assert_int_equal(rate_wrong(&r.m, &r.c), 0);
	/* control: with a share of its own it would have posted */
	r.agent[1].goal += 2;
	rate_post(&r.a, &r.agent[1], r.a.messages, lone, ORD_NONE, FORM_LOCK, POST_INLINE, 1);
	assert_int_equal(r.agent[1].turns, 1);
	/* the spans of a turn are its whole time: passing on is one of them */
	assert_true(r.agent[0].sum[RS_PASSED] > 0 && !r.agent[0].sum[RS_TURN]);
	wide_close(&r);
}

static void room_is_waited_for(void **state)
{
	uint64_t m;

	(void)state;
	wide_open(&r, "sharing=gpu threads=2 depth=4 batch=2 entries=4");
	for (uint32_t i = 0; i < 2; i++) { /* control: with room there is no wait */
		m = rate_reserve(&r.a, &r.agent[i], 2, FORM_GPU);
		assert_int_equal(r.agent[i].status, RATE_OK);
		wide_put(&r, i, m);
		wide_put(&r, i, m + 1);
		rate_turn(&r.a, &r.agent[i], m, FORM_GPU);
		rate_publish(&r.a, &r.agent[i], m + 2, ORD_NONE, FORM_GPU);
	}
	assert_int_equal(rate_reserve(&r.a, &r.agent[0], 2, FORM_GPU), 4);
	assert_int_equal(r.agent[0].status, RATE_TIMEOUT);
	assert_int_equal(r.agent[0].at, 1);
	wide_serve(&r, 0);
	r.agent[1].status = RATE_OK;
	assert_int_equal(rate_reserve(&r.a, &r.agent[1], 2, FORM_GPU), 6);
	assert_int_equal(r.agent[1].status, RATE_OK); /* all four are done */
	wide_close(&r);
}

/* Others may be laps ahead of one that looks for the end of its last message. */
static void a_late_look_finds_its_completion(void **state)
{
	static const struct { uint64_t counter, asked; int reached; } looks[] = {
		{ 7, 7, 1 }, { 6, 7, 0 }, { 8, 7, 1 }, { 7 + 32, 7, 1 }, { 7 + 32767, 7, 1 }, { 65535, 0, 0 },
		{ 65536 + 3, 65535, 1 }, { 65535, 65536 + 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		assert_int_equal(cqe_reached(cqe_word7(WQE_WRITE, 0, looks[i].counter, CQE_REQ, 0), looks[i].asked), looks[i].reached);
	assert_false(cqe_reached(~0ull, 0xffff)); /* never written */
	/* so far ahead that the slot's counter says nothing: the turn's word does */
	wide_open(&r, "sharing=gpu threads=1 depth=4 entries=4");
	memset((void *)r.a.cq, 0, CQE_SIZE << r.a.log_ncqe);
	st64((uint8_t *)r.a.cq + 3 * CQE_SIZE + 56, cqe_word7(WQE_WRITE, r.a.qpn, 40003, CQE_REQ, 0));
	r.agent[0].last = 4;
	st64(share_word(r.agent[0].share, SHARE_TURN), 4 + 3); /* control: not far enough to tell */
	rate_drain(&r.a, &r.agent[0], lone, FORM_GPU);
	assert_int_equal(r.agent[0].status, RATE_TIMEOUT);
	r.agent[0].status = RATE_OK;
	st64(share_word(r.agent[0].share, SHARE_TURN), 40004);
	rate_drain(&r.a, &r.agent[0], lone, FORM_GPU);
	assert_int_equal(r.agent[0].status, RATE_OK);
	wide_close(&r);
}

static void one_gives_up_and_so_do_the_others(void **state)
{
	(void)state;
	wide_open(&r, "sharing=gpu threads=2 depth=64");
	r.a.wait_ns = 3600 * 1000000000ull;
	st64(r.a.failed, 1);
	rate_turn(&r.a, &r.agent[0], 5, FORM_GPU);
	assert_int_equal(r.agent[0].status, RATE_GIVEN_UP);
	rate_meet(&r.a, &r.agent[1], lone, FORM_GPU);
	assert_int_equal(r.agent[1].status, RATE_GIVEN_UP);
	wide_close(&r);
}

/* control */
static void believing_it_to_be_ones_own_spoils_it(void **state)
{
	(void)state;
	wide_open(&r, "sharing=gpu threads=2 depth=64 batch=1");
	for (int i = 0; i < 2; i++) {
		uint64_t m = rate_reserve(&r.a, &r.agent[i], 1, FORM_SOLO);

		assert_int_equal(m, 0);
		wide_put(&r, (uint32_t)i, m);
		rate_publish(&r.a, &r.agent[i], m + 1, ORD_NONE, FORM_SOLO);
	}
	while (wide_serve(&r, 0))
		;
	assert_int_equal(r.worker[0].st.wqes, 1); /* of two */
	wide_close(&r);
}

/* ---- with threads of their own ---- */

struct holder { uint64_t *moves, *frees; uint64_t ms; /* 0: until it is stopped */ };

/* Others who go on for so long before they let somebody in. */
static void hold(struct service *s, void *arg)
{
	struct holder *h = arg;
	uint64_t until = wall_ticks_ns() + h->ms * 1000000;

	while (h->ms ? wall_ticks_ns() < until : !service_stopping(s)) {
		if (h->moves)
			atom_add64(h->moves, 1, SCOPE_GPU);
		usleep(1000);
	}
	hand_store(h->frees, 0, SCOPE_GPU);
}

static void patience_is_with_those_who_go_on(void **state)
{
	static const struct { int moves; uint64_t ms, wait_ms, pass_ms; int status; } waits[] = {
		{ 1, 3000, 1000, 60000, RATE_OK },
		{ 0, 0, 100, 60000, RATE_TIMEOUT }, /* control: nothing goes on */
		{ 1, 0, 1000, 200, RATE_TIMEOUT },  /* and there is an end */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct service *service;
		struct holder h;

		wide_open(&r, "sharing=lock threads=2 depth=64");
		h.frees = share_word(r.agent[0].share, SHARE_LOCKED);
		h.moves = waits[i].moves ? share_word(r.agent[0].share, SHARE_RESERVED) : NULL;
		h.ms = waits[i].ms;
		r.a.wait_ns = waits[i].wait_ms * 1000000;
		r.a.pass_ns = waits[i].pass_ms * 1000000;
		st64(h.frees, 1);
		assert_int_equal(service_start(&service, "holder", pin_cpu(1 % pin_cpus()), hold, &h, 60), 0);
		rate_lock(&r.a, &r.agent[0]);
		assert_int_equal(r.agent[0].status, waits[i].status);
		assert_int_equal(service_stop(service, 60), 0);
		wide_close(&r);
	}
}

struct poster { uint32_t number; int form; struct service *service; };

static void post(struct service *s, void *arg)
{
	struct poster *p = arg;
	struct rate_agent *g = &r.agent[p->number];

	(void)s;
	if (p->form == FORM_LOCK)
		rate_run(&r.a, g, lone, ORD_SYS_FENCE_RECORD, FORM_LOCK, POST_INLINE, 1);
	else if (p->form == FORM_TEAMS)
		rate_run(&r.a, g, lone, ORD_GPU_RELEASE, FORM_TEAMS, POST_INLINE, 0);
	else if (p->form == FORM_SYS)
		rate_run(&r.a, g, lone, ORD_SYS_FENCE_RECORD, FORM_SYS, POST_INLINE, 0);
	else
		rate_run(&r.a, g, lone, ORD_GPU_FENCE, FORM_GPU, POST_INLINE, 0);
}

static void nothing_is_lost_or_doubled(void **state)
{
	static const struct { const char *point; int form, as; } forms[] = { /* as: a form that no rate has, or FORM_SOLO for none */
		{ "sharing=gpu threads=3 depth=16 entries=16 batch=2 messages=6000", FORM_GPU, FORM_SOLO },
		{ "sharing=gpu threads=3 depth=16 entries=16 batch=2 messages=6000", FORM_GPU, FORM_SYS },
		{ "sharing=gpu threads=4 queues=2 depth=8 entries=8 messages=4000", FORM_GPU, FORM_SOLO },
		{ "sharing=lock threads=3 depth=32 entries=32 batch=4 messages=6000", FORM_LOCK, FORM_SOLO },
		{ "sharing=warp threads=3 queues=1 depth=64 batch=32 messages=6000", FORM_TEAMS, FORM_SOLO },
		{ "sharing=gpu threads=3 depth=16 entries=16 batch=4 signal=4 messages=6000", FORM_GPU, FORM_SOLO },
	};

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		struct poster p[4];
		uint64_t done = 0, all;

		wide_open(&r, forms[f].point);
		assert_int_equal(r.c.form, forms[f].form);
		r.a.wait_ns = 60 * 1000000000ull;
		r.a.crowded = 1;
		all = r.c.warmup + r.c.messages;
		for (uint32_t i = 0; i < r.c.agents; i++) {
			p[i] = (struct poster){ .number = i, .form = forms[f].as ? forms[f].as : forms[f].form };
			assert_int_equal(service_start(&p[i].service, "poster", pin_cpu((int)i % pin_cpus()), post, &p[i], 60), 0);
		}
		while (done < all && !ld64(r.a.failed)) {
			wide_serve(&r, 0);
			done = r.worker[0].st.wqes;
			relax_turn(0, 1);
		}
		for (uint32_t i = 0; i < r.c.agents; i++)
			assert_int_equal(service_stop(p[i].service, 60), 0);
		for (uint32_t i = 0; i < r.c.agents; i++)
			assert_int_equal(r.agent[i].status, RATE_OK);
		assert_int_equal(wide_serve(&r, 0), 0);
		assert_int_equal(r.worker[0].st.wqes, all);
		assert_int_equal(r.worker[0].st.cqes, all >> r.c.log_signal);
		assert_int_equal(r.worker[0].st.syndrome, 0);
		assert_int_equal(r.worker[0].st.stale_wqe + r.worker[0].st.odd_doorbells, 0);
		assert_int_equal(rate_wrong(&r.m, &r.c), 0);
		wide_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_comes_in_the_order_of_reservation),
		cmocka_unit_test(a_form_has_its_scope),
		cmocka_unit_test(an_early_look_is_made_once),
		cmocka_unit_test(a_lock_has_one_count_for_all),
		cmocka_unit_test(room_is_waited_for),
		cmocka_unit_test(a_late_look_finds_its_completion),
		cmocka_unit_test(one_gives_up_and_so_do_the_others),
		cmocka_unit_test(believing_it_to_be_ones_own_spoils_it),
		cmocka_unit_test(patience_is_with_those_who_go_on),
		cmocka_unit_test(nothing_is_lost_or_doubled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
