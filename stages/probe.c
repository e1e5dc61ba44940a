/* SPDX-License-Identifier: Apache-2.0 */
/* The table of probes. */
#include "harness/probe.h"
#include "stages/traffic/traffic.h"
#include "stages/path.h"
#include <stddef.h>

extern const struct probe probe_pingpong, probe_floor, probe_rate, probe_quiet, probe_launch, probe_fence;

const struct probe *const fs_probes[] = { &probe_path, &probe_pingpong, &probe_floor, &probe_rate, &probe_quiet, &probe_launch,
	&probe_fence, NULL };

const struct probe_beside *const fs_beside = &traffic_beside;
