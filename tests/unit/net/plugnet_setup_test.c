/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the plugin provider, its limits and terms, and the set-up of its channels. */
#include "plugnet_rig.h"

#include <stdio.h>

static void
limits(struct rig *r, uint32_t *chunk, uint32_t *window)
{
	assert_int_equal(r->ops->open(&r->params, &r->net[0], &r->facts[0]), 0);
	*chunk = r->facts[0].chunk_max;
	*window = r->facts[0].slots_max;
	r->ops->close(r->net[0]);
	r->net[0] = NULL;
}

TEST_WITH(what_is_wanted_is_cut_to_what_the_plugin_takes, rig_setup, rig_teardown)
{
	static const struct {
		const char *dynamic;
		uint32_t chunk, window, chunk_max, slots_max;
		int warnings;
		uint32_t requests;
	} cases[] = {
		{ "524288", 0, 0, 524288, 16, 0, 16 },
		{ "524288", 65536, 4, 65536, 4, 0, 16 },
		{ "524288", 524288, 16, 524288, 16, 0, 16 },
		{ "524288", 524289, 17, 524288, 16, 2, 16 },
		{ "0x20000", 1 << 20, 16, 131072, 16, 1, 16 },
		{ "8388608", 0, 1, 4 << 20, 1, 0, 16 },
		{ "8388608", 8 << 20, 8, 4 << 20, 8, 1, 16 },
		{ NULL, 0, 0, 524288, 16, 0, 16 },       /* a plugin that does not ask for it */
		{ NULL, 1 << 20, 0, 1 << 20, 16, 0, 16 },
		{ "much", 65536, 0, 65536, 16, 0, 16 },
		{ "524288", 0, 0, 524288, 8, 0, 8 }, /* one of v6 */
		{ "524288", 0, 9, 524288, 8, 1, 8 },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t chunk, window;

		if (cases[i].dynamic)
			setenv("NCCL_DYNAMIC_CHUNK_SIZE", cases[i].dynamic, 1);
		else
			unsetenv("NCCL_DYNAMIC_CHUNK_SIZE");
		r->params.chunk = cases[i].chunk;
		r->params.window = cases[i].window;
		plug_fake.requests = cases[i].requests;
		r->warnings = 0;
		limits(r, &chunk, &window);
		assert_int_equal(chunk, cases[i].chunk_max);
		assert_int_equal(window, cases[i].slots_max);
		assert_int_equal(r->warnings, cases[i].warnings);
	}
}

TEST_WITH(terms_name_what_both_sides_must_have_alike, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_open(r);
	assert_string_equal(r->facts[0].terms,
			    "chunk 524288, sockets 1, threads 1, sync 0");
	r->ops->close(r->net[1]);
	setenv("NCCL_NSOCKS_PERTHREAD", "4", 1);
	setenv("NCCL_SOCKET_NTHREADS", "0x2", 1);
	setenv("NCCL_GPUDIRECTTCPX_RECV_SYNC", "1", 1);
	r->ops->poller_close(r->poller[1]);
	r->poller[1] = NULL;
	assert_int_equal(r->ops->open(&r->params, &r->net[1], &r->facts[1]), 0);
	assert_string_equal(r->facts[1].terms,
			    "chunk 524288, sockets 4, threads 2, sync 1");
	r->ops->close(r->net[1]);
	/* out of range: what the plugin then takes itself */
	setenv("NCCL_NSOCKS_PERTHREAD", "9", 1);
	setenv("NCCL_SOCKET_NTHREADS", "two", 1);
	setenv("NCCL_GPUDIRECTTCPX_RECV_SYNC", "-1", 1);
	assert_int_equal(r->ops->open(&r->params, &r->net[1], &r->facts[1]), 0);
	assert_string_equal(r->facts[1].terms,
			    "chunk 524288, sockets 1, threads 1, sync 0");
}

TEST_WITH(the_table_is_found_by_name_and_says_what_it_can, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	assert_ptr_equal(tcpx_net_find("tcpx"), r->ops);
	assert_non_null(r->ops->comm);
	assert_null(r->ops->stream);
	plug_fake.open_code = -ENOENT;
	assert_int_equal(r->ops->open(&r->params, &r->net[0], &r->facts[0]), -ENOENT);
	plug_fake.open_code = 0;
	r->params.nic_count = TCPX_NET_NICS + 1;
	assert_int_equal(r->ops->open(&r->params, &r->net[0], &r->facts[0]), -EINVAL);
}

TEST_WITH(a_nic_is_the_device_of_its_name, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(0);
	struct tcpx_chan_listener *cl;
	uint8_t handle[TCPX_HANDLE_BYTES];

	plug_fake.dev[0] = "eth2"; /* the plugin has another order, and more */
	plug_fake.dev[1] = "eth7";
	plug_fake.dev[2] = "eth1";
	rig_open(r);
	for (int nic = 0; nic < 2; nic++) {
		assert_int_equal(r->ops->chan_listen(r->net[1], nic, &id, handle, &cl), 0);
		assert_int_equal(plug_fake.listen_dev, nic == 0 ? 2 : 0);
		r->ops->chan_listener_close(cl);
	}
	assert_int_equal(r->ops->chan_listen(r->net[1], 2, &id, handle, &cl), -EINVAL);
	assert_int_equal(r->ops->chan_listen(r->net[1], -1, &id, handle, &cl), -EINVAL);
}

