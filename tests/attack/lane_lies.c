/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_lies.h"

#include <string.h>

void
say_open(struct liar *l, uint64_t lane, const uint8_t key[TCPX_LANE_KEY])
{
	struct tcpx_lane_opening o = { .lane = lane };
	uint8_t room[64];
	struct tcpx_buf b;

	memcpy(o.key, key, sizeof(o.key));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_opening_write(&b, &o);
	liar_put(l, TCPX_FR_LANE_OPEN, &b);
}

void
say_posts(struct liar *l, uint64_t lane, uint64_t first, uint16_t count, uint64_t len)
{
	uint8_t room[1024];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u64(&b, lane);
	tcpx_buf_put_u64(&b, first);
	tcpx_buf_put_u16(&b, count);
	for (uint16_t i = 0; i < count; i++)
		tcpx_buf_put_u64(&b, len);
	liar_put(l, TCPX_FR_LANE_POST, &b);
}

void
say_failure(struct liar *l, uint64_t lane, uint8_t sending, int32_t code)
{
	struct tcpx_lane_failure f = { lane, false, code, "so it is" };
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_failure_write(&b, &f);
	room[8] = sending;
	liar_put(l, TCPX_FR_LANE_FAIL, &b);
}

int
answer(struct liar *l)
{
	static const uint8_t types[] = { TCPX_FR_LANE_POST, TCPX_FR_LANE_FAIL };
	uint8_t payload[TCPX_FRAME_MAX], type;
	struct tcpx_lane_failure f;
	struct tcpx_lane_posts p;
	struct tcpx_buf b;
	size_t len;

	assert_true(foe_get_one_of(&l->f, types, sizeof(types), &type, payload, &len));
	tcpx_buf_init_const(&b, payload, len);
	if (type == TCPX_FR_LANE_FAIL) {
		assert_int_equal(tcpx_lane_failure_read(&b, &f), 0);
		return f.code;
	}
	assert_int_equal(tcpx_lane_posts_read(&b, &p), 0);
	assert_int_equal(p.count, 0);
	return 0;
}

void
heard_open(struct heard *h)
{
	uint8_t key[TCPX_LANE_KEY], payload[TCPX_FRAME_MAX];
	size_t len;

	liar_open(&h->l, lies_world()->host);
	assert_ok(tcpx_lane_listen(lies_world()->host, key, &h->lane));
	say_open(&h->l, word(1), key);
	assert_int_equal(answer(&h->l), 0);
	assert_ok(tcpx_lane_ready(h->lane));
	assert_ok(tcpx_lane_post(h->lane, lies_world()->far.id, 0, LANE_ROOM, &h->recv));
	assert_true(foe_get(&h->l.f, TCPX_FR_LANE_POST, payload, &len));
}

void
heard_close(struct heard *h)
{
	tcpx_xfer_free(h->recv);
	tcpx_lane_close(h->lane);
	liar_close(&h->l);
}

void
spoken_open(struct spoken *s)
{
	uint8_t key[TCPX_LANE_KEY] = { 1 }, payload[TCPX_FRAME_MAX];
	size_t len;

	liar_open(&s->l, lies_world()->host);
	assert_ok(tcpx_peer_find(lies_world()->host, "liar", &s->to));
	assert_ok(tcpx_lane_open(s->to, key, &s->lane));
	assert_true(foe_get(&s->l.f, TCPX_FR_LANE_OPEN, payload, &len));
	say_posts(&s->l, OURS | word(1), 1, 0, 0);
	assert_goes_on(&s->l, "an honest answer");
	assert_ok(tcpx_lane_ready(s->lane));
}

void
spoken_close(struct spoken *s)
{
	tcpx_lane_close(s->lane);
	tcpx_peer_free(s->to);
	liar_close(&s->l);
}

void
judge(struct liar *l, const char *what, int want)
{
	if (want == LIVES)
		assert_goes_on(l, what);
	else
		assert_verdict(what, liar_verdict(l, 0), want);
}
