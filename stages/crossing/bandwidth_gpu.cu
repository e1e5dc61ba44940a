/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes moved by GPU threads or by a copy engine. Each way has a stream of its own;
 * what a stream is to do is queued behind a gate, a kernel that waits for a word of the
 * host's, so that queueing is not timed and both ways begin together. Times are those
 * of CUDA events on either side of the work; two devices' events have no difference, so that where each
 * way has a GPU of its own both together last as long as the longer one: the gates open within a few us.
 */
extern "C" {
#include "harness/err.h"
#include "stages/crossing/bandwidth.h"
#include "stages/place/gpu.h"
}
#include <cuda_runtime.h>
#include <errno.h>
#include <string.h>

enum { GATE_NS = 2000000000 };   /* a gate that nobody opens opens itself */

struct kernel_args { struct bw_way way; uint64_t n, loops; uint64_t *sum; };

template <int DIR>
__global__ void __launch_bounds__(1024) move_kernel(const __grid_constant__ struct kernel_args a)
{
	uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x, sum = 0;

	for (uint64_t l = 0; l < a.loops; l++) {
		sum += bw_part(&a.way, a.n, first, step, DIR);
		asm volatile("" : : : "memory");
	}
	if (DIR == DIR_READ)
		atomicAdd((unsigned long long *)a.sum, (unsigned long long)sum);
}

static const void *const movers[DIRS] = {
	(const void *)move_kernel<DIR_READ>, (const void *)move_kernel<DIR_WRITE>, (const void *)move_kernel<DIR_COPY>,
};
static_assert(DIR_READ == 0 && DIR_WRITE == 1 && DIR_COPY == 2, "in the order of the words");

/*
 * Both ways by the threads of one GPU: its warps in turn take either, as nvbandwidth's do. `ends` has the first moment at which a warp of a way begins, and the last at which one has ended.
 */
struct both_args { struct bw_way way[2]; uint64_t n, loops; unsigned long long *ends; };

__global__ void __launch_bounds__(1024) both_kernel(const __grid_constant__ struct both_args a)
{
	uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, warp = thread >> 5, lane = thread & 31;
	uint64_t warps = (uint64_t)gridDim.x * (blockDim.x >> 5);
	unsigned w = warp & 1;
	/* of an odd number of warps the even ones are one more */
	uint64_t step = (w ? warps / 2 : (warps + 1) / 2) * 32;

	if (!lane)
		atomicMin(&a.ends[2 * w], (unsigned long long)wall_ticks_ns());
	for (uint64_t l = 0; l < a.loops; l++) {
		bw_part(&a.way[w], a.n, (warp >> 1) * 32 + lane, step, DIR_COPY);
		asm volatile("" : : : "memory");
	}
	__threadfence_system(); /* what it stored has arrived */
	__syncwarp();
	if (!lane)
		atomicMax(&a.ends[2 * w + 1], (unsigned long long)wall_ticks_ns());
}

__global__ void gate_kernel(const uint32_t *open)
{
	uint64_t t0 = wall_ticks_ns();

	while (!ld32_acquire(open) && wall_ticks_ns() - t0 < GATE_NS)
		;
}

/* Of one run: a stream and two events for each way; `one`: one kernel moves both, in the first stream. */
struct flow {
	int ways;
	struct gpu *g[BW_WAYS_MAX];
	cudaStream_t stream[BW_WAYS_MAX];
	int made[BW_WAYS_MAX];    /* the stream is this run's own */
	cudaEvent_t begin[BW_WAYS_MAX], end[BW_WAYS_MAX];
	uint64_t *sum;
	unsigned long long *ends; /* [4]: first begin and last end of either way, ns of %globaltimer */
	int one;
};

static void flow_term(struct flow *f)
{
	for (int w = 0; w < f->ways; w++) {
		if (f->begin[w])
			cudaEventDestroy(f->begin[w]);
		if (f->end[w])
			cudaEventDestroy(f->end[w]);
		if (f->made[w])
			cudaStreamDestroy(f->stream[w]);
	}
	if (f->sum)
		cudaFree(f->sum);
	if (f->ends)
		cudaFree(f->ends);
}

