/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime's part of places: devices, memory, streams, errors. */
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/machine.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct gpu gpus[FS_GPUS_MAX];
static int used[FS_GPUS_MAX];
static enum cuda_injection injected;

int gpu_error(int err, const char *what)
{
	cudaError_t e = (cudaError_t)err;

	if (!err)
		return 0;
	return fs_fail(e == cudaErrorMemoryAllocation ? ENOMEM : e == cudaErrorNoDevice || e == cudaErrorDevicesUnavailable ? ENODEV : EIO,
		       "%s: %s (%s)", what, cudaGetErrorName(e), cudaGetErrorString(e));
}

void cuda_inject(enum cuda_injection what)
{
	injected = what;
}

/* ---- which GPUs ---- */

static void scout_gpu(int i, struct machine *m)
{
	struct machine_gpu *g = &m->gpu[i];
	struct cudaDeviceProp p;
	int yes;

	if (cudaGetDeviceProperties(&p, i))
		return;
	snprintf(g->name, sizeof(g->name), "%.95s", p.name);
	const unsigned char *u = (const unsigned char *)p.uuid.bytes;
	snprintf(g->uuid, sizeof(g->uuid),
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3], u[4],
		 u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	snprintf(g->pci, sizeof(g->pci), "%04x:%02x:%02x.0", (unsigned)p.pciDomainID & 0xffff, (unsigned)p.pciBusID & 0xff,
		 (unsigned)p.pciDeviceID & 0xff);
	g->sms = p.multiProcessorCount;
	g->cc_major = p.major;
	g->cc_minor = p.minor;
	g->bytes = p.totalGlobalMem;
	g->host_native_atomics = p.hostNativeAtomicSupported;
	g->coherent = p.pageableMemoryAccessUsesHostPageTables;
	for (int k = 0; k < m->ngpus; k++) {
		if (k != i && !cudaDeviceCanAccessPeer(&yes, i, k) && yes)
			g->peers |= 1u << k;
		if (k != i && !cudaDeviceGetP2PAttribute(&yes, cudaDevP2PAttrNativeAtomicSupported, i, k) && yes)
			g->native_atomics |= 1u << k;
	}
}

int cuda_scout(struct machine *m)
{
	cudaError_t e = cudaGetDeviceCount(&m->ngpus);

	cudaDriverGetVersion(&m->driver);
	cudaRuntimeGetVersion(&m->runtime);
	if (e) {
		m->ngpus = 0;
		snprintf(m->gpu_reason, sizeof(m->gpu_reason), "%s%s (%s)",
			 e == cudaErrorInsufficientDriver || e == cudaErrorNoDevice ? "no NVIDIA GPU with a driver that fits: " : "",
			 cudaGetErrorString(e), cudaGetErrorName(e));
		cudaGetLastError();
		return 0;
	}
	if (m->ngpus > FS_GPUS_MAX)
		m->ngpus = FS_GPUS_MAX;
	for (int i = 0; i < m->ngpus; i++)
		scout_gpu(i, m);
	return 0;
}

/* ---- devices in use ---- */

static int gpu_open(int device)
{
	struct gpu *g = &gpus[device];
	cudaStream_t s[3];
	int rc;

	if (used[device])
		return gpu_error(cudaSetDevice(device), "cudaSetDevice");
	if ((rc = gpu_error(cudaSetDevice(device), "cudaSetDevice")) ||
	    (rc = gpu_error(cudaFree(0), "the device's context")))
		return rc;
	for (int i = 0; i < 3; i++)
		if ((rc = gpu_error(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking), "a stream")))
			return rc;
	if ((rc = gpu_error(cudaMalloc((void **)&g->stop, 256), "a stop word")) ||
	    (rc = gpu_error(cudaHostAlloc((void **)&g->ready, 256, cudaHostAllocPortable | cudaHostAllocMapped), "a ready word")))
		return rc;
	g->one = g->ready + 32;
	*g->one = 1;
	g->claims = g->stop + 32;
	g->taken = g->ready + 48;
	if ((rc = gpu_error(cudaMemset(g->stop, 0, 256), "a stop word")) || (rc = gpu_error(cudaStreamSynchronize(0), "a stop word")))
		return rc;
	g->taken[0] = g->taken[1] = 0;
	g->ticket = 0;
	g->issue_sm = g->nic_sm = -1;
	g->device = device;
	g->nic_stream = s[0];
	g->issue_stream = s[1];
	g->side_stream = s[2];
	used[device] = 1;
	return 0;
}

