/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a load on a GPU: buffers, streams of their own, events to ask for. */
#include "harness/err.h"
#include "stages/load/load.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdlib.h>

struct load_gpu {
	int kind, device;
	struct buf from[2], to[2];          /* the second pair for the way back */
	cudaStream_t stream[2];
	cudaEvent_t event[LOAD_AHEAD][2];
	int ways;
};

static int places(struct load_gpu *l, int peer)
{
	int g = l->device, from = g, to = g, rc;

	if (l->kind == LOAD_H2D || l->kind == LOAD_BOTH || l->kind == LOAD_SM_READ)
		from = PLACE_HOST;
	if (l->kind == LOAD_D2H || l->kind == LOAD_SM_WRITE)
		to = PLACE_HOST;
	if (l->kind == LOAD_PEER)
		to = peer;
	for (int w = 0; w < l->ways; w++) {
		/* the way back is the other way round */
		if ((rc = place_alloc(&l->from[w], w ? to : from, LOAD_PIECE, 4096, 1)) ||
		    (rc = place_alloc(&l->to[w], w ? from : to, LOAD_PIECE, 4096, 1)))
			return rc;
	}
	return 0;
}

int load_gpu_open(struct load_gpu **out, int kind, int device, int peer)
{
	struct load_gpu *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return fs_fail(ENOMEM, "no memory for the load");
	l->kind = kind;
	l->device = device;
	l->ways = kind == LOAD_BOTH ? 2 : 1;
	rc = cuda_use(device, peer);
	rc = rc ? rc : places(l, peer);
	rc = rc ? rc : gpu_error(cudaSetDevice(device), "the load's device");
	for (int w = 0; !rc && w < l->ways; w++) {
		rc = gpu_error(cudaStreamCreateWithFlags(&l->stream[w], cudaStreamNonBlocking), "a stream of the load");
		for (int k = 0; !rc && k < LOAD_AHEAD; k++)
			rc = gpu_error(cudaEventCreateWithFlags(&l->event[k][w], cudaEventDisableTiming), "an event of the load");
	}
	if (rc) {
		load_gpu_close(l);
		return rc;
	}
	*out = l;
	return 0;
}

int load_gpu_here(struct load_gpu *l)
{
	return gpu_error(cudaSetDevice(l->device), "the load's device");
}

long load_gpu_piece(struct load_gpu *l, int k)
{
	int rc = 0;

	for (int w = 0; !rc && w < l->ways; w++) {
		if (l->kind == LOAD_SM_READ || l->kind == LOAD_SM_WRITE || l->kind == LOAD_HBM)
			rc = load_gpu_kernel(l->kind, l->to[w].p, l->from[w].p, l->stream[w]);
		else
			rc = gpu_error(cudaMemcpyAsync(l->to[w].p, l->from[w].p, LOAD_PIECE, cudaMemcpyDefault, l->stream[w]), "a copy of the load");
		rc = rc ? rc : gpu_error(cudaEventRecord(l->event[k][w], l->stream[w]), "an event of the load");
	}
	return rc ? rc : (long)LOAD_PIECE * l->ways;
}

int load_gpu_done(struct load_gpu *l, int k)
{
	for (int w = 0; w < l->ways; w++) {
		cudaError_t e = cudaEventQuery(l->event[k][w]);

		if (e == cudaErrorNotReady)
			return 0;
		if (e)
			return gpu_error(e, "a piece of the load");
	}
	return 1;
}

void load_gpu_close(struct load_gpu *l)
{
	for (int w = 0; w < 2; w++) {
		for (int k = 0; k < LOAD_AHEAD; k++)
			if (l->event[k][w])
				cudaEventDestroy(l->event[k][w]);
		if (l->stream[w])
			cudaStreamDestroy(l->stream[w]);
		place_free(&l->from[w]);
		place_free(&l->to[w]);
	}
	free(l);
}
