/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's GPUs: found when memory of theirs is registered, and everything their
 * traffic needs made there and then, so that no transfer has to make anything.
 */
#ifndef CORE_GPU_H
#define CORE_GPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

struct tcpx_engine;
struct tcpx_list;
struct tcpx_xfer;

#define GPU_SMALL_MAX 16384u /* bytes of one small copy: a control message's payload */

struct gpus {
	/* Three locks, each the innermost of its users: whoever readies a GPU may wait in the
	 * driver for streams that wait for words, which others must be able to raise. */
	pthread_mutex_t lock;      /* readying: ops, dev, used, and making what is below */
	pthread_mutex_t small_lock; /* scratch and small                                */
	pthread_mutex_t word_lock; /* words; never held in a call of the driver         */
	const struct tcpx_device_ops *ops;
	struct tcpx_device *dev;   /* NULL: none opened                                 */
	_Atomic uint32_t used;     /* GPUs that are ready, one bit each                 */
	uint8_t *scratch;          /* pinned: GPU_SMALL_MAX                             */
	struct tcpx_queue *small[TCPX_FLOWS][TCPX_GPUS_MAX];
	uint64_t *words;           /* pinned: what callers' streams wait for            */
	uint64_t *word_value;      /* the newest value that each was or will be given   */
	uint32_t *word_free;
	uint32_t word_count, word_free_count;
};

/* ---- gpu.c ---- */
void tcpx_gpus_init(struct tcpx_engine *e, const struct tcpx_device_ops *ops);
void tcpx_gpus_fini(struct tcpx_engine *e); /* loops' queues are closed already */
/* Everything that traffic of that GPU needs; twice does no harm. -ENODEV: no driver. */
int tcpx_gpu_ready(struct tcpx_engine *e, int place);
/* GPUs of this process, by ordinal; none without a driver, which is no error. */
int tcpx_gpu_list(struct tcpx_engine *e, char pci[][TCPX_PCI_TEXT], uint32_t cap,
		  uint32_t *count);
/* Where memory lies; readies its GPU. */
int tcpx_gpu_place(struct tcpx_engine *e, void *addr, size_t len, int *place);
/* Where channels' slots are a GPU's, host memory is copied to and from them by that GPU. */
int tcpx_gpu_lock(struct tcpx_engine *e, void *addr, size_t len, bool *locked);
void tcpx_gpu_unlock(struct tcpx_engine *e, void *addr);
/* Small copies between a list and host memory, done when the call returns; whoever calls
 * has seen to it that the memory may be touched. At most GPU_SMALL_MAX bytes of GPU memory. */
int tcpx_list_copy_in(const struct tcpx_list *l, const uint8_t *src, uint64_t len);
int tcpx_list_copy_out(const struct tcpx_list *l, uint8_t *dst, uint64_t len);
/* The transfer has ended or its handle is gone. */
void tcpx_gpu_word_set(struct tcpx_xfer *x);
void tcpx_gpu_word_put(struct tcpx_xfer *x);

#endif
