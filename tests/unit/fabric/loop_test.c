/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted network keeps the contract of net.h, acts at its own time only, and
 * notices broken rules.
 */
#include "loop_pair.h"

/* ---- streams --------------------------------------------------------------------- */

TEST(stream_bytes_arrive_in_order_and_then_the_end)
{
	static uint8_t out[20000], in[20000];
	struct tcpx_stream *a, *b;
	size_t sent = 0, got = 0;
	struct pair p;
	ssize_t n;

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

TEST(nothing_arrives_before_its_time)
{
	struct tcpx_fabric_script slow = { .delay_min_ns = { 5000, 0 },
					   .delay_max_ns = { 5000, 0 } };
	struct tcpx_stream *a, *b;
	struct pair p;
	uint64_t t;
	char c;

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

TEST(a_cut_is_seen_by_both_and_leaves_room_for_a_new_connection)
{
	struct tcpx_stream *a, *b, *c, *d;
	struct pair p;
	char byte;

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

TEST(nobody_listening_is_refused)
{
	struct tcpx_addr to = addr_of(1, 0, 99);
	struct tcpx_stream *s;
	struct pair p;
	int rc;

	pair_open(&p, &tcpx_net_loop, 4, &rough);
	assert_int_equal(p.ops->connect(p.net[0], -1, &to, 0, &s), 0);
	assert_int_equal(p.ops->stream_send(s, NULL, 0), -EAGAIN);
	while ((rc = p.ops->stream_send(s, NULL, 0)) == -EAGAIN)
		assert_true(tick(&p));
	assert_int_equal(rc, -ECONNREFUSED);
	assert_int_equal(p.ops->stream_send(s, "x", 1), -ECONNREFUSED);
	p.ops->stream_close(s);
	pair_clean(&p);
}

TEST(a_port_is_taken_once)
{
	struct tcpx_addr at = addr_of(0, 0, 0), bound[2], again;
	struct tcpx_stream *l[2], *other = NULL;
	struct pair p;

	pair_open(&p, &tcpx_net_loop, 5, NULL);
	assert_int_equal(p.ops->listen(p.net[0], &at, &bound[0], &l[0]), 0);
	assert_int_equal(p.ops->listen(p.net[0], &at, &bound[1], &l[1]), 0);
	assert_int_not_equal(bound[0].port, 0);
	assert_int_not_equal(bound[0].port, bound[1].port);
	assert_int_equal(p.ops->listen(p.net[0], &bound[0], &again, &other), -EADDRINUSE);
	assert_null(other);
	p.ops->stream_close(l[0]);
	p.ops->stream_close(l[1]);
	pair_clean(&p);
}

TEST(a_nic_that_is_down_carries_nothing)
{
	struct tcpx_addr nic = addr_of(1, 0, 0);
	struct tcpx_stream *a, *b;
	struct pair p;
	char c;

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

TEST(a_connection_to_a_nic_that_is_down_fails_or_waits)
{
	struct tcpx_addr nic = addr_of(1, 0, 0), bound;
	int refused = 0, waiting = 0;
	struct tcpx_stream *l;
	struct pair p;

	pair_open(&p, &tcpx_net_loop, 7, NULL);
	assert_int_equal(p.ops->listen(p.net[1], &nic, &bound, &l), 0);
	tcpx_fabric_set_nic_up(p.fabric, &nic, false);
	for (int i = 0; i < 32; i++) {
		struct tcpx_stream *s;

		assert_int_equal(p.ops->connect(p.net[0], 0, &bound, 0, &s), 0);
		switch (p.ops->stream_send(s, NULL, 0)) {
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
	p.ops->stream_close(l);
	pair_clean(&p);
}

TEST(data_can_overtake_control_that_is_held)
{
	struct tcpx_tx_msg m = { .head = { .seq = 1 } };
	struct tcpx_stream *a, *b;
	struct tcpx_head head;
	struct pair p;
	char c;

	pair_open(&p, &tcpx_net_loop, 8, NULL);
	make_streams(&p, &a, &b);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	tcpx_fabric_hold(p.fabric, TCPX_FABRIC_CONTROL, 1000);
	assert_int_equal(p.ops->stream_send(a, "x", 1), 1);
	assert_int_equal(p.ops->stream->send(p.tx, &m), 0);
	assert_int_equal(p.ops->stream->recv_head(p.rx, &head), 0);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), -EAGAIN);
	tcpx_fabric_advance(p.fabric, tcpx_fabric_now(p.fabric) + 1000);
	assert_int_equal(p.ops->stream_recv(b, &c, 1), 1);
	p.ops->stream_close(a);
	p.ops->stream_close(b);
	pair_clean(&p);
}

/* ---- poller ---------------------------------------------------------------------- */

TEST(the_poller_tells_what_was_asked_for_as_long_as_it_is_so)
{
	struct tcpx_stream *a, *b;
	struct tcpx_poller *poller;
	struct tcpx_net_event ev[4];
	struct pair p;
	char c;

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

TEST(the_poller_starves_nobody)
{
	struct tcpx_stream *a[3], *b[3];
	struct tcpx_poller *poller;
	struct tcpx_net_event ev;
	unsigned seen = 0;
	struct pair p;

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

TEST(without_a_fabric_it_does_not_open)
{
	struct tcpx_net_params params = { 0 };
	struct tcpx_net *net = NULL;

	assert_int_equal(tcpx_net_loop.open(&params, &net, &(struct tcpx_net_facts){ 0 }),
			 TCPX_ECONFIG);
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

TEST(a_seed_gives_the_same_run)
{
	assert_int_equal(run_of_seed(1), run_of_seed(1));
	assert_int_not_equal(run_of_seed(1), run_of_seed(2));
}

TEST(random_cuts_stop_when_calmed)
{
	struct tcpx_fabric_script script = { .cut_ppm = 1000000 };
	struct tcpx_stream *a, *b;
	struct pair p;
	char c;

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
