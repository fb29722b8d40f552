/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop has at hand goes to a device as one batch, and is reported when it is done. */
#include "bare.h"

#include <errno.h>

#include "core/memory/batch.h"
#include "core/memory/payload.h"

/* A device whose copies end when the test says so. */
struct tcpx_queue {
	uint64_t started, done;
	size_t pieces; /* of the last batch */
	int error;     /* of the next one   */
};

static struct tcpx_queue queue[TCPX_FLOWS];

static int
open_queue(struct tcpx_device *dev, int place, enum tcpx_flow flow, struct tcpx_queue **out)
{
	queue[flow] = (struct tcpx_queue){ 0 };
	*out = &queue[flow];
	return 0;
}

static void
close_queue(struct tcpx_queue *q)
{
	assert_int_equal(q->started, q->done);
}

static int
copy(struct tcpx_queue *q, const struct tcpx_copy *list, size_t count, uint64_t *ticket)
{
	if (q->error)
		return q->error;
	q->pieces = count;
	*ticket = ++q->started;
	return 0;
}

static int
poll_queue(struct tcpx_queue *q, uint64_t ticket)
{
	return ticket <= q->done ? 0 : -EAGAIN;
}

static int
finish(struct tcpx_queue *q, uint64_t ticket, uint64_t wait_ns)
{
	if (q->done < ticket)
		q->done = ticket;
	return 0;
}

static const struct tcpx_device_ops device = { .queue_open = open_queue,
					       .queue_close = close_queue,
					       .copy = copy,
					       .poll = poll_queue,
					       .finish = finish };

/* What was reported. */
static struct {
	uint32_t packed, unpacked, all;
	uint64_t last_seq;
	int error;
} told;

static void
on_packed(struct copy_client *c, uint64_t seq, int error)
{
	told.packed++;
	told.last_seq = seq;
	told.error = error;
}

static void
on_unpacked(struct copy_client *c, uint64_t seq, int error, uint64_t now_ns)
{
	assert_int_equal(told.all, 0); /* first each of a batch, then all of them */
	told.unpacked++;
	told.last_seq = seq;
	told.error = error;
}

static void
on_all(struct copy_client *c)
{
	told.all++;
}

static const struct copy_calls calls = { on_packed, on_unpacked, on_all };

struct world {
	struct bare b;
	struct batches batches[BARE_LOOPS];
	struct copy_client client;
	struct payload payload;
	struct tcpx_frag frag;
	uint64_t start[2];
};

static void
begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	memset(&told, 0, sizeof(told));
	bare_open(&w->b, true);
	w->b.e.up.copy = &calls;
	w->b.memory.host_ops = &device;
	w->b.memory.batches = w->batches;
	for (uint32_t i = 0; i < BARE_LOOPS; i++)
		assert_int_equal(tcpx_batches_open(&w->b.loop[i]), 0);
	w->client.loop = &w->b.loop[0];
	w->payload.live = 5;
	w->frag = (struct tcpx_frag){ 4096, 1000 };
	w->start[1] = 1000;
}

static void
end(struct world *w)
{
	for (uint32_t i = 0; i < BARE_LOOPS; i++)
		tcpx_batches_fini(&w->b.loop[i]);
	bare_close(&w->b);
}

static int
add(struct world *w, enum tcpx_flow flow, uint64_t seq, uint64_t id)
{
	struct tcpx_fraglist list = { &w->frag, w->start, 1 };

	return tcpx_batch_add(&w->client, flow, TCPX_ON_HOST, seq, &w->payload, id, &list, 0, &list,
			      0, 1000);
}

TEST(all_at_hand_is_one_launch)
{
	struct world w;

	begin(&w);
	for (uint64_t seq = 1; seq <= 10; seq++)
		assert_int_equal(add(&w, TCPX_FLOW_PACK, seq, 5), 0);
	assert_int_equal(queue[TCPX_FLOW_PACK].started, 0);
	assert_int_equal(w.payload.batched, 10);
	tcpx_batches_launch(&w.b.loop[0]);
	assert_int_equal(queue[TCPX_FLOW_PACK].started, 1);
	assert_int_equal(queue[TCPX_FLOW_PACK].pieces, 10);
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.packed, 0); /* not done yet */
	queue[TCPX_FLOW_PACK].done = 1;
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.packed, 10);
	assert_int_equal(told.last_seq, 10);
	assert_int_equal(w.payload.batched, 0);
	end(&w);
}

