/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which clock marks are taken with, and how fast it runs.
 *
 * The counter of the architecture (TSC, cntvct_el0) is taken only when four
 * witnesses agree: the CPU says that it is invariant, the kernel has not
 * rejected it, its rate against CLOCK_MONOTONIC_RAW was constant while we
 * looked, and no CPU reads less than another one has already read. One that
 * disagrees is enough for CLOCK_MONOTONIC_RAW: a slower mark costs some
 * nanoseconds, a wrong one costs the result.
 *
 * Units: ticks of the counter, and nanoseconds. The functions without `static`
 * that clock.h doesn't declare are judged by tests/test_clock.c with made-up
 * machines.
 */
#include "harness/clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "harness/err.h"
#include "harness/pin.h"
#include "harness/stats.h"
#include "harness/sysfile.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define FIT_NS 50000000ull       /* how long the rate is watched */
#define FIT_NS_MAX 500000000ull  /* and at most, on a machine that won't let us run */
#define PAIRS_MIN 64
#define PAIRS_MAX 512
#define TRIES 4                  /* reads per pair; the one with the smallest gap stays */
#define RESIDUAL_NS_MAX 250.0    /* rms; a clock read costs some tens of ns */
#define RATE_TURN_MAX 2e-5       /* relative, first half of the watch against the second */
#define CROSS_CPUS 4             /* other CPUs that are held against the first */
#define CROSS_NS 10000000ull     /* per CPU, and longer where CPUs are shared: */
#define CROSS_NS_MAX 100000000ull
#define CROSS_ROUNDS_MIN 4       /* till both have had their turns */
#define CROSS_ROUNDS 2000

int clock_vouched(const char *source, const char *flags, char *why, size_t len);
int clock_in_step(const double *ticks, const double *ns, size_t n, struct cpu_clock *c);
int clock_cross_check(int cpu_a, int cpu_b, uint64_t skew, uint64_t *backward,
		      uint64_t *rounds);

static uint64_t ns_of(clockid_t id)
{
	struct timespec ts = {0, 0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

uint64_t mono_ns(void)
{
	return ns_of(CLOCK_MONOTONIC_RAW);
}

uint64_t wall_ns(void)
{
	return ns_of(CLOCK_REALTIME);
}

/* As a mark reads it: everything loaded before is there before the counter is
 * looked at. */
static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	uint32_t lo, hi;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t) : : "memory");
	return t;
#else
	return mono_ns();
#endif
}

/* ---- witness 1 and 2: the CPU and the kernel ---- */

/*
 * Does the kernel vouch for the TSC? `source` is its current clock source, ""
 * when sysfs isn't there; `flags` are those of /proc/cpuinfo. A kernel that
 * has fallen back to a timer chip has seen the TSC go wrong; a paravirtual
 * clock is itself computed from the TSC and says nothing against it.
 */
int clock_vouched(const char *source, const char *flags, char *why, size_t len)
{
	static const char *const fallbacks[] = {"hpet", "acpi_pm", "jiffies",
						"refined-jiffies", "pit"};

	if (!strcmp(source, "tsc")) {
		snprintf(why, len, "invariant, the kernel's own clock source");
		return 1;
	}
	for (size_t i = 0; i < sizeof(fallbacks) / sizeof(*fallbacks); i++)
		if (!strcmp(source, fallbacks[i])) {
			snprintf(why, len, "the kernel keeps time with %s, not the TSC", source);
			return 0;
		}
	if (!strstr(flags, "constant_tsc") || !strstr(flags, "nonstop_tsc")) {
		snprintf(why, len, "the kernel does not call the TSC constant and nonstop");
		return 0;
	}
	snprintf(why, len, "invariant, constant and nonstop under %s",
		 *source ? source : "an unknown clock source");
	return 1;
}

