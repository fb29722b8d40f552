/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's GPUs: found when memory of theirs is registered. Everything for their traffic
 * is made then, so transfers make nothing.
 */
#ifndef CORE_MEMORY_GPU_H
#define CORE_MEMORY_GPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

struct tcpx_engine;

#define GPU_SMALL_MAX 131072u /* bytes of one small copy: a message that came before its receive */

/* A small copy that its GPU was late with. */
struct small_copy {
	struct tcpx_queue *queue; /* NULL: there is none */
	uint64_t ticket;
	int place;
};

struct gpus {
	/* Three locks, each the innermost of its users. The set-up of a GPU may
	 * wait in the driver for streams that wait for words, which other threads
	 * must be able to raise. */
	pthread_mutex_t lock;      /* set-up: ops, dev, used, and making the rest */
	pthread_mutex_t small_lock; /* scratch and small                                */
	pthread_mutex_t word_lock; /* words; never held in a call of the driver         */
	const struct tcpx_device_ops *ops;
	struct tcpx_device *dev;   /* NULL: none opened                                 */
	_Atomic uint32_t used;     /* GPUs that are set up, one bit each                */
	uint8_t *scratch;          /* pinned: GPU_SMALL_MAX                             */
	struct tcpx_queue *small[TCPX_FLOWS][TCPX_GPUS_MAX];
	struct small_copy stuck;   /* it may still reach scratch; small_lock            */
	_Atomic int stuck_on;      /* its place + 1; 0: there is none                   */
	uint64_t *words;           /* pinned: waited for by callers' streams            */
	uint64_t *word_value;      /* the newest value that each has or will have       */
	uint32_t *word_free;
	uint32_t word_count, word_free_count;
};

void tcpx_gpus_init(struct tcpx_engine *e, const struct tcpx_device_ops *ops);
void tcpx_gpus_fini(struct tcpx_engine *e); /* loops' queues are closed already */
/* GPUs of this process, by ordinal; none without a driver, which is no error. */
int tcpx_gpu_list(struct tcpx_engine *e, char pci[][TCPX_PCI_TEXT], uint32_t cap,
		  uint32_t *count);
/* Sets up everything for that GPU's traffic; repeating it is harmless. -ENODEV: no driver. */
int tcpx_gpu_ready(struct tcpx_engine *e, int place);
/* The place of memory; sets up its GPU. */
int tcpx_gpu_place(struct tcpx_engine *e, void *addr, size_t len, int *place);
/* Page-locks host memory if a NIC's slots are a GPU's, which copies between the two. *locked: it
 * did, so tcpx_gpu_unlock() must follow. */
int tcpx_gpu_lock(struct tcpx_engine *e, void *addr, size_t len, bool *locked);
void tcpx_gpu_unlock(struct tcpx_engine *e, void *addr);

#endif
