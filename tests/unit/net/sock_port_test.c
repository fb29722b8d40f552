/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channel set-up: which connections are accepted, which are not, and that the latter
 * disturb nobody.
 */
#include "sock_rig.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One expected channel, which no stranger may spoil. */
struct gate {
	struct rig *r;
	struct tcpx_chan_id id;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	uint64_t deadline;
};

static struct gate
gate_open(struct rig *r)
{
	struct gate g = { .r = r, .id = rig_id(4, 0x11), .deadline = rig_deadline() };

	assert_int_equal(r->ops->chan_listen(r->net, 0, &g.id, g.handle, &g.cl), 0);
	return g;
}

/* Steps the port until it has closed the stranger; it never becomes the channel. */
static void
gate_refuses(struct gate *g, int fd)
{
	struct tcpx_chan *chan;

	do {
		rig_pause(g->r, g->deadline);
		assert_int_equal(g->r->ops->chan_accept(g->cl, false, &chan), -EAGAIN);
	} while (!rig_raw_closed(fd));
	close(fd);
}

/* The right one still comes in, and only it. */
static void
gate_close(struct gate *g)
{
	const struct tcpx_net_ops *ops = g->r->ops;
	struct tcpx_chan *near, *far;
	int up = -EAGAIN, in = -EAGAIN;
	void *dial = NULL;

	while (up || in) {
		rig_pause(g->r, g->deadline);
		if (up)
			up = ops->chan_connect(g->r->net, 0, &g->id, g->handle, true, &dial,
					       &near);
		if (in)
			in = ops->chan_accept(g->cl, false, &far);
		assert_true(up == 0 || up == -EAGAIN);
		assert_true(in == 0 || in == -EAGAIN);
	}
	ops->chan_listener_close(g->cl);
	ops->chan_close(near);
	ops->chan_close(far);
}

TEST_WITH(channels_stand_in_both_directions, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_channel_info stats;

	for (uint8_t opener_sends = 0; opener_sends < 2; opener_sends++) {
		struct tcpx_chan_id id = rig_id(9, 1);
		struct tcpx_chan *tx, *rx;

		id.sending_side_is_opener = opener_sends;
		assert_int_equal(rig_channel(r, &id, &tx, &rx), 0);
		assert_int_equal(r->ops->stream->stats(tx, &stats), 0);
		assert_int_equal(stats.retransmits, 0);
		r->ops->chan_close(tx);
		r->ops->chan_close(rx);
	}
	assert_int_equal(r->warnings, 0);
}

