/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a session opens with: all that stand, or those that do within a time. */
#include "bare.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "core/channel/heal.h"
#include "core/channel/wiring.h"
#include "core/session/control.h"
#include "core/session/peer.h"

#define CHANNELS 2
#define MOST 3 /* of one test */

/* A network in which the test says which channels connect. */
struct tcpx_chan {
	int closed;
};

static struct {
	struct tcpx_chan chan[2 * MOST];
	uint32_t listened, connected, accepted, listeners;
	uint64_t stands; /* bit i: the i-th that was asked for connects */
	bool refuses;    /* what does not stand fails, else it is awaited */
	uint8_t token[2 * MOST][16];
} net;

static int
chan_listen(struct tcpx_net *n, int nic, const struct tcpx_chan_id *id,
	    uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl)
{
	uint32_t i = net.listened++;

	memcpy(net.token[i], id->token, sizeof(id->token));
	handle[0] = (uint8_t)i;
	*cl = (void *)&net.chan[i];
	net.listeners++;
	return 0;
}

static void
chan_listener_close(struct tcpx_chan_listener *cl)
{
	net.listeners--;
}

static int
stands(uint32_t i, struct tcpx_chan **chan)
{
	if (!(net.stands >> i & 1))
		return net.refuses ? -ECONNREFUSED : -EAGAIN;
	*chan = &net.chan[i];
	return 0;
}

static int
chan_accept(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan)
{
	net.accepted++;
	return stands((uint32_t)((struct tcpx_chan *)cl - net.chan), chan);
}

static int
chan_connect(struct tcpx_net *n, int nic, const struct tcpx_chan_id *id,
	     const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
	     struct tcpx_chan **chan)
{
	net.connected++;
	return stands(handle[0], chan);
}

static int
chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner, unsigned interest)
{
	return 0;
}

static uint32_t opened, failed;

static void
on_opened(struct session *s, uint64_t now_ns)
{
	opened++;
}

static void
on_failed(struct session *s)
{
	failed++;
}

static const struct session_calls calls = { .opened = on_opened, .failed = on_failed };

static void
swallow(void *arg, int level, const char *line)
{
	(void)arg;
	(void)level;
	(void)line;
}

/* A session in the handshake, with one NIC on each side. */
static struct session *
begin(struct bare *b, bool opener, uint64_t stands_bits)
{
	struct session *s;

	tcpx_log_sink(swallow, NULL);
	memset(&net, 0, sizeof(net));
	net.stands = stands_bits;
	opened = failed = 0;
	bare_open(b, opener);
	b->ops.chan_listen = chan_listen;
	b->ops.chan_listener_close = chan_listener_close;
	b->ops.chan_accept = chan_accept;
	b->ops.chan_connect = chan_connect;
	b->ops.chan_watch = chan_watch;
	b->e.up.session = &calls;
	b->e.nics.count = 1;
	b->e.nics.at[0].addr.family = 4;
	snprintf(b->e.nics.at[0].name, sizeof(b->e.nics.at[0].name), "near");
	s = b->s;
	s->state = opener ? SESS_HANDLES : SESS_HELLO;
	s->chan.count = CHANNELS;
	s->chan.chunk_max = 1 << 20;
	s->chan.peer_nic = calloc(1, sizeof(*s->chan.peer_nic));
	assert_non_null(s->chan.peer_nic);
	s->chan.peer_nic_count = 1;
	s->chan.peer_nic[0].addr.family = 4;
	snprintf(s->chan.peer_nic[0].offer.name, sizeof(s->chan.peer_nic[0].offer.name), "far");
	return s;
}

/* The acceptor's HANDLES: of the channels in this order. */
static void
handles_of(struct tcpx_handles *h, uint16_t channels)
{
	memset(h, 0, sizeof(*h));
	h->count = (uint16_t)(2 * channels);
	for (uint8_t i = 0; i < h->count; i++) {
		h->handle[i][0] = i;
		h->usable[i] = true;
	}
}

static void
handles(struct tcpx_handles *h)
{
	handles_of(h, CHANNELS);
}

TEST(the_acceptor_listens_for_every_channel_with_a_token_of_its_own)
{
	struct bare b;
	struct session *s = begin(&b, false, 0);

	assert_int_equal(tcpx_wiring_listen(s), 0);
	assert_int_equal(s->state, SESS_WIRING);
	assert_int_equal(net.listened, 2 * CHANNELS);
	for (int i = 0; i < 2 * CHANNELS; i++)
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(net.token[i], net.token[k], 16);
	assert_string_equal(tcpx_near_nic(s->chan.tx[0])->name, "near");
	assert_string_equal(tcpx_far_nic(s->chan.tx[0])->name, "far");
	assert_true(s->chan.tx[1]->sending);
	assert_false(s->chan.rx[1]->sending);
	bare_end(&b);
}

