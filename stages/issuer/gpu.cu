/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU issuer: one thread runs the loop of post.h, and a warp sleeps until there
 * is something wide to do (coop.h). One kernel for each
 * combination, chosen before anything is timed.
 */
extern "C" {
#include "harness/err.h"
#include "stages/issuer/issuer.h"
#include "stages/place/gpu.h"
}
#include "stages/place/seat.cuh"
#include <errno.h>

static __shared__ struct issuer issuer;
static __shared__ struct issue_job job;

/* The block of the issuer: ord and mode are literals but in the flexible form. STAGED: payloads are copied as `g` says. */
template <int KIND, int CQ, int INSTR, int STAGED = 0>
__device__ __forceinline__ void issue_block(const struct issue_args &a, const int ord, const int mode,
					    const struct issue_staging *g = 0)
{
	extern __shared__ uint64_t stage[];
	struct coop c = { (int)threadIdx.x - 32, 32 };
	uint32_t smid;

	if (c.lane >= 0) {
		for (;;) {
			agent_meet();
			if (mode == DBM_BLUEFLAME && flame_hand.what) {
				issuer_lanes(a.q.db, &job.planter, c, ord, INSTR);
				agent_meet();
				continue;
			}
			if (job.kind == IJ_EXIT)
				return;
			if (STAGED && job.kind == IJ_STAGE)
				staging_work(&job, c);
			else
				issue_work(&job, c);
			agent_meet();
		}
	}
	if (threadIdx.x)
		return;
	if (mode == DBM_BLUEFLAME)
		flame_hand.what = FLAME_NONE;
	issuer_begin(&issuer, &a, &job, stage, INSTR);
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	a.out->smid = smid;
	for (;;) {
		issuer_lead(&issuer, ord, mode, KIND, CQ, INSTR, STAGED);
		if (mode == DBM_BLUEFLAME_BULK && job.kind == IJ_EXIT)
			bulk_written();
		if (STAGED && job.kind == IJ_FILL)
			staging_fill(&issuer, g);
		agent_meet();
		if (job.kind == IJ_EXIT)
			return;
		agent_meet();
		if (STAGED && job.kind == IJ_FILL) {
			uint64_t t0 = staging_begin(&issuer, g);

			agent_meet();
			agent_meet();
			staging_end(&issuer, g, t0);
		}
	}
}

template <int ORD, int MODE, int KIND, int INSTR, int CQ>
__global__ void __launch_bounds__(AGENT_THREADS, 1) issue_kernel(const __grid_constant__ struct issue_args a, const struct seat seat)
{
	if (!seat_taken(seat))
		return;
	issue_block<KIND, CQ, INSTR>(a, ORD, MODE);
}

template <int KIND, int CQ>
__global__ void __launch_bounds__(AGENT_THREADS, 1) flex_kernel(const __grid_constant__ struct issue_args a, const struct seat seat)
{
	if (!seat_taken(seat))
		return;
	issue_block<KIND, CQ, FLEX>(a, a.ord, word_doorbell(a.mode));
}

template <int MODE, int KIND>
__global__ void __launch_bounds__(AGENT_THREADS, 1) flex_flame_kernel(const __grid_constant__ struct issue_args a, const struct seat seat)
{
	if (!seat_taken(seat))
		return;
	issue_block<KIND, CQ_RING, FLEX>(a, a.ord, MODE);
}

/* The same with a copy before each message: of writes by pointer, with one doorbell or handed to a proxy. */
template <int ORD, int MODE, int INSTR>
__global__ void __launch_bounds__(AGENT_THREADS, 1) staged_kernel(const __grid_constant__ struct issue_args a, const struct seat seat,
								  const __grid_constant__ struct issue_staging g)
{
	if (!seat_taken(seat))
		return;
	issue_block<POST_WRITE, CQ_RING, INSTR, 1>(a, ORD, MODE, &g);
}

static __global__ __launch_bounds__(AGENT_THREADS, 1) void flex_staged_kernel(const __grid_constant__ struct issue_args a,
									       const struct seat seat,
									       const __grid_constant__ struct issue_staging g)
{
	if (!seat_taken(seat))
		return;
	issue_block<POST_WRITE, CQ_RING, FLEX, 1>(a, a.ord, DBM_RECORD_RING, &g);
}

