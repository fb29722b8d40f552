/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transfer/lane_tell.h"

#include <stdio.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/session.h"

#define LATER_NS 50000 /* two or three round trips of small messages on one host */

void
tcpx_lane_tell_open(struct tcpx_lane *l)
{
	struct session *s = l->session;
	struct tcpx_lane_opening o;
	uint8_t room[64];
	struct tcpx_buf b;

	o.lane = tcpx_lane_word(!s->opener, ++s->lanes.opened_here);
	tcpx_lane_named(l, o.lane);
	memcpy(o.key, l->key, sizeof(o.key));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_opening_write(&b, &o);
	tcpx_control_say(s, TCPX_FR_LANE_OPEN, &b);
}

void
tcpx_lane_tell_posts(struct session *s, const struct tcpx_lane_posts *p)
{
	uint8_t room[sizeof(*p)];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_posts_write(&b, p);
	tcpx_control_say(s, TCPX_FR_LANE_POST, &b);
}

void
tcpx_lane_tell_receives(struct tcpx_lane *l)
{
	struct tcpx_lane_posts p = { .lane = l->word };

	tcpx_chain_remove(&l->soon);
	l->told_ns = engine_now(l->engine);
	p.count = (uint16_t)tcpx_lane_tell(&l->rx, &p.first, p.len);
	tcpx_lane_tell_posts(l->session, &p);
}

static void
set_timer(struct session *s, uint64_t at_ns)
{
	if (!s->lanes.soon_set)
		tcpx_session_add_timer(s, at_ns);
	s->lanes.soon_set = true;
}

/* An I/O thread that sleeps has to be woken for it, which is worth a few frames and not one. */
bool
tcpx_lane_tell_later(struct tcpx_lane *l)
{
	struct session *s = l->session;
	uint64_t now_ns = engine_now(s->engine);

	if (now_ns - l->told_ns >= LATER_NS && !tcpx_lease_is_lent(s->loop) &&
	    !tcpx_loop_is_mine(s->loop))
		return false;
	if (!tcpx_node_linked(&l->soon)) {
		l->soon_ns = now_ns + LATER_NS;
		tcpx_chain_add(&s->lanes.soon, &l->soon);
		set_timer(s, l->soon_ns);
	}
	return true;
}

/* Once one is due they share a write. */
void
tcpx_lanes_tell_due(struct session *s, uint64_t now_ns)
{
	struct tcpx_node *n = tcpx_chain_first(&s->lanes.soon);
	struct tcpx_lane *l = n ? tcpx_container(n, struct tcpx_lane, soon) : NULL;

	s->lanes.soon_set = false;
	if (l && l->soon_ns > now_ns)
		set_timer(s, l->soon_ns);
	if (!l || l->soon_ns > now_ns)
		return;
	while ((n = tcpx_chain_first(&s->lanes.soon))) { /* a session that fails takes them out */
		l = tcpx_container(n, struct tcpx_lane, soon);
		tcpx_chain_remove(n);
		if (atomic_load(&l->status) == 0)
			tcpx_lane_tell_receives(l);
	}
	if (s->state == SESS_OPEN)
		tcpx_control_flush(s);
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
	tcpx_control_say(s, TCPX_FR_LANE_FAIL, &b);
}

void
tcpx_lane_tell_close(struct session *s, uint64_t word)
{
	tcpx_control_say_u64(s, TCPX_FR_LANE_CLOSE, word);
}

void
tcpx_lane_tell_done(struct session *s, uint64_t word, const struct tcpx_lane_ring *r)
{
	struct tcpx_lane_progress p = { .lane = word, .done = r->done, .finished = r->finished };
	uint8_t room[sizeof(p)];
	struct tcpx_buf b;

	if (!r->done && !r->finished)
		return;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_progress_write(&b, &p);
	tcpx_control_say(s, TCPX_FR_LANE_DONE, &b);
}

void
tcpx_lane_tell_grant(struct session *s, uint64_t total)
{
	tcpx_control_say_u64(s, TCPX_FR_LANE_GRANT, total);
}
