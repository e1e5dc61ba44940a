/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small tables of variables and probes in place of the program's, and a few
 * helpers, for the tests of the mechanism. Include once a program.
 */
#ifndef FS_FAKE_TABLES_H
#define FS_FAKE_TABLES_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/err.h"
#include "harness/machine.h"
#include "harness/probe.h"
#include "harness/var.h"

/* Not by name: the order of the table must not matter to ids. */
const struct var fs_vars[] = {
	{ "size", "B", NULL, 1, 1 << 20, NULL, "8", "bytes of a message", 0 },
	{ "nic", "", "null|soft|peer", 1, 0, NULL, "soft", "who watches the doorbell", 0 },
	{ "ordering", "", "none|gpu-fence|sys-fence", 1, 0, NULL, "gpu-fence", "what orders", 0 },
	{ "depth", "", NULL, 1, 1024, NULL, "1", "slots of the queue", 1 },
	{ "plant", "ns", "none", 1, 1000000, "intent|rung", "none", "a delay that is put in", 0 },
	{ "gpu", "", "auto", 0, 15, NULL, "auto", "device of the issuer", 0 },
	{ "queue_mem", "", "auto|host|gpu", 1, 0, NULL, "auto", "where the queue lives", 0 },
	{ "skew", "ns", NULL, -8, 8, NULL, "0", "a number that may be negative", 0 },
	{ "big", "B", NULL, 0, INT64_MAX, NULL, "0", "the widest range", 0 },
	{ "rate", "", "max", 1, 1 << 30, NULL, "max", "a word or a number", 0 },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, 0 },
};

static int fake_checks;

static int path_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	fake_checks++;
	if (fs_is(pt, "nic", "null") && fs_pair(pt, "plant") >= 0) {
		snprintf(why, len, "nic=null has no marks to plant in; legal: nic=soft");
		return -EINVAL;
	}
	if (fs_is(pt, "nic", "peer") && (!m || !m->ngpus)) {
		snprintf(why, len, "nic=peer needs a GPU");
		return -ENODEV;
	}
	return 0;
}

static const char *const path_reads[] = {
	"size", "nic", "ordering", "depth", "plant", "gpu", "queue_mem", "big", NULL,
};
static const char *const clock_reads[] = { "skew", "gpu", NULL };

static const struct probe path_probe = {
	.name = "path", .help = "the whole path", .reads = path_reads, .check = path_check,
};
static const struct probe clock_probe = {
	.name = "clock", .help = "reads a clock", .reads = clock_reads,
};
const struct probe *const fs_probes[] = { &path_probe, &clock_probe, NULL };
const struct probe_beside *const fs_beside = NULL;

/* ---- what is said on stderr ---- */

static char said[65536];
static int said_fd = -1, real_stderr = -1;

static inline void listen_start(void)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	fflush(stderr);
	real_stderr = dup(STDERR_FILENO);
	said_fd = dup(fileno(f));
	assert_true(dup2(said_fd, STDERR_FILENO) >= 0);
	fclose(f);
}

/* Returns what was said since listen_start(). */
static inline const char *listen_stop(void)
{
	ssize_t n;

	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	n = pread(said_fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(said_fd);
	return said;
}

static inline void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("expected \"%s\" in:\n%s", part, text);
}

static inline int lines_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* ---- files ---- */

/* A file of these bytes; the caller unlinks and frees. */
static inline char *file_of(const char *bytes, size_t len)
{
	const char *tmp = getenv("TMPDIR");
	char *path = NULL;
	int fd;

	assert_true(asprintf(&path, "%s/fivestage-test-XXXXXX", tmp ? tmp : "/tmp") > 0);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	return path;
}

#endif
