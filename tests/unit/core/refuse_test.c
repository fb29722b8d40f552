/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody may have written a refusal in clear: an engine with a secret believes little of it. */
#include "bare.h"

#include <errno.h>

#include "base/log.h"
#include "core/session/peer.h"
#include "core/session/probe.h"
#include "core/session/receive.h"
#include "seal/secret.h"

/* A connection that takes everything and gives one frame. */
struct tcpx_stream {
	uint8_t came[128];
	size_t len;
	uint32_t closed;
};

/* This seal leaves bytes as they are. */
struct tcpx_seal {
	bool proven;
};

static struct tcpx_stream stream;
static struct tcpx_seal seal;

static int
net_connect(struct tcpx_net *n, int nic, const struct tcpx_addr *to, uint16_t packet,
	    struct tcpx_stream **out)
{
	*out = &stream;
	return 0;
}

static ssize_t
stream_recv(struct tcpx_stream *s, void *data, size_t cap)
{
	size_t n = s->len;

	if (n == 0)
		return -EAGAIN;
	assert_true(n <= cap);
	memcpy(data, s->came, n);
	s->len = 0;
	return (ssize_t)n;
}

static ssize_t
stream_send(struct tcpx_stream *s, const void *data, size_t len)
{
	return (ssize_t)len;
}

static int
stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner, unsigned interest)
{
	return 0;
}

static void
stream_close(struct tcpx_stream *s)
{
	s->closed++;
}

static int
seal_start(struct tcpx_seal_lib *lib, bool opener, const struct tcpx_seal_psk *psk, uint32_t count,
	   struct tcpx_seal **out)
{
	*out = &seal;
	return 0;
}

static void
seal_end(struct tcpx_seal *s)
{
}

static ssize_t
seal_feed(struct tcpx_seal *s, const void *in, size_t len, void *out, size_t cap)
{
	if (len)
		memcpy(out, in, len);
	return (ssize_t)len;
}

static ssize_t
seal_take(struct tcpx_seal *s, const void *plain, size_t len, void *out, size_t cap)
{
	if (len)
		memcpy(out, plain, len);
	return (ssize_t)len;
}

static bool
seal_proven(const struct tcpx_seal *s)
{
	return s->proven;
}

static const struct tcpx_seal_ops seals = { .start = seal_start, .end = seal_end, .feed = seal_feed,
					    .take = seal_take, .proven = seal_proven };
static const struct tcpx_secret secret = { .ops = &seals, .count = 1 };

static void
on_session(struct session *s)
{
}

static const struct session_calls calls = { .leaving = on_session, .failed = on_session,
					    .unwire = on_session };

static void
swallow(void *arg, int level, const char *line)
{
}

/* The next connection gives a refusal with this code. */
static void
refuses(int code)
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, stream.came + TCPX_FRAME_HEAD, sizeof(stream.came) - TCPX_FRAME_HEAD);
	tcpx_refuse_write(&b, code, "go away", 0);
	tcpx_frame_head_write(stream.came, TCPX_FR_REFUSE, 0, (uint32_t)b.pos);
	stream.len = TCPX_FRAME_HEAD + b.pos;
}

static struct session *
begin(struct bare *b, bool opener, bool with_secret, bool proven)
{
	tcpx_log_sink(swallow, NULL);
	stream = (struct tcpx_stream){ .len = 0 };
	seal.proven = proven;
	bare_open(b, opener);
	b->e.up.session = &calls;
	b->e.secret = with_secret ? &secret : NULL;
	b->ops.connect = net_connect;
	b->ops.stream_recv = stream_recv;
	b->ops.stream_send = stream_send;
	b->ops.stream_watch = stream_watch;
	b->ops.stream_close = stream_close;
	b->e.limit.turn_cost = 1000;
	return b->s;
}

static void
end(struct bare *b)
{
	tcpx_line_close(&b->s->control.line, &b->ops);
	tcpx_probe_end(b->s);
	b->e.secret = NULL;
	for (int i = 0; i < BARE_LOOPS; i++)
		(void)bare_works(&b->loop[i]);
	bare_close(b);
	tcpx_log_sink(NULL, NULL);
}

/* An acceptor whose connection was cut asks at the addresses of its opener. */
TEST(an_acceptor_that_asks_believes_who_has_its_secret_alone)
{
	static const struct {
		bool secret, proven;
		int code, cause;
	} rows[] = {
		{ true, false, TCPX_EPEERGONE, 0 },
		{ true, false, TCPX_ESTALLED, 0 },
		{ true, true, TCPX_EPEERGONE, TCPX_EPEERGONE },
		{ true, true, TCPX_ESTALLED, TCPX_ESTALLED },
		{ true, true, TCPX_EAUTH, 0 },
		{ false, false, TCPX_EPEERGONE, TCPX_EPEERGONE },
		{ false, false, TCPX_ESTALLED, TCPX_ESTALLED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bare b;
		struct session *s = begin(&b, false, rows[i].secret, rows[i].proven);

		s->peer->addr_count = 1;
		s->peer->addr[0].port = 7;
		s->control.cut_ns = b.now_ns;
		tcpx_probe_step(s, b.now_ns);
		assert_non_null(s->control.probe);
		refuses(rows[i].code);
		tcpx_probe_step(s, b.now_ns + TCPX_MS);
		assert_int_equal(stream.len, 0);
		assert_int_equal(stream.closed, 1);
		if (s->cause != rows[i].cause)
			fail_msg("row %zu: the session has ended with %d", i, s->cause);
		assert_int_equal(s->state, rows[i].cause ? SESS_FAILED : SESS_OPEN);
		end(&b);
	}
}

/* An acceptor may refuse before the proof for a few reasons; a full one is asked again. */
TEST(an_opener_believes_of_a_refusal_in_clear_what_comes_before_the_proof)
{
	static const struct {
		int code, cause;
	} rows[] = {
		{ TCPX_EAUTH, TCPX_EAUTH },
		{ TCPX_EVERSION, TCPX_EVERSION },
		{ TCPX_ETIMEDOUT, TCPX_ETIMEDOUT },
		{ TCPX_ELIMIT, 0 },
		{ TCPX_EPEERGONE, TCPX_EPROTO },
		{ TCPX_ESTALLED, TCPX_EPROTO },
		{ TCPX_ENOCHANNEL, TCPX_EPROTO },
		{ TCPX_ECLOSED, TCPX_EPROTO },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bare b;
		struct session *s = begin(&b, true, true, false);

		s->state = SESS_PROOF;
		s->control.up = s->control.proving = true;
		s->control.line.stream = &stream;
		assert_int_equal(tcpx_line_seal(&s->control.line, &secret, true, secret.psk, 1), 0);
		refuses(rows[i].code);
		tcpx_control_ready(&s->source, TCPX_READABLE, b.now_ns);
		assert_int_equal(stream.len, 0);
		if (s->cause != rows[i].cause)
			fail_msg("row %zu: the session has ended with %d", i, s->cause);
		assert_int_equal(s->state, rows[i].cause ? SESS_FAILED : SESS_CONNECTING);
		end(&b);
	}
}
