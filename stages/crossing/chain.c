/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/crossing/chain.h"
#include "harness/err.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4 << 20, FEW = 64 };

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t draw(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void chain_draw(uint32_t *next, uint32_t n, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		next[i] = i;
	/* as a shuffle, but an element never stays where it is: that makes one cycle */
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t k = (uint32_t)((draw(&seed) >> 32) * i >> 32), t = next[i];

		next[i] = next[k];
		next[k] = t;
	}
}

/* Lines whose first word stands in one chunk. */
static uint32_t lines_a_chunk(uint64_t stride)
{
	return stride >= CHUNK ? 1 : (uint32_t)(CHUNK / stride);
}

int chain_write(const struct buf *b, uint64_t stride, const uint32_t *next, uint32_t n)
{
	uint32_t each = lines_a_chunk(stride);
	size_t bytes = each == 1 ? 8 : (size_t)(each * stride);
	uint8_t *chunk = calloc(1, bytes);
	int rc = chunk ? 0 : fs_fail(ENOMEM, "no memory for a chain");

	for (uint32_t i = 0; i < n && !rc; i += each) {
		uint32_t k = n - i < each ? n - i : each;

		for (uint32_t j = 0; j < k; j++) {
			uint64_t to = (uint64_t)(b->p + next[i + j] * stride);

			memcpy(chunk + j * stride, &to, 8);
		}
		rc = place_write(b, i * stride, chunk, (k - 1) * stride + 8);
	}
	free(chunk);
	return rc;
}

int chain_read(const struct buf *b, uint64_t stride, uint32_t *next, uint32_t n)
{
	uint32_t each = lines_a_chunk(stride);
	uint8_t *chunk = malloc(each == 1 ? 8 : (size_t)(each * stride));
	int rc = chunk ? 0 : fs_fail(ENOMEM, "no memory for a chain");

	for (uint32_t i = 0; i < n && !rc; i += each) {
		uint32_t k = n - i < each ? n - i : each;

		rc = place_read(b, i * stride, chunk, (k - 1) * stride + 8);
		for (uint32_t j = 0; j < k && !rc; j++) {
			uint64_t to;

			memcpy(&to, chunk + j * stride, 8);
			to -= (uint64_t)b->p;
			if (to % stride || to / stride >= n)
				rc = fs_fail(EBADMSG, "line %u of the chain leads to no line", i + j);
			else
				next[i + j] = (uint32_t)(to / stride);
		}
	}
	free(chunk);
	return rc;
}

const char *chain_wrong(const uint32_t *next, uint32_t n)
{
	uint32_t at = 0, steps = 0, same = 0, before = 0;

	do {
		uint32_t step;

		if (next[at] >= n)
			return "it leaves the lines";
		step = next[at] >= at ? next[at] - at : n - (at - next[at]); /* round the end of the set */
		same += steps && step == before;
		before = step;
		at = next[at];
		steps++;
	} while (at && steps <= n);
	if (at || steps != n)
		return "it isn't one cycle through all lines";
	return n >= FEW && same > n / 8 ? "its steps can be guessed" : NULL;
}

uint32_t chain_after(const uint32_t *next, uint64_t steps)
{
	uint32_t at = 0;

	while (steps--)
		at = next[at];
	return at;
}
