/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe `register`: what it costs to give memory to a device and to take it back, by
 * mechanism, size and page size, the first time and again.
 */
#include "stages/translation/register.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/machine.h"
#include "harness/pin.h"
#include "harness/probe.h"
#include "stages/place/which_gpu.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Repetitions after the first: as many as fit into the time, within these. */
enum { AGAIN_LEAST = 3, AGAIN_MOST = 200 };
#define AGAIN_S 0.5

/* ---- on the host alone ---- */

int reg_host_open(struct reg *r)
{
	int some, rc = pages_reserve(&r->host, r->bytes, r->host.page);

	if (rc || (rc = pages_populate(&r->host)))
		return rc;
	return pages_as_asked(&r->host, &some, r->why, sizeof(r->why)) ? 0 : 1;
}

void reg_host_close(struct reg *r)
{
	pages_free(&r->host);
}

static int populate_open(struct reg *r)
{
	return pages_reserve(&r->host, r->bytes, r->host.page);
}

static int populate_make(struct reg *r)
{
	return madvise(r->host.p, r->bytes, MADV_POPULATE_WRITE) ?
	       fs_fail(errno, "%zu bytes of host memory can't be populated: %s", r->bytes, strerror(errno)) : 0;
}

static int populate_undo(struct reg *r)
{
	return madvise(r->host.p, r->bytes, MADV_DONTNEED) ?
	       fs_fail(errno, "host memory can't be given back: %s", strerror(errno)) : 0;
}

/* All of it is there, in pages of the size that was asked for. */
static int populate_verify(struct reg *r)
{
	int some;

	if (pages_as_asked(&r->host, &some, r->why, sizeof(r->why)))
		return 0;
	return 1;
}

/* By the system call: sanitizers make mlock() a function that does nothing. */
static int mlock_make(struct reg *r)
{
	return syscall(SYS_mlock, r->host.p, r->bytes) ? fs_fail(errno, "mlock of %zu bytes: %s", r->bytes, strerror(errno)) : 0;
}

static int mlock_undo(struct reg *r)
{
	return syscall(SYS_munlock, r->host.p, r->bytes) ? fs_fail(errno, "munlock of %zu bytes: %s", r->bytes, strerror(errno)) : 0;
}

static int mlock_verify(struct reg *r)
{
	struct pages_found f;

	if (pages_look(&r->host, &f)) {
		r->unasked = "/proc/self/smaps can't be read";
		return 0;
	}
	return f.locked >= r->bytes ? 0 :
	       fs_fail(EFAULT, "%llu of %zu bytes are locked", (unsigned long long)f.locked, r->bytes);
}

static const struct mech_ops mech_populate = { populate_open, populate_make, populate_undo, populate_verify, reg_host_close };
static const struct mech_ops mech_mlock = { reg_host_open, mlock_make, mlock_undo, mlock_verify, reg_host_close };

/* ---- the table ---- */

static const char no_verbs[] = "not written yet: it needs nic=verbs";

static const struct mechanism {
	const struct mech_ops *ops;
	const char *absent;     /* why it isn't built in; NULL: it is */
	int gpu, host_pages, locks;
	size_t unit;            /* sizes are multiples of it */
} mechanisms[MECHANISMS] = {
	[MECH_POPULATE] = { .ops = &mech_populate, .host_pages = 1, .unit = PAGE_4K },
	[MECH_MLOCK] = { .ops = &mech_mlock, .host_pages = 1, .locks = 1, .unit = PAGE_4K },
	[MECH_CUDA_MALLOC] = { .ops = &mech_cuda_malloc, .gpu = 1, .unit = PAGE_4K },
	[MECH_CU_MEM] = { .ops = &mech_cu_mem, .gpu = 1, .unit = PAGE_2M },
	[MECH_HOST_ALLOC] = { .ops = &mech_host_alloc, .gpu = 1, .unit = PAGE_4K },
	[MECH_HOST_REGISTER] = { .ops = &mech_host_register, .gpu = 1, .host_pages = 1, .unit = PAGE_4K },
	[MECH_DMA_BUF] = { .ops = &mech_dma_buf, .gpu = 1, .unit = PAGE_4K },
	[MECH_CUDA_IPC] = { .ops = &mech_cuda_ipc, .gpu = 1, .unit = PAGE_4K },
	[MECH_REG_MR] = { .absent = no_verbs },
	[MECH_REG_DMABUF_MR] = { .absent = no_verbs },
	[MECH_PEERMEM] = { .absent = no_verbs },
	[MECH_ODP] = { .absent = no_verbs },
};

