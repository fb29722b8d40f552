/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory as a device: the calling thread copies at once, so a ticket is done when it is
 * given out.
 */
#include "device/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096

struct tcpx_device {
	char none; /* a struct needs a member */
};

struct tcpx_queue {
	uint64_t tickets; /* newest given out                     */
};

static int
host_open(const struct tcpx_device_params *params, struct tcpx_device **dev)
{
	struct tcpx_device *d = calloc(1, sizeof(*d));

	(void)params;
	if (!d)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "open the host device");
	*dev = d;
	return 0;
}

static void
host_close(struct tcpx_device *dev)
{
	free(dev);
}

static int
host_where(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *place)
{
	(void)dev;
	(void)addr;
	(void)len;
	*place = TCPX_ON_HOST;
	return 0;
}

static int
host_pinned(struct tcpx_device *dev, size_t size, void **mem)
{
	size_t whole = (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	void *m = whole && whole >= size ? aligned_alloc(PAGE_BYTES, whole) : NULL;

	(void)dev;
	if (!m)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "%zu bytes of staging memory", size);
	*mem = m;
	return 0;
}

static void
host_unpin(struct tcpx_device *dev, void *mem)
{
	(void)dev;
	free(mem);
}

static int
host_event(struct tcpx_device *dev, void *event)
{
	(void)dev;
	(void)event;
	return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "ask for an event without a GPU driver");
}

static int
host_stream_wait(struct tcpx_device *dev, void *stream, uint64_t *word, uint64_t value)
{
	(void)dev;
	(void)stream;
	(void)word;
	(void)value;
	return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "let a stream wait without a GPU driver");
}

static int
host_queue_open(struct tcpx_device *dev, int place, enum tcpx_flow flow,
		struct tcpx_queue **queue)
{
	struct tcpx_queue *q;

	(void)dev;
	(void)flow;
	if (place != TCPX_ON_HOST)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL,
				 "a queue for GPU %d of the host device, which has none", place);
	q = calloc(1, sizeof(*q));
	if (!q)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "a queue of the host device");
	*queue = q;
	return 0;
}

static void
host_queue_close(struct tcpx_queue *queue)
{
	free(queue);
}

static int
host_copy(struct tcpx_queue *queue, const struct tcpx_copy *list, size_t count,
	  uint64_t *ticket)
{
	for (size_t i = 0; i < count; i++) {
		if (!list[i].len)
			continue; /* addresses of empty pieces may be invalid */
		memcpy((void *)(uintptr_t)list[i].dst, (const void *)(uintptr_t)list[i].src,
		       list[i].len);
	}
	*ticket = ++queue->tickets;
	return 0;
}

static int
host_poll(struct tcpx_queue *queue, uint64_t ticket)
{
	if (ticket <= queue->tickets)
		return 0;
	return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "poll for batch %llu of %llu",
			 (unsigned long long)ticket, (unsigned long long)queue->tickets);
}

static int
host_finish(struct tcpx_queue *queue, uint64_t ticket, uint64_t wait_ns)
{
	(void)wait_ns;
	return host_poll(queue, ticket);
}

const struct tcpx_device_ops tcpx_device_host = {
	.name = "host",
	.open = host_open,
	.close = host_close,
	.where = host_where,
	.pinned = host_pinned,
	.unpin = host_unpin,
	.event = host_event,
	.stream_wait = host_stream_wait,
	.queue_open = host_queue_open,
	.queue_close = host_queue_close,
	.copy = host_copy,
	.poll = host_poll,
	.finish = host_finish,
};
