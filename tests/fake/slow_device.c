/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of a queue end in order, each at a random time after the one before. The bytes
 * are copied when a poll comes after that time, or by finish. Closing ends the rest: a
 * launched batch cannot be called back.
 */
#include "fake/slow_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define BATCHES_MAX 64
#define PAGE_BYTES  4096u

struct batch {
	struct batch *next;
	uint64_t ticket, done_ns;
	size_t count;
	struct tcpx_copy piece[];
};

struct tcpx_device {
	struct tcpx_slow_device *test;
	struct tcpx_rng rng;
	struct tcpx_queue *queues;
};

struct tcpx_queue {
	struct tcpx_queue *next;
	struct tcpx_device *dev;
	struct batch *head, *tail;
	uint64_t tickets, done;
	int broken;
};

static int
slow_open(const struct tcpx_device_params *params, struct tcpx_device **dev)
{
	struct tcpx_slow_device *test = params->test_arg;
	struct tcpx_device *d;

	if (!test)
		return -ENODEV;
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
slow_close(struct tcpx_device *dev)
{
	free(dev);
}

static int
slow_where(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *place)
{
	const struct tcpx_slow_device *test = dev->test;

	*place = TCPX_ON_HOST;
	for (uint32_t i = 0; i < test->range_count; i++) {
		uint64_t start = (uintptr_t)test->range[i].addr;

		if (addr >= start && addr + len <= start + test->range[i].len)
			*place = test->range[i].place;
	}
	return 0;
}

static int
slow_pinned(struct tcpx_device *dev, size_t size, void **mem)
{
	*mem = aligned_alloc(PAGE_BYTES, (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
	if (!*mem)
		return -ENOMEM;
	dev->test->pinned++;
	return 0;
}

static void
slow_unpin(struct tcpx_device *dev, void *mem)
{
	dev->test->pinned--;
	free(mem);
}

/* An event is the time at which it happens. */
static int
slow_event(struct tcpx_device *dev, void *event)
{
	return tcpx_clock_now(dev->test->clock) >= *(const uint64_t *)event ? 0 : -EAGAIN;
}

static int
slow_stream_wait(struct tcpx_device *dev, void *stream, uint64_t *word, uint64_t value)
{
	(void)stream;
	dev->test->word = word;
	dev->test->word_value = value;
	return 0;
}

static int
slow_queue_open(struct tcpx_device *dev, int place, enum tcpx_flow flow,
		struct tcpx_queue **queue)
{
	struct tcpx_queue *q = calloc(1, sizeof(*q));

	(void)place;
	(void)flow;
	if (!q)
		return -ENOMEM;
	q->dev = dev;
	q->next = dev->queues;
	dev->queues = q;
	dev->test->queues++;
	*queue = q;
	return 0;
}

static void
tell_next(struct tcpx_device *d)
{
	d->test->next_ns = UINT64_MAX;
	for (struct tcpx_queue *q = d->queues; q; q = q->next)
		if (q->head && q->head->done_ns < d->test->next_ns)
			d->test->next_ns = q->head->done_ns;
}

static void
end_oldest(struct tcpx_queue *q)
{
	struct tcpx_slow_device *test = q->dev->test;
	struct batch *b = q->head;

	if (!q->broken && tcpx_rng_below(&q->dev->rng, 1000000) < test->broken_ppm) {
		q->broken = -EIO;
		test->broken++;
	}
	for (size_t i = 0; i < b->count && !q->broken; i++) {
		const struct tcpx_copy *c = &b->piece[i];

		if (c->len)
			memcpy((void *)(uintptr_t)c->dst, (const void *)(uintptr_t)c->src,
			       c->len);
	}
	q->done = b->ticket;
	q->head = b->next;
	if (!q->head)
		q->tail = NULL;
	test->live--;
	free(b);
	tell_next(q->dev);
}

static void
slow_queue_close(struct tcpx_queue *queue)
{
	struct tcpx_queue **at = &queue->dev->queues;

	while (queue->head)
		end_oldest(queue);
	while (*at != queue)
		at = &(*at)->next;
	*at = queue->next;
	queue->dev->test->queues--;
	free(queue);
}

static int
slow_copy(struct tcpx_queue *queue, const struct tcpx_copy *list, size_t count,
	  uint64_t *ticket)
{
	struct tcpx_slow_device *test = queue->dev->test;
	uint64_t start = tcpx_clock_now(test->clock);
	struct batch *b;

	if (queue->broken)
		return queue->broken;
	if (queue->tickets - queue->done >= BATCHES_MAX ||
	    tcpx_rng_below(&queue->dev->rng, 1000000) < test->full_ppm)
		return -EAGAIN;
	b = malloc(sizeof(*b) + count * sizeof(*list));
	if (!b)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "a slow batch of %zu pieces", count);
	if (queue->tail && queue->tail->done_ns > start)
		start = queue->tail->done_ns;
	b->next = NULL;
	b->ticket = ++queue->tickets;
	b->done_ns = start + tcpx_rng_between(&queue->dev->rng, test->delay_min_ns,
					      test->delay_max_ns);
	b->count = count;
	if (count)
		memcpy(b->piece, list, count * sizeof(*list));
	if (queue->tail)
		queue->tail->next = b;
	else
		queue->head = b;
	queue->tail = b;
	tell_next(queue->dev);
	test->live++;
	test->batches++;
	test->pieces += count;
	for (size_t i = 0; i < count; i++)
		test->bytes += list[i].len;
	*ticket = b->ticket;
	return 0;
}

/* What broke the queue ended everything in it. */
static void
drop_if_broken(struct tcpx_queue *q)
{
	while (q->broken && q->head)
		end_oldest(q);
}

static int
slow_poll(struct tcpx_queue *queue, uint64_t ticket)
{
	uint64_t now = tcpx_clock_now(queue->dev->test->clock);

	if (ticket > queue->tickets)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "poll for batch %llu of %llu",
				 (unsigned long long)ticket,
				 (unsigned long long)queue->tickets);
	while (queue->head && queue->head->done_ns <= now && !queue->dev->test->hung)
		end_oldest(queue);
	drop_if_broken(queue);
	if (queue->broken)
		return queue->broken;
	return ticket <= queue->done ? 0 : -EAGAIN;
}

static int
slow_finish(struct tcpx_queue *queue, uint64_t ticket, uint64_t wait_ns)
{
	(void)wait_ns;
	if (queue->dev->test->hung)
		return slow_poll(queue, ticket);
	while (queue->head && queue->head->ticket <= ticket)
		end_oldest(queue);
	drop_if_broken(queue);
	return slow_poll(queue, ticket);
}

const struct tcpx_device_ops tcpx_device_slow = {
	.name = "slow",
	.open = slow_open,
	.close = slow_close,
	.where = slow_where,
	.pinned = slow_pinned,
	.unpin = slow_unpin,
	.event = slow_event,
	.stream_wait = slow_stream_wait,
	.queue_open = slow_queue_open,
	.queue_close = slow_queue_close,
	.copy = slow_copy,
	.poll = slow_poll,
	.finish = slow_finish,
};
