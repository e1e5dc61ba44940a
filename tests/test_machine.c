/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a machine survives the way through JSON and nothing else passes for
 * one; the environment is complete (each part is there, or its reason) and
 * tells nothing that it wasn't asked for; NVML is read right, as far as a
 * made-up library can tell, and its absence is a reason.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/err.h"
#include "harness/machine.h"
#include "harness/nvml.h"

/* ---- struct machine ---- */

static struct machine two_gpus(void)
{
	struct machine m;

	memset(&m, 0, sizeof(m)); /* padding too: compared as bytes */
	m.ngpus = 2;
	m.driver = 13000;
	m.runtime = 12080;
	m.cpus = 192;
	for (int i = 0; i < 2; i++) {
		strcpy(m.gpu[i].name, "GPU with a \"name\"");
		strcpy(m.gpu[i].uuid, "GPU-00000000-0000-0000-0000-00000000000");
		strcpy(m.gpu[i].pci, i ? "0001:1b:00.0" : "0000:1b:00.0");
		m.gpu[i].sms = 132;
		m.gpu[i].cc_major = 9;
		m.gpu[i].bytes = 150000000000ull + (uint64_t)i;
		m.gpu[i].peers = i ? 1 : 0x80000002;
		m.gpu[i].native_atomics = m.gpu[i].peers;
		m.gpu[i].coherent = i;
		m.gpu[i].host_native_atomics = !i;
	}
	return m;
}

static void test_machine_there_and_back(void **state)
{
	struct machine m = two_gpus(), back;
	json_t *j = machine_to_json(&m);

	(void)state;
	assert_int_equal(machine_from_json(j, &back), 0);
	assert_memory_equal(&m, &back, sizeof(m));
	json_decref(j);
	/* None, with the reason; and as many as there can be. */
	memset(&m, 0, sizeof(m));
	memset(m.gpu_reason, 'r', sizeof(m.gpu_reason) - 1);
	j = machine_to_json(&m);
	assert_int_equal(machine_from_json(j, &back), 0);
	assert_memory_equal(&m, &back, sizeof(m));
	json_decref(j);
	m.ngpus = FS_GPUS_MAX;
	j = machine_to_json(&m);
	assert_int_equal(machine_from_json(j, &back), 0);
	assert_memory_equal(&m, &back, sizeof(m));
	json_decref(j);
}

/* One thing wrong at a time; takes the reference. */
static void refused(json_t *j)
{
	struct machine m;

	assert_int_equal(machine_from_json(j, &m), -EINVAL);
	assert_int_equal(m.ngpus, 0);
	json_decref(j);
}

static json_t *with(const char *key, json_t *value)
{
	struct machine m = two_gpus();
	json_t *j = machine_to_json(&m);

	json_object_set_new(j, key, value);
	return j;
}

static json_t *with_gpu(const char *key, json_t *value)
{
	struct machine m = two_gpus();
	json_t *j = machine_to_json(&m);

	json_object_set_new(json_array_get(json_object_get(j, "gpus"), 1), key, value);
	return j;
}

static void test_what_is_no_machine_is_refused(void **state)
{
	static const char *const keys[] = {"gpus", "gpu_reason", "driver", "runtime", "cpus"};
	struct machine m = two_gpus();
	char text[300];
	json_t *j;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	refused(json_object());
	refused(json_array());
	assert_int_equal(machine_from_json(NULL, &m), -EINVAL);
	m = two_gpus();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		j = machine_to_json(&m);
		json_object_del(j, keys[i]);
		refused(j);
		refused(with(keys[i], json_real(0.5)));
	}
	refused(with("gpu_reason", json_string(text)));
	refused(with_gpu("name", json_string(text)));
	refused(with_gpu("uuid", json_null()));
	refused(with_gpu("pci", json_string("00000000:1B:00.0")));
	refused(with_gpu("peers", json_integer(0x100000000)));
	refused(with_gpu("native_atomics", json_integer(-1)));
	refused(with_gpu("bytes", json_integer(-1)));
	refused(with_gpu("sms", json_string("132")));
	refused(with_gpu("coherent", json_integer(1)));
	j = machine_to_json(&m);
	while (json_array_size(json_object_get(j, "gpus")) <= FS_GPUS_MAX)
		json_array_append(json_object_get(j, "gpus"),
				  json_array_get(json_object_get(j, "gpus"), 0));
	refused(j);
}

/* ---- the environment ---- */

