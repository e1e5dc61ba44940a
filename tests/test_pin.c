/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: a thread lands on the CPU that it was sent to, every allowed CPU is in
 * the order exactly once, cores are filled before their second threads, and
 * what can't be known is said to be unknown. Holds with and without hwloc.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/err.h"
#include "harness/pin.h"

static cpu_set_t allowed;

static int setup(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(allowed), &allowed);
}

/* A test that pins itself must not leave the next one pinned. */
static int teardown(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void test_order_is_the_allowed_set(void **state)
{
	cpu_set_t seen;

	(void)state;
	CPU_ZERO(&seen);
	assert_int_equal(pin_cpus(), CPU_COUNT(&allowed));
	for (int k = 0; k < pin_cpus(); k++) {
		assert_true(pin_cpu(k) >= 0);
		assert_false(CPU_ISSET(pin_cpu(k), &seen));
		CPU_SET(pin_cpu(k), &seen);
	}
	assert_true(CPU_EQUAL(&seen, &allowed));
	assert_int_equal(pin_cpu(-1), -EINVAL);
	assert_int_equal(pin_cpu(pin_cpus()), -EINVAL);
}

/* The first thread of a CPU's core, from sysfs; the CPU itself if unknown. */
static int core_of(int cpu)
{
	char path[128];
	int core = cpu;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &core) != 1)
		core = cpu;
	if (f)
		fclose(f);
	return core;
}

static void test_cores_before_threads(void **state)
{
	int again = 0; /* a core has come up a second time */

	(void)state;
	for (int k = 0; k < pin_cpus(); k++) {
		int used = 0;

		for (int i = 0; i < k; i++)
			used |= core_of(pin_cpu(i)) == core_of(pin_cpu(k));
		assert_false(again && !used);
		again |= used;
	}
}

static void test_pin_self_lands(void **state)
{
	(void)state;
	for (int k = 0; k < pin_cpus() && k < 8; k++) {
		cpu_set_t now;

		assert_int_equal(pin_self(pin_cpu(k)), 0);
		assert_int_equal(sched_getcpu(), pin_cpu(k));
		assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
		assert_int_equal(CPU_COUNT(&now), 1);
		/* Being pinned doesn't shrink what the process may use. */
		assert_int_equal(pin_cpus(), CPU_COUNT(&allowed));
	}
}

static void test_pin_self_refuses(void **state)
{
	(void)state;
	fs_reason_clear();
	assert_int_equal(pin_self(-1), -EINVAL);
	assert_true(strlen(fs_reason()) > 0);
	assert_int_equal(pin_self(1000000), -EINVAL);
}

/* In a fresh process that is allowed one CPU only, whatever the machine has:
 * the others are neither listed nor accepted. */
