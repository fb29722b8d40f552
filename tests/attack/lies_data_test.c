/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lies on channels, and in the handshake. One on a channel costs that channel and nothing else; one in
 * the handshake is refused with its code. About channels: lies_fence_test.c.
 */
#include "lies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "net/sock/wire.h"

TEST(in_a_header)
{
	static const struct {
		const char *what;
		struct tcpx_head h; /* xfer: to be added to the right one */
	} lies[] = {
		{ "another channel", { .len = CHUNK, .channel = 1, .generation = 1, .seq = 1 } },
		{ "channel 65535", { .len = CHUNK, .channel = 65535, .generation = 1, .seq = 1 } },
		{ "an earlier generation", { .len = CHUNK, .seq = 1 } },
		{ "a later generation", { .len = CHUNK, .generation = 2, .seq = 1 } },
		{ "no such chunk", { .chunk = 2, .len = CHUNK, .generation = 1, .seq = 1 } },
		{ "chunk 2^32 - 1", { .chunk = UINT32_MAX, .len = CHUNK, .generation = 1, .seq = 1 } },
		{ "a byte short", { .len = CHUNK - 1, .generation = 1, .seq = 1 } },
		{ "a byte long", { .len = CHUNK + 1, .generation = 1, .seq = 1 } },
		{ "no bytes", { .len = 0, .generation = 1, .seq = 1 } },
		{ "4 GiB", { .len = UINT32_MAX, .generation = 1, .seq = 1 } },
		{ "the last chunk whole", { .chunk = 1, .len = CHUNK, .generation = 1, .seq = 1 } },
		{ "message 0", { .len = CHUNK, .generation = 1 } },
		{ "a message left out", { .len = CHUNK, .generation = 1, .seq = 2 } },
		{ "message 2^64 - 1", { .len = CHUNK, .generation = 1, .seq = UINT64_MAX } },
		{ "a sum that was not agreed", { .len = CHUNK, .generation = 1, .seq = 1, .summed = 1 } },
		{ "a transfer of the host's", { .xfer = 1ull << 63, .len = CHUNK, .generation = 1, .seq = 1 } },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_head h = lies[i].h;
		struct liar l;
		uint64_t id;

		liar_open(&l, lies_world()->host);
		id = open_write(&l);
		h.xfer += id;
		liar_send(&l, 0, &h, h.len > CHUNK ? CHUNK : h.len);
		assert_closed(lies[i].what, l.tx[0]);
		assert_channel_works(&l, 1, lies[i].what, id);
		liar_close(&l);
	}
	assert_witness_is_well();
}

TEST(in_bytes_of_a_message)
{
	static const struct lie lies[] = {
		{ "magic", 0, 2, 0x7c51, 0 },	     { "flags", 2, 2, 2, 0 },
		{ "check", 32, 4, 0, 0 },	     { "zero", 36, 4, 1, 0 },
		{ "the trailer's magic", 40, 4, 0x7c50e17d, 0 }, /* that of message 0 */
		{ "the trailer's word", 44, 4, 2, 0 },
	};
	static uint8_t payload[CHUNK];
	uint8_t bytes[TCPX_SOCK_HEAD_BYTES + TCPX_SOCK_TAIL_BYTES];

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_head h;
		struct liar l;

		liar_open(&l, lies_world()->host);
		h = first_chunk(open_write(&l));
		tcpx_sock_head_format(&h, bytes);
		tcpx_sock_tail_format(&h, false, bytes + TCPX_SOCK_HEAD_BYTES);
		tell_lie(bytes, &lies[i]);
		(void)!send(l.tx[0], bytes, TCPX_SOCK_HEAD_BYTES, MSG_NOSIGNAL);
		(void)!send(l.tx[0], payload, sizeof(payload), MSG_NOSIGNAL);
		(void)!send(l.tx[0], bytes + TCPX_SOCK_HEAD_BYTES, TCPX_SOCK_TAIL_BYTES, MSG_NOSIGNAL);
		assert_closed(lies[i].what, l.tx[0]);
		assert_channel_works(&l, 1, lies[i].what, h.xfer);
		liar_close(&l);
	}
	assert_witness_is_well();
}

