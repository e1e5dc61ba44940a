/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NIC that nobody watches: doorbells are stored and that is all. It gives
 * the cost and the rate of posting, without back-pressure and without
 * completions, which is the floor of everything else and no message rate.
 */
#include "stages/nic/nic.h"
#include <string.h>

static int null_start(const struct nic_pass *p, struct nic_run **run)
{
	(void)p;
	*run = NULL;
	return 0;
}

static int null_stop(struct nic_run *run, struct engine_status *st)
{
	(void)run;
	memset(st, 0, sizeof(*st));
	return 0;
}

const struct nic nic_null = {
	.name = "null",
	.watcher = "nobody",
	.purpose = "cost and rate of posting alone: no back-pressure, no completion",
	.start = null_start,
	.stop = null_stop,
};
