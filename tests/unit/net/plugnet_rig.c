/* SPDX-License-Identifier: Apache-2.0 */
#include "plugnet_rig.h"

#include <stdio.h>

static uint64_t
now(void *arg)
{
	return ((struct rig *)arg)->now_ns;
}

static int
mem_get(void *arg, int gpu, size_t size, void **mem)
{
	struct rig *r = arg;

	(void)gpu;
	assert_int_equal(size % 4096, 0);
	assert_int_equal(plug_fake.gpu, -1); /* get may enter by itself */
	if (r->get_code)
		return r->get_code;
	*mem = aligned_alloc(4096, size);
	memset(*mem, 0, size);
	r->blocks++;
	return 0;
}

static void
mem_put(void *arg, int gpu, void *mem)
{
	struct rig *r = arg;

	(void)gpu;
	assert_int_equal(plug_fake.gpu, -1);
	free(mem);
	r->blocks--;
}

static int
mem_enter(void *arg, int gpu)
{
	struct rig *r = arg;

	assert_int_equal(plug_fake.gpu, -1);
	if (r->enter_code)
		return r->enter_code;
	plug_fake.gpu = gpu;
	return 0;
}

static void
mem_leave(void *arg, int gpu)
{
	(void)arg;
	assert_int_equal(plug_fake.gpu, gpu);
	plug_fake.gpu = -1;
}

static int
mem_read(void *arg, int gpu, void *dst, const void *src, size_t len)
{
	struct rig *r = arg;

	(void)gpu;
	if (r->read_code)
		return r->read_code;
	memcpy(dst, src, len);
	return 0;
}

static void
logged(void *arg, int level, const char *line)
{
	struct rig *r = arg;

	(void)level;
	r->warnings++;
	snprintf(r->warning, sizeof(r->warning), "%s", line);
}

int
rig_setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	plug_fake_reset();
	unsetenv("NCCL_NSOCKS_PERTHREAD");
	unsetenv("NCCL_SOCKET_NTHREADS");
	unsetenv("NCCL_GPUDIRECTTCPX_RECV_SYNC");
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	r->ops = &tcpx_net_plugin;
	r->now_ns = TCPX_SEC;
	r->clock = (struct tcpx_clock){ now, r };
	r->memory = (struct tcpx_net_memory){ r, mem_get, mem_put, mem_enter, mem_leave,
					      mem_read };
	for (int i = 0; i < 2; i++) {
		r->nic[i] = (struct tcpx_nic){ .addr = { .family = 4,
							 .ip = { 127, 0, 0, (uint8_t)(i + 1) } },
					       .numa = -1, .gpu = 3 + i };
		snprintf(r->nic[i].name, sizeof(r->nic[i].name), "eth%d", i + 1);
	}
	r->params = (struct tcpx_net_params){ .nics = r->nic, .nic_count = 2,
					      .clock = &r->clock, .memory = &r->memory,
					      .chunk = RIG_CHUNK, .window = RIG_WINDOW };
	tcpx_log_sink(logged, r);
	*state = r;
	return 0;
}

void
rig_open(struct rig *r)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r->ops->open(&r->params, &r->net[i], &r->facts[i]), 0);
		assert_int_equal(r->ops->poller_open(r->net[i], &r->poller[i]), 0);
	}
}

int
rig_teardown(void **state)
{
	struct rig *r = *state;

	if (r->tx)
		r->ops->chan_close(r->tx);
	if (r->rx)
		r->ops->chan_close(r->rx);
	for (int i = 0; i < 2; i++) {
		if (r->poller[i])
			r->ops->poller_close(r->poller[i]);
		if (r->net[i])
			r->ops->close(r->net[i]);
	}
	tcpx_log_sink(NULL, NULL);
	assert_string_equal(plug_fake.violation, "");
	assert_int_equal(plug_fake.listens + plug_fake.comms + plug_fake.regs + plug_fake.pages, 0);
	assert_int_equal(r->blocks, 0);
	assert_int_equal(plug_fake.gpu, -1);
	free(r);
	return 0;
}

