/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/frames.h"

#include "core/channel/channel.h"
#include "core/channel/check.h"
#include "core/channel/heal.h"
#include "core/channel/width.h"
#include "core/session/session.h"

#define PACKET_MIN 576 /* the least that a peer may ask for */

/* The peer has lost a channel for silence, or as its path carries small packets only. */
static void
leave_path(struct session *s, const struct tcpx_chan_event *ev)
{
	const struct channel *c = s->chan.rx[ev->channel];

	if (!c || c->generation != ev->generation || c->closed)
		return;
	if (ev->seq > 1)
		tcpx_channels_shrink(s, c->near_nic, c->far_nic, ev->seq < PACKET_MIN ? PACKET_MIN :
				     ev->seq > UINT16_MAX ? UINT16_MAX : (uint16_t)ev->seq, 0);
	else
		tcpx_channels_leave(s, c->near_nic, c->far_nic);
}

static int
on_event(struct session *s, uint8_t type, struct tcpx_buf *b)
{
	struct tcpx_chan_event ev;
	int rc = tcpx_chan_event_read(b, &ev);

	if (rc)
		return rc;
	if (ev.channel >= s->chan.count)
		return TCPX_EPROTO;
	if (type == TCPX_FR_CHANNEL_DOWN && ev.seq)
		leave_path(s, &ev);
	if (type == TCPX_FR_CHANNEL_ASK)
		return tcpx_heal_asked(s, &ev);
	tcpx_channel_event(s, type, &ev);
	return 0;
}

static int
on_handle(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_chan_handle h;
	int rc = tcpx_chan_handle_read(b, &h);

	if (rc)
		return rc;
	if (h.channel >= s->chan.count)
		return TCPX_EPROTO;
	tcpx_heal_handle(s, &h);
	return 0;
}

static int
on_message(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_message m;
	int rc = tcpx_message_read(b, &m);

	if (rc)
		return rc;
	if (m.channel >= s->chan.count)
		return TCPX_EPROTO;
	return tcpx_channel_message(s, &m);
}

static int
on_width(struct session *s, struct tcpx_buf *b)
{
	uint8_t wide = tcpx_buf_left(b) == 1 ? tcpx_buf_get_u8(b) : 2;

	return wide > 1 ? TCPX_EPROTO : tcpx_width_said(s, wide);
}

int
tcpx_channel_frame(struct session *s, uint8_t type, struct tcpx_buf *b)
{
	switch (type) {
	case TCPX_FR_CHANNEL_HANDLE:
		return on_handle(s, b);
	case TCPX_FR_MESSAGE:
		return on_message(s, b);
	case TCPX_FR_WIDTH:
		return on_width(s, b);
	default:
		return on_event(s, type, b);
	}
}
