/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin provider's poller: channels without descriptors beside streams that have them. */
#include "plugnet_rig.h"

#include <pthread.h>
#include <stdatomic.h>

static struct tcpx_head
head(uint64_t seq, uint32_t len)
{
	return rig_head(seq, len);
}

/* A control stream between the two networks; *from is the accepting side's. */
static void
make_stream(struct rig *r, struct tcpx_stream **to, struct tcpx_stream **from)
{
	struct tcpx_addr any = { .family = 4, .ip = { 127, 0, 0, 1 } }, bound, peer, at;
	struct tcpx_stream *l;
	struct tcpx_net_event ev[4];
	int marker, rc = -EAGAIN;

	assert_int_equal(r->ops->listen(r->net[1], &any, &bound, &l), 0);
	assert_int_equal(r->ops->stream_watch(l, r->poller[1], &marker, TCPX_READABLE), 0);
	assert_int_equal(r->ops->connect(r->net[0], -1, &bound, 0, to), 0);
	while (rc == -EAGAIN) {
		assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, 10 * TCPX_SEC), 1);
		assert_ptr_equal(ev[0].owner, &marker);
		rc = r->ops->accept(l, from, &peer, &at);
	}
	assert_int_equal(rc, 0);
	r->ops->stream_close(l);
	while ((rc = r->ops->stream_send(*to, NULL, 0)) == -EAGAIN)
		;
	assert_int_equal(rc, 0);
}

TEST_WITH(control_streams_are_those_of_sock, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_stream *to, *from;
	struct tcpx_net_event ev[4];
	char text[8];

	rig_open(r);
	make_stream(r, &to, &from);
	assert_int_equal(r->ops->stream_watch(from, r->poller[1], &from, TCPX_READABLE), 0);
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, 0), 0);
	assert_int_equal(r->ops->stream_send(to, "hello", 5), 5);
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, -1), 1);
	assert_ptr_equal(ev[0].owner, &from);
	assert_int_equal(r->ops->stream_recv(from, text, sizeof(text)), 5);
	r->ops->stream_close(to);
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, -1), 1);
	assert_int_equal(r->ops->stream_recv(from, text, sizeof(text)), 0);
	r->ops->stream_close(from);
}

TEST_WITH(a_stream_is_heard_while_a_channel_is_looked_at, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_stream *to, *from;
	struct tcpx_head h = head(1, 9);
	struct tcpx_net_event ev[4];

	r->params.clock = NULL; /* the machine's */
	rig_open_channel(r);
	make_stream(r, &to, &from);
	assert_int_equal(r->ops->stream_watch(from, r->poller[1], &from, TCPX_READABLE), 0);
	assert_int_equal(r->ops->comm->head(r->rx, &h), 0);
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, 3 * TCPX_MS), 0);
	assert_int_equal(r->ops->stream_send(to, "hello", 5), 5);
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, -1), 1);
	assert_ptr_equal(ev[0].owner, &from);
	/* both at once */
	assert_int_equal(rig_send(r, 9), 0);
	rig_turns(r, 0, 3);
	for (int seen = 0, i = 0; seen != 3; i++) {
		int n = r->ops->poller_wait(r->poller[1], ev, 4, -1);

		assert_in_range(n, 1, 2);
		assert_true(i < 1000);
		while (n-- > 0)
			seen |= ev[n].owner == r ? 1 : 2;
	}
	/* and with room for one only, neither hides the other for ever */
	for (int seen = 0, i = 0; seen != 3; i++) {
		assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 1, -1), 1);
		seen |= ev[0].owner == r ? 1 : 2;
		if (ev[0].owner == r)
			(void)rig_take(r);
		assert_true(i < 1000);
	}
	r->ops->stream_close(to);
	r->ops->stream_close(from);
}

TEST_WITH(busy_channels_take_turns_in_little_room, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_chan *chan[3][2];
	struct tcpx_net_event ev[2];

	rig_open(r);
	for (uint16_t i = 0; i < 3; i++) {
		assert_int_equal(rig_channel(r, i), 0);
		chan[i][0] = r->tx;
		chan[i][1] = r->rx;
		assert_int_equal(r->ops->chan_watch(r->tx, r->poller[0], chan[i], TCPX_WRITABLE), 0);
	}
	for (int room = 1; room <= 2; room++) {
		int heard[3] = { 0 };

		for (int i = 0; i < 6; i++) {
			assert_int_equal(r->ops->poller_wait(r->poller[0], ev, room, 0), room);
			for (int k = 0; k < room; k++)
				heard[(struct tcpx_chan *(*)[2])ev[k].owner - chan]++;
		}
		for (int i = 0; i < 3; i++)
			assert_int_equal(heard[i], 2 * room);
	}
	for (int i = 0; i < 2; i++) { /* the rig closes the last */
		r->ops->chan_close(chan[i][0]);
		r->ops->chan_close(chan[i][1]);
	}
}

