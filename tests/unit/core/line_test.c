/* SPDX-License-Identifier: Apache-2.0 */
/* A control connection with a secret, whose peer answers in clear, in any segments. */
#include "base/base_test.h"

#include <errno.h>
#include <string.h>

#include "core/session/line.h"
#include "fake/plain_seal.h"
#include "proto/frame.h"
#include "tcpx/err.h"

/* Gives the segments one by one. */
struct tcpx_stream {
	uint8_t bytes[TCPX_FRAME_MAX];
	size_t len, at, segment;
	bool ready;
};

static ssize_t
stream_recv(struct tcpx_stream *s, void *data, size_t cap)
{
	size_t n = s->len - s->at < s->segment ? s->len - s->at : s->segment;

	s->ready = !s->ready; /* one segment a turn */
	if (!s->ready || !n)
		return -EAGAIN;
	assert_true(n <= cap);
	memcpy(data, s->bytes + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static ssize_t
stream_send(struct tcpx_stream *s, const void *data, size_t len)
{
	(void)s;
	(void)data;
	return (ssize_t)len;
}

static void
stream_close(struct tcpx_stream *s)
{
	(void)s;
}

static const struct tcpx_net_ops net = { .stream_send = stream_send, .stream_recv = stream_recv,
					 .stream_close = stream_close };

static size_t
frame(uint8_t *to, uint8_t type, const char *text)
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, to + TCPX_FRAME_HEAD, 200);
	tcpx_refuse_write(&b, TCPX_EAUTH, text, 0);
	tcpx_frame_head_write(to, type, 0, (uint32_t)b.pos);
	return TCPX_FRAME_HEAD + b.pos;
}

/* An opener's connection reads @s to its end, as the loop would: what it gets. */
static ssize_t
read_all(struct tcpx_stream *s, struct line *l, uint8_t *room, size_t cap)
{
	struct tcpx_seal_lib *lib = plain_seal_open(1);
	struct tcpx_secret secret = { .ops = &tcpx_seal_plain_ops, .lib = lib, .count = 1,
				      .psk = { { .id = "name", .id_len = 4, .key = "key" } } };
	ssize_t n = -EAGAIN;

	*l = (struct line){ .stream = s };
	assert_int_equal(tcpx_line_seal(l, &secret, true, secret.psk, 1), 0);
	assert_int_equal(tcpx_line_send(l, &net, NULL, 0), 0);
	for (size_t turn = 0; n == -EAGAIN && turn <= 2 * s->len; turn++)
		n = tcpx_line_recv(l, &net, true, room, cap);
	assert_false(tcpx_line_proven(l));
	plain_seal_close(lib);
	return n;
}

TEST(a_refusal_is_read_in_any_segments)
{
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_stream s = { .segment = 1 };
	char text[TCPX_TEXT_MAX];
	struct tcpx_buf b;
	struct line l;
	int32_t code;

	s.len = frame(s.bytes, TCPX_FR_REFUSE, "no secret here");
	for (s.segment = 1; s.segment <= s.len; s.segment++) {
		s.at = 0;
		s.ready = false;
		if (read_all(&s, &l, room, sizeof(room)) != (ssize_t)s.len)
			fail_msg("segments of %zu bytes", s.segment);
		assert_true(l.clear);
		tcpx_buf_init_const(&b, room + TCPX_FRAME_HEAD, s.len - TCPX_FRAME_HEAD);
		assert_int_equal(tcpx_refuse_read(&b, &code, text, NULL), 0);
		assert_int_equal(code, TCPX_EAUTH);
		assert_string_equal(text, "no secret here");
		tcpx_line_close(&l, &net);
	}
}

/* Another frame, a second one behind it, one without an end, garbage: all in clear. */
TEST(nothing_else_is_read_in_clear)
{
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_stream s = { .segment = 1 };
	struct line l;

	for (int i = 0; i < 4; i++) {
		s.len = frame(s.bytes, i == 0 ? TCPX_FR_HELLO : TCPX_FR_REFUSE, "");
		if (i == 1)
			s.len += frame(s.bytes + s.len, TCPX_FR_REFUSE, "");
		else if (i == 2)
			tcpx_frame_head_write(s.bytes, TCPX_FR_REFUSE, 0, 8000);
		else if (i == 3)
			memset(s.bytes, 0, sizeof(s.bytes));
		if (i >= 2)
			s.len = 4096;
		for (s.segment = 1; s.segment < 200; s.segment += 11) {
			ssize_t n;

			s.at = 0;
			s.ready = false;
			n = read_all(&s, &l, room, sizeof(room));
			/* before the second came, the first was there */
			if (n != TCPX_EPROTO && !(i == 1 && s.segment <= 31 && n > 0))
				fail_msg("case %d, segments of %zu bytes: %zd", i, s.segment, n);
			tcpx_line_close(&l, &net);
		}
	}
}
