/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of one pass of `path` share among themselves: what its agents are given (path_args.c) and what
 * came of them (path_verdict.c), for the pass itself (path_pass.c).
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

#endif