/* The stream of a way: its GPU's own ones for the first two, whatever goes beside them has one made. */
static int way_stream(struct flow *f, int w)
{
	int rc;

	if (w < 2) {
		f->stream[w] = (cudaStream_t)(w ? f->g[w]->side_stream : f->g[w]->issue_stream);
		return 0;
	}
	rc = gpu_error(cudaStreamCreateWithFlags(&f->stream[w], cudaStreamNonBlocking), "a stream");
	f->made[w] = !rc;
	return rc;
}

static int flow_init(struct flow *f, const struct bw_args *a)
{
	int rc = 0;

	memset(f, 0, sizeof(*f));
	f->ways = a->ways;
	for (int w = a->ways - 1; w >= 0 && !rc; w--) { /* an event is its device's; the first one's is current then */
		if (!(f->g[w] = gpu_of(a->by[w])))
			rc = fs_fail(ENODEV, "gpu %d is not in use", a->by[w]);
		else if (!(rc = way_stream(f, w)) && !(rc = gpu_error(cudaEventCreate(&f->begin[w]), "an event")))
			rc = gpu_error(cudaEventCreate(&f->end[w]), "an event");
	}
	if (!rc && !(rc = gpu_error(cudaMalloc((void **)&f->sum, sizeof(*f->sum)), "a sum")))
		rc = gpu_error(cudaMemset(f->sum, 0, sizeof(*f->sum)), "a sum");
	if (!rc)
		rc = gpu_error(cudaMalloc((void **)&f->ends, 4 * sizeof(*f->ends)), "times of either way");
	return rc ? rc : gpu_error(cudaDeviceSynchronize(), "a sum");
}

/* Queues one way of a sample behind a gate. */
static int way_queue(const struct flow *f, const struct bw_args *a, int w, int engine)
{
	struct kernel_args k = { a->way[w], a->n, a->loops, f->sum };
	void *args[] = { &k }, *gate[] = { (void *)&f->g[0]->ready }; /* pinned, which every GPU reads */
	int rc;

	if ((rc = gpu_error(cudaSetDevice(f->g[w]->device), "a device")) ||
	    (rc = gpu_launch(f->g[w], (const void *)gate_kernel, 1, gate, 0, f->stream[w], "a gate")) ||
	    (rc = gpu_error(cudaEventRecord(f->begin[w], f->stream[w]), "an event")))
		return rc;
	if (engine)
		for (uint64_t l = 0; l < a->loops && !rc; l++)
			rc = gpu_error(cudaMemcpyAsync(a->way[w].dst, a->way[w].src, a->n * sizeof(struct vec16),
						       cudaMemcpyDefault, f->stream[w]), "a copy");
	else
		/* blocks need not be resident at once: those that don't fit come later */
		rc = gpu_error(cudaLaunchKernel(movers[a->dir], dim3(a->blocks), dim3(a->threads), args, 0, f->stream[w]),
			       "the kernel that moves bytes");
	return rc ? rc : gpu_error(cudaEventRecord(f->end[w], f->stream[w]), "an event");
}

/* Both ways of a sample, in one kernel behind a gate. */
static int both_queue(const struct flow *f, const struct bw_args *a)
{
	static const unsigned long long none[4] = { ~0ull, 0, ~0ull, 0 };
	struct both_args k = { { a->way[0], a->way[1] }, a->n, a->loops, f->ends };
	void *args[] = { &k }, *gate[] = { (void *)&f->g[0]->ready };
	int rc = gpu_error(cudaMemcpy(f->ends, none, sizeof(none), cudaMemcpyDefault), "times of either way");

	/* from pageable memory a copy may be back before it has arrived */
	rc = rc ? rc : gpu_error(cudaStreamSynchronize(0), "times of either way");
	if (rc || (rc = gpu_launch(f->g[0], (const void *)gate_kernel, 1, gate, 0, f->stream[0], "a gate")) ||
	    (rc = gpu_error(cudaEventRecord(f->begin[0], f->stream[0]), "an event")) ||
	    (rc = gpu_error(cudaLaunchKernel((const void *)both_kernel, dim3(a->blocks), dim3(a->threads), args, 0, f->stream[0]),
			    "the kernel that moves bytes both ways")))
		return rc;
	return gpu_error(cudaEventRecord(f->end[0], f->stream[0]), "an event");
}

