/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted network keeps the contract of net.h, happens at its own time only, and
 * notices who does not keep it.
 */
#include "net/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Two engines' networks on one fabric, two NICs each. */
struct pair {
	struct tcpx_fabric *fabric;
	const struct tcpx_net_ops *ops;
	struct tcpx_nic nic[2][2];
	struct tcpx_net *net[2];
	struct tcpx_chan_id id;
	struct tcpx_chan *tx, *rx;
};

static struct tcpx_addr
addr_of(int engine, int nic, uint16_t port)
{
	return (struct tcpx_addr){ .family = 4, .port = port,
				   .ip = { 10, (uint8_t)nic, 0, (uint8_t)(engine + 1) } };
}

static void
pair_open(struct pair *p, const struct tcpx_net_ops *ops, uint64_t seed,
	  const struct tcpx_fabric_script *script)
{
	memset(p, 0, sizeof(*p));
	p->ops = ops;
	p->fabric = tcpx_fabric_new(seed, script);
	assert_non_null(p->fabric);
	for (int e = 0; e < 2; e++) {
		struct tcpx_net_params params = { .nics = p->nic[e], .nic_count = 2,
						  .clock = tcpx_fabric_clock(p->fabric),
						  .fabric = p->fabric };

		for (int n = 0; n < 2; n++)
			p->nic[e][n].addr = addr_of(e, n, 0);
		assert_int_equal(ops->open(&params, &p->net[e]), 0);
	}
}

static void
pair_close(struct pair *p)
{
	if (p->tx)
		p->ops->chan_close(p->tx);
	if (p->rx)
		p->ops->chan_close(p->rx);
	p->ops->close(p->net[0]);
	p->ops->close(p->net[1]);
	tcpx_fabric_free(p->fabric);
}

static void
pair_clean(struct pair *p)
{
	assert_string_equal(tcpx_fabric_violation(p->fabric), "");
	pair_close(p);
}

/* To the next moment at which something happens. */
static bool
tick(struct pair *p)
{
	uint64_t next = tcpx_fabric_next_ns(p->fabric);

	if (next == UINT64_MAX)
		return false;
	tcpx_fabric_advance(p->fabric, next);
	return true;
}

/* A channel over NIC n, engine 0 opens and sends. */
static void
make_chan(struct pair *p, int n, uint16_t channel, struct tcpx_chan **tx, struct tcpx_chan **rx)
{
	struct tcpx_chan_id id = { .session = 7, .channel = channel, .generation = 1,
				   .sending_side_is_opener = 1, .token = { 1, 2, 3 } };
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	void *state = NULL;
	int rc, rc2 = -EAGAIN;

	*tx = *rx = NULL;
	assert_int_equal(p->ops->chan_listen(p->net[1], n, &id, handle, &cl), 0);
	do {
		rc = *tx ? 0 : p->ops->chan_connect(p->net[0], n, &id, handle, true, &state, tx);
		if (!*rx)
			rc2 = p->ops->chan_accept(cl, false, rx);
	} while ((rc || rc2) && tick(p));
	assert_int_equal(rc, 0);
	assert_int_equal(rc2, 0);
	p->ops->chan_listener_close(cl);
}

static void
fill(uint8_t *data, size_t len, uint64_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)tcpx_rng_next(&rng);
}

static void
make_streams(struct pair *p, struct tcpx_stream **a, struct tcpx_stream **b)
{
	struct tcpx_addr any = addr_of(1, 0, 0), bound, from;
	struct tcpx_listener *l;

	assert_int_equal(p->ops->listen(p->net[1], &any, &bound, &l), 0);
	assert_int_equal(p->ops->connect(p->net[0], 0, &bound, a), 0);
	while (p->ops->accept(l, b, &from) == -EAGAIN)
		assert_true(tick(p));
	while (p->ops->stream_up(*a) == -EAGAIN)
		assert_true(tick(p));
	assert_int_equal(from.ip[3], 1);
	p->ops->listener_close(l);
}

static const struct tcpx_fabric_script rough = {
	.delay_min_ns = { 1000, 1000 },
	.delay_max_ns = { 500000, 500000 },
	.segment_max = 700,
	.buffer_bytes = 3000,
	.short_ppm = 500000,
	.fragment_max = 4096,
};

/* ---- streams --------------------------------------------------------------------- */

