/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by place: the host's own here, everything else in place_cuda.c. */
#include "stages/place/place.h"
#include "harness/err.h"
#include "harness/numa.h"
#include "harness/pin.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int place_alloc(struct buf *b, int place, size_t bytes, size_t align, int pinned)
{
	memset(b, 0, sizeof(*b));
	if (place != PLACE_HOST || pinned)
		return cuda_alloc(b, place, bytes, align, pinned);
	bytes = (bytes + align - 1) / align * align;
	b->raw = aligned_alloc(align, bytes);
	if (!b->raw)
		return fs_fail(ENOMEM, "no %zu bytes of host memory", bytes);
	memset(b->raw, 0, bytes); /* touched here, so that no page fault comes later */
	b->p = b->raw;
	b->bytes = bytes;
	b->place = place;
	return 0;
}

/* ---- asserted placement ---- */

static int planted;

void place_plant(int wrong)
{
	planted = wrong;
}

uint64_t place_free_bytes(int place, int node)
{
	uint64_t bytes;

	if (place == PLACE_HOST)
		return numa_free(node);
	return cuda_free_bytes(place, &bytes) ? 0 : bytes;
}

/* Another node that has memory; the next number where there is none, which then is
 * what the pages are compared with. */
static int other_node(int node)
{
	for (int n = 0; n < 64; n++)
		if (n != node && numa_has(n))
			return n;
	return node + 1;
}

static int assert_node(const struct buf *b, int node)
{
	int at = -1;

	if (node >= 0 && numa_check(b->p, b->bytes, node, &at) > 0)
		return fs_fail(EFAULT, "memory asked for on NUMA node %d has a page on node %d", node, at);
	return 0;
}

static int room(int place, size_t bytes, int node)
{
	uint64_t there = place_free_bytes(place, node);
	char name[16];

	if (there && bytes > there)
		return fs_fail(ENOMEM, "%zu MiB are more than the %llu MiB that are free on %s%s; nothing was allocated",
			       bytes >> 20, (unsigned long long)there >> 20, place == PLACE_HOST ? "the " : "",
			       place_name(place, name, sizeof(name)));
	return 0;
}

int place_alloc_near(struct buf *b, int place, size_t bytes, size_t align, int pinned, int node)
{
	int wrong = planted, near_ = pin_node_of_cpu(sched_getcpu());
	int at = place, from = node, want = node, rc;

	planted = 0;
	memset(b, 0, sizeof(*b));
	if (want < 0 && numa_has(near_))
		want = near_; /* a node of CPUs alone has no memory to be near to */
	if (wrong && pinned)
		at = place == PLACE_HOST ? 0 : PLACE_HOST;
	else if (wrong && numa_has(other_node(want)))
		from = other_node(want);
	else if (wrong)
		want = other_node(want);
	if ((rc = room(at, bytes + align, node)) || (from >= 0 && at == PLACE_HOST && (rc = numa_bind(from))))
		return rc;
	rc = place_alloc(b, at, bytes, align, pinned);
	if (from >= 0 && at == PLACE_HOST)
		numa_bind(-1);
	if (rc)
		return rc;
	if (pinned && (rc = cuda_assert(b, place)))
		return rc;
	return b->place == PLACE_HOST ? assert_node(b, want) : 0;
}

/* ---- kept memory ---- */

int place_kept(struct buf *b, const char *name, int place, size_t bytes, size_t align, int pinned)
{
	static struct { const char *name; struct buf b; } kept[16];
	int rc;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		struct buf *k = &kept[i].b;

		if (!k->raw) {
			kept[i].name = name;
			rc = place_alloc(k, place, bytes, align, pinned);
			k->kept = 1;
			*b = *k;
			return rc;
		}
		if (!strcmp(kept[i].name, name) && k->place == place && k->pinned == pinned && k->bytes >= bytes) {
			*b = *k;
			return 0;
		}
	}
	return place_alloc(b, place, bytes, align, pinned); /* more kinds than ever were meant */
}

void place_free(struct buf *b)
{
	if (b->kept)
		memset(b, 0, sizeof(*b));
	if (!b->raw)
		return;
	if (b->place != PLACE_HOST || b->pinned)
		cuda_free(b);
	else
		free(b->raw);
	memset(b, 0, sizeof(*b));
}

int place_write(const struct buf *b, size_t off, const void *src, size_t bytes)
{
	if (b->place != PLACE_HOST)
		return cuda_copy(b->p + off, src, bytes);
	memcpy(b->p + off, src, bytes);
	return 0;
}

int place_read(const struct buf *b, size_t off, void *dst, size_t bytes)
{
	if (b->place != PLACE_HOST)
		return cuda_copy(dst, b->p + off, bytes);
	memcpy(dst, b->p + off, bytes);
	return 0;
}

int place_set(const struct buf *b, int byte)
{
	if (b->place != PLACE_HOST)
		return cuda_set(b, byte);
	memset(b->p, byte, b->bytes);
	return 0;
}

const char *place_name(int place, char *buf, size_t len)
{
	if (place == PLACE_HOST)
		snprintf(buf, len, "host");
	else
		snprintf(buf, len, "gpu %d", place);
	return buf;
}
