/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting with plugins of each version, giving up half-way, and registering memory. */
#include "plug_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const versions[] = { "v6", "v7", "v8", "v9", "v10", "v11", "v12" };

TEST(messages_pass_with_each_version)
{
	for (int i = 0; i < 7; i++) {
		for (int unpack = 0; unpack <= (i > 0); unpack++) {
			struct rig r;

			rig_open(&r, versions[i], unpack);
			assert_int_equal(plug_comm_unpacks(r.rx), unpack);
			for (unsigned k = 0; k < 40; k++)
				rig_message(&r, k * k * k * 3, k);
			rig_message(&r, RIG_MEM / 2, 1);
			assert_int_equal(r.fake->flushed > 0, !unpack);
			assert_string_equal(r.fake->wrong, "");
			rig_close(&r);
		}
	}
}

TEST(a_comm_may_take_its_time)
{
	for (int nulls = 0; nulls < 40; nulls += 13) {
		uint8_t handle[PLUG_HANDLE_BYTES], given[PLUG_HANDLE_BYTES];
		struct plug_listen *l = NULL;
		struct plug_comm *rx = NULL, *same;
		struct rig r;

		rig_take(&r, "v7", "libfake.so");
		r.fake->nulls = nulls;
		assert_int_equal(plug_open(r.path, &r.plug), 0);
		assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
		memcpy(given, handle, sizeof(given));
		for (int i = 0; i < nulls; i++) {
			assert_int_equal(plug_connect(r.plug, 0, handle, &r.tx), -EAGAIN);
			assert_non_null(r.tx);
			assert_int_equal(plug_accept(l, &rx), -EAGAIN);
			assert_null(rx);
		}
		assert_int_equal(plug_connect(r.plug, 0, handle, &r.tx), 0);
		assert_int_equal(plug_accept(l, &rx), 0);
		/* the caller's handle stays as it came; the plugin is not asked again */
		assert_memory_equal(handle, given, sizeof(given));
		same = r.tx;
		assert_int_equal(plug_connect(r.plug, 0, handle, &r.tx), 0);
		assert_ptr_equal(same, r.tx);
		assert_int_equal(plug_accept(l, &rx), TCPX_ESTATE);
		assert_int_equal(r.fake->calls[NET_FAKE_CONNECT], nulls + 1);
		assert_int_equal(r.fake->calls[NET_FAKE_ACCEPT], nulls + 1);
		plug_listen_close(l);
		plug_comm_close(r.tx);
		plug_comm_close(rx);
		rig_close(&r);
	}
}

TEST(what_cannot_connect_says_so_once)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	struct plug_listen *l = NULL;
	struct plug_comm *rx = NULL;
	struct rig r;

	rig_take(&r, "v8", "libfake.so");
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	r.fake->result[NET_FAKE_LISTEN] = NCCL_SYSTEM_ERROR;
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), TCPX_ECHANNEL);
	r.fake->result[NET_FAKE_LISTEN] = NCCL_OK;
	assert_int_equal(plug_listen(r.plug, 2, handle, &l), -EINVAL);
	assert_int_equal(plug_listen(r.plug, -1, handle, &l), -EINVAL);
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
	assert_int_equal(plug_connect(r.plug, 7, handle, &r.tx), -EINVAL);

	rig_log_clear();
	r.fake->result[NET_FAKE_CONNECT] = NCCL_REMOTE_ERROR;
	assert_int_equal(plug_connect(r.plug, 0, handle, &r.tx), TCPX_ECHANNEL);
	assert_null(r.tx);
	r.fake->result[NET_FAKE_ACCEPT] = NCCL_INTERNAL_ERROR;
	assert_int_equal(plug_accept(l, &rx), -EPROTO);
	assert_int_equal(plug_accept(l, &rx), -EPROTO);
	assert_int_equal(rig_log_lines(), 2);
	assert_non_null(strstr(rig_log_last(), "Fake_v8: accept on eth1: internal error (3)"));
	assert_int_equal(r.fake->calls[NET_FAKE_ACCEPT], 1);
	plug_listen_close(l);
	rig_close(&r);
}

TEST(in_progress_means_again)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	struct plug_listen *l = NULL;
	struct plug_comm *rx = NULL;
	struct rig r;

	rig_take(&r, "v8", "libfake.so");
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
	r.fake->result[NET_FAKE_ACCEPT] = NCCL_IN_PROGRESS;
	assert_int_equal(plug_accept(l, &rx), -EAGAIN);
	r.fake->result[NET_FAKE_ACCEPT] = NCCL_OK;
	assert_int_equal(plug_accept(l, &rx), 0);
	plug_comm_close(rx);
	plug_listen_close(l);
	rig_close(&r);
}

