/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes, keys and peers are found in a few steps, however many there are; what is done for those that wait
 * visits no others. */
#include "bare.h"

#include <errno.h>
#include <stdio.h>

#include "base/tags.h"
#include "core/session/peer.h"
#include "core/session/peer_index.h"
#include "core/transfer/lane.h"
#include "core/transfer/lane_state.h"

enum { MANY = 10000, STEPS = 12 };

/* Items that a search passes before the one of that tag. */
static uint32_t
steps_to(const struct tcpx_tags *t, uint64_t tag)
{
	const struct tcpx_tagged *found = tcpx_tags_find(t, tag);

	for (uint32_t i = 0; i < t->size; i++) {
		uint32_t steps = 0;

		tcpx_chain_each(n, after, &t->bucket[i]) {
			if (n == &found->first)
				return steps;
			steps++;
		}
	}
	return UINT32_MAX;
}

static void
lanes_open(struct bare *b, struct tcpx_lane **lane, uint32_t count, bool sends)
{
	for (uint32_t i = 0; i < count; i++) {
		struct tcpx_lane *l = lane[i] = calloc(1, sizeof(*l));

		assert_non_null(l);
		tcpx_lane_init(l, &b->e, sends);
		l->status = 0;
		l->refs = 2;
		tcpx_session_get(b->s);
		l->session = b->s;
		tcpx_chain_add(&b->s->lanes.all, &l->in_session);
		tcpx_lane_named(l, tcpx_lane_word(!sends, i + 1));
	}
}

static void
lanes_close(struct tcpx_lane **lane, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		tcpx_lane_leave(lane[i]);
		tcpx_lane_put(lane[i]);
	}
}

TEST(each_of_many_lanes_is_found_in_a_few_steps)
{
	static struct tcpx_lane *lane[MANY];
	struct bare b;

	bare_open(&b, true);
	lanes_open(&b, lane, MANY, false);
	for (uint32_t i = 0; i < MANY; i += 97) {
		uint64_t word = tcpx_lane_word(true, i + 1);

		assert_ptr_equal(tcpx_lane_find(b.s, word | (i + 1)), lane[i]);
		assert_in_range(steps_to(&b.s->lanes.by_word, word), 0, STEPS);
	}
	assert_null(tcpx_lane_find(b.s, tcpx_lane_word(true, MANY + 1)));
	lanes_close(lane, MANY);
	assert_int_equal(b.s->lanes.by_word.count, 0);
	bare_close(&b);
}

/* Each lane has one of the same number. */
TEST(messages_of_many_lanes_are_no_walk_for_others)
{
	static struct tcpx_lane *lane[MANY];
	static struct tcpx_xfer *x[MANY];
	struct tcpx_xfer *other;
	struct bare b;

	bare_open(&b, true);
	lanes_open(&b, lane, MANY, false);
	for (uint32_t i = 0; i < MANY; i++) {
		x[i] = bare_xfer(&b, lane[i]->word | 5, 64, TCPX_LANE_UNIT);
		x[i]->lane = lane[i];
		*tcpx_lane_slot(lane[i], 5) = x[i];
		tcpx_xfer_enter(b.s, x[i]);
	}
	other = bare_xfer(&b, 5 | ID_OF_ACCEPTOR, 64, 4096);
	tcpx_xfer_enter(b.s, other);
	for (int i = 0; i < SESS_BUCKETS; i++)
		assert_true(i == 5 || tcpx_chain_empty(&b.s->xfers.bucket[i]));
	assert_ptr_equal(b.s->xfers.bucket[5].next, &other->table);
	assert_ptr_equal(tcpx_xfer_find(b.s, other->id), other);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_ptr_equal(tcpx_xfer_find(b.s, lane[i]->word | 5), x[i]);
		assert_null(tcpx_xfer_find(b.s, lane[i]->word | 69));
		tcpx_chain_remove(&x[i]->table);
		assert_null(tcpx_xfer_find(b.s, x[i]->id));
		*tcpx_lane_slot(lane[i], 5) = NULL;
		x[i]->lane = NULL;
		tcpx_xfer_put(x[i]);
	}
	tcpx_chain_remove(&other->table);
	tcpx_xfer_put(other);
	lanes_close(lane, MANY);
	bare_close(&b);
}

/* An empty message, whose receive is not known. */
static void
post(struct bare *b, struct tcpx_lane *l)
{
	struct tcpx_xfer *x;
	uint64_t seq;

	assert_int_equal(tcpx_lane_send(&l->tx, &seq), 0);
	x = bare_xfer(b, l->word | seq, 0, TCPX_LANE_UNIT);
	atomic_fetch_add(&l->refs, 1);
	x->lane = l;
	if (!x->session) {
		tcpx_session_get(b->s);
		x->session = b->s;
	}
	*tcpx_lane_slot(l, seq) = x;
	b->s->lanes.live++;
	tcpx_lane_launch(l);
}

static uint32_t
waiting(const struct bare *b)
{
	uint32_t n = 0;

	tcpx_chain_each(at, after, &b->s->lanes.waits)
		n++;
	return n;
}

