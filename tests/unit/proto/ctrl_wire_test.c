/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two control streams over a wire that delivers pieces, loses bytes on their way, breaks
 * and is resumed: every numbered frame comes once, in order.
 */
#include "ctrl_pipe.h"

struct end {
	struct tcpx_ctrl *ctrl;
	uint64_t put, put_bulk; /* frames put so far, each kind with its own count */
	uint64_t got, got_bulk; /* frames taken, likewise                          */
};

/* A frame holds its count, and bytes derived from it. */
static void
frame_fill(uint8_t *payload, uint64_t count, size_t len)
{
	memcpy(payload, &count, sizeof(count));
	memset(payload + sizeof(count), (int)(count & 0xff), len - sizeof(count));
}

static bool
frame_is(const uint8_t *payload, uint64_t count, size_t len)
{
	static uint8_t want[TCPX_LANE_DATA_MAX];

	frame_fill(want, count, len);
	return len >= sizeof(count) && !memcmp(payload, want, len);
}

/* A message, which is written into the log itself. */
static void
end_put_message(struct end *e, struct tcpx_rng *rng)
{
	size_t len = tcpx_rng_between(rng, 8, TCPX_LANE_DATA_MAX);
	uint8_t *at;

	assert_int_equal(tcpx_ctrl_begin(e->ctrl, TCPX_FR_LANE_DATA, len, &at), 0);
	frame_fill(at, e->put++, len);
	tcpx_ctrl_commit(e->ctrl, TCPX_FR_LANE_DATA, len);
}

static void
end_put(struct end *e, struct tcpx_rng *rng)
{
	uint8_t payload[TCPX_FRAME_MAX];
	bool bulk = tcpx_rng_below(rng, 2), large = tcpx_rng_below(rng, 20) == 0;
	size_t len = tcpx_rng_between(rng, 8, bulk ? PAYLOAD_MAX : large ? 2000 : 60);
	uint64_t ticket;

	switch (tcpx_rng_below(rng, 8)) {
	case 0:
		assert_int_equal(tcpx_ctrl_put_raw(e->ctrl, TCPX_FR_PING, NULL, 0), 0);
		break;
	case 1:
		assert_int_equal(tcpx_ctrl_put_ack(e->ctrl), 0);
		break;
	case 2:
		if (large) {
			end_put_message(e, rng);
			break;
		}
		/* fall through */
	default:
		frame_fill(payload, bulk ? e->put_bulk : e->put, len);
		if (!bulk) {
			assert_int_equal(tcpx_ctrl_put(e->ctrl, TCPX_FR_DONE, payload, len), 0);
			e->put++;
			break;
		}
		assert_int_equal(
			tcpx_ctrl_put_bulk(e->ctrl, TCPX_FR_LIST, payload, len, &ticket), 0);
		assert_int_equal(ticket, ++e->put_bulk);
	}
}

static bool
end_take(struct end *e)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	int rc;

	while ((rc = tcpx_ctrl_next(e->ctrl, &h, &payload)) == 1) {
		size_t len = h.len - TCPX_FRAME_HEAD;

		if (h.type == TCPX_FR_LIST && !frame_is(payload, e->got_bulk++, len))
			return false;
		if ((h.type == TCPX_FR_DONE || h.type == TCPX_FR_LANE_DATA) && !frame_is(payload, e->got++, len))
			return false;
		if (tcpx_ctrl_ack_due(e->ctrl))
			assert_int_equal(tcpx_ctrl_put_ack(e->ctrl), 0);
	}
	return rc == 0;
}

/* A writer that was lent bytes sends them although more frames are put meanwhile, and
 * although what it sends is answered before it says so. */
