/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPU a thread goes to.
 *
 * The CPUs that the process was allowed when this file was first asked are
 * listed once, with the place of each (package, core, which thread of the
 * core), and put in order: first threads of all cores, then second threads;
 * within that, neighbours stay together. hwloc says where they are; without it
 * sysfs does; without that every CPU counts as a core. Binding itself is one
 * system call and the same in all three cases.
 *
 * A node may have memory and no CPU (CXL, the memory of a coherent GPU): the
 * node of a CPU is therefore asked of the CPU, never derived from its memory.
 */
#include "harness/pin.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/err.h"
#include "harness/sysfile.h"

#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

#define SYS_CPU "/sys/devices/system/cpu"
#define SYS_NODE "/sys/devices/system/node"
#define SYS_PCI "/sys/bus/pci/devices"
#define MASK_CPUS_MAX (1 << 16) /* Linux stops at 8192 so far */
#define PCI_LISTED_MAX 64

struct place {
	int cpu, package, core; /* core: a number that its threads share */
	int thread;             /* which of the allowed threads of that core */
	int threads;            /* of this process that pinned themselves here while it is watched */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct place *places; /* allowed CPUs, in order */
static int nplaces;
static const char *source = "none";
#ifdef HAVE_HWLOC
static hwloc_topology_t topo; /* kept to the end: pin_cpu_near asks it */
static int topo_ok;
#endif

/* ---- reading sysfs ---- */

static int cpu_number(int cpu, const char *file, int otherwise)
{
	char text[4096];

	if (sysfile_line(text, sizeof(text), SYS_CPU "/cpu%d/topology/%s", cpu, file))
		return otherwise;
	return isdigit((unsigned char)text[0]) ? atoi(text) : otherwise;
}

int pin_in_list(const char *list, int cpu)
{
	while (*list) {
		char *end;
		long lo = strtol(list, &end, 10), hi = lo;

		if (end == list)
			return 0;
		if (*end == '-')
			hi = strtol(end + 1, &end, 10);
		if (cpu >= lo && cpu <= hi)
			return 1;
		list = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* ---- the list ---- */

/* A mask that holds cpu; free with CPU_FREE. */
static cpu_set_t *mask_of(int cpu, size_t *size)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);

	*size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	if (set)
		CPU_ZERO_S(*size, set);
	return set;
}

/* The kernel refuses a mask that is too short, so it grows until it fits. */
static void allowed_list(void)
{
	for (int top = 1023; top < MASK_CPUS_MAX; top = 2 * top + 1) {
		size_t size;
		cpu_set_t *set = mask_of(top, &size);
		int rc = set ? sched_getaffinity(0, size, set) : -1, err = errno;

		if (!rc)
			places = calloc((size_t)CPU_COUNT_S(size, set) + 1, sizeof(*places));
		for (int cpu = 0; !rc && places && cpu <= top; cpu++)
			if (CPU_ISSET_S((size_t)cpu, size, set))
				places[nplaces++].cpu = cpu;
		if (set)
			CPU_FREE(set);
		if (!rc || err != EINVAL)
			return;
	}
}

static void places_from_sysfs(void)
{
	source = cpu_number(places[0].cpu, "thread_siblings_list", -1) < 0 ? "none" : "sysfs";
	for (int i = 0; i < nplaces; i++) {
		struct place *p = &places[i];

		/* The first thread of a core names it: core_id repeats from package
		 * to package, and on some machines from die to die. */
		p->core = cpu_number(p->cpu, "thread_siblings_list", p->cpu);
		p->package = cpu_number(p->cpu, "physical_package_id", 0);
	}
}

#ifdef HAVE_HWLOC
/*
 * OS devices are left out and the GPU components shut out: hwloc's plugins
 * would start CUDA, NVML or OpenCL in the process that must never touch them.
 */
static int places_from_hwloc(void)
{
	static const char *const gpu[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};

	if (hwloc_topology_init(&topo))
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(gpu) / sizeof(*gpu); i++)
		hwloc_topology_set_components(topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      gpu[i]);
	hwloc_topology_set_type_filter(topo, HWLOC_OBJ_PCI_DEVICE,
				       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	hwloc_topology_set_flags(topo, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(topo) || !hwloc_topology_is_thissystem(topo)) {
		hwloc_topology_destroy(topo);
		return -EIO;
	}
	for (int i = 0; i < nplaces; i++) {
		struct place *p = &places[i];
		hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topo, (unsigned int)p->cpu), up;

		if (!pu) {
			hwloc_topology_destroy(topo);
			return -ENOENT;
		}
		up = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_CORE, pu);
		p->core = up ? (int)up->logical_index : (int)pu->logical_index;
		up = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_PACKAGE, pu);
		p->package = up ? (int)up->logical_index : 0;
	}
	topo_ok = 1;
	source = "hwloc";
	return 0;
}
#endif

