/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of set-up, order, completion, sizes and bytes: each does what its name says. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/client.h"

#define FAULT(text) "|TCPX_EMU_FAULT=" text

static struct pair p;

/* Moves some messages of up to a chunk, all right. */
static int
moves(void *arg)
{
	struct work w = { .comms = 1, .messages = 20, .max = CHUNK, .seed = 3 };

	CHECK(pair_moves(&p, 0, &w));
	pair_close(&p);
	return 0;
}

/* Moves messages, and the client's own check finds a wrong byte. */
static int
moves_wrongly(void *arg)
{
	struct work w = { .comms = 1, .messages = 6, .max = 20000, .whole = true, .seed = 4 };

	CHECK(!pair_moves(&p, 0, &w));
	return 0;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static int
counts_nulls(void *arg)
{
	unsigned nulls = 0;
	struct halves h;

	halves_listen(&h);
	for (unsigned i = 0; i < 8; i++) {
		CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
		nulls += !h.send;
		CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK);
		CHECK(!h.recv);
	}
	CHECK(nulls == 8);
	halves_meet(&h);
	return 0;
}

static int
takes_time(void *arg)
{
	uint64_t began = now_ms();

	moves(NULL);
	CHECK(now_ms() - began >= *(const unsigned *)arg);
	return 0;
}

static int
fails_to_connect(void *arg)
{
	enum nccl_result result = NCCL_OK;

	plugin();
	CHECK(!pair_try(&p, 0, &result));
	CHECK((int)result == *(const int *)arg);
	return 0;
}

