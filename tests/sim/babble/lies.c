/* SPDX-License-Identifier: Apache-2.0 */
/* Where a babbler leaves the truth: in a value, in the bytes of a frame, in its type. */
#include <string.h>

#include "sim/babble/babble.h"

#define MILLION 1000000u

bool
babbler_lies(struct babbler *b)
{
	bool lie = tcpx_rng_below(&b->world->rng, MILLION) < b->lies_ppm;

	b->world->totals->babbled.lies += lie;
	return lie;
}

uint64_t
babbler_tell(struct babbler *b, uint64_t truth)
{
	struct tcpx_rng *rng = &b->world->rng;

	if (!babbler_lies(b))
		return truth;
	switch (tcpx_rng_below(rng, 10)) {
	case 0:
		return 0;
	case 1:
		return truth + 1;
	case 2:
		return truth - 1;
	case 3:
		return truth ^ (1ull << tcpx_rng_below(rng, 64));
	case 4:
		return UINT32_MAX;
	case 5:
		return UINT64_MAX;
	case 6:
		return 1ull << 63;
	case 7:
		return tcpx_rng_below(rng, 300);
	case 8:
		return truth * 2;
	default:
		return tcpx_rng_next(rng);
	}
}

/* A few bytes more, fewer, or others. */
static size_t
damage(struct babbler *b, uint8_t *bytes, size_t len, size_t cap)
{
	struct tcpx_rng *rng = &b->world->rng;
	size_t more;

	switch (tcpx_rng_below(rng, 3)) {
	case 0:
		return tcpx_rng_below(rng, len + 1);
	case 1:
		more = tcpx_rng_below(rng, 1 + (cap - len < 40 ? cap - len : 40));
		memset(bytes + len, (int)tcpx_rng_below(rng, 256), more);
		return len + more;
	default:
		for (uint64_t i = tcpx_rng_below(rng, 4) + 1; i && len; i--)
			bytes[tcpx_rng_below(rng, len)] = (uint8_t)tcpx_rng_next(rng);
		return len;
	}
}

bool
babbler_lies_more(struct babbler *b)
{
	return !b->world->fabric && babbler_lies(b);
}

static void
put(struct babbler *b, uint8_t type, const void *payload, size_t len, bool bulk)
{
	if (!tcpx_frame_numbered(type) || babbler_lies_more(b))
		(void)tcpx_ctrl_put_raw(b->ctrl, type, payload, len); /* with number 0 */
	else if (bulk)
		(void)tcpx_ctrl_put_bulk(b->ctrl, type, payload, len, NULL);
	else
		(void)tcpx_ctrl_put(b->ctrl, type, payload, len);
	b->said++;
	b->world->totals->babbled.frames++;
}

void
babbler_put(struct babbler *b, uint8_t type, const struct tcpx_buf *payload, bool bulk)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	size_t len = payload ? payload->pos : 0;

	if (payload && payload->bad)
		return; /* the lie does not fit a frame */
	if (len)
		memcpy(room, payload->data, len);
	if (babbler_lies(b))
		len = damage(b, room, len, sizeof(room));
	if (babbler_lies(b))
		type = (uint8_t)tcpx_rng_below(&b->world->rng, 60);
	put(b, type, room, len, bulk);
	if (babbler_lies_more(b))
		put(b, type, room, len, bulk);
}
