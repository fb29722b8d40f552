/* SPDX-License-Identifier: Apache-2.0 */
/* Two engines' networks on one scripted fabric, and helpers for its tests. */
#ifndef FABRIC_LOOP_PAIR_H
#define FABRIC_LOOP_PAIR_H

#include "cases.h"
#include "fabric/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Two NICs each. */
struct pair {
	struct tcpx_fabric *fabric;
	const struct tcpx_net_ops *ops;
	struct tcpx_nic nic[2][2];
	struct tcpx_net *net[2];
	struct tcpx_chan_id id;
	struct tcpx_chan *tx, *rx;
};

static inline struct tcpx_addr
addr_of(int engine, int nic, uint16_t port)
{
	return (struct tcpx_addr){ .family = 4, .port = port,
				   .ip = { 10, (uint8_t)nic, 0, (uint8_t)(engine + 1) } };
}

static inline void
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
		assert_int_equal(ops->open(&params, &p->net[e], &(struct tcpx_net_facts){ 0 }), 0);
	}
}

static inline void
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

static inline void
pair_clean(struct pair *p)
{
	assert_string_equal(tcpx_fabric_violation(p->fabric), "");
	pair_close(p);
}

/* To the next moment at which something happens. */
static inline bool
tick(struct pair *p)
{
	uint64_t next = tcpx_fabric_next_ns(p->fabric);

	if (next == UINT64_MAX)
		return false;
	tcpx_fabric_advance(p->fabric, next);
	return true;
}

/* A channel over NIC n, engine 0 opens and sends. */
static inline void
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

static inline void
fill(uint8_t *data, size_t len, uint64_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)tcpx_rng_next(&rng);
}

/* Sends one message of len bytes, giving the provider little iov at a time; stops half
 * way when abandon. */
static inline int
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
			rc = p->ops->stream->send(p->tx, &m);
			assert_true(rc == 0 || rc == -EAGAIN);
			sent = rc == 0;
		}
		if (!headed) {
			rc = p->ops->stream->recv_head(p->rx, &head);
			headed = rc == 0;
		} else if (got < len) {
			struct iovec dst = { in + got, len - got };
			ssize_t n = p->ops->stream->recv(p->rx, &dst, 1);

			rc = n < 0 ? (int)n : 0;
			got += n > 0 ? (size_t)n : 0;
		} else {
			rc = p->ops->stream->recv(p->rx, NULL, 0);
			if (rc != -EAGAIN)
				break;
		}
		if (rc == -EAGAIN)
			tick(p);
		else
			assert_int_equal(rc, 0);
	}
	while (!sent) {
		rc = p->ops->stream->send(p->tx, &m);
		sent = rc == 0;
	}
	assert_int_equal(head.seq, seq);
	assert_int_equal(head.len, len);
	return rc;
}

static inline void
make_streams(struct pair *p, struct tcpx_stream **a, struct tcpx_stream **b)
{
	struct tcpx_addr any = addr_of(1, 0, 0), bound, from, at;
	struct tcpx_stream *l;

	assert_int_equal(p->ops->listen(p->net[1], &any, &bound, &l), 0);
	assert_int_equal(p->ops->connect(p->net[0], 0, &bound, 0, a), 0);
	while (p->ops->accept(l, b, &from, &at) == -EAGAIN)
		assert_true(tick(p));
	while (p->ops->stream_send(*a, NULL, 0) == -EAGAIN)
		assert_true(tick(p));
	assert_int_equal(from.ip[3], 1);
	p->ops->stream_close(l);
}

static const struct tcpx_fabric_script rough = {
	.delay_min_ns = { 1000, 1000 },
	.delay_max_ns = { 500000, 500000 },
	.segment_max = 700,
	.buffer_bytes = 3000,
	.short_ppm = 500000,
	.fragment_max = 4096,
};

#endif
