/* SPDX-License-Identifier: Apache-2.0 */
/* BYE of a peer that closes arrives and is read, though sends to that peer may fail by then. */
#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "core/engine/engine.h"
#include "net/registry.h"

struct talk {
	struct rig *r;
	_Atomic unsigned count;
	char why[256];
};

static void *
talk(void *arg)
{
	struct talk *t = arg;
	struct tcpx_desc d = { t->r->near.id, 0, 8 };
	tcpx_xfer *x;
	int rc;

	while ((rc = tcpx_send(t->r->to_b, &d, 1, 1, &x)) != TCPX_EPEERGONE) {
		if (rc == 0)
			tcpx_xfer_free(x);
		t->count++;
	}
	tcpx_last_error(t->r->a, t->why, sizeof(t->why));
	return NULL;
}

/* What a process says last is read, though sends to it fail by then. */
TEST(a_peer_that_closes_amid_sends_says_so)
{
	static const char *const patient[] = { "TCPX_STALL_MS=600000", "TCPX_KEEPALIVE_MS=600000",
					       NULL };
	pthread_t thread;
	struct rig r;

	for (int turn = 0; turn < 10; turn++) {
		struct talk t = { .r = &r };

		rig_begin(&r, patient, patient);
		rig_memory(&r, 8, 8);
		assert_int_equal(pthread_create(&thread, NULL, talk, &t), 0);
		while (t.count < 100)
			sched_yield();
		tcpx_close(r.b);
		r.b = NULL;
		pthread_join(thread, NULL);
		assert_non_null(strstr(t.why, "engine bert closed"));
		rig_end(&r);
	}
}

static _Atomic uint32_t asked, late; /* questions for acknowledgements, and how many are answered with no */
static _Atomic bool deaf;

static int
acked_late(struct tcpx_stream *s)
{
	return ++asked > late;
}

/* Else the peer's own close ends the wait. */
static ssize_t
recv_unless_deaf(struct tcpx_stream *s, void *data, size_t len)
{
	return deaf ? -EAGAIN : tcpx_net_sock.stream_recv(s, data, len);
}

TEST(close_waits_for_the_acknowledgement_but_not_for_ever)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_PORT=0", "TCPX_STATS=off", NULL };
	static const struct {
		uint32_t late, least, most;
	} rows[] = { { 0, 1, 1 }, { 3, 4, 4 }, { UINT32_MAX, 64, 1000 } };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct tcpx_net_ops net = tcpx_net_sock;
	struct engine_env env = { .net = &net, .clock = tcpx_clock_system };

	net.stream_acked = acked_late;
	net.stream_recv = recv_unless_deaf;
	opts.name = "bert";
	opts.settings = settings;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tcpx_engine *a = rig_open("anna", NULL), *b;
		tcpx_peer *p;

		deaf = false;
		assert_ok(tcpx_engine_open(&opts, &env, &b));
		p = rig_connect(a, b);
		assert_ok(tcpx_peer_wait(p, WAIT_MS));
		asked = 0;
		late = rows[i].late;
		deaf = true;
		tcpx_close(b);
		assert_in_range(asked, rows[i].least, rows[i].most);
		tcpx_peer_free(p);
		tcpx_close(a);
	}
}
