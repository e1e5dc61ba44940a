/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of results: made and tried before anything is measured, held by
 * one process at a time, and swept of what a killed writer left under temporary
 * names (harness/file.c).
 */
#include "harness/file.h"

#include "harness/err.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_dirs(const char *path)
{
	char part[4096];
	struct stat st;
	size_t len = strlen(path);

	if (!len || len >= sizeof(part))
		return fs_fail(len ? ENAMETOOLONG : EINVAL, "\"%.80s\": not the path of a directory",
			       path);
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		char c = part[i];

		if (c != '/' && c != '\0')
			continue;
		part[i] = '\0';
		/* What stands already may refuse mkdir with any of several
		 * errors (a read-only mount, automounts): ask afterwards. */
		if (mkdir(part, 0777)) {
			int err = errno;

			if (stat(part, &st))
				return fs_fail(err, "%s: can't create: %s", part, strerror(err));
			if (!S_ISDIR(st.st_mode))
				return fs_fail(ENOTDIR, "%s: not a directory", part);
		}
		part[i] = c;
	}
	return 0;
}

int dir_check_empty(const char *path)
{
	struct dirent *e;
	int rc = 0;
	DIR *d = opendir(path);

	if (!d)
		return fs_fail(errno, "%s: can't read: %s", path, strerror(errno));
	while (!rc && (errno = 0, e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			rc = fs_fail(EEXIST, "%s: not empty (there is %s)", path, e->d_name);
	if (!rc && errno)
		rc = fs_fail(errno, "%s: can't read: %s", path, strerror(errno));
	closedir(d);
	return rc;
}

int dir_prepare(const char *path, int must_be_empty)
{
	char probe[4096 + 32];
	int fd, rc;

	rc = make_dirs(path);
	if (!rc && must_be_empty)
		rc = dir_check_empty(path);
	if (rc)
		return rc;
	/* By doing it: modes say nothing to root, nor about read-only mounts. */
	snprintf(probe, sizeof(probe), "%s/.writable.XXXXXX", path);
	fd = mkostemp(probe, O_CLOEXEC);
	if (fd < 0)
		return fs_fail(errno, "%s: can't be written: %s", path, strerror(errno));
	close(fd);
	if (unlink(probe))
		return fs_fail(errno, "%s: can't remove a file there: %s", path, strerror(errno));
	return 0;
}

int dir_lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fs_fail(errno, "%s: %s", path, strerror(errno));
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	if (errno == EWOULDBLOCK) {
		close(fd);
		return fs_fail(EBUSY, "%s: another process is at work there", path);
	}
	/* Some network file systems lock no directory: then nobody is kept out. */
	return fd;
}

/* ".NAME.tmpDIGITS" of outfile_open, ".writable.XXXXXX" of dir_prepare. */
int dir_is_temporary(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (name[0] != '.' || dot == name)
		return 0;
	if (!strncmp(name, ".writable.", 10))
		return strlen(name) == 16;
	if (strncmp(dot, ".tmp", 4) || !dot[4])
		return 0;
	for (dot += 4; *dot; dot++)
		if (!isdigit((unsigned char)*dot))
			return 0;
	return 1;
}

int dir_sweep(const char *path)
{
	struct dirent *e;
	int rc = 0;
	DIR *d = opendir(path);

	if (!d)
		return errno == ENOENT ? 0 : fs_fail(errno, "%s: can't read: %s", path, strerror(errno));
	while (!rc && (e = readdir(d)))
		if (dir_is_temporary(e->d_name) && unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT)
			rc = fs_fail(errno, "%s/%s: can't remove: %s", path, e->d_name, strerror(errno));
	closedir(d);
	return rc;
}
