/* SPDX-License-Identifier: Apache-2.0 */
/* The tcpx provider over the software plugin: both ends of channels in one process, every kind
 * of fault. Each run is a child, since the plugin initialises once a process. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "emu/client.h"
#include "net/registry.h"

#define OPS	    (&tcpx_net_plugin)
#define CHANNELS    4
#define PATIENCE_NS (60 * TCPX_SEC) /* far more than anything takes */
#define ON_HOST	    "TCPX_EMU_MEMORY=host|TCPX_EMU_NICS=eth1=127.0.1.1,gpus=0+1;eth2=127.0.2.1"
#define BE_STRICT	    "|TCPX_EMU_MODE=strict"
#define BE_FAITHFUL    "|TCPX_EMU_MODE=faithful"
#define SOCKETS     "|NCCL_NSOCKS_PERTHREAD=4"
#define FAULT(text) "|TCPX_EMU_FAULT=" text

struct way {
	struct tcpx_chan *tx, *rx;
	uint64_t sent, told, taken, released;
	uint32_t len[WINDOW];
};

struct run {
	/* as wanted */
	unsigned channels, messages, window;
	uint32_t chunk, len_max;
	uint64_t deadline_ms;
	bool slow;     /* releases as late as it may                          */
	unsigned stop; /* messages after which everything is closed; 0: never */
	/* as it came */
	struct tcpx_nic nic;
	struct tcpx_net *net;
	struct tcpx_poller *poller;
	struct way way[CHANNELS];
	struct tcpx_rng rng;
	bool wrong_bytes;
};

/* A GPU whose memory is the host's: what the plugin then takes for a GPU's. */
static int
memory_get(void *arg, int gpu, size_t size, void **mem)
{
	*mem = aligned_alloc(4096, size);
	memset(*mem, 0, size);
	return 0;
}

static void
memory_put(void *arg, int gpu, void *mem)
{
	memset(mem, 0xEE, 4096); /* a late reader gets this */
	free(mem);
}

static int
memory_enter(void *arg, int gpu)
{
	return 0;
}

static void
memory_leave(void *arg, int gpu)
{
}