#if defined(__x86_64__)
static int counter_vouched(char *why, size_t len)
{
	unsigned int a, b, c, d;
	char source[64], flags[16384];

	/* Leaf 0x80000007, EDX bit 8: Invariant TSC (Intel SDM volume 3, "Time-Stamp
	 * Counter"; AMD APM volume 3, appendix E). */
	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)) {
		snprintf(why, len, "CPUID does not call the TSC invariant");
		return 0;
	}
	/* "" where they don't say */
	sysfile_line(source, sizeof(source), "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	sysfile_value(flags, sizeof(flags), "flags", "/proc/cpuinfo");
	return clock_vouched(source, flags, why, len);
}
#elif defined(__aarch64__)
static int counter_vouched(char *why, size_t len)
{
	/* The architecture makes the generic timer constant and system-wide. */
	snprintf(why, len, "cntvct_el0, the generic timer");
	return 1;
}
#else
static int counter_vouched(char *why, size_t len)
{
	snprintf(why, len, "no counter is known for this architecture");
	return 0;
}
#endif

/* ---- witness 3: one rate ---- */

struct pair {
	double ticks, ns; /* since the first pair */
	uint64_t gap;     /* ticks between the reads around the other clock */
};

static int by_gap(const void *a, const void *b)
{
	uint64_t x = ((const struct pair *)a)->gap, y = ((const struct pair *)b)->gap;

	return (x > y) - (x < y);
}

static int by_ticks(const void *a, const void *b)
{
	double x = ((const struct pair *)a)->ticks, y = ((const struct pair *)b)->ticks;

	return (x > y) - (x < y);
}

/* The other clock's read lies somewhere between the two of the counter: an
 * interrupt in between shows as a wide gap, and such a pair is not used. */
static void pair_take(struct pair *p, uint64_t tick0, uint64_t ns0)
{
	p->gap = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = counter(), ns = mono_ns(), after = counter();

		if (after - before >= p->gap)
			continue;
		p->gap = after - before;
		p->ticks = (double)(before - tick0) + 0.5 * (double)p->gap;
		p->ns = (double)(ns - ns0);
	}
}

/* Fills ticks and ns with the better half of the pairs, in order of time. */
static size_t pairs_watch(double *ticks, double *ns)
{
	static const struct timespec pause = {0, 80000}; /* others want the CPU too */
	struct pair p[PAIRS_MAX];
	uint64_t tick0 = counter(), ns0 = mono_ns();
	size_t n = 0, keep;

	while (n < PAIRS_MAX) {
		uint64_t passed = mono_ns() - ns0;

		if (passed >= FIT_NS_MAX || (passed >= FIT_NS && n >= PAIRS_MIN))
			break;
		pair_take(&p[n++], tick0, ns0);
		nanosleep(&pause, NULL);
	}
	keep = (n + 1) / 2;
	qsort(p, n, sizeof(*p), by_gap);
	qsort(p, keep, sizeof(*p), by_ticks);
	for (size_t i = 0; i < keep; i++) {
		ticks[i] = p[i].ticks;
		ns[i] = p[i].ns;
	}
	return keep;
}

/*
 * Fits ticks over ns: rate and its error into *c. 1 when one rate explains all
 * pairs, 0 with c->why when it doesn't, -errno when nothing can be fitted. A
 * rate that turns half-way leaves small residuals over a short watch, so the
 * halves are compared as well.
 */