const struct mech_ops *mech_registers(int word, const char **legal)
{
	*legal = "mlock, host-register";
	return word == MECH_MLOCK || word == MECH_HOST_REGISTER ? mechanisms[word].ops : NULL;
}

int mech_needs_gpu(int word) { return mechanisms[word].gpu; }
int mech_locks(int word) { return mechanisms[word].locks; }

/* ---- what a point asks for ---- */

#define MIB(bytes) ((unsigned long long)(bytes) >> 20)

/* On the host, or for GPU memory on the GPU. */
static int enough(const struct point *pt, const struct machine *m, const struct reg *r, char *why, size_t len)
{
	int w = fs_word(pt, "mechanism");
	int on_gpu = w == MECH_CUDA_MALLOC || w == MECH_CU_MEM || w == MECH_DMA_BUF || w == MECH_CUDA_IPC;
	uint64_t room = on_gpu ? m->gpu[r->device].bytes : host_free_bytes(), lock = host_lock_limit();

	if (mechanisms[w].locks && r->bytes > lock)
		return fs_refuse(ENODEV, why, len, "bytes=%zu: this process may lock %llu (ulimit -l)", r->bytes, (unsigned long long)lock);
	if (room && r->bytes > room)
		return fs_refuse(ENODEV, why, len, "bytes=%zu: %llu MiB are %s", r->bytes, MIB(room), on_gpu ? "all that the GPU has" : "free");
	return 0;
}

static int reg_resolve(const struct point *pt, const struct machine *m, struct reg *r, char *why, size_t len)
{
	const struct mechanism *k = &mechanisms[fs_word(pt, "mechanism")];
	int huge = fs_is(pt, "host_page", "2m"), g = (int)fs_num(pt, "gpu");
	size_t unit = huge ? PAGE_2M : k->unit;
	char word[32], asked[48];
	int rc;

	memset(r, 0, sizeof(*r));
	fs_word_text(pt, "mechanism", word, sizeof(word));
	r->device = k->gpu ? g : -1;
	r->fd = -1;
	r->bytes = (size_t)fs_num(pt, "bytes");
	r->host.page = huge ? PAGE_2M : PAGE_4K;
	if (k->absent)
		return fs_refuse(ENODEV, why, len, "mechanism=%s: %s", word, k->absent);
	if (!k->host_pages && !fs_is(pt, "host_page", "auto"))
		return fs_refuse(EINVAL, why, len, "host_page=%s: mechanism=%s makes its own pages; legal: host_page=auto", huge ? "2m" : "4k", word);
	if (r->bytes % unit)
		return fs_refuse(EINVAL, why, len, "bytes=%zu with mechanism=%s: memory comes in pages of %zu KiB; legal: multiples of %zuK",
			  r->bytes, word, unit >> 10, unit >> 10);
	snprintf(asked, sizeof(asked), "mechanism=%s", word);
	if (k->gpu && (rc = gpu_there(m, g, asked, "populate, mlock", why, len)))
		return rc;
	if (!fs_is(pt, "cpu", "auto") && !pin_may((int)fs_num(pt, "cpu")))
		return fs_refuse(ENODEV, why, len, "cpu=%d: this process may not run there", (int)fs_num(pt, "cpu"));
	if (huge && !host_has_huge(why, len))
		return -ENODEV;
	return enough(pt, m, r, why, len);
}

static int reg_check(const struct point *pt, const struct machine *m, char *why, size_t len)
{
	struct reg r;

	return reg_resolve(pt, m, &r, why, len);
}

/* ---- measuring ---- */