static int
memory_read(void *arg, int gpu, void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static const struct tcpx_net_memory memory = {
	NULL, memory_get, memory_put, memory_enter, memory_leave, memory_read,
};

static void
open_net(struct run *r)
{
	struct tcpx_net_params params = { .nics = &r->nic, .nic_count = 1, .memory = &memory,
					  .plugin = getenv("EMU_LIBRARY"), .chunk = r->chunk,
					  .window = r->window,
					  .deadline_ns = r->deadline_ms * TCPX_MS };

	r->rng = tcpx_rng_seed(r->messages * 7 + r->len_max);
	r->nic = (struct tcpx_nic){ .name = "eth1", .numa = -1, .gpu = 0,
				    .addr = { .family = 4, .ip = { 127, 0, 1, 1 } } };
	CHECK(OPS->open(&params, &r->net, &(struct tcpx_net_facts){ 0 }) == 0);
	CHECK(OPS->poller_open(r->net, &r->poller) == 0);
}

/* All channels at once, as the core does it. 0, or what one of the two sides says. */
static int
connect_all(struct run *r)
{
	struct tcpx_chan_listener *cl[CHANNELS];
	uint8_t handle[CHANNELS][TCPX_HANDLE_BYTES];
	int up[CHANNELS], down[CHANNELS], rc = 0;
	void *dial[CHANNELS] = { NULL };
	struct tcpx_net_event ev[1];
	bool all = false;

	for (unsigned k = 0; k < r->channels; k++) {
		struct tcpx_chan_id id = { .channel = (uint16_t)k, .generation = 1 };

		up[k] = down[k] = -EAGAIN;
		CHECK(OPS->chan_listen(r->net, 0, &id, handle[k], &cl[k]) == 0);
	}
	while (!all && rc == 0) {
		all = true;
		for (unsigned k = 0; k < r->channels; k++) {
			struct tcpx_chan_id id = { .channel = (uint16_t)k, .generation = 1 };

			if (up[k] == -EAGAIN)
				up[k] = OPS->chan_connect(r->net, 0, &id, handle[k], true, &dial[k],
							  &r->way[k].tx);
			if (down[k] == -EAGAIN)
				down[k] = OPS->chan_accept(cl[k], false, &r->way[k].rx);
			all &= up[k] == 0 && down[k] == 0;
			if (up[k] && up[k] != -EAGAIN)
				rc = up[k];
			if (down[k] && down[k] != -EAGAIN)
				rc = down[k];
		}
		CHECK(OPS->poller_wait(r->poller, ev, 1, TCPX_MS) == 0);
	}
	for (unsigned k = 0; k < r->channels; k++) {
		OPS->chan_connect_cancel(r->net, &dial[k]);
		OPS->chan_listener_close(cl[k]);
		if (rc == 0) {
			CHECK(OPS->chan_watch(r->way[k].tx, r->poller, r, TCPX_READABLE) == 0);
			CHECK(OPS->chan_watch(r->way[k].rx, r->poller, r, TCPX_READABLE) == 0);
		}
	}
	return rc;
}

static uint8_t
byte_of(unsigned channel, uint64_t seq, size_t k)
{
	return (uint8_t)(seq * 31 + channel * 7 + k + k / 251);
}

static struct tcpx_head
head_of(unsigned channel, uint64_t seq, uint32_t len)
{
	return (struct tcpx_head){ .xfer = 9, .chunk = (uint32_t)seq, .len = len, .seq = seq,
				   .channel = (uint16_t)channel, .generation = 1 };
}

static int
send_next(struct run *r, unsigned k)
{
	struct way *w = &r->way[k];
	uint64_t seq = w->sent + 1;
	uint8_t *slot = OPS->comm->slot(w->tx, seq);
	uint32_t *len = &w->len[seq % WINDOW];
	struct tcpx_head head;
	int rc;

	CHECK(slot != NULL);
	switch (tcpx_rng_below(&r->rng, 8)) {
	case 0:
		*len = (uint32_t)tcpx_rng_below(&r->rng, 2);
		break;
	case 1:
		*len = r->len_max;
		break;
	default:
		*len = (uint32_t)tcpx_rng_below(&r->rng, r->len_max + 1);
	}
	for (size_t i = 0; i < *len; i++)
		slot[i] = byte_of(k, seq, i);
	head = head_of(k, seq, *len);
	rc = OPS->comm->send(w->tx, &head);
	w->sent += rc == 0;
	return rc;
}

static int
take_next(struct run *r, unsigned k)
{
	struct way *w = &r->way[k];
	struct tcpx_landed msg;
	size_t at = 0;
	int rc;

	rc = OPS->comm->recv(w->rx, &msg);
	if (rc)
		return rc;
	CHECK(msg.head.seq == ++w->taken);
	for (uint32_t i = 0; i < msg.frag_count; i++) {
		const uint8_t *p = msg.frag[i].iov_base;

		for (size_t b = 0; b < msg.frag[i].iov_len; b++)
			r->wrong_bytes |= p[b] != byte_of(k, w->taken, at++);
	}
	CHECK(at == msg.head.len);
	return 0;
}

/* A turn of one channel: each side does what it may. 0, -EAGAIN: nothing; or its end. */
static int
turn(struct run *r, unsigned k)
{
	struct way *w = &r->way[k];
	uint64_t late = r->slow ? r->window : 1;
	int rc, moved = 0;

	rc = OPS->comm->ended(w->tx);
	if (rc == 0)
		rc = -EAGAIN;
	if (rc == -EAGAIN && w->sent < r->messages && w->sent - w->released < r->window)
		rc = send_next(r, k);
	moved |= rc == 0;
	if (rc && rc != -EAGAIN)
		return rc;
	if (w->told < w->sent && tcpx_rng_below(&r->rng, 2)) { /* before the payload or after */
		uint32_t len = w->len[(w->told + 1) % WINDOW];
		struct tcpx_head h = head_of(k, w->told + 1, len);

		rc = OPS->comm->head(w->rx, &h);
		if (rc)
			return rc;
		w->told++;
		moved = 1;
	}
	rc = take_next(r, k);
	moved |= rc == 0;
	if (rc && rc != -EAGAIN)
		return rc;
	if (w->taken > w->released &&
	    (w->taken - w->released >= late || w->taken == w->sent)) {
		rc = OPS->comm->release(w->rx, w->released + 1);
		if (rc)
			return rc;
		w->released++;
		moved = 1;
	}
	return moved ? 0 : -EAGAIN;
}

/* Until all is there, or a channel says why not. */
static int
move_all(struct run *r)
{
	uint64_t end_ns = tcpx_clock_now(&tcpx_clock_system) + PATIENCE_NS;

	for (;;) {
		struct tcpx_net_event ev[2 * CHANNELS];
		uint64_t left = 0, taken = 0;
		bool moved = false;

		for (unsigned k = 0; k < r->channels; k++) {
			int rc = turn(r, k);

			if (rc && rc != -EAGAIN)
				return rc;
			moved |= rc == 0;
			left += r->messages - r->way[k].released;
			taken += r->way[k].taken;
		}
		if (left == 0 || (r->stop && taken >= r->stop))
			return 0;
		CHECK(tcpx_clock_now(&tcpx_clock_system) < end_ns);
		CHECK(OPS->poller_wait(r->poller, ev, 2 * CHANNELS,
				       moved ? 0 : (int64_t)TCPX_MS) >= 0);
	}
}

static void
close_all(struct run *r)
{
	for (unsigned k = 0; k < CHANNELS; k++) {
		OPS->chan_close(r->way[k].tx);
		OPS->chan_close(r->way[k].rx);
	}
	OPS->poller_close(r->poller);
	OPS->close(r->net);
}

static struct run
run_of(const void *arg)
{
	struct run r = *(const struct run *)arg;

	r.channels = r.channels ? r.channels : 1;
	r.messages = r.messages ? r.messages : 60;
	r.window = r.window ? r.window : WINDOW;
	r.chunk = r.chunk ? r.chunk : CHUNK;
	r.len_max = r.len_max ? r.len_max : r.chunk;
	r.deadline_ms = r.deadline_ms ? r.deadline_ms : 30000;
	return r;
}

/* Exit status 0: every byte came; 2: some were wrong. */
static int
moves(void *arg)
{
	struct run r = run_of(arg);

	open_net(&r);
	CHECK(connect_all(&r) == 0);
	CHECK(move_all(&r) == 0);
	close_all(&r);
	return r.wrong_bytes ? 2 : 0;
}

/* The channel has to end by this code. */
static int
breaks(void *arg)
{
	struct run r = run_of(arg);
	int rc;

	open_net(&r);
	CHECK(connect_all(&r) == 0);
	rc = move_all(&r);
	fprintf(stderr, "[ended %d]\n", rc);
	close_all(&r);
	return rc == 0 || r.wrong_bytes;
}

static int
is_refused(void *arg)
{
	struct run r = run_of(arg);
	int rc;

	open_net(&r);
	rc = connect_all(&r);
	close_all(&r);
	return rc < 0 ? 0 : 1;
}

/* ---- tests ------------------------------------------------------------------------------- */

TEST(random_messages)
{
	struct run runs[] = { { .channels = 1 }, { .channels = 4, .messages = 40 },
			      { .channels = 2, .chunk = 65536, .window = 3, .messages = 200 },
			      { .channels = 1, .slow = true },
			      { .channels = 1, .len_max = 1, .messages = 300 } };

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		must_pass(ON_HOST BE_FAITHFUL, moves, &runs[i]);
		must_pass(ON_HOST BE_STRICT SOCKETS, moves, &runs[i]);
	}
}