TEST(a_chunk_twice)
{
	for (int second = 0; second < 2; second++) { /* on the same channel, on the other */
		struct tcpx_head h;
		struct liar l;
		uint8_t ack[TCPX_SOCK_ACK_BYTES];

		liar_open(&l, lies_world()->host);
		h = first_chunk(open_write(&l));
		liar_send(&l, 0, &h, h.len);
		assert_int_equal(recv(l.tx[0], ack, sizeof(ack), MSG_WAITALL), sizeof(ack));
		h.channel = (uint16_t)second;
		h.seq = second ? 1 : 2;
		liar_send(&l, second, &h, h.len);
		assert_closed("a chunk twice", l.tx[second]);
		assert_goes_on(&l, "a chunk twice");
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* The host sends these bytes, and nothing is written there. */
TEST(a_chunk_of_a_read)
{
	uint8_t room[512];
	struct tcpx_head h;
	struct tcpx_buf b;
	struct liar l;

	liar_open(&l, lies_world()->host);
	memset(lies_world()->far.at, 0xff, CHUNK);
	tcpx_buf_init(&b, room, sizeof(room));
	write_open(&l, &b, TCPX_WIRE_READ, TWO_CHUNKS, false);
	liar_put(&l, TCPX_FR_OPEN, &b);
	h = first_chunk(l.opened);
	liar_send(&l, 0, &h, h.len);
	assert_closed("a chunk of a READ", l.tx[0]);
	for (size_t k = 0; k < CHUNK; k++)
		assert_int_equal(lies_world()->far.at[k], 0xff);
	assert_goes_on(&l, "a chunk of a READ");
	liar_close(&l);
	assert_witness_is_well();
}

/* Chunks of what has ended are dropped, and cost nothing. */
TEST(a_chunk_too_late)
{
	struct tcpx_head h;
	struct liar l;
	uint8_t ack[TCPX_SOCK_ACK_BYTES];

	liar_open(&l, lies_world()->host);
	h = first_chunk(open_write(&l));
	liar_put_u64(&l, TCPX_FR_CANCEL, h.xfer);
	assert_goes_on(&l, "after CANCEL");
	liar_send(&l, 0, &h, h.len);
	assert_int_equal(recv(l.tx[0], ack, sizeof(ack), MSG_WAITALL), sizeof(ack));
	assert_goes_on(&l, "a chunk after CANCEL");
	liar_close(&l);
	assert_witness_is_well();
}

TEST(in_a_preamble)
{
	static const struct lie lies[] = {
		{ "magic", 0, 4, 0x54435851, 0 },  { "version", 4, 2, 2, 0 },
		{ "flags", 6, 2, 2, 0 },	   { "direction", 6, 2, 0, 0 },
		{ "session", 8, 8, 1, 0 },	   { "channel", 16, 2, 1, 0 },
		{ "channel 64", 16, 2, 64, 0 },	   { "generation", 18, 2, 2, 0 },
		{ "token", 20, 8, 0, 0 },	   { "zero", 36, 4, 1, 0 },
	};
	struct tcpx_hello h = foe_introduction("liar");
	uint8_t bytes[TCPX_SOCK_PREAMBLE_BYTES];
	struct tcpx_chan_id id;
	struct liar l;
	int fd;

	h.session = h.incarnation = 77777;
	assert_true(liar_greet(&l, lies_world()->host, &h));
	for (size_t i = 0; i < ITEMS(lies); i++) {
		id = liar_chan_id(&l, 0);
		tcpx_sock_preamble_format(&id, bytes);
		tell_lie(bytes, &lies[i]);
		fd = liar_dial_data(&l, 0);
		(void)!send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		assert_int_equal(recv(fd, bytes, 1, 0) > 0, false); /* no answer, closed */
		close(fd);
	}
	liar_wire(&l); /* the right ones are still waited for */
	assert_goes_on(&l, "after wrong preambles");
	liar_close(&l);
	assert_witness_is_well();
}

/* ---- the handshake ---- */

TEST(in_start)
{
	static const struct {
		const char *what;
		struct tcpx_start s;
		int want;
	} lies[] = {
		{ "version 2", { 2, 2, false, TCPX_START_NEW, 0 }, TCPX_EVERSION },
		{ "newer versions alone", { TCPX_PROTO_VERSION + 1, 9, false, TCPX_START_NEW, 0 }, TCPX_EVERSION },
		{ "version 0", { 0, TCPX_PROTO_VERSION, false, TCPX_START_NEW, 0 }, TCPX_EPROTO },
		{ "versions 5 to 4", { 5, 4, false, TCPX_START_NEW, 0 }, TCPX_EPROTO },
		{ "kind 0", { TCPX_PROTO_VERSION, TCPX_PROTO_VERSION, false, 0, 0 }, TCPX_EPROTO },
		{ "kind 4", { TCPX_PROTO_VERSION, TCPX_PROTO_VERSION, false, 4, 0 }, TCPX_EPROTO },
		{ "sealed, where there is no secret", { TCPX_PROTO_VERSION, TCPX_PROTO_VERSION, true, TCPX_START_NEW, 0 }, TCPX_EAUTH },
		{ "HELLO where RESUME was said", { TCPX_PROTO_VERSION, TCPX_PROTO_VERSION, false, TCPX_START_RESUME, 5 }, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_hello h = foe_introduction("liar");
		uint8_t room[64];
		struct tcpx_buf b;
		struct liar l;

		memset(&l, 0, sizeof(l));
		foe_dial(&l.f, "127.0.3.1", tcpx_port(lies_world()->host));
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_start_write(&b, &lies[i].s);
		foe_put(&l.f, TCPX_FR_START, &b);
		foe_hello(&l.f, &h);
		assert_verdict(lies[i].what, liar_verdict(&l, 0), lies[i].want);
		foe_close(&l.f);
	}
	assert_witness_is_well();
}

TEST(in_hello)
{
#define FIELD(f) offsetof(struct tcpx_hello, f), sizeof(((struct tcpx_hello *)0)->f)
	static const struct {
		const char *what;
		size_t at, size;
		const char *bytes; /* NULL: zeros */
		int want;
	} lies[] = {
		{ "no role", FIELD(role), NULL, TCPX_EPROTO },
		{ "the acceptor's role", FIELD(role), "\2", TCPX_EPROTO },
		{ "no incarnation", FIELD(incarnation), NULL, TCPX_EPROTO },
		{ "meant for another incarnation", FIELD(expect), "1234567", TCPX_EPEERGONE },
		{ "meant for another name", FIELD(expect_name), "other", TCPX_EAUTH },
		{ "a name that obeys no terminal", FIELD(name), "\x1b[2J", TCPX_EPROTO },
		{ "another provider", FIELD(provider), "other", TCPX_EVERSION },
		{ "other terms", FIELD(terms), "chunk 1", TCPX_EVERSION },
		{ "no channels", FIELD(channels), NULL, TCPX_EPROTO },
		{ "too many channels", FIELD(channels), "\xff", TCPX_EPROTO },
		{ "no window", FIELD(window), NULL, TCPX_EPROTO },
		{ "no chunk", FIELD(chunk_max), NULL, TCPX_EPROTO },
		{ "a chunk of 255 bytes", FIELD(chunk_max), "\xff", TCPX_EPROTO },
		{ "no credit", FIELD(credit_xfers), NULL, TCPX_EPROTO },
		{ "no NIC", FIELD(nic_count), NULL, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_hello h = foe_introduction("liar");
		uint8_t *at = (uint8_t *)&h + lies[i].at;
		struct liar l;

		memset(&l, 0, sizeof(l));
		h.incarnation = h.session = 88000 + i;
		memset(at, 0, lies[i].size);
		if (lies[i].bytes)
			memcpy(at, lies[i].bytes, strlen(lies[i].bytes));
		foe_dial(&l.f, "127.0.3.1", tcpx_port(lies_world()->host));
		foe_start(&l.f, false, TCPX_START_NEW, 0);
		foe_hello(&l.f, &h);
		assert_verdict(lies[i].what, liar_verdict(&l, 0), lies[i].want);
		foe_close(&l.f);
	}
	assert_witness_is_well();
#undef FIELD
}

/* Words of an open session before it is open. */
TEST(too_early)
{
	static const uint8_t types[] = { TCPX_FR_OPEN, TCPX_FR_LIST, TCPX_FR_DONE, TCPX_FR_NOTE,
					 TCPX_FR_CANCEL, TCPX_FR_MESSAGE, TCPX_FR_BYE,
					 TCPX_FR_HANDLES, TCPX_FR_CHANNEL_ASK, TCPX_FR_RESUMED,
					 TCPX_FR_LANE_OPEN, TCPX_FR_LANE_POST, TCPX_FR_LANE_FAIL,
					 TCPX_FR_LANE_CLOSE };

	for (size_t i = 0; i < ITEMS(types); i++) {
		struct tcpx_hello h = foe_introduction("liar");
		uint8_t bytes[40] = { 0 };
		struct liar l;

		h.incarnation = h.session = 99000 + i;
		assert_true(liar_greet(&l, lies_world()->host, &h));
		liar_put_as(&l, types[i], tcpx_frame_numbered(types[i]), bytes, sizeof(bytes));
		assert_verdict(tcpx_frame_name(types[i]), liar_verdict(&l, 0), TCPX_EPROTO);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* The channels that it names have not come, so the session is not open in between. */
TEST(ready_twice)
{
	struct tcpx_readiness r = { .forward_up = 3, .backward_up = 3 };
	struct tcpx_hello h = foe_introduction("liar");
	uint8_t room[64];
	struct tcpx_buf b;
	struct liar l;

	h.incarnation = h.session = 101010;
	assert_true(liar_greet(&l, lies_world()->host, &h));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_ready_write(&b, &r);
	liar_put(&l, TCPX_FR_READY, &b);
	liar_put(&l, TCPX_FR_READY, &b);
	assert_verdict("READY twice", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
