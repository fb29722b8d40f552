/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transfer/lane_tell.h"

#include <stdio.h>
#include <string.h>

#include "core/session/control.h"
#include "core/session/session.h"

static void
put(struct session *s, uint8_t type, const struct tcpx_buf *b)
{
	if (tcpx_control_put(s, type, b) != 0)
		tcpx_session_fail(s, TCPX_ELIMIT, "peer does not read its control stream");
}

void
tcpx_lane_tell_open(struct tcpx_lane *l)
{
	struct session *s = l->session;
	struct tcpx_lane_opening o;
	uint8_t room[64];
	struct tcpx_buf b;

	l->word = o.lane = tcpx_lane_word(!s->opener, ++s->lanes.opened_here);
	memcpy(o.key, l->key, sizeof(o.key));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_opening_write(&b, &o);
	put(s, TCPX_FR_LANE_OPEN, &b);
}

void
tcpx_lane_tell_posts(struct session *s, const struct tcpx_lane_posts *p)
{
	uint8_t room[sizeof(*p)];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_posts_write(&b, p);
	put(s, TCPX_FR_LANE_POST, &b);
}

void
tcpx_lane_tell_failure(struct session *s, uint64_t word, bool sending, int code, const char *text)
{
	struct tcpx_lane_failure f = { .lane = word, .sending = sending, .code = code };
	uint8_t room[sizeof(f) + 16];
	struct tcpx_buf b;

	snprintf(f.text, sizeof(f.text), "%s", text);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_failure_write(&b, &f);
	put(s, TCPX_FR_LANE_FAIL, &b);
}

void
tcpx_lane_tell_grant(struct session *s, uint64_t total)
{
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u64(&b, total);
	put(s, TCPX_FR_LANE_GRANT, &b);
}