static void
stream_bytes_arrive_in_order_and_then_the_end(void **state)
{
	static uint8_t out[20000], in[20000];
	struct tcpx_stream *a, *b;
	size_t sent = 0, got = 0;
	struct pair p;
	ssize_t n;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 1, &rough);
	make_streams(&p, &a, &b);
	fill(out, sizeof(out), 1);
	for (;;) {
		n = sent < sizeof(out) ? p.ops->stream_send(a, out + sent, sizeof(out) - sent)
				       : -EAGAIN;
		if (n > 0)
			sent += (size_t)n;
		if (a && sent == sizeof(out)) {
			p.ops->stream_close(a);
			a = NULL;
		}
		n = p.ops->stream_recv(b, in + got, sizeof(in) - got + 1);
		if (n > 0)
			got += (size_t)n;
		else if (n == 0)
			break;
		else if (n == -EAGAIN)
			tick(&p);
		else
			fail_msg("recv gave %zd", n);
	}
	assert_int_equal(got, sizeof(in));
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(p.ops->stream_send(b, "x", 1), -ECONNRESET);
	p.ops->stream_close(b);
	pair_clean(&p);
}

static void
nothing_arrives_before_its_time(void **state)
{
	struct tcpx_fabric_script slow = { .delay_min_ns = { 5000, 0 },
					   .delay_max_ns = { 5000, 0 } };
	struct tcpx_stream *a, *b;
	struct pair p;
	uint64_t t;
	char c;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 2, &slow);
	make_streams(&p, &a, &b);
	assert_int_equal(p.ops->stream_send(a, "x", 1), 1);
	t = tcpx_fabric_now(p.fabric) + 5000;
	assert_int_equal(tcpx_fabric_next_ns(p.fabric), t);
	tcpx_fabric_advance(p.fabric, t - 1);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), -EAGAIN);
	tcpx_fabric_advance(p.fabric, t);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), 1);
	assert_int_equal(tcpx_fabric_next_ns(p.fabric), UINT64_MAX);
	p.ops->stream_close(a);
	p.ops->stream_close(b);
	pair_clean(&p);
}

static void
a_cut_is_seen_by_both_and_leaves_room_for_a_new_connection(void **state)
{
	struct tcpx_stream *a, *b, *c, *d;
	struct pair p;
	char byte;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 3, &rough);
	make_streams(&p, &a, &b);
	assert_int_equal(tcpx_fabric_count(p.fabric, TCPX_FABRIC_CONTROL), 1);
	assert_int_equal(p.ops->stream_send(a, "x", 1), 1);
	assert_int_equal(tcpx_fabric_cut_control(p.fabric, 1), -ENOENT);
	assert_int_equal(tcpx_fabric_cut_control(p.fabric, 0), 0);
	tick(&p);
	assert_in_range(-p.ops->stream_recv(a, &byte, 1), 0, ECONNRESET);
	assert_int_not_equal(p.ops->stream_recv(a, &byte, 1), -EAGAIN);
	assert_int_not_equal(p.ops->stream_recv(b, &byte, 1), -EAGAIN);
	assert_int_not_equal(p.ops->stream_recv(b, &byte, 1), 1);
	assert_int_equal(p.ops->stream_send(a, "x", 1), -ECONNRESET);
	assert_int_equal(p.ops->stream_send(b, "x", 1), -ECONNRESET);
	make_streams(&p, &c, &d);
	p.ops->stream_close(a);
	p.ops->stream_close(b);
	p.ops->stream_close(c);
	p.ops->stream_close(d);
	pair_clean(&p);
}

static void
nobody_listening_is_refused(void **state)
{
	struct tcpx_addr to = addr_of(1, 0, 99);
	struct tcpx_stream *s;
	struct pair p;
	int rc;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 4, &rough);
	assert_int_equal(p.ops->connect(p.net[0], -1, &to, &s), 0);
	assert_int_equal(p.ops->stream_up(s), -EAGAIN);
	while ((rc = p.ops->stream_up(s)) == -EAGAIN)
		assert_true(tick(&p));
	assert_int_equal(rc, -ECONNREFUSED);
	assert_int_equal(p.ops->stream_send(s, "x", 1), -ECONNREFUSED);
	p.ops->stream_close(s);
	pair_clean(&p);
}

static void
a_port_is_taken_once(void **state)
{
	struct tcpx_addr at = addr_of(0, 0, 0), bound[2], again;
	struct tcpx_listener *l[2], *other = NULL;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 5, NULL);
	assert_int_equal(p.ops->listen(p.net[0], &at, &bound[0], &l[0]), 0);
	assert_int_equal(p.ops->listen(p.net[0], &at, &bound[1], &l[1]), 0);
	assert_int_not_equal(bound[0].port, 0);
	assert_int_not_equal(bound[0].port, bound[1].port);
	assert_int_equal(p.ops->listen(p.net[0], &bound[0], &again, &other), -EADDRINUSE);
	assert_null(other);
	p.ops->listener_close(l[0]);
	p.ops->listener_close(l[1]);
	pair_clean(&p);
}

