/* SPDX-License-Identifier: Apache-2.0 */
/* A right client moves its bytes: in every mode, over every kind of memory, on many comms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/client.h"

static int
move(void *arg)
{
	const struct work *w = arg;
	struct pair p[8];
	int devices = 0;
	bool right;

	CHECK(plugin()->devices(&devices) == NCCL_OK && devices == 4);
	for (unsigned i = 0; i < w->comms; i++) {
		pair_connect(&p[i], 0);
		pair_memory(&p[i], w->max);
	}
	right = pairs_move(p, w);
	for (unsigned i = 0; i < w->comms; i++)
		pair_close(&p[i]);
	return right ? 0 : 3;
}

static void
random_sizes(void **state)
{
	for (unsigned comms = 1; comms <= 8; comms *= 2) {
		struct work w = { comms, 80, CHUNK, false, 100 + comms, false, 0 };

		must_pass(FAITHFUL, move, &w);
		must_pass(STRICT, move, &w);
	}
}

static void
software_gpu(void **state)
{
	struct work w = { 2, 30, CHUNK, false, 5, false, 0 };
	char env[1024];

	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s|TCPX_EMU_MODE=strict", getenv("FAKECUDA_LIBRARY"));
	must_pass(env, move, &w);
	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s|TCPX_EMU_MEMORY=pinned",
		 getenv("FAKECUDA_LIBRARY"));
	must_pass(env, move, &w);
}

static void
a_chunk_for_each_socket(void **state)
{
	struct work w = { 1, 20, 4 * CHUNK, false, 6, false, 0 };

	must_pass(HOST "TCPX_EMU_POOL=40000", move, &w);
}

static void
few_pages(void **state)
{
	struct work w = { 2, 60, 256 << 10, false, 7, false, 0 };

	must_pass(STRICT "|TCPX_EMU_POOL=600", move, &w);
}

static void
one_socket_and_announced_receives(void **state)
{
	struct work w = { 2, 40, CHUNK, false, 8, false, 0 };

	must_pass(STRICT "|NCCL_NSOCKS_PERTHREAD=1", move, &w);
	must_pass(STRICT "|NCCL_NSOCKS_PERTHREAD=2|NCCL_SOCKET_NTHREADS=4|"
		  "NCCL_GPUDIRECTTCPX_RECV_SYNC=1|NCCL_GPUDIRECTTCPX_SCHED_ALG=KATY", move, &w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sizes),
		cmocka_unit_test(software_gpu),
		cmocka_unit_test(a_chunk_for_each_socket),
		cmocka_unit_test(few_pages),
		cmocka_unit_test(one_socket_and_announced_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
