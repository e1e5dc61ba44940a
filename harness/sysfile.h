/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells in small files of text, in /sys and /proc: a line, a number, the value of a key.
 *
 * Each call opens the file, reads and closes it. What can't be had in whole isn't given at all: half a list
 * of CPUs is another list. Nothing is logged: whether it matters is known to the caller. A path is written as
 * printf does; -ENAMETOOLONG where the kernel would take none of that length.
 */
#ifndef FS_SYSFILE_H
#define FS_SYSFILE_H

#include <stddef.h>
#include <stdint.h>

/* The first line, without its end. -errno where the file can't be read, -ENODATA where the line is empty or there
 * is none, -EOVERFLOW where it is longer than `out`; then `out` is "". */
int sysfile_line(char *out, size_t len, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* A first line that is a number in decimal digits and nothing else; -EINVAL where it is something else, or too large
 * for 64 bits, -errno where there is none to read; then *n is as it was. */
int sysfile_number(uint64_t *n, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Of lines "KEY: value", "KEY=value" or "KEY value" that of the first with this key, without quotes around it; lines may
 * be of any length. -errno where the file can't be read, -ENODATA where there is no such line, -EOVERFLOW where the
 * value is longer than `out`; then `out` is "". */
int sysfile_value(char *out, size_t len, const char *key, const char *path, ...) __attribute__((format(printf, 4, 5)));

#endif