static int by_core(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_thread(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1) : by_core(a, b);
}

static void places_find(void)
{
	allowed_list();
	if (!nplaces)
		return;
#ifdef HAVE_HWLOC
	if (places_from_hwloc())
#endif
		places_from_sysfs();
	qsort(places, (size_t)nplaces, sizeof(*places), by_core);
	for (int i = 1; i < nplaces; i++)
		if (places[i].package == places[i - 1].package &&
		    places[i].core == places[i - 1].core)
			places[i].thread = places[i - 1].thread + 1;
	qsort(places, (size_t)nplaces, sizeof(*places), by_thread);
}

int pin_cpus(void)
{
	pthread_once(&once, places_find);
	return nplaces;
}

int pin_cpu(int k)
{
	return k < 0 || k >= pin_cpus() ? -EINVAL : places[k].cpu;
}

/* ---- near a device ---- */

/* "0000:1b:00.0" in whatever width and case NVML or CUDA write it. */
static int pci_parse(const char *pci, unsigned int v[4], char *out, size_t len)
{
	if (!pci || sscanf(pci, "%x:%x:%x.%x", &v[0], &v[1], &v[2], &v[3]) != 4)
		return -EINVAL;
	snprintf(out, len, "%04x:%02x:%02x.%x", v[0], v[1], v[2], v[3]);
	return 0;
}

/* Marks in near[] which of the places are local to the device. -ENODEV when
 * nothing is known, or when "all of them" only means that nothing is known. */
static int near_mark(const char *pci, char *near)
{
	char name[64], list[4096];
	unsigned int v[4];
	int found = 0, spread = 0;

	if (pci_parse(pci, v, name, sizeof(name)))
		return -ENODEV;
#ifdef HAVE_HWLOC
	hwloc_obj_t dev = topo_ok ? hwloc_get_pcidev_by_busid(topo, v[0], v[1], v[2], v[3]) : NULL;
	hwloc_obj_t host = dev ? hwloc_get_non_io_ancestor_obj(topo, dev) : NULL;

	for (int i = 0; host && i < nplaces; i++)
		found += near[i] = (char)hwloc_bitmap_isset(host->cpuset,
							    (unsigned int)places[i].cpu);
#endif
	if (!found && !sysfile_line(list, sizeof(list), SYS_PCI "/%s/local_cpulist", name))
		for (int i = 0; i < nplaces; i++)
			found += near[i] = (char)pin_in_list(list, places[i].cpu);
	for (int i = 1; i < nplaces; i++)
		spread |= pin_node_of_cpu(places[i].cpu) != pin_node_of_cpu(places[0].cpu);
	return !found || (found == nplaces && spread) ? -ENODEV : 0;
}

int pin_cpu_near(const char *pci, int k, int *near)
{
	char *local = calloc((size_t)pin_cpus() + 1, 1);
	int left = k, cpu = -EINVAL, is_near = 0;

	if (k < 0 || k >= nplaces || !local || near_mark(pci, local))
		cpu = pin_cpu(k);
	else
		for (int want = 1; want >= 0 && cpu < 0; want--)
			for (int i = 0; i < nplaces && cpu < 0; i++)
				if (local[i] == want && left-- == 0) {
					cpu = places[i].cpu;
					is_near = want;
				}
	if (near)
		*near = is_near;
	free(local);
	return cpu;
}

/* The place of a CPU in the order, or how many there are. */
static int at_of(int cpu)
{
	int i;

	for (i = 0; i < pin_cpus() && places[i].cpu != cpu; i++)
		;
	return i;
}

int pin_may(int cpu) { return at_of(cpu) < pin_cpus(); }

/* ---- who is where ---- */

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned watch; /* which time of watching it is */

static void claim(int at)
{
	static _Thread_local unsigned seen_watch = ~0u;
	static _Thread_local int seen_at;

	pthread_mutex_lock(&watch_lock);
	if (seen_watch != watch || seen_at != at)
		places[at].threads++;
	seen_watch = watch;
	seen_at = at;
	pthread_mutex_unlock(&watch_lock);
}

void pin_watch(void)
{
	pthread_mutex_lock(&watch_lock);
	watch++;
	for (int i = 0; i < pin_cpus(); i++)
		places[i].threads = 0;
	pthread_mutex_unlock(&watch_lock);
}

