/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of docs/emulator.md ("Row by row") that no other test has. */
#include "cases.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "emu/client.h"

static struct pair p;

static void
start(const char *words)
{
	plugin_awaits(words);
	pair_start(&p);
}

/* ---- receives into memory that is registered as the host's ------------------------------------ */

static int
host_receive(void *arg)
{
	static char into[4096] __attribute__((aligned(4096)));
	void *at = into, *mh, *send, *recv;
	int size = 1000, tag = 0;

	start(NULL);
	memset(p.from, 7, 1000);
	CHECK(plugin()->reg(p.recv, into, sizeof(into), NCCL_PTR_HOST, &mh) == NCCL_OK);
	CHECK(plugin()->irecv(p.recv, 1, &at, &size, &tag, &mh, &recv) == NCCL_OK);
	CHECK(pair_send(&p, 1000, &send) == NCCL_OK);
	for (int sent = 0, received = 0; !sent || !received;) {
		if (!sent)
			CHECK(plugin()->test(send, &sent, NULL) == NCCL_OK);
		if (!received)
			CHECK(plugin()->test(recv, &received, NULL) == NCCL_OK);
	}
	CHECK(p.meta->cnt[0] == 0 && !memcmp(into, p.from, 1000));
	pair_close(&p);
	return 0;
}

TEST(a_host_receive_lands_in_place)
{
	must_say("host-receive", FAITHFUL, host_receive, NULL);
}

/* ---- what stands still ------------------------------------------------------------------------ */

/* Sends that nobody asks for. */
static int
never_tests(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *request;

	start("nobody has called test()");
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	while (!plugin_said()) {
		CHECK(now_ms() < end);
		sched_yield();
	}
	pair_close(&p);
	return 0;
}

/* A message for which the pool is too small. */
static int
no_page(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *send, *recv;
	int sent = 0, received = 0;

	start("no bounce page is free");
	CHECK(pair_send(&p, CHUNK, &send) == NCCL_OK && pair_recv(&p, CHUNK, &recv) == NCCL_OK);
	while (!plugin_said()) {
		CHECK(now_ms() < end);
		if (!sent)
			CHECK(plugin()->test(send, &sent, NULL) == NCCL_OK);
		CHECK(plugin()->test(recv, &received, NULL) == NCCL_OK && !received);
	}
	pair_close(&p);
	return 0;
}

static void
await_words(void *request)
{
	uint64_t end = now_ms() + FOREVER_MS;
	int done = 0;

	plugin_said(); /* what was said before does not count */
	while (!plugin_said()) {
		CHECK(now_ms() < end);
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK && !done);
	}
}

/* A receive waits for its send, which comes; and so does the next. */
static int
stalls_twice(void *arg)
{
	void *send, *recv;

	start("the peer has sent no header");
	for (int i = 0; i < 2; i++) {
		CHECK(pair_recv(&p, 100, &recv) == NCCL_OK);
		await_words(recv);
		CHECK(pair_send(&p, 100, &send) == NCCL_OK);
		finish(send);
		finish(recv);
		CHECK(plugin()->consumed(p.recv, 1, recv) == NCCL_OK);
	}
	pair_close(&p);
	return 0;
}

static int
closes_with_a_posted_receive(void *arg)
{
	void *recv;

	start("is closed with 1 receives that are not done");
	CHECK(pair_recv(&p, 100, &recv) == NCCL_OK);
	pair_close(&p);
	CHECK(plugin_said());
	return 0;
}

TEST(what_stands_still_is_named)
{
	must_say("stall", STRICT "|TCPX_EMU_STALL_MS=20", never_tests, NULL);
	must_say("stall", STRICT "|TCPX_EMU_STALL_MS=20|TCPX_EMU_POOL=10", no_page, NULL);
	must_say("stall", STRICT "|TCPX_EMU_STALL_MS=20", stalls_twice, NULL);
	must_say("close-busy", STRICT, closes_with_a_posted_receive, NULL);
}

/* ---- pointers, sizes, numbers ------------------------------------------------------------------ */

static int
pointers_return(void *arg)
{
	void *send[32], *recv[32];
	bool same = true;

	start(NULL);
	for (unsigned i = 0; i < 32; i++) {
		pair_exchange(&p, 1, 100, &send[i], &recv[i]);
		CHECK(plugin()->consumed(p.recv, 1, recv[i]) == NCCL_OK);
	}
	for (unsigned i = 0; i < 16; i++)
		same &= send[i] == send[i + 16] && recv[i] == recv[i + 16];
	CHECK(same == *(const bool *)arg);
	pair_close(&p);
	return 0;
}

TEST(request_pointers_have_a_period)
{
	bool sixteen = true, none = false;

	must_pass(FAITHFUL, pointers_return, &sixteen);
	must_pass(STRICT, pointers_return, &none);
}

static int
asks_for_a_size(void *arg)
{
	int done, size = 77;
	void *request;

	start(NULL);
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	CHECK(plugin()->test(request, &done, &size) == NCCL_OK);
	CHECK((size == 77) == *(const bool *)arg);
	pair_close(&p);
	return 0;
}

TEST(sizes_are_not_given)
{
	bool left = true, rubbish = false;

	must_pass(FAITHFUL, asks_for_a_size, &left);
	must_pass(STRICT, asks_for_a_size, &rubbish);
}

