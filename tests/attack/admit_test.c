/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those that connect and do not introduce themselves keep nobody out, and of many that connect at
 * once each gets in. The silent ones never leave by themselves here: TCPX_HANDSHAKE_MS is an hour.
 */
#include "foe.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/session/accept.h"
#include "core/session/session.h"

#define SILENT 600
#define HERD   40
#define YOUNG  20 /* more than may be half open, but none has had its time */
#define HALVES 30
#define TURNS  20
#define AGAIN  300 /* more than may wait to introduce themselves */
#define LONG   "TCPX_HANDSHAKE_MS=3600s"

static void
more_files(void)
{
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/* Comes from 127.0.5.@from and says nothing. */
static int
silent(tcpx_engine *at, int from)
{
	struct sockaddr_in own = { .sin_family = AF_INET }, to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	assert_true(fd >= 0);
	own.sin_addr.s_addr = htonl(0x7f000500u + (unsigned)from);
	to.sin_addr.s_addr = htonl(0x7f000301u);
	to.sin_port = htons(tcpx_port(at));
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void
assert_gets_in(tcpx_engine *at, const struct tcpx_secret *secret)
{
	tcpx_engine *guest = open_with("guest", secret, NULL);
	tcpx_peer *p = rig_add(guest, at);

	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	assert_ok(tcpx_notify(p, "here", 4));
	assert_note(at, "guest", "here");
	tcpx_peer_free(p);
	tcpx_close(guest);
}

static void
silent_ones_keep_nobody_out(const struct tcpx_secret *secret)
{
	tcpx_engine *e = open_with("host", secret, LONG);
	int fd[SILENT];

	for (int i = 0; i < SILENT; i++) {
		fd[i] = silent(e, 1 + i % 3);
		if (i % 100 == 99)
			assert_gets_in(e, secret);
	}
	assert_in_range(e->listeners->pending_count, 1, PENDING_MAX);
	for (int i = 0; i < SILENT; i++)
		close(fd[i]);
	tcpx_close(e);
}

TEST(silent_ones_keep_nobody_out_without_a_secret)
{
	silent_ones_keep_nobody_out(NULL);
}

TEST(silent_ones_keep_nobody_out_with_one)
{
	struct tcpx_secret *secret = secret_of("a secret of more than thirty-two bytes, all told", 0);

	if (!secret) {
		print_message("# skipped: no OpenSSL\n");
		skip();
	}
	silent_ones_keep_nobody_out(secret);
	tcpx_secret_close(secret);
}

/* Says START and HELLO and goes no further. Returns its connection. */
static int
introduce(tcpx_engine *at, uint64_t number, bool answered)
{
	struct tcpx_hello hello = foe_introduction("half");
	struct foe *f = malloc(sizeof(*f));
	uint8_t payload[TCPX_FRAME_MAX];
	size_t len;
	int fd;

	assert_non_null(f);
	hello.incarnation = hello.session = 1000 + number;
	foe_dial(f, "127.0.3.1", tcpx_port(at));
	foe_start(f, false, TCPX_START_NEW, 0);
	foe_hello(f, &hello);
	if (answered)
		assert_true(foe_get(f, TCPX_FR_HANDLES, payload, &len));
	fd = f->fd;
	free(f);
	return fd;
}

static int
half_open(tcpx_engine *at, uint64_t number)
{
	return introduce(at, number, true);
}

/* Without a secret a HELLO that is said again waits until the session's peer has answered. */
TEST(a_hello_said_often_keeps_nobody_out)
{
	tcpx_engine *e = open_with("host", NULL, LONG);
	int fd[AGAIN];

	fd[0] = half_open(e, 1);
	for (int i = 1; i < AGAIN; i++)
		fd[i] = introduce(e, 1, false);
	assert_gets_in(e, NULL);
	for (int i = 0; i < AGAIN; i++)
		close(fd[i]);
	tcpx_close(e);
}

/* Sessions from here have broken the protocol, each under another incarnation. */
static void
remember_breaches(tcpx_engine *e)
{
	struct breach_row *r = &e->listeners->breaches.addr[0];

	e->limit.breach_ns = BREACH_NS;
	r->from = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 0, 1 } };
	for (int i = 0; i < 2 * TCPX_BREACH_FEW; i++)
		tcpx_breach(&r->made, engine_now(e));
}

