/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call from a room of the core to one above it. The lower room declares a table, and
 * this file alone fills it in. A function here belongs to a room above the table's.
 */
#include "core/engine/upward.h"

#include "core/channel/channel.h"
#include "core/channel/check.h"
#include "core/channel/pack.h"
#include "core/channel/receiver.h"
#include "core/channel/unpack.h"
#include "core/channel/wake.h"
#include "core/channel/wiring.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/flight.h"
#include "core/memory/slots.h"
#include "core/memory/staging.h"
#include "core/session/accept.h"
#include "core/session/control.h"
#include "core/session/peer_session.h"
#include "core/session/session.h"
#include "core/session/timer.h"
#include "core/transfer/answer.h"
#include "core/transfer/deadline.h"
#include "core/transfer/end.h"
#include "core/transfer/frames.h"
#include "core/transfer/lane.h"
#include "core/transfer/lane_chunks.h"
#include "core/transfer/lane_frames.h"
#include "core/transfer/lane_tell.h"
#include "core/transfer/launch.h"
#include "core/transfer/match.h"
#include "core/transfer/move.h"
#include "core/transfer/progress.h"
#include "core/transfer/schedule.h"

/* ---- loop ---- */

static void
loop_timers(struct loop *l, uint64_t now_ns)
{
	if (l->index == 0) {
		tcpx_accept_timer(l, now_ns);
		tcpx_sessions_timer(l->engine, now_ns);
	}
	tcpx_flight_timer(l, now_ns);
	tcpx_slots_timer(l);
	tcpx_staging_timer(l, now_ns);
	if (l->index == 0)
		tcpx_peer_linger(l->engine, now_ns);
}

static void
loop_late(struct loop *l, const struct pause *p)
{
	if (l->index == 0) {
		tcpx_accept_late(l, p);
		tcpx_sessions_late(l->engine, p);
	}
}

static void
loop_before_sleep(struct loop *l)
{
	if (l->index == 0)
		tcpx_launch_after_events(l->engine);
	tcpx_batches_launch(l);
	if (l->index == 0)
		tcpx_control_flush_all(l->engine);
}

static void
loop_after_events(struct loop *l, uint64_t now_ns)
{
	tcpx_batches_launch(l);
	tcpx_batches_poll(l, now_ns);
}

static const struct loop_calls of_loop = {
	.timers = loop_timers,
	.late = loop_late,
	.before_sleep = loop_before_sleep,
	.sleep_limit = tcpx_batches_timeout,
	.after_events = loop_after_events,
};

/* ---- memory ---- */

static const struct copy_calls of_copy = {
	.packed = tcpx_pack_done,
	.unpacked = tcpx_unpack_done,
	.unpacked_all = tcpx_receiver_acknowledge,
};

/* ---- session ---- */

static void
session_late(struct session *s, const struct pause *p)
{
	tcpx_xfers_late(s, p);
	tcpx_channels_late(s, p);
}

static void
session_opened(struct session *s, uint64_t now_ns)
{
	tcpx_lanes_opened(s);
	tcpx_launch_waiting(s, now_ns);
}

static void
session_failed(struct session *s)
{
	tcpx_lanes_end(s);
	tcpx_xfers_end(s);
	tcpx_channels_end(s);
}

static void
session_lost(struct session *s, struct tcpx_peer *p, bool over)
{
	tcpx_match_forget(p, s, 0);
	if (over)
		tcpx_match_fail(p, s->cause, s->cause_text);
}

static void
session_move(struct session *s, struct session *to)
{
	tcpx_xfers_move(s, to);
	tcpx_lanes_move(s, to);
}

static void
session_check(struct session *s, uint64_t now_ns)
{
	if (!s->health.stopped_ns)
		tcpx_xfers_check(s, now_ns);
	tcpx_lanes_tell_due(s, now_ns);
}

static const struct session_calls of_session = {
	.listen = tcpx_wiring_listen,
	.handles = tcpx_wiring_handles,
	.wire = tcpx_wiring_step,
	.overdue = tcpx_wiring_overdue,
	.unwire = tcpx_channels_end,
	.room = tcpx_launch_waiting,
	.writable = tcpx_channels_wake_all,
	.lanes = tcpx_lanes_launch,
	.check_channels = tcpx_channels_check,
	.frame = tcpx_frames_handle,
	.frame_rest = tcpx_frames_rest,
	.check_transfers = session_check,
	.late = session_late,
	.opened = session_opened,
	.failed = session_failed,
	.leaving = tcpx_lanes_leave,
	.met = tcpx_match_merge,
	.lost = session_lost,
	.evict = tcpx_match_evict,
	.evicted = tcpx_match_evicted,
	.move = session_move,
};

/* ---- channel ---- */

static const struct channel_calls of_channel = {
	.pick = tcpx_schedule_pick,
	.place = tcpx_chunk_place,
	.settled = tcpx_lane_settled,
	.applied = tcpx_chunk_applied,
	.missed = tcpx_chunk_missed,
	.corrupt = tcpx_chunk_corrupt,
	.acked = tcpx_chunk_acked,
	.given_back = tcpx_chunk_given_back,
	.broken = tcpx_answer_broken,
	.put = tcpx_chunk_put,
};

const struct upward tcpx_upward = { &of_loop, &of_copy, &of_session, &of_channel };