/* The comm is there before its connection: a request comes when that stands. */
static int
asks_again(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *request = NULL, *mh, *mem;
	unsigned nulls = 0;
	struct halves h;

	halves_listen(&h);
	while (!h.send)
		CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
	mem = mem_new(4096);
	CHECK(plugin()->reg(h.send, mem, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	while (!request) {
		CHECK(plugin()->isend(h.send, mem, 10, 0, mh, &request) == NCCL_OK);
		nulls += !request;
		if (!h.recv)
			CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK);
		CHECK(now_ms() < end);
	}
	CHECK(nulls > 0);
	return 0;
}

TEST(setup)
{
	int two = 2, three = 3;
	unsigned ms = 150;

	must_pass(STRICT FAULT("setup-nulls:n=7"), counts_nulls, NULL);
	must_pass(STRICT FAULT("setup-delay:ms=150"), takes_time, &ms);
	must_pass(STRICT FAULT("connect-refused:n=3"), moves, NULL);
	must_pass(STRICT FAULT("connect-error"), fails_to_connect, &two);
	must_pass(STRICT FAULT("accept-error:n=3"), fails_to_connect, &three);
	must_say("rules-exhausted", STRICT FAULT("rules-exhausted"), fails_to_connect, &three);
	must_pass(STRICT FAULT("early-comm:ms=100") "|NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT=0",
		  asks_again, NULL);
	ms = 500;
	must_pass(STRICT "|TCPX_EMU_DELAYS=real|NCCL_NSOCKS_PERTHREAD=2|"
		  "NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=200000", takes_time, &ms);
}

/* ---- where data lands ------------------------------------------------------------------------ */

/* The sending side is up first, and does not wait for the other. */
static int
sends_too_soon(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *request, *mh, *mem, *at;
	int done, size = 1000, tag = 0;
	struct halves h;

	halves_listen(&h);
	while (!h.send) {
		CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK);
		CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
	}
	mem = at = mem_new(4096);
	CHECK(plugin()->reg(h.send, mem, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	CHECK(plugin()->isend(h.send, mem, size, 0, mh, &request) == NCCL_OK);
	finish(request);
	CHECK(!h.recv);
	while (!h.recv) {
		CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK);
		CHECK(now_ms() < end);
	}
	CHECK(plugin()->reg(h.recv, mem, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	CHECK(plugin()->irecv(h.recv, 1, &at, &size, &tag, &mh, &request) == NCCL_OK);
	while (now_ms() < end)
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK);
	return 0;
}

static int
receives_on_dev(void *arg)
{
	struct work w = { .comms = 1, .messages = 3, .max = 1000, .seed = 5 };

	CHECK(pair_moves(&p, *(const int *)arg, &w));
	return 0;
}

TEST(no_cmsg)
{
	int first = 0, third = 2;

	must_exit("no-cmsg", FAITHFUL FAULT("no-cmsg:req=2,comm=0"), moves, NULL);
	must_say("fault", FAITHFUL FAULT("no-cmsg:req=2,comm=1"), moves, NULL);
	must_exit("no-cmsg", FAITHFUL FAULT("wrong-nic"), moves, NULL);
	must_exit("no-cmsg", FAITHFUL FAULT("rule-late:ms=1000"), sends_too_soon, NULL);
	/* GPU 5 is local to eth3 */
	must_exit("no-cmsg", FAITHFUL "|TCPX_EMU_GPU=5", receives_on_dev, &first);
	must_pass(FAITHFUL "|TCPX_EMU_GPU=5", receives_on_dev, &third);
	must_pass(FAITHFUL "|TCPX_EMU_GPU=5|TCPX_EMU_NICS=b=127.0.9.1;c=127.0.8.1,gpus=5;"
		  "a=127.0.7.1,gpus=1+5", receives_on_dev, &first);
}

/* ---- order and completion --------------------------------------------------------------------- */

/* Four chunks a message; the entries stay in the queue in faithful mode. */
static int
lists(void *arg)
{
	struct work w = { .comms = 1, .messages = 3, .max = 4 * CHUNK, .whole = true, .seed = 6 };
	const struct nccl_unpack_frag *f;
	bool reverse = *(const bool *)arg;

	CHECK(pair_moves(&p, 0, &w));
	f = p.meta->mem[2];
	if (reverse)
		CHECK(f[0].dst_off / CHUNK != f[p.meta->cnt[2] - 1].dst_off / CHUNK);
	else
		CHECK(f[0].dst_off / CHUNK != f[1].dst_off / CHUNK);
	return 0;
}

static int
tests_often(void *arg)
{
	void *send, *recv;
	unsigned late = 0;
	int done = 0;

	pair_start(&p);
	pair_exchange(&p, 1, 0, &send, &recv);
	CHECK(plugin()->consumed(p.recv, 1, recv) == NCCL_OK);
	CHECK(pair_send(&p, 0, &send) == NCCL_OK);
	/* empty: one look would do */
	while (!done) {
		CHECK(plugin()->test(send, &done, NULL) == NCCL_OK);
		late += !done;
	}
	CHECK(late == 9);
	return 0;
}

static int
slow_ack(void *arg)
{
	uint64_t began;
	void *send;

	pair_start(&p);
	began = now_ms();
	CHECK(pair_send(&p, 1000, &send) == NCCL_OK);
	finish(send);
	CHECK(now_ms() - began >= 80);
	return 0;
}

TEST(order_and_completion)
{
	const char *test_late = STRICT FAULT("test-late:n=9,req=1,role=send");
	bool reverse = true, interleave = false;
	unsigned ms = 120;

	must_pass(STRICT FAULT("socket-delay:socket=1,ms=12") "|NCCL_NSOCKS_PERTHREAD=2",
		  moves, NULL);
	must_pass(STRICT FAULT("socket-delay:ms=120,req=5"), takes_time, &ms);
	must_pass(FAITHFUL FAULT("socket-reverse"), lists, &reverse);
	must_pass(FAITHFUL FAULT("interleave"), lists, &interleave);
	must_pass(test_late, tests_often, NULL);
	must_pass(STRICT FAULT("test-late:n=50"), moves, NULL);
	must_pass(STRICT FAULT("ack-delay:ms=80"), slow_ack, NULL);
}

/* ---- too much --------------------------------------------------------------------------------- */

/* Looks for a while; nobody may say that it is done. */
static void
stays_open(void *request, unsigned ms)
{
	uint64_t end = now_ms() + ms;
	int done = 0;

	while (now_ms() < end) {
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK);
		CHECK(!done);
	}
}

/* The pool has pages for one message: the second waits until the first is consumed. */
static int
slow_consumer(void *arg)
{
	uint64_t began = now_ms();
	void *send[2], *recv[2];
	bool consumed = false;

	pair_start(&p);
	for (unsigned i = 0; i < 2; i++) {
		CHECK(pair_send(&p, CHUNK, &send[i]) == NCCL_OK);
		CHECK(pair_recv(&p, CHUNK, &recv[i]) == NCCL_OK);
	}
	for (int sent = 0, received = 0; !sent || !received;) {
		if (!sent)
			CHECK(plugin()->test(send[0], &sent, NULL) == NCCL_OK);
		if (!received)
			CHECK(plugin()->test(recv[0], &received, NULL) == NCCL_OK);
	}
	for (int sent = 0, received = 0; !received;) {
		if (!sent)
			CHECK(plugin()->test(send[1], &sent, NULL) == NCCL_OK);
		CHECK(plugin()->test(recv[1], &received, NULL) == NCCL_OK);
		CHECK(!received || consumed);
		CHECK(now_ms() < began + FOREVER_MS);
		if (!consumed && now_ms() > began + 100) {
			CHECK(plugin()->consumed(p.recv, 1, recv[0]) == NCCL_OK);
			consumed = true;
		}
	}
	return 0;
}

/* Without a receive a small send is done all the same: the peer's kernel has it. */
static int
send_alone(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	CHECK(pair_send(&p, 1000, &send) == NCCL_OK);
	if (!*(const bool *)arg) {
		finish(send);
		return 0;
	}
	/* unless receives are announced */
	stays_open(send, 50);
	CHECK(pair_recv(&p, 1000, &recv) == NCCL_OK);
	stays_open(recv, 1);
	finish(send);
	return 0;
}

/* Bytes that a kernel takes before anybody reads; a large number where it is unknown. */
static unsigned
takes_unread(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_rmem", "re");
	unsigned usual = UINT32_MAX;

	if (f && fscanf(f, "%*u %u", &usual) != 1)
		usual = UINT32_MAX;
	if (f)
		fclose(f);
	return usual;
}

/* More than the peer's kernel takes unread is not done, though ours has taken it all. */
static int
unread(void *arg)
{
	void *send, *recv;
	int sent = 0, received = 0;

	pair_start(&p);
	CHECK(pair_send(&p, 200000, &send) == NCCL_OK);
	if (takes_unread() < 150000)
		stays_open(send, 100);
	CHECK(pair_recv(&p, 200000, &recv) == NCCL_OK);
	while (!sent || !received) {
		if (!sent)
			CHECK(plugin()->test(send, &sent, NULL) == NCCL_OK);
		if (!received)
			CHECK(plugin()->test(recv, &received, NULL) == NCCL_OK);
	}
	return 0;
}

TEST(overload)
{
	bool sync = true, none = false;

	must_pass(FAITHFUL "|TCPX_EMU_POOL=150|NCCL_NSOCKS_PERTHREAD=1" FAULT("frag-size:n=4096"),
		  slow_consumer, NULL);
	must_pass(STRICT "|NCCL_NSOCKS_PERTHREAD=1", unread, NULL);
	must_pass(STRICT, send_alone, &none);
	must_pass(STRICT "|NCCL_GPUDIRECTTCPX_RECV_SYNC=1", send_alone, &sync);
}

/* ---- sizes and bytes ------------------------------------------------------------------------------ */

static int
arrives_as(void *arg)
{
	struct work w = { .comms = 1, .messages = 5, .max = 1000, .whole = true, .seed = 7 };

	w.bytes_each = *(const uint32_t *)arg;
	CHECK(pair_moves(&p, 0, &w));
	return 0;
}

static int
an_empty_one_between(void *arg)
{
	void *send[3], *recv[3];

	pair_start(&p);
	pair_exchange(&p, 3, 1000, send, recv);
	CHECK(p.meta->cnt[0] && !p.meta->cnt[1] && p.meta->cnt[2]);
	return 0;
}

static int
one_larger(void *arg)
{
	void *send[2], *recv[2];
	uint64_t sum = 0;

	pair_start(&p);
	pair_exchange(&p, 2, 1000, send, recv);
	for (uint64_t i = 0; i < p.meta->cnt[1]; i++)
		sum += p.meta->mem[1][i].len;
	CHECK(sum == 6000);
	return 0;
}

TEST(sizes_and_bytes)
{
	uint32_t more = 1700, fewer = 1;
	char env[1024];

	must_pass(FAITHFUL FAULT("size-larger:n=700"), arrives_as, &more);
	must_say("size-larger", FAITHFUL FAULT("size-larger:n=5000,req=1"), one_larger, NULL);
	must_abort("size-larger", STRICT FAULT("size-larger:n=5000,req=1"), one_larger, NULL);
	must_pass(FAITHFUL FAULT("size-smaller:n=999"), arrives_as, &fewer);
	must_pass(FAITHFUL FAULT("size-zero:req=1"), an_empty_one_between, NULL);
	must_pass(FAITHFUL FAULT("flip-byte:req=4,byte=12345"), moves_wrongly, NULL);
	must_pass(FAITHFUL FAULT("swap-fragments:req=3"), moves_wrongly, NULL);
	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s" FAULT("flip-byte:req=4"),
		 getenv("FAKECUDA_LIBRARY"));
	must_pass(env, moves_wrongly, NULL);
}
