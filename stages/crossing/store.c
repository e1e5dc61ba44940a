/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `store`: what a posted store costs whoever makes it, with a fence behind
 * it or without; and how long it takes until the other agent has seen it.
 *
 * The second is a round trip against the other agent's answer, less what that agent
 * spent itself. It is taken apart only where that can be done: between two CPUs, that
 * read one clock; and between two agents of the same kind, where the same trip between
 * their own memories is symmetrical, so that half of it is the answer's way. A trip
 * between a GPU and a CPU is not (a posted write there, a poll over the link back): of
 * it only the sum is known.
 */
#include "stages/crossing/store_probe.h"
#include "harness/err.h"
#include "harness/probe.h"
#include "stages/path.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 0x5f1e57a6, AUTO_STORES = 102400, AUTO_TRIPS = 10000, TRIPS_MAX = 4000000, STORES_MAX = 10000000, WARMUP = 1024 };

static int store_places(const struct point *pt, const struct machine *m, struct store_conf *c, char *why, size_t len)
{
	int word = fs_word(pt, "mem"), cpu_issuer = fs_is(pt, "issuer", "cpu"), rc;
	int cpu_sees = c->nic->completes && !c->nic->on_gpu;

	if (!cpu_issuer && cpu_sees && (word == PW_GPU || word == PW_PEER))
		return fs_refuse(EINVAL, why, len, "mem=%s with nic=soft: a CPU can't reach GPU memory; legal: auto, host",
			      word == PW_GPU ? "gpu" : "peer");
	if (!cpu_issuer && (rc = where_issuer(pt, m, "issuer=gpu", "issuer=cpu with nic=soft or nic=null", &c->at, why, len)))
		return rc;
	if (c->nic->on_gpu && (rc = where_far(pt, m, &c->at, why, len)))
		return rc;
	c->far_home = !c->nic->completes ? where_issuer_place(&c->at) : c->nic->on_gpu && !cpu_issuer ? c->at.far_gpu : PLACE_HOST;
	c->back = cpu_issuer || cpu_sees ? PLACE_HOST : c->at.issuer_gpu;
	c->same_kind = cpu_issuer == !c->nic->on_gpu;
	return where_place(pt, m, "mem", c->far_home, &c->at, &c->at.mem, why, len);
}

static int store_resolve(const struct point *pt, const struct machine *m, struct store_conf *c, char *why, size_t len)
{
	int rc;

	memset(c, 0, sizeof(*c));
	c->at.issuer_gpu = c->at.far_gpu = -1;
	c->nic = nics[fs_word(pt, "nic")];
	c->fence = fs_word(pt, "store_fence");
	c->stores = (uint64_t)number_or(pt, "messages", AUTO_STORES);
	c->trips = (uint64_t)number_or(pt, "messages", AUTO_TRIPS);
	c->warmup = (uint64_t)number_or(pt, "warmup", WARMUP);
	if (c->nic->absent)
		return fs_refuse(ENODEV, why, len, "nic=%s: %s; legal here: null, soft", c->nic->name, c->nic->absent);
	if (c->fence != AFTER_NONE && c->nic->completes)
		return fs_refuse(EINVAL, why, len, "store_fence=%s with nic=%s: who sees a store doesn't see the fence behind it; legal: nic=null",
			      fs_word_text(pt, "store_fence", (char[32]){ 0 }, 32), c->nic->name);
	if (c->nic->completes ? c->trips > TRIPS_MAX : c->stores > STORES_MAX)
		return fs_refuse(EINVAL, why, len, "messages=%llu: legal: 1..%d with nic=%s", (unsigned long long)c->trips,
			      c->nic->completes ? TRIPS_MAX : STORES_MAX, c->nic->name);
	if ((rc = store_places(pt, m, c, why, len)) || (rc = where_host(pt, m, c->at.mem == PLACE_HOST, &c->at, why, len)) ||
	    (rc = where_seats(pt, &c->at, c->nic->on_gpu ? c->at.far_gpu : -1, why, len)))
		return rc;
	return !c->nic->completes || c->nic->on_gpu ? 0 : where_nic_cpu(pt, m, &c->at, &c->nic_cpu, why, len);
}

static int store_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct store_conf c;

	return store_resolve(pt, m, &c, why, len);
}

/* ---- memory ---- */

static void store_term(struct store_mem *m)
{
	place_free(&m->there);
	place_free(&m->back);
	place_free(&m->res);
	place_free(&m->far);
}

