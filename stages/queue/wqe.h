/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mlx5 queue formats, as far as the suite uses them: WQE, doorbell record,
 * doorbell, CQE. All fields big-endian. HD.
 *
 * Source of offsets and codes: rdma-core, providers/mlx5/mlx5dv.h (struct
 * mlx5_wqe_ctrl_seg, mlx5_wqe_raddr_seg, mlx5_wqe_data_seg,
 * mlx5_wqe_inl_data_seg, struct mlx5_cqe64) and mlx5_ifc.h; tests/test_wqe.c
 * compares them with that header where it is installed.
 */
#ifndef FS_WQE_H
#define FS_WQE_H

#include "stages/queue/hd.h"

enum {
	WQEBB = 64,            /* a basic block */
	WQE_SEG = 16,
	CQE_SIZE = 64,
	INDEX_MASK = 0xffff,   /* an index is 64-bit in software, 16-bit on the wire */
	WQE_WORDS = 8,         /* 8-byte words of a basic block */
};

enum wqe_opcode { WQE_NOP = 0x00, WQE_WRITE = 0x08, WQE_READ = 0x10 };

/* ctrl.fm_ce_se */
enum { WQE_CQ_UPDATE = 0x08 };

#define WQE_INLINE 0x80000000u     /* in the byte count of an inline segment */
/* What fits behind raddr in one basic block, in one segment of it, and in two blocks. */
enum { WQE_INLINE_MAX = 28, WQE_INLINE_SHORT = 12, WQE_INLINE_TWO = 92 };
enum { WQE_BLOCKS_MAX = 2 };       /* the longest WQE that the suite knows: DS 8 */
#define WQE_LEN_MAX (1u << 30)     /* the largest message, as log_max_msg of RC is 30 */

/* Segments that a WQE has: its DS field. */
HD uint32_t wqe_ds_nop(void) { return 1; }
HD uint32_t wqe_ds_inline(uint32_t len) { return 2 + (4 + len + WQE_SEG - 1) / WQE_SEG; }
HD uint32_t wqe_ds_pointer(uint32_t len) { return len ? 3 : 2; } /* an empty message has no data segment */
/* Basic blocks that so many segments take, and what of a WQE's segments lies in the second. */
HD uint32_t wqe_blocks(uint32_t ds) { return (ds + WQEBB / WQE_SEG - 1) / (WQEBB / WQE_SEG); }

/* A 16-bit index << 8 | opcode, big-endian: two instructions on a GPU. */
HD uint32_t be_index_op(uint64_t index, uint32_t opcode)
{
#ifdef __CUDA_ARCH__
	return __byte_perm((uint32_t)index, 0, 0x4014) | opcode << 24;
#else
	return be32((uint32_t)(index & INDEX_MASK) << 8 | opcode);
#endif
}

/* ctrl, first word: opmod << 24 | index << 8 | opcode, then qpn << 8 | ds. */
HD uint64_t wqe_ctrl0(uint64_t index, uint32_t opcode, uint32_t qpn, uint32_t ds)
{
	return pair32(be_index_op(index, opcode), be32(qpn << 8 | ds));
}

/* ctrl, second word: signature, stream, fm_ce_se, immediate. */
HD uint64_t wqe_ctrl1(uint32_t fm_ce_se) { return pair32(be32(fm_ce_se & 0xff), 0); }

HD uint32_t ctrl_opmod(uint64_t w) { return be32((uint32_t)w) >> 24; }
HD uint32_t ctrl_index(uint64_t w) { return be32((uint32_t)w) >> 8 & INDEX_MASK; }
HD uint32_t ctrl_opcode(uint64_t w) { return be32((uint32_t)w) & 0xff; }
HD uint32_t ctrl_qpn(uint64_t w) { return be32((uint32_t)(w >> 32)) >> 8; }
HD uint32_t ctrl_ds(uint64_t w) { return be32((uint32_t)(w >> 32)) & 0x3f; }
/* bits 7:6 beside ds are reserved */
HD uint32_t ctrl_ds_rsvd(uint64_t w) { return be32((uint32_t)(w >> 32)) & 0xc0; }
HD uint32_t ctrl_fm_ce_se(uint64_t w) { return be32((uint32_t)w) & 0xff; }

/*
 * The bits of a WQE that nobody checks and that change nothing, as masks over
 * its eight little-endian words; all others change the CQE or the payload.
 * ctrl: signature (8..8), the stream bytes (9..10), in fm_ce_se all but
 * CQ_UPDATE (fences order nothing in a NIC that works in order), immediate
 * (12..15). raddr: the reserved word (12..15), and all of it when the message is
 * empty. What stands behind the last segment, or behind an inline payload, is not
 * read, in the first basic block or the second. An empty inline segment (DS 3) and none (DS 2) are the same message.
 */
#define WQE_UNCHECKED_CTRL1 (~(uint64_t)0 & ~((uint64_t)WQE_CQ_UPDATE << 24))
#define WQE_UNCHECKED_RADDR1 0xffffffff00000000ull

