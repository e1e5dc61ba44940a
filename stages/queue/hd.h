/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of both sides stands on: memory accesses and orders under one
 * name each, for a CPU thread (C, GCC atomics) and a GPU thread (CUDA, PTX).
 *
 * Every access of a queue is relaxed and system-scope: neither side may tear
 * an 8-byte word, and nothing but the named orders below stands between two
 * accesses. On a CPU the orders are release stores and acquire loads, since a
 * race checker cannot see a fence in front of a relaxed store.
 *
 * PTX: the PTX ISA's memory consistency model; fence.acquire and fence.release
 * need PTX ISA 8.6.
 */
#ifndef FS_HD_H
#define FS_HD_H

#include <stdint.h>

#ifdef __CUDACC__
#define HD static __host__ __device__ __forceinline__
/* One copy, called: what only the flexible form has. */
#define HD_CALLED static __host__ __device__ __noinline__
#else
#ifndef HD_INLINE /* in sanitizers' builds it is the compiler's choice (meson.build) */
#define HD_INLINE inline __attribute__((always_inline))
#endif
#define HD static HD_INLINE
#define HD_CALLED static __attribute__((noinline, unused))
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#ifndef __CUDA_ARCH__
#include <sched.h> /* sched_yield: where more threads wait for each other than there are CPUs */
#include <time.h>  /* clock_gettime: the wall clock of a CPU agent */
#endif

/* ---- byte order: queues are big-endian ---- */

HD uint32_t be32(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return __byte_perm(x, 0, 0x0123);
#else
	return __builtin_bswap32(x);
#endif
}

HD uint64_t be64(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return (uint64_t)be32((uint32_t)x) << 32 | be32((uint32_t)(x >> 32));
#else
	return __builtin_bswap64(x);
#endif
}

/* Two 32-bit fields that stand one after the other in memory, as one 8-byte
 * word of a little-endian machine. */
HD uint64_t pair32(uint32_t first, uint32_t second)
{
	return (uint64_t)second << 32 | first;
}

/* ---- relaxed, system-scope accesses ---- */

HD uint64_t ld64(const void *p)
{
#ifdef __CUDA_ARCH__
	uint64_t v;

	asm volatile("ld.relaxed.sys.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
#else
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
#endif
}

/* A plain (weak) load, of no queue's memory: it may take what its SM's L1 has kept, and the
 * compiler may make it earlier where no acquire stands before it. A CPU's is relaxed. */
HD uint64_t ld64_plain(const void *p)
{
#ifdef __CUDA_ARCH__
	uint64_t v;

	asm volatile("ld.weak.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
#else
	return ld64(p);
#endif
}

HD uint32_t ld32(const void *p)
{
#ifdef __CUDA_ARCH__
	uint32_t v;

	asm volatile("ld.relaxed.sys.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
#else
	return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
#endif
}

HD uint8_t ld8(const void *p)
{
#ifdef __CUDA_ARCH__
	uint32_t v;

	asm volatile("ld.relaxed.sys.b8 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return (uint8_t)v;
#else
	return __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
#endif
}

HD void st64(void *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.relaxed.sys.b64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
#else
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED);
#endif
}

HD void st32(void *p, uint32_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.relaxed.sys.b32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
#else
	__atomic_store_n((uint32_t *)p, v, __ATOMIC_RELAXED);
#endif
}

HD void st8(void *p, uint8_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.relaxed.sys.b8 [%0], %1;" : : "l"(p), "r"((uint32_t)v) : "memory");
#else
	__atomic_store_n((uint8_t *)p, v, __ATOMIC_RELAXED);
#endif
}

/* Two neighbouring 8-byte words, p 16-byte aligned; each word is whole, the
 * pair need not be. */
HD void ld64x2(const void *p, uint64_t v[2])
{
#ifdef __CUDA_ARCH__
	asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];"
		     : "=l"(v[0]), "=l"(v[1]) : "l"(p) : "memory");
#else
	v[0] = ld64(p);
	v[1] = ld64((const uint64_t *)p + 1);
#endif
}

HD void st64x2(void *p, uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};"
		     : : "l"(p), "l"(a), "l"(b) : "memory");
#else
	st64(p, a);
	st64((uint64_t *)p + 1, b);
#endif
}

/* The same to memory that is known to be neither a block's own nor a thread's. */
HD void st64x2_global(void *p, uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};"
		     : : "l"(__cvta_generic_to_global(p)), "l"(a), "l"(b) : "memory");
#else
	st64x2(p, a, b);
#endif
}

/* ---- orders ---- */

/* A load that everything after it may rely on: what its writer released
 * before the value is visible. */
