/* SPDX-License-Identifier: Apache-2.0 */
/* The table of probes. */
#include "harness/probe.h"
#include "stages/traffic/traffic.h"
#include "stages/path.h"
#include <stddef.h>

/* X(name): every probe, in the order in which `list` shows them. */
#define FS_PROBES(X) \
	X(path) \
	X(pingpong) \
	X(load) \
	X(store) \
	X(atomic) \
	X(bandwidth) \
	X(floor) \
	X(fence) \
	X(launch) \
	X(rate) \
	X(quiet) \
	X(visible) \
	X(rtt) \
	X(contended) \
	X(tlb) \
	X(register)

#define X(name) extern const struct probe probe_##name;
FS_PROBES(X)
#undef X

const struct probe *const fs_probes[] = {
#define X(name) &probe_##name,
	FS_PROBES(X)
#undef X
	NULL
};

const struct probe_beside *const fs_beside = &traffic_beside;
