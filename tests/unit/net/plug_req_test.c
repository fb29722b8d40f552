/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: order, the limit, sizes, results of a plugin, and malformed lists. */
#include "plug_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plug_frag frags[PLUG_FRAGS_MAX];

TEST(the_limit_is_kept_here)
{
	static const struct {
		const char *version;
		bool unpack;
		unsigned limit;
	} cases[] = { { "v6", false, 8 }, { "v7", true, 16 }, { "v9", false, 16 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plug_request *tx[PLUG_REQUESTS], *rx[PLUG_REQUESTS], *more;
		unsigned limit = cases[i].limit, seq = 0;
		uint32_t len;
		struct rig r;

		rig_open(&r, cases[i].version, cases[i].unpack);
		/* full of what is posted, then of what has landed and is not consumed */
		for (; seq < limit; seq++) {
			assert_int_equal(plug_send(r.tx, r.tx_mem + seq * 64, 64, 0, r.tx_mr,
						   &tx[seq]), 0);
			assert_int_equal(plug_recv(r.rx, r.rx_mem + seq * 64, 64, 0, r.rx_mr,
						   &rx[seq]), 0);
		}
		assert_int_equal(plug_send(r.tx, r.tx_mem, 64, 0, r.tx_mr, &more), -EAGAIN);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 64, 0, r.rx_mr, &more), -EAGAIN);
		for (seq = 0; seq < limit; seq++) {
			assert_int_equal(rig_test(r.tx, tx[seq], &len), 0);
			assert_int_equal(rig_test(r.rx, rx[seq], &len), 0);
			assert_int_equal(plug_recv(r.rx, r.rx_mem, 64, 0, r.rx_mr, &more),
					 -EAGAIN);
		}
		assert_int_equal(r.fake->calls[NET_FAKE_IRECV], limit);
		assert_int_equal(r.fake->calls[NET_FAKE_ISEND], limit);
		/* sends are free when they are done */
		assert_int_equal(plug_send(r.tx, r.tx_mem, 64, 0, r.tx_mr, &more), 0);
		assert_int_equal(plug_consumed(r.rx, rx[0]), 0);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 64, 0, r.rx_mr, &more), 0);
		assert_string_equal(r.fake->wrong, "");
		rig_close(&r);
	}
}

TEST(only_the_oldest_is_asked_for)
{
	struct plug_request *tx[3], *rx[3], *more;
	int before;
	uint32_t len, count;
	struct rig r;

	rig_open(&r, "v7", true);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &tx[i]), 0);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 100, 0, r.rx_mr, &rx[i]), 0);
	}
	before = r.fake->calls[NET_FAKE_TEST];
	assert_int_equal(plug_test(r.tx, tx[1], &len), -EINVAL);
	assert_int_equal(plug_test(r.rx, rx[2], &len), -EINVAL);
	assert_int_equal(plug_test(r.tx, rx[0], &len), -EINVAL);
	assert_int_equal(plug_frags(r.rx, rx[0], frags, &count), -EINVAL);
	assert_int_equal(plug_consumed(r.rx, rx[0]), -EINVAL);
	assert_int_equal(plug_consumed(r.tx, tx[0]), -EINVAL);
	assert_int_equal(r.fake->calls[NET_FAKE_TEST], before);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_test(r.tx, tx[i], &len), 0);
		assert_int_equal(plug_test(r.tx, tx[i], &len), -EINVAL);
		assert_int_equal(rig_test(r.rx, rx[i], &len), 0);
	}
	assert_int_equal(plug_consumed(r.rx, rx[1]), -EINVAL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(plug_consumed(r.rx, rx[i]), 0);
		assert_int_equal(plug_consumed(r.rx, rx[i]), -EINVAL);
		assert_int_equal(plug_frags(r.rx, rx[i], frags, &count), -EINVAL);
	}
	assert_int_equal(r.fake->calls[NET_FAKE_CONSUMED], 3);
	/* wrong ways */
	assert_int_equal(plug_send(r.rx, r.rx_mem, 1, 0, r.rx_mr, &more), TCPX_ESTATE);
	assert_int_equal(plug_recv(r.tx, r.tx_mem, 1, 0, r.tx_mr, &more), TCPX_ESTATE);
	rig_message(&r, 9000, 1);
	rig_close(&r);
}

