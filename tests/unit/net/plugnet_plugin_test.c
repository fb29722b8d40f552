/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin provider over plugins that are libraries, of each version of the interface. */
#include "cases.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "fake/net_fake.h"
#include "net/registry.h"

#define OPS   (&tcpx_net_plugin)
#define TRIES 1000

struct ends {
	struct net_fake *fake;
	void *library;
	struct tcpx_nic nic;
	struct tcpx_net *net;
	struct tcpx_poller *poller;
	struct tcpx_chan *tx, *rx;
	uint32_t chunk, window;
};

static uint64_t p2p_bytes; /* of the next plugin's messages; 0: no limit */

/* A GPU whose memory is the host's. */
static int
mem_get(void *arg, int gpu, size_t size, void **mem)
{
	*mem = aligned_alloc(4096, size);
	memset(*mem, 0, size);
	return 0;
}

static void
mem_put(void *arg, int gpu, void *mem)
{
	free(mem);
}

static int
mem_enter(void *arg, int gpu)
{
	return 0;
}

static void
mem_leave(void *arg, int gpu)
{
}

static int
mem_read(void *arg, int gpu, void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static const struct tcpx_net_memory memory = {
	NULL, mem_get, mem_put, mem_enter, mem_leave, mem_read,
};

static void
ends_open(struct ends *e, const char *version, bool unpack, int gpu)
{
	struct tcpx_net_params params = { .nics = &e->nic, .nic_count = 1, .memory = &memory,
					  .chunk = 100000 };
	struct tcpx_net_facts facts;
	char path[512];

	memset(e, 0, sizeof(*e));
	assert_non_null(getenv("NET_FAKE_DIR"));
	snprintf(path, sizeof(path), "%s/libnet_fake_%s.so", getenv("NET_FAKE_DIR"), version);
	e->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(e->library);
	e->fake = dlsym(e->library, "net_fake");
	assert_non_null(e->fake);
	e->fake->device_type = unpack ? NCCL_DEVICE_UNPACK : NCCL_DEVICE_HOST;
	e->fake->p2p_bytes = p2p_bytes;
	e->nic = (struct tcpx_nic){ .name = "eth1", .numa = -1, .gpu = gpu,
				    .addr = { .family = 4, .ip = { 127, 0, 0, 1 } } };
	params.plugin = path;
	assert_int_equal(OPS->open(&params, &e->net, &facts), 0);
	assert_int_equal(OPS->poller_open(e->net, &e->poller), 0);
	e->chunk = facts.chunk_max;
	e->window = facts.slots_max;
}

static void
ends_join(struct ends *e)
{
	struct tcpx_chan_id id = { .session = 1, .channel = 2, .generation = 3 };
	struct tcpx_chan_listener *cl;
	uint8_t handle[TCPX_HANDLE_BYTES];
	int up = -EAGAIN, down = -EAGAIN;
	void *dial = NULL;

	assert_int_equal(OPS->chan_listen(e->net, 0, &id, handle, &cl), 0);
	for (int i = 0; i < TRIES && (up || down); i++) {
		if (up == -EAGAIN)
			up = OPS->chan_connect(e->net, 0, &id, handle, true, &dial, &e->tx);
		if (down == -EAGAIN)
			down = OPS->chan_accept(cl, false, &e->rx);
	}
	assert_int_equal(up, 0);
	assert_int_equal(down, 0);
	OPS->chan_listener_close(cl);
	assert_int_equal(OPS->chan_watch(e->tx, e->poller, &e->tx, TCPX_READABLE), 0);
	assert_int_equal(OPS->chan_watch(e->rx, e->poller, &e->rx, TCPX_READABLE), 0);
}

static void
ends_close(struct ends *e)
{
	OPS->chan_close(e->tx);
	OPS->chan_close(e->rx);
	OPS->poller_close(e->poller);
	OPS->close(e->net);
	assert_string_equal(e->fake->wrong, "");
	assert_int_equal(e->fake->open, 0);
	assert_int_equal(e->fake->registered, 0);
	dlclose(e->library);
}

static void
wait_for(struct ends *e)
{
	struct tcpx_net_event ev[4];

	assert_true(OPS->poller_wait(e->poller, ev, 4, 0) >= 0);
}

static struct tcpx_head
head_of(uint64_t seq, uint32_t len)
{
	return (struct tcpx_head){ .channel = 2, .generation = 3, .seq = seq, .len = len };
}

static void
send_one(struct ends *e, uint64_t seq, uint32_t len)
{
	uint8_t *slot = OPS->comm->slot(e->tx, seq);
	struct tcpx_head head = head_of(seq, len);
	int rc = -EAGAIN;

	for (uint32_t k = 0; k < len; k++)
		slot[k] = (uint8_t)(seq * 31 + k + k / 4096);
	for (int i = 0; i < TRIES && rc == -EAGAIN; i++) {
		rc = OPS->comm->send(e->tx, &head);
		if (rc)
			wait_for(e);
	}
	assert_int_equal(rc, 0);
}

static void
take_one(struct ends *e, uint64_t seq, uint32_t len)
{
	struct tcpx_landed msg;
	uint32_t at = 0;
	int rc = -EAGAIN;

	for (int i = 0; i < TRIES && rc == -EAGAIN; i++) {
		wait_for(e);
		rc = OPS->comm->recv(e->rx, &msg);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(msg.head.seq, seq);
	for (uint32_t i = 0; i < msg.frag_count; i++) {
		const uint8_t *p = msg.frag[i].iov_base;

		for (size_t k = 0; k < msg.frag[i].iov_len; k++, at++)
			if (p[k] != (uint8_t)(seq * 31 + at + at / 4096))
				fail_msg("message %u: byte %u is wrong", (unsigned)seq, at);
	}
	assert_int_equal(at, len);
	assert_int_equal(OPS->comm->release(e->rx, seq), 0);
}

/* The fake has pages for one message at a time, so one is on its way at a time. */
static void
messages(struct ends *e, int delay)
{
	struct tcpx_rng rng = tcpx_rng_seed(11);

	e->fake->delay = delay;
	for (uint64_t seq = 1; seq <= 60; seq++) {
		uint32_t len = seq < 4 ? (uint32_t)seq - 1 :
					 (uint32_t)tcpx_rng_below(&rng, e->chunk + 1);
		struct tcpx_head h = head_of(seq, len);

		if (seq & 1)
			assert_int_equal(OPS->comm->head(e->rx, &h), 0);
		send_one(e, seq, len);
		if (!(seq & 1))
			assert_int_equal(OPS->comm->head(e->rx, &h), 0);
		take_one(e, seq, len);
	}
	e->fake->delay = 0;
}

TEST(every_version_carries_messages)
{
	static const struct {
		const char *version;
		bool unpack;
		int gpu, nulls, early, delay;
		uint32_t window;
	} cases[] = {
		{ "v6", false, -1, 0, 0, 3, 8 },  { "v7", true, 0, 3, 2, 3, 16 },
		{ "v8", true, -1, 1, 0, 0, 16 },  { "v9", false, 0, 0, 3, 2, 16 },
		{ "v10", true, 0, 2, 1, 1, 16 },  { "v11", false, 0, 5, 0, 0, 16 },
		{ "v12", true, 0, 0, 5, 4, 16 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ends e;

		ends_open(&e, cases[i].version, cases[i].unpack, cases[i].gpu);
		assert_int_equal(e.window, cases[i].window);
		assert_int_equal(e.chunk, 100000);
		e.fake->nulls = cases[i].nulls;
		e.fake->early = cases[i].early;
		ends_join(&e);
		messages(&e, cases[i].delay);
		ends_close(&e);
	}
}

/* Plugins of v9 and later say how much a message may have: whole pages of that are a chunk. */
TEST(a_chunk_is_no_larger_than_a_message)
{
	struct ends e;

	p2p_bytes = 50000;
	ends_open(&e, "v12", true, 0); /* is started anew, as every one since v11 */
	p2p_bytes = 0;
	assert_int_equal(e.chunk, 49152);
	ends_join(&e);
	messages(&e, 0);
	ends_close(&e);
}

/* With messages on their way, landed and taken: nothing stays, and no rule is broken. */
TEST(closing_is_clean_at_any_moment)
{
	for (int moment = 0; moment < 4; moment++) {
		struct tcpx_landed msg;
		struct tcpx_head h;
		struct ends e;

		ends_open(&e, "v7", true, 0);
		ends_join(&e);
		e.fake->delay = moment ? 0 : 1000;
		for (uint64_t seq = 1; seq <= 5; seq++) {
			h = head_of(seq, 5000);
			send_one(&e, seq, 5000);
			assert_int_equal(OPS->comm->head(e.rx, &h), 0);
		}
		if (moment > 1)
			for (int i = 0; i < 20; i++)
				wait_for(&e);
		if (moment > 2)
			assert_int_equal(OPS->comm->recv(e.rx, &msg), 0);
		e.fake->delay = 0;
		ends_close(&e);
	}
}

TEST(what_the_plugin_says_ends_the_channel)
{
	struct tcpx_head h = head_of(1, 10);
	struct tcpx_net_event ev[4];
	struct tcpx_landed msg;
	struct ends e;

	ends_open(&e, "v7", true, 0);
	ends_join(&e);
	assert_int_equal(OPS->comm->head(e.rx, &h), 0);
	e.fake->result[NET_FAKE_TEST] = 2; /* the peer closed its control socket */
	assert_int_equal(OPS->poller_wait(e.poller, ev, 4, -1), 1);
	assert_ptr_equal(ev[0].owner, &e.rx);
	assert_int_equal(ev[0].ready, TCPX_BROKEN);
	assert_true(OPS->comm->recv(e.rx, &msg) < 0);
	assert_int_not_equal(OPS->comm->recv(e.rx, &msg), -EAGAIN);
	e.fake->result[NET_FAKE_TEST] = 0;
	ends_close(&e);
}

TEST(a_short_message_is_found_out)
{
	struct tcpx_head h = head_of(1, 10000);
	struct tcpx_net_event ev[4];
	struct tcpx_landed msg;
	struct ends e;

	ends_open(&e, "v7", true, 0);
	ends_join(&e);
	e.fake->short_by = 1;
	send_one(&e, 1, 10000);
	assert_int_equal(OPS->comm->head(e.rx, &h), 0);
	assert_int_equal(OPS->poller_wait(e.poller, ev, 4, -1), 1);
	assert_int_equal(OPS->comm->recv(e.rx, &msg), TCPX_EFRAME);
	e.fake->short_by = 0;
	ends_close(&e);
}

int
main(void)
{
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	tcpx_log_setup("ERROR", NULL, NULL);
	return run_cases(NULL, NULL);
}
