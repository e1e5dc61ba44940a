/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the file system: the shipped configs are found relative to the
 * program, so that a bundle can be moved, and in the source tree for a program
 * that runs from its build directory.
 */
#include "bench/bench.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef FS_SOURCE_DIR
#define FS_SOURCE_DIR ""
#endif

static int is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int configs_dir(char *buf, size_t len)
{
	char exe[1024];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (n > 0) {
		char *slash;

		exe[n] = '\0';
		slash = strrchr(exe, '/');
		if (slash)
			*slash = '\0';
		snprintf(buf, len, "%s/configs", exe);
		if (is_dir(buf))
			return 0;
		snprintf(buf, len, "%s/../share/fivestage/configs", exe);
		if (is_dir(buf))
			return 0;
	}
	if (FS_SOURCE_DIR[0]) {
		snprintf(buf, len, "%s/configs", FS_SOURCE_DIR);
		if (is_dir(buf))
			return 0;
	}
	return fs_reason_set(ENOENT, "no directory with configs: neither configs nor "
			     "../share/fivestage/configs beside the program%s%s%s",
			     FS_SOURCE_DIR[0] ? ", nor " : "", FS_SOURCE_DIR,
			     FS_SOURCE_DIR[0] ? "/configs" : "");
}

void default_dir(char *buf, size_t len)
{
	char host[65] = "host", stamp[32];
	time_t now = time(NULL);
	struct tm tm;

	if (gethostname(host, sizeof host - 1))
		strcpy(host, "host");
	for (char *p = host; *p; p++)
		if (*p == '/' || *p == '.')
			*p = '-';
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
	snprintf(buf, len, "results/%s-%s", stamp, host);
	/* Two runs may start within a second. */
	for (int k = 2; k < 100 && !access(buf, F_OK); k++)
		snprintf(buf, len, "results/%s-%s-%d", stamp, host, k);
}

char *utc_text(uint64_t wall, char *buf, size_t len)
{
	time_t s = (time_t)(wall / 1000000000u);
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(buf, len, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return buf;
}
