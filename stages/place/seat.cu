/* SPDX-License-Identifier: Apache-2.0 */
/* Which SMs stand in the issuer's half of the L2: a ping-pong with each. */
extern "C" {
#include "harness/err.h"
#include "stages/place/gpu.h"
#include "stages/place/seat.h"
}
#include "stages/queue/hd.h"
#include <cuda_runtime.h>
#include <errno.h>
#include <string.h>

/* Lines in pairs, one a direction, over several pages of interleaving: of different
 * halves, some are near to one SM and some to the other. */
enum { PAIRS = 16, ROUNDS = 24, FIRST = 4, STEP = 4096 + 128, MAP_BYTES = 2 * PAIRS * STEP, POLLS = 100000, SMS = 1024 };

/* One way in ns, mean over the pairs; 0: one of both didn't come, or it is one SM. */
static __global__ void __launch_bounds__(32) map_kernel(uint8_t *mem, uint32_t a, uint32_t b, uint32_t ticket, uint32_t *claims, double *ns)
{
	uint64_t ticks_ = 0, t = 0, wall0, wall1, begin, span, token = (uint64_t)ticket << 32;
	uint32_t smid, last;

	if (threadIdx.x)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	if (smid != a && smid != b)
		return;
	asm volatile("atom.relaxed.gpu.exch.b32 %0, [%1], %2;" : "=r"(last) : "l"(claims + (smid == b)), "r"(ticket) : "memory");
	if (last == ticket)
		return;
	wall0 = wall_ticks_ns();
	begin = ticks(0);
	for (uint32_t k = 0; k < PAIRS; k++) {
		uint8_t *there = mem + 2 * k * STEP, *back = there + STEP;

		for (uint32_t r = 0; r < ROUNDS; r++) {
			uint32_t n = 0;

			token++;
			if (r == FIRST)
				t = ticks(0);
			if (smid == a)
				st64(there, token);
			while (ld64(smid == a ? back : there) != token)
				if (++n == POLLS)
					return;
			if (smid == b)
				st64(back, token);
		}
		ticks_ += ticks(0) - t;
	}
	span = ticks(0) - begin;
	/* the wall clock goes in steps of some tens of ns, and this took some hundred us */
	wall1 = wall_ticks_ns();
	if (smid == a && wall1 > wall0)
		*ns = (double)ticks_ * ((double)(wall1 - wall0) / (double)span) / (2.0 * PAIRS * (ROUNDS - FIRST));
}

/* ns[sms]: of each other SM. `mem`: MAP_BYTES and two words more, of the device; `out` the host's. */
static int measure(struct gpu *g, uint32_t sm, uint32_t sms, uint8_t *mem, double *out, double *ns)
{
	uint32_t *claims = (uint32_t *)(mem + MAP_BYTES), ticket = 0;
	int rc;

	/* twice: the first round loads the kernel and wakes the clocks */
	for (int again = 0; again < 2; again++)
		for (uint32_t b = 0; b < sms; b++) {
			*out = 0;
			ticket++;
			map_kernel<<<sms, 32, 0, (cudaStream_t)g->issue_stream>>>(mem, sm, b, ticket, claims, out);
			if ((rc = gpu_error(cudaGetLastError(), "the map of the SMs")) ||
			    (rc = gpu_wait_now((cudaStream_t)g->issue_stream, 2, "the map of the SMs")))
				return rc;
			ns[b] = b == sm ? 0 : *out;
			if (!again && b == 3)
				break;
		}
	return 0;
}

static int map_of(struct gpu *g, uint32_t sm, uint32_t sms, double *ns)
{
	uint8_t *mem = NULL;
	double *out = NULL;
	int rc;

	if ((rc = gpu_error(cudaSetDevice(g->device), "the map of the SMs")) ||
	    (rc = gpu_error(cudaMalloc((void **)&mem, MAP_BYTES + 64), "memory for the map of the SMs")) ||
	    (rc = gpu_error(cudaMemset(mem, 0, MAP_BYTES + 64), "memory for the map of the SMs")) ||
	    (rc = gpu_error(cudaStreamSynchronize(0), "memory for the map of the SMs")) ||
	    (rc = gpu_error(cudaHostAlloc((void **)&out, sizeof(*out), cudaHostAllocMapped), "memory for the map of the SMs"))) {
		cudaFree(mem);
		return rc;
	}
	rc = measure(g, sm, sms, mem, out, ns);
	if (rc == -EBUSY)
		return rc; /* the kernel may still use both */
	cudaFreeHost(out);
	cudaFree(mem);
	return rc;
}