TEST_WITH(many_channels_of_one_token_come_in_any_order, rig_open, rig_close)
{
	enum { N = 16 };
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_chan *near[N] = { NULL }, *far[N] = { NULL };
	uint8_t handle[N][TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl[N];
	struct tcpx_chan_id id[N];
	void *dial[N] = { NULL };
	int left = 2 * N;

	for (int i = 0; i < N; i++) {
		id[i] = rig_id((uint16_t)i, 0x42);
		assert_int_equal(r->ops->chan_listen(r->net, 0, &id[i], handle[i], &cl[i]), 0);
	}
	while (left) {
		rig_pause(r, deadline);
		for (int i = N - 1; i >= 0; i--) {
			if (!near[i] && !r->ops->chan_connect(r->net, 0, &id[i], handle[i], true,
							      &dial[i], &near[i]))
				left--;
			if (!far[i] && !r->ops->chan_accept(cl[i], false, &far[i]))
				left--;
		}
	}
	for (int i = 0; i < N; i++) {
		assert_int_equal(far[i]->channel, i);
		r->ops->chan_listener_close(cl[i]);
		r->ops->chan_close(near[i]);
		r->ops->chan_close(far[i]);
	}
	assert_int_equal(r->warnings, 0);
}

/* What a stranger sends, made from the right preamble. */
static const struct {
	const char *name;
	size_t at;     /* byte that is changed */
	uint8_t flip;
	size_t len;    /* bytes sent, at least a preamble's length of them zero-filled */
} strangers[] = {
	{ "another magic", 0, 1, 40 },
	{ "garbage, only four bytes of it", 3, 0xff, 4 },
	{ "another version", 5, 2, 40 },
	{ "the other direction", 7, 1, 40 },
	{ "unknown flag", 7, 2, 40 },
	{ "another session", 15, 1, 40 },
	{ "another channel", 17, 1, 40 },
	{ "another generation", 19, 1, 40 },
	{ "token wrong in its first bit", 20, 0x80, 40 },
	{ "token wrong in its last bit", 35, 1, 40 },
	{ "padding in use", 39, 1, 40 },
	{ "a byte too many", 0, 0, 41 },
	{ "far too many bytes", 0, 0, 4000 },
};

TEST_WITH(strangers_are_refused_and_the_right_one_still_comes, rig_open, rig_close)
{
	for (size_t i = 0; i < COUNT(strangers); i++) {
		struct gate g = gate_open(*state);
		uint8_t bytes[4000] = { 0 };
		int fd = rig_raw(g.handle);

		print_message("# %s\n", strangers[i].name);
		tcpx_sock_preamble_format(&g.id, bytes);
		bytes[strangers[i].at] ^= strangers[i].flip;
		assert_int_equal(send(fd, bytes, strangers[i].len, MSG_NOSIGNAL),
				 strangers[i].len);
		gate_refuses(&g, fd);
		gate_close(&g);
	}
}

static bool
from_nobody(void *arg, const struct tcpx_addr *from)
{
	++*(int *)arg;
	return false;
}

/* Its bytes stay unread: no line about them is logged. */
TEST_WITH(whom_the_gate_does_not_admit_is_closed_unread, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	uint8_t bytes[TCPX_SOCK_PREAMBLE_BYTES];
	int asked = 0, fd;

	r->net->gate = (struct tcpx_net_gate){ .arg = &asked, .admits = from_nobody };
	fd = rig_raw(g.handle);
	tcpx_sock_preamble_format(&g.id, bytes);
	send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
	gate_refuses(&g, fd);
	assert_int_equal(asked, 1);
	assert_int_equal(r->warnings, 0);
	r->net->gate = (struct tcpx_net_gate){ 0 };
	gate_close(&g);
}

TEST_WITH(a_wrong_token_ends_the_connect, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	struct tcpx_chan_id wrong = g.id;
	struct tcpx_chan *chan = NULL, *far = NULL;
	void *dial = NULL;
	int rc;

	wrong.token[7] ^= 0x10;
	while ((rc = r->ops->chan_connect(r->net, 0, &wrong, g.handle, true, &dial, &chan)) ==
	       -EAGAIN) {
		rig_pause(r, g.deadline);
		assert_int_equal(r->ops->chan_accept(g.cl, false, &far), -EAGAIN);
	}
	assert_int_equal(rc, TCPX_ECHANNEL);
	assert_null(chan);
	assert_null(dial);
	assert_int_equal(r->warnings, 1);
	gate_close(&g);
}

TEST_WITH(a_token_is_good_once, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	struct tcpx_chan *near, *far, *again = NULL;
	void *dial = NULL, *second = NULL;
	int up = -EAGAIN, rc;

	while ((rc = r->ops->chan_accept(g.cl, false, &far)) == -EAGAIN) {
		up = r->ops->chan_connect(r->net, 0, &g.id, g.handle, true, &dial, &near);
		assert_int_equal(up, -EAGAIN);
		rig_pause(r, g.deadline);
	}
	assert_int_equal(rc, 0);
	while (up == -EAGAIN) {
		up = r->ops->chan_connect(r->net, 0, &g.id, g.handle, true, &dial, &near);
		rig_pause(r, g.deadline);
	}
	assert_int_equal(up, 0);
	/* the listener is still there: its accept turns the second one away */
	while ((rc = r->ops->chan_connect(r->net, 0, &g.id, g.handle, true, &second, &again)) ==
	       -EAGAIN) {
		rig_pause(r, g.deadline);
		assert_int_equal(r->ops->chan_accept(g.cl, false, &far), TCPX_ESTATE);
	}
	assert_int_equal(rc, TCPX_ECHANNEL);
	assert_null(again);
	r->ops->chan_listener_close(g.cl);
	r->ops->chan_close(near);
	r->ops->chan_close(far);
}

TEST_WITH(the_silent_are_closed_after_five_seconds, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	uint8_t bytes[TCPX_SOCK_PREAMBLE_BYTES];
	int silent = rig_raw(g.handle), slow = rig_raw(g.handle);
	struct tcpx_chan *chan;

	tcpx_sock_preamble_format(&g.id, bytes);
	assert_int_equal(send(slow, bytes, 39, MSG_NOSIGNAL), 39);
	while (r->net->ports->pending_count < 2) {
		rig_pause(r, g.deadline);
		assert_int_equal(r->ops->chan_accept(g.cl, false, &chan), -EAGAIN);
	}
	r->skip_ns += 4 * TCPX_SEC;
	assert_int_equal(r->ops->chan_accept(g.cl, false, &chan), -EAGAIN);
	assert_int_equal(r->net->ports->pending_count, 2);
	assert_int_equal(r->warnings, 0);
	r->skip_ns += TCPX_SEC + TCPX_SEC / 2;
	gate_refuses(&g, silent);
	gate_refuses(&g, slow);
	assert_int_equal(r->net->ports->refused, 2);
	assert_int_equal(r->warnings, 1); /* two in a moment: one line */
	gate_close(&g);
}

static void
count_arrival(void *owner)
{
	++*(int *)owner;
}

/* The wait itself takes the steps: no call of chan_accept() is in vain. */
TEST_WITH(a_watched_listener_tells_that_its_connection_has_come, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	struct tcpx_net_event ev[4];
	struct tcpx_poller *p;
	struct tcpx_chan *chan;
	uint8_t bytes[TCPX_SOCK_PREAMBLE_BYTES];
	int arrived = 0, silent, fd;

	r->net->gate = (struct tcpx_net_gate){ .arrived = count_arrival };
	assert_int_equal(r->ops->poller_open(r->net, &p), 0);
	assert_int_equal(r->ops->chan_listener_watch(g.cl, p, &arrived), 0);
	silent = rig_raw(g.handle);
	fd = rig_raw(g.handle);
	tcpx_sock_preamble_format(&g.id, bytes);
	send(fd, bytes, sizeof(bytes) - 1, MSG_NOSIGNAL);
	while (r->net->ports->pending_count < 2)
		assert_int_equal(r->ops->poller_wait(p, ev, 4, (int64_t)TCPX_SEC), 0);
	assert_int_equal(arrived, 0);
	send(fd, bytes + sizeof(bytes) - 1, 1, MSG_NOSIGNAL);
	while (!arrived)
		assert_int_equal(r->ops->poller_wait(p, ev, 4, (int64_t)TCPX_SEC), 0);
	assert_int_equal(r->ops->chan_accept(g.cl, false, &chan), 0);
	assert_int_equal(arrived, 1);
	r->ops->chan_close(chan);
	r->ops->chan_listener_close(g.cl); /* the last: the port is watched no more */
	assert_null(r->net->ports->poller);
	r->ops->poller_close(p);
	close(silent);
	close(fd);
}

TEST_WITH(a_flood_keeps_nobody_out, rig_open, rig_close)
{
	enum { FLOOD = TCPX_SOCK_PENDING + 20 };
	struct rig *r = *state;
	struct gate g = gate_open(r);
	struct tcpx_chan *chan;
	int fd[FLOOD];

	for (int i = 0; i < FLOOD; i++) {
		fd[i] = rig_raw(g.handle);
		assert_int_equal(r->ops->chan_accept(g.cl, false, &chan), -EAGAIN);
	}
	while (r->net->ports->refused < 20) {
		rig_pause(r, g.deadline);
		assert_int_equal(r->ops->chan_accept(g.cl, false, &chan), -EAGAIN);
	}
	assert_int_equal(r->net->ports->pending_count, TCPX_SOCK_PENDING);
	assert_true(rig_raw_closed(fd[0])); /* the oldest went, the newest stayed */
	assert_false(rig_raw_closed(fd[FLOOD - 1]));
	gate_close(&g);
	for (int i = 0; i < FLOOD; i++)
		close(fd[i]);
	assert_int_equal(r->net->ports->pending_count, 0); /* nothing expected: nobody waits */
	assert_true(r->warnings <= 2 + (int)(RIG_WAIT_NS / TCPX_SEC));
}

TEST_WITH(bad_handles_and_directions_are_refused, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	uint8_t handle[TCPX_HANDLE_BYTES] = { 0 };
	struct tcpx_chan_id other = rig_id(5, 0x11);
	struct tcpx_chan *chan = NULL;
	void *dial = NULL;

	assert_int_equal(r->ops->chan_connect(r->net, 0, &g.id, handle, true, &dial, &chan),
			 TCPX_EPROTO);
	assert_int_equal(r->ops->chan_connect(r->net, 0, &other, g.handle, true, &dial, &chan),
			 TCPX_EPROTO);
	assert_int_equal(r->ops->chan_connect(r->net, 0, &g.id, g.handle, false, &dial, &chan),
			 -EINVAL);
	assert_int_equal(r->ops->chan_connect(r->net, 1, &g.id, g.handle, true, &dial, &chan),
			 -EINVAL);
	assert_int_equal(r->ops->chan_accept(g.cl, true, &chan), -EINVAL);
	assert_null(dial);
	assert_null(chan);
	gate_close(&g);
}

/* Another channel's accept has let it in already; nobody comes to take it. */
TEST_WITH(set_up_given_up_half_way_leaves_nothing, rig_open, rig_close)
{
	struct rig *r = *state;
	struct gate g = gate_open(r);
	struct tcpx_chan_id other = rig_id(5, 0x22);
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	struct tcpx_chan *chan;
	void *dial = NULL;

	assert_int_equal(r->ops->chan_listen(r->net, 0, &other, handle, &cl), 0);
	while (!g.cl->used) {
		assert_int_equal(r->ops->chan_connect(r->net, 0, &g.id, g.handle, true, &dial,
						      &chan), -EAGAIN);
		assert_int_equal(r->ops->chan_accept(cl, false, &chan), -EAGAIN);
		rig_pause(r, g.deadline);
	}
	r->ops->chan_connect_cancel(r->net, &dial);
	assert_null(dial);
	r->ops->chan_connect_cancel(r->net, &dial);
	r->ops->chan_listener_close(g.cl);
	r->ops->chan_listener_close(cl);
} /* and teardown counts the descriptors */

TEST_WITH(channels_stand_over_ipv6, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(6, 6);
	struct tcpx_stream *probe;
	struct tcpx_addr bound;

	assert_int_equal(tcpx_addr_parse("::1", &r->nic.addr), 0);
	if (r->ops->listen(r->net, &r->nic.addr, &bound, &probe)) {
		print_message("# skipped: no IPv6 here\n");
		skip();
	}
	r->ops->stream_close(probe);
	assert_int_equal(rig_channel(r, &id, &r->tx, &r->rx), 0);
}

/* Channels of one thread, while another does the same on the same data port. */
static void *
make_channels(void *arg)
{
	struct rig own = *(struct rig *)arg;
	uintptr_t made = 0;

	own.ops->poller_open(own.net, &own.poller);
	for (uint16_t i = 0; i < 100; i++) {
		struct tcpx_chan_id id = rig_id(i, (uint8_t)(uintptr_t)&own);
		struct tcpx_chan *tx, *rx;

		id.session = (uintptr_t)&own;
		if (rig_channel(&own, &id, &tx, &rx))
			break;
		made += rx->session == id.session && rx->channel == i;
		own.ops->chan_close(tx);
		own.ops->chan_close(rx);
	}
	own.ops->poller_close(own.poller);
	return (void *)made;
}

TEST_WITH(loops_share_a_data_port, rig_open, rig_close)
{
	void *made[2];
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, make_channels, *state), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], &made[i]);
	for (int i = 0; i < 2; i++)
		assert_int_equal((uintptr_t)made[i], 100);
}
