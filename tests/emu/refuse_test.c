/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator refuses what the real plugin refuses, with a message that names the mistake. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "emu/client.h"

static struct pair p;

/* ---- refused by the real one, too ---------------------------------------------------------- */

static int
ring_full(void *arg)
{
	void *send[17], *recv[17];

	pair_start(&p);
	for (unsigned i = 0; i < 16; i++) {
		CHECK(pair_send(&p, 0, &send[i]) == NCCL_OK);
		CHECK(pair_recv(&p, 0, &recv[i]) == NCCL_OK);
	}
	CHECK(pair_send(&p, 0, &send[16]) == REFUSED);
	CHECK(pair_recv(&p, 0, &recv[16]) == REFUSED);
	/* done, but not consumed: the slot is still taken; a send's is free */
	finish(send[0]);
	finish(recv[0]);
	CHECK(pair_send(&p, 0, &send[16]) == NCCL_OK);
	CHECK(pair_recv(&p, 0, &recv[16]) == REFUSED);
	CHECK(plugin()->consumed(p.recv, 1, recv[0]) == NCCL_OK);
	CHECK(pair_recv(&p, 0, &recv[16]) == NCCL_OK);
	return 0;
}

static int
test_order(void *arg)
{
	void *request[2];
	int done;

	pair_start(&p);
	CHECK(pair_send(&p, 100, &request[0]) == NCCL_OK);
	CHECK(pair_send(&p, 100, &request[1]) == NCCL_OK);
	/* the first call cuts, so it cannot be done yet */
	CHECK(plugin()->test(request[0], &done, NULL) == NCCL_OK && !done);
	CHECK(plugin()->test(request[1], &done, NULL) == REFUSED && !done);
	finish(request[0]);
	finish(request[1]);
	return 0;
}

static int
consume_early(void *arg)
{
	void *recv;

	pair_start(&p);
	CHECK(pair_recv(&p, 100, &recv) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, recv) == REFUSED);
	return 0;
}

static int
consume_twice(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	pair_exchange(&p, 1, 100, &send, &recv);
	CHECK(plugin()->consumed(p.recv, 1, recv) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, recv) == REFUSED);
	return 0;
}

static int
consume_order(void *arg)
{
	void *send[2], *recv[2];

	pair_start(&p);
	pair_exchange(&p, 2, 100, send, recv);
	CHECK(plugin()->consumed(p.recv, 1, recv[1]) == REFUSED);
	CHECK(plugin()->consumed(p.recv, 1, recv[0]) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, recv[1]) == NCCL_OK);
	return 0;
}

static int
consume_n(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	pair_exchange(&p, 1, 100, &send, &recv);
	CHECK(plugin()->consumed(p.recv, 2, recv) == REFUSED);
	return 0;
}

static int
consume_null(void *arg)
{
	pair_start(&p);
	CHECK(plugin()->consumed(p.recv, 1, NULL) == REFUSED);
	return 0;
}

static int
consume_send(void *arg)
{
	void *send;

	pair_start(&p);
	CHECK(pair_send(&p, 100, &send) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, send) == NCCL_OK);
	return 0;
}

static int
recv_n(void *arg)
{
	void *at[2] = { 0 }, *mh[2] = { 0 }, *request;
	int sizes[2] = { 100, 100 }, tags[2] = { 0 };

	pair_start(&p);
	at[0] = at[1] = p.to;
	mh[0] = mh[1] = p.to_mh;
	CHECK(plugin()->irecv(p.recv, 2, at, sizes, tags, mh, &request) == REFUSED);
	return 0;
}

static int
no_mhandle(void *arg)
{
	void *request, *at, *none = NULL;
	int size = 100, tag = 0;

	pair_start(&p);
	at = p.to;
	CHECK(plugin()->isend(p.send, p.from, 100, 0, NULL, &request) == REFUSED);
	CHECK(plugin()->irecv(p.recv, 1, &at, &size, &tag, &none, &request) == REFUSED);
	return 0;
}

static int
reg_align(void *arg)
{
	void *mh;

	pair_start(&p);
	CHECK(plugin()->reg(p.send, p.from + 64, 4096, NCCL_PTR_CUDA, &mh) == REFUSED);
	CHECK(plugin()->reg(p.send, p.from + 64, 4096, NCCL_PTR_HOST, &mh) == NCCL_OK);
	return 0;
}

static int
reg_size(void *arg)
{
	void *mh;

	pair_start(&p);
	CHECK(plugin()->reg(p.send, p.from, 5000, NCCL_PTR_CUDA, &mh) == REFUSED);
	return 0;
}

static int
init_twice(void *arg)
{
	CHECK(plugin()->init(log_to_stderr) == REFUSED);
	return 0;
}