/* The lowest number on the wanted side, and not the other SM of the issuer's TPC, with
 * which it shares a way to the L2. */
static int choose(const double *ns, const uint8_t *far, uint32_t sms, uint32_t sm, int want)
{
	for (uint32_t i = 0; i < sms; i++)
		if (i != sm && i != (sm ^ 1) && ns[i] > 0 && far[i] == want)
			return (int)i;
	return -1;
}

static int sms_of(int device, uint32_t *sms)
{
	int n = 0, rc = gpu_error(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device), "the number of SMs");

	*sms = n > 0 && n <= SMS ? (uint32_t)n : 0;
	return rc;
}

static int known(const char *variable, int sm, int device)
{
	uint32_t sms;
	int rc = sms_of(device, &sms);

	return rc || sm < (int)sms ? rc : fs_fail(ENODEV, "%s=%d: gpu %d has SM 0..%u", variable, sm, device, sms - 1);
}

/* The map that was asked for before a load began: measured under it, it would know few SMs. */
static struct { int device, sm; double ns[SMS]; } kept = { -1, -1, { 0 } };

extern "C" int seats_map(int device, int sm)
{
	struct gpu *g = gpu_of(device);
	uint32_t sms;
	int rc;

	if (!g)
		return fs_fail(ENODEV, "gpu %d is not in use", device);
	rc = sm < 0 ? 0 : known("sm", sm, device);
	if (rc || sm < 0 || (rc = sms_of(device, &sms)))
		return rc;
	kept.device = -1;
	if ((rc = map_of(g, (uint32_t)sm, sms, kept.ns)))
		return rc;
	kept.device = device;
	kept.sm = sm;
	return 0;
}

extern "C" int seats_take(int issuer_gpu, int nic_gpu, int sm, int nic_sm, struct seat_map *map)
{
	struct gpu *i = gpu_of(issuer_gpu), *n = gpu_of(nic_gpu);
	double ns[SMS] = { 0 }, sum[2] = { 0, 0 };
	uint32_t count[2] = { 0, 0 }, sms;
	uint8_t far[SMS];
	int rc, at;

	*map = { 0, 0, 0, 0, 0, 0 };
	if (i && sm >= 0 && (rc = known("sm", sm, issuer_gpu)))
		return rc;
	if (n && nic_sm >= 0 && (rc = known("nic_sm", nic_sm, nic_gpu)))
		return rc;
	if (i)
		i->issue_sm = sm == SEAT_AUTO ? 0 : sm;
	if (!n)
		return 0;
	if (!i || issuer_gpu != nic_gpu) {
		n->nic_sm = nic_sm == SEAT_AUTO ? 0 : nic_sm;
		return 0;
	}
	n->nic_sm = nic_sm;
	if (nic_sm == SEAT_ANY || i->issue_sm < 0) {
		n->nic_sm = nic_sm >= 0 ? nic_sm : SEAT_ANY;
		return 0;
	}
	if ((rc = sms_of(issuer_gpu, &sms)))
		return rc;
	if (kept.device == issuer_gpu && kept.sm == i->issue_sm)
		memcpy(ns, kept.ns, sizeof(ns));
	else if ((rc = map_of(i, (uint32_t)i->issue_sm, sms, ns)))
		return rc;
	seats_split(ns, sms, far);
	for (uint32_t k = 0; k < sms; k++)
		if (ns[k] > 0) {
			count[far[k]]++;
			sum[far[k]] += ns[k];
		}
	map->sms = sms;
	map->near = count[0];
	map->far = count[1];
	map->near_ns = count[0] ? sum[0] / count[0] : 0;
	map->far_ns = count[1] ? sum[1] / count[1] : 0;
	if (nic_sm < 0) {
		at = choose(ns, far, sms, (uint32_t)i->issue_sm, nic_sm == SEAT_FAR);
		if (at < 0)
			return fs_fail(ENODEV, "nic_sm=%s: seen from SM %d of gpu %d no other SM is there; %u are near (%.0f ns), %u far (%.0f ns); legal: nic_sm=any, or a number",
				       nic_sm == SEAT_FAR ? "far" : "near", i->issue_sm, issuer_gpu, map->near, map->near_ns, map->far, map->far_ns);
		n->nic_sm = at;
	}
	map->nic_near = ns[n->nic_sm] > 0 ? !far[n->nic_sm] : -1;
	return 0;
}