static void
a_nic_that_is_down_carries_nothing(void **state)
{
	struct tcpx_addr nic = addr_of(1, 0, 0);
	struct tcpx_stream *a, *b;
	struct pair p;
	char c;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 6, NULL);
	make_streams(&p, &a, &b);
	assert_int_equal(p.ops->stream_send(a, "x", 1), 1);
	tcpx_fabric_set_nic_up(p.fabric, &nic, false);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), -EAGAIN);
	assert_int_equal(tcpx_fabric_next_ns(p.fabric), UINT64_MAX);
	tcpx_fabric_set_nic_up(p.fabric, &nic, true);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), 1);
	p.ops->stream_close(a);
	p.ops->stream_close(b);
	pair_clean(&p);
}

static void
a_connection_to_a_nic_that_is_down_fails_or_waits(void **state)
{
	struct tcpx_addr nic = addr_of(1, 0, 0), bound;
	int refused = 0, waiting = 0;
	struct tcpx_listener *l;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 7, NULL);
	assert_int_equal(p.ops->listen(p.net[1], &nic, &bound, &l), 0);
	tcpx_fabric_set_nic_up(p.fabric, &nic, false);
	for (int i = 0; i < 32; i++) {
		struct tcpx_stream *s;

		assert_int_equal(p.ops->connect(p.net[0], 0, &bound, &s), 0);
		switch (p.ops->stream_up(s)) {
		case -EAGAIN:
			waiting++;
			break;
		case -EHOSTUNREACH:
			refused++;
			break;
		default:
			fail();
		}
		p.ops->stream_close(s);
	}
	assert_true(refused > 0 && waiting > 0);
	p.ops->listener_close(l);
	pair_clean(&p);
}

static void
data_can_overtake_control_that_is_held(void **state)
{
	struct tcpx_tx_msg m = { .head = { .seq = 1 } };
	struct tcpx_stream *a, *b;
	struct tcpx_head head;
	struct pair p;
	char c;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 8, NULL);
	make_streams(&p, &a, &b);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	tcpx_fabric_hold(p.fabric, TCPX_FABRIC_CONTROL, 1000);
	assert_int_equal(p.ops->stream_send(a, "x", 1), 1);
	assert_int_equal(p.ops->chan_send(p.tx, &m), 0);
	assert_int_equal(p.ops->chan_recv_head(p.rx, &head), 0);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), -EAGAIN);
	tcpx_fabric_advance(p.fabric, tcpx_fabric_now(p.fabric) + 1000);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), 1);
	p.ops->stream_close(a);
	p.ops->stream_close(b);
	pair_clean(&p);
}

/* ---- channels that deliver directly ---------------------------------------------- */

/* Sends one message of len bytes, giving the provider little iov at a time; stops half
 * way when abandon. */
static int
direct_message(struct pair *p, uint64_t seq, uint8_t *data, uint32_t len, bool abandon,
	       uint8_t *in)
{
	struct tcpx_tx_msg m = { .head = { .xfer = 5, .chunk = (uint32_t)seq, .len = len,
					   .seq = seq } };
	bool sent = false, headed = false;
	struct tcpx_head head;
	struct iovec iov[2];
	size_t got = 0;
	int rc;

	for (;;) {
		if (!sent) {
			size_t left = len - m.sent, part = left < 900 ? left : 900;

			iov[0] = (struct iovec){ data + m.sent, part / 3 };
			iov[1] = (struct iovec){ data + m.sent + part / 3, part - part / 3 };
			m.iov = iov;
			m.iov_count = 2;
			m.abandon = abandon && m.sent >= len / 2;
			rc = p->ops->chan_send(p->tx, &m);
			assert_true(rc == 0 || rc == -EAGAIN);
			sent = rc == 0;
		}
		if (!headed) {
			rc = p->ops->chan_recv_head(p->rx, &head);
			headed = rc == 0;
		} else if (got < len) {
			struct iovec dst = { in + got, len - got };
			ssize_t n = p->ops->chan_recv_body(p->rx, &dst, 1);

			rc = n < 0 ? (int)n : 0;
			got += n > 0 ? (size_t)n : 0;
		} else {
			rc = p->ops->chan_recv_end(p->rx);
			if (rc != -EAGAIN)
				break;
		}
		if (rc == -EAGAIN)
			tick(p);
		else
			assert_int_equal(rc, 0);
	}
	while (!sent) {
		rc = p->ops->chan_send(p->tx, &m);
		sent = rc == 0;
	}
	assert_int_equal(head.seq, seq);
	assert_int_equal(head.len, len);
	return rc;
}

