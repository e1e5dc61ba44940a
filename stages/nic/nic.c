/* SPDX-License-Identifier: Apache-2.0 */
/* The table of NICs. */
#include "stages/nic/nic.h"

const struct nic *const nics[] = { &nic_null, &nic_soft, &nic_peer, 0 };
