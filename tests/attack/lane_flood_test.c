/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that a peer opens without end take no memory of ours. */
#include "lane_lies.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/engine/engine.h"
#include "core/session/peer.h"
#include "proto/ctrl.h"
#include "proto/lane.h"

#define BATCH 100 /* lanes that are opened before an answer is read */

/* @count lanes that nobody listens for, the next numbers. */
static void
say_many(struct liar *l, uint32_t *number, uint32_t count)
{
	uint8_t room[TCPX_FRAME_HEAD + 24];
	struct tcpx_lane_opening o = { .key = { 7 } };
	struct tcpx_buf b;

	for (; count; count--) {
		o.lane = word(++*number);
		tcpx_frame_head_write(room, TCPX_FR_LANE_OPEN, ++l->number, 24);
		tcpx_buf_init(&b, room + TCPX_FRAME_HEAD, 24);
		tcpx_lane_opening_write(&b, &o);
		foe_say(&l->f, room, sizeof(room));
	}
}

static void
say_ack(struct liar *l, uint64_t number)
{
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u64(&b, number);
	liar_put_as(l, TCPX_FR_ACK, 0, room, sizeof(room));
}

TEST(a_flood_of_lanes)
{
	uint32_t number = 0;
	uint64_t before;
	tcpx_peer *from;
	struct liar l;

	liar_open(&l, lies_world()->host);
	assert_ok(tcpx_peer_find(lies_world()->host, "liar", &from));
	before = tcpx_quota_used(&from->kept);
	while (number < 5000) {
		say_many(&l, &number, BATCH);
		for (int i = 0; i < BATCH; i++)
			assert_int_equal(answer(&l), -ENOENT);
		say_ack(&l, number); /* HANDLES and READY were before these answers */
	}
	assert_goes_on(&l, "5000 lanes that nobody listens for");
	assert_in_range(tcpx_quota_used(&from->kept), 0, before + 3 * BATCH * sizeof(struct tcpx_lane_failure));
	tcpx_peer_free(from);
	liar_close(&l);
	assert_witness_is_well();
}

/* The host keeps what it has answered, up to its limit. Then there is no room for a last word, either. */
TEST(a_flood_without_acknowledgements)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	uint8_t payload[TCPX_FRAME_MAX];
	uint32_t number = 0;
	uint64_t kept = 0;
	tcpx_peer *from;
	struct liar l;
	size_t len;

	liar_open(&l, lies_world()->host);
	assert_ok(tcpx_peer_find(lies_world()->host, "liar", &from));
	for (;; kept += TCPX_FRAME_HEAD + len) {
		if (kept == 0 || kept / (TCPX_FRAME_HEAD + len) % BATCH == 0)
			say_many(&l, &number, BATCH);
		if (!foe_get(&l.f, TCPX_FR_LANE_FAIL, payload, &len))
			break;
	}
	assert_in_range(kept, 1, TCPX_CTRL_MAX);
	assert_ok(tcpx_peer_query(from, &info));
	assert_verdict("answers that are not acknowledged", info.status, TCPX_ELIMIT);
	tcpx_peer_free(from);
	liar_close(&l);
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