/* ---- doorbell record and doorbell ---- */

enum { DBREC_RECV = 0, DBREC_SEND = 4, DBREC_SIZE = 8 };
HD uint32_t dbrec_value(uint64_t pi)
{
#ifdef __CUDA_ARCH__
	return __byte_perm((uint32_t)pi, 0, 0x0144);
#else
	return be32((uint32_t)(pi & INDEX_MASK));
#endif
}
HD uint32_t dbrec_index(uint32_t v) { return be32(v) & INDEX_MASK; }

/* The doorbell as DOCA GPUNetIO writes it: next free index, DS 0. */
HD uint64_t doorbell_value(uint64_t pi, uint32_t qpn) { return wqe_ctrl0(pi, 0, qpn, 0); }
/* What either convention announces: the next free index. With DS != 0 the
 * value is the last WQE's own first ctrl words (rdma-core). */
HD uint32_t doorbell_next(uint64_t db)
{
	uint32_t ds = ctrl_ds(db);

	return ds ? (ctrl_index(db) + wqe_blocks(ds)) & INDEX_MASK : ctrl_index(db);
}

/* What a NIC leaves in words 1 to 7 of a doorbell's line that it has read (BlueFlame):
 * such a word has not arrived. */
#define FLAME_EMPTY (~(uint64_t)0)

/* ---- CQE ---- */

enum cqe_opcode { CQE_REQ = 0, CQE_REQ_ERR = 13, CQE_RESP_ERR = 14, CQE_INVALID = 15 };
enum cqe_syndrome {
	SYND_LOCAL_LENGTH = 0x01,
	SYND_LOCAL_QP_OP = 0x02,
	SYND_LOCAL_PROT = 0x04,
	SYND_FLUSHED = 0x05,
	SYND_LOCAL_ACCESS = 0x11,
	SYND_REMOTE_INVALID = 0x12,
	SYND_REMOTE_ACCESS = 0x13,
	SYND_REMOTE_OP = 0x14,
};

/* Words of a CQE by index: 5 ends with byte_cnt (44..47); 6 is the timestamp;
 * 7 holds sop_drop_qpn, wqe_counter, signature, op_own. An error CQE has
 * vendor_err at 54 and the syndrome at 55, in word 6. */
HD uint64_t cqe_word5(uint32_t byte_cnt) { return pair32(0, be32(byte_cnt)); }
HD uint64_t cqe_word6_error(uint32_t vendor, uint32_t syndrome)
{
	return (uint64_t)vendor << 48 | (uint64_t)syndrome << 56;
}
HD uint64_t cqe_word7(uint32_t wqe_opcode, uint32_t qpn, uint64_t index, uint32_t opcode, uint32_t owner)
{
	return pair32(be32(wqe_opcode << 24 | qpn),
		      be32((uint32_t)(index & INDEX_MASK) << 16 | opcode << 4 | owner));
}
HD uint32_t cqe_byte_cnt(uint64_t w5) { return be32((uint32_t)(w5 >> 32)); }
HD uint32_t cqe_syndrome(uint64_t w6) { return (uint32_t)(w6 >> 56); }
HD uint32_t cqe_vendor(uint64_t w6) { return (uint32_t)(w6 >> 48) & 0xff; }
HD uint32_t cqe_opcode(uint64_t w7) { return (uint32_t)(w7 >> 60); }
HD uint32_t cqe_owner(uint64_t w7) { return (uint32_t)(w7 >> 56) & 1; }
HD uint32_t cqe_counter(uint64_t w7) { return be32((uint32_t)(w7 >> 32)) >> 16; }
HD uint32_t cqe_qpn(uint64_t w7) { return be32((uint32_t)w7) & 0xffffff; }

/* The owner bit of the CQE at consumer index ci: that of its lap. */
HD uint32_t cqe_lap(uint64_t ci, uint32_t log_ncqe) { return (uint32_t)(ci >> log_ncqe) & 1; }

/* Is word 7 of a CQE one of this lap, and not the initial one? */
HD int cqe_valid(uint64_t w7, uint32_t lap)
{
	uint32_t hi = (uint32_t)(w7 >> 32);

	return !((hi ^ lap << 24) & 1u << 24) & (hi < (uint32_t)CQE_INVALID << 28);
}

/* The CQE of a collapsed CQ: does it say that the WQE of this index is done, or a later
 * one? No more than `window` are under way. (Filled with 0xff at first, it says so of
 * index -1.) As public device code has it: spin while (u16)(next - counter - 2) < ncqes. */
HD int cqe_covers(uint64_t w7, uint32_t index, uint32_t window)
{
	return ((index - 1 - cqe_counter(w7)) & INDEX_MASK) >= window;
}

/* ---- payload ---- */

/* Every 8-byte word of a payload says which message and which word it is. */
HD uint64_t payload_word(uint64_t message, uint64_t word)
{
	return message << 24 | (word & 0xffffff);
}

#endif