static void
messages_arrive_whole_over_a_rough_channel(void **state)
{
	static const uint32_t lens[] = { 0, 1, 2, 40, 4097, 70000 };
	static uint8_t out[70000], in[70000];
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 9, &rough);
	make_chan(&p, 1, 0, &p.tx, &p.rx);
	fill(out, sizeof(out), 9);
	for (size_t i = 0; i < LEN(lens); i++) {
		memset(in, 0, sizeof(in));
		assert_int_equal(direct_message(&p, i + 1, out, lens[i], false, in), 0);
		assert_memory_equal(in, out, lens[i]);
	}
	pair_clean(&p);
}

static void
an_abandoned_message_is_void_and_the_next_is_good(void **state)
{
	static uint8_t out[50000], in[50000];
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 10, &rough);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	fill(out, sizeof(out), 10);
	assert_int_equal(direct_message(&p, 1, out, sizeof(out), true, in), TCPX_ECANCELED);
	assert_int_not_equal(memcmp(in, out, sizeof(in)), 0);
	assert_int_equal(direct_message(&p, 2, out, 0, true, in), TCPX_ECANCELED);
	assert_int_equal(direct_message(&p, 3, out, sizeof(out), false, in), 0);
	assert_memory_equal(in, out, sizeof(in));
	pair_clean(&p);
}

static void
acknowledgements_come_back_newest_last(void **state)
{
	struct tcpx_ack ack = { 2, 1 }, got = { 0, 0 };
	struct pair p;
	uint8_t none;
	int rc;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 11, &rough);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	for (uint64_t seq = 1; seq <= 3; seq++)
		direct_message(&p, seq, &none, 0, false, &none);
	assert_int_equal(p.ops->chan_acked(p.tx, &got), -EAGAIN);
	assert_int_equal(p.ops->chan_ack(p.rx, &ack), 0);
	ack = (struct tcpx_ack){ 3, 3 };
	assert_int_equal(p.ops->chan_ack(p.rx, &ack), 0);
	while (got.applied < 3) {
		rc = p.ops->chan_acked(p.tx, &got);
		assert_true(rc == 0 || (rc == -EAGAIN && got.applied < 3));
		if (rc)
			assert_true(tick(&p));
	}
	assert_int_equal(got.received, 3);
	pair_clean(&p);
}

static void
a_broken_channel_is_over_for_both(void **state)
{
	struct tcpx_fabric_fault at = { .kind = TCPX_FABRIC_BREAK_CHANNEL, .at_bytes = 5000 };
	static uint8_t out[20000], in[20000];
	struct tcpx_fabric_script script = rough;
	struct iovec iov = { out, sizeof(out) }, dst = { in, sizeof(in) };
	struct tcpx_tx_msg m = { .head = { .len = sizeof(out), .seq = 1 }, .iov = &iov,
				 .iov_count = 1 };
	struct tcpx_ack ack;
	struct tcpx_head head;
	struct pair p;
	bool headed = false;
	ssize_t n = 0;
	int rc;

	(void)state;
	script.faults = &at;
	script.fault_count = 1;
	pair_open(&p, &tcpx_net_loop, 12, &script);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	while ((rc = p.ops->chan_send(p.tx, &m)) == -EAGAIN || n >= 0 || n == -EAGAIN) {
		if (rc != -EAGAIN)
			assert_int_equal(rc, TCPX_ECHANNEL);
		if (!headed) {
			n = p.ops->chan_recv_head(p.rx, &head);
			headed = n == 0;
		} else {
			n = p.ops->chan_recv_body(p.rx, &dst, 1);
		}
		if (n == -EAGAIN)
			tick(&p);
	}
	assert_int_equal(rc, TCPX_ECHANNEL);
	assert_int_equal(n, TCPX_ECHANNEL);
	assert_in_range(m.sent, 1, sizeof(out) - 1);
	assert_int_equal(p.ops->chan_acked(p.tx, &ack), TCPX_ECHANNEL);
	pair_clean(&p);
}