static int store_init(struct store_mem *m, const struct store_conf *c, struct store_args *a)
{
	int home = where_issuer_place(&c->at), far_at = c->nic->on_gpu ? c->at.far_gpu : PLACE_HOST, rc;
	uint64_t blocks = c->stores / FENCED_BLOCK + 1, words = 3 * c->trips > blocks ? 3 * c->trips : blocks;

	memset(m, 0, sizeof(*m));
	memset(a, 0, sizeof(*a));
	if ((rc = where_alloc(&m->there, &c->at, c->at.mem, STORE_LINES * STORE_LINE)) ||
	    (rc = place_alloc(&m->back, c->back, 4096, 4096, c->at.pinned)) ||
	    (rc = place_alloc(&m->res, home, RES_SAMPLES + words * 8, 4096, c->at.pinned)) ||
	    (rc = place_alloc(&m->far, far_at, RES_SAMPLES + (c->warmup + c->trips) * 8, 4096, c->at.pinned)))
		return rc;
	a->there = m->there.p;
	a->back = m->back.p;
	a->warmup = c->warmup;
	a->wait_ns = STORE_WAIT_NS;
	a->seed = SEED;
	a->settle = (uint32_t)c->at.pinned;
	a->gap_ticks = c->nic->on_gpu ? 16384 : 2048; /* many periods of the other's poll, as in the path */
	a->gettime = c->at.gettime;
	a->samples = (uint64_t *)(m->res.p + RES_SAMPLES);
	a->pairs = (struct clock_pair *)(m->res.p + RES_PAIRS);
	a->out = (struct store_out *)m->res.p;
	return 0;
}

/* ---- posted ---- */

#define X(f) static void post_##f(const struct store_args *a) { store_posted(a, AFTER_##f); }
X(NONE) X(RELEASE_GPU) X(RELEASE_SYS) X(SC_GPU) X(SC_SYS)
#undef X
static void (*const posts[AFTERS])(const struct store_args *a) = {
	post_NONE, post_RELEASE_GPU, post_RELEASE_SYS, post_SC_GPU, post_SC_SYS,
};

/* Do the lines hold what was stored last? */
static int posted_arrived(const struct store_mem *m, uint64_t done)
{
	uint8_t lines[STORE_LINES * STORE_LINE];
	int rc = place_read(&m->there, 0, lines, sizeof(lines));

	for (uint64_t v = done; !rc && v && v + STORE_LINES > done; v--) {
		uint64_t got;

		memcpy(&got, lines + v % STORE_LINES * STORE_LINE, 8);
		if (got != v)
			rc = fs_fail(EBADMSG, "a line holds %llu after store %llu", (unsigned long long)got, (unsigned long long)v);
	}
	return rc;
}

static int store_post(const struct store_mem *m, const struct store_conf *c, const struct store_args *args, struct rows *out)
{
	uint64_t per = c->fence == AFTER_NONE ? STORE_BLOCK : FENCED_BLOCK, *x;
	struct store_args a = *args;
	struct clock_pair p[2];
	struct store_out got;
	struct row *r = NULL;
	double rate;
	int rc = 0;

	a.messages = (c->stores + per - 1) / per;
	if (c->at.issuer_gpu >= 0)
		rc = store_gpu_post(&a, c->fence, c->at.issuer_gpu, STORE_PATIENCE_S);
	else
		posts[c->fence](&a);
	if (rc || (rc = place_read(&m->res, 0, &got, sizeof(got))) || (rc = place_read(&m->res, RES_PAIRS, p, sizeof(p))) ||
	    (rc = posted_arrived(m, got.done)))
		return rc;
	if (!(x = malloc(a.messages * 8)))
		return fs_fail(ENOMEM, "no memory for samples");
	rate = rate_of(p, p + 1);
	if (!(rc = place_read(&m->res, RES_SAMPLES, x, a.messages * 8))) {
		r = cross_row(out, "-", link_name(where_issuer_place(&c->at), c->at.mem), "store", "ns");
		rc = cross_latency(r, x, a.messages, rate / (double)per);
	}
	free(x);
	if (!rc && got.unsettled)
		unsettled_flag(r);
	if (!rc && (r = cross_row(out, "-", "none", "floor", "ns")))
		summary_one(&r->s, (double)got.floor_ticks * rate / STORE_FLOORS / (double)per);
	return rc ? rc : r ? 0 : -ENOMEM;
}

/* ---- the probe ---- */

static int store_run(const struct point *pt, struct rows *out)
{
	struct store_conf c;
	struct store_args a;
	struct store_mem m;
	char why[256];
	int rc = store_resolve(pt, suite_machine(), &c, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	if ((rc = where_use(&c.at, out)))
		return rc;
	rc = store_init(&m, &c, &a);
	if (!rc) {
		where_found(out, "mem", &m.there);
		where_found(out, "answers", &m.back);
		rc = store_post(&m, &c, &a, out);
	}
	if (!rc && c.nic->completes)
		rc = store_trips(&m, &c, &a, out);
	if (rc != -EBUSY)
		store_term(&m);
	return rc;
}

static double store_patience(const struct point *pt)
{
	(void)pt;
	return 4 * STORE_PATIENCE_S;
}

static const char *const store_reads[] = {
	"nic", "issuer", "gpu", "nic_gpu", "mem", "numa", "store_fence", "fault", "messages", "warmup", "cpu", "nic_cpu", "sm", "nic_sm", NULL
};

const struct probe probe_store = {
	.name = "store",
	.help = "posted stores with and without a fence behind each, and the trip of a store until the other agent has seen it, and back",
	.reads = store_reads,
	.check = store_check,
	.run = store_run,
	.patience_s = store_patience,
};