/* The plugin's threads use what they were given until they end. */
TEST(what_is_given_up_is_followed_to_its_end)
{
	uint8_t handle[PLUG_HANDLE_BYTES], other[PLUG_HANDLE_BYTES];
	struct plug_listen *l = NULL, *l2 = NULL;
	struct plug_comm *rx = NULL;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	r.fake->nulls = 3;
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
	assert_int_equal(plug_connect(r.plug, 0, handle, &r.tx), -EAGAIN);
	assert_int_equal(plug_accept(l, &rx), -EAGAIN);
	plug_connect_cancel(&r.tx);
	assert_null(r.tx);
	plug_listen_close(l);
	assert_int_equal(r.fake->open, 3);
	/* each new one looks after the old ones */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(plug_listen(r.plug, 0, other, &l2), 0);
		plug_listen_close(l2);
	}
	assert_int_equal(r.fake->open, 0);

	/* never asked to accept: there is nothing to wait for */
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
	plug_listen_close(l);
	assert_int_equal(r.fake->open, 0);
	rig_close(&r);
}

TEST(where_to_unpack_has_to_be_said)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	struct plug_listen *l = NULL;
	struct plug_comm *rx = NULL;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	r.fake->device_type = NCCL_DEVICE_UNPACK;
	r.fake->no_handle = true;
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
	assert_int_equal(plug_accept(l, &rx), -EPROTO);
	assert_non_null(strstr(rig_log_last(), "no handle for unpacking"));
	assert_null(rx);
	plug_listen_close(l);
	rig_close(&r);
}

TEST(device_handles_are_looked_at)
{
	struct nccl_unpack_device bad[] = {
		{ NULL, (void *)0x1000, 0 },
		{ (void *)0x1000, NULL, 0 },
		{ (void *)0x1001, (void *)0x1000, 0 },
	};
	struct plug_request *req;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rig r;

		rig_open(&r, "v7", true);
		plug_comm_device_is(r.rx, (const uint8_t *)&bad[i]);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 64, 0, r.rx_mr, &req), -EPROTO);
		rig_close(&r);
	}
}

TEST(memory_is_checked_before_it_is_registered)
{
	void *mr = NULL;
	struct rig r;

	rig_open(&r, "v7", true);
	rig_log_clear();
	assert_int_equal(plug_reg(r.tx, NULL, 4096, true, &mr), -EINVAL);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 0, true, &mr), -EINVAL);
	assert_int_equal(plug_reg(r.tx, r.tx_mem + 1, 4096, true, &mr), -EINVAL);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4097, true, &mr), -EINVAL);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 3ull << 30, true, &mr), -EMSGSIZE);
	assert_int_equal(rig_log_lines(), 5);
	assert_int_equal(r.fake->calls[NET_FAKE_REG], 2);
	assert_int_equal(plug_reg(r.tx, r.tx_mem + 1, 77, false, &mr), 0);
	plug_dereg(r.tx, mr);
	r.fake->result[NET_FAKE_REG] = NCCL_CUDA_ERROR;
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4096, true, &mr), -EIO);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4096, true, &mr), -EIO);
	r.fake->result[NET_FAKE_REG] = NCCL_OK;
	rig_message(&r, 5000, 3); /* the comm lives on */
	rig_close(&r);

	rig_open(&r, "v8", true);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 3ull << 30, true, &mr), 0);
	assert_int_equal(r.fake->size, 3ull << 30);
	rig_close(&r);
}

TEST(memory_that_a_nic_does_not_take_is_refused)
{
	void *mr = NULL;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	r.fake->ptr_support = NCCL_PTR_HOST;
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	rig_connect(&r);
	rig_register(&r);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4096, true, &mr), -EOPNOTSUPP);
	rig_close(&r);

	rig_take(&r, "v7", "libfake.so");
	r.fake->device_type = NCCL_DEVICE_UNPACK;
	r.fake->no_pci = true;
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	rig_connect(&r);
	rig_register(&r);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4096, true, &mr), -EOPNOTSUPP);
	assert_non_null(strstr(rig_log_last(), "is no PCI device"));
	rig_close(&r);
}

TEST(memory_in_use_stays_registered)
{
	struct plug_request *req;
	uint32_t len;
	struct rig r;

	rig_open(&r, "v7", true);
	assert_int_equal(plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &req), 0);
	rig_log_clear();
	plug_dereg(r.tx, r.tx_mr);
	assert_int_equal(rig_log_lines(), 1);
	assert_int_equal(r.fake->registered, 2);
	assert_int_equal(rig_test(r.tx, req, &len), 0);
	plug_dereg(r.tx, r.tx_mr);
	assert_int_equal(r.fake->registered, 1);
	rig_close(&r); /* the other goes with its comm */
}

int
main(void)
{
	rig_log_start();
	return run_cases(NULL, NULL);
}
