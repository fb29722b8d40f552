/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that come late, leave, come back under the same name, or never existed. */
#include "rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/session/peer_session.h"
#include "core/session/session.h"

#define MIB (1u << 20)

static struct tcpx_peer_info
info_of(tcpx_peer *p)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	assert_ok(tcpx_peer_query(p, &info));
	return info;
}

/* A port of 127.0.1.1 that nobody listens on for now. */
static uint16_t
free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000101) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	return ntohs(at.sin_port);
}

TEST_WITH(a_connected_peer_tells_its_name_and_shape, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_peer *p = rig_connect(r->b, r->a);
	struct tcpx_peer_info info;

	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	info = info_of(p);
	assert_string_equal(info.name, "anna");
	assert_string_equal(info.provider, "sock");
	assert_ok(info.status);
	assert_int_equal(info.channels_tx, 2);
	assert_int_equal(info.channels_rx, 2);
	assert_int_equal(info.channels_wanted, 2);
	assert_true(info.setup_ns > 0);
	assert_int_not_equal(info.incarnation, info_of(r->to_b).incarnation);
	tcpx_peer_free(p);
}

TEST(the_smaller_channel_count_is_taken)
{
	static const char *const three[] = { "TCPX_CHANNELS=3", "TCPX_WINDOW=4", NULL };
	static const char *const five[] = { "TCPX_CHANNELS=5", "TCPX_CHUNK=128K", NULL };

	for (int turn = 0; turn < 2; turn++) {
		struct tcpx_peer_info info;
		struct rig r;

		rig_begin(&r, turn ? three : five, turn ? five : three);
		info = info_of(r.to_b);
		assert_int_equal(info.channels_wanted, 3);
		assert_int_equal(info.channels_tx, 3);
		assert_int_equal(info.channels_rx, 3);
		assert_int_equal(info.window_slots, 4);
		assert_int_equal(info.chunk_bytes, 128 << 10);
		rig_memory(&r, 5 * MIB, 5 * MIB);
		assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 5 * MIB));
		assert_filled(r.far.at, 5 * MIB, 1);
		rig_end(&r);
	}
}

TEST(a_closed_peer_is_gone_at_once_and_for_ever)
{
	/* only the closing itself can end anything before finish() gives up */
	static const char *const patient[] = { "TCPX_STALL_MS=600000", "TCPX_KEEPALIVE_MS=600000",
					       NULL };
	struct rig rig, *r = &rig;
	struct tcpx_desc l, f;
	uint64_t first;
	tcpx_peer *anew;
	tcpx_xfer *x, *small;

	rig_begin(r, patient, patient);
	first = info_of(r->to_b).incarnation;
	rig_memory(r, 32 * MIB, 32 * MIB);
	l = (struct tcpx_desc){ r->near.id, 0, 32 * MIB };
	f = (struct tcpx_desc){ r->far.far, 0, 32 * MIB };
	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_ok(tcpx_send(r->to_b, &l, 1, 1, &small)); /* nobody receives */
	tcpx_close(r->b);
	assert_code(finish(small), TCPX_EPEERGONE);
	assert_true(tcpx_test(x) == 0 || tcpx_test(x) == TCPX_EPEERGONE);
	tcpx_xfer_free(x);
	assert_code(tcpx_peer_wait(r->to_b, WAIT_MS), TCPX_EPEERGONE);

	r->b = rig_open("bert", NULL); /* the same name again */
	anew = rig_add(r->a, r->b);
	assert_ok(tcpx_peer_wait(anew, WAIT_MS));
	assert_int_not_equal(info_of(anew).incarnation, first);
	for (int i = 0; i < 3; i++) {
		assert_code(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x), TCPX_EPEERGONE);
		assert_code(tcpx_notify(r->to_b, "n", 1), TCPX_EPEERGONE);
		assert_code(tcpx_peer_wait(r->to_b, 0), TCPX_EPEERGONE);
	}
	assert_ok(tcpx_notify(anew, "hello", 5));
	assert_note(r->b, "anna", "hello");
	tcpx_peer_free(r->to_b);
	r->to_b = anew;
	rig_end(r);
}