static void
a_closed_end_ends_the_other(void **state)
{
	struct tcpx_tx_msg m = { .head = { .seq = 1 } };
	struct tcpx_head head;
	struct pair p;

	(void)state;
	for (int who = 0; who < 2; who++) {
		pair_open(&p, &tcpx_net_loop, 13, NULL);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		if (who == 0) {
			assert_int_equal(p.ops->chan_send(p.tx, &m), 0);
			p.ops->chan_close(p.tx);
			p.tx = NULL;
			assert_int_equal(p.ops->chan_recv_head(p.rx, &head), 0);
			assert_int_equal(p.ops->chan_recv_end(p.rx), 0);
			assert_int_equal(p.ops->chan_recv_head(p.rx, &head), TCPX_ECHANNEL);
		} else {
			p.ops->chan_close(p.rx);
			p.rx = NULL;
			assert_int_equal(p.ops->chan_send(p.tx, &m), TCPX_ECHANNEL);
		}
		pair_clean(&p);
	}
}

static void
bandwidth_is_shared_by_the_channels_of_a_nic(void **state)
{
	struct tcpx_fabric_script script = { .nic_Bps = 1000000 };
	static uint8_t out[2][50000];
	struct tcpx_chan *tx[2], *rx[2];
	struct pair p;
	uint64_t start;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 14, &script);
	start = tcpx_fabric_now(p.fabric);
	for (int i = 0; i < 2; i++) {
		struct iovec iov = { out[i], sizeof(out[i]) };
		struct tcpx_tx_msg m = { .head = { .len = sizeof(out[i]), .seq = 1,
						   .chunk = (uint32_t)i },
					 .iov = &iov, .iov_count = 1 };

		make_chan(&p, 0, (uint16_t)i, &tx[i], &rx[i]);
		assert_int_equal(p.ops->chan_send(tx[i], &m), 0);
	}
	while (tick(&p))
		;
	assert_in_range(tcpx_fabric_now(p.fabric) - start, 100 * TCPX_MS, 101 * TCPX_MS);
	for (int i = 0; i < 2; i++) {
		p.ops->chan_close(tx[i]);
		p.ops->chan_close(rx[i]);
	}
	pair_clean(&p);
}

static void
only_the_right_token_gets_in_and_once(void **state)
{
	struct tcpx_chan_id id = { .session = 1, .sending_side_is_opener = 1 }, wrong = id;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	struct tcpx_chan *late = NULL;
	void *conn = NULL;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 15, NULL);
	wrong.token[15] = 1;
	assert_int_equal(p.ops->chan_listen(p.net[1], 0, &id, handle, &cl), 0);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &wrong, handle, true, &conn, &p.tx),
			 TCPX_ECHANNEL);
	assert_null(conn);
	assert_int_equal(p.ops->chan_accept(cl, false, &p.rx), -EAGAIN);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, false, &conn, &p.tx),
			 -EINVAL);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &p.tx), 0);
	assert_int_equal(p.ops->chan_accept(cl, false, &p.rx), 0);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &late),
			 TCPX_ECHANNEL);
	p.ops->chan_listener_close(cl);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &late),
			 -ECONNREFUSED);
	assert_null(late);
	pair_clean(&p);
}

static void
a_connect_given_up_leaves_nothing(void **state)
{
	struct tcpx_chan_id id = { .session = 1, .sending_side_is_opener = 1 };
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	void *conn = NULL;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 16, &rough);
	assert_int_equal(p.ops->chan_listen(p.net[1], 0, &id, handle, &cl), 0);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &p.tx),
			 -EAGAIN);
	assert_non_null(conn);
	p.ops->chan_connect_cancel(p.net[0], &conn);
	assert_null(conn);
	tick(&p);
	assert_int_equal(p.ops->chan_accept(cl, false, &p.rx), -EAGAIN);
	p.ops->chan_listener_close(cl);
	pair_clean(&p);
}

/* ---- poller ---------------------------------------------------------------------- */

static void
the_poller_tells_what_was_asked_for_as_long_as_it_is_so(void **state)
{
	struct tcpx_stream *a, *b;
	struct tcpx_poller *poller;
	struct tcpx_event ev[4];
	struct pair p;
	char c;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 17, NULL);
	make_streams(&p, &a, &b);
	assert_int_equal(p.ops->poller_open(p.net[1], &poller), 0);
	assert_int_equal(p.ops->stream_watch(b, poller, &b, TCPX_READABLE), 0);
	assert_int_equal(p.ops->poller_wait(poller, ev, 4, -1), 0);
	p.ops->stream_send(a, "x", 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(p.ops->poller_wait(poller, ev, 4, -1), 1);
		assert_int_equal(ev[0].ready, TCPX_READABLE);
		assert_ptr_equal(ev[0].owner, &b);
	}
	p.ops->stream_watch(b, poller, &b, TCPX_WRITABLE | TCPX_READABLE);
	assert_int_equal(p.ops->poller_wait(poller, ev, 4, -1), 1);
	assert_int_equal(ev[0].ready, TCPX_READABLE | TCPX_WRITABLE);
	p.ops->stream_watch(b, poller, &b, 0);
	assert_int_equal(p.ops->poller_wait(poller, ev, 4, -1), 0);
	p.ops->stream_recv(b, &c, 1);
	p.ops->stream_close(a);
	assert_int_equal(p.ops->poller_wait(poller, ev, 4, -1), 1);
	assert_int_equal(ev[0].ready, TCPX_BROKEN);
	p.ops->stream_close(b);
	assert_int_equal(p.ops->poller_wait(poller, ev, 4, -1), 0);
	p.ops->poller_close(poller);
	pair_clean(&p);
}