TEST(a_full_batch_does_not_wait_for_the_turns_end)
{
	struct world w;

	begin(&w);
	for (uint64_t seq = 1; seq <= 64; seq++)
		assert_int_equal(add(&w, TCPX_FLOW_PACK, seq, 5), 0);
	assert_int_equal(queue[TCPX_FLOW_PACK].started, 1);
	tcpx_batches_finish(&w.b.loop[0]);
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.packed, 64);
	end(&w);
}

TEST(each_of_a_batch_is_reported_before_all_of_them)
{
	struct world w;

	begin(&w);
	for (uint64_t seq = 1; seq <= 3; seq++)
		assert_int_equal(add(&w, TCPX_FLOW_UNPACK, seq, 5), 0);
	tcpx_batches_launch(&w.b.loop[0]);
	queue[TCPX_FLOW_UNPACK].done = 1;
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.unpacked, 3);
	assert_int_equal(told.all, 3);
	end(&w);
}

TEST(nothing_of_an_ended_transfer_is_copied)
{
	struct world w;

	begin(&w);
	assert_int_equal(add(&w, TCPX_FLOW_PACK, 1, 4), 0); /* of an earlier post */
	assert_int_equal(w.payload.batched, 0);
	tcpx_batches_launch(&w.b.loop[0]);
	assert_int_equal(queue[TCPX_FLOW_PACK].pieces, 0);
	queue[TCPX_FLOW_PACK].done = 1;
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.packed, 1); /* in its turn all the same */
	end(&w);
}

TEST(quiescing_finishes_what_is_in_flight)
{
	struct world w;

	begin(&w);
	assert_int_equal(add(&w, TCPX_FLOW_PACK, 1, 5), 0);
	tcpx_batches_launch(&w.b.loop[0]);
	assert_int_equal(add(&w, TCPX_FLOW_PACK, 2, 5), 0);
	tcpx_payload_quiesce(&w.b.e, &w.payload);
	assert_int_equal(w.payload.live, 0);
	assert_int_equal(w.payload.batched, 0);
	assert_int_equal(told.packed, 0); /* the loop reports it */
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.packed, 2);
	end(&w);
}

TEST(a_copy_that_fails_is_reported_with_its_code)
{
	struct world w;

	begin(&w);
	queue[TCPX_FLOW_PACK].error = -EIO;
	assert_int_equal(add(&w, TCPX_FLOW_PACK, 1, 5), 0);
	tcpx_batches_launch(&w.b.loop[0]);
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(told.packed, 1);
	assert_int_equal(told.error, -EIO);
	assert_int_equal(w.payload.batched, 0);
	end(&w);
}

TEST(a_walk_that_is_too_short_adds_nothing)
{
	struct tcpx_fraglist list;
	struct world w;

	begin(&w);
	list = (struct tcpx_fraglist){ &w.frag, w.start, 1 };
	assert_int_equal(tcpx_batch_add(&w.client, TCPX_FLOW_PACK, TCPX_ON_HOST, 1, &w.payload, 5,
					&list, 0, &list, 0, 1001), TCPX_EFRAME);
	assert_int_equal(w.payload.batched, 0);
	tcpx_batches_launch(&w.b.loop[0]);
	assert_int_equal(queue[TCPX_FLOW_PACK].started, 0);
	end(&w);
}

TEST(a_loop_with_copies_in_flight_looks_again_soon)
{
	struct world w;

	begin(&w);
	assert_int_equal(tcpx_batches_timeout(&w.b.loop[0], 0), -1);
	assert_int_equal(add(&w, TCPX_FLOW_PACK, 1, 5), 0);
	assert_in_range(tcpx_batches_timeout(&w.b.loop[0], 0), 1, TCPX_MS);
	w.b.e.limit.spin_ns = 1000;
	assert_int_equal(tcpx_batches_timeout(&w.b.loop[0], 0), 0);
	tcpx_batches_finish(&w.b.loop[0]);
	tcpx_batches_poll(&w.b.loop[0], 0);
	assert_int_equal(tcpx_batches_timeout(&w.b.loop[0], w.b.loop[0].awake_until_ns), -1);
	end(&w);
}