struct gpu *gpu_of(int device)
{
	if (device < 0 || device >= FS_GPUS_MAX || !used[device] || cudaSetDevice(device))
		return NULL;
	return &gpus[device];
}

static int peer_enable(int from, int to)
{
	cudaError_t e;

	if (cudaSetDevice(from))
		return -EIO;
	e = cudaDeviceEnablePeerAccess(to, 0);
	if (e == cudaErrorPeerAccessAlreadyEnabled) {
		cudaGetLastError();
		return 0;
	}
	return gpu_error(e, "peer access");
}

int cuda_use(int a, int b)
{
	int rc = 0;

	if (injected == INJECT_LOST)
		return gpu_error(cudaErrorDevicesUnavailable, "injected: the GPU is gone");
	if (a >= 0 && (rc = gpu_open(a)))
		return rc;
	if (b >= 0 && (rc = gpu_open(b)))
		return rc;
	if (a >= 0 && b >= 0 && a != b && ((rc = peer_enable(a, b)) || (rc = peer_enable(b, a))))
		return rc;
	if (injected == INJECT_STICKY)
		return gpu_trap(gpu_of(a >= 0 ? a : b));
	return 0;
}

/* ---- memory ---- */

/* Is it where it was asked for? The pointer's own attributes say. */
int cuda_assert(const struct buf *b, int place)
{
	struct cudaPointerAttributes at;
	int rc = gpu_error(cudaPointerGetAttributes(&at, b->p), "pointer attributes");
	char name[16];

	if (rc)
		return rc;
	if (place == PLACE_HOST ? at.type != cudaMemoryTypeHost : at.type != cudaMemoryTypeDevice || at.device != place)
		return fs_fail(EFAULT, "memory asked for on %s%s is of type %d (1: the host's, 2: a GPU's) on device %d",
			       place == PLACE_HOST ? "the " : "", place_name(place, name, sizeof(name)), at.type, at.device);
	if (place == PLACE_HOST && at.devicePointer != at.hostPointer)
		return fs_fail(EFAULT, "pinned memory has another address on the GPU: unified addressing is off");
	return 0;
}

int cuda_free_bytes(int device, uint64_t *bytes)
{
	size_t free_, all;
	int rc = gpu_error(cudaSetDevice(device), "cudaSetDevice");

	rc = rc ? rc : gpu_error(cudaMemGetInfo(&free_, &all), "free memory of the GPU");
	*bytes = rc ? 0 : free_;
	return rc;
}

int cuda_alloc(struct buf *b, int place, size_t bytes, size_t align, int pinned)
{
	char what[96];
	int rc;

	if (injected == INJECT_MEMORY && place != PLACE_HOST) {
		snprintf(what, sizeof(what), "injected: %zu bytes on gpu %d", bytes, place);
		return gpu_error(cudaErrorMemoryAllocation, what);
	}
	bytes = (bytes + align - 1) / align * align;
	b->place = place;
	b->pinned = pinned;
	b->bytes = bytes;
	if (place == PLACE_HOST) {
		snprintf(what, sizeof(what), "%zu bytes of pinned host memory", bytes);
		rc = gpu_error(cudaHostAlloc(&b->raw, bytes + align, cudaHostAllocPortable | cudaHostAllocMapped), what);
	} else {
		snprintf(what, sizeof(what), "%zu bytes on gpu %d", bytes, place);
		rc = gpu_error(cudaSetDevice(place), what);
		rc = rc ? rc : gpu_error(cudaMalloc(&b->raw, bytes + align), what);
	}
	if (rc) {
		b->raw = NULL;
		return rc;
	}
	b->p = (uint8_t *)(((uintptr_t)b->raw + align - 1) / align * align);
	rc = cuda_assert(b, place);
	if (!rc && place == PLACE_HOST)
		memset(b->p, 0, bytes);
	else if (!rc)
		rc = cuda_set(b, 0);
	return rc;
}

