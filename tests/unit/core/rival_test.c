/* SPDX-License-Identifier: Apache-2.0 */
/* A newcomer says the incarnation of a peer that has a session. */
#include "rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/engine/engine.h"
#include "core/session/rival.h"
#include "net/registry.h"
#include "proto/frame.h"

#define NOBODYS 99 /* an incarnation that no engine here has */

TEST(the_rule)
{
	static const struct {
		struct rival_facts f;
		enum rival_verdict verdict;
	} rows[] = {
		{ { .stands = false }, RIVAL_ADMIT },
		{ { .stands = false, .answered = true, .overdue = true, .acked = true }, RIVAL_ADMIT },
		{ { .stands = true }, RIVAL_WAIT },
		{ { .stands = true, .answered = true }, RIVAL_WAIT },
		{ { .stands = true, .acked = true }, RIVAL_WAIT },
		{ { .stands = true, .answered = true, .overdue = true }, RIVAL_REFUSE },
		{ { .stands = true, .answered = true, .overdue = true, .acked = true }, RIVAL_REFUSE },
		{ { .stands = true, .overdue = true, .acked = true }, RIVAL_LATER },
		{ { .stands = true, .overdue = true }, RIVAL_REPLACE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (tcpx_rival_judge(&rows[i].f) != rows[i].verdict)
			fail_msg("row %zu", i);
}

static int
dial(tcpx_engine *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000101) },
				  .sin_port = htons(tcpx_port(e)) };
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* A connection on which HELLO has been said under this name and incarnation. */
static int
claim(tcpx_engine *e, const char *name, uint64_t incarnation)
{
	struct tcpx_start start = { .version_min = TCPX_PROTO_VERSION,
				    .version_max = TCPX_PROTO_VERSION,
				    .kind = TCPX_START_NEW };
	struct tcpx_hello h = { .session = 77, .role = TCPX_ROLE_OPENER,
				.incarnation = incarnation, .provider = "sock", .channels = 1,
				.window = 4, .chunk_max = 65536, .credit_xfers = 4,
				.credit_list_bytes = 1 << 20, .nic_count = 1 };
	uint8_t frame[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	int fd = dial(e);

	tcpx_buf_init(&b, frame + TCPX_FRAME_HEAD, sizeof(frame) - TCPX_FRAME_HEAD);
	tcpx_start_write(&b, &start);
	tcpx_frame_head_write(frame, TCPX_FR_START, 0, (uint32_t)b.pos);
	assert_int_equal(send(fd, frame, TCPX_FRAME_HEAD + b.pos, MSG_NOSIGNAL),
			 TCPX_FRAME_HEAD + b.pos);
	snprintf(h.name, sizeof(h.name), "%s", name);
	h.nic[0].addr = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 0, 1 } };
	tcpx_buf_init(&b, frame + TCPX_FRAME_HEAD, sizeof(frame) - TCPX_FRAME_HEAD);
	tcpx_hello_write(&b, &h);
	assert_false(b.bad);
	tcpx_frame_head_write(frame, TCPX_FR_HELLO, 0, (uint32_t)b.pos);
	assert_int_equal(send(fd, frame, TCPX_FRAME_HEAD + b.pos, MSG_NOSIGNAL),
			 TCPX_FRAME_HEAD + b.pos);
	return fd;
}

/* Reads frames up to one of this type, or of @other if that is not 0; returns which. */
static uint8_t
frame_of(int fd, uint8_t type, uint8_t other, int *code)
{
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_frame_head h;
	char text[TCPX_TEXT_MAX];
	struct tcpx_buf b;
	int32_t said;

	do {
		assert_int_equal(recv(fd, room, TCPX_FRAME_HEAD, MSG_WAITALL), TCPX_FRAME_HEAD);
		assert_int_equal(tcpx_frame_head_read(room, TCPX_FRAME_HEAD, &h), 0);
		if (h.len > TCPX_FRAME_HEAD)
			assert_int_equal(recv(fd, room, h.len - TCPX_FRAME_HEAD, MSG_WAITALL),
					 h.len - TCPX_FRAME_HEAD);
		if (h.type == TCPX_FR_REFUSE && code) {
			tcpx_buf_init_const(&b, room, h.len - TCPX_FRAME_HEAD);
			assert_int_equal(tcpx_refuse_read(&b, &said, text, NULL), 0);
			*code = said;
		}
	} while (h.type != type && (!other || h.type != other));
	return h.type;
}

