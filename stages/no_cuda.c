/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the place of everything that needs CUDA, when it is not built in: the rows
 * keep standing, with the reason, and whatever gets here all the same fails
 * with it. (The probes' checks refuse such points before.)
 */
#include "harness/err.h"
#include "harness/machine.h"
#include "stages/completion/quiet.h"
#include "stages/completion/visible.h"
#include "stages/completion/contended.h"
#include "stages/completion/rtt.h"
#include "stages/crossing/atomic.h"
#include "stages/crossing/bandwidth.h"
#include "stages/crossing/load.h"
#include "stages/crossing/pingpong.h"
#include "stages/crossing/store.h"
#include "stages/handoff/rate_ends.h"
#include "stages/handoff/rate_hand.h"
#include "stages/issue/fence.h"
#include "stages/issue/floor.h"
#include "stages/issue/launch.h"
#include "stages/issuer/boundary.h"
#include "stages/issuer/issuer.h"
#include "stages/traffic/traffic.h"
#include "stages/nic/nic.h"
#include "stages/place/pages.h"
#include "stages/place/place.h"
#include "stages/place/seat.h"
#include "stages/place/start.h"
#include "stages/translation/chase.h"
#include "stages/translation/register.h"
#include <errno.h>
#include <stdio.h>

static const char why[] = "built without CUDA";

static int absent(void)
{
	return fs_fail(ENODEV, "%s", why);
}

const struct nic nic_peer = { NIC_PEER_WORDS, .absent = why };

int cuda_scout(struct machine *m)
{
	snprintf(m->gpu_reason, sizeof(m->gpu_reason), "%s", why);
	return 0;
}

int cuda_use(int a, int b) { (void)a; (void)b; return absent(); }
int cuda_alloc(struct buf *b, int place, size_t bytes, size_t align, int pinned)
{
	(void)b; (void)place; (void)bytes; (void)align; (void)pinned;
	return absent();
}
int seats_map(int device, int sm) { (void)device; (void)sm; return absent(); }
int seats_take(int issuer_gpu, int nic_gpu, int sm, int nic_sm, struct seat_map *map)
{
	(void)issuer_gpu; (void)nic_gpu; (void)sm; (void)nic_sm; (void)map;
	return absent();
}
void cuda_free(struct buf *b) { (void)b; }
int cuda_assert(const struct buf *b, int place) { (void)b; (void)place; return absent(); }
int cuda_copy(void *dst, const void *src, size_t bytes) { (void)dst; (void)src; (void)bytes; return absent(); }
int cuda_set(const struct buf *b, int byte) { (void)b; (void)byte; return absent(); }
void cuda_inject(enum cuda_injection what) { (void)what; }
int cuda_free_bytes(int device, uint64_t *bytes) { (void)device; *bytes = 0; return absent(); }
int pages_pin(const struct pages *g) { (void)g; return absent(); }
void pages_unpin(const struct pages *g) { (void)g; }

int issuer_gpu_load(struct issue_choice c, int device) { (void)c; (void)device; return absent(); }
int issuer_gpu_run(const struct issue_args *a, struct issue_choice c, const struct issue_staging *staging, int device,
		   double patience_s)
{
	(void)a; (void)c; (void)staging; (void)device; (void)patience_s;
	return absent();
}

int boundary_gpu_open(struct starter *s, struct boundary_args *a, int instr, int device)
{
	(void)s; (void)a; (void)instr; (void)device;
	return absent();
}

int pingpong_gpu_respond(const struct pingpong *p, int form, int device, double patience_s, struct pingpong_gpu **run)
{
	(void)p; (void)form; (void)device; (void)patience_s; (void)run;
	return absent();
}
int pingpong_gpu_stop(struct pingpong_gpu *run, double patience_s) { (void)run; (void)patience_s; return absent(); }
int pingpong_gpu_issue(const struct pingpong *p, int form, int device, double patience_s)
{
	(void)p; (void)form; (void)device; (void)patience_s;
	return absent();
}

int floor_gpu_run(const struct floor_args *a, int ord, int mode, int device, double patience_s)
{
	(void)a; (void)ord; (void)mode; (void)device; (void)patience_s;
	return absent();
}

int ends_gpu_open(struct starter *s, struct ends_args *a, int spans, unsigned blocks, unsigned threads, int device)
{
	(void)s; (void)a; (void)spans; (void)blocks; (void)threads; (void)device;
	return absent();
}
int hand_gpu_load(int form, int instr, int device) { (void)form; (void)instr; (void)device; return absent(); }
int hand_gpu_run(const struct hand_args *h, int form, int instr, unsigned blocks, unsigned threads, unsigned beside, int device,
		 double patience_s)
{
	(void)h; (void)form; (void)instr; (void)blocks; (void)threads; (void)beside; (void)device; (void)patience_s;
	return absent();
}
int rate_gpu_load(int ord, int form, int kind, int spans, int device)
{
	(void)ord; (void)form; (void)kind; (void)spans; (void)device;
	return absent();
}
int rate_gpu_run(const struct rate_args *a, int ord, int form, int kind, int spans, unsigned blocks, unsigned threads,
		 unsigned beside, int device, double patience_s)
{
	(void)a; (void)ord; (void)form; (void)kind; (void)spans; (void)blocks; (void)threads; (void)beside; (void)device; (void)patience_s;
	return absent();
}

int quiet_gpu_load(int ord, int device) { (void)ord; (void)device; return absent(); }
int quiet_gpu_run(const struct quiet_args *a, int ord, unsigned beside, int device, double patience_s)
{
	(void)a; (void)ord; (void)beside; (void)device; (void)patience_s;
	return absent();
}

int visible_gpu_write(const struct visible_args *a, int fence, int warp, int device, double patience_s)
{
	(void)a; (void)fence; (void)warp; (void)device; (void)patience_s;
	return absent();
}
int visible_gpu_stop(int device, double patience_s) { (void)device; (void)patience_s; return absent(); }
int visible_gpu_load(int acquire, int loaded, int form, int device)
{
	(void)acquire; (void)loaded; (void)form; (void)device;
	return absent();
}
int visible_gpu_read(const struct visible_args *a, int acquire, int loaded, int form, int device, double patience_s)
{
	(void)a; (void)acquire; (void)loaded; (void)form; (void)device; (void)patience_s;
	return absent();
}
int cont_gpu_load(struct cont_choice c) { (void)c; return absent(); }
int cont_gpu_run(const struct cont_trip_args *h, const struct cont_hands *x, struct cont_choice c, double patience_s)
{
	(void)h; (void)x; (void)c; (void)patience_s;
	return absent();
}
int rtt_gpu_load(struct rtt_choice c) { (void)c; return absent(); }
int rtt_gpu_run(const struct rtt_hand_args *h, struct rtt_choice c, double patience_s) { (void)h; (void)c; (void)patience_s; return absent(); }

int traffic_gpu_open(struct traffic_gpu **l, int kind, int device, int peer) { (void)l; (void)kind; (void)device; (void)peer; return absent(); }
long traffic_gpu_piece(struct traffic_gpu *l, int k) { (void)l; (void)k; return absent(); }
int traffic_gpu_done(struct traffic_gpu *l, int k) { (void)l; (void)k; return absent(); }
int traffic_gpu_here(struct traffic_gpu *l) { (void)l; return absent(); }
void traffic_gpu_close(struct traffic_gpu *l) { (void)l; }

int chase_gpu_lay(const struct lay *l, int owner, double patience_s) { (void)l; (void)owner; (void)patience_s; return absent(); }
int chase_gpu_run(const struct chase *c, int device, double patience_s) { (void)c; (void)device; (void)patience_s; return absent(); }
static int mech_absent(struct reg *r) { (void)r; return absent(); }
static void mech_nothing(struct reg *r) { (void)r; }
#define MECH_ABSENT { mech_absent, mech_absent, mech_absent, mech_absent, mech_nothing }
const struct mech_ops mech_cuda_malloc = MECH_ABSENT, mech_cu_mem = MECH_ABSENT, mech_host_alloc = MECH_ABSENT,
		      mech_host_register = MECH_ABSENT, mech_dma_buf = MECH_ABSENT;
int ipc_use(struct reg *r) { (void)r; return absent(); }
int ipc_map(const unsigned char handle[IPC_HANDLE], void **p) { (void)handle; (void)p; return absent(); }
int ipc_unmap(void *p) { (void)p; return absent(); }
int ipc_look(const void *p, int device, size_t bytes) { (void)p; (void)device; (void)bytes; return absent(); }
int ipc_own(int device, size_t bytes, unsigned char handle[IPC_HANDLE]) { (void)device; (void)bytes; (void)handle; return absent(); }

int start_here(const struct starter *s) { (void)s; return absent(); }
void start_close(struct starter *s) { (void)s; }
int start_stream(struct starter *s) { (void)s; return absent(); }
int start_graph(struct starter *s) { (void)s; return absent(); }
int start_ended(const struct starter *s) { (void)s; return absent(); }
int start_why(int err, const char *what) { (void)err; (void)what; return absent(); }
int start_drain(const struct starter *s, double patience_s, const char *what) { (void)s; (void)patience_s; (void)what; return absent(); }

int launch_gpu_open(struct launch_gpu **out, const struct launch_side *s, const uint64_t *counts, int device)
{
	(void)out; (void)s; (void)counts; (void)device;
	return absent();
}
void launch_gpu_close(struct launch_gpu *r) { (void)r; }
int launch_gpu_echo(struct launch_gpu *r, const struct echo *e, double patience_s) { (void)r; (void)e; (void)patience_s; return absent(); }
int launch_gpu_reside(struct launch_gpu *r, double patience_s) { (void)r; (void)patience_s; return absent(); }
int launch_gpu_stop(struct launch_gpu *r, double patience_s) { (void)r; (void)patience_s; return absent(); }
int launch_gpu_stream(struct launch_gpu *r) { (void)r; return absent(); }
int launch_gpu_graph(struct launch_gpu *r) { (void)r; return absent(); }
int launch_gpu_flag(struct launch_gpu *r, uint64_t count) { (void)r; (void)count; return absent(); }
int launch_gpu_ended(struct launch_gpu *r) { (void)r; return absent(); }
int launch_gpu_why(int err) { (void)err; return absent(); }
int launch_gpu_drain(struct launch_gpu *r, double patience_s) { (void)r; (void)patience_s; return absent(); }

int fence_gpu_run(const struct fence_args *a, int fence, int device, double patience_s)
{
	(void)a; (void)fence; (void)device; (void)patience_s;
	return absent();
}

int load_gpu_run(const struct load_args *a, int device, double patience_s)
{
	(void)a; (void)device; (void)patience_s;
	return absent();
}
int atomic_gpu_run(const struct atomic_args *a, int sys, unsigned blocks, unsigned threads, int device, double patience_s)
{
	(void)a; (void)sys; (void)blocks; (void)threads; (void)device; (void)patience_s;
	return absent();
}
int store_gpu_post(const struct store_args *a, int fence, int device, double patience_s)
{
	(void)a; (void)fence; (void)device; (void)patience_s;
	return absent();
}
int store_gpu_ask(const struct store_args *a, int device, double patience_s) { (void)a; (void)device; (void)patience_s; return absent(); }
int store_gpu_answer(const struct store_args *a, int device, double patience_s) { (void)a; (void)device; (void)patience_s; return absent(); }
int store_gpu_stop(int device, double patience_s) { (void)device; (void)patience_s; return absent(); }
int bandwidth_gpu_run(struct bw_args *a, int engine, double patience_s)
{
	(void)a; (void)engine; (void)patience_s;
	return absent();
}