void cuda_free(struct buf *b)
{
	if (b->place == PLACE_HOST)
		cudaFreeHost(b->raw);
	else
		cudaFree(b->raw);
}

int cuda_copy(void *dst, const void *src, size_t bytes)
{
	return gpu_error(cudaMemcpy(dst, src, bytes, cudaMemcpyDefault), "copy between host and GPU");
}

int cuda_set(const struct buf *b, int byte)
{
	int rc = gpu_error(cudaSetDevice(b->place), "cudaSetDevice");

	rc = rc ? rc : gpu_error(cudaMemset(b->p, byte, b->bytes), "fill GPU memory");
	return rc ? rc : gpu_error(cudaStreamSynchronize(0), "fill GPU memory");
}

/* ---- kernels ---- */

int gpu_load(struct gpu *g, const void *fn, const char *what)
{
	struct cudaFuncAttributes a;
	int rc = gpu_error(cudaSetDevice(g->device), what);

	return rc ? rc : gpu_error(cudaFuncGetAttributes(&a, fn), what);
}

/* Would so many blocks be resident at once, beside `beside` SMs of others? *fit: as many as can be. */
static int gpu_fits(struct gpu *g, const void *fn, unsigned blocks, unsigned threads, unsigned beside, size_t shared,
		    long *fit, const char *what)
{
	int rc, each = 0, sms = 0;

	if ((rc = gpu_error(cudaSetDevice(g->device), what)))
		return rc;
	if (shared > 48 << 10 &&
	    (rc = gpu_error(cudaFuncSetAttribute(fn, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared), what)))
		return rc;
	if ((rc = gpu_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, fn, (int)threads, shared), what)) ||
	    (rc = gpu_error(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, g->device), what)))
		return rc;
	if (each < 1)
		return fs_fail(ENOSPC, "%s: a block of it does not fit on an SM", what);
	*fit = (long)each * (sms - (long)beside);
	if (blocks > *fit)
		return fs_fail(ENOSPC, "%s: %u blocks have to be resident at once beside %u SMs of others, and %ld fit on gpu %d",
			       what, blocks, beside, *fit < 0 ? 0 : *fit, g->device);
	return 0;
}

static int launch(const void *fn, unsigned blocks, unsigned threads, void **args, size_t shared, void *stream, const char *what)
{
	struct { unsigned x, y, z; } many = { blocks, 1, 1 }, wide = { threads, 1, 1 };
	dim3 grid, block;

	memcpy(&grid, &many, sizeof(grid));
	memcpy(&block, &wide, sizeof(block));
	return gpu_error(cudaLaunchKernel(fn, grid, block, args, shared, (cudaStream_t)stream), what);
}

int gpu_launch_grid(struct gpu *g, const void *fn, unsigned blocks, unsigned threads, unsigned beside, void **args,
		    size_t shared, void *stream, const char *what)
{
	long fit = 0;
	int rc = gpu_fits(g, fn, blocks, threads, beside, shared, &fit, what);

	return rc ? rc : launch(fn, blocks, threads, args, shared, stream, what);
}

int gpu_launch(struct gpu *g, const void *fn, unsigned threads, void **args, size_t shared, void *stream,
	       const char *what)
{
	return gpu_launch_grid(g, fn, 1, threads, 0, args, shared, stream, what);
}