HD uint64_t ld64_acquire(const void *p)
{
#ifdef __CUDA_ARCH__
	uint64_t v;

	asm volatile("ld.acquire.sys.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
#else
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
#endif
}

/*
 * A poll: relaxed while it waits, and polled() once when it has seen what it
 * waited for, which makes an acquire of it. On a GPU the acquire empties the L1
 * (CCTL.IVALL) and would double the poll's period; on a CPU every load of a poll
 * acquires anyway.
 */
HD uint64_t ld64_poll(const void *p)
{
#ifdef __CUDA_ARCH__
	return ld64(p);
#else
	return ld64_acquire(p);
#endif
}

HD void polled(void)
{
#ifdef __CUDA_ARCH__
	asm volatile("fence.acquire.sys;" : : : "memory");
#endif
}

HD uint32_t ld32_acquire(const void *p)
{
#ifdef __CUDA_ARCH__
	uint32_t v;

	asm volatile("ld.acquire.sys.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
#else
	return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
#endif
}

/* Everything this thread did, or acquired, is visible to the system before the
 * relaxed store that follows. On a CPU nothing: the store itself releases
 * (st64_published). */
HD void release_sys(void)
{
#ifdef __CUDA_ARCH__
	asm volatile("fence.release.sys;" : : : "memory");
#endif
}

HD void release_gpu(void)
{
#ifdef __CUDA_ARCH__
	asm volatile("fence.release.gpu;" : : : "memory");
#endif
}

/* The sequentially consistent fence that __threadfence() is. */
HD void fence_sc_gpu(void)
{
#ifdef __CUDA_ARCH__
	asm volatile("fence.sc.gpu;" : : : "memory");
#endif
}

/* The store that stands behind a release_*() fence: relaxed on a GPU, a
 * release store on a CPU. */
HD void st64_published(void *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
	st64(p, v);
#else
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
#endif
}

HD void st32_published(void *p, uint32_t v)
{
#ifdef __CUDA_ARCH__
	st32(p, v);
#else
	__atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE);
#endif
}

/* Release stores of a GPU, in one instruction. */
HD void st64_release_gpu(void *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.release.gpu.b64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
#else
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
#endif
}

HD void st32_release_gpu(void *p, uint32_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.release.gpu.b32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
#else
	__atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE);
#endif
}

HD void st64_release_sys(void *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.release.sys.b64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
#else
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
#endif
}

HD void st32_release_sys(void *p, uint32_t v)
{
#ifdef __CUDA_ARCH__
	asm volatile("st.release.sys.b32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
#else
	__atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE);
#endif
}

/* ---- a copy of 64 bytes out of shared memory, by a GPU thread (sm_90) ---- */

#ifdef __CUDACC__
/* What this thread has stored to shared memory is seen by the copies that it starts. */
static __device__ __forceinline__ void bulk_sees(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
}

/* `from`: an address of shared memory; both 16-byte aligned. */
static __device__ __forceinline__ void bulk_store(void *to, uint32_t from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;\n\t"
		     "cp.async.bulk.commit_group;"
		     : : "l"(to), "r"(from) : "memory");
#else
	(void)to;
	(void)from;
	asm volatile("trap;"); /* the host doesn't start this there */
#endif
}

/* All that this thread has started have read their source. */
static __device__ __forceinline__ void bulk_done(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
#endif
}

/* And have written it. */
static __device__ __forceinline__ void bulk_written(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
#endif
}
#endif

/* ---- between threads of one side ---- */

/*
 * Whom an atomic is atomic with; a literal. A block's words lie in its shared memory, those
 * of wider scopes in memory that all reach: an address of which neither is known makes a
 * branch of each atomic. A CPU's are with everybody.
 */
enum scope { SCOPE_BLOCK, SCOPE_GPU, SCOPE_SYS };

#ifdef __CUDA_ARCH__
HD uint32_t shared_at(const uint64_t *p) { return (uint32_t)__cvta_generic_to_shared(p); }
HD uint64_t global_at(const uint64_t *p) { return __cvta_generic_to_global(p); }
#endif

/* Relaxed; what it was before. */
HD uint64_t atom_add64(uint64_t *p, uint64_t v, const int scope)
{
#ifdef __CUDA_ARCH__
	uint64_t old;

	if (scope == SCOPE_BLOCK)
		asm volatile("atom.relaxed.cta.shared.add.u64 %0, [%1], %2;" : "=l"(old) : "r"(shared_at(p)), "l"(v) : "memory");
	else if (scope == SCOPE_GPU)
		asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(global_at(p)), "l"(v) : "memory");
	else
		asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(global_at(p)), "l"(v) : "memory");
	return old;
#else
	(void)scope;
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
#endif
}

/* Takes a lock of the GPU's that is free (0), acquiring: 1; else 0. */
HD int lock_try(uint64_t *p)
{
#ifdef __CUDA_ARCH__
	uint64_t old;

	asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], 0, 1;" : "=l"(old) : "l"(global_at(p)) : "memory");
	return !old;
