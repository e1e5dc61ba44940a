/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML, loaded at run time: a program built where there is no NVIDIA software
 * finds the GPUs of the machine that it is carried to.
 *
 * The few entry points, constants and structures below are declared from
 * NVIDIA's "NVML API Reference Guide" (docs.nvidia.com/deploy/nvml-api, chapters
 * Device Queries, Device Structs, Device Enums, Initialization and Cleanup,
 * Clocks Event Reasons). The numbers are part of its ABI. Only queries are
 * named here, so that nothing can be set by mistake.
 */
#include "harness/nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_OK 0
#define NVML_TEXT 96 /* driver version 80, name 96, UUID 96 (the _V2 sizes) */
#define NVML_GPUS_MAX 64
#define NVML_LINKS_MAX 18 /* NVML_NVLINK_MAX_LINKS */

enum { CLOCK_SM = 1, CLOCK_MEM = 2 };               /* nvmlClockType_t */
enum { TEMPERATURE_GPU = 0 };                       /* nvmlTemperatureSensors_t */
enum { ERRORS_CORRECTED = 0, ERRORS_UNCORRECTED = 1 }; /* nvmlMemoryErrorType_t */
enum { ECC_VOLATILE = 0, ECC_AGGREGATE = 1 };       /* nvmlEccCounterType_t */

typedef struct nvml_device *nvml_dev; /* opaque */

struct nvml_pci { /* nvmlPciInfo_t */
	char bus_id_legacy[16];
	unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
};
static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");

struct nvml_bar1 { /* nvmlBAR1Memory_t */
	unsigned long long total, free, used;
};
static_assert(sizeof(struct nvml_bar1) == 24, "nvmlBAR1Memory_t");

/* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, of all links; NVML_FI_DEV_NVLINK_GET_SPEED, of the link that is the
 * scope, which newer drivers tell instead; unsigned ints */
enum { FIELD_NVLINK_MB_S = 90, FIELD_NVLINK_ONE_MB_S = 164 };

struct nvml_field { /* nvmlFieldValue_t */
	unsigned int id, scope;
	long long timestamp_us, latency_us;
	int type, rc;
	union { double d; unsigned int u; unsigned long long ull; } value;
};
static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");

/* The library and its ways to be called; a function that this driver's library
 * lacks is NULL, and its fact carries a reason. */
struct nvml {
	void *(*symbol)(void *lib, const char *name);
	void *lib;
	const char *(*error)(int rc);
};

typedef int (*fn_void)(void);
typedef int (*fn_text)(char *out, unsigned int len);
typedef int (*fn_int)(int *out);
typedef int (*fn_count)(unsigned int *out);
typedef int (*fn_handle)(unsigned int index, nvml_dev *dev);
typedef int (*fn_dev_text)(nvml_dev dev, char *out, unsigned int len);
typedef int (*fn_dev_uint)(nvml_dev dev, unsigned int *out);
typedef int (*fn_dev_kind_uint)(nvml_dev dev, int kind, unsigned int *out);
typedef int (*fn_dev_two)(nvml_dev dev, unsigned int *a, unsigned int *b);
typedef int (*fn_dev_mask)(nvml_dev dev, unsigned long long *out);
typedef int (*fn_dev_ecc)(nvml_dev dev, int errors, int counter, unsigned long long *out);
typedef int (*fn_dev_index)(nvml_dev dev, unsigned int index, int *out);
typedef int (*fn_dev_fields)(nvml_dev dev, int count, struct nvml_field *f);
typedef int (*fn_dev_pci)(nvml_dev dev, struct nvml_pci *out);
typedef int (*fn_dev_bar1)(nvml_dev dev, struct nvml_bar1 *out);

/* ISO C has no cast from an object pointer to a function; POSIX says that their
 * representations agree. */
#define FIND(n, fn, name) \
	do { \
		void *at = (n)->symbol((n)->lib, name); \
		memcpy(&(fn), &at, sizeof(at)); \
	} while (0)

