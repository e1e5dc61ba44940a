/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of path_resolve() (path_conf.c), by file and in the order in which it asks them: each reads what those
 * before it have found. 0, or -EINVAL or -ENODEV with words in `why`.
 */
#ifndef FS_PATH_CONF_PARTS_H
#define FS_PATH_CONF_PARTS_H

#include "stages/path.h"

/* path_conf_queue.c: when operation and payload are known. */
int path_resolve_queue(const struct point *pt, struct path_conf *c, char *why, size_t len);
/* path_conf_route.c: who posts, who looks for completions and how. */
void path_resolve_route(const struct point *pt, struct path_conf *c);
/* Does a CPU thread store to or load from an object? Words of the point alone. */
int path_cpu_touches(const struct point *pt, const struct path_conf *c, enum object o);

/* What is wrong on any machine. path_conf_place.c: SMs and places. */
int path_refuse_seats(const struct point *pt, const struct path_conf *c, char *why, size_t len);
int path_refuse_places(const struct point *pt, const struct path_conf *c, char *why, size_t len);
/* path_conf_xlat.c: regions and the NIC's cache. */
int path_resolve_translation(const struct point *pt, struct path_conf *c, char *why, size_t len);
/* path_conf_fault.c: planted waits and faults. */
int path_resolve_fault(const struct point *pt, struct path_conf *c, char *why, size_t len);
/* path_conf_route.c: what isn't built of a route. */
int path_refuse_route(const struct point *pt, const struct path_conf *c, char *why, size_t len);
/* path_state.c: states of CPUs of which none is an agent's. */
int path_refuse_state(const struct point *pt, const struct path_conf *c, char *why, size_t len);

/* What this machine has. path_conf_xlat.c: memory that isn't registered for good. */
int path_resolve_registration(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len);
/* path_conf_place.c: GPUs, then the objects' places and the CPUs. */
int path_resolve_gpus(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len);
int path_resolve_places(const struct point *pt, struct path_conf *c, char *why, size_t len);
int path_resolve_cpus(const struct point *pt, const struct machine *m, struct path_conf *c, char *why, size_t len);

#endif
