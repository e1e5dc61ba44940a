/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mark that follows a load waits for it, and one without the dependence does
 * not: a load of host memory, over 500 ns away, is stamped both ways. The second
 * is the negative control. Exits 77 without a GPU.
 */
#include "stages/queue/pace.h"
#include <cuda_runtime.h>
#include <stdio.h>

struct result { uint64_t bare, after; struct clock_pair begin, end; };

static __global__ void load_kernel(const uint64_t *host, struct result *r)
{
	uint64_t bare = 0, after = 0, sum = 0;

	r->begin = clock_pair_read(0);
	for (int i = 0; i < 512; i++) {
		/* a line of its own each time */
		uint64_t t0 = ticks(0), v = ld64(host + i * 32), t1 = ticks(0);

		sum += v;
		bare += t1 - t0;
		wait_ticks(4000, 0);
		t0 = ticks(0);
		v = ld64(host + i * 32 + 16);
		t1 = ticks_after(0, (uint32_t)v);
		sum += v;
		after += t1 - t0;
	}
	r->end = clock_pair_read(0);
	r->bare = bare + (sum == 1); /* the loads are needed */
	r->after = after;
}

int main(void)
{
	struct result *d, r;
	uint64_t *host;
	int n = 0;
	double ns, bare, after;

	if (cudaGetDeviceCount(&n) || !n) {
		printf("skipped: no GPU\n");
		return 77;
	}
	if (cudaHostAlloc((void **)&host, 512 * 32 * 8, cudaHostAllocMapped) || cudaMalloc((void **)&d, sizeof(*d)))
		return 1;
	for (int i = 0; i < 512 * 32; i++)
		host[i] = (uint64_t)i * 2;
	for (int i = 0; i < 3; i++) /* the first ones fetch the code and wake the clock */
		load_kernel<<<1, 1>>>(host, d);
	if (cudaMemcpy(&r, d, sizeof(r), cudaMemcpyDeviceToHost)) {
		printf("failed: %s\n", cudaGetErrorString(cudaGetLastError()));
		return 1;
	}
	ns = (double)(r.end.wall - r.begin.wall) / (double)(r.end.ticks - r.begin.ticks);
	bare = ns * (double)r.bare / 512;
	after = ns * (double)r.after / 512;
	printf("a load of host memory: %.1f ns with the dependence, %.1f ns without\n", after, bare);
	return after > 500 && bare < 200 ? 0 : 1;
}