/* Two ports that are the same: the blob names the old incarnation, another answers. */
TEST_WITH(another_incarnation_on_the_same_port_is_not_mistaken, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	char port[32];
	const char *const same[] = { port, NULL };
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	tcpx_engine *c;
	tcpx_peer *p;

	assert_ok(tcpx_metadata(r->b, blob, &len));
	snprintf(port, sizeof(port), "TCPX_PORT=%u", tcpx_port(r->b));
	tcpx_close(r->b);
	r->b = rig_open("bert", same);
	c = rig_open("cleo", NULL);
	assert_ok(tcpx_peer_add(c, blob, len, &p));
	assert_code(tcpx_peer_wait(p, WAIT_MS), TCPX_EPEERGONE);
	tcpx_peer_free(p);
	tcpx_close(c);
}

TEST_WITH(a_peer_may_be_added_before_it_is_up, rig_setup, rig_teardown)
{
	char port[32], at[32];
	const char *const known[] = { port, NULL };
	uint16_t number = free_port();
	struct rig *r = *state;
	tcpx_engine *late;
	struct tcpx_desc l;
	tcpx_peer *p;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	snprintf(port, sizeof(port), "TCPX_PORT=%u", number);
	snprintf(at, sizeof(at), "127.0.1.1:%u", number);
	assert_ok(tcpx_peer_connect(r->a, at, &p));
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	assert_ok(tcpx_send(p, &l, 1, 9, &x)); /* in progress meanwhile */
	assert_code(tcpx_peer_wait(p, 50), -EAGAIN);
	assert_code(tcpx_test(x), -EAGAIN);
	late = rig_open("late", known);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	assert_string_equal(info_of(p).name, "late");
	assert_ok(tcpx_notify(p, "up", 2));
	assert_note(late, "anna", "up");
	tcpx_xfer_free(x);
	tcpx_peer_free(p);
	tcpx_close(late);
}

TEST(nobody_there_ends_in_time)
{
	static const char *const soon[] = { "TCPX_CONNECT_MS=150", NULL };
	tcpx_engine *e = rig_open("alone", soon);
	uint64_t start = tcpx_clock_now(&tcpx_clock_system), took;
	struct mem m;
	struct tcpx_desc l;
	tcpx_peer *p;
	tcpx_xfer *x;
	char at[32];

	mem_open(&m, e, 100, TCPX_MEM_LOCAL);
	l = (struct tcpx_desc){ m.id, 0, 100 };
	snprintf(at, sizeof(at), "127.0.1.1:%u", free_port());
	assert_ok(tcpx_peer_connect(e, at, &p));
	assert_ok(tcpx_send(p, &l, 1, 9, &x));
	assert_code(tcpx_peer_wait(p, WAIT_MS), TCPX_ETIMEDOUT);
	took = tcpx_clock_now(&tcpx_clock_system) - start;
	assert_in_range(took, 150 * TCPX_MS, 2 * TCPX_SEC);
	assert_code(finish(x), TCPX_ETIMEDOUT);
	assert_code(tcpx_send(p, &l, 1, 9, &x), TCPX_ETIMEDOUT);
	tcpx_peer_free(p);
	tcpx_close(e);
	mem_close(&m);
}

/* An address of an engine's own listener, unlike HOST:PORT: it was up, and listens all its life. */
TEST_WITH(an_engine_that_left_before_first_contact_has_gone, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_engine *left = rig_open("left", NULL);
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	struct tcpx_desc l;
	tcpx_peer *p;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	assert_ok(tcpx_metadata(left, blob, &len));
	tcpx_close(left);
	assert_ok(tcpx_peer_add(r->a, blob, len, &p));
	assert_ok(tcpx_send(p, &l, 1, 9, &x));
	assert_code(tcpx_peer_wait(p, WAIT_MS), TCPX_EPEERGONE);
	assert_code(finish(x), TCPX_EPEERGONE);
	tcpx_peer_free(p);
}