struct tcpx_chan_id
rig_id(uint16_t channel)
{
	return (struct tcpx_chan_id){ .session = 9, .channel = channel, .generation = 1,
				      .sending_side_is_opener = 1 };
}

int
rig_channel(struct rig *r, uint16_t channel)
{
	struct tcpx_chan_id id = rig_id(channel);
	struct tcpx_chan_listener *cl;
	uint8_t handle[TCPX_HANDLE_BYTES];
	int rc, out = -EAGAIN, in = -EAGAIN;
	void *state = NULL;

	rc = r->ops->chan_listen(r->net[1], 0, &id, handle, &cl);
	if (rc)
		return rc;
	for (int i = 0; i < 100 && (out == -EAGAIN || in == -EAGAIN); i++) {
		if (out == -EAGAIN)
			out = r->ops->chan_connect(r->net[0], 0, &id, handle, true, &state, &r->tx);
		if (in == -EAGAIN)
			in = r->ops->chan_accept(cl, false, &r->rx);
		if ((out && out != -EAGAIN) || (in && in != -EAGAIN))
			break;
	}
	r->ops->chan_connect_cancel(r->net[0], &state);
	r->ops->chan_listener_close(cl);
	if (out == 0 && in == 0) {
		assert_int_equal(r->ops->chan_watch(r->tx, r->poller[0], r, TCPX_READABLE), 0);
		assert_int_equal(r->ops->chan_watch(r->rx, r->poller[1], r, TCPX_READABLE), 0);
	}
	return out && out != -EAGAIN ? out : in;
}

void
rig_open_channel(struct rig *r)
{
	rig_open(r);
	assert_int_equal(rig_channel(r, 5), 0);
}

uint8_t
rig_byte(uint64_t seq, size_t k)
{
	return (uint8_t)(seq * 101 + k + (k >> 8) * 7);
}

struct tcpx_head
rig_head(uint64_t seq, uint32_t len)
{
	return (struct tcpx_head){ .xfer = 77, .chunk = (uint32_t)seq, .len = len, .channel = 5,
				   .generation = 1, .seq = seq };
}

int
rig_send(struct rig *r, uint32_t len)
{
	struct tcpx_head head = rig_head(r->seq + 1, len);
	uint8_t *slot = r->ops->comm->slot(r->tx, r->seq + 1);
	int rc;

	assert_non_null(slot);
	for (size_t k = 0; k < len; k++)
		slot[k] = rig_byte(r->seq + 1, k);
	rc = r->ops->comm->send(r->tx, &head);
	r->seq += rc == 0;
	return rc;
}

int
rig_take(struct rig *r)
{
	struct tcpx_landed msg;
	size_t at = 0;
	int rc;

	rc = r->ops->comm->recv(r->rx, &msg);
	if (rc)
		return rc;
	r->taken++;
	assert_int_equal(msg.head.seq, r->taken);
	assert_int_equal(msg.head.xfer, 77);
	for (uint32_t i = 0; i < msg.frag_count; i++) {
		const uint8_t *p = msg.frag[i].iov_base;

		assert_true(msg.frag[i].iov_len > 0);
		for (size_t k = 0; k < msg.frag[i].iov_len; k++)
			if (p[k] != rig_byte(r->taken, at + k))
				fail_msg("message %llu: byte %zu is wrong",
					 (unsigned long long)r->taken, at + k);
		at += msg.frag[i].iov_len;
	}
	assert_int_equal(at, msg.head.len);
	return 0;
}

unsigned
rig_turns(struct rig *r, int side, int count)
{
	struct tcpx_net_event ev[8];
	unsigned ready = 0;

	for (int i = 0; i < count; i++) {
		int n = r->ops->poller_wait(r->poller[side], ev, 8, 0);

		assert_true(n >= 0);
		while (n-- > 0) {
			assert_ptr_equal(ev[n].owner, r);
			ready |= ev[n].ready;
		}
	}
	return ready;
}
