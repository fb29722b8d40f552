/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of one launch of a copy kernel, made without a GPU: pieces that one warp copies each,
 * the kernel, and the number of blocks.
 */
#ifndef DEVICE_LAUNCH_H
#define DEVICE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

/* The kernels differ in the 16-byte loads that a thread has in flight, and in whether stores
 * stay in the L2 cache for another piece of the same line. Index of
 * tcpx_launch_kernel_name(). */
enum tcpx_launch_kernel {
	TCPX_LAUNCH_PAGES,   /* whole lines: 4 loads                  */
	TCPX_LAUNCH_PACKETS, /* short pieces, copied in one turn of 3 */
	TCPX_LAUNCH_MIXED,   /* all others: 4 loads                   */
	TCPX_LAUNCH_COPIES,  /* so many copy; the rest does not       */
	TCPX_LAUNCH_SUM = TCPX_LAUNCH_COPIES,
	TCPX_LAUNCH_KERNELS
};

/* The longest piece that a plan makes; a kernel takes any of 1..65536 bytes. */
#define TCPX_LAUNCH_PIECE_BYTES 4096

/* The 16 bytes that the kernel reads: addresses below 2^48, length - 1 in the top bits of
 * src. Made by tcpx_launch_plan() and tcpx_launch_sum() only. */
struct tcpx_piece {
	uint64_t src; /* | (len - 1) << 48: 1..65536 bytes */
	uint64_t dst; /* of a sum: its number << 32 | the piece's own, which the kernel writes */
};

struct tcpx_launch {
	enum tcpx_launch_kernel kernel;
	uint32_t pieces;          /* one warp each; 0 when the list names no byte  */
	uint32_t blocks, threads; /* threads a block; never 0: launch even nothing */
};

/* Every kernel is
 *	kernel(const struct tcpx_piece *piece, u32 pieces, u32 *arrived, u64 *done, u64 ticket)
 * with piece 16-byte aligned in mapped pinned or device memory. The last block to arrive
 * sets *arrived (device memory, 0 between launches) back to 0 and writes ticket to *done
 * (mapped pinned memory) after all its copies are visible system-wide; done may be 0 for
 * none. Any number of blocks and threads works, up to
 * tcpx_launch_threads_max(). */
const char *tcpx_launch_kernel_name(enum tcpx_launch_kernel k);
uint32_t tcpx_launch_threads_max(enum tcpx_launch_kernel k);
/* The most pieces of a plan for this list (without pcie): the room that plan() needs. Empty
 * entries count as none. Never more than for the parts of the list together. */
size_t tcpx_launch_pieces(const struct tcpx_copy *list, size_t count);
/* Cuts the list into piece[] (cap of them) and chooses kernel and blocks. pcie: one side of every
 * copy is host memory, so few blocks suffice and pieces are long. sms: multiprocessors of the GPU.
 * -ENOBUFS: cap too small; -ERANGE: an address of 2^48 or more (the caller copies another way).
 * Neither is logged; piece[] is undefined then. */
int tcpx_launch_plan(const struct tcpx_copy *list, size_t count, bool pcie, uint32_t sms,
		     struct tcpx_piece *piece, size_t cap, struct tcpx_launch *launch);
/* Makes the copies by memcpy(), for the software driver of the tests. */
void tcpx_launch_run_host(const struct tcpx_piece *piece, uint32_t pieces);

/* The same for sums: the room that a list needs; the cut, with its codes; and the kernel's work by the host. */
size_t tcpx_launch_sum_pieces(const struct tcpx_summed *list, size_t count);
int tcpx_launch_sum(const struct tcpx_summed *list, size_t count, uint32_t sms,
		    struct tcpx_piece *piece, size_t cap, struct tcpx_launch *launch);
void tcpx_launch_sum_host(struct tcpx_piece *piece, uint32_t pieces);
/* The kernel is done: continues sums[] by its pieces. */
void tcpx_launch_sum_join(const struct tcpx_piece *piece, uint32_t pieces, uint32_t *sums);

/* The kernels as PTX text, zero-terminated; see unpack_kernels.cu. */
extern const char tcpx_unpack_ptx[];
/* All forms of the kernels, the best first, NULL last: compiled code if nvcc was there, the
 * text. */
extern const void *const tcpx_unpack_images[];

struct tcpx_cuda_api;
struct CUmod_st;
/* Loads one of the images into the current context: a CUresult. */
int tcpx_launch_load(const struct tcpx_cuda_api *cu, struct CUmod_st **module);

#endif
