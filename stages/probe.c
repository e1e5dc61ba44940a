/* SPDX-License-Identifier: Apache-2.0 */
/* The table of probes. */
#include "harness/probe.h"
#include "stages/path.h"
#include <stddef.h>

extern const struct probe probe_pingpong, probe_floor, probe_rate, probe_load, probe_store, probe_atomic,
	probe_bandwidth;

const struct probe *const fs_probes[] = {
	&probe_path, &probe_pingpong, &probe_floor, &probe_rate, &probe_load, &probe_store, &probe_atomic,
	&probe_bandwidth, NULL
};
