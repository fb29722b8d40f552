/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strangers at the control port: any first bytes of theirs are refused and counted, and the
 * session beside them goes on.
 */
#include "rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "proto/frame.h"

#define LEN 100000

/* A rig whose engines wait only a little for strangers. */
static int
brief_setup(void **state)
{
	static const char *const brief[] = { "TCPX_HANDSHAKE_MS=400", NULL };
	struct rig *r = calloc(1, sizeof(*r));

	rig_begin(r, NULL, brief);
	rig_memory(r, LEN, LEN);
	*state = r;
	return 0;
}

static int
stranger(struct rig *r)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000101) },
				  .sin_port = htons(tcpx_port(r->b)) };
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void
say(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

/* What the engine answers until it hangs up; -1 it did not. */
static ssize_t
answer(int fd, uint8_t *buf, size_t cap)
{
	size_t have = 0;
	ssize_t n;

	while (have < cap && (n = recv(fd, buf + have, cap - have, 0)) > 0)
		have += (size_t)n;
	close(fd);
	return (ssize_t)have;
}

static size_t
frame(uint8_t *to, uint8_t type, uint64_t number, const void *payload, size_t len)
{
	tcpx_frame_head_write(to, type, number, (uint32_t)len);
	if (len)
		memcpy(to + TCPX_FRAME_HEAD, payload, len);
	return TCPX_FRAME_HEAD + len;
}

static size_t
start_frame(uint8_t *to, uint16_t version, bool sealed, enum tcpx_start_kind kind)
{
	struct tcpx_start s = { .version_min = version, .version_max = version, .sealed = sealed,
				.kind = (uint8_t)kind, .session = 5 };
	uint8_t room[64];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_start_write(&b, &s);
	return frame(to, TCPX_FR_START, 0, room, b.pos);
}

/* A connection that has said START. */
static int
starter(struct rig *r, enum tcpx_start_kind kind)
{
	uint8_t buf[64];
	int fd = stranger(r);

	say(fd, buf, start_frame(buf, TCPX_PROTO_VERSION, false, kind));
	return fd;
}

static struct tcpx_hello
good_hello(void)
{
	struct tcpx_hello h = { .session = 77, .role = TCPX_ROLE_OPENER,
				.incarnation = 99, .name = "stranger", .provider = "sock",
				.channels = 1, .window = 4, .chunk_max = 65536,
				.credit_xfers = 4, .credit_list_bytes = 1 << 20,
				.nic_count = 1 };

	h.nic[0].addr.family = 4;
	h.nic[0].addr.ip[0] = 127;
	h.nic[0].addr.ip[3] = 1;
	return h;
}

static size_t
hello_frame(uint8_t *to, const struct tcpx_hello *h)
{
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_hello_write(&b, h);
	assert_false(b.bad);
	return frame(to, TCPX_FR_HELLO, 0, room, b.pos);
}

/* The last frame of the answer must refuse with this code. */
static void
assert_refused_with(int fd, int code, const char *words)
{
	uint8_t buf[32768];
	ssize_t have = answer(fd, buf, sizeof(buf)), at = 0;
	char text[TCPX_TEXT_MAX] = "";
	struct tcpx_frame_head h = { 0 };
	struct tcpx_buf b;
	int32_t said = 0;

	while (at + (ssize_t)TCPX_FRAME_HEAD <= have) {
		assert_int_equal(tcpx_frame_head_read(buf + at, (size_t)(have - at), &h), 0);
		if (h.type == TCPX_FR_REFUSE) {
			tcpx_buf_init_const(&b, buf + at + TCPX_FRAME_HEAD,
					    h.len - TCPX_FRAME_HEAD);
			assert_int_equal(tcpx_refuse_read(&b, &said, text, NULL), 0);
		}
		at += h.len;
	}
	assert_string_equal(tcpx_strerror_name(said), tcpx_strerror_name(code));
	assert_non_null(strstr(text, words));
}

static void
assert_refused(int fd, int code)
{
	assert_refused_with(fd, code, "");
}

static void
assert_undisturbed(struct rig *r, uint64_t refused)
{
	int patience = WAIT_MS;
	tcpx_note *n;

	assert_int_equal(counters_of(r->b).refused, refused);
	/* a refused session is let go just after its connection */
	while (counters_of(r->b).sessions > 1 && --patience)
		assert_code(tcpx_note_wait(r->a, 1, &n), -EAGAIN);
	assert_int_equal(counters_of(r->b).sessions, 1);
	fill(r->far.at, LEN, 2);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, LEN));
	assert_filled(r->far.at, LEN, 1);
}

