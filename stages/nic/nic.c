/* SPDX-License-Identifier: Apache-2.0 */
/* The table of NICs. */
#include "stages/nic/nic.h"

const struct nic *const nics[] = {
#define X(name) &nic_##name,
	FS_NICS(X)
#undef X
	0
};