static struct seat seat_of(struct gpu *g, int which, int sm)
{
	struct seat s = { sm, ++g->ticket, g->claims + which, g->taken + which };

	return s;
}

struct seat gpu_issue_seat(struct gpu *g) { return seat_of(g, 0, g->issue_sm); }
struct seat gpu_nic_seat(struct gpu *g) { return seat_of(g, 1, g->nic_sm); }

/* As many blocks as the whole GPU holds: the last free place is on the right SM, or it is
 * the next one to become free, if others' blocks stand there. */
int gpu_launch_seat(struct gpu *g, const void *fn, unsigned threads, void **args, size_t shared, void *stream,
		    const struct seat *seat, const char *what)
{
	long fit = 0;
	int rc;

	if (seat->sm < 0)
		return gpu_launch(g, fn, threads, args, shared, stream, what);
	rc = gpu_fits(g, fn, 1, threads, 0, shared, &fit, what);
	return rc ? rc : launch(fn, (unsigned)fit, threads, args, shared, stream, what);
}

int gpu_seated(const struct seat *seat, const char *what)
{
	if (seat->sm < 0 || __atomic_load_n(seat->taken, __ATOMIC_ACQUIRE) == seat->ticket)
		return 0;
	return fs_fail(EBUSY, "%s: no block of it came to SM %d; is another program at work on this GPU?", what, seat->sm);
}

static int wait_stream(void *stream, double patience_s, long nap_ns, const char *what)
{
	uint64_t until = deadline_in_s(patience_s);
	struct timespec nap = { 0, nap_ns };
	cudaError_t e;

	while ((e = cudaStreamQuery((cudaStream_t)stream)) == cudaErrorNotReady) {
		if (deadline_over(until))
			return fs_fail(EBUSY, "%s did not end in %.0f s", what, patience_s);
		if (nap_ns)
			nanosleep(&nap, NULL);
	}
	return gpu_error(e, what);
}

/* asking takes time of a core that may be shared */
int gpu_wait(void *stream, double patience_s, const char *what) { return wait_stream(stream, patience_s, 200000, what); }
int gpu_wait_now(void *stream, double patience_s, const char *what) { return wait_stream(stream, patience_s, 0, what); }

int gpu_resident_prepare(struct gpu *g)
{
	int rc = gpu_error(cudaSetDevice(g->device), "a resident kernel");

	*(volatile uint32_t *)g->ready = 0;
	rc = rc ? rc : gpu_error(cudaMemset(g->stop, injected == INJECT_STOPPED, 4), "a stop word");
	return rc ? rc : gpu_error(cudaStreamSynchronize(0), "a stop word");
}

int gpu_resident_ready(struct gpu *g, double patience_s, const char *what)
{
	uint64_t until = deadline_in_s(patience_s);
	cudaError_t e;

	while (!__atomic_load_n(g->ready, __ATOMIC_ACQUIRE)) {
		e = cudaStreamQuery((cudaStream_t)g->nic_stream);
		if (e != cudaErrorNotReady && e != cudaSuccess)
			return gpu_error(e, what);
		if (e == cudaSuccess && !__atomic_load_n(g->ready, __ATOMIC_ACQUIRE))
			return fs_fail(EBUSY, "%s ended before it was ready: no block of it came to its SM", what);
		if (deadline_over(until))
			return fs_fail(ETIMEDOUT, "%s was not ready in %.0f s", what, patience_s);
	}
	return 0;
}

int gpu_raise(struct gpu *g, void *word, const char *what)
{
	int rc = gpu_error(cudaSetDevice(g->device), what);

	return rc ? rc : gpu_error(cudaMemcpyAsync(word, g->one, 4, cudaMemcpyHostToDevice, (cudaStream_t)g->side_stream), what);
}

int gpu_resident_stop(struct gpu *g, double patience_s, const char *what)
{
	int rc = gpu_raise(g, g->stop, what);

	return rc ? rc : gpu_wait(g->nic_stream, patience_s, what);
}