TEST_WITH(garbage_is_turned_away, brief_setup, rig_teardown)
{
	struct rig *r = *state;
	uint8_t junk[4000];
	int fd = stranger(r);

	fill(junk, sizeof(junk), 3);
	say(fd, junk, sizeof(junk));
	assert_refused(fd, TCPX_EPROTO);
	fd = stranger(r);
	say(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35);
	assert_refused(fd, TCPX_EPROTO);
	assert_undisturbed(r, 2);
}

TEST_WITH(frames_of_impossible_length_are_turned_away, brief_setup, rig_teardown)
{
	static const uint32_t lens[] = { 0, 1, 19, TCPX_FRAME_MAX + 1, 0x7fffffff, UINT32_MAX };
	struct rig *r = *state;

	for (uint32_t i = 0; i < 6; i++) {
		uint8_t head[TCPX_FRAME_HEAD];
		int fd = stranger(r);

		tcpx_frame_head_write(head, TCPX_FR_START, 0, lens[i] - TCPX_FRAME_HEAD);
		say(fd, head, sizeof(head));
		assert_refused(fd, TCPX_EPROTO);
	}
	assert_undisturbed(r, 6);
}

TEST_WITH(half_a_frame_and_silence_are_shown_out, brief_setup, rig_teardown)
{
	struct tcpx_hello h = good_hello();
	struct rig *r = *state;
	uint8_t buf[TCPX_FRAME_MAX], rest[4096];
	size_t len = hello_frame(buf, &h);
	int silent = stranger(r), half = starter(r, TCPX_START_NEW);
	int gone = starter(r, TCPX_START_NEW);

	say(half, buf, len / 2);
	say(gone, buf, len - 1);
	close(gone);
	assert_refused(silent, TCPX_ETIMEDOUT);
	assert_true(answer(half, rest, sizeof(rest)) >= 0);
	assert_undisturbed(r, 2);
}

TEST_WITH(every_cut_of_a_hello_is_harmless, brief_setup, rig_teardown)
{
	struct tcpx_hello h = good_hello();
	struct rig *r = *state;
	uint8_t buf[TCPX_FRAME_MAX], cut[TCPX_FRAME_MAX], rest[4096];
	size_t len = hello_frame(buf, &h), refused = 0;

	for (size_t n = 0; n < len - TCPX_FRAME_HEAD; n += 3, refused++) {
		int fd = starter(r, TCPX_START_NEW);

		say(fd, cut, frame(cut, TCPX_FR_HELLO, 0, buf + TCPX_FRAME_HEAD, n));
		assert_true(answer(fd, rest, sizeof(rest)) > 0);
	}
	assert_undisturbed(r, refused);
}

TEST_WITH(a_first_frame_must_introduce, brief_setup, rig_teardown)
{
	static const uint8_t types[] = { TCPX_FR_START, TCPX_FR_PING, TCPX_FR_ACK, TCPX_FR_BYE,
					 TCPX_FR_OPEN, TCPX_FR_RESUMED };
	struct rig *r = *state;
	uint8_t buf[TCPX_FRAME_MAX], zero[64] = { 0 }, rest[4096];
	struct tcpx_resume resume = { .session = 5, .incarnation = 5, .epoch = 1 };
	struct tcpx_buf b;
	int fd;

	for (size_t i = 0; i < sizeof(types); i++) {
		if (types[i] == TCPX_FR_ACK)
			continue; /* used up unseen: then it is silence */
		fd = starter(r, TCPX_START_NEW);
		say(fd, buf, frame(buf, types[i], types[i] >= TCPX_FR_HANDLES, zero, 8));
		assert_refused(fd, TCPX_EPROTO);
	}
	tcpx_buf_init(&b, rest, sizeof(rest));
	tcpx_resume_write(&b, &resume);
	fd = starter(r, TCPX_START_RESUME);
	say(fd, buf, frame(buf, TCPX_FR_RESUME, 0, rest, b.pos));
	assert_refused(fd, TCPX_EPEERGONE);
	assert_undisturbed(r, sizeof(types));
}