TEST_WITH(bad_addresses_and_blobs_are_refused, rig_setup, rig_teardown)
{
	static const char *const bad[] = { "", ":", "127.0.0.1", "127.0.0.1:",
					   "127.0.0.1:x", "[::1:5" };
	struct rig *r = *state;
	uint8_t blob[4096];
	size_t len = 0, need;
	tcpx_peer *p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (tcpx_peer_connect(r->a, bad[i], &p) == 0)
			fail_msg("\"%s\" is taken for an address", bad[i]);
	assert_code(tcpx_peer_connect(r->a, NULL, &p), -EINVAL);
	assert_code(tcpx_metadata(r->b, NULL, &len), -ENOBUFS);
	need = len;
	len = sizeof(blob);
	assert_ok(tcpx_metadata(r->b, blob, &len));
	assert_int_equal(len, need);
	assert_code(tcpx_peer_add(r->a, NULL, 0, &p), TCPX_EBLOB);
	for (size_t i = 0; i < need; i++) {
		assert_code(tcpx_peer_add(r->a, blob, i, &p), TCPX_EBLOB);
		blob[i] ^= 0x10;
		assert_code(tcpx_peer_add(r->a, blob, need, &p), TCPX_EBLOB);
		blob[i] ^= 0x10;
	}
}

TEST_WITH(drop_and_add_keep_the_session, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_channel_info before[4], after[4];
	size_t n = 4, m = 4;

	assert_ok(tcpx_query_channels(r->a, before, sizeof(before[0]), &n));
	for (int i = 0; i < 20; i++) {
		tcpx_peer_free(r->to_b);
		r->to_b = rig_add(r->a, r->b);
		assert_ok(tcpx_peer_wait(r->to_b, 0));
	}
	assert_ok(tcpx_query_channels(r->a, after, sizeof(after[0]), &m));
	assert_int_equal(n, 4);
	assert_int_equal(m, 4);
	assert_true(before[0].session == after[0].session);
	assert_int_equal(counters_of(r->a).sessions, 1);
}

TEST(a_dropped_peer_finishes_its_transfers)
{
	static const char *const brief[] = { "TCPX_LINGER_MS=1", NULL };
	struct rig r;
	struct tcpx_desc l, f;
	tcpx_xfer *x, *never;

	rig_begin(&r, brief, NULL);
	rig_memory(&r, 16 * MIB, 16 * MIB);
	l = (struct tcpx_desc){ r.near.id, 0, 16 * MIB };
	f = (struct tcpx_desc){ r.far.far, 0, 16 * MIB };
	assert_ok(tcpx_write(r.to_b, &l, 1, &f, 1, NULL, 0, &x));
	tcpx_peer_free(r.to_b);
	assert_ok(finish(x));
	assert_filled(r.far.at, 16 * MIB, 1);
	r.to_b = rig_add(r.a, r.b); /* and may be used again */
	assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
	f.len = l.len = 100;
	assert_ok(tcpx_write(r.to_b, &l, 1, &f, 1, NULL, 0, &never));
	assert_ok(finish(never));
	rig_end(&r);
}

static tcpx_peer *
dial(tcpx_engine *from, tcpx_engine *to)
{
	tcpx_peer *p;
	char at[32];

	snprintf(at, sizeof(at), "127.0.1.1:%u", tcpx_port(to));
	assert_ok(tcpx_peer_connect(from, at, &p));
	return p;
}

/* Then each knows the other twice: as the one that it dialled, and as the one that called. */
TEST(engines_that_dial_each_other_meet)
{
	for (int i = 0; i < 24; i++) {
		struct rig r = { .fds = fd_count(), .threads = thread_count() };
		tcpx_peer *again = NULL, *to_a;
		tcpx_xfer *send, *recv;
		struct tcpx_desc f, l;

		r.a = rig_open("anna", NULL);
		r.b = rig_open("bert", NULL);
		r.to_b = dial(r.a, r.b);
		to_a = dial(r.b, r.a);
		rig_memory(&r, 100, 100);
		f = (struct tcpx_desc){ r.far.id, 0, 100 };
		l = (struct tcpx_desc){ r.near.id, 0, 100 };
		if (i & 1)
			assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
		if (i & 2)
			assert_ok(tcpx_peer_wait(to_a, WAIT_MS));
		if (i & 4)
			again = dial(r.b, r.a);
		assert_ok(tcpx_recv(again ? again : to_a, &f, 1, 7, &recv));
		assert_ok(tcpx_send(r.to_b, &l, 1, 7, &send));
		assert_ok(finish(recv));
		assert_ok(finish(send));
		assert_filled(r.far.at, 100, 1);
		assert_ok(tcpx_recv(to_a, &f, 1, 8, &recv));
		tcpx_xfer_free(recv); /* cancelled wherever it waits */
		assert_ok(tcpx_recv(to_a, &f, 1, 9, &recv));
		tcpx_peer_free(to_a);
		tcpx_peer_free(again);
		tcpx_close(r.a);
		assert_code(finish(recv), TCPX_EPEERGONE);
		r.a = NULL;
		rig_end(&r);
	}
}