/* An honest one from there has its turn as any, and nobody overtakes. */
TEST(neighbours_of_one_that_breaks_the_protocol_take_turns)
{
	tcpx_engine *e = open_with("host", NULL, NULL);
	uint64_t begin_ns;
	int fd[TURNS];
	char byte;

	remember_breaches(e);
	begin_ns = engine_now(e);
	for (int i = 0; i < TURNS; i++)
		fd[i] = introduce(e, (uint64_t)i, false);
	close(fd[1]); /* one that leaves costs no turn */
	assert_gets_in(e, NULL);
	assert_in_range(engine_now(e) - begin_ns, (TURNS - 1) * BREACH_NS / TCPX_BREACH_TURN, 5 * TCPX_SEC);
	for (int i = 0; i < TURNS; i++)
		if (i != 1) {
			assert_int_equal(recv(fd[i], &byte, 1, MSG_DONTWAIT), 1);
			close(fd[i]);
		}
	assert_int_equal(counters_of(e).refused, 0);
	tcpx_close(e);
}

/* With a secret anybody may say, in clear, that he resumes a session. */
TEST(resumes_that_are_none_keep_nobody_out)
{
	struct tcpx_secret *secret = secret_of("a secret of more than thirty-two bytes, all told", 0);
	tcpx_engine *e;
	struct foe f;
	int fd[AGAIN];

	if (!secret) {
		print_message("# skipped: no OpenSSL\n");
		skip();
	}
	e = open_with("host", secret, LONG);
	for (int i = 0; i < AGAIN; i++) {
		foe_dial(&f, "127.0.3.1", tcpx_port(e));
		foe_start(&f, true, TCPX_START_RESUME, (uint64_t)i);
		fd[i] = f.fd;
	}
	assert_gets_in(e, secret);
	for (int i = 0; i < AGAIN; i++)
		close(fd[i]);
	tcpx_close(e);
	tcpx_secret_close(secret);
}

/* As if they had begun when the machine did. */
static void
age_sessions(tcpx_engine *e)
{
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s))) {
		pthread_mutex_lock(&s->lock);
		s->health.start_ns = 0;
		pthread_mutex_unlock(&s->lock);
	}
}

/* Without a secret anybody may begin a session. Those that have had their time make room for others,
 * which need descriptors. */
TEST(half_open_sessions_make_room)
{
	struct rlimit files, few;
	tcpx_engine *e;
	int fd[HALVES];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = (struct rlimit){ 128, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	e = open_with("host", NULL, "TCPX_HANDSHAKE_MS=60s");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(e->listeners->half_open_max, 16);
	for (int i = 0; i < HALVES; i++) {
		if (i == YOUNG)
			age_sessions(e);
		fd[i] = half_open(e, (uint64_t)i);
	}
	assert_int_equal(counters_of(e).refused, HALVES - YOUNG);
	for (int i = 0; i < HALVES; i++)
		close(fd[i]);
	tcpx_close(e);
}

/* More at once than may wait. */
TEST(a_herd_gets_in)
{
	struct rlimit files, few;
	tcpx_engine *e, *of[HERD];
	tcpx_peer *p[HERD];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = (struct rlimit){ 128, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	e = open_with("host", NULL, "TCPX_CHANNELS=1");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(e->listeners->pending_max, 16);
	for (int i = 0; i < HERD; i++)
		of[i] = open_with("one", NULL, "TCPX_CHANNELS=1");
	for (int i = 0; i < HERD; i++)
		p[i] = rig_add(of[i], e);
	for (int i = 0; i < HERD; i++) {
		assert_ok(tcpx_peer_wait(p[i], WAIT_MS));
		tcpx_peer_free(p[i]);
		tcpx_close(of[i]);
	}
	tcpx_close(e);
}

int
main(void)
{
	more_files();
	return run_cases(NULL, NULL);
}