static int elapsed(double *ns, cudaEvent_t from, cudaEvent_t to)
{
	float ms = 0;
	int rc = gpu_error(cudaEventElapsedTime(&ms, from, to), "the time between two events");

	*ns = (double)ms * 1e6;
	return rc;
}

/* Of what both_queue() has queued: both by events, each by its own first begin and last end. */
static int both_times(const struct flow *f, struct bw_args *a, int64_t s)
{
	unsigned long long ends[4];
	double ns;
	int rc = elapsed(&ns, f->begin[0], f->end[0]);

	if (rc || s < 0 || (rc = gpu_error(cudaMemcpy(ends, f->ends, sizeof(ends), cudaMemcpyDefault), "times of either way")))
		return rc;
	a->both_ns[s] = ns;
	for (int w = 0; w < 2; w++)
		a->way_ns[w][s] = (double)(ends[2 * w + 1] - ends[2 * w]);
	return 0;
}

static int way_times(const struct flow *f, struct bw_args *a, int64_t s)
{
	double ns[BW_WAYS_MAX][BW_WAYS_MAX];
	int rc = 0;

	memset(ns, 0, sizeof(ns));

	/* from the first to begin to the last to end */
	for (int b = 0; b < a->ways && !rc; b++)
		for (int e = 0; e < a->ways && !rc; e++)
			if (b == e || f->g[b] == f->g[e])
				rc = elapsed(&ns[b][e], f->begin[b], f->end[e]);
	if (rc || s < 0)
		return rc;
	a->both_ns[s] = 0;
	for (int b = 0; b < a->ways; b++) {
		a->way_ns[b][s] = ns[b][b];
		for (int e = 0; e < a->ways; e++)
			if (ns[b][e] > a->both_ns[s])
				a->both_ns[s] = ns[b][e];
	}
	return 0;
}

static int sample(const struct flow *f, struct bw_args *a, int engine, int64_t s, double patience_s)
{
	int rc = 0;

	__atomic_store_n(f->g[0]->ready, 0u, __ATOMIC_RELEASE);
	if (f->one)
		rc = both_queue(f, a);
	else
		for (int w = 0; w < a->ways && !rc; w++)
			rc = way_queue(f, a, w, engine);
	__atomic_store_n(f->g[0]->ready, 1u, __ATOMIC_RELEASE); /* whatever came: what is queued has to end */
	for (int w = 0; w < (f->one ? 1 : a->ways) && !rc; w++)
		rc = gpu_wait(f->stream[w], patience_s, "moving bytes");
	return rc ? rc : f->one ? both_times(f, a, s) : way_times(f, a, s);
}

extern "C" int bandwidth_gpu_run(struct bw_args *a, int engine, double patience_s)
{
	struct flow f;
	int rc = flow_init(&f, a);

	f.one = a->split && !engine && f.g[0] == f.g[1] && a->threads % 32 == 0 && a->threads * a->blocks >= 64;
	/* the kernels first: loading one in the middle would wait for a gate */
	for (int w = a->ways - 1; w >= 0 && !rc; w--) {
		rc = gpu_error(cudaSetDevice(f.g[w]->device), "a device");
		if (!rc && !(rc = gpu_load(f.g[w], (const void *)gate_kernel, "a gate")) && !engine)
			rc = gpu_load(f.g[w], f.one ? (const void *)both_kernel : movers[a->dir], "the kernel that moves bytes");
	}
	for (int64_t s = -(int64_t)a->warmup; s < (int64_t)a->samples && !rc; s++)
		rc = sample(&f, a, engine, s, patience_s);
	if (!rc)
		rc = gpu_error(cudaMemcpy(&a->sum, f.sum, sizeof(a->sum), cudaMemcpyDefault), "a sum");
	if (rc != -EBUSY)
		flow_term(&f);
	return rc;
}
