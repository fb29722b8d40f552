/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin layer drives the emulator, in strict mode: a call that the real plugin would
 * answer with silent corruption ends the process. Memory is the host's.
 */
#include "plug_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy reads its environment anew. */
static void
open_emu(struct rig *r, const char *mode, const char *fault)
{
	const char *library = getenv("EMU_LIBRARY");

	assert_non_null(library);
	setenv("TCPX_EMU_MODE", mode, 1);
	setenv("TCPX_EMU_FAULT", fault, 1);
	rig_copy(r, library, "libnccl-net-tcpx-emu.so");
	r->gpu = true;
	assert_int_equal(plug_open(r->path, &r->plug), 0);
}

/* A comm that came early takes nothing until it stands. */
static void
await_both(struct rig *r)
{
	struct plug_request *tx, *rx;
	uint32_t len;
	int rc;

	do
		rc = plug_send(r->tx, r->tx_mem, 1, 0, r->tx_mr, &tx);
	while (rc == -EAGAIN);
	assert_int_equal(rc, 0);
	do
		rc = plug_recv(r->rx, r->rx_mem, 64, 0, r->rx_mr, &rx);
	while (rc == -EAGAIN);
	assert_int_equal(rc, 0);
	do {
		rc = plug_test(r->rx, rx, &len);
		if (tx && plug_test(r->tx, tx, &len) == 0)
			tx = NULL;
	} while (rc == -EAGAIN);
	assert_int_equal(rc, 0);
	if (tx)
		assert_int_equal(rig_test(r->tx, tx, &len), 0);
	assert_int_equal(plug_consumed(r->rx, rx), 0);
}

TEST(messages_pass_whatever_the_weather)
{
	static const char *const faults[] = {
		"", "setup-nulls:n=20", "early-comm:ms=5", "frag-size:n=300", "frag-odd-even",
		"frag-align", "socket-reverse", "interleave", "test-late:n=7",
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct rig r;

		open_emu(&r, "strict", faults[i]);
		assert_string_equal(plug_name(r.plug), "GPUDirectTCPX_v7");
		assert_int_equal(plug_abi(r.plug), 7);
		rig_connect(&r);
		assert_true(plug_comm_unpacks(r.rx));
		rig_register(&r);
		await_both(&r);
		for (unsigned k = 0; k < 20; k++)
			rig_message(&r, k % 6 == 5 ? 0 : k * 26000 + k, k);
		rig_close(&r);
	}
}

TEST(what_fails_is_told)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	struct plug_listen *l = NULL;
	struct plug_comm *rx = NULL;
	struct rig r;
	int rc;

	open_emu(&r, "faithful", "accept-error:n=2");
	assert_int_equal(plug_listen(r.plug, 0, handle, &l), 0);
	do
		rc = plug_accept(l, &rx);
	while (rc == -EAGAIN);
	assert_int_equal(rc, TCPX_ECHANNEL);
	plug_listen_close(l);
	rig_close(&r);
}

int
main(void)
{
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	setenv("NCCL_NSOCKS_PERTHREAD", "4", 1);
	setenv("NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT", "0", 1);
	setenv("TCPX_EMU_MEMORY", "host", 1);
	rig_log_start();
	return run_cases(NULL, NULL);
}
