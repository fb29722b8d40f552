/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes with the bytes: buffers changed too early, pages lost or given back too early,
 * sizes that do not fit. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/client.h"

static struct pair p;

/* ---- what only strict mode looks for -------------------------------------------------------- */

static int
send_changed(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(pair_send(&p, 1000, &request) == NCCL_OK);
	p.from[500] ^= 1;
	finish(request);
	return 0;
}

static int
send_large(void *arg)
{
	void *request;

	plugin();
	pair_connect(&p, 0);
	pair_memory(&p, 5 * CHUNK);
	CHECK(pair_send(&p, 5 * CHUNK, &request) == NCCL_OK);
	return 0;
}

static int
size_larger(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	CHECK(pair_send(&p, 1000, &send) == NCCL_OK);
	CHECK(pair_recv(&p, 999, &recv) == NCCL_OK);
	finish(send);
	finish(recv);
	return 0;
}

static int
wrong_network(void *arg)
{
	uint64_t began = now_ms();
	enum nccl_result result = NCCL_OK;
	struct halves h;

	halves_listen(&h);
	while (!result) {
		result = plugin()->connect(1, h.handle, &h.send, NULL);
		CHECK(!h.send && now_ms() < began + FOREVER_MS);
	}
	CHECK(result == NCCL_SYSTEM_ERROR);
	return 0;
}

TEST(corruption_in_the_making)
{
	must_abort("send-changed", STRICT, send_changed, NULL);
	must_pass(FAITHFUL, send_changed, NULL);
	must_abort("send-large", STRICT, send_large, NULL);
	must_say("send-large", FAITHFUL, send_large, NULL);
	must_abort("size-larger", STRICT, size_larger, NULL);
	must_say("size-larger", FAITHFUL, size_larger, NULL);
	must_abort("network", STRICT, wrong_network, NULL);
	must_say("network", FAITHFUL "|TCPX_EMU_CONNECT_MS=100", wrong_network, NULL);
}

/* More than a chunk for each socket: the receiver forgets pages, and says so at the end. */
static int
large_messages(void *arg)
{
	struct work w = { .comms = 1, .messages = 3, .max = 3 * CHUNK, .whole = true, .seed = 1 };

	CHECK(pair_moves(&p, 0, &w));
	pair_close(&p);
	return 0;
}

TEST(lost_pages_are_counted)
{
	must_say("pages-lost", FAITHFUL "|NCCL_NSOCKS_PERTHREAD=2", large_messages, NULL);
	must_abort("send-large", STRICT "|NCCL_NSOCKS_PERTHREAD=2", large_messages, NULL);
}

static int
close_unconsumed(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	pair_exchange(&p, 1, 100, &send, &recv);
	pair_close(&p);
	return 0;
}

TEST(pages_not_given_back_are_told)
{
	must_say("pages-left", STRICT, close_unconsumed, NULL);
}

/* Unpacked after irecvConsumed(): what it finds is not what was sent. */
static int
unpack_late(void *arg)
{
	struct work w = { .comms = 1, .messages = 4, .max = 1000, .whole = true, .seed = 2,
			  .early = true };

	CHECK(!pair_moves(&p, 0, &w));
	return 0;
}

TEST(consume_before_unpack_shows)
{
	char env[1024];

	must_pass(FAITHFUL, unpack_late, NULL);
	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s", getenv("FAKECUDA_LIBRARY"));
	must_pass(env, unpack_late, NULL);
}