#else
	uint64_t free_ = 0;

	return __atomic_compare_exchange_n(p, &free_, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
#endif
}

/*
 * A word that is handed from thread to thread of one side: what was done before the
 * store is visible behind a look that sees its value and hand_looked(), which makes an
 * acquire of it. On a GPU the look is relaxed: looks that were too early empty no L1, and
 * other work may stand between a look and its fence. On a CPU each look acquires.
 */
HD uint64_t hand_look(const uint64_t *p, const int scope)
{
#ifdef __CUDA_ARCH__
	uint64_t v;

	if (scope == SCOPE_BLOCK)
		asm volatile("ld.relaxed.cta.shared.b64 %0, [%1];" : "=l"(v) : "r"(shared_at(p)) : "memory");
	else if (scope == SCOPE_SYS)
		asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(v) : "l"(global_at(p)) : "memory");
	else
		asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(v) : "l"(global_at(p)) : "memory");
	return v;
#else
	(void)scope;
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
#endif
}

HD void hand_looked(const int scope)
{
#ifdef __CUDA_ARCH__
	if (scope == SCOPE_BLOCK)
		asm volatile("fence.acquire.cta;" : : : "memory");
	else if (scope == SCOPE_SYS)
		polled();
	else
		asm volatile("fence.acquire.gpu;" : : : "memory");
#else
	(void)scope;
#endif
}

HD void hand_store(uint64_t *p, uint64_t v, const int scope)
{
#ifdef __CUDA_ARCH__
	if (scope == SCOPE_BLOCK)
		asm volatile("st.release.cta.shared.b64 [%0], %1;" : : "r"(shared_at(p)), "l"(v) : "memory");
	else if (scope == SCOPE_SYS)
		asm volatile("st.release.sys.global.b64 [%0], %1;" : : "l"(global_at(p)), "l"(v) : "memory");
	else
		asm volatile("st.release.gpu.global.b64 [%0], %1;" : : "l"(global_at(p)), "l"(v) : "memory");
#else
	(void)scope;
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
#endif
}

/* ---- clocks ---- */

/* Wall time of this agent in ns: %globaltimer, or CLOCK_MONOTONIC_RAW. */
HD uint64_t wall_ticks_ns(void)
{
#ifdef __CUDA_ARCH__
	uint64_t t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) : : "memory");
	return t;
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#endif
}

/* Now, after everything this thread issued before; says nothing of a load that
 * is still on its way (see ticks_after). On a CPU lfence waits for the loads
 * before it and keeps the counter from being read early (Intel SDM, RDTSC).
 * `gettime`: a CPU without a usable counter reads CLOCK_MONOTONIC_RAW. */
HD uint64_t ticks(int gettime)
{
#ifdef __CUDA_ARCH__
	uint64_t t;

	(void)gettime;
	asm volatile("mov.u64 %0, %%clock64;" : "=l"(t) : : "memory");
	return t;
#elif defined(__x86_64__)
	uint32_t lo, hi;

	if (gettime)
		return wall_ticks_ns();
	__asm__ volatile("lfence\n\trdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
	uint64_t t;

	if (gettime)
		return wall_ticks_ns();
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t) : : "memory");
	return t;
#else
	(void)gettime;
	return wall_ticks_ns();
#endif
}

/*
 * Now, but not before the loaded value `v` has arrived. A GPU issues in order
 * and reads its clock without waiting for a load, so an instruction that needs
 * v and may not be removed has to stand in front: a predicated performance-
 * monitor event that never fires. (The constant is arbitrary; should v equal it,
 * an event that nobody listens to is raised.) The clock is read as 64 bits: two
 * to six cycles on an H200, where a 32-bit read may become an S2UR of 41.
 */
HD uint64_t ticks_after(int gettime, uint32_t v)
{
#ifdef __CUDA_ARCH__
	uint64_t t;

	(void)gettime;
	asm volatile("{\n\t.reg .pred p;\n\t"
		     "setp.eq.u32 p, %1, 0xe9b7d215;\n\t"
		     "@p pmevent 15;\n\t"
		     "mov.u64 %0, %%clock64;\n\t}"
		     : "=l"(t) : "r"(v) : "memory");
	return t;
#else
	__asm__ volatile("" : : "r"(v) : "memory");
	return ticks(gettime);
#endif
}

/* In a poll loop of a CPU: lets the other thread of a core run. */
HD void relax_cpu(void)
{
#if !defined(__CUDA_ARCH__) && defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* The n-th turn of a wait for another thread. Where they are more than the CPUs they let
 * each other run now and then; elsewhere that would hand the CPU to strangers. */
HD void relax_turn(uint32_t n, int crowded)
{
	relax_cpu();
#ifndef __CUDA_ARCH__
	if (crowded && !(n & 127))
		sched_yield();
#else
	(void)n;
	(void)crowded;
#endif
}

#endif
