/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over channels of the plugin provider, and everything that ends a channel. */
#include "plugnet_rig.h"

static int
announce(struct rig *r, uint64_t seq, uint32_t len)
{
	struct tcpx_head h = rig_head(seq, len);

	return r->ops->comm->head(r->rx, &h);
}

TEST_WITH(a_header_may_come_first_or_last, rig_setup, rig_teardown)
{
	static const uint32_t lens[] = { 0, 1, 4095, 4096, 4097, RIG_CHUNK };
	struct rig *r = *state;

	rig_open_channel(r);
	for (size_t i = 0; i < COUNT(lens); i++) {
		uint64_t seq = 2 * i + 1;

		/* payload first: nothing is looked for until the header comes */
		assert_int_equal(rig_send(r, lens[i]), 0);
		rig_turns(r, 0, 3);
		assert_int_equal(rig_turns(r, 1, 3), 0);
		assert_int_equal(rig_take(r), -EAGAIN);
		assert_int_equal(announce(r, seq, lens[i]), 0);
		rig_turns(r, 1, 20);
		assert_int_equal(rig_take(r), 0);
		/* header first */
		assert_int_equal(announce(r, seq + 1, lens[i]), 0);
		assert_int_equal(rig_turns(r, 1, 3), 0);
		assert_int_equal(rig_take(r), -EAGAIN);
		assert_int_equal(rig_send(r, lens[i]), 0);
		rig_turns(r, 0, 3);
		assert_int_equal(rig_turns(r, 1, 20), TCPX_READABLE);
		assert_int_equal(rig_take(r), 0);
		assert_int_equal(rig_turns(r, 1, 3), 0);
		assert_int_equal(r->ops->comm->release(r->rx, seq), 0);
		assert_int_equal(r->ops->comm->release(r->rx, seq + 1), 0);
	}
	assert_int_equal(r->warnings, 0);
}

/* Any mixture of sending, telling, taking and releasing, with any plugin. */
static void
random_messages(struct rig *r, uint64_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	static uint32_t len[4096];
	uint64_t told = 0, released = 0, total = 300;
	int idle = 0;

	plug_fake.rng = tcpx_rng_seed(seed);
	plug_fake.frag_max = (uint32_t)tcpx_rng_between(&rng, 40, 4096);
	plug_fake.shuffle = seed & 1;
	plug_fake.slow = (uint32_t)tcpx_rng_below(&rng, 4);
	plug_fake.slow_acks = (uint32_t)tcpx_rng_below(&rng, 9);
	plug_fake.early = (int)tcpx_rng_below(&rng, 4);
	plug_fake.not_yet = (int)tcpx_rng_below(&rng, 4);
	rig_open_channel(r);
	while (released < total && idle < 10000) {
		uint64_t before = r->seq + told + r->taken + released;

		plug_fake.hold = tcpx_rng_below(&rng, 8) == 0;
		switch (tcpx_rng_below(&rng, 6)) {
		case 0: /* as the core: a window of what is not released */
			if (r->seq == total || r->seq - released >= RIG_WINDOW)
				break;
			len[r->seq + 1] = tcpx_rng_below(&rng, 4) ?
				(uint32_t)tcpx_rng_below(&rng, RIG_CHUNK / 4 + 1) :
				(uint32_t)tcpx_rng_below(&rng, 2);
			(void)rig_send(r, len[r->seq + 1]);
			break;
		case 1: /* headers overtake payload and the other way round */
			if (told < r->seq)
				assert_int_equal(announce(r, told + 1, len[told + 1]), 0);
			told += told < r->seq;
			break;
		case 2:
			(void)rig_take(r);
			break;
		case 3:
			if (released < r->taken)
				assert_int_equal(r->ops->comm->release(r->rx, ++released), 0);
			break;
		case 4:
			rig_turns(r, 0, 1);
			break;
		default:
			rig_turns(r, 1, 1);
		}
		idle = before == r->seq + told + r->taken + released ? idle + 1 : 0;
	}
	assert_int_equal(released, total);
	assert_int_equal(r->warnings, 0);
}

