/* SPDX-License-Identifier: Apache-2.0 */
/* How many messages a turn of a receiving channel takes, and when it acknowledges them. */
#include "bare.h"

#include <errno.h>

#include "core/channel/receiver.h"

#define KIB   1024u
#define WAITS 77u
#define HELD  78u

/* A connection with messages of these lengths; they are here whole. */
struct tcpx_chan {
	uint32_t len[32];
	uint32_t count, next, left;
	struct tcpx_ack acked;
	uint32_t acks;
	bool full; /* it takes no acknowledgement */
	bool settled; /* what is in place may be acknowledged */
	unsigned interest;
};

static int
recv_head(struct tcpx_chan *c, struct tcpx_head *head)
{
	if (c->next == c->count)
		return -EAGAIN;
	c->left = c->len[c->next++];
	*head = (struct tcpx_head){ .len = c->left, .seq = c->next };
	return 0;
}

static ssize_t
receive(struct tcpx_chan *c, struct iovec *iov, int iov_count)
{
	size_t n = iov_count && iov->iov_len < c->left ? iov->iov_len : c->left;

	c->left -= (uint32_t)n;
	return (ssize_t)n;
}

static int
ack(struct tcpx_chan *c, const struct tcpx_ack *ack)
{
	if (c->full)
		return -EAGAIN;
	c->acked = *ack;
	c->acks++;
	return 0;
}

static int
watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner, unsigned interest)
{
	c->interest = interest;
	return 0;
}

/* Messages of that length wait for their OPEN. */
static int
place(struct channel *c, const struct tcpx_head *h, struct rx_record *r, enum chunk_place *how)
{
	r->len = h->len;
	*how = h->len == WAITS ? CHUNK_PARK : CHUNK_SINK;
	return 0;
}

static int
applied(struct channel *c, const struct rx_record *r, uint64_t now_ns)
{
	return r->len == HELD;
}

/* Messages of that length are in place, and wait for a word of the peer to be acknowledged. */
static bool
settled(struct channel *c, const struct rx_record *r)
{
	return c->chan->settled;
}

static const struct tcpx_stream_chan_ops stream = { .recv_head = recv_head, .recv = receive, .ack = ack };
static const struct channel_calls calls = { .place = place, .applied = applied,
					    .settled = settled };

/* A channel that receives from this connection. */
static struct channel *
begin(struct bare *b, struct tcpx_chan *conn)
{
	struct channel *c;

	bare_open(b, true);
	b->s->chan.window = 32;
	b->ops.stream = &stream;
	b->ops.chan_watch = watch;
	b->e.up.channel = &calls;
	b->e.limit.turn_pieces = 1000;
	assert_int_equal(tcpx_channel_new(b->s, 0, false, false, &c), 0);
	b->s->chan.rx[0] = c;
	c->state = CHAN_UP;
	c->chan = conn;
	return c;
}

static void
end(struct bare *b, struct channel *c)
{
	(void)bare_works(c->loop);
	c->chan = NULL;
	bare_close(b);
}

TEST(two_of_64_kib_share_an_acknowledgement)
{
	static const struct {
		uint32_t len, count;
		uint32_t turn[4]; /* how many have been acknowledged after each */
		uint32_t last;    /* length of the last one; 0: as the others */
	} table[] = {
		{ 64 * KIB, 1, { 1 }, 0 },
		{ 64 * KIB, 5, { 2, 4, 5 }, 0 },
		{ 100 * KIB, 3, { 2, 3 }, 0 },
		{ 128 * KIB, 2, { 1, 2 }, 0 },
		{ 2048 * KIB, 2, { 1, 2 }, 0 },
		{ 63 * KIB, 17, { 16, 17 }, 0 },
		{ 0, 3, { 3 }, 0 },
		{ 64 * KIB, 2, { 1, 2 }, 2048 * KIB },
		{ 1 * KIB, 2, { 2 }, 2048 * KIB },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct tcpx_chan conn = { .count = table[i].count };
		struct channel *c;
		struct bare b;

		c = begin(&b, &conn);
		for (uint32_t k = 0; k < conn.count; k++)
			conn.len[k] = table[i].len;
		if (table[i].last)
			conn.len[conn.count - 1] = table[i].last;
		for (uint32_t turn = 0; turn < 4 && table[i].turn[turn]; turn++) {
			tcpx_receiver_step(c, b.now_ns);
			assert_int_equal(conn.acks, turn + 1);
			assert_int_equal(conn.acked.applied, table[i].turn[turn]);
			assert_int_equal(conn.acked.received, table[i].turn[turn]);
		}
		assert_int_equal(conn.acked.applied, conn.count);
		end(&b, c);
	}
}

/* Nothing is read meanwhile where the next message waits for its place. */
TEST(an_acknowledgement_that_found_no_room_goes_when_there_is_some)
{
	for (unsigned waits = 0; waits < 2; waits++) {
		unsigned reads = waits ? 0 : TCPX_READABLE;
		struct tcpx_chan conn = { .len = { 64 * KIB, WAITS }, .count = 1 + waits,
					  .full = true };
		struct channel *c;
		struct bare b;

		c = begin(&b, &conn);
		tcpx_receiver_step(c, b.now_ns);
		assert_int_equal(conn.acks, 0);
		assert_int_equal(conn.interest, reads | TCPX_WRITABLE);
		conn.full = false;
		c->source.on_ready(&c->source, TCPX_WRITABLE, b.now_ns);
		assert_int_equal(conn.acks, 1);
		assert_int_equal(conn.acked.applied, 1);
		assert_int_equal(conn.interest, reads);
		end(&b, c);
	}
}

TEST(reading_goes_on_when_what_came_before_is_settled)
{
	struct tcpx_chan conn = { .len = { HELD, 1 * KIB, HELD, 1 * KIB } };
	struct channel *c;
	struct bare b;

	c = begin(&b, &conn);
	for (uint32_t came = 0; came < 4; came += 2) {
		conn.count = came + 2;
		conn.settled = false;
		tcpx_receiver_step(c, b.now_ns);
		tcpx_receiver_step(c, b.now_ns);
		assert_int_equal(conn.next, came + 1); /* nothing is read behind it */
		assert_int_equal(conn.acked.received, came + 1);
		assert_int_equal(conn.acked.applied, came);
		conn.settled = true;
		tcpx_receiver_step(c, b.now_ns);
		assert_int_equal(conn.acked.applied, came + 2);
	}
	end(&b, c);
}
