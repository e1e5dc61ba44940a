/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim: ceilings follow from what a machine says of its links, by the formulas of
 * docs/method.md, and there is none where something isn't told.
 */
#include "stages/crossing/ceiling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void near_to(double x, double want)
{
	if (!(fabs(x - want) <= 1e-3 * want))
		fail_msg("%g, should be %g", x, want);
}

/* Worked by hand: lanes x GT/s x encoding / 8, then payload / (payload + packet). */
static void formulas(void **state)
{
	(void)state;
	near_to(ceiling_pcie(1, 1, 0, 0), 0.25);
	near_to(ceiling_pcie(2, 8, 0, 0), 4.0);
	near_to(ceiling_pcie(3, 16, 0, 0), 15.754);
	near_to(ceiling_pcie(4, 16, 0, 0), 31.508);
	near_to(ceiling_pcie(5, 16, 0, 0), 63.015);
	near_to(ceiling_pcie(5, 16, 256, 0), 63.015 * 256 / 280);
	near_to(ceiling_pcie(5, 16, 256, 1), 63.015 * 256 / 276);
	near_to(ceiling_pcie(5, 16, 128, 0), 63.015 * 128 / 152);
	near_to(ceiling_nvlink(18, 26562), 478.1);
	near_to(ceiling_memory(3201, 6144), 4916.7);
	/* not told, or no formula */
	assert_true(isnan(ceiling_pcie(0, 16, 256, 0)));
	assert_true(isnan(ceiling_pcie(6, 16, 256, 0)));
	assert_true(isnan(ceiling_pcie(5, 0, 256, 0)));
	assert_true(isnan(ceiling_nvlink(0, 26562)));
	assert_true(isnan(ceiling_nvlink(18, 0)));
	assert_true(isnan(ceiling_memory(0, 6144)));
	assert_true(isnan(ceiling_memory(3201, 0)));
}

/* A configuration space with power management at 0x40 and PCI Express at 0x60. */
static void payload_size_of_a_function(void **state)
{
	unsigned char c[256] = { [6] = 0x10, [0x34] = 0x40, [0x40] = 0x01, [0x41] = 0x60, [0x60] = 0x10, [0x68] = 1 << 5 };

	(void)state;
	assert_int_equal(pci_mps(c, sizeof(c)), 256);
	c[0x68] = 0x0f; /* the other bits of the register say nothing of it */
	assert_int_equal(pci_mps(c, sizeof(c)), 128);
	assert_int_equal(pci_mps(c, 64), 0); /* what a user may read */
	assert_int_equal(pci_mps(c, 0), 0);
	c[0x41] = 0x40; /* a list that bites its tail */
	assert_int_equal(pci_mps(c, 0x60), 0);
	c[0x40] = 2;
	assert_int_equal(pci_mps(c, sizeof(c)), 0);
	c[6] = 0; /* no list */
	assert_int_equal(pci_mps(c, sizeof(c)), 0);
}

static void facts_of_the_right_gpu(void **state)
{
	json_t *nvml = json_pack("{s:[{s:s,s:i},{s:s,s:i,s:i,s:i,s:i,s:i,s:{s:s}}]}", "gpus", "pci", "0000:01:00.0",
				 "pcie_generation_max", 3, "pci", "ffff:ff:00.0", "pcie_generation_max", 5, "pcie_width", 16,
				 "nvlink_links", 18, "nvlink_mb_s", 26562, "clock_mem_max_mhz", 3201, "memory_bus_bits", "reason",
				 "Not Supported");
	struct ceiling_facts f;

	(void)state;
	assert_non_null(nvml);
	ceiling_facts_of(nvml, "ffff:ff:00.0", &f);
	assert_int_equal(f.pcie_gen, 5);
	assert_int_equal(f.pcie_width, 16);
	assert_int_equal(f.pcie_mps, 0); /* there is no such device here */
	assert_int_equal(f.nvlinks, 18);
	assert_int_equal(f.mem_bus_bits, 0); /* a reason is no number */
	ceiling_facts_of(nvml, "0000:02:00.0", &f);
	assert_int_equal(f.pcie_gen, 0);
	json_decref(nvml);
	nvml = json_pack("{s:s}", "reason", "no library");
	ceiling_facts_of(nvml, "0000:01:00.0", &f);
	assert_int_equal(f.pcie_gen, 0);
	json_decref(nvml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas), cmocka_unit_test(payload_size_of_a_function), cmocka_unit_test(facts_of_the_right_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