TEST_WITH(random_messages_with_unpack, rig_setup, rig_teardown)
{
	for (uint64_t seed = 1; seed < 8; seed++) {
		random_messages(*state, seed);
		assert_int_equal(rig_teardown(state), 0);
		assert_int_equal(rig_setup(state), 0);
	}
}

TEST_WITH(random_messages_without_unpack, rig_setup, rig_teardown)
{
	for (uint64_t seed = 1; seed < 8; seed++) {
		plug_fake.unpack = false;
		random_messages(*state, seed);
		assert_int_equal(rig_teardown(state), 0);
		assert_int_equal(rig_setup(state), 0);
	}
}

TEST_WITH(a_full_window_waits_for_the_plugin, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_open_channel(r);
	plug_fake.hold = true;
	for (uint32_t i = 0; i < RIG_WINDOW; i++)
		assert_int_equal(rig_send(r, 1000), 0);
	assert_int_equal(rig_send(r, 1000), -EAGAIN);
	assert_int_equal(r->ops->chan_watch(r->tx, r->poller[0], r, TCPX_WRITABLE), 0);
	assert_int_equal(rig_turns(r, 0, 5), 0);
	plug_fake.hold = false;
	assert_int_equal(rig_turns(r, 0, 20), TCPX_WRITABLE);
	assert_int_equal(rig_send(r, 1000), 0);
	for (uint64_t seq = 1; seq <= RIG_WINDOW; seq++)
		assert_int_equal(announce(r, seq, 1000), 0);
	rig_turns(r, 1, 20);
	for (uint64_t seq = 1; seq <= RIG_WINDOW; seq++)
		assert_int_equal(rig_take(r), 0);
	assert_int_equal(r->ops->comm->release(r->rx, 1), 0);
	assert_int_equal(announce(r, RIG_WINDOW + 1, 1000), 0);
	rig_turns(r, 1, 20);
	assert_int_equal(rig_take(r), 0);
}

/* The peer says by its control stream that it has a message; the plugin here hears of it
 * later, and may look at the slot until then. */
TEST_WITH(a_slot_is_not_used_again_before_its_message_has_left, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	plug_fake.slow_acks = 7;
	rig_open_channel(r);
	for (uint64_t seq = 1; seq <= 40; seq++) {
		while (rig_send(r, 3000) == -EAGAIN)
			rig_turns(r, 0, 1);
		assert_int_equal(announce(r, seq, 3000), 0);
		for (int i = 0; i < 50 && rig_take(r) != 0; i++)
			rig_turns(r, 1, 1);
		assert_int_equal(r->taken, seq);
		assert_int_equal(r->ops->comm->release(r->rx, seq), 0);
	}
	assert_null(r->ops->comm->slot(r->tx, 40 + 2 * RIG_WINDOW + 1));
	assert_int_equal(r->warnings, 1);
}

static void
check_dead(struct rig *r, struct tcpx_chan *c, int code)
{
	struct tcpx_landed msg;
	struct tcpx_head h = rig_head(1, 1);
	uint32_t tests = plug_fake.tests;
	int side = c == r->rx;

	assert_int_equal(rig_turns(r, side, 2), TCPX_BROKEN);
	if (side) {
		assert_int_equal(r->ops->comm->recv(c, &msg), code);
		assert_int_equal(r->ops->comm->head(c, &h), code);
		assert_int_equal(r->ops->comm->release(c, 1), code);
	} else {
		assert_int_equal(r->ops->comm->send(c, &h), code);
		assert_int_equal(r->ops->comm->ended(c), code);
	}
	assert_int_equal(r->ops->chan_watch(c, r->poller[side], r, 0), 0);
	assert_int_equal(rig_turns(r, side, 2), 0);
	assert_int_equal(plug_fake.tests, tests); /* and the plugin is left alone */
	assert_int_equal(r->warnings, 1);
}

TEST_WITH(another_length_than_the_header_says_kills_the_channel, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_open_channel(r);
	assert_int_equal(rig_send(r, 5000), 0);
	rig_turns(r, 0, 3);
	assert_int_equal(announce(r, 1, 4999), 0);
	rig_turns(r, 1, 20);
	check_dead(r, r->rx, TCPX_EFRAME);
}