int pin_threads(int cpu)
{
	int at = at_of(cpu), n;

	if (at == pin_cpus())
		return 0;
	pthread_mutex_lock(&watch_lock);
	n = places[at].threads;
	pthread_mutex_unlock(&watch_lock);
	return n;
}

int pin_self(int cpu)
{
	int at = at_of(cpu), err;
	size_t size;
	cpu_set_t *set;

	if (at == nplaces)
		return fs_reason_set(EINVAL, "CPU %d is not one of the %d that this process may use",
				     cpu, nplaces);
	set = mask_of(cpu, &size);
	if (!set)
		return fs_reason_set(ENOMEM, "no memory for a CPU mask");
	CPU_SET_S((size_t)cpu, size, set);
	err = sched_setaffinity(0, size, set) ? errno : 0;
	CPU_FREE(set);
	if (err)
		return fs_reason_set(err, "can't pin to CPU %d: %s", cpu, strerror(err));
	claim(at);
	return 0;
}

/* ---- nodes ---- */

int pin_node_of_cpu(int cpu)
{
	char path[64];
	struct dirent *e;
	int node = -1;
	DIR *d;

	if (cpu < 0)
		return -1;
	snprintf(path, sizeof(path), SYS_CPU "/cpu%d", cpu);
	d = opendir(path);
	while (d && node < 0 && (e = readdir(d)))
		if (!strncmp(e->d_name, "node", 4) && isdigit((unsigned char)e->d_name[4]))
			node = atoi(e->d_name + 4);
	if (d)
		closedir(d);
	return node;
}

/* move_pages(2) with no destinations moves nothing and says where each is. */
int pin_node_of_page(const void *p)
{
	uintptr_t at = (uintptr_t)p & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	void *page = (void *)at;
	int status = -1;

	if (!p || syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0))
		return -1;
	return status < 0 ? -1 : status;
}

/* ---- what run.json says ---- */

static json_t *nodes_json(void)
{
	json_t *nodes = json_array();
	char online[4096], cpus[4096];

	if (sysfile_line(online, sizeof(online), SYS_NODE "/online"))
		return nodes;
	for (int n = 0; n < 4096; n++) {
		if (!pin_in_list(online, n))
			continue;
		sysfile_line(cpus, sizeof(cpus), SYS_NODE "/node%d/cpulist", n); /* memory only: "" */
		json_array_append_new(nodes, json_pack("{s:i, s:s}", "node", n, "cpus", cpus));
	}
	return nodes;
}

static json_t *pci_json(const char *name)
{
	static const char *const files[] = {"vendor", "device", "class", "numa_node",
					    "local_cpulist"};
	json_t *dev = json_pack("{s:s}", "pci", name);
	char text[4096];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!sysfile_line(text, sizeof(text), SYS_PCI "/%s/%s", name, files[i]))
			json_object_set_new(dev, files[i], json_string(text));
	return dev;
}

/* Classes 02 (network, InfiniBand included), 03 (display, 3D), 12 (accelerators). */
static int of_interest(const struct dirent *e)
{
	char class[64];

	return !sysfile_line(class, sizeof(class), SYS_PCI "/%s/class", e->d_name) &&
	       (!strncmp(class, "0x02", 4) || !strncmp(class, "0x03", 4) ||
		!strncmp(class, "0x12", 4));
}

static json_t *pci_list_json(int *left_out)
{
	json_t *list = json_array();
	struct dirent **found = NULL;
	int n = scandir(SYS_PCI, &found, of_interest, alphasort);

	for (int i = 0; i < n; i++) {
		if (i < PCI_LISTED_MAX)
			json_array_append_new(list, pci_json(found[i]->d_name));
		free(found[i]);
	}
	*left_out = n > PCI_LISTED_MAX ? n - PCI_LISTED_MAX : 0;
	free(found);
	return list;
}

json_t *pin_topology_json(void)
{
	json_t *order = json_array(), *j;
	int cores = 0, packages = 0, left_out = 0;
	char online[4096];

	for (int i = 0; i < pin_cpus(); i++) {
		int new = 1;

		for (int k = 0; k < i && new; k++)
			new = places[k].package != places[i].package;
		packages += new;
		cores += places[i].thread == 0;
		json_array_append_new(order, json_integer(places[i].cpu));
	}
	sysfile_line(online, sizeof(online), SYS_CPU "/online");
	j = json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o}", "source", source, "online", online,
		      "packages", packages, "cores", cores, "pus", nplaces, "order", order,
		      "nodes", nodes_json());
	json_object_set_new(j, "pci", pci_list_json(&left_out));
	json_object_set_new(j, "pci_left_out", json_integer(left_out));
	return j;
}
