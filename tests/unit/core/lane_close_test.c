/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of lanes that overtake acknowledgements: scripted network, virtual time. */
#include "nic_lab.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel/channel.h"
#include "core/session/session.h"

static const struct tcpx_fabric_script slow = { .delay_min_ns = { 20000, 20000 },
						.delay_max_ns = { 60000, 60000 },
						.segment_max = 4000 };

/* Connections of this network hold less than a message. */
static const struct tcpx_fabric_script narrow = { .delay_min_ns = { 20000, 20000 },
						  .delay_max_ns = { 60000, 60000 },
						  .segment_max = 4000, .buffer_bytes = 20000 };

enum { BIG = 200000, MANY = 6 };

struct closing {
	struct lab lab;
	tcpx_lane *tx, *rx;
	struct mem from, to;
	tcpx_xfer *send[MANY], *recv[MANY];
	uint32_t received; /* of these the receiver has taken so many */
};

static void
open_lane(struct closing *c)
{
	uint8_t key[TCPX_LANE_KEY];

	assert_ok(tcpx_lane_listen(c->lab.b, key, &c->rx));
	assert_ok(tcpx_lane_open(c->lab.p, key, &c->tx));
	while (tcpx_lane_ready(c->tx) || tcpx_lane_ready(c->rx))
		assert_false(run_until(&c->lab, never, NULL, TCPX_MS));
}

static void
closing_begin(struct closing *c, const char *channels, const struct tcpx_fabric_script *script)
{
	const char *const one[] = { channels, "TCPX_NARROW=0", "TCPX_THREADS=1", "TCPX_PORT=0",
				    "TCPX_DEBUG=WARN", NULL };

	lab_open_on(&c->lab, &tcpx_net_loop, one, script);
	meet(&c->lab);
	c->received = 0;
	mem_open(&c->from, c->lab.a, (size_t)MANY * BIG, TCPX_MEM_LOCAL);
	mem_open(&c->to, c->lab.b, (size_t)MANY * BIG, TCPX_MEM_LOCAL);
	open_lane(c);
}

static void
closing_post(struct closing *c, int n)
{
	assert_ok(tcpx_lane_post(c->rx, c->to.id, (uint64_t)n * BIG, BIG, &c->recv[n]));
	assert_ok(tcpx_lane_post(c->tx, c->from.id, (uint64_t)n * BIG, BIG, &c->send[n]));
}

static struct channel *
first_channel(tcpx_engine *e, bool sends)
{
	struct session *s = tcpx_session_after(e, NULL);

	tcpx_session_put(s);
	return sends ? s->chan.tx[0] : s->chan.rx[0];
}

static bool
is_half_a_chunk(void *arg)
{
	const struct closing *c = arg;
	const struct receiver *r = &first_channel(c->lab.b, false)->rx;

	return r->got && r->got < r->head.len && r->open.payload;
}

static bool
is_unsettled(void *arg)
{
	const struct closing *c = arg;

	return first_channel(c->lab.b, false)->rx.unsettled > 0;
}

static bool
is_received_alone(void *arg)
{
	const struct closing *c = arg;
	const struct tcpx_ack *acked = &first_channel(c->lab.a, true)->tx.acked;

	return acked->received > acked->applied;
}

static bool
is_lost(void *arg)
{
	const struct closing *c = arg;
	struct session *s = tcpx_session_after(c->lab.a, NULL);
	bool lost = !s || s->state == SESS_FAILED;

	if (s)
		tcpx_session_put(s);
	return lost;
}

/* The receiver of a lane that fails keeps a chunk unacknowledged until the sender knows of that. A channel that
 * breaks meanwhile sends the chunk again by another. */
TEST(a_channel_breaks_between_received_and_applied)
{
	struct closing c;

	closing_begin(&c, "TCPX_CHANNELS=1", &slow);
	closing_post(&c, 0);
	assert_true(run_until(&c.lab, is_half_a_chunk, &c, 10 * TCPX_SEC));
	tcpx_fabric_hold(c.lab.fabric, TCPX_FABRIC_CONTROL, 500 * TCPX_MS);
	tcpx_lane_close(c.rx);
	assert_true(run_until(&c.lab, is_unsettled, &c, 400 * TCPX_MS));
	assert_true(run_until(&c.lab, is_received_alone, &c, 400 * TCPX_MS));
	while (tcpx_fabric_count(c.lab.fabric, TCPX_FABRIC_DATA) &&
	       !tcpx_fabric_break_channel(c.lab.fabric, 0))
		;
	assert_false(run_until(&c.lab, is_lost, &c, 3 * TCPX_SEC));
	assert_true(run_until(&c.lab, over, c.send[0], TCPX_SEC));
	assert_code(tcpx_test(c.send[0]), TCPX_ECANCELED);
	tcpx_xfer_free(c.send[0]);
	tcpx_xfer_free(c.recv[0]);
	tcpx_lane_close(c.tx);
	mem_close(&c.from);
	mem_close(&c.to);
	lab_close(&c.lab);
}