static __global__ void trap_kernel(void)
{
	asm volatile("trap;");
}

static const void *const kernels[ORDERINGS][WORD_DOORBELLS][POST_KINDS][2] = {
#define X(o, d, k) \
	{ (const void *)issue_kernel<ORD_##o, DBM_##d, POST_##k, BARE, CQ_RING>, \
	  (const void *)issue_kernel<ORD_##o, DBM_##d, POST_##k, ALL, CQ_RING> },
#define MODE(o, d) { FS_COMBINATIONS_KIND(X, o, d) },
#define ORDER(o) { MODE(o, RECORD_RING) MODE(o, RING_RECORD_RING) MODE(o, RING) },
	ORDER(NONE) ORDER(GPU_FENCE) ORDER(GPU_FENCE_RECORD) ORDER(GPU_RELEASE)
	ORDER(THREADFENCE) ORDER(SYS_FENCE) ORDER(SYS_FENCE_RECORD) ORDER(SYS_RELEASE)
#undef ORDER
#undef MODE
#undef X
};
static_assert(ORD_NONE == 0 && ORD_GPU_FENCE == 1 && ORD_GPU_FENCE_RECORD == 2 && ORD_GPU_RELEASE == 3 &&
	      ORD_THREADFENCE == 4 && ORD_SYS_FENCE == 5 && ORD_SYS_FENCE_RECORD == 6 && ORD_SYS_RELEASE == 7 &&
	      DBM_RECORD_RING == 0 && DBM_RING_RECORD_RING == 1 && DBM_RING == 2,
	      "the kernels stand in the order of the enumerations");

static const void *const others[ORDERINGS][2][2] = {
#define X(o, k) \
	{ (const void *)issue_kernel<ORD_##o, DBM_RECORD_RING, POST_##k, BARE, CQ_OTHER>, \
	  (const void *)issue_kernel<ORD_##o, DBM_RECORD_RING, POST_##k, ALL, CQ_OTHER> },
#define ORDER(o) { FS_OTHER_CQ_KIND(X, o) },
	ORDER(NONE) ORDER(GPU_FENCE) ORDER(GPU_FENCE_RECORD) ORDER(GPU_RELEASE)
	ORDER(THREADFENCE) ORDER(SYS_FENCE) ORDER(SYS_FENCE_RECORD) ORDER(SYS_RELEASE)
#undef ORDER
#undef X
};
static_assert(POST_INLINE == 0 && POST_WRITE == 1, "the first kinds are those with another CQ, or with BlueFlame");

/* BlueFlame by lanes and by a copy. */
static const void *const flames[ORDERINGS][DOORBELL_MODES - WORD_DOORBELLS][2][2] = {
#define X(o, d, k) \
	{ (const void *)issue_kernel<ORD_##o, DBM_##d, POST_##k, BARE, CQ_RING>, \
	  (const void *)issue_kernel<ORD_##o, DBM_##d, POST_##k, ALL, CQ_RING> },
#define MODE(o, d) { FS_FLAMES_KIND(X, o, d) },
#define ORDER(o) { MODE(o, BLUEFLAME) MODE(o, BLUEFLAME_BULK) },
	ORDER(NONE) ORDER(GPU_FENCE) ORDER(GPU_FENCE_RECORD) {}, ORDER(THREADFENCE) ORDER(SYS_FENCE) ORDER(SYS_FENCE_RECORD)
#undef ORDER
#undef MODE
#undef X
};
static const void *const flexible_flames[DOORBELL_MODES - WORD_DOORBELLS][2] = {
#define X(o, d, k) (const void *)flex_flame_kernel<DBM_##d, POST_##k>,
	{ FS_FLAMES_KIND(X, any, BLUEFLAME) }, { FS_FLAMES_KIND(X, any, BLUEFLAME_BULK) },
#undef X
};
static_assert(DBM_BLUEFLAME == 3 && DBM_BLUEFLAME_BULK == 4, "BlueFlame's kernels stand in the order of the enumeration");

static const void *const flexible[POST_KINDS] = {
#define X(k) (const void *)flex_kernel<POST_##k, CQ_RING>,
	FS_POSTS(X)
#undef X
};
static const void *const flexible_others[] = {
#define X(o, k) (const void *)flex_kernel<POST_##k, CQ_OTHER>,
	FS_OTHER_CQ_KIND(X, any)
#undef X
};

/* To a proxy: the form is a literal in the flexible code too. */
static const void *const hands[MODES - DOORBELL_MODES][4][INSTRS] = {
#define X(m, k) \
	{ (const void *)issue_kernel<ORD_NONE, MODE_##m, POST_##k, BARE, CQ_RING>, \
	  (const void *)issue_kernel<ORD_NONE, MODE_##m, POST_##k, ALL, CQ_RING>, \
	  (const void *)issue_kernel<ORD_NONE, MODE_##m, POST_##k, FLEX, CQ_RING> },
	{ FS_HANDS_KIND(X, TUNED) }, { FS_HANDS_KIND(X, BASELINE) },
#undef X
};
static_assert(POST_READ == 2 && POST_NOP == 3 && (int)MODE_TUNED == (int)DOORBELL_MODES && MODE_BASELINE == MODE_TUNED + 1,
	      "hands stand in the order of the enumerations");

static const void *const stagers[ORDERINGS][2] = {
#define X(o) { (const void *)staged_kernel<ORD_##o, DBM_RECORD_RING, BARE>, (const void *)staged_kernel<ORD_##o, DBM_RECORD_RING, ALL> },
	X(NONE) X(GPU_FENCE) X(GPU_FENCE_RECORD) X(GPU_RELEASE) X(THREADFENCE) X(SYS_FENCE) X(SYS_FENCE_RECORD) X(SYS_RELEASE)
#undef X
};
static const void *const staging_hands[MODES - DOORBELL_MODES][INSTRS] = {
#define X(m) { (const void *)staged_kernel<ORD_NONE, MODE_##m, BARE>, (const void *)staged_kernel<ORD_NONE, MODE_##m, ALL>, \
	       (const void *)staged_kernel<ORD_NONE, MODE_##m, FLEX> },
	X(TUNED) X(BASELINE)
#undef X
};

static const void *kernel_of(struct issue_choice c)
{
	if (c.staged && mode_hands(c.mode))
		return staging_hands[c.mode - DOORBELL_MODES][c.instr];
	if (c.staged)
		return c.instr == FLEX ? (const void *)flex_staged_kernel : stagers[c.ord][c.instr];
	if (mode_hands(c.mode))
		return hands[c.mode - DOORBELL_MODES][c.kind][c.instr];
	if (doorbell_is_flame(c.mode)) {
		int flame = c.mode - WORD_DOORBELLS;

		return c.instr == FLEX ? flexible_flames[flame][c.kind] : flames[c.ord][flame][c.kind][c.instr];
	}
	if (c.cq == CQ_OTHER)
		return c.instr == FLEX ? flexible_others[c.kind] : others[c.ord][c.kind][c.instr];
	return c.instr == FLEX ? flexible[c.kind] : kernels[c.ord][c.mode][c.kind][c.instr];
}

extern "C" int issuer_gpu_load(struct issue_choice c, int device)
{
	struct gpu *g = gpu_of(device);

	return g ? gpu_load(g, kernel_of(c), "the issuer's kernel") : fs_fail(ENODEV, "gpu %d is not in use", device);
}

extern "C" int issuer_gpu_run(const struct issue_args *a, struct issue_choice c, const struct issue_staging *staging, int device,
			      double patience_s)
{
	struct gpu *g = gpu_of(device);
	size_t shared = a->record ? (size_t)a->sink.block * SINK_SLOTS * 8 : 0;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	struct seat seat = gpu_issue_seat(g);
	void *args[] = { (void *)a, &seat, (void *)staging }; /* the last is looked at where there is a third parameter */

	rc = gpu_launch_seat(g, kernel_of(c), AGENT_THREADS, args, shared, g->issue_stream, &seat, "the issuer's kernel");
	rc = rc ? rc : gpu_wait(g->issue_stream, patience_s, "the issuer's kernel");
	return rc ? rc : gpu_seated(&seat, "the issuer's kernel");
}

extern "C" int gpu_trap(struct gpu *g)
{
	void *args[] = { 0 };
	int rc = gpu_launch(g, (const void *)trap_kernel, 32, args, 0, g->issue_stream, "a kernel that traps");

	return rc ? rc : gpu_wait(g->issue_stream, 10, "a kernel that traps");
}
