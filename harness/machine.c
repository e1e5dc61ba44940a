/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine has (struct machine, to and from JSON), and in what state it
 * is (environment_json).
 *
 * The environment is a table of parts. Each part reads files and system calls
 * that an ordinary user may use, in a container too; what can't be read is an
 * object {"reason": "..."} in its place, never a guess and never a hole. Of the
 * process's environment and of the kernel's command line only what is on a
 * list here is recorded: results are published, and both hold secrets.
 */
#include "harness/machine.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/cgroup.h"
#include "harness/clock.h"
#include "harness/err.h"
#include "harness/nvml.h"
#include "harness/sysfile.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define SYS_CPU "/sys/devices/system/cpu/"
#define SYS_NODE "/sys/devices/system/node/"

extern char **environ;

/* ---- struct machine ---- */

int machine_far(const struct machine *m, int g)
{
	for (int n = 0; n < m->ngpus; n++)
		if (n != g && m->gpu[g].peers >> n & 1 && m->gpu[n].peers >> g & 1)
			return n;
	return g;
}

json_t *machine_to_json(const struct machine *m)
{
	json_t *gpus = json_array();

	for (int i = 0; i < m->ngpus && i < FS_GPUS_MAX; i++) {
		const struct machine_gpu *g = &m->gpu[i];

		json_array_append_new(gpus, json_pack(
			"{s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:b, s:b}", "name", g->name,
			"uuid", g->uuid, "pci", g->pci, "sms", g->sms, "cc_major", g->cc_major,
			"cc_minor", g->cc_minor, "bytes", (json_int_t)g->bytes, "peers",
			(json_int_t)g->peers, "native_atomics", (json_int_t)g->native_atomics,
			"host_native_atomics", g->host_native_atomics, "coherent", g->coherent));
	}
	return json_pack("{s:o, s:s, s:i, s:i, s:i}", "gpus", gpus, "gpu_reason", m->gpu_reason,
			 "driver", m->driver, "runtime", m->runtime, "cpus", m->cpus);
}

/* A text that fits, or nothing: a cut name would match no other run's. */
static int text_fits(const char *from, char *to, size_t size)
{
	if (strlen(from) >= size)
		return 0;
	strcpy(to, from);
	return 1;
}

static int gpu_from_json(json_t *j, struct machine_gpu *g)
{
	const char *name, *uuid, *pci;
	json_int_t bytes, peers, atomics;

	if (json_unpack(j, "{s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:b, s:b}", "name",
			&name, "uuid", &uuid, "pci", &pci, "sms", &g->sms, "cc_major",
			&g->cc_major, "cc_minor", &g->cc_minor, "bytes", &bytes, "peers", &peers,
			"native_atomics", &atomics, "host_native_atomics",
			&g->host_native_atomics, "coherent", &g->coherent))
		return -EINVAL;
	if (!text_fits(name, g->name, sizeof(g->name)) ||
	    !text_fits(uuid, g->uuid, sizeof(g->uuid)) ||
	    !text_fits(pci, g->pci, sizeof(g->pci)) || bytes < 0 || peers < 0 ||
	    peers > UINT32_MAX || atomics < 0 || atomics > UINT32_MAX)
		return -EINVAL;
	g->bytes = (uint64_t)bytes;
	g->peers = (uint32_t)peers;
	g->native_atomics = (uint32_t)atomics;
	return 0;
}

int machine_from_json(const json_t *j, struct machine *m)
{
	const char *reason;
	json_t *gpus;

	memset(m, 0, sizeof(*m));
	/* json_unpack takes no const, and changes nothing. */
	if (json_unpack((json_t *)(uintptr_t)j, "{s:o, s:s, s:i, s:i, s:i}", "gpus", &gpus,
			"gpu_reason", &reason, "driver", &m->driver, "runtime", &m->runtime,
			"cpus", &m->cpus) ||
	    !json_is_array(gpus) || json_array_size(gpus) > FS_GPUS_MAX ||
	    !text_fits(reason, m->gpu_reason, sizeof(m->gpu_reason)))
		goto bad;
	for (size_t i = 0; i < json_array_size(gpus); i++)
		if (gpu_from_json(json_array_get(gpus, i), &m->gpu[i]))
			goto bad;
	m->ngpus = (int)json_array_size(gpus);
	return 0;
bad:
	memset(m, 0, sizeof(*m));
	return fs_reason_set(EINVAL, "not the description of a machine");
}

/* ---- reading ---- */

static json_t *reason(const char *words)
{
	json_t *j = json_pack("{s:s}", "reason", words);

	return j ? j : json_pack("{s:s}", "reason", "unreadable");
}

static json_t *text(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : reason("not UTF-8");
}

static json_t *file_json(const char *path)
{
	char line[1024], words[1200];
	int rc = sysfile_line(line, sizeof(line), "%s", path);

	if (!rc)
		return text(line);
	snprintf(words, sizeof(words), "%s: %s", path, strerror(-rc));
	return reason(words);
}

