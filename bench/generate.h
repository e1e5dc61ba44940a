/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for other programs, made from the tables of this one (`fivestage list`). */
#ifndef FS_GENERATE_H
#define FS_GENERATE_H

#include "bench/bench.h"

void manual_print(FILE *f);      /* manual.c: roff */
void completion_print(FILE *f);  /* completion.c: bash */
/* list.c: the probes that read a variable, "path, floor"; "" for none. */
const char *list_readers(const char *var, char *buf, size_t len);

#endif