static bool
has_received(void *arg)
{
	struct closing *c = arg;

	while (c->received < MANY - 1 && tcpx_test(c->recv[c->received]) != -EAGAIN)
		c->received++;
	return c->received == MANY - 1;
}

/* Ways in which a receiver goes that has taken all but the last message. */
static void
close_lane_and_engine(struct closing *c)
{
	tcpx_lane_close(c->rx);
	tcpx_close(c->lab.b);
}

static void
close_engine(struct closing *c)
{
	tcpx_close(c->lab.b);
}

static void
close_lane_with_a_receive_open(struct closing *c)
{
	assert_ok(tcpx_lane_post(c->rx, c->to.id, 0, BIG, &c->recv[MANY - 1]));
	tcpx_lane_close(c->rx);
	tcpx_close(c->lab.b);
}

static void
cancel_a_receive(struct closing *c)
{
	assert_ok(tcpx_lane_post(c->rx, c->to.id, 0, BIG, &c->recv[MANY - 1]));
	tcpx_cancel(c->recv[MANY - 1]);
	tcpx_lane_close(c->rx);
	tcpx_close(c->lab.b);
}

TEST(what_has_been_received_succeeds_though_its_receiver_closes)
{
	static void (*const ways[])(struct closing *c) = {
		close_lane_and_engine, close_engine, close_lane_with_a_receive_open, cancel_a_receive,
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct closing c;

		closing_begin(&c, "TCPX_CHANNELS=3", &slow);
		for (int n = 0; n < MANY - 1; n++)
			closing_post(&c, n);
		assert_ok(tcpx_lane_post(c.tx, c.from.id, 0, BIG, &c.send[MANY - 1]));
		assert_true(run_until(&c.lab, has_received, &c, 10 * TCPX_SEC));
		tcpx_fabric_hold(c.lab.fabric, TCPX_FABRIC_DATA, 20 * TCPX_SEC); /* acknowledgements */
		assert_code(tcpx_test(c.send[MANY - 2]), -EAGAIN);
		ways[i](&c);
		run_alone(&c.lab, c.lab.a, over, c.send[MANY - 1], TCPX_SEC);
		for (int n = 0; n < MANY - 1; n++)
			assert_ok(tcpx_test(c.send[n]));
		assert_true(tcpx_test(c.send[MANY - 1]) < 0);
		for (int n = 0; n < MANY; n++)
			tcpx_xfer_free(c.send[n]);
		tcpx_lane_close(c.tx);
		mem_close(&c.from);
		free(c.to.at);
		tcpx_peer_free(c.lab.p);
		tcpx_close(c.lab.a);
		tcpx_fabric_free(c.lab.fabric);
	}
}

/* Messages without a receive go on credit: so many would use up all of it, if it did not come back. */
TEST(a_sender_that_closes_amid_its_messages_has_its_credit_back)
{
	enum { ROUNDS = 200, LEN = 60000 };
	struct closing c;

	closing_begin(&c, "TCPX_CHANNELS=1", &narrow);
	for (int round = 0; round < ROUNDS; round++) {
		assert_ok(tcpx_lane_post(c.tx, c.from.id, 0, LEN, &c.send[0]));
		assert_true(run_until(&c.lab, is_half_a_chunk, &c, TCPX_SEC));
		tcpx_lane_close(c.tx);
		assert_code(tcpx_test(c.send[0]), TCPX_ECANCELED);
		tcpx_xfer_free(c.send[0]);
		assert_false(run_until(&c.lab, never, NULL, TCPX_MS));
		tcpx_lane_close(c.rx);
		open_lane(&c);
	}
	assert_ok(tcpx_lane_post(c.tx, c.from.id, 0, LEN, &c.send[0]));
	assert_true(run_until(&c.lab, over, c.send[0], TCPX_SEC));
	assert_ok(tcpx_test(c.send[0]));
	tcpx_xfer_free(c.send[0]);
	tcpx_lane_close(c.tx);
	tcpx_lane_close(c.rx);
	mem_close(&c.from);
	mem_close(&c.to);
	lab_close(&c.lab);
}