struct turns { int n; double make[1 + AGAIN_MOST], undo[1 + AGAIN_MOST]; };

/* make, and undo; 1: it is not what was asked for. */
static int turn(const struct mech_ops *ops, struct reg *r, struct turns *t)
{
	uint64_t a = mono_ns(), b, c, d;
	int rc = ops->make(r), bad = 0;

	b = mono_ns();
	if (rc)
		return rc;
	if (!t->n)
		bad = ops->verify(r);
	c = mono_ns();
	rc = ops->undo(r);
	d = mono_ns();
	t->make[t->n] = (double)(b - a);
	t->undo[t->n] = (double)(d - c);
	t->n++;
	return bad ? bad : rc;
}

static int turns_all(const struct mech_ops *ops, struct reg *r, struct turns *t)
{
	uint64_t until;
	int rc = turn(ops, r, t);

	until = deadline_in_s(AGAIN_S);
	while (!rc && t->n <= AGAIN_MOST && (t->n <= AGAIN_LEAST || !deadline_over(until)))
		rc = turn(ops, r, t);
	return rc;
}

static int reg_row(struct rows *out, const char *metric, const double *x, int n)
{
	struct row *r = rows_add(out);

	if (!r)
		return -ENOMEM;
	strcpy(r->stage, "translation");
	snprintf(r->metric, sizeof(r->metric), "%s", metric);
	strcpy(r->unit, "ns");
	if (n > 1)
		return summary_of(x, (size_t)n, 1, &r->s);
	summary_one(&r->s, *x);
	return 0;
}

/* This machine lacks it, as was seen only now. */
static int skip(struct rows *out, const char *why)
{
	struct row *r = rows_add(out);

	if (!r)
		return -ENOMEM;
	r->status = FS_SKIPPED;
	strcpy(r->reason_code, "absent");
	snprintf(r->reason, sizeof(r->reason), "%s", why);
	return 0;
}

static int reg_run(const struct point *pt, struct rows *out)
{
	const struct mech_ops *ops = mechanisms[fs_word(pt, "mechanism")].ops;
	struct turns t = { 0 };
	struct reg r;
	char why[256];
	int rc = reg_resolve(pt, suite_machine(), &r, why, sizeof(why));

	if (rc)
		return fs_fail(-rc, "%s", why);
	rc = pin_self(!fs_is(pt, "cpu", "auto") ? (int)fs_num(pt, "cpu") :
		      pin_cpu_near(r.device >= 0 ? suite_machine()->gpu[r.device].pci : "", 0, NULL));
	if (rc)
		return rc;
	if (!(rc = ops->open(&r)))
		rc = turns_all(ops, &r, &t);
	ops->close(&r);
	if (rc == 1)
		return skip(out, r.why);
	if (rc || (rc = reg_row(out, "register", t.make + 1, t.n - 1)) || (rc = reg_row(out, "deregister", t.undo + 1, t.n - 1)) ||
	    (rc = reg_row(out, "register_first", t.make, 1)))
		return rc;
	rows_found(out, "verified", r.unasked ? "no: %s" : "yes", r.unasked);
	return reg_row(out, "deregister_first", t.undo, 1);
}

static double reg_patience(const struct point *pt)
{
	(void)pt;
	return 180;
}

/* Half a second of repetitions at most, or 4 turns of what takes longer: some 0.35 ns a byte
 * where pages are made. */
static double reg_guess(const struct point *pt)
{
	double once = (double)fs_num(pt, "bytes") * 0.35e-9, all = once * (1 + AGAIN_MOST), least = once * (1 + AGAIN_LEAST);

	return 0.01 + (all < AGAIN_S ? all : least > AGAIN_S ? least : AGAIN_S);
}

static const char *const reg_reads[] = { "mechanism", "bytes", "host_page", "gpu", "cpu", NULL };

const struct probe probe_register = {
	.name = "register",
	.help = "giving memory to a device and taking it back, by mechanism, size and page size: the first time, and again",
	.reads = reg_reads,
	.check = reg_check,
	.run = reg_run,
	.patience_s = reg_patience,
	.guess_s = reg_guess,
};