TEST(whatever_way_it_comes)
{
	static const char *const envs[] = {
		ON_HOST BE_STRICT FAULT("frag-odd-even"), ON_HOST BE_STRICT FAULT("frag-align"),
		ON_HOST BE_STRICT SOCKETS FAULT("socket-delay:socket=1,ms=30"),
		ON_HOST BE_STRICT FAULT("test-late"),
		ON_HOST BE_STRICT FAULT("ack-delay:ms=5"), ON_HOST BE_STRICT FAULT("setup-nulls:n=20"),
		ON_HOST BE_STRICT FAULT("setup-delay:ms=50"), ON_HOST BE_STRICT FAULT("connect-refused"),
		ON_HOST BE_STRICT "|NCCL_GPUDIRECTTCPX_RECV_SYNC=1",
		ON_HOST BE_STRICT "|NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT=0" FAULT("early-comm:ms=50"),
	};
	struct run r = { .channels = 2, .chunk = 131072, .messages = 30, .slow = true };
	struct run small = { .len_max = 2000, .messages = 30 };
	struct run prompt = { .channels = 2, .chunk = 131072, .messages = 60 };

	for (size_t i = 0; i < sizeof(envs) / sizeof(envs[0]); i++)
		must_pass(envs[i], moves, &r);
	must_pass(ON_HOST BE_STRICT "|TCPX_EMU_POOL=400", moves, &prompt); /* few pages */
	must_pass(ON_HOST BE_STRICT FAULT("frag-size:n=1"), moves, &small);
	must_pass(ON_HOST BE_STRICT FAULT("frag-size:n=4095"), moves, &r);
}

