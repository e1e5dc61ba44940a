/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a point that says who posts and who looks for completions: with a helper or
 * without, and what isn't built of its combinations with the rest.
 */
#include "harness/err.h"
#include "stages/issuer/boundary.h"
#include "stages/path_conf_parts.h"
#include <errno.h>
#include <string.h>

void path_resolve_route(const struct point *pt, struct path_conf *c)
{
	c->route.submitter = (enum submitter)fs_word(pt, "submitter");
	c->route.consumer = fs_is(pt, "consumer", "cpu") ? CONSUMER_CPU : CONSUMER_GPU;
	if (fs_is(pt, "consumer", "auto") && c->nic->completes) /* else nobody looks */
		c->route.consumer = route_consumer(c->route.submitter);
	c->boundary = fs_word(pt, "boundary") - 1; /* behind auto */
	if (c->boundary < 0)
		c->boundary = fs_is(pt, "issuer", "cpu") ? BOUNDARY_FUTEX : BOUNDARY_STREAM;
	if (c->route.submitter != SUBMITTER_CPU)
		c->boundary = -1;
	c->form = fs_word(pt, "proxy");
	c->notify = fs_word(pt, "notify");
	c->proxy_batch = (uint32_t)fs_num(pt, "proxy_batch");
	c->place[OBJ_HAND] = c->place[OBJ_RELAY] = PLACE_HOST;
}

int path_cpu_touches(const struct point *pt, const struct path_conf *c, enum object o)
{
	if (fs_is(pt, "issuer", "cpu") || (c->nic->completes && !c->nic->on_gpu))
		return 1;
	if (c->route.submitter != SUBMITTER_GPU && (o == OBJ_QUEUE || o == OBJ_DB))
		return 1;
	return c->route.consumer == CONSUMER_CPU && o == OBJ_CQ;
}

int path_issuer_mode(const struct path_conf *c)
{
	if (c->route.submitter == SUBMITTER_PROXY)
		return c->form == PROXY_TUNED ? MODE_TUNED : MODE_BASELINE;
	/* what it hands over is a doorbell of the helper's, without a record */
	return c->route.submitter == SUBMITTER_HOST_DOORBELL ? (int)DBM_RING : c->choice.mode;
}

/* What only a proxy has, and what it doesn't read. */
static int refuse_proxy(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	if (c->route.submitter != SUBMITTER_PROXY) {
		if (!fs_is(pt, "proxy", "tuned") || c->proxy_batch != 1)
			return fs_refuse(EINVAL, why, len, "proxy and proxy_batch say how a proxy works; legal: submitter=proxy");
		return 0;
	}
	if (!fs_is(pt, "ordering", "gpu-fence"))
		return fs_refuse(EINVAL, why, len, "ordering with submitter=proxy: the issuer stores no WQE, and the proxy releases record and doorbell; legal: the default, and proxy=tuned or baseline");
	if (c->batch > 1)
		return fs_refuse(EINVAL, why, len, "batch=%u with submitter=proxy: a descriptor speaks of one message; legal: batch=1, and proxy_batch=1..%d",
				 c->batch, PROXY_BATCH_MAX);
	return 0;
}

/* What a kernel that ends for its messages can't do. */
static int refuse_boundary(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	int cpu = fs_is(pt, "issuer", "cpu");

	if (c->route.submitter != SUBMITTER_CPU)
		return fs_is(pt, "boundary", "auto") ? 0 :
		       fs_refuse(EINVAL, why, len, "boundary says how the next kernel begins where each one ends; legal: submitter=cpu");
	if (cpu && c->boundary != BOUNDARY_FUTEX)
		return fs_refuse(EINVAL, why, len, "boundary=stream and boundary=graph need a GPU: a thread of a CPU is launched into no queue; legal with issuer=cpu: boundary=auto, futex");
	if (!cpu && c->boundary == BOUNDARY_FUTEX)
		return fs_refuse(EINVAL, why, len, "boundary=futex wakes a thread of a CPU; legal with issuer=gpu: boundary=auto, stream, graph");
	if (fs_is(pt, "consumer", "gpu"))
		return fs_refuse(EINVAL, why, len, "consumer=gpu with submitter=cpu: no kernel runs that could look at the CQ; legal: consumer=auto, cpu");
	if (!c->nic->completes)
		return fs_refuse(EINVAL, why, len, "submitter=cpu with nic=%s: nobody completes anything, and the next kernel is launched behind a completion; legal: nic=soft, peer", c->nic->name);
	if (!fs_is(pt, "ordering", "gpu-fence"))
		return fs_refuse(EINVAL, why, len, "ordering with submitter=cpu: the issuer stores no WQE, and the helper releases record and doorbell; legal: the default");
	if (c->depth != c->batch)
		return fs_refuse(EINVAL, why, len, "depth=%u with batch=%u and submitter=cpu: a kernel's end posts `batch` messages, and the next kernel waits for them all; legal: depth=%u",
				 c->depth, c->batch, c->batch);
	if (!fs_is(pt, "sm", "auto") && !fs_is(pt, "sm", "any"))
		return fs_refuse(EINVAL, why, len, "sm with submitter=cpu: each launch goes where the GPU's scheduler puts it; legal: sm=auto, any");
	if (fs_is(pt, "nic_sm", "near") || fs_is(pt, "nic_sm", "far"))
		return fs_refuse(EINVAL, why, len, "nic_sm=near and far are seen from the issuer's SM, which changes with submitter=cpu; legal: nic_sm=auto, any, or a number");
	return 0;
}

