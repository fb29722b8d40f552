/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches end in order, each at a random time after the one before; the copying happens
 * when somebody polls after that time, or finishes. Closing ends what is left: a launched
 * batch cannot be called back.
 */
#include "fake/slow_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define BATCHES_MAX 64

struct batch {
	struct batch *next;
	uint64_t ticket, done_ns;
	size_t count;
	struct tcpx_copy piece[];
};

struct tcpx_device {
	struct tcpx_slow_device *test;
	struct tcpx_rng rng;
	struct batch *head, *tail;
	uint64_t tickets, done;
};

static int
slow_open(int ordinal, void *test_arg, struct tcpx_device **dev)
{
	struct tcpx_slow_device *test = test_arg;
	struct tcpx_device *d;

	if (!test || ordinal != 0)
		return tcpx_fail(TCPX_SUB_DEV, -ENODEV, "open slow device %d", ordinal);
	d = calloc(1, sizeof(*d));
	if (!d)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "open a slow device");
	d->test = test;
	d->rng = tcpx_rng_seed(test->seed);
	test->next_ns = UINT64_MAX;
	*dev = d;
	return 0;
}

static void
end_oldest(struct tcpx_device *d)
{
	struct batch *b = d->head;

	for (size_t i = 0; i < b->count; i++) {
		const struct tcpx_copy *c = &b->piece[i];

		if (c->len)
			memcpy((void *)(uintptr_t)c->dst, (const void *)(uintptr_t)c->src,
			       c->len);
	}
	d->done = b->ticket;
	d->head = b->next;
	if (!d->head)
		d->tail = NULL;
	d->test->live--;
	d->test->next_ns = d->head ? d->head->done_ns : UINT64_MAX;
	free(b);
}

static void
slow_close(struct tcpx_device *dev)
{
	while (dev->head)
		end_oldest(dev);
	free(dev);
}

static int
slow_copy(struct tcpx_device *dev, const struct tcpx_copy *list, size_t count,
	  uint64_t *ticket)
{
	struct tcpx_slow_device *test = dev->test;
	uint64_t start = tcpx_clock_now(test->clock);
	struct batch *b;

	if (test->live >= BATCHES_MAX || tcpx_rng_below(&dev->rng, 1000000) < test->full_ppm)
		return -EAGAIN;
	b = malloc(sizeof(*b) + count * sizeof(*list));
	if (!b)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "a slow batch of %zu pieces", count);
	if (dev->tail && dev->tail->done_ns > start)
		start = dev->tail->done_ns;
	b->next = NULL;
	b->ticket = ++dev->tickets;
	b->done_ns = start + tcpx_rng_between(&dev->rng, test->delay_min_ns,
					      test->delay_max_ns);
	b->count = count;
	if (count)
		memcpy(b->piece, list, count * sizeof(*list));
	if (dev->tail)
		dev->tail->next = b;
	else
		dev->head = b;
	dev->tail = b;
	test->next_ns = dev->head->done_ns;
	test->live++;
	test->batches++;
	test->pieces += count;
	for (size_t i = 0; i < count; i++)
		test->bytes += list[i].len;
	*ticket = b->ticket;
	return 0;
}

static int
slow_poll(struct tcpx_device *dev, uint64_t ticket)
{
	uint64_t now = tcpx_clock_now(dev->test->clock);

	if (ticket > dev->tickets)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "poll for batch %llu of %llu",
				 (unsigned long long)ticket,
				 (unsigned long long)dev->tickets);
	while (dev->head && dev->head->done_ns <= now)
		end_oldest(dev);
	return ticket <= dev->done ? 0 : -EAGAIN;
}

static int
slow_finish(struct tcpx_device *dev, uint64_t ticket)
{
	while (dev->head && dev->head->ticket <= ticket)
		end_oldest(dev);
	return slow_poll(dev, ticket);
}

const struct tcpx_device_ops tcpx_device_slow = {
	.name = "slow",
	.open = slow_open,
	.close = slow_close,
	.copy = slow_copy,
	.poll = slow_poll,
	.finish = slow_finish,
};