static void
the_poller_starves_nobody(void **state)
{
	struct tcpx_stream *a[3], *b[3];
	struct tcpx_poller *poller;
	struct tcpx_event ev;
	unsigned seen = 0;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 18, NULL);
	assert_int_equal(p.ops->poller_open(p.net[0], &poller), 0);
	for (int i = 0; i < 3; i++) {
		make_streams(&p, &a[i], &b[i]);
		p.ops->stream_watch(a[i], poller, &a[i], TCPX_WRITABLE);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(p.ops->poller_wait(poller, &ev, 1, 0), 1);
		seen |= 1u << ((struct tcpx_stream **)ev.owner - a);
	}
	assert_int_equal(seen, 7);
	for (int i = 0; i < 3; i++) {
		p.ops->stream_close(a[i]);
		p.ops->stream_close(b[i]);
	}
	p.ops->poller_close(poller);
	pair_clean(&p);
}

/* ---- slots ----------------------------------------------------------------------- */

static int
slot_send(struct pair *p, uint64_t seq, uint8_t *data, size_t len)
{
	struct iovec iov[2] = { { data, len / 3 }, { data + len / 3, len - len / 3 } };
	struct tcpx_tx_msg m = { .head = { .xfer = 1, .chunk = (uint32_t)seq,
					   .len = (uint32_t)len, .seq = seq },
				 .iov = iov, .iov_count = 2 };

	return p->ops->chan_send(p->tx, &m);
}

static void
a_landed_message_is_its_fragments_in_order(void **state)
{
	static const size_t lens[] = { 0, 1, 4096, 100000, 512 << 10 };
	static uint8_t out[512 << 10], in[512 << 10];
	struct tcpx_landed msg;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop_slots, 20, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	fill(out, sizeof(out), 20);
	for (size_t i = 0; i < LEN(lens); i++) {
		size_t at = 0;

		assert_int_equal(slot_send(&p, i + 1, out, lens[i]), 0);
		assert_int_equal(p.ops->chan_recv_msg(p.rx, &msg), 0);
		for (uint32_t f = 0; f < msg.frag_count; f++) {
			assert_in_range(msg.frag[f].iov_len, 1, 4096);
			memcpy(in + at, msg.frag[f].iov_base, msg.frag[f].iov_len);
			at += msg.frag[f].iov_len;
		}
		assert_int_equal(at, lens[i]);
		assert_memory_equal(in, out, at);
		assert_int_equal(p.ops->chan_release(p.rx, i + 1), 0);
	}
	pair_clean(&p);
}

static void
slots_are_limited_and_released_in_order(void **state)
{
	uint8_t data[10] = "0123456789";
	struct tcpx_landed msg[16], more;
	const uint8_t *late;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop_slots, 21, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	for (uint64_t seq = 1; seq <= 16; seq++)
		assert_int_equal(slot_send(&p, seq, data, sizeof(data)), 0);
	assert_int_equal(slot_send(&p, 17, data, sizeof(data)), -EAGAIN);
	for (int i = 0; i < 16; i++)
		assert_int_equal(p.ops->chan_recv_msg(p.rx, &msg[i]), 0);
	assert_int_equal(p.ops->chan_recv_msg(p.rx, &more), -EAGAIN);
	assert_int_equal(slot_send(&p, 17, data, sizeof(data)), -EAGAIN);
	late = msg[0].frag[0].iov_base;
	assert_int_equal(*late, '0');
	assert_int_equal(p.ops->chan_release(p.rx, 1), 0);
	assert_int_equal(*late, 0xDB);
	assert_int_equal(slot_send(&p, 17, data, sizeof(data)), 0);
	assert_int_equal(tcpx_fabric_violations(p.fabric), 0);

	assert_int_equal(p.ops->chan_release(p.rx, 3), TCPX_EFRAME); /* out of order */
	assert_int_equal(p.ops->chan_release(p.rx, 1), TCPX_EFRAME); /* twice */
	assert_int_equal(tcpx_fabric_violations(p.fabric), 2);
	pair_close(&p);
}