static int
a_gpu_for_a_nic(void *arg)
{
	char handle[NCCL_HANDLE_BYTES] = { 0 };
	void *comm;

	plugin();
	if (*(const bool *)arg)
		CHECK(plugin()->listen(4, handle, &comm) == REFUSED);
	else
		CHECK(plugin()->connect(4, handle, &comm, NULL) == REFUSED);
	return 0;
}

TEST(a_dev_is_a_nic)
{
	bool listens = true, connects = false;

	must_abort("bad-dev", STRICT, a_gpu_for_a_nic, &listens);
	must_abort("bad-dev", STRICT, a_gpu_for_a_nic, &connects);
	must_say("bad-dev", FAITHFUL, a_gpu_for_a_nic, &listens);
	must_say("bad-dev", FAITHFUL, a_gpu_for_a_nic, &connects);
}

/* ---- calls with what is none --------------------------------------------------------------------- */

static int
reg_type(void *arg)
{
	void *mh;

	start(NULL);
	CHECK(plugin()->reg(p.send, p.from, 4096, 4, &mh) == REFUSED);
	return 0;
}

static int
reg_without_comm(void *arg)
{
	struct halves h;
	void *mh;

	start(NULL);
	halves_listen(&h);
	CHECK(plugin()->reg(*(const bool *)arg ? h.listen : NULL, p.from, 4096, NCCL_PTR_CUDA, &mh) ==
	      REFUSED);
	return 0;
}

static int
negative_size(void *arg)
{
	void *request;

	start(NULL);
	CHECK(pair_send(&p, -1, &request) == REFUSED && pair_recv(&p, -1, &request) == REFUSED);
	return 0;
}

static int
no_buffers(void *arg)
{
	void *request;

	start(NULL);
	CHECK(plugin()->irecv(p.recv, 0, NULL, NULL, NULL, NULL, &request) == REFUSED);
	return 0;
}

static int
garbage_mhandle(void *arg)
{
	void *request;

	start(NULL);
	CHECK(plugin()->isend(p.send, p.from, 100, 0, &p, &request) == REFUSED);
	return 0;
}

static int
garbage_request(void *arg)
{
	int done;

	start(NULL);
	CHECK(plugin()->test(p.from, &done, NULL) == REFUSED);
	return 0;
}

static int
consume_by_another(void *arg)
{
	struct pair other;
	void *send, *recv;

	start(NULL);
	pair_connect(&other, 0);
	pair_exchange(&p, 1, 100, &send, &recv);
	CHECK(plugin()->consumed(other.recv, 1, recv) == REFUSED);
	return 0;
}

static int
listen_closed_early(void *arg)
{
	struct halves h;

	start(NULL);
	halves_listen(&h);
	CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK && !h.recv);
	CHECK(plugin()->close_listen(h.listen) == NCCL_OK);
	return 0;
}

static int
listen_closed_twice(void *arg)
{
	struct halves h;

	start(NULL);
	halves_listen(&h);
	CHECK(plugin()->close_listen(h.listen) == NCCL_OK);
	CHECK(plugin()->close_listen(h.listen) == REFUSED);
	return 0;
}

static int
comm_closed_twice(void *arg)
{
	start(NULL);
	CHECK(plugin()->close_send(p.send) == NCCL_OK);
	CHECK(plugin()->close_send(p.send) == REFUSED);
	return 0;
}

/* strict: what is no count yet cannot be taken for one */
static int
count_too_early(void *arg)
{
	void *recv;

	start(NULL);
	CHECK(p.meta->cnt[0] == 0xdbdbdbdbdbdbdbdbull);
	CHECK(pair_recv(&p, 100, &recv) == NCCL_OK);
	CHECK(p.meta->cnt[0] == 0xdbdbdbdbdbdbdbdbull);
	pair_close(&p);
	return 0;
}

TEST(what_is_none_is_named)
{
	bool of_listen = true, of_none = false;

	must_say("reg-type", STRICT, reg_type, NULL);
	must_abort("no-comm", STRICT, reg_without_comm, &of_listen);
	must_abort("no-comm", STRICT, reg_without_comm, &of_none);
	must_say("bad-size", STRICT, negative_size, NULL);
	must_say("recv-n", STRICT, no_buffers, NULL);
	must_abort("mhandle-unknown", STRICT, garbage_mhandle, NULL);
	must_abort("no-request", STRICT, garbage_request, NULL);
	must_say("consume-comm", STRICT, consume_by_another, NULL);
	must_say("close-listen", STRICT, listen_closed_early, NULL);
	must_abort("no-listen", STRICT, listen_closed_twice, NULL);
	must_abort("closed-comm", STRICT, comm_closed_twice, NULL);
	must_pass(STRICT, count_too_early, NULL);
}

/* ---- a chunk for each socket, as Google sets it -------------------------------------------------- */

static int
two_megabytes(void *arg)
{
	struct work w = { .comms = 1, .messages = 40, .max = 4 * CHUNK, .whole = true, .seed = 12 };

	CHECK(pair_moves(&p, 0, &w));
	pair_close(&p);
	return 0;
}

TEST(chunk_times_sockets_is_no_mistake)
{
	must_pass(STRICT "|TCPX_EMU_POOL=60000", two_megabytes, NULL);
	must_pass(FAITHFUL "|TCPX_EMU_POOL=60000", two_megabytes, NULL);
}
