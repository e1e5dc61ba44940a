/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/place/start.h"
#include <cuda_runtime_api.h>
#include <string.h>

_Static_assert((int)START_REFUSED == (int)cudaErrorLaunchOutOfResources, "as the runtime has it");

#define LOAD_S 60.0

static const dim3 one = { 1, 1, 1 };

static int graph_make(struct starter *s)
{
	struct cudaKernelNodeParams k;
	void *args[] = { s->arg };
	cudaGraphNode_t node;
	int rc;

	memset(&k, 0, sizeof(k));
	k.func = (void *)s->fn;
	k.gridDim = one;
	k.gridDim.x = s->blocks;
	k.blockDim = one;
	k.blockDim.x = s->threads;
	k.kernelParams = args;
	if ((rc = gpu_error(cudaGraphCreate((cudaGraph_t *)&s->graph, 0), "a graph")) ||
	    (rc = gpu_error(cudaGraphAddKernelNode(&node, (cudaGraph_t)s->graph, NULL, 0, &k), "a graph's kernel")) ||
	    (rc = gpu_error(cudaGraphInstantiateWithFlags((cudaGraphExec_t *)&s->exec, (cudaGraph_t)s->graph, 0), "a graph's instance")) ||
	    (rc = gpu_error(cudaGraphUpload((cudaGraphExec_t)s->exec, (cudaStream_t)s->g->issue_stream), "a graph's upload")))
		return rc;
	return gpu_wait(s->g->issue_stream, LOAD_S, "a graph's upload");
}

int start_open(struct starter *s, struct gpu *g, const void *fn, unsigned blocks, unsigned threads, void *arg)
{
	int rc;

	memset(s, 0, sizeof(*s));
	s->g = g;
	s->fn = fn;
	s->arg = arg;
	s->blocks = blocks;
	s->threads = threads;
	rc = gpu_load(g, fn, "the started kernel");
	rc = rc ? rc : graph_make(s);
	if (rc)
		start_close(s);
	return rc;
}

void start_close(struct starter *s)
{
	if (s->exec)
		cudaGraphExecDestroy((cudaGraphExec_t)s->exec);
	if (s->graph)
		cudaGraphDestroy((cudaGraph_t)s->graph);
	s->exec = s->graph = NULL;
}

int start_here(const struct starter *s)
{
	return cudaSetDevice(s->g->device);
}

int start_stream(struct starter *s)
{
	dim3 grid = one, wide = one;

	grid.x = s->blocks;
	wide.x = s->threads;
	return cudaLaunchKernel(s->fn, grid, wide, &s->arg, 0, (cudaStream_t)s->g->issue_stream);
}

int start_graph(struct starter *s)
{
	return cudaGraphLaunch((cudaGraphExec_t)s->exec, (cudaStream_t)s->g->issue_stream);
}

int start_ended(const struct starter *s)
{
	cudaError_t e = cudaStreamQuery((cudaStream_t)s->g->issue_stream);

	return e == cudaSuccess ? 1 : e == cudaErrorNotReady ? 0 : -(int)e;
}

int start_why(int err, const char *what)
{
	return gpu_error(err, what);
}

int start_drain(const struct starter *s, double patience_s, const char *what)
{
	return gpu_wait(s->g->issue_stream, patience_s, what);
}