/* With a clock that stands, too: the wait counts what it sleeps. */
TEST_WITH(a_wait_ends_while_nothing_moves, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_head h = head(1, 9);
	struct tcpx_net_event ev[4];

	rig_open_channel(r);
	assert_int_equal(r->ops->comm->head(r->rx, &h), 0);
	for (int64_t ns = 0; ns < 4000000; ns = ns * 3 + 1)
		assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, ns), 0);
}

TEST_WITH(naps_grow_while_nothing_moves, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_head h = head(1, 9);
	struct tcpx_net_event ev[4];
	uint32_t before, keen, tired;

	rig_open_channel(r);
	assert_int_equal(r->ops->comm->head(r->rx, &h), 0);
	before = plug_fake.tests;
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, TCPX_MS), 0);
	keen = plug_fake.tests - before;
	r->now_ns += TCPX_MS; /* it is long since anything moved */
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, 10 * TCPX_MS), 0);
	before = plug_fake.tests;
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, 5 * TCPX_MS), 0);
	tired = plug_fake.tests - before;
	assert_in_range(tired, 1, 10);
	assert_true(keen > 10 * tired);
	assert_int_equal(r->ops->comm->head(r->rx, &(struct tcpx_head){ .xfer = 77, .len = 9,
			 .channel = 5, .generation = 1, .seq = 2 }), 0);
	before = plug_fake.tests;
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, TCPX_MS), 0);
	assert_true(plug_fake.tests - before > 10 * tired);
}

TEST_WITH(an_idle_channel_is_left_alone, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_net_event ev[4];

	rig_open_channel(r);
	assert_int_equal(r->ops->poller_wait(r->poller[0], ev, 4, 5 * TCPX_MS), 0);
	assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, 5 * TCPX_MS), 0);
	assert_int_equal(plug_fake.tests, 0);
}

TEST_WITH(a_refused_send_is_tried_again_after_a_while, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_net_event ev[4];

	plug_fake.early = 3;
	rig_open_channel(r);
	assert_int_equal(r->ops->chan_watch(r->tx, r->poller[0], r,
					    TCPX_READABLE | TCPX_WRITABLE), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_send(r, 9), -EAGAIN);
		assert_int_equal(r->ops->poller_wait(r->poller[0], ev, 4, -1), 1);
		assert_int_equal(ev[0].ready, TCPX_WRITABLE);
	}
	assert_int_equal(rig_send(r, 9), 0);
}

static void *
wake(void *arg)
{
	struct rig *r = arg;

	r->ops->poller_wake(r->poller[1]);
	return NULL;
}

TEST_WITH(waking_ends_a_wait, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_head h = head(1, 9);
	struct tcpx_net_event ev[4];
	pthread_t thread;

	r->params.clock = NULL;
	rig_open_channel(r);
	for (int busy = 0; busy < 2; busy++) {
		if (busy)
			assert_int_equal(r->ops->comm->head(r->rx, &h), 0);
		r->ops->poller_wake(r->poller[1]); /* before */
		assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, -1), 0);
		for (int i = 0; i < 20; i++) { /* or meanwhile */
			assert_int_equal(pthread_create(&thread, NULL, wake, r), 0);
			assert_int_equal(r->ops->poller_wait(r->poller[1], ev, 4, -1), 0);
			pthread_join(thread, NULL);
		}
	}
}

/* As the core does it: one thread wires a channel while another sleeps in its poller, and
 * from then on the second makes all calls. */
struct loop {
	struct rig *r;
	atomic_bool ready, done;
};

static void *
run_loop(void *arg)
{
	struct loop *l = arg;
	struct rig *r = l->r;
	struct tcpx_net_event ev[4];

	while (!atomic_load(&l->ready))
		r->ops->poller_wait(r->poller[1], ev, 4, -1);
	for (uint64_t seq = 1; seq <= 50; seq++) {
		struct tcpx_head h = head(seq, 7000);

		while (rig_send(r, 7000) == -EAGAIN)
			r->ops->poller_wait(r->poller[1], ev, 4, -1);
		assert_int_equal(r->ops->comm->head(r->rx, &h), 0);
		while (rig_take(r) != 0)
			r->ops->poller_wait(r->poller[1], ev, 4, -1);
		assert_int_equal(r->ops->comm->release(r->rx, seq), 0);
	}
	atomic_store(&l->done, true);
	return NULL;
}

TEST_WITH(another_thread_may_wire_a_channel, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct loop l = { .r = r };
	struct tcpx_poller *own;
	pthread_t thread;

	r->params.clock = NULL;
	rig_open(r);
	own = r->poller[0];
	r->poller[0] = r->poller[1]; /* both ends are of one loop */
	assert_int_equal(pthread_create(&thread, NULL, run_loop, &l), 0);
	assert_int_equal(rig_channel(r, 5), 0);
	atomic_store(&l.ready, true);
	r->ops->poller_wake(r->poller[1]);
	pthread_join(thread, NULL);
	assert_true(l.done);
	assert_int_equal(r->taken, 50);
	r->poller[0] = own;
}