/* Nothing is empty, null or "N/A"; a reason is in words. */
static void complete(const json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	assert_false(json_is_null(j));
	if (json_is_string(j))
		assert_string_not_equal(json_string_value(j), "N/A");
	json_array_foreach(j, i, v)
		complete(v);
	json_object_foreach((json_t *)(uintptr_t)j, key, v) {
		if (!strcmp(key, "reason"))
			assert_true(json_string_length(v) > 3);
		complete(v);
	}
}

static void test_environment_is_complete(void **state)
{
	static const char *const keys[] = {
		"taken_ns", "host", "kernel", "os", "cpu", "frequency", "turbo", "memory", "numa",
		"kernel_options", "iommu", "memlock_bytes", "load", "steal", "modules", "nvml",
		"variables"};
	json_t *j = environment_json(), *part;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_non_null(json_object_get(j, keys[i]));
	assert_int_equal(json_object_size(j), sizeof(keys) / sizeof(*keys));
	complete(j);
	part = json_object_get(j, "kernel");
	assert_string_equal(json_string_value(json_object_get(part, "system")), "Linux");
	part = json_object_get(j, "memory");
	assert_true(json_integer_value(json_object_get(part, "total_kb")) >
		    json_integer_value(json_object_get(part, "free_kb")));
	part = json_object_get(j, "cpu");
	assert_int_equal(json_integer_value(json_object_get(part, "online")),
			 sysconf(_SC_NPROCESSORS_ONLN));
	assert_true((uint64_t)json_integer_value(json_object_get(j, "taken_ns")) <= wall_ns());
	json_decref(j);
}

static void test_environment_keeps_secrets(void **state)
{
	json_t *j, *v;
	char *text;

	(void)state;
	setenv("API_TOKEN", "hunter2-token", 1);
	setenv("MY_CUDA_VISIBLE_DEVICES", "hunter2-prefix", 1);
	setenv("NVIDIA_VISIBLE_DEVICES_KEY", "hunter2-longer", 1);
	setenv("NVIDIA_API_KEY", "hunter2-nvidia", 1);
	setenv("cuda_lower", "hunter2-lower", 1);
	setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
	setenv("NVIDIA_VISIBLE_DEVICES", "all", 1);
	setenv("FIVESTAGE_TEST", "a=b", 1);
	setenv("HWLOC_COMPONENTS", "", 1);
	setenv("CUDA_BYTES", "\xff\xfe", 1); /* no UTF-8: said, not dropped */
	j = environment_json();
	text = json_dumps(j, 0);
	assert_non_null(text);
	assert_null(strstr(text, "hunter2"));
	if (getenv("PATH") && strlen(getenv("PATH")) > 8)
		assert_null(strstr(text, getenv("PATH")));
	v = json_object_get(j, "variables");
	assert_string_equal(json_string_value(json_object_get(v, "CUDA_VISIBLE_DEVICES")), "0,1");
	assert_string_equal(json_string_value(json_object_get(v, "NVIDIA_VISIBLE_DEVICES")), "all");
	assert_string_equal(json_string_value(json_object_get(v, "FIVESTAGE_TEST")), "a=b");
	assert_string_equal(json_string_value(json_object_get(v, "HWLOC_COMPONENTS")), "");
	assert_non_null(json_object_get(json_object_get(v, "CUDA_BYTES"), "reason"));
	free(text);
	json_decref(j);
	clearenv();
	j = environment_json();
	assert_int_equal(json_object_size(json_object_get(j, "variables")), 0);
	json_decref(j);
}

/* ---- NVML: a library with one GPU that tells all, one that tells little ---- */

static int inits, shutdowns, init_rc;

static int f_init(void) { inits++; return init_rc; }
static int f_shutdown(void) { shutdowns++; return 0; }
static const char *f_error(int rc) { return rc == 3 ? "Not Supported" : "Some Error"; }
static int f_driver(char *out, unsigned int len) { return len < 80 ? 7 : (strcpy(out, "580.1"), 0); }
static int f_cuda(int *v) { *v = 13000; return 0; }
static int f_count(unsigned int *n) { *n = 3; return 0; }
/* The third can't be had at all. */
static int f_handle(unsigned int i, void **dev) { *dev = (void *)(uintptr_t)(i + 1); return i == 2 ? 15 : 0; }
static int poor(void *dev) { return dev != (void *)1; }

static int f_name(void *dev, char *out, unsigned int len)
{
	assert_true(len >= 96);
	strcpy(out, poor(dev) ? "GPU B" : "GPU A");
	return 0;
}

static int f_pci(void *dev, void *out)
{
	unsigned int *p = out;

	(void)dev;
	strcpy((char *)out + 36, "00000001:1B:00.0");
	p[4] = 1;    /* domain */
	p[5] = 0x1b; /* bus */
	p[6] = 0;
	return 0;
}

