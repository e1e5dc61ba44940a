/* SPDX-License-Identifier: Apache-2.0 */
/* What is started on a GPU, one thread each, and the ways to start it. */
extern "C" {
#include "harness/err.h"
#include "stages/issue/launch.h"
#include "stages/place/start.h"
}
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdlib.h>

enum { LOOKS = 64 }; /* at a quiet word between two looks at the stop word */

template <int PLANTED>
__global__ void __launch_bounds__(1) begin_kernel(const __grid_constant__ struct launch_side s)
{
	launch_begin(&s, PLANTED, 0);
}

template <int PLANTED>
__global__ void __launch_bounds__(1) reside_kernel(const __grid_constant__ struct launch_side s, const uint32_t *stop, uint32_t *ready)
{
	uint64_t seen = ld64(s.flag);
	uint32_t idle = 0;

	st32_release_sys(ready, 1);
	for (;;) {
		if (launch_woken(&s, &seen, PLANTED))
			idle = 0;
		else if (++idle % LOOKS == 0 && ld32(stop))
			break;
	}
}

__global__ void __launch_bounds__(1) echo_kernel(const __grid_constant__ struct echo e, const uint32_t *stop, uint32_t *ready)
{
	uint64_t asked = ld64(e.ask);
	uint32_t idle = 0;

	st64_release_sys(e.step, agent_step(0));
	st32_release_sys(ready, 1);
	for (;;) {
		if (echo_answer(&e, &asked))
			idle = 0;
		else if (++idle % LOOKS == 0 && ld32(stop))
			break;
	}
}

struct launch_gpu {
	struct gpu *g;
	struct launch_side side;
	const uint64_t *counts;
	const void *reside;
	struct starter start;
};

extern "C" int launch_gpu_open(struct launch_gpu **out, const struct launch_side *s, const uint64_t *counts, int device)
{
	int planted = s->first_ns || s->bell_ns, rc;
	struct gpu *g = gpu_of(device);
	struct launch_gpu *r;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	if (!(r = (struct launch_gpu *)calloc(1, sizeof(*r))))
		return fs_fail(ENOMEM, "no memory for launches");
	*out = r;
	r->g = g;
	r->side = *s;
	r->counts = counts;
	r->reside = planted ? (const void *)reside_kernel<1> : (const void *)reside_kernel<0>;
	const void *begin = planted ? (const void *)begin_kernel<1> : (const void *)begin_kernel<0>;
	void *args[] = { &r->side };

	if ((rc = gpu_load(g, r->reside, "the resident kernel")) || (rc = gpu_load(g, (const void *)echo_kernel, "the clock's kernel")) ||
	    (rc = start_open(&r->start, g, begin, 1, 1, &r->side)))
		return rc;
	/* once with all checks: what is timed makes none */
	rc = gpu_launch(g, begin, 1, args, 0, g->issue_stream, "the started kernel");
	return rc ? rc : gpu_wait(g->issue_stream, 60, "the started kernel");
}

extern "C" void launch_gpu_close(struct launch_gpu *r)
{
	if (!r)
		return;
	start_close(&r->start);
	free(r);
}

static int resident(struct launch_gpu *r, const void *fn, void *what, const char *name, double patience_s)
{
	struct gpu *g = gpu_of(r->g->device);
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", r->g->device);
	void *args[] = { what, &g->stop, &g->ready };

	if ((rc = gpu_resident_prepare(g)) || (rc = gpu_launch(g, fn, 1, args, 0, g->nic_stream, name)))
		return rc;
	return gpu_resident_ready(g, patience_s, name);
}

extern "C" int launch_gpu_echo(struct launch_gpu *r, const struct echo *e, double patience_s)
{
	struct echo copy = *e;

	return resident(r, (const void *)echo_kernel, &copy, "the clock's kernel", patience_s);
}

extern "C" int launch_gpu_reside(struct launch_gpu *r, double patience_s)
{
	return resident(r, r->reside, &r->side, "the resident kernel", patience_s);
}

extern "C" int launch_gpu_stop(struct launch_gpu *r, double patience_s)
{
	return gpu_resident_stop(r->g, patience_s, "the resident kernel");
}

extern "C" int launch_gpu_stream(struct launch_gpu *r) { return start_stream(&r->start); }
extern "C" int launch_gpu_graph(struct launch_gpu *r) { return start_graph(&r->start); }

extern "C" int launch_gpu_flag(struct launch_gpu *r, uint64_t count)
{
	return cudaMemcpyAsync((void *)r->side.flag, &r->counts[count], 8, cudaMemcpyHostToDevice, (cudaStream_t)r->g->side_stream);
}

extern "C" int launch_gpu_ended(struct launch_gpu *r) { return start_ended(&r->start); }
extern "C" int launch_gpu_why(int err) { return start_why(err, "a start"); }

extern "C" int launch_gpu_drain(struct launch_gpu *r, double patience_s)
{
	return start_drain(&r->start, patience_s, "the started kernel");
}
