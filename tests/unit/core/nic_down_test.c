/* SPDX-License-Identifier: Apache-2.0 */
/* A NIC that has no link or no address any more, as its host's kernel reports, on a scripted network. */
#include "nic_lab.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/engine/links.h"

/* A write takes 150 ms. */
static const struct tcpx_fabric_script slow = { .nic_Bps = 10000000 };

static void
move_within(struct lab *t, struct move *m, uint64_t within_ns)
{
	assert_true(run_until(t, over, m->x, within_ns));
	lab_move_end(m);
}

/* The network loses NICs [first, end) of a side, or of both if it is their cables, and the engine of that
 * side learns of it; or they are back. */
static void
set_nics(struct lab *t, int side, bool cables, int first, int end, bool up)
{
	tcpx_engine *e = side ? t->b : t->a;

	for (int n = first; n < end; n++) {
		assert_ok(tcpx_fabric_set_nic_up(t->fabric, &t->nic[side][n].addr, up));
		if (cables)
			assert_ok(tcpx_fabric_set_nic_up(t->fabric, &t->nic[!side][n].addr, up));
		atomic_store(&e->nics.down[n], !up);
	}
	atomic_store(&e->nics.one_down, !up);
	tcpx_links_changed(e, tcpx_fabric_now(t->fabric));
}

static bool
is_one_short(void *arg)
{
	struct tcpx_peer_info info = lab_info(arg);

	return info.channels_tx == 3 && info.channels_rx == 3;
}

/* Nobody waits for a silence: neither the channels, nor the control stream, which may be on that NIC. */
static void
loses_a_nic(struct lab *t, int side, bool cable, int nic, bool busy)
{
	struct tcpx_counters c;
	struct move m;

	meet(t);
	if (busy)
		lab_move_begin(t, &m);
	assert_false(run_until(t, never, NULL, 50 * TCPX_MS));
	set_nics(t, side, cable, nic, nic + 1, false);
	assert_true(run_until(t, is_one_short, t, 200 * TCPX_MS));
	if (busy)
		move_within(t, &m, 400 * TCPX_MS);
	assert_false(run_until(t, never, NULL, 3 * TCPX_SEC)); /* and stays so: nobody tries in vain */
	c = counters_of(t->a);
	assert_int_equal(c.channels_suspected, 0);
	assert_int_equal(c.channels_lost, 2);
	assert_true(c.ctrl_resumes <= 1);
	assert_true(is_one_short(t));
	set_nics(t, side, cable, nic, nic + 1, true);
	assert_true(run_until(t, is_whole, t, 30 * TCPX_MS));
	lab_move_begin(t, &m);
	move_within(t, &m, TCPX_SEC);
}

TEST(a_nic_that_is_down_is_left_at_once)
{
	char path[] = "/tmp/tcpx-nic-XXXXXX", secret[64];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	snprintf(secret, sizeof(secret), "TCPX_SECRET_FILE=%s", path);
	for (int i = 0; i < 2 * 2 * 2 * 2 * NICS; i++) {
		const char *const settings[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
						 "TCPX_DEBUG=WARN", i / 4 & 1 ? secret : NULL, NULL };
		struct lab t;

		lab_open_on(&t, &tcpx_net_loop, settings, &slow);
		loses_a_nic(&t, i & 1, i / 8 & 1, i / 16, i / 2 & 1);
		lab_close(&t);
	}
	unlink(path);
}

/* Connections may outlive that: where no other NIC carries, they are left as they are. */
TEST(nics_that_are_all_down_keep_their_channels)
{
	for (int side = 0; side < 2; side++) {
		struct tcpx_counters c;
		struct move m;
		struct lab t;

		lab_open_on(&t, &tcpx_net_loop, lab_settings, &slow);
		meet(&t);
		lab_move_begin(&t, &m);
		assert_false(run_until(&t, over, m.x, 50 * TCPX_MS));
		set_nics(&t, side, false, 0, NICS, false);
		assert_false(run_until(&t, over, m.x, TCPX_SEC));
		set_nics(&t, side, false, 0, NICS, true);
		move_within(&t, &m, TCPX_SEC);
		c = counters_of(t.a);
		assert_int_equal(c.channels_lost, 0);
		assert_int_equal(c.chunks_resent, 0);
		assert_int_equal(c.ctrl_resumes, 0);
		lab_close(&t);
	}
}
