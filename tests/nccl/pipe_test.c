/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipe's lane gets of its communicator. */
#include "../unit/core/rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/transfer/lane_state.h"
#include "nccl/hub.h"

static void
a_senders_lane_has_the_weight_and_the_number_of_its_communicator(void **state)
{
	struct rig *r = *state;
	struct hub near = { .engine = r->a, .name = "anna" };
	struct hub far = { .engine = r->b, .name = "bert", .addrs = "127.0.1.1",
			   .port = (uint16_t)tcpx_port(r->b) };
	struct communicator of = { .id = 0xd1ce, .weight = 7 };
	uint8_t ticket[PIPE_TICKET_BYTES];
	struct pipe_listen *listen;
	struct pipe *tx, *rx;
	struct tcpx_lane *l;
	int rc;

	assert_ok(tcpx_nccl_pipe_listen(&far, of, ticket, &listen));
	assert_ok(tcpx_nccl_pipe_connect(&near, of, ticket, &tx));
	while ((rc = tcpx_nccl_pipe_ready(tx)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
	while ((rc = tcpx_nccl_pipe_accept(listen, &rx)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
	l = tcpx_container(tcpx_chain_first(&r->a->registry.lanes), struct tcpx_lane, handle);
	assert_int_equal(l->turn.drr.weight, 7);
	assert_non_null(l->label);
	assert_string_equal(l->label->text, "comm d1ce");
	tcpx_nccl_pipe_close(tx);
	tcpx_nccl_pipe_close(rx);
	tcpx_nccl_pipe_listen_close(listen);
}

/* NCCL's setting is for its own pieces, and the plugin sets it. */
static void
nccls_pieces_are_no_size_of_chunks(void **state)
{
	struct hub *h;

	(void)state;
	assert_int_equal(setenv("NCCL_P2P_NET_CHUNKSIZE", "524288", 1), 0);
	assert_ok(tcpx_nccl_hub_open(&h));
	assert_int_equal(h->engine->limit.chunk, 0);
	assert_int_equal(h->engine->limit.window, 4);
	tcpx_close(h->engine);
	free(h);
	assert_int_equal(setenv("TCPX_CHUNK", "256K", 1), 0);
	assert_ok(tcpx_nccl_hub_open(&h));
	assert_int_equal(h->engine->limit.chunk, 256 << 10);
	tcpx_close(h->engine);
	free(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_senders_lane_has_the_weight_and_the_number_of_its_communicator,
						rig_setup, rig_teardown),
		cmocka_unit_test(nccls_pieces_are_no_size_of_chunks),
	};

	return cmocka_run_group_tests_name("nccl/pipe", tests, NULL, NULL);
}
