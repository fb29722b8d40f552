/* SPDX-License-Identifier: Apache-2.0 */
/* Channels whose planned NICs do not reach each other: who asks for others, when, and what
 * it costs if they do. */
#include "bare.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "core/channel/heal.h"
#include "core/channel/pairing.h"
#include "core/channel/wiring.h"
#include "core/session/control.h"
#include "core/session/peer.h"

enum { NICS = 2, CHANNELS = 2 };

struct tcpx_chan {
	int unused;
};

/* A network in which the test says which NICs reach each other. A handle is the number of
 * its listener's NIC. */
static struct {
	bool reaches[NICS][NICS];
	int else_rc; /* of what does not */
	bool heard;
	uint32_t connected, listened;
	int listened_nic;
	struct tcpx_chan chan;
} net;

static int
chan_listen(struct tcpx_net *n, int nic, const struct tcpx_chan_id *id, uint8_t handle[TCPX_HANDLE_BYTES],
	    struct tcpx_chan_listener **cl)
{
	net.listened++;
	net.listened_nic = nic;
	handle[0] = (uint8_t)nic;
	*cl = (void *)&net.chan;
	return 0;
}

static void
chan_listener_close(struct tcpx_chan_listener *cl)
{
}

static int
chan_accept(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan)
{
	return -EAGAIN;
}

static int
chan_connect(struct tcpx_net *n, int nic, const struct tcpx_chan_id *id, const uint8_t handle[TCPX_HANDLE_BYTES],
	     bool sending, void **state, struct tcpx_chan **chan)
{
	net.connected += *state == NULL;
	*state = NULL;
	if (net.reaches[nic][handle[0]]) {
		*chan = &net.chan;
		return 0;
	}
	if (net.else_rc == -EAGAIN)
		*state = &net;
	return net.else_rc;
}

static bool
chan_connect_heard(const void *state)
{
	return net.heard;
}

static void
chan_connect_cancel(struct tcpx_net *n, void **state)
{
	*state = NULL;
}

static int
chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner, unsigned interest)
{
	return 0;
}

static void
on_end(struct session *s)
{
}

static const struct session_calls calls = { .failed = on_end, .unwire = on_end };

static void
swallow(void *arg, int level, const char *line)
{
}

/* A session in the handshake: NICs "a" and "b" here, "c" and "d" there, each in a subnet of
 * its own. */
static struct session *
begin(struct bare *b, bool opener)
{
	static const char *const ours[] = { "a", "b" }, *const theirs[] = { "c", "d" };
	struct session *s;

	tcpx_log_sink(swallow, NULL);
	memset(&net, 0, sizeof(net));
	net.else_rc = -EHOSTUNREACH;
	bare_open(b, opener);
	b->ops.chan_listen = chan_listen;
	b->ops.chan_listener_close = chan_listener_close;
	b->ops.chan_accept = chan_accept;
	b->ops.chan_connect = chan_connect;
	b->ops.chan_connect_heard = chan_connect_heard;
	b->ops.chan_connect_cancel = chan_connect_cancel;
	b->ops.chan_watch = chan_watch;
	b->e.up.session = &calls;
	b->e.nics.count = NICS;
	s = b->s;
	s->state = opener ? SESS_HANDLES : SESS_HELLO;
	s->chan.count = CHANNELS;
	s->chan.chunk_max = 1 << 20;
	s->chan.peer_nic = calloc(NICS, sizeof(*s->chan.peer_nic));
	assert_non_null(s->chan.peer_nic);
	s->chan.peer_nic_count = NICS;
	for (uint8_t i = 0; i < NICS; i++) {
		b->e.nics.at[i].addr = (struct tcpx_addr){ .family = 4, .prefix = 32, .ip = { 10, i, 0, 1 } };
		snprintf(b->e.nics.at[i].name, sizeof(b->e.nics.at[i].name), "%s", ours[i]);
		s->chan.peer_nic[i].addr = (struct tcpx_addr){ .family = 4, .prefix = 32, .ip = { 10, i, 9, 1 } };
		snprintf(s->chan.peer_nic[i].offer.name, sizeof(s->chan.peer_nic[i].offer.name), "%s", theirs[i]);
	}
	return s;
}

static void
take_handles(struct session *s)
{
	struct tcpx_handles h;

	memset(&h, 0, sizeof(h));
	h.count = 2 * CHANNELS;
	for (uint8_t i = 0; i < h.count; i++) {
		h.handle[i][0] = i % NICS;
		h.usable[i] = true;
	}
	assert_int_equal(tcpx_wiring_handles(s, &h), 0);
}

/* The acceptor listens where it was asked to. */
static void
answer(struct session *s, const struct channel *c)
{
	struct tcpx_chan_handle h = { .backward = c->backward, .channel = c->index,
				      .generation = c->generation, .usable = true };

	h.handle[0] = (uint8_t)c->far_nic;
	tcpx_heal_handle(s, &h);
}

TEST(pairs_that_connect_cost_no_frame_more)
{
	struct bare b;
	struct session *s = begin(&b, true);

	net.reaches[0][0] = net.reaches[1][1] = true;
	take_handles(s);
	assert_int_equal(s->state, SESS_READY);
	assert_int_equal(net.connected, 2 * CHANNELS);
	assert_int_equal(b.e.count.ctrl_frames_tx, 1); /* READY */
	assert_null(s->chan.search);
	bare_end(&b);
}