static int f_power(void *dev, unsigned int *v) { *v = 77000; return poor(dev) ? 3 : 0; }

static int f_clock(void *dev, int kind, unsigned int *v)
{
	assert_true(kind == 1 || kind == 2); /* SM, memory */
	*v = kind == 1 ? 345 : 2619;
	return poor(dev) ? 3 : 0;
}

static int f_held(void *dev, unsigned long long *v) { *v = 0x421; return poor(dev) ? 3 : 0; }
static int f_mode(void *dev, unsigned int *a, unsigned int *b) { *a = 1; *b = 0; return poor(dev) ? 3 : 0; }

static int f_ecc(void *dev, int errors, int counter, unsigned long long *v)
{
	*v = 10ull * (unsigned int)errors + (unsigned int)counter;
	return poor(dev) ? 3 : 0;
}

static int f_bar1(void *dev, void *out)
{
	unsigned long long *b = out;

	b[0] = 1ull << 38;
	b[1] = b[0] - 5;
	b[2] = 5;
	return poor(dev) ? 3 : 0;
}

static int f_bus(void *dev, unsigned int *v) { *v = 6144; return poor(dev) ? 3 : 0; }
static int f_link(void *dev, unsigned int i, int *on) { *on = i != 2; return poor(dev) || i > 3 ? 2 : 0; }

static int by_link; /* this driver tells the rate of each link alone */

static int f_fields(void *dev, int n, void *out)
{
	unsigned int *f = out; /* nvmlFieldValue_t: id, scope, two long longs, type, result, value */

	assert_int_equal(n, 1);
	f[6] = 1;
	if (f[0] == 90) {
		f[7] = poor(dev) || by_link ? 3 : 0;
		f[8] = 26562;
	} else {
		assert_int_equal(f[0], 164);
		assert_in_range(f[1], 0, 3); /* no other one is up */
		assert_int_not_equal(f[1], 2);
		f[7] = 0;
		f[8] = f[1] == 3 ? 25781 : 26562;
	}
	return 0;
}

static const struct {
	const char *name;
	void (*fn)(void);
} library[] = {
#define F(name, fn) {name, (void (*)(void))(void *)fn}
	F("nvmlInit_v2", f_init), F("nvmlShutdown", f_shutdown), F("nvmlErrorString", f_error),
	F("nvmlSystemGetDriverVersion", f_driver), F("nvmlSystemGetNVMLVersion", f_driver),
	F("nvmlSystemGetCudaDriverVersion_v2", f_cuda), F("nvmlDeviceGetCount_v2", f_count),
	F("nvmlDeviceGetHandleByIndex_v2", f_handle), F("nvmlDeviceGetName", f_name),
	F("nvmlDeviceGetPciInfo_v3", f_pci), F("nvmlDeviceGetPowerUsage", f_power),
	F("nvmlDeviceGetClockInfo", f_clock),
	/* The older of its two names, as before driver 535. */
	F("nvmlDeviceGetCurrentClocksThrottleReasons", f_held),
	F("nvmlDeviceGetEccMode", f_mode), F("nvmlDeviceGetTotalEccErrors", f_ecc),
	F("nvmlDeviceGetMemoryBusWidth", f_bus), F("nvmlDeviceGetNvLinkState", f_link),
	F("nvmlDeviceGetFieldValues", f_fields),
	F("nvmlDeviceGetMigMode", f_mode), F("nvmlDeviceGetBAR1MemoryInfo", f_bar1),
};

static void *symbol(void *lib, const char *name)
{
	assert_ptr_equal(lib, library);
	assert_null(strstr(name, "Set")); /* read only */
	assert_null(strstr(name, "Reset"));
	for (size_t i = 0; i < sizeof(library) / sizeof(*library); i++)
		if (!strcmp(library[i].name, name))
			return (void *)library[i].fn;
	return NULL;
}

static const char *why(const json_t *gpu, const char *key)
{
	return json_string_value(json_object_get(json_object_get(gpu, key), "reason"));
}