TEST_WITH(another_length_without_unpack_kills_the_channel, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	plug_fake.unpack = false;
	plug_fake.lie = -1;
	rig_open_channel(r);
	assert_int_equal(rig_send(r, 5000), 0);
	rig_turns(r, 0, 3);
	assert_int_equal(announce(r, 1, 5000), 0);
	rig_turns(r, 1, 20);
	check_dead(r, r->rx, TCPX_EFRAME);
}

TEST_WITH(a_hole_between_fragments_kills_the_channel, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	plug_fake.hole = true;
	rig_open_channel(r);
	assert_int_equal(rig_send(r, 50000), 0);
	rig_turns(r, 0, 3);
	assert_int_equal(announce(r, 1, 50000), 0);
	rig_turns(r, 1, 20);
	check_dead(r, r->rx, TCPX_EFRAME);
}

TEST_WITH(a_header_out_of_turn_kills_the_channel, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_head bad[] = { rig_head(2, 10), rig_head(0, 10), rig_head(1, RIG_CHUNK + 1),
				   rig_head(1, 10), rig_head(1, 10) };

	bad[3].channel = 6;
	bad[4].generation = 2;
	for (size_t i = 0; i < COUNT(bad); i++) {
		rig_open_channel(r);
		assert_int_equal(r->ops->comm->head(r->rx, &bad[i]), TCPX_EFRAME);
		check_dead(r, r->rx, TCPX_EFRAME);
		assert_int_equal(rig_teardown(state), 0);
		assert_int_equal(rig_setup(state), 0);
		r = *state;
	}
	rig_open_channel(r);
	for (uint64_t seq = 1; seq <= RIG_WINDOW; seq++)
		assert_int_equal(announce(r, seq, 1), 0);
	assert_int_equal(announce(r, RIG_WINDOW + 1, 1), TCPX_EFRAME);
	check_dead(r, r->rx, TCPX_EFRAME);
}

/* A plugin reports a broken data connection by silence. */
TEST_WITH(an_announced_message_has_to_come, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->params.deadline_ns = 500 * TCPX_MS;
	rig_open_channel(r);
	r->now_ns += 60 * TCPX_SEC; /* nothing is announced: no hurry */
	assert_int_equal(rig_turns(r, 1, 3), 0);
	assert_int_equal(announce(r, 1, 9), 0);
	r->now_ns += 500 * TCPX_MS;
	assert_int_equal(rig_turns(r, 1, 3), 0);
	assert_int_equal(announce(r, 2, 9), 0); /* which is no sign of the first */
	r->now_ns++;
	assert_int_equal(rig_turns(r, 1, 3), TCPX_BROKEN);
	assert_non_null(strstr(r->warning, "eth1"));
	assert_non_null(strstr(r->warning, "message 1 was announced"));
	assert_non_null(strstr(r->warning, "500 ms"));
	check_dead(r, r->rx, TCPX_ECHANNEL);
}

TEST_WITH(the_deadline_begins_anew_with_each_message, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->params.deadline_ns = 500 * TCPX_MS;
	rig_open_channel(r);
	for (uint64_t seq = 1; seq <= RIG_WINDOW; seq++)
		assert_int_equal(announce(r, seq, 9), 0);
	for (uint64_t seq = 1; seq <= RIG_WINDOW; seq++) {
		r->now_ns += 400 * TCPX_MS;
		assert_int_equal(rig_turns(r, 1, 3), 0);
		assert_int_equal(rig_send(r, 9), 0);
		rig_turns(r, 0, 3);
		assert_int_equal(rig_turns(r, 1, 20), TCPX_READABLE);
		assert_int_equal(rig_take(r), 0);
	}
	assert_int_equal(r->warnings, 0);
}