static json_t *reason_of(const struct nvml *n, int rc)
{
	const char *words = n->error ? n->error(rc) : NULL;
	char number[32];

	snprintf(number, sizeof(number), "NVML error %d", rc);
	return json_pack("{s:s}", "reason", words ? words : number);
}

static json_t *missing(void)
{
	return json_pack("{s:s}", "reason", "not in this driver's NVML");
}

static json_t *text_json(const struct nvml *n, int rc, const char *text)
{
	json_t *j = rc == NVML_OK ? json_string(text) : reason_of(n, rc);

	return j ? j : json_pack("{s:s}", "reason", "not UTF-8");
}

static json_t *number_json(const struct nvml *n, int rc, unsigned long long v)
{
	return rc == NVML_OK ? json_integer((json_int_t)v) : reason_of(n, rc);
}

/* ---- one number each ---- */

static const struct {
	const char *key, *name;
} uint_queries[] = {
	{"persistence_mode", "nvmlDeviceGetPersistenceMode"},
	{"performance_state", "nvmlDeviceGetPerformanceState"},
	{"power_mw", "nvmlDeviceGetPowerUsage"},
	{"power_limit_mw", "nvmlDeviceGetEnforcedPowerLimit"},
	{"pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"},
	{"pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"},
	{"pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"},
	{"pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth"},
	{"pcie_replays", "nvmlDeviceGetPcieReplayCounter"},
	{"memory_bus_bits", "nvmlDeviceGetMemoryBusWidth"},
};

static const struct {
	const char *key, *name;
	int kind;
} kind_queries[] = {
	{"clock_sm_mhz", "nvmlDeviceGetClockInfo", CLOCK_SM},
	{"clock_sm_max_mhz", "nvmlDeviceGetMaxClockInfo", CLOCK_SM},
	{"clock_mem_mhz", "nvmlDeviceGetClockInfo", CLOCK_MEM},
	{"clock_mem_max_mhz", "nvmlDeviceGetMaxClockInfo", CLOCK_MEM},
	{"temperature_c", "nvmlDeviceGetTemperature", TEMPERATURE_GPU},
};