/* Is the session that serves @p of this side's? */
static bool
is_ours(tcpx_peer *p)
{
	struct session *s;
	bool ours;

	assert_ok(tcpx_peer_session(p, &s));
	ours = s->opener;
	tcpx_session_put(s);
	return ours;
}

/* anna and bert have dialled each other, and she may know the one that called besides. When he hangs up a
 * session of his ends, and she opens one; hers stays. */
TEST(a_peer_that_hung_up_is_reached_by_one_session)
{
	static const char *const hangs_up[] = { "TCPX_LINGER_MS=0", NULL };

	for (int i = 0; i < 12; i++) {
		struct rig r = { .fds = fd_count(), .threads = thread_count() };
		tcpx_peer *to_a, *caller;
		tcpx_note *note;
		bool his;

		r.a = rig_open("anna", NULL);
		r.b = rig_open("bert", hangs_up);
		r.to_b = dial(r.a, r.b);
		to_a = dial(r.b, r.a);
		assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
		assert_ok(tcpx_peer_wait(to_a, WAIT_MS));
		assert_ok(tcpx_notify(to_a, "I", 1));
		assert_ok(tcpx_note_wait(r.a, WAIT_MS, &note));
		assert_ok(tcpx_note_peer(r.a, note, &caller));
		tcpx_note_free(note);
		his = is_ours(to_a);
		tcpx_peer_free(to_a);
		while (counters_of(r.a).sessions != !his)
			sched_yield();
		assert_ok(tcpx_peer_wait(caller, WAIT_MS));
		assert_ok(tcpx_notify(caller, "you", 3));
		assert_note(r.b, "anna", "you");
		assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
		assert_int_equal(counters_of(r.a).sessions, 1);
		tcpx_peer_free(caller);
		rig_end(&r);
	}
}

/* The control connection comes from 127.0.0.1, channels from the NIC that HELLO names. */
TEST_WITH(a_peer_is_known_where_its_channels_come_from, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_addr at = { .family = 4, .ip = { 127, 0, 1, 1 }, .port = (uint16_t)tcpx_port(r->a) };
	struct tcpx_peer *anna;

	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
	assert_ok(tcpx_peer_find(r->b, "anna", &anna));
	assert_ok(tcpx_peer_wait(anna, WAIT_MS));
	assert_int_equal(anna->addr_count, 1);
	assert_true(tcpx_addr_same_host(&anna->addr[0], &at));
	assert_int_equal(anna->addr[0].port, at.port);
	tcpx_peer_free(anna);
}

/* It has no session then, and waits for one. */
TEST(a_receive_of_a_peer_that_hung_up_ends_with_it)
{
	static const char *const hangs_up[] = { "TCPX_LINGER_MS=0", NULL };
	struct tcpx_desc f;
	tcpx_peer *to_a;
	tcpx_xfer *x;
	struct rig r;

	rig_begin(&r, hangs_up, NULL);
	rig_memory(&r, 100, 100);
	f = (struct tcpx_desc){ r.far.id, 0, 100 };
	assert_ok(tcpx_peer_find(r.b, "anna", &to_a));
	assert_ok(tcpx_peer_wait(to_a, WAIT_MS));
	tcpx_peer_free(r.to_b);
	while (counters_of(r.b).sessions)
		sched_yield();
	assert_ok(tcpx_recv(to_a, &f, 1, 1, &x));
	tcpx_close(r.a);
	r.a = NULL;
	assert_code(finish(x), TCPX_EPEERGONE);
	tcpx_peer_free(to_a);
	rig_end(&r);
}
