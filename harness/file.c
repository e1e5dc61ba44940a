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

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

/* The last two steps to a file that stands. */
static int rename_synced(const char *tmp, const char *whole)
{
	int rc;

	if (rename(tmp, whole)) {
		rc = -errno;
		unlink(tmp);
		return fs_fail(-rc, "%s: can't rename: %s", whole, strerror(-rc));
	}
	rc = sync_dir_of(whole);
	return rc ? fs_fail(-rc, "%s: can't sync its directory: %s", whole, strerror(-rc)) : 0;
}

int file_place(const char *tmp, const char *whole)
{
	int fd = open(tmp, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : fs_fail(errno, "%s: %s", whole, strerror(errno));
	rc = sync_fd(fd);
	close(fd);
	if (rc) {
		unlink(tmp);
		return fs_fail(-rc, "%s: can't sync: %s", whole, strerror(-rc));
	}
	return rename_synced(tmp, whole);
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
	if (rc) {
		unlink(o->tmp);
		return fs_fail(-rc, "%s: can't %s: %s", o->path, step, strerror(-rc));
	}
	return rename_synced(o->tmp, o->path);
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
