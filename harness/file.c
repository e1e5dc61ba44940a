/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that stand are whole.
 *
 * A file is written as ".NAME.tmpPID" beside its place: the leading dot keeps
 * it out of a reader's glob, the same directory makes the rename atomic, the
 * process id keeps two writers apart. outfile_commit takes the steps that a
 * crash between any two of them can't turn into half a file:
 *
 *   1. flush, and look at the stream's error flag: a write that failed long
 *      ago (a full disk) is remembered there and nowhere else;
 *   2. sync the file, so that its bytes are down before its name is;
 *   3. close it (network file systems report some errors only here);
 *   4. rename; the older file of that name goes away in the same step;
 *   5. sync the directory, so that the name is down too.
 *
 * On a failure up to the rename the temporary is removed and an older file of
 * that name is untouched. After commit or abort `f` is NULL, and a second
 * abort does nothing.
 */
#include "harness/file.h"

#include "harness/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory part of a path, with its slash: length, 0 for none. */
static int dir_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

int outfile_open(struct outfile *o, const char *dir, const char *name)
{
	const char *base;
	int len, dlen;

	memset(o, 0, sizeof(*o));
	if (!dir || !*dir)
		dir = ".";
	len = snprintf(o->path, sizeof(o->path), "%s/%s", dir, name);
	if (len < 0 || (size_t)len >= sizeof(o->path))
		return fs_fail(ENAMETOOLONG, "%.80s.../%.80s: path too long", dir, name);
	dlen = dir_length(o->path);
	base = o->path + dlen;
	if (!*base)
		return fs_fail(EINVAL, "%s: not the name of a file", o->path);
	snprintf(o->tmp, sizeof(o->tmp), "%.*s.%s.tmp%ld", dlen, o->path, base, (long)getpid());
	o->f = fopen(o->tmp, "we"); /* e: children don't inherit it */
	if (!o->f)
		return fs_fail(errno, "%s: can't create: %s", o->path, strerror(errno));
	return 0;
}

/* Some file systems can't sync a file or directory: not a failed write. */
static int sync_fd(int fd)
{
	if (!fsync(fd) || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS)
		return 0;
	return -errno;
}

static int sync_dir_of(const char *path)
{
	char dir[4096];
	int fd, rc;

	snprintf(dir, sizeof(dir), "%.*s", dir_length(path), path);
	fd = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = sync_fd(fd);
	close(fd);
	return rc;
}

int outfile_commit(struct outfile *o)
{
	const char *step = "write";
	int rc = 0;

	if (!o->f)
		return fs_fail(EINVAL, "%s: commit of a file that isn't open", o->path);
	if (ferror(o->f))
		rc = -EIO; /* the reason is gone, unless the flush meets it again */
	if (fflush(o->f))
		rc = -errno;
	if (!rc) {
		step = "sync";
		rc = sync_fd(fileno(o->f));
	}
	if (fclose(o->f) && !rc) {
		step = "close";
		rc = -errno;
	}
	o->f = NULL;
	if (!rc && rename(o->tmp, o->path)) {
		step = "rename";
		rc = -errno;
	}
	if (rc) {
		unlink(o->tmp);
		return fs_fail(-rc, "%s: can't %s: %s", o->path, step, strerror(-rc));
	}
	rc = sync_dir_of(o->path);
	if (rc)
		return fs_fail(-rc, "%s: can't sync its directory: %s", o->path, strerror(-rc));
	return 0;
}

void outfile_abort(struct outfile *o)
{
	if (!o->f)
		return;
	fclose(o->f);
	o->f = NULL;
	unlink(o->tmp);
}

int json_write(const char *dir, const char *name, const json_t *j)
{
	struct outfile o;
	int rc;

	/* jansson makes no NAN or infinite real, it returns NULL; a value that
	 * was one arrives here as nothing. */
	if (!j)
		return fs_fail(EINVAL, "%s/%s: no JSON value (a number that isn't finite, or no memory)",
			       dir, name);
	rc = outfile_open(&o, dir, name);
	if (rc)
		return rc;
	rc = json_dumpf(j, o.f, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	if (rc && !ferror(o.f)) {
		outfile_abort(&o);
		return fs_fail(EINVAL, "%s/%s: the value can't be written as JSON", dir, name);
	}
	fputc('\n', o.f);
	return outfile_commit(&o); /* sees the stream's error */
}

/* ---- directories ---- */

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

static int check_empty(const char *path)
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
		rc = check_empty(path);
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
