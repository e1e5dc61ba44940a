/* SPDX-License-Identifier: Apache-2.0 */
/* Words that rows of stages/vars.c share with the code that reads them. */
#ifndef FS_STAGE_VARS_H
#define FS_STAGE_VARS_H

/* Where an object may be asked to live, in the order of enum place_word. */
#define PLACE_WORDS "auto|host|gpu|peer"
enum place_word { PW_AUTO, PW_HOST, PW_GPU, PW_PEER };

/* X(NAME, word): faults in the order of the words. A WQE fault spoils a field,
 * an engine fault makes the NIC do wrong, a GPU fault is an injected return
 * code of the CUDA runtime. */
#define FS_FAULTS(X) \
	X(NONE, "none") \
	X(OPCODE, "opcode") X(DS, "ds") X(KEY, "key") X(LKEY, "lkey") X(LENGTH, "length") \
	X(QPN, "qpn") X(INDEX, "index") \
	X(DEAD_NIC, "dead-nic") X(LOST_DOORBELL, "lost-doorbell") X(STALE_RECORD, "stale-record") \
	X(ERROR_CQE, "error-cqe") X(LOST_CQE, "lost-cqe") X(SLOW_NIC, "slow-nic") \
	X(GPU_MEMORY, "gpu-memory") X(GPU_STICKY, "gpu-sticky") X(GPU_LOST, "gpu-lost")

enum fault_word {
#define X(NAME, word) FAULT_##NAME,
	FS_FAULTS(X)
#undef X
	FAULTS
};

#endif