/* HELLO comes before the refusal: the peer itself, by another name, learns from it whom it has reached. */
static void
assert_refused(int fd, int why)
{
	int code = 0;

	assert_int_equal(frame_of(fd, TCPX_FR_HELLO, TCPX_FR_REFUSE, &code), TCPX_FR_HELLO);
	assert_int_equal(frame_of(fd, TCPX_FR_HANDLES, TCPX_FR_REFUSE, &code), TCPX_FR_REFUSE);
	assert_code(code, why);
	close(fd);
}

/* An engine that cannot know what kernels have acknowledged: so one that says nothing may be half-open. */
static tcpx_engine *
open_deaf(struct tcpx_net_ops *net)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_PORT=0", "TCPX_STATS=off", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct engine_env env = { .net = net, .clock = tcpx_clock_system };
	tcpx_engine *e;

	net->stream_acked = NULL;
	opts.name = "bert";
	opts.settings = settings;
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	return e;
}

TEST_WITH(an_impostor_of_a_living_client_is_refused, rig_setup, rig_teardown)
{
	static const char *const names[] = { "anna", "another name" };
	struct rig *r = *state;
	uint64_t session;
	struct tcpx_channel_info c[8];
	size_t n = 8;

	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
	assert_ok(tcpx_query_channels(r->a, c, sizeof(c[0]), &n));
	session = c[0].session;
	for (int i = 0; i < 2; i++) {
		assert_refused(claim(r->b, names[i], r->a->incarnation), TCPX_EAUTH);
		assert_int_equal(counters_of(r->b).refused, i + 1);
		assert_int_equal(counters_of(r->b).sessions, 1);
	}
	rig_memory(r, 1000, 1000);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 1000));
	n = 8;
	assert_ok(tcpx_query_channels(r->a, c, sizeof(c[0]), &n));
	assert_true(c[0].session == session);
}