static void test_nvml_is_read_right(void **state)
{
	json_t *j, *g, *v;

	(void)state;
	inits = shutdowns = init_rc = 0;
	j = nvml_gather(symbol, (void *)(uintptr_t)library);
	assert_int_equal(inits, 1);
	assert_int_equal(shutdowns, 1);
	complete(j);
	assert_string_equal(json_string_value(json_object_get(j, "driver")), "580.1");
	assert_int_equal(json_integer_value(json_object_get(j, "cuda")), 13000);
	assert_int_equal(json_array_size(json_object_get(j, "gpus")), 3);
	g = json_array_get(json_object_get(j, "gpus"), 0);
	assert_string_equal(json_string_value(json_object_get(g, "pci")), "0001:1b:00.0");
	assert_int_equal(json_integer_value(json_object_get(g, "power_mw")), 77000);
	assert_int_equal(json_integer_value(json_object_get(g, "clock_sm_mhz")), 345);
	assert_int_equal(json_integer_value(json_object_get(g, "clock_mem_mhz")), 2619);
	assert_string_equal(why(g, "pcie_width"), "not in this driver's NVML");
	assert_int_equal(json_integer_value(json_object_get(g, "memory_bus_bits")), 6144);
	assert_int_equal(json_integer_value(json_object_get(g, "nvlink_links")), 3); /* of four, one is down */
	assert_int_equal(json_integer_value(json_object_get(g, "nvlink_mb_s")), 26562);
	v = json_object_get(g, "clocks_held_by"); /* bit 10 has no name here */
	assert_string_equal(json_string_value(json_object_get(v, "mask")), "0x421");
	assert_int_equal(json_array_size(json_object_get(v, "names")), 2);
	v = json_object_get(g, "ecc");
	assert_int_equal(json_integer_value(json_object_get(v, "corrected_volatile")), 0);
	assert_int_equal(json_integer_value(json_object_get(v, "uncorrected_volatile")), 10);
	assert_int_equal(json_integer_value(json_object_get(v, "uncorrected_aggregate")), 11);
	v = json_object_get(g, "bar1");
	assert_true(json_integer_value(json_object_get(v, "bytes")) == (json_int_t)1 << 38);
	g = json_array_get(json_object_get(j, "gpus"), 1);
	assert_string_equal(json_string_value(json_object_get(g, "name")), "GPU B");
	assert_string_equal(why(g, "power_mw"), "Not Supported");
	assert_int_equal(json_integer_value(json_object_get(g, "nvlink_links")), 0);
	assert_string_equal(why(g, "nvlink_mb_s"), "Not Supported");
	assert_string_equal(why(g, "mig"), "Not Supported");
	assert_string_equal(why(g, "bar1"), "Not Supported");
	g = json_array_get(json_object_get(j, "gpus"), 2);
	assert_string_equal(json_string_value(json_object_get(g, "reason")), "Some Error");
	json_decref(j);
}

static void test_links_tell_their_rate_one_by_one(void **state)
{
	json_t *j, *g;

	(void)state;
	inits = shutdowns = init_rc = 0;
	by_link = 1;
	j = nvml_gather(symbol, (void *)(uintptr_t)library);
	by_link = 0;
	g = json_array_get(json_object_get(j, "gpus"), 0);
	assert_int_equal(json_integer_value(json_object_get(g, "nvlink_links")), 3);
	assert_int_equal(json_integer_value(json_object_get(g, "nvlink_mb_s")), 25781); /* the slowest's */
	g = json_array_get(json_object_get(j, "gpus"), 1); /* has none that is up */
	assert_string_equal(why(g, "nvlink_mb_s"), "Not Supported");
	json_decref(j);
}

static void *no_symbol(void *lib, const char *name)
{
	(void)lib;
	(void)name;
	return NULL;
}

static void test_no_nvml_is_a_reason(void **state)
{
	json_t *j;

	(void)state;
	inits = shutdowns = 0;
	init_rc = 9; /* the library is there, the driver isn't */
	j = nvml_gather(symbol, (void *)(uintptr_t)library);
	assert_string_equal(json_string_value(json_object_get(j, "reason")), "Some Error");
	assert_int_equal(shutdowns, 0);
	json_decref(j);
	j = nvml_gather(no_symbol, NULL);
	assert_non_null(json_object_get(j, "reason"));
	json_decref(j);
	/* This machine's, whatever it is. */
	j = nvml_json();
	assert_true(json_is_object(j));
	assert_true(!!json_object_get(j, "reason") != !!json_object_get(j, "gpus"));
	complete(j);
	json_decref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine_there_and_back),
		cmocka_unit_test(test_what_is_no_machine_is_refused),
		cmocka_unit_test(test_environment_is_complete),
		cmocka_unit_test(test_nvml_is_read_right), cmocka_unit_test(test_links_tell_their_rate_one_by_one),
		cmocka_unit_test(test_no_nvml_is_a_reason),
		cmocka_unit_test(test_environment_keeps_secrets), /* last: it clears environ */
	};

	fs_log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