TEST(slots_come_round)
{
	struct rig r;

	rig_open(&r, "v7", true);
	r.fake->delay = 2;
	for (unsigned i = 0; i < 100; i++)
		rig_message(&r, i % 5 ? 4096 * (i % 40) + i : 0, i);
	rig_close(&r);
}

TEST(an_early_comm_is_waited_for)
{
	struct plug_request *tx, *rx;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	r.fake->device_type = NCCL_DEVICE_UNPACK;
	r.fake->early = 5;
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	rig_connect(&r);
	rig_register(&r);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &tx), -EAGAIN);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 100, 0, r.rx_mr, &rx), -EAGAIN);
	}
	for (unsigned i = 0; i < 20; i++)
		rig_message(&r, 100000, i);
	rig_close(&r);
}

TEST(messages_stay_in_what_is_registered)
{
	struct plug_request *req;
	struct rig r;

	rig_open(&r, "v8", false);
	assert_int_equal(plug_send(r.tx, r.tx_mem + RIG_MEM - 10, 11, 0, r.tx_mr, &req), -EINVAL);
	assert_int_equal(plug_send(r.tx, r.tx_mem - 1, 1, 0, r.tx_mr, &req), -EINVAL);
	assert_int_equal(plug_send(r.tx, r.tx_mem, 1, 0, NULL, &req), -EINVAL);
	assert_int_equal(plug_recv(r.rx, r.rx_mem, RIG_MEM + 1, 0, r.rx_mr, &req), -EINVAL);
	assert_int_equal(r.fake->calls[NET_FAKE_ISEND] + r.fake->calls[NET_FAKE_IRECV], 0);
	assert_int_equal(plug_send(r.tx, r.tx_mem + RIG_MEM - 10, 10, 0, r.tx_mr, &req), 0);
	rig_close(&r);
}

TEST(sizes_are_capped)
{
	struct plug_request *req;
	void *mr;
	struct rig r;

	rig_open(&r, "v8", false);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4ull << 30, true, &mr), 0);
	assert_int_equal(plug_send(r.tx, r.tx_mem, (1u << 30) + 1, 0, mr, &req), -EMSGSIZE);
	rig_close(&r);
	/* v9 has a limit of its own, but test() still has int */
	rig_open(&r, "v9", false);
	assert_int_equal(plug_reg(r.tx, r.tx_mem, 4ull << 30, true, &mr), 0);
	assert_int_equal(plug_send(r.tx, r.tx_mem, 1u << 31, 0, mr, &req), -EMSGSIZE);
	assert_int_equal(plug_send(r.tx, r.tx_mem, (1u << 30) + 1, 0, mr, &req), 0);
	assert_int_equal(r.fake->size, (1u << 30) + 1);
	rig_close(&r);
}