TEST(the_opener_is_ready_when_all_channels_stand)
{
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, true, 0x7);

	handles(&h);
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	assert_int_equal(s->state, SESS_WIRING); /* one is missing, and there is time */
	net.stands = 0xf;
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(s->state, SESS_READY);
	assert_int_equal(net.connected, 2 * CHANNELS + 1); /* only that one again */
	assert_int_equal(opened, 0);

	s->hs->ready = (struct tcpx_readiness){ 0x3, 0x3 };
	s->hs->ready_came = true;
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(opened, 1);
	assert_int_equal(s->state, SESS_OPEN);
	assert_int_equal(s->chan.tx_up, CHANNELS);
	assert_int_equal(s->chan.rx_up, CHANNELS);
	bare_end(&b);
}

TEST(the_handshake_goes_and_the_pairs_stay)
{
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, true, 0xf);

	handles(&h);
	memset(h.token, 9, sizeof(h.token));
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	s->hs->ready = (struct tcpx_readiness){ 0x3, 0x3 };
	s->hs->ready_came = true;
	tcpx_wiring_step(s, b.now_ns);
	assert_null(s->hs);
	assert_null(s->chan.tx[0]->wiring);
	assert_int_equal(s->chan.tx[0]->near_nic, 0);
	assert_int_equal(s->chan.tx[0]->far_nic, 0);
	assert_string_equal(s->chan.peer_nic[0].offer.name, "far");
	assert_memory_equal(s->resume.token, h.token, sizeof(s->resume.token));
	bare_end(&b);
}

TEST(the_rest_is_left_out_a_while_after_the_first)
{
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, true, 0x7);

	handles(&h);
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	tcpx_wiring_step(s, b.now_ns + TCPX_SEC - 1);
	assert_int_equal(s->state, SESS_WIRING);
	tcpx_wiring_step(s, b.now_ns + TCPX_SEC);
	assert_int_equal(s->state, SESS_READY);
	s->hs->ready = (struct tcpx_readiness){ 0x3, 0x1 };
	s->hs->ready_came = true;
	tcpx_wiring_step(s, b.now_ns + TCPX_SEC);
	assert_int_equal(opened, 1);
	assert_int_equal(s->chan.tx_up, 2);
	assert_int_equal(s->chan.rx_up, 1);
	assert_int_equal(s->chan.rx[1]->state, CHAN_DOWN);
	assert_true(s->chan.rx[1]->work.queued); /* its loop closes it */
	bare_end(&b);
}

TEST(the_second_channel_makes_the_rest_wait_no_longer)
{
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, true, 0x9); /* the first of each direction */
	uint64_t began_ns = b.now_ns;

	s->chan.count = MOST;
	handles_of(&h, MOST);
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	net.stands = 0x1b; /* the second, too */
	b.now_ns = began_ns + 900 * TCPX_MS;
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(s->state, SESS_WIRING);
	b.now_ns = began_ns + TCPX_SEC;
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(s->state, SESS_READY);
	bare_end(&b);
}

TEST(with_strict_nics_a_missing_channel_fails_the_session)
{
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, true, 0x7);

	b.e.limit.strict_nics = true;
	handles(&h);
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	tcpx_wiring_step(s, b.now_ns + TCPX_SEC);
	s->hs->ready = (struct tcpx_readiness){ 0x3, 0x1 };
	s->hs->ready_came = true;
	tcpx_wiring_step(s, b.now_ns + TCPX_SEC);
	assert_int_equal(failed, 1);
	assert_int_equal(s->cause, TCPX_ENOCHANNEL);
	bare_end(&b);
}

TEST(no_channel_of_a_direction_is_no_session)
{
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, true, 0x3); /* forward ones only */

	net.refuses = true;
	s->hs->connect_until_ns = 0; /* no time to begin again */
	handles(&h);
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	/* nothing more can come, but the peer may be about to say that it goes */
	tcpx_wiring_step(s, b.now_ns + 100 * TCPX_MS - 1);
	assert_int_equal(failed, 0);
	tcpx_wiring_step(s, b.now_ns + 100 * TCPX_MS);
	assert_int_equal(failed, 1);
	assert_int_equal(s->cause, TCPX_ENOCHANNEL);
	bare_end(&b);
}

