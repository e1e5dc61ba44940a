/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by place: the host's own here, everything else in place_cuda.c. */
#include "stages/place/place.h"
#include "harness/err.h"
#include <errno.h>
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
