/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory through the driver's interface, which is looked up at run time. Without a
 * driver in use by this process host memory replaces it. TCPX_CUDA_LIBRARY names
 * another driver.
 */
#ifndef EMU_GPU_H
#define EMU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/config.h"

/* Looks for the driver, once. NCCL_INVALID_ARGUMENT: the requested memory is not available. */
enum nccl_result emu_gpu_start(const struct emu_config *config);
/* The calling thread's GPU: of its current context, else TCPX_EMU_GPU. */
int emu_gpu_current(void);
/* Is [ptr, ptr + len) GPU memory, as regMr() must know? Without a driver all memory is. */
bool emu_gpu_owns(const void *ptr, size_t len);

enum emu_kind { EMU_DEVICE, EMU_PINNED };
/* Memory of a GPU, or of the host and visible to it. NULL: none left. */
void *emu_gpu_alloc(int gpu, enum emu_kind kind, size_t size);
void emu_gpu_free(int gpu, enum emu_kind kind, void *ptr, size_t size);
/* The kind of memory for the bounce pool. */
enum emu_kind emu_gpu_pool_kind(void);
/* May the CPU touch memory of that kind? */
bool emu_gpu_direct(enum emu_kind kind);

/*
 * Copies to and from a GPU, of one thread at a time. All copiers of a GPU share few
 * streams. The driver has few queues (CUDA_DEVICE_MAX_CONNECTIONS, 8), and more streams
 * share them. A copy in one queue with a kernel that waits for data does not begin before
 * that kernel ends; NCCL's kernels wait for these copies.
 */
struct emu_copier {
	int gpu;
	void *stream; /* shared                                                    */
	void *event;  /* behind our last copy                                      */
};

/* The first copier of a GPU makes its streams. */
bool emu_copier_init(struct emu_copier *c, int gpu);
void emu_copier_fini(struct emu_copier *c);
/* Only queues; the memory must stay until emu_copier_wait(). false: the driver failed. */
bool emu_copier_copy(struct emu_copier *c, void *dst, const void *src, size_t len);
bool emu_copier_fill(struct emu_copier *c, void *dst, int byte, size_t len);
bool emu_copier_wait(struct emu_copier *c);

#endif