/* Credit for two messages at a time: it is found by who waits, in turn, and not by a walk over all lanes. */
TEST(a_grant_tries_a_few_that_wait_and_goes_on_with_the_next)
{
	enum { LANES = 1000, WAIT = 200, FEW = 64 };
	static struct tcpx_lane *lane[LANES];
	uint64_t credit = 0;
	struct bare b;

	bare_open(&b, true);
	b.e.limit.inline_bytes = 8192;
	lanes_open(&b, lane, LANES, true);
	for (uint32_t i = 0; i < WAIT; i++)
		post(&b, lane[5 * i]);
	assert_int_equal(waiting(&b), WAIT);
	for (uint32_t next = 0, left = WAIT; left > FEW; next += 2 + FEW) {
		credit += 2 * tcpx_eager_cost(0);
		assert_int_equal(tcpx_eager_granted(&b.s->lanes.credit, credit), 0);
		assert_ptr_equal(b.s->lanes.waits.next, &lane[5 * next]->waits);
		tcpx_lanes_launch(b.s);
		assert_int_equal(waiting(&b), left -= 2);
		assert_int_equal(lane[5 * next]->tx.launched, 1);
		assert_int_equal(lane[5 * next + 5]->tx.launched, 1);
		assert_ptr_equal(b.s->lanes.waits.prev, &lane[5 * (next + 1 + FEW)]->waits);
		if (next + 2 * (2 + FEW) > WAIT)
			break;
	}
	credit += WAIT * tcpx_eager_cost(0);
	assert_int_equal(tcpx_eager_granted(&b.s->lanes.credit, credit), 0);
	tcpx_lanes_launch(b.s);
	assert_int_equal(waiting(&b), 0);
	for (uint32_t i = 0; i < LANES; i++)
		assert_int_equal(lane[i]->tx.ring.done, i % 5 == 0);
	assert_int_equal(b.s->lanes.live, 0);
	lanes_close(lane, LANES);
	bare_close(&b);
}

TEST(each_of_many_peers_is_found_in_a_few_steps)
{
	static struct tcpx_peer *p[MANY];
	struct tcpx_addr at[2] = { { .family = 4, .ip = { 10 }, .port = 1 }, { .family = 4, .ip = { 11 } } };
	struct registry *r;
	char name[TCPX_NAME_MAX] = "";
	struct bare b;

	bare_open(&b, true);
	r = &b.e.registry;
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "peer-%u", i);
		assert_int_equal(tcpx_peer_new(&b.e, name, 0, &p[i]), 0);
		memcpy(&at[1].ip[8], &i, sizeof(i));
		at[1].port = (uint16_t)i;
		assert_int_equal(tcpx_peer_index_place(p[i], &at[1], 1), 0);
		tcpx_peer_recognise(p[i], i + 1000, name);
	}
	for (uint32_t i = 0; i < MANY; i += 97) {
		struct tcpx_peer *found;

		memcpy(&at[1].ip[8], &i, sizeof(i));
		at[1].port = (uint16_t)i;
		found = tcpx_peer_index_dialled(&b.e, at, 2, NULL, 0);
		assert_ptr_equal(found, p[i]);
		tcpx_peer_put(found);
		assert_null(tcpx_peer_index_dialled(&b.e, at, 2, NULL, p[i]->number));
		assert_null(tcpx_peer_index_dialled(&b.e, at, 2, "another", 0));
		found = tcpx_peer_numbered(&b.e, p[i]->number);
		assert_ptr_equal(found, p[i]);
		tcpx_peer_put(found);
		assert_int_equal(tcpx_peer_find(&b.e, p[i]->name, &found), 0);
		assert_ptr_equal(found, p[i]);
		tcpx_peer_put(found);
		assert_in_range(steps_to(&r->by_number, p[i]->by_number.tag), 0, STEPS);
		assert_in_range(steps_to(&r->by_name, p[i]->by_name.tag), 0, STEPS);
		assert_in_range(steps_to(&r->by_addr, p[i]->place->by_addr.tag), 0, STEPS);
	}
	for (uint32_t i = 0; i < PEER_BUCKETS; i++) {
		uint32_t steps = 0;

		tcpx_chain_each(n, after, &r->incarnations[i])
			steps++;
		assert_in_range(steps, 0, 2 * STEPS);
	}
	for (uint32_t i = 0; i < MANY; i++)
		tcpx_peer_put(p[i]);
	assert_int_equal(r->by_addr.count, 0);
	bare_close(&b);
}

/* New addresses take the place of those before. */
TEST(a_peer_is_found_by_its_newest_addresses)
{
	struct tcpx_addr at[3] = { { .family = 4, .ip = { 10 }, .port = 1 }, { .family = 4, .ip = { 11 }, .port = 1 },
				   { .family = 4, .ip = { 10 }, .port = 2 } };
	struct tcpx_peer *p[2], *found;
	struct bare b;

	bare_open(&b, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tcpx_peer_new(&b.e, i ? "b" : "a", 0, &p[i]), 0);
		assert_int_equal(tcpx_peer_index_place(p[i], at, 2), 0);
	}
	for (int i = 0; i < 2; i++) { /* the older first, then the other */
		found = tcpx_peer_index_dialled(&b.e, &at[1], 1, NULL, i ? p[0]->number : 0);
		assert_ptr_equal(found, p[i]);
		tcpx_peer_put(found);
		found = tcpx_peer_index_dialled(&b.e, at, 2, i ? "b" : "a", 0);
		assert_ptr_equal(found, p[i]);
		tcpx_peer_put(found);
	}
	assert_int_equal(tcpx_peer_index_place(p[0], &at[2], 1), 0);
	found = tcpx_peer_index_dialled(&b.e, at, 2, NULL, 0);
	assert_ptr_equal(found, p[1]);
	tcpx_peer_put(found);
	found = tcpx_peer_index_dialled(&b.e, &at[2], 1, NULL, 0);
	assert_ptr_equal(found, p[0]);
	tcpx_peer_put(found);
	for (int i = 0; i < 2; i++)
		tcpx_peer_put(p[i]);
	bare_close(&b);
}
