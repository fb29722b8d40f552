/* SPDX-License-Identifier: Apache-2.0 */
/* An impossible acknowledgement is refused, and changes nothing. A possible one ends what it names, and
 * the loss of the channel ends all. */
#include "bare.h"

#include "core/channel/acks.h"

enum { LEN = 1000, POSTED = 4 };

static uint32_t retired, given_back;

static void
on_acked(struct channel *c, struct tx_record *r, uint64_t now_ns)
{
	retired++;
}

static void
on_given_back(struct channel *c, struct tx_record *r)
{
	given_back++;
}

static const struct channel_calls calls = { .acked = on_acked, .given_back = on_given_back };

struct scene {
	struct bare b;
	struct channel *c;
};

/* Message 1 is applied, 2 is received, 3 is sent, 4 is picked. */
static void
begin(struct scene *w)
{
	const struct tcpx_ack first = { .received = 2, .applied = 1 };
	struct channel *c;
	uint64_t seq;

	bare_open(&w->b, true);
	w->b.e.up.channel = &calls;
	w->c = c = bare_channel(&w->b, 0);
	for (int i = 1; i <= POSTED; i++) {
		assert_int_equal(tcpx_window_claim(&c->window, TCPX_EV_PICK, &seq), 0);
		tcpx_tx_record(c, seq)->len = LEN;
		if (i == POSTED)
			break;
		assert_int_equal(tcpx_window_step(&c->window, seq, TCPX_EV_SEND), 0);
		assert_int_equal(tcpx_window_step(&c->window, seq, TCPX_EV_SENT), 0);
		c->tx.send_seq = seq + 1;
	}
	c->tx.outstanding = POSTED;
	c->tx.outstanding_bytes = w->b.s->sched.outstanding_bytes = POSTED * LEN;
	assert_int_equal(tcpx_acks_take(c, &first, w->b.now_ns), 0);
	retired = 0;
}

static void
assert_state(const struct scene *w, const char *what, const enum tcpx_slot_state want[POSTED])
{
	for (uint64_t seq = 1; seq <= POSTED; seq++)
		if (tcpx_window_state(&w->c->window, seq) != want[seq - 1])
			fail_msg("%s: message %u is %s", what, (unsigned)seq,
				 tcpx_slot_state_name(tcpx_window_state(&w->c->window, seq)));
}

TEST(a_refused_acknowledgement_changes_nothing)
{
	static const enum tcpx_slot_state before[POSTED] = { TCPX_SLOT_FREE, TCPX_SLOT_RECEIVED,
							     TCPX_SLOT_SENT, TCPX_SLOT_PICKED };
	static const struct {
		const char *what;
		struct tcpx_ack ack;
	} rows[] = {
		{ "received, and not sent yet", { 4, 1 } },
		{ "received, and never picked", { 5, 1 } },
		{ "received at the end of numbers", { UINT64_MAX, 1 } },
		{ "applied at the end of numbers", { 3, UINT64_MAX } },
		{ "applied above received", { 2, 3 } },
		{ "one applied above received", { 3, 4 } },
		{ "received goes backwards", { 1, 1 } },
		{ "applied goes backwards", { 2, 0 } },
		{ "applied goes backwards, received on", { 3, 0 } },
		{ "nothing at all", { 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene w;

		begin(&w);
		if (tcpx_acks_take(w.c, &rows[i].ack, w.b.now_ns) != TCPX_EFRAME)
			fail_msg("%s: it is not refused", rows[i].what);
		assert_state(&w, rows[i].what, before);
		assert_int_equal(retired, 0);
		assert_int_equal(w.c->tx.acked.received, 2);
		assert_int_equal(w.c->tx.acked.applied, 1);
		assert_int_equal(w.c->tx.outstanding, POSTED - 1);
		bare_close(&w.b);
	}
}

TEST(a_possible_acknowledgement_frees_what_it_names)
{
	static const struct {
		struct tcpx_ack ack;
		enum tcpx_slot_state after[POSTED];
	} rows[] = {
		{ { 2, 1 }, { TCPX_SLOT_FREE, TCPX_SLOT_RECEIVED, TCPX_SLOT_SENT, TCPX_SLOT_PICKED } },
		{ { 2, 2 }, { TCPX_SLOT_FREE, TCPX_SLOT_FREE, TCPX_SLOT_SENT, TCPX_SLOT_PICKED } },
		{ { 3, 1 }, { TCPX_SLOT_FREE, TCPX_SLOT_RECEIVED, TCPX_SLOT_RECEIVED, TCPX_SLOT_PICKED } },
		{ { 3, 3 }, { TCPX_SLOT_FREE, TCPX_SLOT_FREE, TCPX_SLOT_FREE, TCPX_SLOT_PICKED } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t applied = rows[i].ack.applied;
		struct scene w;

		begin(&w);
		assert_int_equal(tcpx_acks_take(w.c, &rows[i].ack, w.b.now_ns), 0);
		assert_state(&w, "a possible one", rows[i].after);
		assert_int_equal(retired, applied - 1);
		assert_int_equal(w.c->tx.outstanding, POSTED - applied);
		assert_int_equal(w.b.s->sched.outstanding_bytes, (POSTED - applied) * LEN);
		bare_close(&w.b);
	}
}

/* Other channels take them, and count them anew. */
TEST(messages_that_a_lost_channel_gives_back_are_outstanding_no_more)
{
	struct payload payload = { .list = NULL };
	struct scene w;

	begin(&w);
	for (uint64_t seq = 2; seq <= POSTED; seq++)
		tcpx_tx_record(w.c, seq)->payload = &payload;
	given_back = 0;
	tcpx_acks_give_back(w.c);
	assert_int_equal(given_back, POSTED - 1);
	assert_int_equal(w.c->tx.outstanding, 0);
	assert_int_equal(w.c->tx.outstanding_bytes, 0);
	assert_int_equal(w.b.s->sched.outstanding_bytes, 0);
	(void)bare_works(w.c->loop);
	bare_close(&w.b);
}
