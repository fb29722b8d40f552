/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that dial each other have one session, and nothing that was posted before it stood is lost. */
#include "rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/context/context.h"
#include "proto/blob.h"

#define CROWD   16
#define LEN     3000 /* beyond what travels in OPEN */
#define ROUNDS  24
#define SMALL   5    /* an incarnation, and a larger one */
#define LARGE   7

static const char *const plain[] = { "TCPX_INLINE=100", "TCPX_CONNECT_MS=60000", NULL };

static uint64_t
sessions_of(tcpx_engine *e)
{
	return counters_of(e).sessions;
}

/* The other is given up in a moment. */
static void
assert_sessions(tcpx_engine *e, uint64_t count)
{
	uint64_t end_ns = tcpx_clock_now(&tcpx_clock_system) + WAIT_MS * TCPX_MS;

	while (sessions_of(e) != count && tcpx_clock_now(&tcpx_clock_system) < end_ns)
		sched_yield();
	assert_int_equal(sessions_of(e), count);
}

/* ---- two ---- */

/* One side of a pair: what it posts to the other before any session stands. */
struct side {
	tcpx_engine *e;
	tcpx_peer *other;
	struct mem mem;
	uint64_t far;
	tcpx_lane *tx, *rx;
	uint8_t key[TCPX_LANE_KEY];
	tcpx_xfer *write, *read, *send, *recv, *lane_send, *lane_recv;
};

#define READ_FROM (8 * LEN) /* the rest of a side's memory is written to */