/* NICs given as addresses have them as names: the interface is known by the address. */
TEST_WITH(a_nic_is_found_by_its_address, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(0);
	struct tcpx_chan_listener *cl;
	uint8_t handle[TCPX_HANDLE_BYTES];

	snprintf(r->nic[0].name, sizeof(r->nic[0].name), "127.0.0.1");
	plug_fake.dev[1] = "lo";
	rig_open(r);
	assert_int_equal(r->ops->chan_listen(r->net[1], 0, &id, handle, &cl), 0);
	assert_int_equal(plug_fake.listen_dev, 1);
	r->ops->chan_listener_close(cl);
}

TEST_WITH(a_nic_that_the_plugin_lacks_is_named, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(0);
	struct tcpx_chan_listener *cl;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan *c;
	void *dial = NULL;

	snprintf(r->nic[1].name, sizeof(r->nic[1].name), "none7");
	r->nic[1].addr = (struct tcpx_addr){ .family = 4, .ip = { 192, 0, 2, 1 } };
	rig_open(r);
	assert_int_equal(r->warnings, 0); /* not every NIC has to be one of the plugin's */
	assert_int_equal(r->ops->chan_listen(r->net[1], 1, &id, handle, &cl), -ENODEV);
	assert_non_null(strstr(r->warning, "none7"));
	assert_non_null(strstr(r->warning, "eth1, eth2"));
	assert_int_equal(r->ops->chan_connect(r->net[0], 1, &id, handle, true, &dial, &c), -ENODEV);
	assert_null(dial);
	assert_int_equal(r->ops->chan_listen(r->net[1], 1, &id, handle, &cl), -ENODEV);
	assert_int_equal(r->warnings, 2); /* once for each net */
}

/* The GPU that is current when the plugin makes something is the one it is for. */
TEST_WITH(the_gpu_of_the_nic_is_entered, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->nic[0].gpu = 6;
	rig_open_channel(r);
	assert_int_equal(plug_fake.listen_gpu, 6);
	assert_int_equal(plug_fake.accept_gpu, 6);
	assert_int_equal(plug_fake.connect_gpu, 6);
	assert_int_equal(plug_fake.reg_gpu, 6);
	assert_int_equal(r->blocks, 2);
}

TEST_WITH(without_a_gpu_slots_are_of_host_memory, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	for (int own = 0; own < 2; own++) {
		r->nic[0].gpu = -1;
		if (own)
			r->params.memory = NULL;
		rig_open_channel(r);
		assert_int_equal(plug_fake.reg_gpu, -1);
		assert_int_equal(r->blocks, own ? 0 : 2);
		assert_int_equal(rig_send(r, 100), 0);
		assert_int_equal(rig_teardown(state), 0);
		assert_int_equal(rig_setup(state), 0);
		r = *state;
	}
	r->params.memory = NULL; /* and a GPU */
	rig_open(r);
	assert_int_equal(rig_channel(r, 1), -ENODEV);
}

TEST_WITH(a_channel_comes_when_the_plugin_has_it, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	plug_fake.not_yet = 7;
	plug_fake.early = 3;
	rig_open_channel(r);
	plug_fake.not_yet = 200; /* and is given up: the teardown finds nothing left */
	r->ops->chan_close(r->tx);
	r->ops->chan_close(r->rx);
	r->tx = r->rx = NULL;
	assert_int_equal(rig_channel(r, 6), -EAGAIN);
}

TEST_WITH(every_failure_on_the_way_leaves_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int *code[] = { &plug_fake.listen_code, &plug_fake.accept_code, &plug_fake.connect_code,
			&plug_fake.reg_code, &plug_fake.recv_code, &r->get_code, &r->enter_code,
			&r->read_code };

	rig_open(r);
	for (size_t i = 0; i < COUNT(code); i++) {
		*code[i] = -EIO;
		assert_int_equal(rig_channel(r, 5), -EIO);
		*code[i] = 0;
		if (r->tx)
			r->ops->chan_close(r->tx);
		if (r->rx)
			r->ops->chan_close(r->rx);
		r->tx = r->rx = NULL;
		assert_int_equal(plug_fake.listens + plug_fake.comms + plug_fake.regs, 0);
		assert_int_equal(r->blocks, 0);
	}
	assert_int_equal(rig_channel(r, 5), 0);
}

TEST_WITH(who_receives_listens, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(3);
	struct tcpx_chan_listener *cl;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan *c;
	void *dial = NULL;

	rig_open(r);
	assert_int_equal(r->ops->chan_listen(r->net[1], 0, &id, handle, &cl), 0);
	assert_int_equal(r->ops->chan_accept(cl, true, &c), -EINVAL);
	assert_int_equal(r->ops->chan_connect(r->net[0], 0, &id, handle, false, &dial, &c), -EINVAL);
	assert_null(dial);
	assert_int_equal(r->ops->chan_connect(r->net[0], 0, &id, handle, true, &dial, &r->tx), 0);
	assert_null(dial);
	assert_int_equal(r->ops->chan_accept(cl, false, &r->rx), 0);
	assert_int_equal(r->ops->chan_accept(cl, false, &c), TCPX_ESTATE); /* once */
	r->ops->chan_listener_close(cl);
}

TEST_WITH(closing_nothing_is_allowed, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	void *dial = NULL;

	rig_open_channel(r);
	r->ops->chan_connect_cancel(r->net[0], &dial);
	r->ops->chan_listener_close(NULL);
	r->ops->chan_close(NULL);
	r->ops->poller_close(NULL);
	r->ops->close(NULL);
}
