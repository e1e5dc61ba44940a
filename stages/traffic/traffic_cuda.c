/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a load on a GPU: buffers, streams of their own, events to ask for. */
#include "harness/err.h"
#include "stages/traffic/traffic.h"
#include "stages/place/gpu.h"
#include "stages/place/place.h"
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdlib.h>

struct traffic_gpu {
	int kind, device;
	struct buf from[2], to[2];          /* the second pair for the way back */
	cudaStream_t stream[2];
	cudaEvent_t event[TRAFFIC_AHEAD][2];
	int ways;
};

static int places(struct traffic_gpu *l, int peer)
{
	int g = l->device, from = g, to = g, rc;

	if (l->kind == TRAFFIC_H2D || l->kind == TRAFFIC_BOTH || l->kind == TRAFFIC_SM_READ)
		from = PLACE_HOST;
	if (l->kind == TRAFFIC_D2H || l->kind == TRAFFIC_SM_WRITE)
		to = PLACE_HOST;
	if (l->kind == TRAFFIC_PEER)
		to = peer;
	for (int w = 0; w < l->ways; w++) {
		/* the way back is the other way round */
		if ((rc = place_alloc(&l->from[w], w ? to : from, TRAFFIC_PIECE, 4096, 1)) ||
		    (rc = place_alloc(&l->to[w], w ? from : to, TRAFFIC_PIECE, 4096, 1)))
			return rc;
	}
	return 0;
}

int traffic_gpu_open(struct traffic_gpu **out, int kind, int device, int peer)
{
	struct traffic_gpu *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return fs_fail(ENOMEM, "no memory for the load");
	l->kind = kind;
	l->device = device;
	l->ways = kind == TRAFFIC_BOTH ? 2 : 1;
	rc = cuda_use(device, peer);
	rc = rc ? rc : places(l, peer);
	rc = rc ? rc : gpu_error(cudaSetDevice(device), "the load's device");
	for (int w = 0; !rc && w < l->ways; w++) {
		rc = gpu_error(cudaStreamCreateWithFlags(&l->stream[w], cudaStreamNonBlocking), "a stream of the load");
		for (int k = 0; !rc && k < TRAFFIC_AHEAD; k++)
			rc = gpu_error(cudaEventCreateWithFlags(&l->event[k][w], cudaEventDisableTiming), "an event of the load");
	}
	if (rc) {
		traffic_gpu_close(l);
		return rc;
	}
	*out = l;
	return 0;
}

int traffic_gpu_here(struct traffic_gpu *l)
{
	return gpu_error(cudaSetDevice(l->device), "the load's device");
}

long traffic_gpu_piece(struct traffic_gpu *l, int k)
{
	int rc = 0;

	for (int w = 0; !rc && w < l->ways; w++) {
		if (l->kind == TRAFFIC_SM_READ || l->kind == TRAFFIC_SM_WRITE || l->kind == TRAFFIC_HBM)
			rc = traffic_gpu_kernel(l->kind, l->to[w].p, l->from[w].p, l->stream[w]);
		else
			rc = gpu_error(cudaMemcpyAsync(l->to[w].p, l->from[w].p, TRAFFIC_PIECE, cudaMemcpyDefault, l->stream[w]), "a copy of the load");
		rc = rc ? rc : gpu_error(cudaEventRecord(l->event[k][w], l->stream[w]), "an event of the load");
	}
	return rc ? rc : (long)TRAFFIC_PIECE * l->ways;
}

int traffic_gpu_done(struct traffic_gpu *l, int k)
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

void traffic_gpu_close(struct traffic_gpu *l)
{
	for (int w = 0; w < 2; w++) {
		for (int k = 0; k < TRAFFIC_AHEAD; k++)
			if (l->event[k][w])
				cudaEventDestroy(l->event[k][w]);
		if (l->stream[w])
			cudaStreamDestroy(l->stream[w]);
		place_free(&l->from[w]);
		place_free(&l->to[w]);
	}
	free(l);
}