int clock_in_step(const double *ticks, const double *ns, size_t n, struct cpu_clock *c)
{
	double slope, err, first, second, e, x = 0, y = 0, sum = 0, rms;
	size_t half = n / 2;

	if (n < 8 || fit_slope(ns, ticks, n, &slope, &err) || !(slope > 0))
		return fs_reason_set(EIO, "the CPU's clocks give no rate (%zu pairs)", n);
	c->ticks_per_ns = slope;
	c->rate_err = err / slope;
	for (size_t i = 0; i < n; i++) {
		x += ns[i] / (double)n;
		y += ticks[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double r = (ticks[i] - y - slope * (ns[i] - x)) / slope;

		sum += r * r;
	}
	rms = sqrt(sum / (double)n);
	if (!(rms <= RESIDUAL_NS_MAX)) {
		snprintf(c->why, sizeof(c->why),
			 "the counter strays by %.0f ns rms from CLOCK_MONOTONIC_RAW", rms);
		return 0;
	}
	if (fit_slope(ns, ticks, half, &first, &e) ||
	    fit_slope(ns + half, ticks + half, n - half, &second, &e) ||
	    !(fabs(first - second) <= slope * RATE_TURN_MAX)) {
		snprintf(c->why, sizeof(c->why), "the counter's rate changed while watched");
		return 0;
	}
	return 1;
}

/* ---- witness 4: one time on all CPUs ---- */

struct cross {
	uint64_t turn;     /* even: a's, odd: b's; hands `last` over */
	uint64_t last;     /* what the other side has just read */
	uint64_t backward; /* the furthest that a read fell short of it */
	uint64_t start;    /* mono_ns */
};

struct side {
	struct cross *x;
	int cpu, odd;
	uint64_t skew; /* a test's: this CPU's counter is behind by so much */
	int err;
};

static void *cross_side(void *arg)
{
	struct side *s = arg;
	struct cross *x = s->x;
	cpu_set_t *set = CPU_ALLOC((size_t)s->cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)s->cpu + 1);

	if (!set) {
		s->err = ENOMEM;
		return NULL;
	}
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)s->cpu, size, set);
	s->err = sched_setaffinity(0, size, set) ? errno : 0;
	CPU_FREE(set);
	for (uint64_t spins = 0; !s->err; spins++) {
		uint64_t turn = __atomic_load_n(&x->turn, __ATOMIC_ACQUIRE);

		if (turn >= CROSS_ROUNDS)
			break;
		if ((int)(turn & 1) == s->odd) {
			uint64_t t = counter() - s->skew;

			if (t < x->last && x->last - t > x->backward)
				x->backward = x->last - t;
			x->last = t;
			__atomic_store_n(&x->turn, turn + 1, __ATOMIC_RELEASE);
		} else if (spins % 64 == 63) {
			uint64_t now = mono_ns();

			if (now >= x->start + CROSS_NS_MAX ||
			    (now >= x->start + CROSS_NS && turn >= CROSS_ROUNDS_MIN))
				break;
			if (spins % 4096 == 4095)
				sched_yield(); /* both may have been put on one real core */
		}
	}
	return NULL;
}

/*
 * Two threads on two CPUs hand each other the counter's value: what one has
 * read, the other must not fall short of. `skew` ticks are taken off b's reads
 * (0, but in the test). 0, or -errno when the threads could not be had.
 */
int clock_cross_check(int cpu_a, int cpu_b, uint64_t skew, uint64_t *backward,
		      uint64_t *rounds)
{
	struct cross x = {.start = mono_ns()};
	struct side a = {&x, cpu_a, 0, 0, 0}, b = {&x, cpu_b, 1, skew, 0};
	pthread_t ta, tb;
	int err = pthread_create(&ta, NULL, cross_side, &a);

	if (err)
		return -err;
	err = pthread_create(&tb, NULL, cross_side, &b);
	pthread_join(ta, NULL);
	if (!err)
		pthread_join(tb, NULL);
	*backward = x.backward;
	*rounds = x.turn;
	return err ? -err : a.err ? -a.err : -b.err;
}

