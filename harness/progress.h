/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on stderr: one line rewritten on a terminal, plain lines elsewhere. */
#ifndef FS_PROGRESS_H
#define FS_PROGRESS_H

struct progress { int done, total, tty; unsigned long long t0_ns, last_ns; };
void progress_begin(struct progress *p, int total);
/* One step finished; `what` names it, shortened to the terminal's width. */
void progress_step(struct progress *p, const char *what);
void progress_end(struct progress *p);

#endif