TEST(results_break_the_comm_for_ever)
{
	static const struct {
		int result, code;
	} cases[] = {
		{ NCCL_CUDA_ERROR, -EIO }, { NCCL_SYSTEM_ERROR, TCPX_ECHANNEL },
		{ NCCL_INTERNAL_ERROR, -EPROTO }, { NCCL_INVALID_ARGUMENT, -EINVAL },
		{ NCCL_INVALID_USAGE, -EINVAL }, { NCCL_REMOTE_ERROR, TCPX_ECHANNEL }, { 99, -EPROTO },
	};
	static const enum net_fake_call calls[] = { NET_FAKE_ISEND, NET_FAKE_TEST };

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		enum net_fake_call call = calls[i % 2];
		struct plug_request *req = NULL;
		int code = cases[i / 2].code, rc;
		uint32_t len;
		struct rig r;

		rig_open(&r, "v7", true);
		rig_message(&r, 100, 1);
		rig_log_clear();
		r.fake->result[call] = NCCL_IN_PROGRESS;
		rc = plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &req);
		if (call == NET_FAKE_TEST)
			rc = plug_test(r.tx, req, &len);
		assert_int_equal(rc, -EAGAIN);
		r.fake->result[call] = cases[i / 2].result;
		rc = call == NET_FAKE_TEST ? plug_test(r.tx, req, &len) :
		     plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &req);
		assert_int_equal(rc, code);
		assert_int_equal(rig_log_lines(), 1);
		r.fake->result[call] = NCCL_OK;
		assert_int_equal(plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &req), code);
		assert_int_equal(plug_test(r.tx, req, &len), code);
		assert_int_equal(rig_log_lines(), 1);
		rig_close(&r);
	}
}

TEST(a_failed_consume_breaks_the_comm)
{
	struct plug_request *tx, *rx;
	uint32_t len;
	struct rig r;

	rig_open(&r, "v7", true);
	assert_int_equal(plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &tx), 0);
	assert_int_equal(plug_recv(r.rx, r.rx_mem, 100, 0, r.rx_mr, &rx), 0);
	assert_int_equal(rig_test(r.tx, tx, &len), 0);
	assert_int_equal(rig_test(r.rx, rx, &len), 0);
	r.fake->result[NET_FAKE_CONSUMED] = NCCL_SYSTEM_ERROR;
	assert_int_equal(plug_consumed(r.rx, rx), TCPX_ECHANNEL);
	r.fake->result[NET_FAKE_CONSUMED] = NCCL_OK;
	assert_int_equal(plug_consumed(r.rx, rx), TCPX_ECHANNEL);
	rig_close(&r);
}

/* A list as it is found when a message of 10000 bytes is tested, and its fragments read. */
static void
try_list(const struct nccl_unpack_frag *list, uint64_t count, int test, int read)
{
	struct plug_request *tx, *rx;
	uint32_t len = 0, n;
	struct rig r;

	rig_open(&r, "v7", true);
	r.fake->list = list;
	r.fake->list_count = count;
	assert_int_equal(plug_send(r.tx, r.tx_mem, 10000, 0, r.tx_mr, &tx), 0);
	assert_int_equal(plug_recv(r.rx, r.rx_mem, 10000, 0, r.rx_mr, &rx), 0);
	assert_int_equal(rig_test(r.tx, tx, &len), 0);
	rig_log_clear();
	assert_int_equal(rig_test(r.rx, rx, &len), test);
	if (test == 0)
		assert_int_equal(plug_frags(r.rx, rx, frags, &n), read);
	if (test || read) {
		assert_int_equal(rig_log_lines(), 1);
		assert_int_equal(plug_consumed(r.rx, rx), TCPX_EFRAME);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 1, 0, r.rx_mr, &rx), TCPX_EFRAME);
	}
	rig_close(&r);
}

TEST(lists_that_are_no_message_break_the_comm)
{
	struct nccl_unpack_frag beyond[] = { { 0, 9999, 0 }, { 20000, 2, 9999 } };
	struct nccl_unpack_frag far[] = { { 0, 10, UINT64_MAX - 4 } };
	struct nccl_unpack_frag hole[] = { { 0, 100, 0 }, { 4096, 100, 101 } };
	struct nccl_unpack_frag twice[] = { { 0, 100, 0 }, { 4096, 100, 99 }, { 8192, 1, 199 } };
	struct nccl_unpack_frag pool[] = { { UINT32_MAX, 2, 0 } };
	struct nccl_unpack_frag good[] = { { 7, 1, 9999 }, { 8192, 9999, 0 } };

	try_list(beyond, 2, TCPX_EFRAME, 0);
	try_list(far, 1, TCPX_EFRAME, 0);
	try_list(pool, 1, TCPX_EFRAME, 0);
	try_list(good, 2049, TCPX_EFRAME, 0);
	try_list(good, UINT64_MAX, TCPX_EFRAME, 0);
	try_list(hole, 2, 0, TCPX_EFRAME);
	try_list(twice, 3, 0, TCPX_EFRAME);
	try_list(good, 2, 0, 0);
	try_list(good, 0, 0, 0);
}

