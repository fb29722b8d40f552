/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a GPU or of the host: where it lies, how it is copied, and when a copy is done. A
 * device is one engine's use of such memory. A queue copies for one loop, one place and one
 * direction, in order.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define TCPX_ON_HOST  (-1) /* a place: host memory; >= 0: the GPU of that ordinal */
#define TCPX_PCI_TEXT 16   /* a PCI address, with the NUL                           */
#define TCPX_GPUS_MAX 16   /* most GPUs that a process uses                       */

/* One piece of a batch. Host memory of pinned() and GPU memory have one address each, which is
 * valid for host and GPUs. */
struct tcpx_copy {
	uint64_t src, dst, len;
};

/* Memory whose CRC32C continues the sum of that number. */
struct tcpx_summed {
	uint64_t addr, len;
	uint32_t of;
};

/* The direction of a queue: from user memory into staging slots, or out of them. */
enum tcpx_flow { TCPX_FLOW_PACK, TCPX_FLOW_UNPACK, TCPX_FLOWS };

/* How batches are executed (TCPX_UNPACK_IMPL). NONE copies every byte over the bus to or from
 * a scratch place of the GPU and scatters nothing. Beside KERNEL it shows what packing and
 * unpacking cost. Its data is wrong. */
enum tcpx_unpack_impl {
	TCPX_UNPACK_KERNEL, /* our kernels, copy engines where they are better          */
	TCPX_UNPACK_D2D,    /* one asynchronous driver copy a piece                     */
	TCPX_UNPACK_HOST,   /* one synchronous driver copy a piece, by the loop's thread */
	TCPX_UNPACK_NONE
};

struct tcpx_device_params {
	const char *library;   /* the driver's library; NULL or "": the usual name, and only if
				* the process has loaded it already                       */
	enum tcpx_unpack_impl impl;
	const struct tcpx_clock *clock; /* borrowed for the device's life                */
	void *test_arg;
};

struct tcpx_device;
struct tcpx_queue;

/* device calls: any thread. queue calls: one thread at a time for each queue; queues are
 * independent. Only finish() and close() wait for the device. No call changes the caller's
 * current context. */
struct tcpx_device_ops {
	const char *name;
	/* -ENODEV: there is no such device (logged at INFO only). */
	int (*open)(const struct tcpx_device_params *params, struct tcpx_device **dev);
	void (*close)(struct tcpx_device *dev); /* after all queues and slots            */
	/* Where [addr, addr + len) lies: TCPX_ON_HOST or a GPU's ordinal. Managed memory
	 * counts as host memory. -EINVAL (logged): not all of it in one place. */
	int (*where)(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *place);
	/* Page-locked host memory with the same address on every GPU; page-aligned. -ENOMEM. */
	int (*pinned)(struct tcpx_device *dev, size_t size, void **mem);
	void (*unpin)(struct tcpx_device *dev, void *mem);
	/* 0: the caller's event (a CUevent) has happened; -EAGAIN; or a failure. */
	int (*event)(struct tcpx_device *dev, void *event);
	/* Makes the caller's stream (a CUstream of GPU place) wait until *word, in pinned memory,
	 * is >= value. The call does not wait. -ENOTSUP. */
	int (*stream_wait)(struct tcpx_device *dev, void *stream, uint64_t *word,
			   uint64_t value);

	/* The rest is for GPUs only, else NULL.
	 * The GPUs of this process: pci[i] is the PCI address of ordinal i ("0000:06:00.0"). */
	int (*list)(struct tcpx_device *dev, char pci[][TCPX_PCI_TEXT], uint32_t cap,
		    uint32_t *count);
	/* Memory of place for providers' slots: whole pages, page-aligned, zeroed. -ENOMEM. */
	int (*alloc)(struct tcpx_device *dev, int place, size_t size, void **mem);
	void (*free)(struct tcpx_device *dev, int place, void *mem);
	/* Lets kernels of every GPU reach the host memory [addr, addr + len), which stays locked
	 * until unlock(). 1: it was locked already; do not unlock it. */
	int (*lock)(struct tcpx_device *dev, void *addr, size_t len);
	void (*unlock)(struct tcpx_device *dev, void *addr);
	/* Kernels of place may read and write memory of peer. -ENOTSUP (logged). */
	int (*reach)(struct tcpx_device *dev, int place, int peer);
	/* From enter to leave that GPU is the calling thread's current one. */
	int (*enter)(struct tcpx_device *dev, int place);
	void (*leave)(struct tcpx_device *dev, int place);
	/* Copies memory of place to dst and waits for it: set-up only. */
	int (*read)(struct tcpx_device *dev, int place, void *dst, uint64_t src, size_t len);

	int (*queue_open)(struct tcpx_device *dev, int place, enum tcpx_flow flow,
			  struct tcpx_queue **queue);
	/* Waits for what is in flight. */
	void (*queue_close)(struct tcpx_queue *queue);
	/* Starts a batch; *ticket names it (1, 2, ...). The list is read before the call
	 * returns. Destinations of pieces do not overlap. -EAGAIN: no room, poll first. Any other
	 * failure breaks the queue: every later call returns that code. */
	int (*copy)(struct tcpx_queue *queue, const struct tcpx_copy *list, size_t count,
		    uint64_t *ticket);
	/* GPUs only, else NULL. Starts to sum memory as it is when the queue's earlier batches
	 * are done; a batch of its own. sums[of] is continued, and stays until the batch is
	 * seen done. Failures as copy(); -ENOTSUP: our kernels are not used. */
	int (*sum)(struct tcpx_queue *queue, const struct tcpx_summed *list, size_t count,
		   uint32_t *sums, uint64_t *ticket);
	/* 0: that batch and all before it are done and visible; -EAGAIN; or a failure. */
	int (*poll)(struct tcpx_queue *queue, uint64_t ticket);
	/* Waits for it, wait_ns at most. */
	int (*finish)(struct tcpx_queue *queue, uint64_t ticket, uint64_t wait_ns);
};

extern const struct tcpx_device_ops tcpx_device_host; /* memcpy by the caller      */
extern const struct tcpx_device_ops tcpx_device_cuda; /* the driver, loaded late   */

#endif
