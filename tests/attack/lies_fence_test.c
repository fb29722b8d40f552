/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements, fences and frames about channels may lie. The host itself must acknowledge
 * nothing of a lane that has failed before the lane's sender knows.
 */
#include "lane_lies.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/sock/wire.h"

#define ROOM LANE_ROOM

static void
assert_open(const char *what, int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		fail_msg("%s: the channel is closed", what);
}

/* Every channel carries payload, or is open at least. */
static void
assert_all_channels_work(struct liar *l, const char *what)
{
	for (uint16_t i = 0; i < LIAR_CHANNELS; i++)
		assert_channel_works(l, i, what, open_write(l));
	for (uint16_t i = 0; i < LIAR_CHANNELS; i++)
		assert_open(what, l->rx[i]);
}

/* ---- acknowledgements ---- */

static void
say_of_channel(struct liar *l, uint8_t type, const struct tcpx_chan_event *e)
{
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_chan_event_write(&b, e);
	liar_put(l, type, &b);
}

/* Receives a message of the host's. Returns the channel that it came by. */
static int
take_message(struct liar *l, struct tcpx_head *h)
{
	uint8_t head[TCPX_SOCK_HEAD_BYTES], *rest = malloc(CHUNK + TCPX_SOCK_TAIL_BYTES);
	struct pollfd from[LIAR_CHANNELS];
	size_t len;
	int i;

	for (i = 0; i < LIAR_CHANNELS; i++)
		from[i] = (struct pollfd){ l->rx[i], POLLIN, 0 };
	assert_true(poll(from, LIAR_CHANNELS, WAIT_MS) > 0);
	i = from[0].revents ? 0 : 1;
	assert_int_equal(recv(l->rx[i], head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_true(tcpx_sock_head_parse(head, h));
	assert_in_range(h->len, 1, CHUNK);
	len = h->len + TCPX_SOCK_TAIL_BYTES;
	assert_int_equal(recv(l->rx[i], rest, len, MSG_WAITALL), len);
	free(rest);
	return i;
}

static void
acknowledge(struct liar *l, int channel, const struct tcpx_ack *ack)
{
	uint8_t bytes[TCPX_SOCK_ACK_BYTES];

	tcpx_sock_ack_format(ack, false, bytes);
	(void)!send(l->rx[channel], bytes, sizeof(bytes), MSG_NOSIGNAL);
}

/* Each lie names the only message of a READ. It costs the channel; the fence counts the message. */
TEST(in_an_acknowledgement)
{
	static const struct {
		const char *what;
		struct tcpx_ack ack, before; /* before: 0, or an honest one */
	} lies[] = {
		{ "a message never sent", { 2, 0 }, { 0, 0 } },
		{ "a message never sent, applied", { 2, 2 }, { 0, 0 } },
		{ "the greatest number", { UINT64_MAX, UINT64_MAX }, { 0, 0 } },
		{ "applied, and not received", { 0, 1 }, { 0, 0 } },
		{ "more applied than received", { 1, 2 }, { 0, 0 } },
		{ "received backwards", { 0, 0 }, { 1, 0 } },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_chan_event fence = { .backward = 1, .generation = 1 };
		uint8_t room[512];
		struct tcpx_head h;
		struct tcpx_buf b;
		struct liar l;
		int at;

		liar_open(&l, lies_world()->host);
		tcpx_buf_init(&b, room, sizeof(room));
		write_open(&l, &b, TCPX_WIRE_READ, CHUNK, false);
		liar_put(&l, TCPX_FR_OPEN, &b);
		at = take_message(&l, &h);
		if (lies[i].before.received)
			acknowledge(&l, at, &lies[i].before);
		/* the host looks at the last one alone, if several are there */
		for (int turns = 0; turns < 3; turns++)
			assert_goes_on(&l, "an honest one");
		acknowledge(&l, at, &lies[i].ack);
		assert_closed(lies[i].what, l.rx[at]);
		fence.channel = (uint16_t)at;
		fence.seq = 1;
		say_of_channel(&l, TCPX_FR_FENCED, &fence);
		assert_goes_on(&l, lies[i].what);
		assert_open(lies[i].what, l.rx[!at]);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* ---- about channels ---- */

TEST(about_channels)
{
	static const struct {
		const char *what;
		uint8_t type;
		struct tcpx_chan_event e;
		int want;
	} lies[] = {
		{ "CHANNEL_DOWN of channel 2", TCPX_FR_CHANNEL_DOWN,
		  { .channel = 2, .generation = 1 }, TCPX_EPROTO },
		{ "CHANNEL_DOWN of 65535", TCPX_FR_CHANNEL_DOWN,
		  { .channel = 65535, .generation = 1 }, TCPX_EPROTO },
		{ "... of an earlier generation", TCPX_FR_CHANNEL_DOWN,
		  { .generation = 0 }, LIVES },
		{ "... of a later one", TCPX_FR_CHANNEL_DOWN, { .generation = 9 }, LIVES },
		{ "... of an earlier one, silent", TCPX_FR_CHANNEL_DOWN,
		  { .generation = 0, .seq = 1 }, LIVES },
		{ "... of a later one, silent", TCPX_FR_CHANNEL_DOWN,
		  { .generation = 9, .seq = 1 }, LIVES },
		{ "... of the wrong way", TCPX_FR_CHANNEL_DOWN,
		  { .generation = 1, .backward = 1 }, LIVES },
		{ "FENCED of channel 2", TCPX_FR_FENCED,
		  { .channel = 2, .generation = 1, .backward = 1 }, TCPX_EPROTO },
		{ "... of an earlier generation", TCPX_FR_FENCED,
		  { .generation = 0, .backward = 1 }, LIVES },
		{ "... of a later one", TCPX_FR_FENCED,
		  { .generation = 9, .backward = 1 }, LIVES },
		{ "... of the wrong way", TCPX_FR_FENCED, { .generation = 1 }, LIVES },
		{ "... at a message never sent", TCPX_FR_FENCED,
		  { .generation = 1, .backward = 1, .seq = 7 }, TCPX_EFRAME },
		{ "CHANNEL_ACK of channel 2", TCPX_FR_CHANNEL_ACK,
		  { .channel = 2, .generation = 1, .backward = 1 }, TCPX_EPROTO },
		{ "... of an earlier generation", TCPX_FR_CHANNEL_ACK,
		  { .generation = 0, .backward = 1, .seq = 7 }, LIVES },
		{ "... of a later one", TCPX_FR_CHANNEL_ACK,
		  { .generation = 9, .backward = 1, .seq = 7 }, LIVES },
		{ "... of the wrong way", TCPX_FR_CHANNEL_ACK,
		  { .generation = 1, .seq = 7 }, LIVES },
		{ "CHANNEL_ASK of channel 2", TCPX_FR_CHANNEL_ASK,
		  { .channel = 2, .generation = 1 }, TCPX_EPROTO },
		{ "... of an earlier generation", TCPX_FR_CHANNEL_ASK,
		  { .generation = 0 }, LIVES },
		{ "... of the other way, earlier", TCPX_FR_CHANNEL_ASK,
		  { .generation = 0, .backward = 1 }, LIVES },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct liar l;

		liar_open(&l, lies_world()->host);
		say_of_channel(&l, lies[i].type, &lies[i].e);
		if (lies[i].want == LIVES)
			assert_all_channels_work(&l, lies[i].what);
		else
			assert_verdict(lies[i].what, liar_verdict(&l, 0), lies[i].want);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* The channel acknowledges in band, so the frame costs that channel. */
TEST(an_acknowledgement_beside_its_channel)
{
	struct tcpx_chan_event e = { .generation = 1, .backward = 1, .seq = 7, .applied = 7 };
	struct liar l;

	liar_open(&l, lies_world()->host);
	say_of_channel(&l, TCPX_FR_CHANNEL_ACK, &e);
	assert_closed("CHANNEL_ACK", l.rx[0]);
	assert_goes_on(&l, "CHANNEL_ACK");
	assert_open("CHANNEL_ACK", l.rx[1]);
	liar_close(&l);
	assert_witness_is_well();
}

/* Frames about a channel that carries its own headers. */
TEST(a_header_beside_its_channel)
{
	struct tcpx_message m = { .generation = 1, .seq = 1, .xfer = 1, .len = 100 };
	uint8_t room[512];
	struct tcpx_buf b;
	struct liar l;

	liar_open(&l, lies_world()->host);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_message_write(&b, &m);
	liar_put(&l, TCPX_FR_MESSAGE, &b);
	assert_verdict("MESSAGE", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);
	assert_witness_is_well();
}

static struct tcpx_chan_handle
hear_handle(struct liar *l)
{
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_chan_handle h;
	struct tcpx_buf b;
	size_t len;

	assert_true(foe_get(&l->f, TCPX_FR_CHANNEL_HANDLE, payload, &len));
	tcpx_buf_init_const(&b, payload, len);
	assert_int_equal(tcpx_chan_handle_read(&b, &h), 0);
	assert_true(h.usable);
	return h;
}

/* Connects channel 0 in a later generation, as the host's answer says. */
static void
wire_again(struct liar *l, const struct tcpx_chan_handle *h)
{
	uint8_t room[TCPX_SOCK_PREAMBLE_BYTES], answer[TCPX_SOCK_ANSWER_BYTES];
	struct tcpx_chan_id id = liar_chan_id(l, 0);

	id.generation = h->generation;
	memcpy(id.token, h->token, sizeof(id.token));
	memcpy(l->handles.handle[0], h->handle, sizeof(l->handles.handle[0]));
	close(l->tx[0]);
	l->tx[0] = liar_dial_data(l, 0);
	tcpx_sock_preamble_format(&id, room);
	assert_int_equal(send(l->tx[0], room, sizeof(room), MSG_NOSIGNAL), sizeof(room));
	assert_int_equal(recv(l->tx[0], answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
}

/* The channel is in generation 3. Frames and messages of 1 and 2 no longer count. */
TEST(a_channel_goes_to_no_earlier_generation)
{
	struct tcpx_chan_event e = { .generation = 1 };
	struct tcpx_chan_handle handle;
	struct tcpx_head h;
	struct liar l;

	liar_open(&l, lies_world()->host);
	say_of_channel(&l, TCPX_FR_CHANNEL_DOWN, &e);
	assert_closed("a channel that is given up", l.tx[0]);
	for (e.generation = 2; e.generation <= 3; e.generation++) {
		say_of_channel(&l, TCPX_FR_CHANNEL_ASK, &e);
		handle = hear_handle(&l);
		assert_int_equal(handle.generation, e.generation);
	}
	e.generation = 2;
	say_of_channel(&l, TCPX_FR_CHANNEL_ASK, &e);
	for (int turns = 0; turns < 3; turns++) /* the handles of 3 are good still */
		assert_goes_on(&l, "an earlier generation is asked for");
	wire_again(&l, &handle);
	say_of_channel(&l, TCPX_FR_CHANNEL_DOWN, &e);
	h = first_chunk(open_write(&l));
	h.generation = 3;
	h.len = CHUNK;
	liar_send(&l, 0, &h, CHUNK);
	h.chunk = 1;
	h.seq = 2;
	h.len = TWO_CHUNKS - CHUNK;
	liar_send(&l, 0, &h, h.len);
	assert_verdict("the newest generation", liar_verdict(&l, l.opened), 0);
	h = first_chunk(open_write(&l));
	h.generation = 2;
	h.seq = 3;
	liar_send(&l, 0, &h, CHUNK);
	assert_closed("a message of an earlier generation", l.tx[0]);
	liar_close(&l);
	assert_witness_is_well();
}

/* ---- a lane that has failed ---- */

static struct tcpx_ack
hear_ack(int fd)
{
	uint8_t bytes[TCPX_SOCK_ACK_BYTES];
	struct tcpx_ack ack;

	assert_int_equal(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), sizeof(bytes));
	assert_true(tcpx_sock_ack_parse(bytes, false, &ack));
	return ack;
}

static void
assert_no_ack(struct liar *l, int fd)
{
	uint8_t byte;

	for (int turns = 0; turns < 3; turns++)
		assert_goes_on(l, "a turn");
	assert_int_equal(recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT), -1);
}

/* The host cancels the receive of a message whose first half has come. Then the rest comes. */
static void
fail_amid_a_message(struct heard *w)
{
	struct tcpx_head h = { .chunk = TCPX_LANE_LAST, .len = ROOM, .generation = 1, .seq = 1 };
	uint8_t bytes[TCPX_SOCK_HEAD_BYTES + ROOM + TCPX_SOCK_TAIL_BYTES] = { 0 };
	const size_t half = TCPX_SOCK_HEAD_BYTES + ROOM / 2;

	heard_open(w);
	memset(lies_world()->far.at, 0xff, ROOM);
	h.xfer = word(1) | 1;
	tcpx_sock_head_format(&h, bytes);
	tcpx_sock_tail_format(&h, false, bytes + TCPX_SOCK_HEAD_BYTES + ROOM);
	assert_int_equal(send(w->l.tx[0], bytes, half, MSG_NOSIGNAL), half);
	while (*(volatile uint8_t *)(lies_world()->far.at) != 0 ||
	       *(volatile uint8_t *)(lies_world()->far.at + ROOM / 2 - 1) != 0)
		sched_yield();
	tcpx_cancel(w->recv);
	assert_verdict("a lane that failed", answer(&w->l), TCPX_ECANCELED);
	assert_int_equal(send(w->l.tx[0], bytes + half, sizeof(bytes) - half, MSG_NOSIGNAL),
			 sizeof(bytes) - half);
}

/* An acknowledgement would end the send without an error. */
TEST(a_chunk_of_a_failed_lane_is_applied_once_its_sender_knows)
{
	struct tcpx_ack ack;
	struct heard w;

	fail_amid_a_message(&w);
	ack = hear_ack(w.l.tx[0]);
	assert_int_equal(ack.received, 1);
	assert_int_equal(ack.applied, 0);
	assert_no_ack(&w.l, w.l.tx[0]);
	liar_put_u64(&w.l, TCPX_FR_LANE_CLOSE, word(1));
	ack = hear_ack(w.l.tx[0]);
	assert_int_equal(ack.received, 1);
	assert_int_equal(ack.applied, 1);
	heard_close(&w);
	assert_witness_is_well();
}

/* The fence must not count such a chunk, if the channel ends before its sender knows. */
TEST(the_fence_of_a_failed_lane_counts_what_is_applied)
{
	struct tcpx_chan_event down = { .generation = 1 }, fenced;
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	struct heard w;
	size_t len;

	fail_amid_a_message(&w);
	assert_int_equal(hear_ack(w.l.tx[0]).received, 1);
	say_of_channel(&w.l, TCPX_FR_CHANNEL_DOWN, &down);
	assert_true(foe_get(&w.l.f, TCPX_FR_FENCED, payload, &len));
	tcpx_buf_init_const(&b, payload, len);
	assert_int_equal(tcpx_chan_event_read(&b, &fenced), 0);
	assert_int_equal(fenced.channel, 0);
	assert_int_equal(fenced.generation, 1);
	assert_int_equal(fenced.seq, 0);
	heard_close(&w);
	assert_witness_is_well();
}

/* A chunk that begins after the failure is not read until then, and goes to the sink. */
TEST(a_chunk_for_a_failed_lane_waits_until_its_sender_knows)
{
	struct tcpx_head h = { .chunk = TCPX_LANE_LAST, .len = ROOM, .generation = 1, .seq = 1 };
	struct tcpx_ack ack;
	struct heard w;

	for (int fails = 0; fails < 2; fails++) {
		heard_open(&w);
		tcpx_cancel(w.recv);
		assert_verdict("a lane that failed", answer(&w.l), TCPX_ECANCELED);
		h.xfer = word(1) | 1;
		liar_send(&w.l, 0, &h, h.len);
		assert_no_ack(&w.l, w.l.tx[0]);
		if (fails)
			say_failure(&w.l, word(1), true, TCPX_ECLOSED);
		else
			liar_put_u64(&w.l, TCPX_FR_LANE_CLOSE, word(1));
		ack = hear_ack(w.l.tx[0]);
		assert_int_equal(ack.applied, 1);
		heard_close(&w);
	}
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