static bool
move_slowly(struct end *from, struct end *to, struct tcpx_rng *rng)
{
	const uint8_t *data;
	size_t len = tcpx_ctrl_pending(from->ctrl, &data);
	uint8_t *room, copy[4096];

	if (!len)
		return true;
	len = len < sizeof(copy) ? len : sizeof(copy);
	memcpy(copy, data, len);
	for (int i = 0; i < 5; i++)
		end_put(from, rng);
	if (memcmp(copy, data, len))
		return false;
	len = tcpx_ctrl_room(to->ctrl, &room) < len ? 0 : len;
	memcpy(room, copy, len);
	tcpx_ctrl_arrived(to->ctrl, len);
	if (!end_take(to) || tcpx_ctrl_put_ack(to->ctrl))
		return false;
	move(to->ctrl, from->ctrl, SIZE_MAX);
	if (!end_take(from))
		return false;
	tcpx_ctrl_written(from->ctrl, len);
	return true;
}

/* What is written now never arrives. */
static void
lose_some(struct end *e, struct tcpx_rng *rng)
{
	const uint8_t *data;
	size_t len = tcpx_ctrl_pending(e->ctrl, &data);

	tcpx_ctrl_written(e->ctrl, tcpx_rng_below(rng, len + 1));
}

static void
cut_and_resume(struct end *a, struct end *b, struct tcpx_rng *rng)
{
	lose_some(a, rng);
	lose_some(b, rng);
	tcpx_ctrl_cut(a->ctrl);
	for (uint64_t i = tcpx_rng_below(rng, 3); i > 0; i--)
		end_put(a, rng);
	tcpx_ctrl_cut(b->ctrl);
	if (tcpx_rng_below(rng, 4) == 0)
		return; /* it breaks again before it is resumed */
	assert_int_equal(tcpx_ctrl_resume(a->ctrl, tcpx_ctrl_received(b->ctrl)), 0);
	assert_int_equal(tcpx_ctrl_resume(b->ctrl, tcpx_ctrl_received(a->ctrl)), 0);
}

TEST(every_frame_arrives_once_in_order)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 12; round++) {
		struct end end[2] = { { .ctrl = ctrl_new() }, { .ctrl = ctrl_new() } };

		for (int i = 0; i < 2; i++)
			assert_int_equal(tcpx_ctrl_widen(end[i].ctrl), 0);
		for (int i = 0; i < 1500; i++) {
			struct end *from = &end[tcpx_rng_below(&rng, 2)];
			struct end *to = from == end ? end + 1 : end;
			uint64_t dice = tcpx_rng_below(&rng, 100);

			if (dice < 30)
				end_put(from, &rng);
			else if (dice < 92)
				move(from->ctrl, to->ctrl, tcpx_rng_below(&rng, 20000));
			else if (dice < 97)
				check_random(seed, move_slowly(from, to, &rng));
			else if (round % 3)
				cut_and_resume(from, to, &rng);
			check_random(seed, end_take(to));
			check_random(seed, tcpx_ctrl_bulk_written(from->ctrl) >= to->got_bulk);
		}
		tcpx_ctrl_cut(end[0].ctrl);
		tcpx_ctrl_cut(end[1].ctrl);
		assert_int_equal(
			tcpx_ctrl_resume(end[0].ctrl, tcpx_ctrl_received(end[1].ctrl)), 0);
		assert_int_equal(
			tcpx_ctrl_resume(end[1].ctrl, tcpx_ctrl_received(end[0].ctrl)), 0);
		while (move(end[0].ctrl, end[1].ctrl, SIZE_MAX) +
		       move(end[1].ctrl, end[0].ctrl, SIZE_MAX)) {
			check_random(seed, end_take(&end[0]));
			check_random(seed, end_take(&end[1]));
		}
		for (int i = 0; i < 2; i++) {
			check_random(seed, end[i].got == end[1 - i].put);
			check_random(seed, end[i].got_bulk == end[1 - i].put_bulk);
			check_random(seed, tcpx_ctrl_bulk_written(end[i].ctrl) == end[i].put_bulk);
			tcpx_ctrl_free(end[i].ctrl);
		}
	}
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL); /* full buffers are refused now and then */
	return run_cases(NULL, NULL);
}