/* An ordinary plugin returns sizes by test(), and a GPU sees them after a flush. */
TEST(an_ordinary_plugin_flushes)
{
	struct plug_request *tx, *rx;
	uint32_t len;
	int asked;
	struct rig r;

	rig_open(&r, "v8", false);
	r.fake->delay = 3;
	assert_int_equal(plug_send(r.tx, r.tx_mem, 500, 0, r.tx_mr, &tx), 0);
	assert_int_equal(plug_recv(r.rx, r.rx_mem, 600, 0, r.rx_mr, &rx), 0);
	assert_int_equal(rig_test(r.tx, tx, &len), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(plug_test(r.rx, rx, &len), -EAGAIN);
	assert_int_equal(r.fake->flushed, 0);
	r.fake->result[NET_FAKE_IFLUSH] = NCCL_IN_PROGRESS;
	assert_int_equal(plug_test(r.rx, rx, &len), -EAGAIN);
	asked = r.fake->calls[NET_FAKE_TEST];
	assert_int_equal(plug_test(r.rx, rx, &len), -EAGAIN);
	assert_int_equal(r.fake->calls[NET_FAKE_TEST], asked); /* what is done is not asked */
	r.fake->result[NET_FAKE_IFLUSH] = NCCL_OK;
	assert_int_equal(rig_test(r.rx, rx, &len), 0);
	assert_int_equal(len, 500);
	assert_int_equal(r.fake->flushed, 500);
	assert_int_equal(plug_consumed(r.rx, rx), 0);
	rig_close(&r);

	rig_take(&r, "v8", "libfake.so"); /* the host's memory needs none */
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	rig_connect(&r);
	rig_register(&r);
	rig_message(&r, 500, 1);
	assert_int_equal(r.fake->flushed, 0);
	rig_close(&r);
}

TEST(an_ordinary_message_fits_its_receive)
{
	struct plug_request *tx, *rx;
	uint32_t len;
	struct rig r;

	rig_open(&r, "v8", false);
	assert_int_equal(plug_send(r.tx, r.tx_mem, 500, 0, r.tx_mr, &tx), 0);
	assert_int_equal(plug_recv(r.rx, r.rx_mem, 499, 0, r.rx_mr, &rx), 0);
	assert_int_equal(rig_test(r.tx, tx, &len), 0);
	assert_int_equal(rig_test(r.rx, rx, &len), TCPX_EFRAME);
	rig_close(&r);
}

TEST(closing_gives_pages_back)
{
	struct plug_request *tx, *rx;
	uint32_t len;
	struct rig r;

	rig_open(&r, "v7", true);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(plug_send(r.tx, r.tx_mem, 100, 0, r.tx_mr, &tx), 0);
		assert_int_equal(plug_recv(r.rx, r.rx_mem, 100, 0, r.rx_mr, &rx), 0);
		if (i == 2)
			break; /* this one is on its way */
		assert_int_equal(rig_test(r.tx, tx, &len), 0);
		assert_int_equal(rig_test(r.rx, rx, &len), 0);
	}
	rig_disconnect(&r);
	r.tx_mem = NULL;
	assert_int_equal(r.fake->calls[NET_FAKE_CONSUMED], 2);
	rig_close(&r);
}

int
main(void)
{
	rig_log_start();
	return run_cases(NULL, NULL);
}
