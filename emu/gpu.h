/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a GPU by the driver's interface, which is found at run time; without a driver that
 * this process uses, host memory takes its part. TCPX_CUDA_LIBRARY names another driver.
 */
#ifndef EMU_GPU_H
#define EMU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/config.h"

/* Once; looks for the driver. NCCL_INVALID_ARGUMENT: what was asked for is not there. */
enum nccl_result emu_gpu_start(const struct emu_config *config);
/* The calling thread's: of its current context, else TCPX_EMU_GPU. */
int emu_gpu_current(void);
/* Is [ptr, ptr + len) memory of a GPU, as regMr() must be told? Without a driver all is. */
bool emu_gpu_owns(const void *ptr, size_t len);

enum emu_kind { EMU_DEVICE, EMU_PINNED };
/* Of a GPU, or of the host and visible to it. NULL: none left. */
void *emu_gpu_alloc(int gpu, enum emu_kind kind, size_t size);
void emu_gpu_free(int gpu, enum emu_kind kind, void *ptr, size_t size);
/* What kind the bounce pool is to be. */
enum emu_kind emu_gpu_pool_kind(void);
/* May the CPU touch memory of that kind? */
bool emu_gpu_direct(enum emu_kind kind);

/*
 * Copies to and from a GPU, of one thread at a time. There are few streams for all copiers of
 * a GPU: the driver has few queues (CUDA_DEVICE_MAX_CONNECTIONS, 8), which streams share when
 * there are more of them, and what shares its queue with a kernel that waits for data, and with
 * what is queued behind that, does not begin before it has ended. NCCL's kernels wait for ours.
 */
struct emu_copier {
	int gpu;
	void *stream; /* shared                                                    */
	void *event;  /* behind the last of ours                                   */
};

/* The first of a GPU makes its streams. */
bool emu_copier_init(struct emu_copier *c, int gpu);
void emu_copier_fini(struct emu_copier *c);
/* Queue only; memory stays the caller's until emu_copier_wait(). false: the driver failed. */
bool emu_copier_copy(struct emu_copier *c, void *dst, const void *src, size_t len);
bool emu_copier_fill(struct emu_copier *c, void *dst, int byte, size_t len);
bool emu_copier_wait(struct emu_copier *c);

#endif
