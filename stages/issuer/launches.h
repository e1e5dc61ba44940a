/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that end with what a CPU has to send for them, as whoever launches them sees them
 * (boundary.c, stages/handoff/rate_worker.c), and the thread that stands for them on a CPU: one launch,
 * whether it has ended, the next one. How the next begins is a literal.
 */
#ifndef FS_LAUNCHES_H
#define FS_LAUNCHES_H

#include "stages/issuer/boundary.h"
#include "stages/issuer/helper.h"
#include "stages/place/start.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAP_NS = 10000000 };   /* of one sleep without a launch: then it looks whether to go on */

static inline long launches_futex(uint64_t *word, int op, uint32_t v, const struct timespec *bound)
{
	/* the low half of a counter (both architectures are little-endian) */
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, v, bound, NULL, 0);
}

/* Launch number n, from 1 on: 0, or what went wrong (a cudaError_t, or an errno). *woken counts threads that it found asleep. */
HD int launches_begin(const struct helper_kernels *k, uint64_t n, uint64_t *woken, const int boundary)
{
	if (boundary == BOUNDARY_STREAM)
		return start_stream(k->start);
	if (boundary == BOUNDARY_GRAPH)
		return start_graph(k->start);
	st64_published(&k->words->launched, n);
	*woken += launches_futex(&k->words->launched, FUTEX_WAKE, 1, NULL) > 0;
	return 0;
}

/* The same where it is refused on purpose. */
HD int launches_refused(const int boundary)
{
	return boundary == BOUNDARY_FUTEX ? EAGAIN : (int)START_REFUSED;
}

/* Launch number n has been made: whoever waits for the pass sees it. */
HD void launches_begun(const struct helper_kernels *k, uint64_t n, const int boundary)
{
	if (boundary != BOUNDARY_FUTEX)
		st64_published(&k->words->launched, n);
}

/* Has launch number n, the last, ended? < 0: it failed, by this cudaError_t negated. */
HD int launches_ended(const struct helper_kernels *k, uint64_t n, const int boundary)
{
	if (boundary == BOUNDARY_FUTEX)
		return ld64_poll(&k->words->ended) == n;
	return start_ended(k->start);
}

/* ---- the thread in a kernel's place ---- */

/* Until there is another launch than `seen`: it, or 0 when no more will come, or none came for wait_ns in
 * which it looked. */
static inline uint64_t launches_next(struct boundary_words *w, uint64_t seen, uint64_t wait_ns)
{
	const struct timespec nap = { 0, NAP_NS };
	struct patience late = { 0, 0 };

	for (;;) {
		uint64_t v = ld64_poll(&w->launched);

		if (v != seen) {
			polled();
			return v;
		}
		if (ld64_poll(&w->over) || patience_look(&late) > wait_ns)
			return 0;
		launches_futex(&w->launched, FUTEX_WAIT, (uint32_t)seen, &nap);
	}
}

#endif