static void
a_send_slot_is_read_when_the_message_lands(void **state)
{
	struct tcpx_fabric_script script = { .delay_min_ns = { 0, 500 },
					     .delay_max_ns = { 0, 500 } };
	uint8_t data = 'a';
	struct tcpx_landed msg;
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop_slots, 22, &script);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	assert_int_equal(slot_send(&p, 1, &data, 1), 0);
	data = 'b'; /* too early: nobody has said that it was received */
	assert_int_equal(p.ops->chan_recv_msg(p.rx, &msg), -EAGAIN);
	tick(&p);
	assert_int_equal(p.ops->chan_recv_msg(p.rx, &msg), 0);
	assert_int_equal(*(uint8_t *)msg.frag[0].iov_base, 'b');
	pair_clean(&p);
}

/* ---- rules ----------------------------------------------------------------------- */

static void
user_memory_may_not_be_sent_as_a_slot(void **state)
{
	uint8_t data[10] = { 0 };
	struct pair p;

	(void)state;
	pair_open(&p, &tcpx_net_loop_slots, 23, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	tcpx_fabric_forbid(p.fabric, data + 9, 1);
	assert_int_equal(slot_send(&p, 1, data, 9), 0);
	assert_int_equal(slot_send(&p, 2, data, 10), TCPX_EFRAME);
	assert_int_equal(tcpx_fabric_violations(p.fabric), 1);
	pair_close(&p);
}

static void
a_chunk_may_not_be_on_two_channels(void **state)
{
	struct tcpx_tx_msg m = { .head = { .xfer = 1, .chunk = 2, .seq = 1 } }, again = m;
	struct tcpx_ack ack = { 1, 1 };
	struct tcpx_chan *tx, *rx;
	struct tcpx_head head;

	(void)state;
	for (int how = 0; how < 3; how++) {
		struct pair p;

		pair_open(&p, &tcpx_net_loop, 24, NULL);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		make_chan(&p, 1, 1, &tx, &rx);
		m.phase = again.phase = 0;
		assert_int_equal(p.ops->chan_send(p.tx, &m), 0);
		if (how == 1) { /* the receiver has let go of the first */
			p.ops->chan_close(p.rx);
			p.rx = NULL;
		} else if (how == 2) { /* the first was applied */
			assert_int_equal(p.ops->chan_recv_head(p.rx, &head), 0);
			assert_int_equal(p.ops->chan_recv_end(p.rx), 0);
			assert_int_equal(p.ops->chan_ack(p.rx, &ack), 0);
			assert_int_equal(p.ops->chan_acked(p.tx, &ack), 0);
		}
		assert_int_equal(p.ops->chan_send(tx, &again), how ? 0 : TCPX_EFRAME);
		assert_int_equal(tcpx_fabric_violations(p.fabric), how ? 0 : 1);
		p.ops->chan_close(tx);
		p.ops->chan_close(rx);
		pair_close(&p);
	}
}

static void
an_acknowledgement_may_not_run_ahead_or_back(void **state)
{
	static const struct {
		const char *name;
		struct tcpx_ack first, second;
		bool slots;
	} rows[] = {
		{ "more than was delivered", { 3, 1 }, { 0, 0 }, false },
		{ "applied before received", { 1, 2 }, { 0, 0 }, false },
		{ "backward", { 2, 2 }, { 2, 1 }, false },
		{ "applied before released", { 2, 1 }, { 0, 0 }, true },
	};
	uint8_t none;

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct tcpx_landed msg;
		struct pair p;
		int rc;

		pair_open(&p, rows[i].slots ? &tcpx_net_loop_slots : &tcpx_net_loop, 25, NULL);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		for (uint64_t seq = 1; seq <= 2; seq++) {
			if (rows[i].slots) {
				assert_int_equal(slot_send(&p, seq, &none, 0), 0);
				assert_int_equal(p.ops->chan_recv_msg(p.rx, &msg), 0);
			} else {
				direct_message(&p, seq, &none, 0, false, &none);
			}
		}
		rc = p.ops->chan_ack(p.rx, &rows[i].first);
		if (rc == 0)
			rc = p.ops->chan_ack(p.rx, &rows[i].second);
		if (rc != TCPX_EFRAME || tcpx_fabric_violations(p.fabric) != 1)
			fail_msg("%s: rc is %d", rows[i].name, rc);
		pair_close(&p);
	}
}