static const struct {
	const char *name;
	int (*body)(void *);
} refused[] = {
	{ "ring-full", ring_full },
	{ "test-order", test_order },
	{ "consume-early", consume_early },
	{ "consume-twice", consume_twice },
	{ "consume-order", consume_order },
	{ "consume-n", consume_n },
	{ "consume-null", consume_null },
	{ "consume-send", consume_send },
	{ "recv-n", recv_n },
	{ "no-mhandle", no_mhandle },
	{ "reg-align", reg_align },
	{ "reg-size", reg_size },
	{ "init-twice", init_twice },
};

TEST(what_the_real_one_refuses)
{
	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		must_say(refused[i].name, STRICT, refused[i].body, NULL);
		must_say(refused[i].name, FAITHFUL, refused[i].body, NULL);
	}
}

/* ---- the environment ------------------------------------------------------------------------ */

static int
init_fails(void *arg)
{
	CHECK(plugin_only()->init(log_to_stderr) == REFUSED);
	return 0;
}

static int
init_works(void *arg)
{
	CHECK(plugin_only()->init(log_to_stderr) == NCCL_OK);
	return 0;
}

TEST(bad_environments)
{
	must_say("no-chunk-size", HOST "NCCL_DYNAMIC_CHUNK_SIZE=", init_fails, NULL);
	must_say("no-sockets", HOST "NCCL_SOCKET_NTHREADS=9", init_fails, NULL);
	must_say("bindings", HOST "NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:5", init_fails, NULL);
	must_pass(HOST "NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:5-5;eth2:1-2,4-8", init_works, NULL);
	must_say("disabled", HOST "NCCL_GPUDIRECTTCPX_SOCKET_ENABLE=0", init_fails, NULL);
	must_say("topology", HOST "TCPX_EMU_NICS=eth1=1.2.3", init_fails, NULL);
	must_say("topology", HOST "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=ib", init_fails, NULL);
	must_say("inline", HOST "NCCL_INLINE_THRESHOLD=64", init_fails, NULL);
	must_say("dma-buf", HOST "NCCL_USE_DMA_BUF=0", init_fails, NULL);
	must_say("steering", HOST "NCCL_GPUDIRECTTCPX_FLOW_STEERING_STRATEGY=1", init_fails, NULL);
	must_say("fault", HOST "TCPX_EMU_FAULT=no-such-fault", init_fails, NULL);
	must_say("fault", HOST "TCPX_EMU_FAULT=kill:what=1", init_fails, NULL);
}

/* The real plugin passes over these, or takes what a value begins with. */
TEST(lenient_environments)
{
	must_pass(HOST "NCCL_GPUDIRECTTCPX_SCHED_ALG=foo", init_works, NULL);
	must_pass(HOST "NCCL_GPUDIRECTTCPX_SCHED_ALG=katy", init_works, NULL);
	must_pass(HOST "NCCL_DYNAMIC_CHUNK_SIZE=-1", init_works, NULL);
	must_pass(HOST "NCCL_DYNAMIC_CHUNK_SIZE=99999999999", init_works, NULL);
	must_pass(HOST "NCCL_DYNAMIC_CHUNK_SIZE=512K", init_works, NULL);
	must_pass(HOST "NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth9:5-6", init_works, NULL);
	must_pass(HOST "NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1", init_works, NULL);
	must_say("ctrl-dev", HOST "NCCL_GPUDIRECTTCPX_CTRL_DEV=eth99", init_works, NULL);
}

/* ---- what the text has ----------------------------------------------------------------------- */

static void
tells(const char *text, int status, const char *env, int (*body)(void *))
{
	struct outcome o = run_child(env, body, NULL);

	if (!WIFEXITED(o.status) || WEXITSTATUS(o.status) != status || !said(&o, text))
		fail_msg("exit %d and \"%s\" expected with %s; status 0x%x, text:\n%s", status, text, env,
			 (unsigned)o.status, o.text);
}

/* The driver is looked for at the first listen(). */
static int
listens(void *arg)
{
	char handle[NCCL_HANDLE_BYTES];
	void *listen;

	CHECK(plugin_only()->init(log_to_stderr) == NCCL_OK);
	CHECK(plugin_only()->listen(0, handle, &listen) == NCCL_OK);
	return 0;
}

static int
moves_one(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	pair_exchange(&p, 1, 100, &send, &recv);
	return 0;
}

static void
last_wish(void)
{
	fputs("the client's atexit\n", stderr);
}

static int
moves_one_with_a_last_wish(void *arg)
{
	atexit(last_wish);
	return moves_one(arg);
}

TEST(what_a_line_names)
{
	tells("/nonexistent.so", 0, "TCPX_CUDA_LIBRARY=/nonexistent.so", listens);
	tells("connection refused, 3 of 3", 0, STRICT "|TCPX_EMU_FAULT=connect-refused:n=3", moves_one);
	tells("GPU 5, current at listen(), is not local to NIC eth1, whose GPUs are: 0, 1;", 1,
	      FAITHFUL "|TCPX_EMU_GPU=5", moves_one);
	/* exit(), as by the real plugin */
	tells("the client's atexit", 1, FAITHFUL "|TCPX_EMU_GPU=5", moves_one_with_a_last_wish);
}