static int refuse_notify(const struct path_conf *c, char *why, size_t len)
{
	if (c->notify == NOTIFY_POLL)
		return 0;
	if (c->route.consumer != CONSUMER_CPU)
		return fs_refuse(EINVAL, why, len, "notify=interrupt: a GPU can't sleep; legal: consumer=cpu");
	if (c->route.submitter != SUBMITTER_GPU)
		return fs_refuse(EINVAL, why, len, "notify=interrupt with a helper that submits: it never sleeps, since it looks for what it is handed; legal: submitter=gpu, or notify=poll");
	if (c->nic->on_gpu)
		return fs_refuse(EINVAL, why, len, "notify=interrupt with nic=%s: a kernel can raise no event; legal: nic=soft", c->nic->name);
	return 0;
}

static int refuse_faults(const struct path_conf *c, char *why, size_t len)
{
	int submits = c->route.submitter != SUBMITTER_GPU;

	if ((c->fault == FAULT_STUCK_WORKER || c->fault == FAULT_KILLED_WORKER) && !submits)
		return fs_refuse(EINVAL, why, len, "fault=stuck-worker and killed-worker need a helper that submits; legal: submitter=host-doorbell, proxy or cpu");
	if (c->fault == FAULT_FAILED_LAUNCH && c->route.submitter != SUBMITTER_CPU)
		return fs_refuse(EINVAL, why, len, "fault=failed-launch: nothing is launched for a message; legal: submitter=cpu");
	if (c->fault == FAULT_RING_OVERRUN && c->route.submitter != SUBMITTER_PROXY)
		return fs_refuse(EINVAL, why, len, "fault=ring-overrun: there is no ring of descriptors; legal: submitter=proxy");
	if (c->fault == FAULT_DEAF_CONSUMER && c->route.consumer != CONSUMER_CPU)
		return fs_refuse(EINVAL, why, len, "fault=deaf-consumer needs a CPU that looks for completions; legal: consumer=cpu");
	if (c->fault == FAULT_LOST_WAKEUP && c->notify != NOTIFY_INTERRUPT)
		return fs_refuse(EINVAL, why, len, "fault=lost-wakeup: nobody sleeps; legal: notify=interrupt");
	if ((c->route.submitter == SUBMITTER_PROXY || c->route.submitter == SUBMITTER_CPU) && c->fault >= FAULT_OPCODE && c->fault <= FAULT_INDEX)
		return fs_refuse(EINVAL, why, len, "a fault in a WQE with submitter=proxy or cpu: the issuer builds none; legal: another fault, or another submitter");
	return 0;
}

int path_refuse_route(const struct point *pt, const struct path_conf *c, char *why, size_t len)
{
	const char *helped = c->route.submitter == SUBMITTER_GPU ? "consumer=cpu" :
			     c->route.submitter == SUBMITTER_PROXY ? "submitter=proxy" :
			     c->route.submitter == SUBMITTER_CPU ? "submitter=cpu" : "submitter=host-doorbell";
	int rc;

	if ((rc = refuse_proxy(pt, c, why, len)) || (rc = refuse_boundary(pt, c, why, len)) || (rc = refuse_notify(c, why, len)) || (rc = refuse_faults(c, why, len)))
		return rc;
	if (!route_helped(c->route))
		return 0;
	if (c->route.consumer == CONSUMER_CPU && !c->nic->completes)
		return fs_refuse(EINVAL, why, len, "consumer=cpu with nic=%s: nobody completes anything; legal: consumer=auto or gpu", c->nic->name);
	if (post_blocks(c->choice.kind) > 1)
		return fs_refuse(EINVAL, why, len, "payload=inline with size=%u and %s: a helper works on WQEs of one basic block; legal: size=0..%d, or payload=pointer",
				 c->size, helped, WQE_INLINE_MAX);
	if (doorbell_is_flame(c->choice.mode))
		return fs_refuse(EINVAL, why, len, "BlueFlame with %s isn't built; legal: doorbell=record-ring, ring-record-ring or ring", helped);
	if (c->signal > 1 || c->collapsed)
		return fs_refuse(EINVAL, why, len, "%s with %s: each message's completion is passed on; legal: signal=1 and cq=ring",
				 c->collapsed ? "cq=collapsed" : "signal", helped);
	if (c->marks == MARKS_ROTATE)
		return fs_refuse(EINVAL, why, len, "marks=rotate with %s isn't built; legal: marks=all or outer", helped);
	if (c->registration != REGISTERED_PERSISTENT && (c->route.submitter != SUBMITTER_PROXY || c->route.consumer != CONSUMER_CPU))
		return fs_refuse(EINVAL, why, len, "registration with %s isn't built; legal: submitter=gpu or proxy with consumer=auto, or registration=persistent",
				 c->route.submitter == SUBMITTER_PROXY ? "consumer=gpu" : helped);
	return 0;
}
