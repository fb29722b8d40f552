/* SPDX-License-Identifier: Apache-2.0 */
/* What texts call a transfer, a message of a lane, and what a channel waits for. */
#include "gpu_rig.h"

#include <string.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/session/session.h"
#include "core/transfer/stuck.h"

#define LEN (64u << 10)

/* Both ends of a lane, and a receive of it; NULL without a lane. */
struct ends {
	tcpx_lane *tx, *rx;
	tcpx_xfer *recv;
};

/* One chunk of a lane, or of a transfer, from side 0 to side 1, which is held back, or changed. */
static tcpx_xfer *
begin(struct gpu_rig *r, bool lane, uint64_t hold_ns, struct ends *end)
{
	static const char *const set[] = { "TCPX_CHECKSUM=1", NULL };
	struct area *near, *far;
	uint8_t key[TCPX_LANE_KEY];
	tcpx_xfer *x;

	gpu_begin(r, &tcpx_net_loop, 2, NULL, set);
	near = gpu_area(r, 0, HOST, LEN, 1);
	far = gpu_area(r, 1, HOST, LEN, 2);
	*end = (struct ends){ NULL };
	if (lane) {
		assert_ok(tcpx_lane_listen(r->side[1].e, key, &end->rx));
		assert_ok(tcpx_lane_open(r->side[0].to[1], key, &end->tx));
		gpu_pass(r, 10 * TCPX_MS);
		assert_ok(tcpx_lane_post(end->rx, far->id, 0, LEN, &end->recv));
		gpu_pass(r, TCPX_MS);
	}
	if (hold_ns)
		tcpx_fabric_hold(r->fabric, TCPX_FABRIC_DATA, hold_ns);
	else
		tcpx_fabric_set_flips(r->fabric, TCPX_FABRIC_DATA, 1000000);
	if (!lane)
		return gpu_post(r, TCPX_OP_WRITE, near, far, LEN);
	assert_ok(tcpx_lane_post(end->tx, near->id, 0, LEN, &x));
	return x;
}

static void
end_all(struct gpu_rig *r, tcpx_xfer *x, struct ends *end)
{
	tcpx_fabric_set_flips(r->fabric, TCPX_FABRIC_DATA, 0);
	tcpx_xfer_free(x);
	tcpx_xfer_free(end->recv);
	tcpx_lane_close(end->tx);
	tcpx_lane_close(end->rx);
	gpu_end(r);
}

static void
assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" has no \"%s\"", text, part);
}

TEST(a_changed_chunk)
{
	for (int lane = 0; lane < 2; lane++) {
		struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
		struct gpu_rig r;
		struct ends end;
		tcpx_xfer *x = begin(&r, lane, 0, &end);

		assert_code(gpu_wait(&r, x), TCPX_EDATA);
		assert_ok(tcpx_xfer_query(x, &info));
		assert_has(info.cause, lane ? "chunk at byte 0 of message 1 of lane 1 arrived changed" :
					      "chunk 0 of transfer 1 arrived changed");
		end_all(&r, x, &end);
	}
}

TEST(a_stuck_one)
{
	for (int lane = 0; lane < 2; lane++) {
		struct gpu_rig r;
		struct ends end;
		tcpx_xfer *x = begin(&r, lane, TCPX_SEC, &end);
		struct session *s = x->session;
		char text[256];

		gpu_pass(&r, TCPX_MS);
		tcpx_xfer_describe(s, x, text, sizeof(text));
		assert_has(text, lane ? "message 1 of lane 1: 0 of 1 chunks" : "transfer 1: 0 of 1 chunks");
		end_all(&r, x, &end);
	}
}

TEST(a_channel)
{
	static const char *const waits[] = { [PARK_NOT] = "channels 0 up,",
					     [PARK_OPEN] = "channels 0 waits for OPEN,",
					     [PARK_LANE] = "channels 0 waits for the sender of an ended lane," };
	struct gpu_rig r;
	struct ends end;
	tcpx_xfer *x = begin(&r, false, TCPX_SEC, &end), *read;

	read = gpu_post(&r, TCPX_OP_READ, &r.area[0], &r.area[1], LEN);
	gpu_pass(&r, TCPX_MS);
	for (int i = PARK_NOT; i <= PARK_LANE; i++) {
		char text[256];

		read->session->chan.rx[0]->rx.parked = (uint8_t)i;
		tcpx_xfer_describe(read->session, read, text, sizeof(text));
		assert_has(text, waits[i]);
	}
	read->session->chan.rx[0]->rx.parked = PARK_NOT;
	tcpx_xfer_free(read);
	end_all(&r, x, &end);
}
