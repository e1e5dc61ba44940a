/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mechanisms of CUDA. The driver's own functions are asked of the runtime by name, so that
 * nothing is linked with libcuda and the program starts where there is none. CUresult
 * and cudaError_t share their numbers (driver_types.h), so one function says both in words.
 */
#include "harness/err.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
#include "stages/translation/register.h"
#include <assert.h>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the driver's functions, found once ---- */

static struct {
	PFN_cuMemAddressReserve_v10020 reserve;
	PFN_cuMemAddressFree_v10020 unreserve;
	PFN_cuMemCreate_v10020 create;
	PFN_cuMemRelease_v10020 release;
	PFN_cuMemMap_v10020 map;
	PFN_cuMemUnmap_v10020 unmap;
	PFN_cuMemSetAccess_v10020 access;
	PFN_cuMemGetAllocationGranularity_v10020 granule;
	PFN_cuDeviceGetAttribute_v2000 attribute;
#if CUDA_VERSION >= 11070
	PFN_cuMemGetHandleForAddressRange_v11070 range_handle;
#endif
} drv;

static int driver_find(const char *name, unsigned version, void *to, struct reg *r)
{
	void *fn = NULL;
	cudaError_t e;
#if CUDART_VERSION >= 12050
	enum cudaDriverEntryPointQueryResult found;

	e = cudaGetDriverEntryPointByVersion(name, &fn, version, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
	enum cudaDriverEntryPointQueryResult found;

	(void)version;
	e = cudaGetDriverEntryPoint(name, &fn, cudaEnableDefault, &found);
#else
	(void)version;
	e = cudaGetDriverEntryPoint(name, &fn, cudaEnableDefault);
#endif
	*(void **)to = fn;
	if (!e && fn)
		return 0;
	cudaGetLastError();
	snprintf(r->why, sizeof(r->why), "the driver has no %s", name);
	return 1;
}

static int drv_error(CUresult e, const char *what)
{
	return gpu_error((int)e, what);
}

static int use(struct reg *r)
{
	return cuda_use(r->device, -1);
}

/* The device, and whether its memory will do: said before anything is allocated. */
static int use_memory(struct reg *r)
{
	uint64_t room;
	int rc = use(r);

	rc = rc ? rc : cuda_free_bytes(r->device, &room);
	return rc || r->bytes <= room ? rc :
	       fs_fail(ENOMEM, "bytes=%zu: GPU %d has %llu MiB free", r->bytes, r->device, (unsigned long long)room >> 20);
}

static void nothing(struct reg *r)
{
	(void)r;
}

/* Is it memory of that kind, and on that device? */
static int verify_type(const void *p, enum cudaMemoryType type, int device)
{
	struct cudaPointerAttributes at;
	int rc = gpu_error(cudaPointerGetAttributes(&at, p), "pointer attributes");

	if (!rc && (at.type != type || (type == cudaMemoryTypeDevice && at.device != device)))
		rc = fs_fail(EFAULT, "memory of type %d on device %d, where type %d on device %d was asked for", at.type, at.device,
			     type, device);
	return rc;
}

static int verify_device(struct reg *r)
{
	return verify_type(r->p, cudaMemoryTypeDevice, r->device);
}

static int verify_host(struct reg *r)
{
	return verify_type(r->p, cudaMemoryTypeHost, r->device);
}

/* ---- cudaMalloc, cudaFree ---- */

static int malloc_make(struct reg *r)
{
	return gpu_error(cudaMalloc(&r->p, r->bytes), "cudaMalloc");
}

static int malloc_undo(struct reg *r)
{
	return gpu_error(cudaFree(r->p), "cudaFree");
}

const struct mech_ops mech_cuda_malloc = { use_memory, malloc_make, malloc_undo, verify_device, nothing };

/* ---- cudaHostAlloc, cudaFreeHost ---- */

static int alloc_make(struct reg *r)
{
	return gpu_error(cudaHostAlloc(&r->p, r->bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
}

static int alloc_undo(struct reg *r)
{
	return gpu_error(cudaFreeHost(r->p), "cudaFreeHost");
}

const struct mech_ops mech_host_alloc = { use, alloc_make, alloc_undo, verify_host, nothing };

/* ---- cudaHostRegister, cudaHostUnregister: of pages that are there already ---- */

static int hostreg_open(struct reg *r)
{
	int rc = use(r);

	rc = rc ? rc : reg_host_open(r);
	r->p = r->host.p;
	return rc;
}

static int hostreg_make(struct reg *r)
{
	return gpu_error(cudaHostRegister(r->p, r->bytes, cudaHostRegisterPortable | cudaHostRegisterMapped), "cudaHostRegister");
}

static int hostreg_undo(struct reg *r)
{
	return gpu_error(cudaHostUnregister(r->p), "cudaHostUnregister");
}

const struct mech_ops mech_host_register = { hostreg_open, hostreg_make, hostreg_undo, verify_host, reg_host_close };

/* ---- an address range, memory, its mapping, and access to it; and back ---- */

static const CUmemAllocationProp *props(const struct reg *r)
{
	static CUmemAllocationProp p;

	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = r->device;
	return &p;
}

static int cumem_open(struct reg *r)
{
	size_t granule = 0;
	int rc = use_memory(r);

	if (rc || (rc = driver_find("cuMemAddressReserve", 10020, &drv.reserve, r)) ||
	    (rc = driver_find("cuMemAddressFree", 10020, &drv.unreserve, r)) ||
	    (rc = driver_find("cuMemCreate", 10020, &drv.create, r)) ||
	    (rc = driver_find("cuMemRelease", 10020, &drv.release, r)) ||
	    (rc = driver_find("cuMemMap", 10020, &drv.map, r)) ||
	    (rc = driver_find("cuMemUnmap", 10020, &drv.unmap, r)) ||
	    (rc = driver_find("cuMemSetAccess", 10020, &drv.access, r)) ||
	    (rc = driver_find("cuMemGetAllocationGranularity", 10020, &drv.granule, r)) ||
	    (rc = drv_error(drv.granule(&granule, props(r), CU_MEM_ALLOC_GRANULARITY_MINIMUM), "cuMemGetAllocationGranularity")))
		return rc;
	if (!granule || r->bytes % granule) {
		snprintf(r->why, sizeof(r->why), "bytes=%zu: memory comes in units of %zu here", r->bytes, granule);
		return 1;
	}
	return 0;
}

static int cumem_make(struct reg *r)
{
	CUmemAccessDesc all = { .location = props(r)->location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;
	int rc;

	if ((rc = drv_error(drv.reserve(&p, r->bytes, 0, 0, 0), "cuMemAddressReserve")))
		return rc;
	if (!(rc = drv_error(drv.create(&h, r->bytes, props(r), 0), "cuMemCreate"))) {
		if (!(rc = drv_error(drv.map(p, r->bytes, 0, h, 0), "cuMemMap"))) {
			if (!(rc = drv_error(drv.access(p, r->bytes, &all, 1), "cuMemSetAccess"))) {
				r->p = (void *)p;
				r->handle = h;
				return 0;
			}
			drv.unmap(p, r->bytes);
		}
		drv.release(h);
	}
	drv.unreserve(p, r->bytes);
	return rc;
}

static int cumem_undo(struct reg *r)
{
	CUdeviceptr p = (CUdeviceptr)r->p;
	int a = drv_error(drv.unmap(p, r->bytes), "cuMemUnmap");
	int b = drv_error(drv.release(r->handle), "cuMemRelease");
	int c = drv_error(drv.unreserve(p, r->bytes), "cuMemAddressFree");

	return a ? a : b ? b : c;
}

const struct mech_ops mech_cu_mem = { cumem_open, cumem_make, cumem_undo, verify_device, nothing };

/* ---- memory of another process, opened and closed ---- */

static_assert(sizeof(cudaIpcMemHandle_t) == IPC_HANDLE, "a handle's bytes");
enum { IPC_FILL = 0x5a };

int ipc_use(struct reg *r)
{
	return use(r);
}

int ipc_map(const unsigned char handle[IPC_HANDLE], void **p)
{
	cudaIpcMemHandle_t h;

	memcpy(&h, handle, sizeof(h));
	return gpu_error(cudaIpcOpenMemHandle(p, h, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
}

int ipc_unmap(void *p)
{
	return gpu_error(cudaIpcCloseMemHandle(p), "cudaIpcCloseMemHandle");
}

int ipc_look(const void *p, int device, size_t bytes)
{
	const unsigned char *at[2] = { p, (const unsigned char *)p + bytes - 1 };
	unsigned char got = 0;
	int rc = verify_type(p, cudaMemoryTypeDevice, device);

	for (int i = 0; i < 2 && !rc; i++)
		if (!(rc = gpu_error(cudaMemcpy(&got, at[i], 1, cudaMemcpyDeviceToHost), "reading memory of another process")) && got != IPC_FILL)
			rc = fs_fail(EBADMSG, "memory of another process has 0x%02x at its %s, which wrote 0x%02x", got, i ? "end" : "beginning", IPC_FILL);
	return rc;
}

int ipc_own(int device, size_t bytes, unsigned char handle[IPC_HANDLE])
{
	struct reg r = { .bytes = bytes, .device = device };
	cudaIpcMemHandle_t h;
	void *p = NULL;
	int rc = use_memory(&r);

	/* whole pages of the device, as with a dma-buf: a handle is that of the block which smaller pieces share */
	if (rc || (rc = gpu_error(cudaMalloc(&p, (bytes + PAGE_2M - 1) / PAGE_2M * PAGE_2M), "memory to export")) ||
	    (rc = gpu_error(cudaMemset(p, IPC_FILL, bytes), "memory to export")) ||
	    (rc = gpu_error(cudaDeviceSynchronize(), "memory to export")) || (rc = gpu_error(cudaIpcGetMemHandle(&h, p), "cudaIpcGetMemHandle")))
		return rc;
	memcpy(handle, &h, sizeof(h));
	return 0;
}

/* ---- a dma-buf of GPU memory, and closing it ---- */

#if CUDA_VERSION >= 11070
static int dmabuf_open(struct reg *r)
{
	int yes = 0, rc = use_memory(r);

	if (rc || (rc = driver_find("cuDeviceGetAttribute", 2000, &drv.attribute, r)) ||
	    (rc = driver_find("cuMemGetHandleForAddressRange", 11070, &drv.range_handle, r)) ||
	    (rc = drv_error(drv.attribute(&yes, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, r->device), "cuDeviceGetAttribute")))
		return rc;
	if (!yes) {
		snprintf(r->why, sizeof(r->why), "the driver exports no dma-buf of this GPU (open kernel modules are needed)");
		return 1;
	}
	/* whole pages of the device: smaller pieces share one, at addresses that can't be exported */
	return gpu_error(cudaMalloc(&r->p, (r->bytes + PAGE_2M - 1) / PAGE_2M * PAGE_2M), "memory to export");
}

static int dmabuf_make(struct reg *r)
{
	return drv_error(drv.range_handle(&r->fd, (CUdeviceptr)r->p, r->bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
			 "a dma-buf of GPU memory");
}

static int dmabuf_undo(struct reg *r)
{
	int rc = close(r->fd) ? fs_fail(errno, "closing a dma-buf failed") : 0;

	r->fd = -1;
	return rc;
}

static int dmabuf_verify(struct reg *r)
{
	off_t bytes = lseek(r->fd, 0, SEEK_END);

	if (bytes < 0)
		r->unasked = "the dma-buf tells no size";
	return bytes < 0 || (size_t)bytes >= r->bytes ? 0 :
	       fs_fail(EFAULT, "the dma-buf is of %lld bytes, %zu were asked for", (long long)bytes, r->bytes);
}

static void dmabuf_close(struct reg *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->p)
		cudaFree(r->p);
}

const struct mech_ops mech_dma_buf = { dmabuf_open, dmabuf_make, dmabuf_undo, dmabuf_verify, dmabuf_close };
#else
static int dmabuf_absent(struct reg *r)
{
	snprintf(r->why, sizeof(r->why), "built with CUDA before 11.7, which exports no dma-buf");
	return 1;
}

const struct mech_ops mech_dma_buf = { dmabuf_absent, dmabuf_absent, dmabuf_absent, dmabuf_absent, nothing };
#endif