static const struct {
	const char *key;
	int errors, counter;
} ecc_queries[] = {
	{"corrected_volatile", ERRORS_CORRECTED, ECC_VOLATILE},
	{"uncorrected_volatile", ERRORS_UNCORRECTED, ECC_VOLATILE},
	{"corrected_aggregate", ERRORS_CORRECTED, ECC_AGGREGATE},
	{"uncorrected_aggregate", ERRORS_UNCORRECTED, ECC_AGGREGATE},
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void numbers_add(const struct nvml *n, nvml_dev dev, json_t *gpu)
{
	for (size_t i = 0; i < COUNT(uint_queries); i++) {
		unsigned int v = 0;
		fn_dev_uint fn;
		int rc;

		FIND(n, fn, uint_queries[i].name);
		rc = fn ? fn(dev, &v) : NVML_OK;
		json_object_set_new(gpu, uint_queries[i].key,
				    fn ? number_json(n, rc, v) : missing());
	}
	for (size_t i = 0; i < COUNT(kind_queries); i++) {
		unsigned int v = 0;
		fn_dev_kind_uint fn;
		int rc;

		FIND(n, fn, kind_queries[i].name);
		rc = fn ? fn(dev, kind_queries[i].kind, &v) : NVML_OK;
		json_object_set_new(gpu, kind_queries[i].key,
				    fn ? number_json(n, rc, v) : missing());
	}
}

/* NVLinks that are up, and what one of them carries each way, with what the protocol takes; the slowest's where they differ. */
static void nvlink_add(const struct nvml *n, nvml_dev dev, json_t *gpu)
{
	struct nvml_field f = {.id = FIELD_NVLINK_MB_S};
	unsigned int least = 0;
	fn_dev_fields fields;
	fn_dev_index state;
	int up = 0, rc;

	FIND(n, state, "nvmlDeviceGetNvLinkState");
	FIND(n, fields, "nvmlDeviceGetFieldValues");
	rc = fields ? fields(dev, 1, &f) : NVML_OK;
	if (rc == NVML_OK)
		rc = f.rc;
	for (unsigned int i = 0; state && i < NVML_LINKS_MAX; i++) {
		struct nvml_field one = {.id = FIELD_NVLINK_ONE_MB_S, .scope = i};
		int on = 0;

		if (state(dev, i, &on) != NVML_OK || on != 1)
			continue;
		up++;
		if (rc != NVML_OK && fields && fields(dev, 1, &one) == NVML_OK && one.rc == NVML_OK && one.value.u &&
		    (!least || one.value.u < least))
			least = one.value.u;
	}
	json_object_set_new(gpu, "nvlink_links", state ? json_integer(up) : missing());
	json_object_set_new(gpu, "nvlink_mb_s", !fields ? missing() : least ? json_integer(least) : number_json(n, rc, f.value.u));
}

/* ---- what needs words ---- */

/* Bits of nvmlDeviceGetCurrentClocksEventReasons: why the clocks aren't higher. */
static const char *const event_names[] = {
	"gpu_idle", "applications_clocks", "sw_power_cap", "hw_slowdown", "sync_boost",
	"sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake", "display_clocks",
};

static json_t *clocks_held_json(const struct nvml *n, nvml_dev dev)
{
	unsigned long long mask = 0;
	json_t *list, *j;
	fn_dev_mask fn;
	char hex[32];
	int rc;

	FIND(n, fn, "nvmlDeviceGetCurrentClocksEventReasons");
	if (!fn) /* its name before driver 535 */
		FIND(n, fn, "nvmlDeviceGetCurrentClocksThrottleReasons");
	if (!fn)
		return missing();
	rc = fn(dev, &mask);
	if (rc != NVML_OK)
		return reason_of(n, rc);
	list = json_array();
	for (size_t i = 0; i < COUNT(event_names); i++)
		if (mask >> i & 1)
			json_array_append_new(list, json_string(event_names[i]));
	snprintf(hex, sizeof(hex), "0x%llx", mask); /* has the bits without a name, too */
	j = json_pack("{s:s, s:o}", "mask", hex, "names", list);
	return j;
}

/* A mode that is set now, and the one from the next reset or reboot on. */
static json_t *mode_json(const struct nvml *n, nvml_dev dev, const char *name)
{
	unsigned int now = 0, next = 0;
	fn_dev_two fn;
	int rc;

	FIND(n, fn, name);
	if (!fn)
		return missing();
	rc = fn(dev, &now, &next);
	return rc == NVML_OK ? json_pack("{s:i, s:i}", "now", (int)now, "pending", (int)next)
			     : reason_of(n, rc);
}

static json_t *ecc_json(const struct nvml *n, nvml_dev dev)
{
	json_t *j = json_pack("{s:o}", "mode", mode_json(n, dev, "nvmlDeviceGetEccMode"));
	fn_dev_ecc fn;

	FIND(n, fn, "nvmlDeviceGetTotalEccErrors");
	for (size_t i = 0; i < COUNT(ecc_queries); i++) {
		unsigned long long v = 0;
		int rc = fn ? fn(dev, ecc_queries[i].errors, ecc_queries[i].counter, &v) : NVML_OK;

		json_object_set_new(j, ecc_queries[i].key,
				    fn ? number_json(n, rc, v) : missing());
	}
	return j;
}

static json_t *pci_json(const struct nvml *n, nvml_dev dev)
{
	struct nvml_pci p = {.domain = 0};
	fn_dev_pci fn;
	char pci[32];
	int rc;

	FIND(n, fn, "nvmlDeviceGetPciInfo_v3");
	if (!fn)
		return missing();
	rc = fn(dev, &p);
	/* As sysfs writes it; NVML's own string has eight digits of domain. */
	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.0", p.domain, p.bus, p.device);
	return text_json(n, rc, pci);
}

static json_t *bar1_json(const struct nvml *n, nvml_dev dev)
{
	struct nvml_bar1 b = {0, 0, 0};
	fn_dev_bar1 fn;
	int rc;

	FIND(n, fn, "nvmlDeviceGetBAR1MemoryInfo");
	if (!fn)
		return missing();
	rc = fn(dev, &b);
	return rc == NVML_OK ? json_pack("{s:I, s:I}", "bytes", (json_int_t)b.total, "used_bytes",
					 (json_int_t)b.used)
			     : reason_of(n, rc);
}

static json_t *dev_text_json(const struct nvml *n, nvml_dev dev, const char *name)
{
	char text[NVML_TEXT] = "";
	fn_dev_text fn;

	FIND(n, fn, name);
	return fn ? text_json(n, fn(dev, text, sizeof(text)), text) : missing();
}

static json_t *gpu_json(const struct nvml *n, nvml_dev dev)
{
	json_t *gpu = json_object();

	json_object_set_new(gpu, "name", dev_text_json(n, dev, "nvmlDeviceGetName"));
	json_object_set_new(gpu, "uuid", dev_text_json(n, dev, "nvmlDeviceGetUUID"));
	json_object_set_new(gpu, "pci", pci_json(n, dev));
	numbers_add(n, dev, gpu);
	nvlink_add(n, dev, gpu);
	json_object_set_new(gpu, "clocks_held_by", clocks_held_json(n, dev));
	json_object_set_new(gpu, "ecc", ecc_json(n, dev));
	json_object_set_new(gpu, "mig", mode_json(n, dev, "nvmlDeviceGetMigMode"));
	json_object_set_new(gpu, "bar1", bar1_json(n, dev));
	return gpu;
}

/* ---- the whole ---- */

static json_t *system_text(const struct nvml *n, const char *name)
{
	char text[NVML_TEXT] = "";
	fn_text fn;

	FIND(n, fn, name);
	return fn ? text_json(n, fn(text, sizeof(text)), text) : missing();
}

static json_t *gpus_json(const struct nvml *n)
{
	json_t *gpus = json_array();
	unsigned int count = 0;
	fn_handle handle;
	fn_count counter;
	int rc;

	FIND(n, counter, "nvmlDeviceGetCount_v2");
	FIND(n, handle, "nvmlDeviceGetHandleByIndex_v2");
	rc = counter && handle ? counter(&count) : NVML_OK;
	if (!counter || !handle || rc != NVML_OK) {
		json_decref(gpus);
		return counter && handle ? reason_of(n, rc) : missing();
	}
	for (unsigned int i = 0; i < count && i < NVML_GPUS_MAX; i++) {
		nvml_dev dev = NULL;

		rc = handle(i, &dev);
		json_array_append_new(gpus, rc == NVML_OK ? gpu_json(n, dev) : reason_of(n, rc));
	}
	return gpus;
}

json_t *nvml_gather(void *(*symbol)(void *lib, const char *name), void *lib)
{
	struct nvml n = {symbol, lib, NULL};
	fn_void init, shutdown;
	int rc, cuda = 0;
	fn_int version;
	json_t *j;

	FIND(&n, n.error, "nvmlErrorString");
	FIND(&n, init, "nvmlInit_v2");
	FIND(&n, shutdown, "nvmlShutdown");
	FIND(&n, version, "nvmlSystemGetCudaDriverVersion_v2");
	if (!init || !shutdown)
		return missing();
	rc = init();
	if (rc != NVML_OK)
		return reason_of(&n, rc);
	j = json_object();
	json_object_set_new(j, "driver", system_text(&n, "nvmlSystemGetDriverVersion"));
	json_object_set_new(j, "nvml", system_text(&n, "nvmlSystemGetNVMLVersion"));
	rc = version ? version(&cuda) : NVML_OK;
	json_object_set_new(j, "cuda", version ? number_json(&n, rc, (unsigned long long)cuda)
					       : missing());
	json_object_set_new(j, "gpus", gpus_json(&n));
	shutdown();
	return j;
}

static void *symbol_of(void *lib, const char *name)
{
	return dlsym(lib, name);
}

json_t *nvml_json(void)
{
	void *lib = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	json_t *j;

	if (!lib) {
		j = json_pack("{s:s}", "reason", dlerror());
		return j ? j : json_pack("{s:s}", "reason", NVML_LIBRARY " can't be loaded");
	}
	j = nvml_gather(symbol_of, lib);
	dlclose(lib);
	return j;
}