/* Of n CPUs in order the first against some of the others. */
static int listed_agree(const int *cpus, int n, int *checked, char *why, size_t len)
{
	for (int i = 1, last = 0; i <= CROSS_CPUS && n > 1; i++) {
		int at = i * (n - 1) / CROSS_CPUS, err;
		uint64_t backward = 0, rounds = 0;

		if (at == last)
			continue;
		last = at;
		err = clock_cross_check(cpus[0], cpus[at], 0, &backward, &rounds);
		if (err || backward) {
			if (err)
				snprintf(why, len, "CPUs %d and %d could not be compared: %s",
					 cpus[0], cpus[at], strerror(-err));
			else
				snprintf(why, len, "CPUs %d and %d differ: %llu ticks backward",
					 cpus[0], cpus[at], (unsigned long long)backward);
			return 0;
		}
		*checked += rounds > 1;
	}
	return 1;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The first CPU that this process may use (the caller may be pinned to one) against others from the whole range: packages
 * number their CPUs one after another. 1: agree, 0 with why: not. */
static int cpus_agree(int *checked, char *why, size_t len)
{
	int n = pin_cpus(), *cpus = malloc(((size_t)n + 1) * sizeof(*cpus)), good;

	*checked = 1;
	if (!cpus) {
		snprintf(why, len, "no memory for a list of CPUs");
		return 0;
	}
	for (int i = 0; i < n; i++)
		cpus[i] = pin_cpu(i);
	qsort(cpus, (size_t)n, sizeof(*cpus), by_number);
	good = listed_agree(cpus, n, checked, why, len);
	free(cpus);
	return good;
}

/* ---- the whole ---- */

/* Cost of a read and its step, both the best of some batches: what else ran on
 * the CPU is not the clock's. */
static void cost_measure(struct cpu_clock *c)
{
	enum { BATCHES = 16, READS = 2048 };
	uint64_t step = UINT64_MAX, least = UINT64_MAX;

	for (int b = 0; b < BATCHES; b++) {
		uint64_t first, last = 0, t = 0;

		first = c->kind == CPU_CLOCK_TSC ? counter() : mono_ns();
		for (int i = 0; i < READS; i++, last = t) {
			t = c->kind == CPU_CLOCK_TSC ? counter() : mono_ns();
			if (last && t > last && t - last < step)
				step = t - last;
		}
		if (t - first < least)
			least = t - first;
	}
	c->step_ns = step == UINT64_MAX ? NAN : (double)step / c->ticks_per_ns;
	c->read_ns = (double)least / READS / c->ticks_per_ns;
}

int cpu_clock_measure(struct cpu_clock *c)
{
	double ticks[PAIRS_MAX], ns[PAIRS_MAX];
	char vouch[64] = "";
	int good = 1, cpus = 1;
	size_t n;

	memset(c, 0, sizeof(*c));
	if (!mono_ns())
		return fs_fail(ENOSYS, "CLOCK_MONOTONIC_RAW can't be read");
	if (!counter_vouched(vouch, sizeof(vouch))) {
		snprintf(c->why, sizeof(c->why), "%s", vouch);
		good = 0;
	}
	if (good) {
		n = pairs_watch(ticks, ns);
		good = clock_in_step(ticks, ns, n, c);
		if (good < 0) {
			snprintf(c->why, sizeof(c->why), "%s", fs_reason());
			good = 0;
		}
	}
	if (good)
		good = cpus_agree(&cpus, c->why, sizeof(c->why));
	c->kind = good ? CPU_CLOCK_TSC : CPU_CLOCK_GETTIME;
	if (good) {
		snprintf(c->why, sizeof(c->why), "%s; in step with CLOCK_MONOTONIC_RAW, %d CPU%s",
			 vouch, cpus, cpus == 1 ? "" : "s agree");
	} else {
		c->ticks_per_ns = 1; /* by definition: it is the reference */
		c->rate_err = 0;
	}
	cost_measure(c);
	return 0;
}

/* ---- what disturbed us ---- */

void disturb_read(struct disturb *d)
{
	unsigned long long steal = 0;
	struct rusage ru;
	FILE *f;

	memset(d, 0, sizeof(*d));
	f = fopen("/proc/stat", "re");
	/* cpu user nice system idle iowait irq softirq steal (proc_stat(5)) */
	if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) == 1)
		d->steal_ticks = steal;
	if (f)
		fclose(f);
	if (!getrusage(RUSAGE_SELF, &ru)) {
		d->involuntary = (uint64_t)ru.ru_nivcsw;
		d->voluntary = (uint64_t)ru.ru_nvcsw;
	}
}
