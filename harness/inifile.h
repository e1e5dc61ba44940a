/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INI files, section by section, with the line of every key and with every
 * fault of form seen. What the keys mean is the caller's affair.
 */
#ifndef FS_INIFILE_H
#define FS_INIFILE_H

#include "harness/plan_parts.h"

#define INI_LINE_MAX 4096   /* characters of a line */
#define INI_NAME_MAX 47     /* of a section's or key's name; libinih cuts at 49 */

struct ini_key {
	char *name, *text;
	int line;
	int mark;           /* the caller's, 0 at first */
};

struct ini_section {
	char name[INI_NAME_MAX + 1];
	int line;
	struct ini_key *key;
	int n;
};

/*
 * Calls `section` for each section when it has ended, in the order of the
 * file. It may take the section over by copying the struct and zeroing the
 * original; otherwise it is freed behind the call. A negative return of it
 * ends the reading. Faults of form are counted in `f`; a section whose header
 * is one is left out. Returns 0, what `section` returned, or -errno with a
 * reason if the file can't be read.
 */
int inifile_read(const char *path, struct faults *f,
		 int (*section)(void *user, struct ini_section *s), void *user);

struct ini_key *ini_section_key(const struct ini_section *s, const char *name);
void ini_section_free(struct ini_section *s);

#endif