/* The kernel of the older one acknowledges the question: nothing of it ends. */
TEST_WITH(one_whose_process_hangs_is_not_replaced, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int older = claim(r->b, "client", NOBODYS), code;

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	assert_refused(claim(r->b, "client", NOBODYS), TCPX_ELIMIT);
	frame_of(older, TCPX_FR_PING, 0, NULL);
	assert_int_equal(recv(older, &code, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(older);
}

TEST(one_that_is_half_open_is_replaced)
{
	struct tcpx_net_ops net = tcpx_net_sock;
	tcpx_engine *e = open_deaf(&net);
	uint64_t start_ns = engine_now(e), took_ns;
	int older = claim(e, "client", NOBODYS), newer, code = 0;

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	newer = claim(e, "client", NOBODYS);
	frame_of(older, TCPX_FR_PING, 0, NULL);
	assert_int_equal(frame_of(newer, TCPX_FR_HANDLES, TCPX_FR_REFUSE, NULL), TCPX_FR_HANDLES);
	took_ns = engine_now(e) - start_ns;
	assert_in_range(took_ns, TCPX_SEC, WAIT_MS * TCPX_MS);
	frame_of(older, TCPX_FR_REFUSE, 0, &code);
	assert_code(code, TCPX_ESTALLED);
	close(older);
	close(newer);
	tcpx_close(e);
}

/* An acceptor that stood still finds the attempts of one opener in any order: the one that it has given
 * up sends nobody away. */
TEST(one_that_is_given_up_does_not_displace_another)
{
	struct tcpx_net_ops net = tcpx_net_sock;
	tcpx_engine *e = open_deaf(&net);
	int older = claim(e, "client", NOBODYS), live;

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	live = claim(e, "client", NOBODYS);
	frame_of(older, TCPX_FR_PING, 0, NULL);
	pthread_mutex_lock(&e->registry.lock); /* it stands before it looks for rivals */
	close(claim(e, "client", NOBODYS));
	pthread_mutex_unlock(&e->registry.lock);
	assert_int_equal(frame_of(live, TCPX_FR_HANDLES, TCPX_FR_REFUSE, NULL), TCPX_FR_HANDLES);
	close(older);
	close(live);
	tcpx_close(e);
}

/* The newest newcomer waits alone; the other may come again. */
TEST_WITH(a_newer_one_takes_the_place_of_one_that_waits, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int older = claim(r->b, "client", NOBODYS), first, second;

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	first = claim(r->b, "client", NOBODYS);
	frame_of(older, TCPX_FR_PING, 0, NULL);
	second = claim(r->b, "client", NOBODYS);
	assert_refused(first, TCPX_ELIMIT);
	close(older); /* which gives way to it */
	assert_int_equal(frame_of(second, TCPX_FR_HANDLES, TCPX_FR_REFUSE, NULL), TCPX_FR_HANDLES);
	close(second);
}

/* What was said on the older one is lost: who holds it hears of that, and finds the newer one. */
TEST(who_is_replaced_is_told_of)
{
	struct tcpx_net_ops net = tcpx_net_sock;
	tcpx_engine *e = open_deaf(&net);
	int older = claim(e, "client", NOBODYS), newer, patience = WAIT_MS;
	tcpx_peer *before, *now;
	tcpx_note *n;

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	assert_ok(tcpx_peer_find(e, "client", &before));
	assert_code(status_of(before), -EAGAIN);
	newer = claim(e, "client", NOBODYS);
	frame_of(newer, TCPX_FR_HANDLES, 0, NULL);
	frame_of(older, TCPX_FR_REFUSE, 0, NULL);
	while (counters_of(e).sessions > 1 && --patience)
		assert_code(tcpx_note_wait(e, 1, &n), -EAGAIN);
	assert_code(status_of(before), TCPX_ESTALLED);
	assert_ok(tcpx_peer_find(e, "client", &now));
	assert_ptr_not_equal(now, before);
	assert_code(status_of(now), -EAGAIN);
	tcpx_peer_free(before);
	tcpx_peer_free(now);
	close(older);
	close(newer);
	tcpx_close(e);
}

static _Atomic unsigned hellos;

/* The send of the second HELLO fails. */
static ssize_t
fail_second_hello(struct tcpx_stream *s, const void *data, size_t len)
{
	const uint8_t *at = data, *end = at + len;
	struct tcpx_frame_head h;

	for (; at < end && tcpx_frame_head_read(at, (size_t)(end - at), &h) == 0; at += h.len)
		if (h.type == TCPX_FR_HELLO && ++hellos == 2)
			return -ECONNRESET;
	return tcpx_net_sock.stream_send(s, data, len);
}

/* The older one stands: it is asked again when a third one comes. */
TEST(one_that_cannot_be_answered_replaces_nobody)
{
	struct tcpx_net_ops net = tcpx_net_sock;
	int older, newer, third;
	tcpx_engine *e;
	char byte;

	hellos = 0;
	net.stream_send = fail_second_hello;
	e = open_deaf(&net);
	older = claim(e, "client", NOBODYS);
	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	newer = claim(e, "client", NOBODYS);
	frame_of(older, TCPX_FR_PING, TCPX_FR_REFUSE, NULL);
	assert_true(recv(newer, &byte, 1, 0) <= 0);
	assert_int_equal(hellos, 2);
	third = claim(e, "client", NOBODYS);
	assert_int_equal(frame_of(older, TCPX_FR_PING, TCPX_FR_REFUSE, NULL), TCPX_FR_PING);
	assert_int_equal(frame_of(third, TCPX_FR_HANDLES, TCPX_FR_REFUSE, NULL), TCPX_FR_HANDLES);
	close(older);
	close(newer);
	close(third);
	tcpx_close(e);
}

TEST_WITH(one_that_has_left_is_in_nobodys_way, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int older = claim(r->b, "client", NOBODYS), newer, third;

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	close(older);
	newer = claim(r->b, "client", NOBODYS);
	frame_of(newer, TCPX_FR_HANDLES, 0, NULL);
	third = claim(r->b, "client", NOBODYS);
	frame_of(newer, TCPX_FR_PING, 0, NULL);
	close(newer); /* while the third waits */
	frame_of(third, TCPX_FR_HANDLES, 0, NULL);
	close(third);
}

TEST_WITH(one_that_leaves_while_it_waits_disturbs_nobody, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int older = claim(r->b, "client", NOBODYS);
	struct linger hard = { .l_onoff = 1 };

	frame_of(older, TCPX_FR_HELLO, 0, NULL);
	for (int i = 0; i < 20; i++) {
		int fd = claim(r->b, "client", NOBODYS);

		frame_of(older, TCPX_FR_PING, 0, NULL);
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(fd);
	}
	close(older);
	assert_ok(tcpx_notify(r->to_b, "still here", 10));
	assert_note(r->b, "anna", "still here");
}

/* Connecting again is no second session that the peer would have to refuse. */
TEST_WITH(one_address_is_one_peer, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_engine *c = rig_open("cleo", NULL);
	tcpx_peer *first = rig_connect(c, r->b), *second = rig_connect(c, r->b), *third;

	assert_ptr_equal(first, second);
	assert_ok(tcpx_peer_wait(first, WAIT_MS));
	tcpx_peer_free(first);
	tcpx_peer_free(second);
	third = rig_connect(c, r->b); /* still warm */
	assert_ok(tcpx_peer_wait(third, 0));
	assert_int_equal(counters_of(c).sessions, 1);
	tcpx_peer_free(third);
	tcpx_close(c);
}

static void
say(int fd, uint8_t type, uint8_t *frame, const struct tcpx_buf *b)
{
	assert_false(b->bad);
	tcpx_frame_head_write(frame, type, 0, (uint32_t)b->pos);
	assert_int_equal(send(fd, frame, TCPX_FRAME_HEAD + b->pos, MSG_NOSIGNAL),
			 TCPX_FRAME_HEAD + b->pos);
}

/* What an engine answers to one that asks for a session, which it has opened or not. */
static int
asked(tcpx_engine *e, uint64_t session, uint64_t expect, bool dialled_here)
{
	struct tcpx_start start = { .version_min = TCPX_PROTO_VERSION,
				    .version_max = TCPX_PROTO_VERSION, .kind = TCPX_START_ASK };
	struct tcpx_resume r = { .session = session, .incarnation = NOBODYS, .expect = expect,
				 .dialled = { .family = 4, .ip = { 127, 0, 1, 1 } } };
	uint8_t frame[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	int fd = dial(e), code = 0;

	tcpx_buf_init(&b, frame + TCPX_FRAME_HEAD, sizeof(frame) - TCPX_FRAME_HEAD);
	tcpx_start_write(&b, &start);
	say(fd, TCPX_FR_START, frame, &b);
	r.dialled.port = (uint16_t)(tcpx_port(e) + !dialled_here);
	tcpx_buf_init(&b, frame + TCPX_FRAME_HEAD, sizeof(frame) - TCPX_FRAME_HEAD);
	tcpx_resume_write(&b, &r);
	say(fd, TCPX_FR_RESUME, frame, &b);
	frame_of(fd, TCPX_FR_REFUSE, 0, &code);
	close(fd);
	return code;
}

TEST_WITH(who_is_asked_for_a_session_says_whether_it_knows_it, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_channel_info c[8];
	size_t n = 8;
	uint64_t id;

	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
	assert_ok(tcpx_query_channels(r->a, c, sizeof(c[0]), &n));
	id = c[0].session;
	assert_code(asked(r->a, id, r->a->incarnation, true), TCPX_EAUTH); /* its opener */
	assert_code(asked(r->b, id, r->b->incarnation, true), TCPX_EAUTH); /* its acceptor */
	assert_code(asked(r->a, id + 1, r->a->incarnation, true), TCPX_ESTALLED);
	assert_code(asked(r->a, id + 1, r->a->incarnation + 1, true), TCPX_EPEERGONE);
	assert_code(asked(r->a, id + 1, r->a->incarnation + 1, false), TCPX_EAUTH);
	assert_int_equal(counters_of(r->a).refused, 0); /* an answer is no refusal */
}