static json_t *value_json(const char *path, const char *key)
{
	char v[8192], words[600]; /* a list of CPUs may be long */
	int rc = sysfile_value(v, sizeof(v), key, "%s", path);

	if (!rc)
		return text(v);
	snprintf(words, sizeof(words), rc == -EOVERFLOW ? "\"%s\" in %s is too long" : "no \"%s\" in %s", key, path);
	return reason(words);
}

/* The files of a table, each under its key. */
struct file_row {
	const char *key, *path;
};

static json_t *files_json(const struct file_row *rows, size_t n)
{
	json_t *j = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(j, rows[i].key, file_json(rows[i].path));
	return j;
}

/* ---- parts ---- */

static json_t *host_part(void)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1))
		return reason(strerror(errno));
	return text(name);
}

static json_t *kernel_part(void)
{
	struct utsname u;

	if (uname(&u))
		return reason(strerror(errno));
	return json_pack("{s:s, s:s, s:s, s:s}", "system", u.sysname, "release", u.release,
			 "version", u.version, "architecture", u.machine);
}

static json_t *os_part(void)
{
	return value_json("/etc/os-release", "PRETTY_NAME");
}

/* As version 2 of control groups writes it: microseconds in a period of so many, or "max". */
static json_t *quota_json(void)
{
	struct cgroup_cpu c;
	char words[64];
	int is = cgroup_cpu_quota("", &c);

	if (is < 0)
		return reason("no control group of this process tells a CPU quota");
	snprintf(words, sizeof(words), "%llu %llu", (unsigned long long)c.quota_us, (unsigned long long)c.period_us);
	return text(is ? words : "max");
}

static json_t *cpu_part(void)
{
	char flags[16384];
	json_t *j = json_object();

	json_object_set_new(j, "model", value_json("/proc/cpuinfo", "model name"));
	json_object_set_new(j, "microcode", value_json("/proc/cpuinfo", "microcode"));
	json_object_set_new(j, "online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	/* what threads are pinned within; a scheduler of a cluster gives each job its own */
	json_object_set_new(j, "allowed", value_json("/proc/self/status", "Cpus_allowed_list"));
	json_object_set_new(j, "quota", quota_json());
	if (sysfile_value(flags, sizeof(flags), "flags", "/proc/cpuinfo"))
		json_object_set_new(j, "hypervisor", reason("/proc/cpuinfo has no flags"));
	else
		json_object_set_new(j, "hypervisor",
				    json_boolean(strstr(flags, " hypervisor") != NULL));
	json_object_set_new(j, "vendor_of_machine", file_json("/sys/class/dmi/id/sys_vendor"));
	return j;
}

static json_t *frequency_part(void)
{
	static const struct file_row rows[] = {
		{"driver", SYS_CPU "cpu0/cpufreq/scaling_driver"},
		{"governor", SYS_CPU "cpu0/cpufreq/scaling_governor"},
		{"idle_driver", SYS_CPU "cpuidle/current_driver"},
	}, khz[] = {
		{"now_khz", SYS_CPU "cpu0/cpufreq/scaling_cur_freq"},
		{"min_khz", SYS_CPU "cpu0/cpufreq/cpuinfo_min_freq"},
		{"max_khz", SYS_CPU "cpu0/cpufreq/cpuinfo_max_freq"},
	};
	json_t *j = files_json(rows, COUNT(rows));
	uint64_t n;
	char v[64];

	for (size_t i = 0; i < COUNT(khz); i++)
		json_object_set_new(j, khz[i].key,
				    sysfile_number(&n, "%s", khz[i].path)
					    ? reason("cpufreq tells none of CPU 0")
					    : json_integer((json_int_t)n));
	/* In a virtual machine this is what the kernel measured at boot. */
	json_object_set_new(j, "now_mhz", sysfile_value(v, sizeof(v), "cpu MHz", "/proc/cpuinfo")
						  ? reason("not in /proc/cpuinfo")
						  : json_real(atof(v)));
	return j;
}

/* Two interfaces, by driver, with opposite senses. */
static json_t *turbo_part(void)
{
	char v[16];

	if (!sysfile_line(v, sizeof(v), SYS_CPU "intel_pstate/no_turbo"))
		return json_boolean(v[0] == '0');
	if (!sysfile_line(v, sizeof(v), SYS_CPU "cpufreq/boost"))
		return json_boolean(v[0] == '1');
	return reason("neither intel_pstate/no_turbo nor cpufreq/boost can be read");
}

static json_t *memory_part(void)
{
	static const struct file_row rows[] = { /* here: key in meminfo */
		{"total_kb", "MemTotal"}, {"free_kb", "MemFree"}, {"available_kb", "MemAvailable"},
		{"hugepages", "HugePages_Total"}, {"hugepages_free", "HugePages_Free"},
		{"hugepage_kb", "Hugepagesize"},
	};
	json_t *j = json_object();
	char v[64];

	for (size_t i = 0; i < COUNT(rows); i++)
		json_object_set_new(j, rows[i].key,
				    sysfile_value(v, sizeof(v), rows[i].path, "/proc/meminfo")
					    ? reason("not in /proc/meminfo")
					    : json_integer(atoll(v)));
	json_object_set_new(j, "transparent_hugepages",
			    file_json("/sys/kernel/mm/transparent_hugepage/enabled"));
	return j;
}

static json_t *numa_part(void)
{
	static const struct file_row rows[] = {
		{"online", SYS_NODE "online"},
		{"with_cpu", SYS_NODE "has_cpu"},
		{"with_memory", SYS_NODE "has_memory"},
		{"balancing", "/proc/sys/kernel/numa_balancing"},
	};

	return files_json(rows, COUNT(rows));
}

/* Of the kernel's command line only what moves a latency. */
static json_t *cmdline_part(void)
{
	static const char *const wanted[] = {"iommu=", "intel_iommu=", "amd_iommu=",
					     "isolcpus=", "nohz_full="};
	char line[4096], *save = NULL;
	json_t *list;
	int rc = sysfile_line(line, sizeof(line), "/proc/cmdline");

	if (rc && rc != -ENODATA) /* an empty one has none of them */
		return reason(strerror(-rc));
	list = json_array();
	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
		for (size_t i = 0; i < COUNT(wanted); i++)
			if (!strncmp(w, wanted[i], strlen(wanted[i])))
				json_array_append_new(list, text(w));
	return list;
}

static json_t *iommu_part(void)
{
	DIR *d = opendir("/sys/kernel/iommu_groups");
	struct dirent *e;
	int n = 0;

	if (!d)
		return reason(strerror(errno));
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return json_pack("{s:i}", "groups", n);
}

static json_t *memlock_part(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r))
		return reason(strerror(errno));
	if (r.rlim_cur == RLIM_INFINITY)
		return json_string("unlimited");
	return json_integer((json_int_t)r.rlim_cur);
}

