/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same in every run: splitmix64 (Steele, Lea, Flood, 2014). */
#ifndef FS_RANDOM_H
#define FS_RANDOM_H

#include <stdint.h>

static inline uint64_t draw_next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline uint64_t draw_below(uint64_t *seed, uint64_t n) { return draw_next(seed) % n; }

/* Between 0 and 1, and neither. */
static inline double draw_unit(uint64_t *seed) { return ((double)(draw_next(seed) >> 11) + 0.5) * 0x1p-53; }

#endif