static void
side_open(struct side *s, const char *name, const char *const *settings, uint64_t incarnation)
{
	memset(s, 0, sizeof(*s));
	s->e = rig_open(name, settings);
	s->e->incarnation = incarnation;
	mem_open(&s->mem, s->e, 10 * LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	fill(s->mem.at, 10 * LEN, (uint32_t)incarnation);
	assert_ok(tcpx_lane_listen(s->e, s->key, &s->rx));
}

/* Pieces of LEN bytes: 0 is sent and written from; 1 written to, 2 read into, 3 received into, 4 of the
 * lane; 8 is read from. */
static struct tcpx_desc
piece(uint64_t region, int k)
{
	return (struct tcpx_desc){ region, (uint64_t)k * LEN, LEN };
}

static void
side_post(struct side *s, const struct side *to)
{
	struct tcpx_desc out = piece(s->mem.id, 0), in[] = { piece(s->mem.id, 2), piece(s->mem.id, 3) };
	struct tcpx_desc there = piece(s->far, 1), from = piece(s->far, 8);

	assert_ok(tcpx_notify(s->other, "first", 5));
	assert_ok(tcpx_write(s->other, &out, 1, &there, 1, NULL, 0, &s->write));
	assert_ok(tcpx_read(s->other, &in[0], 1, &from, 1, "read", 4, &s->read));
	assert_ok(tcpx_recv(s->other, &in[1], 1, 7, &s->recv));
	assert_ok(tcpx_send(s->other, &out, 1, 7, &s->send));
	assert_ok(tcpx_lane_open(s->other, to->key, &s->tx));
	assert_ok(tcpx_notify(s->other, "second", 6));
}

static void
wait_ready(tcpx_lane *l)
{
	int rc;

	while ((rc = tcpx_lane_ready(l)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
}

static void
side_finish(struct side *s, const struct side *from)
{
	uint32_t theirs = (uint32_t)from->e->incarnation;
	uint8_t *want = malloc(10 * LEN);

	assert_non_null(want);
	fill(want, 10 * LEN, theirs);
	assert_ok(finish(s->write));
	assert_ok(finish(s->read));
	assert_ok(finish(s->recv));
	assert_ok(finish(s->send));
	assert_memory_equal(s->mem.at + 2 * LEN, want + 8 * LEN, LEN);
	assert_memory_equal(s->mem.at + 3 * LEN, want, LEN);
	assert_ok(tcpx_peer_wait(s->other, WAIT_MS));
	wait_ready(s->tx);
	wait_ready(s->rx);
	assert_ok(tcpx_lane_post(s->rx, s->mem.id, 4 * LEN, LEN, &s->lane_recv));
	assert_ok(tcpx_lane_post(s->tx, s->mem.id, 0, LEN, &s->lane_send));
	free(want);
}

/* Those of tcpx_notify() in order, and that of a READ, which comes when it is done. */
static void
assert_notes(tcpx_engine *e, const char *name)
{
	char all[64] = "";

	for (int i = 0; i < 3; i++) {
		const char *text;
		tcpx_note *n;
		size_t len;

		assert_ok(tcpx_note_wait(e, WAIT_MS, &n));
		text = tcpx_note_data(n, &len);
		assert_string_equal(tcpx_note_sender(n), name);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%.*s ", (int)len, text);
		tcpx_note_free(n);
	}
	assert_no_note(e);
	if (strcmp(all, "first second read ") && strcmp(all, "first read second ") &&
	    strcmp(all, "read first second "))
		fail_msg("notes: %s", all);
}

/* After both have finished: what the other wrote, its notes once each, and its lane. */
static void
side_check(struct side *s, const struct side *from, const char *name)
{
	uint8_t *want = malloc(LEN);

	assert_non_null(want);
	fill(want, LEN, (uint32_t)from->e->incarnation);
	assert_ok(finish(s->lane_recv));
	assert_ok(finish(s->lane_send));
	assert_memory_equal(s->mem.at + 1 * LEN, want, LEN);
	assert_memory_equal(s->mem.at + 4 * LEN, want, LEN);
	assert_notes(s->e, name);
	free(want);
}

static void
side_close(struct side *s)
{
	tcpx_lane_close(s->tx);
	tcpx_lane_close(s->rx);
	tcpx_peer_free(s->other);
	mem_close(&s->mem);
	tcpx_close(s->e);
}

/* A blob of @of in which another port stands; 0: the right one. */
static tcpx_peer *
add(tcpx_engine *e, tcpx_engine *of, uint16_t port)
{
	struct tcpx_endpoint_blob ep;
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	struct tcpx_buf b;
	tcpx_peer *p;

	assert_ok(tcpx_metadata(of, blob, &len));
	tcpx_buf_init_const(&b, blob, len);
	assert_ok(tcpx_endpoint_blob_read(&b, &ep));
	if (port)
		ep.nic[0].addr.port = port;
	tcpx_buf_init(&b, blob, sizeof(blob));
	tcpx_endpoint_blob_write(&b, &ep);
	assert_ok(tcpx_peer_add(e, blob, b.pos, &p));
	return p;
}

/* Both ways, all kinds of posts, before a session stands; bert is dialled at another port if it is not 0. */
static void
exchange(const char *const *settings, bool anna_is_smaller, uint32_t by_address, uint16_t port)
{
	struct side a, b;

	side_open(&a, "anna", settings, anna_is_smaller ? SMALL : LARGE);
	side_open(&b, "bert", settings, anna_is_smaller ? LARGE : SMALL);
	a.far = mem_tell(&b.mem, b.e, a.e);
	b.far = mem_tell(&a.mem, a.e, b.e);
	a.other = by_address & 1 ? rig_connect(a.e, b.e) : add(a.e, b.e, port);
	b.other = by_address & 2 ? rig_connect(b.e, a.e) : add(b.e, a.e, 0);
	side_post(&a, &b);
	side_post(&b, &a);
	side_finish(&a, &b);
	side_finish(&b, &a);
	side_check(&a, &b, "bert");
	side_check(&b, &a, "anna");
	assert_sessions(a.e, 1);
	assert_sessions(b.e, 1);
	side_close(&a);
	side_close(&b);
}

TEST(what_is_posted_at_once_moves_once)
{
	for (uint32_t i = 0; i < ROUNDS; i++)
		exchange(plain, i & 4, i & 3, 0);
}

TEST(with_a_secret_as_well)
{
	const char *settings[] = { "TCPX_INLINE=100", "TCPX_CONNECT_MS=60000", NULL, NULL };
	char path[] = "/tmp/tcpx-secret-XXXXXX", setting[64];
	int fd = mkstemp(path);
	tcpx_engine *e;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef", 32), 32);
	close(fd);
	snprintf(setting, sizeof(setting), "TCPX_SECRET_FILE=%s", path);
	settings[2] = setting;
	if (rig_try_open("anna", settings, &e) != 0) {
		unlink(path);
		print_message("# skipped: no library for secrets\n");
		skip();
	}
	tcpx_close(e);
	for (uint32_t i = 0; i < ROUNDS; i++)
		exchange(settings, i & 4, i & 3, 0);
	unlink(path);
}

/* A port of 127.0.1.1 where connections are made, and never answered. */
static int
mute(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000101) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* anna's own session comes to nothing, and is the one that would stay. */
TEST(one_that_cannot_connect_displaces_none)
{
	for (int i = 0; i < 8; i++) {
		uint16_t port;
		int fd = mute(&port);

		if (i & 1) /* refused, not silent */
			close(fd);
		exchange(plain, i & 2, 0, port);
		if (!(i & 1))
			close(fd);
	}
}

/* Who dials later, by blob or by address, uses the session that stands. */
TEST(a_session_that_stands_serves_who_dials_later)
{
	for (int i = 0; i < 8; i++) {
		struct rig r = { .fds = fd_count(), .threads = thread_count() };
		tcpx_peer *to_a, *again;
		tcpx_xfer *recv;
		struct tcpx_desc l;

		r.a = rig_open("anna", NULL);
		r.b = rig_open("bert", NULL);
		r.a->incarnation = i & 1 ? SMALL : LARGE;
		r.b->incarnation = i & 1 ? LARGE : SMALL;
		r.to_b = rig_add(r.a, r.b);
		assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
		to_a = i & 2 ? rig_connect(r.b, r.a) : rig_add(r.b, r.a);
		assert_ok(tcpx_peer_wait(to_a, WAIT_MS));
		assert_ok(tcpx_notify(to_a, "hello", 5));
		assert_note(r.a, "bert", "hello");
		assert_sessions(r.a, 1);
		assert_sessions(r.b, 1);
		again = i & 4 ? rig_add(r.b, r.a) : rig_connect(r.b, r.a);
		assert_ok(tcpx_peer_wait(again, WAIT_MS));
		assert_sessions(r.b, 1);

		/* and hears of its end */
		rig_memory(&r, 100, 100);
		l = (struct tcpx_desc){ r.far.id, 0, 100 };
		assert_ok(tcpx_recv(to_a, &l, 1, 1, &recv));
		tcpx_close(r.a);
		r.a = NULL;
		assert_code(finish(recv), TCPX_EPEERGONE);
		assert_code(tcpx_peer_wait(to_a, WAIT_MS), TCPX_EPEERGONE);
		tcpx_peer_free(to_a);
		tcpx_peer_free(again);
		rig_end(&r);
	}
}

/* A session that has been given up by then refuses the post. */
static void
assert_posted(int rc)
{
	if (rc != TCPX_ETIMEDOUT)
		assert_ok(rc);
}

TEST(an_engine_that_closes_amid_it_ends_all)
{
	static const char *const brief[] = { "TCPX_CONNECT_MS=300", NULL };

	for (int i = 0; i < ROUNDS; i++) {
		struct rig r = { .fds = fd_count(), .threads = thread_count() };
		struct tcpx_desc f, l;
		tcpx_peer *to_a;
		tcpx_xfer *x[4] = { NULL };
		int rc;

		r.a = rig_open("anna", brief);
		r.b = rig_open("bert", brief);
		r.to_b = rig_add(r.a, r.b);
		to_a = i & 1 ? rig_add(r.b, r.a) : rig_connect(r.b, r.a);
		rig_memory(&r, 100, 100);
		f = (struct tcpx_desc){ r.far.id, 0, 100 };
		l = (struct tcpx_desc){ r.near.id, 0, 100 };
		assert_posted(tcpx_send(r.to_b, &l, 1, 1, &x[0]));
		assert_posted(tcpx_recv(r.to_b, &l, 1, 2, &x[1]));
		assert_posted(tcpx_send(to_a, &f, 1, 3, &x[2]));
		assert_posted(tcpx_recv(to_a, &f, 1, 4, &x[3]));
		for (int k = 0; k < i; k++)
			sched_yield();
		tcpx_xfer_free(x[0]);
		tcpx_xfer_free(x[1]);
		tcpx_close(r.a);
		r.a = NULL;
		for (int k = 2; k < 4; k++) {
			rc = x[k] ? finish(x[k]) : TCPX_ETIMEDOUT;
			/* the last: who dials an address does not know whom */
			if (rc != TCPX_EPEERGONE && rc != TCPX_ECLOSED && rc != TCPX_ETIMEDOUT)
				fail_msg("round %d: %d ends with %s", i, k, tcpx_strerror_name(rc));
		}
		tcpx_peer_free(to_a);
		rig_end(&r);
	}
}

/* ---- many ---- */

struct member {
	pthread_t thread;
	pthread_barrier_t *start;
	struct member *all;
	tcpx_engine *e;
	tcpx_peer *to[CROWD];
	int me;
	bool by_address;
};

static void *
dial_all(void *arg)
{
	struct member *m = arg;

	pthread_barrier_wait(m->start);
	for (int k = 1; k < CROWD; k++) {
		int other = (m->me + k) % CROWD;

		m->to[other] = m->by_address ? rig_connect(m->e, m->all[other].e) :
					       rig_add(m->e, m->all[other].e);
	}
	return NULL;
}

static void
dial_each_other(bool by_address)
{
	static const char *const one[] = { "TCPX_CHANNELS=1", "TCPX_WINDOW=4", "TCPX_CONNECT_MS=60000",
					   "TCPX_HANDSHAKE_MS=60000", NULL };
	struct member all[CROWD];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, CROWD);
	for (int i = 0; i < CROWD; i++) {
		char name[16];

		snprintf(name, sizeof(name), "e%d", i);
		all[i] = (struct member){ .me = i, .all = all, .start = &start,
					  .by_address = by_address };
		all[i].e = rig_open(name, one);
	}
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&all[i].thread, NULL, dial_all, &all[i]), 0);
	for (int i = 0; i < CROWD; i++)
		pthread_join(all[i].thread, NULL);
	for (int i = 0; i < CROWD; i++)
		for (int k = 0; k < CROWD; k++)
			if (k != i)
				assert_ok(tcpx_notify(all[i].to[k], "hello", 5));
	for (int i = 0; i < CROWD; i++) {
		for (int k = 1; k < CROWD; k++) {
			tcpx_note *n;

			assert_ok(tcpx_note_wait(all[i].e, 4 * WAIT_MS, &n));
			tcpx_note_free(n);
		}
		for (int k = 0; k < CROWD; k++)
			if (k != i)
				assert_ok(tcpx_peer_wait(all[i].to[k], WAIT_MS));
		assert_sessions(all[i].e, CROWD - 1); /* so N (N - 1) / 2 in all */
		assert_no_note(all[i].e);
	}
	for (int i = 0; i < CROWD; i++)
		for (int k = 0; k < CROWD; k++)
			tcpx_peer_free(all[i].to[k]);
	for (int i = 0; i < CROWD; i++)
		tcpx_close(all[i].e);
	pthread_barrier_destroy(&start);
}

TEST(sixteen_at_once_have_one_session_a_pair)
{
	struct rlimit files = { 0 };
	int fds = fd_count();

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	dial_each_other(false);
	dial_each_other(true);
	assert_int_equal(fd_count(), fds);
}