TEST(pairs_that_do_not_are_left_for_others)
{
	struct bare b;
	struct session *s = begin(&b, true);

	net.reaches[0][1] = net.reaches[1][0] = true;
	take_handles(s);
	assert_int_equal(s->state, SESS_WIRING);
	assert_int_equal(b.e.count.ctrl_frames_tx, 2 * CHANNELS); /* CHANNEL_ASK */
	for (int k = 0; k < CHANNELS; k++) {
		assert_int_equal(s->chan.tx[k]->generation, 2);
		assert_int_equal(s->chan.tx[k]->near_nic, k);
		assert_int_equal(s->chan.tx[k]->far_nic, !k);
		assert_int_equal(tcpx_pairing_said(s->chan.tx[k]), 1 + (k << 8 | !k));
		answer(s, s->chan.tx[k]);
		answer(s, s->chan.rx[k]);
	}
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(s->state, SESS_READY);
	assert_int_equal(net.connected, 4 * CHANNELS);
	bare_end(&b);
}

TEST(silence_is_met_with_a_second_attempt_and_then_with_others)
{
	struct bare b;
	struct session *s = begin(&b, true);
	uint64_t wait_ns = tcpx_pair_patience_ns(0);

	net.else_rc = -EAGAIN;
	take_handles(s);
	assert_int_equal(net.connected, 2 * CHANNELS);
	assert_true(s->hs->look_ns <= b.now_ns + wait_ns);
	tcpx_wiring_step(s, b.now_ns + wait_ns - 1);
	assert_int_equal(net.connected, 2 * CHANNELS);
	tcpx_wiring_step(s, b.now_ns + wait_ns);
	assert_int_equal(net.connected, 4 * CHANNELS);
	assert_int_equal(b.e.count.ctrl_frames_tx, 0);
	tcpx_wiring_step(s, b.now_ns + 2 * wait_ns);
	assert_int_equal(b.e.count.ctrl_frames_tx, 2 * CHANNELS);
	assert_int_equal(s->chan.rx[0]->far_nic, 1);
	bare_end(&b);
}

/* Its kernel has answered: its process is late, and no NIC to blame. */
TEST(a_slow_process_is_waited_for)
{
	struct bare b;
	struct session *s = begin(&b, true);

	net.else_rc = -EAGAIN;
	net.heard = true;
	take_handles(s);
	for (int i = 1; i <= 4; i++)
		tcpx_wiring_step(s, b.now_ns + (uint64_t)i * TCPX_SEC);
	assert_int_equal(net.connected, 2 * CHANNELS);
	assert_int_equal(b.e.count.ctrl_frames_tx, 0);
	bare_end(&b);
}

TEST(a_session_without_a_channel_lists_what_was_tried)
{
	struct bare b;
	struct session *s = begin(&b, true);

	s->hs->connect_until_ns = 0; /* no time to begin again */
	take_handles(s);
	for (int round = 0; round < 4; round++) {
		for (int k = 0; k < CHANNELS; k++) {
			answer(s, s->chan.tx[k]);
			answer(s, s->chan.rx[k]);
		}
		tcpx_wiring_step(s, b.now_ns);
	}
	tcpx_wiring_step(s, b.now_ns + TCPX_SEC);
	assert_int_equal(s->state, SESS_FAILED);
	assert_int_equal(s->cause, TCPX_ENOCHANNEL);
	assert_non_null(strstr(s->cause_text, "none of 2 channels could connect: a to c "));
	assert_non_null(strstr(s->cause_text, "; d "));
	assert_non_null(strstr(s->cause_text, ", b to c "));
	assert_int_equal(s->chan.tx[0]->far_nic, 0); /* as planned, again */
	bare_end(&b);
}

TEST(the_acceptor_listens_at_the_nic_that_it_is_asked_for)
{
	struct tcpx_chan_event ev = { .channel = 0, .generation = 2, .seq = 1 + (0 << 8 | 1) };
	struct bare b;
	struct session *s = begin(&b, false);

	assert_int_equal(tcpx_wiring_listen(s), 0);
	assert_int_equal(net.listened, 2 * CHANNELS);
	assert_int_equal(tcpx_heal_asked(s, &ev), 0);
	tcpx_wiring_step(s, b.now_ns);
	assert_int_equal(net.listened, 2 * CHANNELS + 1);
	assert_int_equal(net.listened_nic, 1);
	assert_string_equal(tcpx_near_nic(s->chan.rx[0])->name, "b");
	assert_string_equal(tcpx_far_nic(s->chan.rx[0])->name, "c");
	assert_int_equal(b.e.count.ctrl_frames_tx, 2); /* HANDLES, CHANNEL_HANDLE */
	ev.generation = 3;
	ev.seq = 1 + (0 << 8 | NICS);
	assert_int_equal(tcpx_heal_asked(s, &ev), TCPX_EPROTO);
	ev.seq = 1 + (NICS << 8 | 0);
	assert_int_equal(tcpx_heal_asked(s, &ev), TCPX_EPROTO);
	bare_end(&b);
}

int
main(void)
{
	return run_cases(NULL, NULL);
}