TEST_WITH(a_message_has_to_leave, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->params.deadline_ns = 500 * TCPX_MS;
	plug_fake.hold = true;
	rig_open_channel(r);
	r->now_ns += 60 * TCPX_SEC;
	assert_int_equal(rig_send(r, 9), 0);
	r->now_ns += 500 * TCPX_MS;
	assert_int_equal(rig_turns(r, 0, 3), 0);
	r->now_ns++;
	assert_int_equal(rig_turns(r, 0, 3), TCPX_BROKEN);
	assert_non_null(strstr(r->warning, "message 1 has not left"));
	check_dead(r, r->tx, TCPX_ECHANNEL);
}

/* As the plugin's own messages: they were logged where they were found. */
TEST_WITH(what_the_plugin_reports_kills_the_channel, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int *code[] = { &plug_fake.test_code, &plug_fake.consume_code, &plug_fake.recv_code,
			&plug_fake.send_code };

	for (size_t i = 0; i < COUNT(code); i++) {
		rig_open_channel(r);
		assert_int_equal(rig_send(r, 9), 0);
		rig_turns(r, 0, 3);
		assert_int_equal(announce(r, 1, 9), 0);
		if (i > 0)
			assert_int_equal(rig_take(r), 0);
		*code[i] = TCPX_ECHANNEL;
		if (code[i] == &plug_fake.send_code)
			assert_int_equal(rig_send(r, 9), TCPX_ECHANNEL);
		else if (i == 0)
			assert_int_equal(rig_turns(r, 1, 2), TCPX_BROKEN);
		else
			assert_int_equal(r->ops->comm->release(r->rx, 1), TCPX_ECHANNEL);
		r->warnings++; /* the fake logs nothing */
		check_dead(r, i < 3 ? r->rx : r->tx, TCPX_ECHANNEL);
		assert_int_equal(rig_teardown(state), 0);
		assert_int_equal(rig_setup(state), 0);
		r = *state;
	}
}

TEST_WITH(the_peers_end_is_noticed_by_who_waits, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_open_channel(r);
	r->ops->chan_close(r->tx);
	r->tx = NULL;
	assert_int_equal(rig_turns(r, 1, 3), 0);
	assert_int_equal(announce(r, 1, 9), 0);
	assert_int_equal(rig_turns(r, 1, 3), TCPX_BROKEN);
}

/* At any moment: nothing of the plugin or of memory stays (the rig's teardown looks). */
TEST_WITH(a_channel_may_be_closed_at_any_moment, rig_setup, rig_teardown)
{
	struct rig *r;

	for (int moment = 0; moment < 8; moment++) {
		r = *state;
		plug_fake.hold = moment == 1 || moment == 2;
		rig_open_channel(r);
		if (moment > 0)
			for (uint32_t i = 0; i < RIG_WINDOW; i++)
				assert_int_equal(rig_send(r, 20000), 0);
		if (moment > 1)
			for (uint64_t seq = 1; seq <= RIG_WINDOW; seq++)
				assert_int_equal(announce(r, seq, 20000), 0);
		if (moment > 2)
			rig_turns(r, 0, 20);
		if (moment > 3)
			rig_turns(r, 1, 20);
		if (moment > 4)
			assert_int_equal(rig_take(r), 0);
		if (moment > 5)
			assert_int_equal(rig_take(r), 0);
		if (moment > 6)
			assert_int_equal(r->ops->comm->release(r->rx, 1), 0);
		r->ops->chan_close(moment & 1 ? r->tx : r->rx);
		*(moment & 1 ? &r->tx : &r->rx) = NULL;
		rig_turns(r, 0, 2);
		rig_turns(r, 1, 2);
		assert_int_equal(rig_teardown(state), 0);
		assert_int_equal(rig_setup(state), 0);
	}
}

TEST_WITH(who_breaks_the_rules_of_the_vtable_is_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_head second = rig_head(2, 0);

	rig_open_channel(r);
	assert_int_equal(r->ops->comm->release(r->rx, 1), TCPX_ESTATE);
	assert_null(r->ops->comm->slot(r->rx, 1));
	assert_int_equal(r->ops->chan_watch(r->rx, r->poller[0], r, 0), TCPX_ESTATE);
	assert_int_equal(r->ops->comm->send(r->tx, &second), TCPX_EFRAME); /* not the next */
}