static void test_a_smaller_set_is_respected(void **state)
{
	int status, only = -1, other = -1;
	pid_t pid;

	(void)state;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed)) {
			other = only;
			only = i;
		}
	if (other < 0)
		skip();
	pid = fork();
	if (!pid) {
		char *argv[] = {"test_pin", "one-cpu", NULL};
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(only, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			_exit(9);
		execv("/proc/self/exe", argv);
		_exit(10);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int role_one_cpu(void)
{
	int only = sched_getcpu();

	if (pin_cpus() != 1 || pin_cpu(0) != only)
		return 1;
	for (int cpu = 0; cpu < 64; cpu++)
		if (cpu != only && pin_self(cpu) != -EINVAL)
			return 2;
	return pin_self(only) ? 3 : 0;
}

static void test_near_falls_back_and_says_so(void **state)
{
	static const char *const unknown[] = {NULL, "", "nonsense", "ffff:ff:1f.7"};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		for (int k = 0; k < pin_cpus(); k++) {
			int near = 7;

			assert_int_equal(pin_cpu_near(unknown[i], k, &near), pin_cpu(k));
			assert_int_equal(near, 0);
		}
	assert_int_equal(pin_cpu_near("nonsense", pin_cpus(), NULL), -EINVAL);
	assert_int_equal(pin_cpu_near("nonsense", -1, NULL), -EINVAL);
}

/* For each device there is: still every CPU once, the near ones first. */
static void test_near_is_an_order_too(void **state)
{
	json_t *topology = pin_topology_json(), *list = json_object_get(topology, "pci"), *dev;
	size_t i;

	(void)state;
	json_array_foreach(list, i, dev) {
		const char *pci = json_string_value(json_object_get(dev, "pci"));
		int last_near = 1;
		cpu_set_t seen;

		CPU_ZERO(&seen);
		for (int k = 0; k < pin_cpus(); k++) {
			int near = 7, cpu = pin_cpu_near(pci, k, &near);

			assert_true(cpu >= 0);
			assert_false(CPU_ISSET(cpu, &seen));
			CPU_SET(cpu, &seen);
			assert_true(near == 0 || near == 1);
			assert_true(near <= last_near);
			last_near = near;
		}
		assert_true(CPU_EQUAL(&seen, &allowed));
	}
	json_decref(topology);
}

static void test_nodes(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int node;

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(pin_node_of_cpu(-1), -1);
	assert_int_equal(pin_node_of_cpu(1000000), -1);
	assert_true(pin_node_of_cpu(pin_cpu(0)) >= -1);
	assert_int_equal(pin_node_of_page(NULL), -1);
	assert_int_equal(pin_node_of_page(p + page), -1); /* not there before it is touched */
	p[8] = 1;
	node = pin_node_of_page(p + 8);
	print_message("CPU %d is on node %d, the page on node %d\n", pin_cpu(0),
		      pin_node_of_cpu(pin_cpu(0)), node);
	if (access("/sys/devices/system/node/node1", F_OK))
		assert_true(node == 0 || node == -1); /* -1: a sandbox without move_pages */
	munmap(p, 2 * page);
	assert_int_equal(pin_node_of_page(p), -1);
}

static void test_topology_json(void **state)
{
	json_t *j = pin_topology_json(), *order = json_object_get(j, "order");
	int cores = (int)json_integer_value(json_object_get(j, "cores"));
	int packages = (int)json_integer_value(json_object_get(j, "packages"));
	char *text = json_dumps(j, JSON_COMPACT);

	(void)state;
	print_message("%.300s\n", text);
	free(text);
	assert_true(json_is_object(j));
	assert_int_equal(json_array_size(order), pin_cpus());
	for (int k = 0; k < pin_cpus(); k++)
		assert_int_equal(json_integer_value(json_array_get(order, (size_t)k)), pin_cpu(k));
	assert_int_equal(json_integer_value(json_object_get(j, "pus")), pin_cpus());
	assert_true(cores >= 1 && cores <= pin_cpus());
	assert_true(packages >= 1 && packages <= cores);
	assert_true(json_is_array(json_object_get(j, "nodes")));
	assert_true(json_is_array(json_object_get(j, "pci")));
	assert_true(json_is_integer(json_object_get(j, "pci_left_out")));
#ifdef HAVE_HWLOC
	assert_string_equal(json_string_value(json_object_get(j, "source")), "hwloc");
#else
	assert_string_not_equal(json_string_value(json_object_get(j, "source")), "hwloc");
#endif
	json_decref(j);
}

static void *pinned(void *cpu)
{
	return pin_self(*(int *)cpu) || pin_self(*(int *)cpu) ? cpu : NULL;
}

/* Threads, not calls, and those that have ended too. */
static void test_who_is_where(void **state)
{
	int cpu = pin_cpu(pin_cpus() - 1);
	pthread_t t;
	void *failed;

	(void)state;
	pin_watch();
	assert_int_equal(pin_threads(cpu), 0);
	for (int n = 1; n <= 3; n++) {
		assert_int_equal(pthread_create(&t, NULL, pinned, &cpu), 0);
		assert_int_equal(pthread_join(t, &failed), 0);
		assert_null(failed);
		assert_int_equal(pin_threads(cpu), n);
	}
	assert_int_equal(pin_self(cpu), 0);
	assert_int_equal(pin_threads(cpu), 4);
	pin_watch();
	assert_int_equal(pin_threads(cpu), 0);
	assert_int_equal(pin_self(cpu), 0); /* where it was already */
	assert_int_equal(pin_threads(cpu), 1);
	assert_true(pin_may(cpu));
	assert_false(pin_may(-1));
	assert_false(pin_may(1 << 20));
	assert_int_equal(pin_threads(1 << 20), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order_is_the_allowed_set, NULL, teardown),
		cmocka_unit_test(test_cores_before_threads),
		cmocka_unit_test_setup_teardown(test_pin_self_lands, NULL, teardown),
		cmocka_unit_test(test_pin_self_refuses),
		cmocka_unit_test(test_a_smaller_set_is_respected),
		cmocka_unit_test(test_near_falls_back_and_says_so),
		cmocka_unit_test(test_near_is_an_order_too),
		cmocka_unit_test_setup_teardown(test_who_is_where, NULL, teardown),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_topology_json),
	};

	if (argc > 1 && !strcmp(argv[1], "one-cpu"))
		return role_one_cpu();
	return cmocka_run_group_tests(tests, setup, NULL);
}