static json_t *load_part(void)
{
	double l[3];

	if (getloadavg(l, 3) != 3)
		return reason("no load average");
	return json_pack("[f, f, f]", l[0], l[1], l[2]);
}

static json_t *steal_part(void)
{
	struct disturb d;

	disturb_read(&d);
	return json_pack("{s:I, s:I}", "ticks", (json_int_t)d.steal_ticks, "ticks_per_s",
			 (json_int_t)sysconf(_SC_CLK_TCK));
}

/* Kernel modules that decide what a GPU and a NIC can do together. */
static json_t *modules_part(void)
{
	static const char *const names[] = {"nvidia", "nvidia_peermem", "gdrdrv", "mlx5_core",
					    "mlx5_ib", "ib_uverbs", "rdma_rxe"};
	json_t *j = json_object();
	char path[128], v[256];

	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", names[i]);
		if (access(path, F_OK)) {
			json_object_set_new(j, names[i], reason("not loaded"));
			continue;
		}
		json_object_set_new(j, names[i], sysfile_line(v, sizeof(v), "/sys/module/%s/version", names[i])
							 ? json_string("of the kernel")
							 : text(v));
	}
	return j;
}

static json_t *variables_part(void)
{
	static const char *const prefixes[] = {"CUDA_", "FIVESTAGE_", "HWLOC_",
					       "NVIDIA_VISIBLE_DEVICES="};
	json_t *j = json_object();

	for (char **e = environ; e && *e; e++) {
		const char *value = strchr(*e, '=');
		char name[128];

		for (size_t i = 0; value && i < COUNT(prefixes); i++) {
			if (strncmp(*e, prefixes[i], strlen(prefixes[i])))
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(value - *e), *e);
			json_object_set_new(j, name, text(value + 1));
		}
	}
	return j;
}

static json_t *time_part(void)
{
	return json_integer((json_int_t)wall_ns());
}

static const struct {
	const char *key;
	json_t *(*read)(void);
} parts[] = {
	{"taken_ns", time_part},       {"host", host_part},       {"kernel", kernel_part},
	{"os", os_part},               {"cpu", cpu_part},         {"frequency", frequency_part},
	{"turbo", turbo_part},         {"memory", memory_part},   {"numa", numa_part},
	{"kernel_options", cmdline_part}, {"iommu", iommu_part},  {"memlock_bytes", memlock_part},
	{"load", load_part},           {"steal", steal_part},     {"modules", modules_part},
	{"nvml", nvml_json},           {"variables", variables_part},
};

json_t *environment_json(void)
{
	json_t *j = json_object();

	for (size_t i = 0; i < COUNT(parts); i++) {
		json_t *part = parts[i].read();

		json_object_set_new(j, parts[i].key, part ? part : reason("could not be told"));
	}
	return j;
}
