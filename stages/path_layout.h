/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that path_mem.c lays out and path_args.c hands to the agents. */
#ifndef FS_PATH_LAYOUT_H
#define FS_PATH_LAYOUT_H

enum { BARE_BLOCK = 4096 }; /* messages between two readings of the clocks in a bare rate */

enum {
	PATH_QPN = 0x000117,
	/* index << 8 | tag; index 0 is nobody's; local ones first. Of one region on either side: */
	PATH_LTAG = 0x5a,
	PATH_RTAG = 0xa7,
	PATH_LKEY = 1 << 8 | PATH_LTAG,
	PATH_RKEY = 2 << 8 | PATH_RTAG,
};

#endif