static void
what_is_left_open_is_noticed(void **state)
{
	struct tcpx_fabric *f = tcpx_fabric_new(26, NULL);
	struct tcpx_net_params params = { .fabric = f };
	struct tcpx_poller *poller;
	struct tcpx_net *net;

	(void)state;
	assert_int_equal(tcpx_net_loop.open(&params, &net), 0);
	assert_int_equal(tcpx_net_loop.poller_open(net, &poller), 0);
	tcpx_net_loop.close(net);
	assert_int_equal(tcpx_fabric_violations(f), 1);
	free(poller);
	tcpx_fabric_free(f);
}

static void
without_a_fabric_it_does_not_open(void **state)
{
	struct tcpx_net_params params = { 0 };
	struct tcpx_net *net = NULL;

	(void)state;
	assert_int_equal(tcpx_net_loop.open(&params, &net), TCPX_ECONFIG);
	assert_null(net);
}

/* ---- chance ---------------------------------------------------------------------- */

static uint64_t
run_of_seed(uint64_t seed)
{
	static uint8_t out[30000], in[30000];
	struct pair p;
	uint64_t end;

	pair_open(&p, &tcpx_net_loop, seed, &rough);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	direct_message(&p, 1, out, sizeof(out), false, in);
	end = tcpx_fabric_now(p.fabric);
	pair_clean(&p);
	return end;
}

static void
a_seed_gives_the_same_run(void **state)
{
	(void)state;
	assert_int_equal(run_of_seed(1), run_of_seed(1));
	assert_int_not_equal(run_of_seed(1), run_of_seed(2));
}

static void
random_cuts_stop_when_calmed(void **state)
{
	struct tcpx_fabric_script script = { .cut_ppm = 1000000 };
	struct tcpx_stream *a, *b;
	struct pair p;
	char c;

	(void)state;
	pair_open(&p, &tcpx_net_loop, 27, &script);
	for (int calm = 0; calm < 2; calm++) {
		if (calm)
			tcpx_fabric_calm(p.fabric);
		make_streams(&p, &a, &b);
		assert_int_equal(p.ops->stream_send(a, "x", 1), 1);
		assert_int_equal(p.ops->stream_recv(b, &c, 1), 1);
		assert_int_equal(tcpx_fabric_count(p.fabric, TCPX_FABRIC_CONTROL), calm);
		p.ops->stream_close(a);
		p.ops->stream_close(b);
	}
	pair_clean(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_bytes_arrive_in_order_and_then_the_end),
		cmocka_unit_test(nothing_arrives_before_its_time),
		cmocka_unit_test(a_cut_is_seen_by_both_and_leaves_room_for_a_new_connection),
		cmocka_unit_test(nobody_listening_is_refused),
		cmocka_unit_test(a_port_is_taken_once),
		cmocka_unit_test(a_nic_that_is_down_carries_nothing),
		cmocka_unit_test(a_connection_to_a_nic_that_is_down_fails_or_waits),
		cmocka_unit_test(data_can_overtake_control_that_is_held),
		cmocka_unit_test(messages_arrive_whole_over_a_rough_channel),
		cmocka_unit_test(an_abandoned_message_is_void_and_the_next_is_good),
		cmocka_unit_test(acknowledgements_come_back_newest_last),
		cmocka_unit_test(a_broken_channel_is_over_for_both),
		cmocka_unit_test(a_closed_end_ends_the_other),
		cmocka_unit_test(bandwidth_is_shared_by_the_channels_of_a_nic),
		cmocka_unit_test(only_the_right_token_gets_in_and_once),
		cmocka_unit_test(a_connect_given_up_leaves_nothing),
		cmocka_unit_test(the_poller_tells_what_was_asked_for_as_long_as_it_is_so),
		cmocka_unit_test(the_poller_starves_nobody),
		cmocka_unit_test(a_landed_message_is_its_fragments_in_order),
		cmocka_unit_test(slots_are_limited_and_released_in_order),
		cmocka_unit_test(a_send_slot_is_read_when_the_message_lands),
		cmocka_unit_test(user_memory_may_not_be_sent_as_a_slot),
		cmocka_unit_test(a_chunk_may_not_be_on_two_channels),
		cmocka_unit_test(an_acknowledgement_may_not_run_ahead_or_back),
		cmocka_unit_test(what_is_left_open_is_noticed),
		cmocka_unit_test(without_a_fabric_it_does_not_open),
		cmocka_unit_test(a_seed_gives_the_same_run),
		cmocka_unit_test(random_cuts_stop_when_calmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
