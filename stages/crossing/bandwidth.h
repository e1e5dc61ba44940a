/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes moved, by GPU threads, a copy engine or CPU threads. The loops of GPU threads
 * and the pattern are for both sides (HD); a CPU's loops go through slices of memory
 * instead, since its caches and prefetchers want that.
 */
#ifndef FS_BANDWIDTH_H
#define FS_BANDWIDTH_H

#include "stages/queue/hd.h"
#include "stages/vars.h"

enum { BW_UNROLL = 8 };          /* loads of a GPU thread under way before the first is stored */
enum { BW_WAYS_MAX = 15 };       /* one there and one back, or one for each peer of a GPU */

#ifdef __CUDACC__
struct __align__(16) vec16 { uint64_t a, b; };
#else
struct vec16 { uint64_t a, b; } __attribute__((aligned(16)));
#endif

/* One way: from `src` to `dst`, or one of them alone. `zero` is 0, which a compiler doesn't know. */
struct bw_way { struct vec16 *dst; const struct vec16 *src; uint64_t zero; };

struct bw_args {
	struct bw_way way[BW_WAYS_MAX];
	int ways;                    /* how many of them */
	int by[BW_WAYS_MAX];         /* the GPU whose threads or copy engine move each; of no use to a CPU's */
	int split;                   /* of two ways by one GPU's threads: its warps take either in turn */
	int dir;                     /* enum dir_word */
	uint64_t n;                  /* 16-byte words of one way */
	uint64_t loops, samples, warmup; /* times over all of it, in a sample; samples that count, and before */
	unsigned threads, blocks;
	/* results, in host memory: ns of each sample; of all ways together, and of each */
	double *both_ns, *way_ns[BW_WAYS_MAX];
	uint64_t sum;                /* of dir=read: all words, of all loops and samples */
};

/* Word i of what is moved. */
HD uint64_t bw_word(uint64_t i)
{
	return 0x9e3779b97f4a7c15u * i + 0x5f1e57a6u;
}

/* The sum of words 0..n-1, modulo 2^64. */
HD uint64_t bw_sum(uint64_t n)
{
	return 0x9e3779b97f4a7c15u * (n & 1 ? (n - 1) / 2 * n : n / 2 * (n - 1)) + 0x5f1e57a6u * n;
}

/* A load of 16 bytes that no L1 answers: later loops are to cross the link again. */
HD struct vec16 bw_load(const struct vec16 *p)
{
#ifdef __CUDA_ARCH__
	struct vec16 v;

	asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];" : "=l"(v.a), "=l"(v.b) : "l"(p));
	return v;
#else
	return *p;
#endif
}

/* Element i on behalf of the thread that gets elements first, first + step, ... */
HD uint64_t bw_element(const struct bw_way *w, uint64_t i, const int dir)
{
	struct vec16 v = { 0, 0 };

	if (dir == DIR_WRITE) {
		v.a = bw_word(2 * i);
		v.b = bw_word(2 * i + 1);
	} else {
		v = bw_load(w->src + i);
	}
	if (dir != DIR_READ)
		w->dst[i] = v;
	return v.a + v.b;
}

/*
 * The sum of BW_UNROLL loads, which begins when all of them have come: otherwise the
 * compiler adds each as soon as it can, into few registers, and two or three loads are
 * under way instead of all. (They are masked with 0.)
 */
HD uint64_t bw_sum_of(const struct vec16 *v, uint64_t zero)
{
	uint64_t sum = 0;

#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (int k = 0; k < BW_UNROLL; k++)
		sum |= v[k].a;
	sum &= zero;
#ifdef __CUDA_ARCH__
	asm volatile("" : "+l"(sum)); /* nor may the sum be put into another order */
#pragma unroll
#endif
	for (int k = 0; k < BW_UNROLL; k++)
		sum += v[k].a + v[k].b;
	return sum;
}

/* A thread's part of one loop; neighbouring threads get neighbouring elements. Returns the
 * sum of the words that it has read (dir=read). */
HD uint64_t bw_part(const struct bw_way *w, uint64_t n, uint64_t first, uint64_t step, const int dir)
{
	uint64_t i = first, sum = 0;

	for (; i + (BW_UNROLL - 1) * step < n; i += BW_UNROLL * step) {
		struct vec16 v[BW_UNROLL];

		if (dir == DIR_WRITE) {
			for (int k = 0; k < BW_UNROLL; k++)
				bw_element(w, i + (uint64_t)k * step, dir);
			continue;
		}
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int k = 0; k < BW_UNROLL; k++)
			v[k] = bw_load(w->src + i + (uint64_t)k * step);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int k = 0; k < BW_UNROLL && dir == DIR_COPY; k++)
			w->dst[i + (uint64_t)k * step] = v[k];
		if (dir == DIR_READ)
			sum += bw_sum_of(v, w->zero);
	}
	for (; i < n; i += step)
		sum += bw_element(w, i, dir);
	return sum;
}

/* CPU threads: bandwidth_cpu.c. Fills the results. */
int bandwidth_cpu_run(struct bw_args *a, int cpu, double patience_s);
/* GPU threads, or the copy engines: bandwidth_gpu.cu. */
int bandwidth_gpu_run(struct bw_args *a, int engine, double patience_s);

#endif
