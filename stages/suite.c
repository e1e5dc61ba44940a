/* SPDX-License-Identifier: Apache-2.0 */
/* What the suite is made of, for bench/ and for the probes. */
#include "stages/suite.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/pin.h"
#include "stages/nic/nic.h"
#include "stages/place/place.h"
#include <string.h>

int suite_scout(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	m->cpus = pin_cpus();
	return cuda_scout(m);
}

void suite_not_built(json_t *out)
{
#if !HAVE_CUDA
	json_object_set_new(out, "cuda", json_string("built without CUDA: no nvcc, or -Dcuda=disabled"));
#endif
#if !HAVE_HWLOC
	json_object_set_new(out, "hwloc", json_string("built without hwloc: threads are pinned by kernel numbers alone"));
#endif
	json_object_set_new(out, "verbs", json_string("not written yet: nic=verbs"));
	json_object_set_new(out, "mlx5", json_string("not written yet: nic=mlx5"));
}

int suite_nic(int i, struct suite_nic *row)
{
	if (!nics[i])
		return 0;
	row->name = nics[i]->name;
	row->watcher = nics[i]->watcher;
	row->purpose = nics[i]->purpose;
	row->absent = nics[i]->absent;
	row->on_gpu = nics[i]->on_gpu;
	return 1;
}

const struct machine *suite_machine(void)
{
	static struct machine m;
	static int known;

	if (!known)
		suite_scout(&m);
	known = 1;
	return &m;
}

const struct cpu_clock *suite_cpu_clock(void)
{
	static struct cpu_clock c;
	static int known;

	if (!known && cpu_clock_measure(&c))
		c.kind = CPU_CLOCK_GETTIME;
	known = 1;
	return &c;
}
