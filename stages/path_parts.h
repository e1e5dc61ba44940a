/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of `path` share among themselves. For a pass (path_pass.c): what its agents are given (path_args.c) and
 * what came of them (path_verdict.c). For the probe (path.c): what its passes have counted, and what that says (path_found.c).
 */
#ifndef FS_PATH_PARTS_H
#define FS_PATH_PARTS_H

#include "stages/path.h"

#define PATH_WAIT_NS 2000000000ull /* of any one wait of an agent */

/* path_args.c: the code that the issuer runs, and which messages the NIC takes for usual ones. */
struct issue_choice path_choice(const struct path_conf *c, const struct pass *p);
int path_usual(const struct path_conf *c, const struct pass *p);
/* Whose marks are kept and where waits are planted, of all agents: path_sink() takes each one's out of it. */
void path_sinks(const struct path_mem *m, const struct path_conf *c, const struct pass *p, struct sink_conf *s);

/* path_verdict.c: 0, or what went wrong, with a reason. */
int path_verdict(const struct path_conf *c, const struct pass *p);
/* After a pass into `null`, the queue holds exactly what was posted. */
int path_verify_null(const struct path_mem *m, const struct path_conf *c, const struct pass *p);

/* A point that runs. */
struct path_run {
	const struct path_conf *c;
	struct path_mem mem;
	struct rows *out;
	uint64_t stale_wqe, stale_record, from_queue, wrong, messages, reloads, polls_period;
	uint64_t steal, involuntary;
	int unsettled, settling;
	uint64_t smid_issuer, smid_nic;
	uint64_t launches, asleep; /* of measured messages: of threads in a kernel's place, and those that slept */
	uint64_t looked_in, lookups, hits; /* of bare passes: messages, and what the NIC counted */
};

/* path_rows_rate.c: messages a second, by block and over all, and their payload. */
int path_rate_rows(const struct pass *p, uint32_t block, const struct path_conf *c, struct rows *out);
/* path_found.c: what the NIC saw that it should not have: legal in an unsafe point, and said. */
int path_stale_rows(const struct path_run *r);
/* Flags of all rows, when none is added any more. */
void path_flags(const struct path_run *r);
/* Facts for run.json. */
void path_found(const struct path_run *r);

#endif