TEST(the_acceptor_answers_when_it_has_what_the_opener_has)
{
	struct bare b;
	struct session *s = begin(&b, false, 0x7);

	assert_int_equal(tcpx_wiring_listen(s), 0);
	s->hs->ready = (struct tcpx_readiness){ 0x3, 0x3 };
	s->hs->ready_came = true;
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(opened, 0);
	net.stands = 0xf;
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(opened, 1);
	assert_int_equal(net.listeners, 0);
	bare_end(&b);
}

TEST(handles_come_once)
{
	static const struct tcpx_comm_chan_ops comms;
	struct tcpx_handles h;
	struct bare b;
	struct session *s = begin(&b, false, 0);

	b.ops.comm = &comms;
	assert_int_equal(tcpx_wiring_listen(s), 0);
	assert_int_equal(net.listened, CHANNELS); /* for what it receives */
	handles(&h);
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
	assert_int_equal(tcpx_wiring_handles(s, &h), TCPX_EPROTO);
	bare_end(&b);
}

/* The opener had given up the one that stands here: it will fence nothing of it. */
TEST(who_asks_for_a_later_generation_never_had_the_one_here)
{
	struct tcpx_chan_event ev = { .backward = 1, .channel = 0, .generation = 1 };
	struct channel *c;
	struct bare b;

	bare_open(&b, false);
	b.e.ops = &b.ops;
	c = bare_channel(&b, 0);
	tcpx_heal_asked(b.s, &ev);
	assert_false(c->fence.done);
	c->fence.done = true;
	c->fence.last = 3;
	ev.generation = 2;
	tcpx_heal_asked(b.s, &ev);
	assert_int_equal(c->fence.last, 3); /* FENCED came first, and says more */
	c->fence = (struct fence){ .done = false };
	(void)bare_works(&b.loop[0]);
	tcpx_heal_asked(b.s, &ev);
	assert_true(c->fence.done && c->fence.last == 0);
	assert_true(c->work.queued);
	assert_int_equal(c->wanted, 2);
	(void)bare_works(&b.loop[0]);
	bare_close(&b);
}

/* The peer lacked memory or a port. */
TEST(a_peer_that_could_not_listen_is_asked_again)
{
	struct tcpx_chan_handle h = { .channel = 0 };
	struct channel *c;
	struct bare b;
	struct session *s = begin(&b, true, 0x1);

	s->state = SESS_OPEN;
	assert_int_equal(tcpx_channel_new(s, 0, true, false, &c), 0);
	s->chan.tx[0] = c;
	for (uint64_t asked = 1; asked <= 3; asked++) {
		tcpx_heal_all(s, b.now_ns);
		tcpx_heal_all(s, b.now_ns); /* the answer is on its way */
		assert_int_equal(b.e.count.ctrl_frames_tx, asked);
		h.generation = c->generation;
		h.usable = asked == 3;
		tcpx_heal_handle(s, &h);
		b.now_ns += TCPX_SEC;
	}
	assert_int_equal(net.connected, 0);
	tcpx_heal_all(s, b.now_ns);
	assert_int_equal(net.connected, 1);
	assert_int_equal(c->state, CHAN_UP);
	assert_int_equal(s->chan.tx_up, 1);
	tcpx_control_flush_all(&b.e);
	bare_end(&b);
}

/* The kernel has said that a link changed: it may be back. */
TEST(lost_channels_of_either_direction_are_hurried)
{
	enum { SENDS = 1, RECEIVES = 2, LATER = 60 };
	struct bare b;

	for (unsigned lost = 0; lost <= (SENDS | RECEIVES); lost++) {
		struct session *s = begin(&b, true, 0);
		uint64_t later_ns = b.now_ns + LATER * TCPX_SEC;

		s->state = SESS_OPEN;
		s->chan.count = 1;
		assert_int_equal(tcpx_channel_new(s, 0, true, false, &s->chan.tx[0]), 0);
		assert_int_equal(tcpx_channel_new(s, 0, false, true, &s->chan.rx[0]), 0);
		s->chan.tx[0]->heal.at_ns = s->chan.rx[0]->heal.at_ns = later_ns;
		s->chan.tx_up = !(lost & SENDS);
		s->chan.rx_up = !(lost & RECEIVES);
		s->chan.tx[0]->state = lost & SENDS ? CHAN_WIRING : CHAN_UP;
		s->chan.rx[0]->state = lost & RECEIVES ? CHAN_WIRING : CHAN_UP;
		tcpx_heal_hurry(s, b.now_ns);
		assert_int_equal(s->chan.tx[0]->heal.at_ns,
				 lost & SENDS ? b.now_ns : later_ns);
		assert_int_equal(s->chan.rx[0]->heal.at_ns,
				 lost & RECEIVES ? b.now_ns : later_ns);
		bare_end(&b);
	}
}
