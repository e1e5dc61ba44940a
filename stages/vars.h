/* SPDX-License-Identifier: Apache-2.0 */
/* Words that rows of stages/vars.c share with the code that reads them. */
#ifndef FS_STAGE_VARS_H
#define FS_STAGE_VARS_H

/* Where an object may be asked to live, in the order of enum place_word. */
#define PLACE_WORDS "auto|host|gpu|peer"
enum place_word { PW_AUTO, PW_HOST, PW_GPU, PW_PEER };

/* Who moves bytes, which way, and how they are counted; what follows a store. */
#define MOVER_WORDS "sm|ce|cpu"
enum mover_word { MOVER_SM, MOVER_CE, MOVER_CPU, MOVERS };
#define DIR_WORDS "read|write|copy"
enum dir_word { DIR_READ, DIR_WRITE, DIR_COPY, DIRS };
#define WAYS_WORDS "one|both|to-all|from-all"
enum ways_word { WAYS_ONE, WAYS_BOTH, WAYS_TO_ALL, WAYS_FROM_ALL, WAYS_WORDS_N };
#define MR_ORDER_WORDS "turn|random"
enum mr_order_word { MR_TURN, MR_RANDOM };
#define REGISTRATION_WORDS "persistent|on-demand|staged"
enum registration_word { REGISTERED_PERSISTENT, REGISTERED_ON_DEMAND, REGISTERED_STAGED };
#define CPU_STATE_WORDS "as-is|cold|warm"
enum cpu_state_word { CPU_AS_IS, CPU_COLD, CPU_WARM };
enum { CPU_STATE_MS = 1000 }; /* of cpu_state_ms=auto */
#define SCOPE_WORDS "gpu|sys"
enum scope_word { SCOPED_GPU, SCOPED_SYS, SCOPE_WORDS_N };
#define AFTER_WORDS "none|release-gpu|release-sys|sc-gpu|sc-sys"
enum after_word { AFTER_NONE, AFTER_RELEASE_GPU, AFTER_RELEASE_SYS, AFTER_SC_GPU, AFTER_SC_SYS, AFTERS };

/* X(NAME, word): faults in the order of the words. A WQE fault spoils a field,
 * an engine fault makes the NIC do wrong, a worker's and a launch's are the helper's, a GPU fault is an injected return
 * code of the CUDA runtime; wrong-place puts memory elsewhere than it was asked for; no-reply
 * silences the responder of a round trip. */
#define FS_FAULTS(X) \
	X(NONE, "none") \
	X(OPCODE, "opcode") X(DS, "ds") X(KEY, "key") X(LKEY, "lkey") X(LENGTH, "length") \
	X(QPN, "qpn") X(INDEX, "index") \
	X(DEAD_NIC, "dead-nic") X(LOST_DOORBELL, "lost-doorbell") X(STALE_RECORD, "stale-record") \
	X(ERROR_CQE, "error-cqe") X(LOST_CQE, "lost-cqe") X(SLOW_NIC, "slow-nic") \
	X(STUCK_WORKER, "stuck-worker") X(KILLED_WORKER, "killed-worker") X(RING_OVERRUN, "ring-overrun") \
	X(DEAF_CONSUMER, "deaf-consumer") X(FAILED_LAUNCH, "failed-launch") X(LOST_WAKEUP, "lost-wakeup") \
	X(LOST_COPY, "lost-copy") \
	X(GPU_MEMORY, "gpu-memory") X(GPU_STICKY, "gpu-sticky") X(GPU_LOST, "gpu-lost") \
	X(WRONG_PLACE, "wrong-place") X(NO_REPLY, "no-reply")

enum fault_word {
#define X(NAME, word) FAULT_##NAME,
	FS_FAULTS(X)
#undef X
	FAULTS
};

#endif