static void
ends(const char *env, struct run *r, int code)
{
	char text[32];

	snprintf(text, sizeof(text), "ended %d", code);
	must_say(text, env, breaks, r);
}

TEST(what_goes_wrong_ends_the_channel)
{
	struct run r = { .messages = 30 }, silence = { .messages = 30, .deadline_ms = 700 };

	ends(ON_HOST BE_FAITHFUL FAULT("data-close:req=5,role=send"), &silence, TCPX_ECHANNEL);
	ends(ON_HOST BE_FAITHFUL FAULT("half-open:req=5"), &silence, TCPX_ECHANNEL);
	ends(ON_HOST BE_FAITHFUL FAULT("size-smaller:req=5"), &r, TCPX_EFRAME);
	ends(ON_HOST BE_FAITHFUL FAULT("size-larger:req=5"), &r, TCPX_EFRAME);
}

TEST(the_peers_control_connection_closes)
{
	struct run r = { .messages = 30 };
	struct outcome o;

	o = run_child(ON_HOST BE_FAITHFUL FAULT("ctrl-close:req=5"), breaks, &r);
	assert_int_equal(o.status, 0);
	assert_true(said(&o, "ended -"));
}

/* Who compares nothing would not notice: so the comparing works. */
TEST(wrong_bytes_are_seen)
{
	struct run r = { .messages = 30, .len_max = 65536 };
	struct outcome o;

	o = run_child(ON_HOST BE_FAITHFUL FAULT("flip-byte:req=5,byte=0"), moves, &r);
	assert_int_equal(o.status, 2 << 8);
}

TEST(set_up_may_fail)
{
	struct run r = { .channels = 2 };

	must_pass(ON_HOST BE_FAITHFUL FAULT("connect-error"), is_refused, &r);
	must_pass(ON_HOST BE_FAITHFUL FAULT("accept-error"), is_refused, &r);
	must_pass(ON_HOST BE_FAITHFUL FAULT("rules-exhausted"), is_refused, &r);
}

/* Strict: a mistake of ours would end the child. */
TEST(closing_in_the_middle_is_clean)
{
	for (unsigned stop = 1; stop < 40; stop = stop * 2 + 1) {
		struct run r = { .channels = 2, .messages = 60, .stop = stop, .slow = stop & 4 };

		must_pass(ON_HOST BE_STRICT SOCKETS, moves, &r);
		must_pass(ON_HOST BE_STRICT FAULT("ack-delay:ms=200"), moves, &r);
	}
}