TEST_WITH(a_hello_that_does_not_fit_is_refused_with_the_reason, brief_setup, rig_teardown)
{
	struct rig *r = *state;
	struct { struct tcpx_hello h; int code; } try[7];
	uint8_t start[64];
	char words[128];
	int fd;

	for (int i = 0; i < 7; i++)
		try[i].h = good_hello();
	memcpy(try[0].h.expect_name, "somebody", 9);
	try[0].code = TCPX_EAUTH;
	memcpy(try[1].h.provider, "tcpx", 5);
	try[1].code = TCPX_EVERSION;
	try[2].h.role = TCPX_ROLE_ACCEPTOR;
	try[2].code = TCPX_EPROTO;
	try[3].h.expect = 12345; /* another incarnation */
	try[3].code = TCPX_EPEERGONE;
	memcpy(try[4].h.terms, "chunk 524288", 13);
	try[4].code = TCPX_EVERSION;
	try[5].h.host = 1; /* another host, and its loopback */
	try[5].code = -ENONET;
	try[6].h.incarnation = 0; /* nobody's */
	try[6].code = TCPX_EPROTO;
	for (int i = 0; i < 7; i++) {
		uint8_t buf[TCPX_FRAME_MAX];

		fd = starter(r, TCPX_START_NEW);
		say(fd, buf, hello_frame(buf, &try[i].h));
		assert_refused(fd, try[i].code);
	}
	fd = stranger(r);
	say(fd, start, start_frame(start, TCPX_PROTO_VERSION + 1, false, TCPX_START_NEW));
	snprintf(words, sizeof(words), "the connecting side speaks protocol versions %u to %u, the listening side %u",
		 TCPX_PROTO_VERSION + 1, TCPX_PROTO_VERSION + 1, TCPX_PROTO_VERSION);
	assert_refused_with(fd, TCPX_EVERSION, words);
	fd = stranger(r);
	say(fd, start, start_frame(start, TCPX_PROTO_VERSION, true, TCPX_START_NEW));
	assert_refused(fd, TCPX_EAUTH);
	assert_undisturbed(r, 9);
}

/* It says who it is and then nothing, or nonsense: its session ends, nobody else's. */
TEST_WITH(a_handshake_that_stops_half_way_ends, brief_setup, rig_teardown)
{
	struct tcpx_hello h = good_hello();
	struct rig *r = *state;
	uint8_t buf[2 * TCPX_FRAME_MAX], rest[32768];
	size_t len = hello_frame(buf, &h);
	int stops = starter(r, TCPX_START_NEW), lies;

	say(stops, buf, len);
	h.session = 78;
	lies = starter(r, TCPX_START_NEW);
	len = hello_frame(buf, &h);
	len += frame(buf + len, TCPX_FR_OPEN, 1, rest, 100);
	say(lies, buf, len);
	assert_true(answer(lies, rest, sizeof(rest)) > 0);
	assert_true(answer(stops, rest, sizeof(rest)) > 0);
	fill(r->far.at, LEN, 2);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, LEN));
	assert_filled(r->far.at, LEN, 1);
}

TEST_WITH(a_crowd_of_strangers_leaves_room_for_friends, brief_setup, rig_teardown)
{
	struct rig *r = *state;
	int fd[100];
	tcpx_engine *c;
	tcpx_peer *p;

	for (int i = 0; i < 100; i++)
		fd[i] = stranger(r);
	c = rig_open("cleo", NULL);
	p = rig_add(c, r->b);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	for (int i = 0; i < 100; i++)
		close(fd[i]);
	tcpx_peer_free(p);
	tcpx_close(c);
}
