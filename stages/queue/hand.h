/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an issuer hands to a proxy: a descriptor of 16 bytes in a ring (HD).
 *
 * Each half of a descriptor says by a bit of its own which lap of the ring it belongs to, so
 * that a half that has arrived alone is never taken for a whole, and nobody has to empty a slot
 * or to order one half before the other. A ring begins as zeroes; its first lap has ones.
 *
 *   word 0: lap << 63 | kind << 60 | length << 32 | offset of the payload in either range
 *   word 1: lap << 63 | number of the message
 *
 * The number says more than the lap: an issuer that has overrun its ring is seen by it.
 */
#ifndef FS_HAND_H
#define FS_HAND_H

#include "stages/queue/queue.h"

/* X(NAME, word, what the issuer does) */
#define FS_PROXY_FORMS(X) \
	X(TUNED, "tuned", "a ring of its own, the proxy's progress remembered, one posted store of 16 bytes") \
	X(BASELINE, "baseline", "a slot by an atomic, the proxy's progress from host memory each time, a release at system scope")
enum proxy_form {
#define X(NAME, word, help) PROXY_##NAME,
	FS_PROXY_FORMS(X)
#undef X
	PROXY_FORMS
};

/* The issuer's modes that hand over in place of ringing, behind those that ring. */
enum { MODE_TUNED = DOORBELL_MODES, MODE_BASELINE, MODES };
HD int mode_hands(const int mode) { return mode >= DOORBELL_MODES; }

enum { HAND_SLOT = 16 };
#define HAND_LAP (1ull << 63)
#define HAND_LEN_MAX ((1u << 28) - 1)

HD uint64_t hand_lap(uint64_t m, uint32_t log_n) { return m >> log_n & 1 ? 0 : HAND_LAP; }
HD uint64_t hand_word0(uint64_t lap, int kind, uint32_t len, uint32_t off)
{
	return lap | (uint64_t)kind << 60 | (uint64_t)len << 32 | off;
}
HD uint64_t hand_word1(uint64_t lap, uint64_t m) { return lap | (m & ~HAND_LAP); }

HD int hand_valid(uint64_t w, uint64_t lap) { return (w & HAND_LAP) == lap; }
HD int hand_kind(uint64_t w0) { return (int)(w0 >> 60 & 7); }
HD uint32_t hand_len(uint64_t w0) { return (uint32_t)(w0 >> 32) & HAND_LEN_MAX; }
HD uint32_t hand_off(uint64_t w0) { return (uint32_t)w0; }
HD uint64_t hand_number(uint64_t w1) { return w1 & ~HAND_LAP; }

/* One store, or the second half behind a release; a literal. On a CPU the second half always
 * releases what stands before it, as its doorbells do. */
HD void hand_post(uint8_t *slot, uint64_t w0, uint64_t w1, const int mode)
{
	if (mode == MODE_BASELINE) {
		st64(slot, w0);
		st64_release_sys(slot + 8, w1);
		return;
	}
#ifdef __CUDA_ARCH__
	st64x2(slot, w0, w1);
#else
	st64(slot, w0);
	st64_published(slot + 8, w1);
#endif
}

#endif
