/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control connection. What the kernel does not take at once is kept here, sealed; the frames
 * in it count as written when its last byte has gone. So at most one block of the stream waits
 * sealed, and what was not written whole can be repeated on another connection.
 */
#include "core/session/line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

#define READ_BYTES  16384 /* one record, about */
#define REFUSAL_MAX 256   /* of one in clear */

static int
keep(struct line *l, const uint8_t *bytes, size_t len, size_t plain)
{
	l->rest = malloc(len);
	if (!l->rest)
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "%zu bytes of a control connection", len);
	memcpy(l->rest, bytes, len);
	l->rest_at = 0;
	l->rest_len = len;
	l->plain = plain;
	return 0;
}

int
tcpx_line_start(struct line *l, const struct tcpx_start *start)
{
	uint8_t room[64];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room + TCPX_FRAME_HEAD, sizeof(room) - TCPX_FRAME_HEAD);
	tcpx_start_write(&b, start);
	tcpx_frame_head_write(room, TCPX_FR_START, 0, (uint32_t)b.pos);
	return keep(l, room, TCPX_FRAME_HEAD + b.pos, 0);
}

int
tcpx_line_seal(struct line *l, const struct tcpx_secret *k, bool opener,
	       const struct tcpx_seal_psk *psk, uint32_t count)
{
	l->how = k->ops;
	l->due = true;
	return k->ops->start(k->lib, opener, psk, count, &l->seal);
}

bool
tcpx_line_proven(const struct line *l)
{
	return !l->seal || l->how->proven(l->seal);
}

/* What was kept. 0 all of it has gone. */
static ssize_t
send_rest(struct line *l, const struct tcpx_net_ops *net)
{
	ssize_t n;

	while (l->rest_at < l->rest_len) {
		n = net->stream_send(l->stream, l->rest + l->rest_at, l->rest_len - l->rest_at);
		if (n < 0)
			return n;
		l->rest_at += (size_t)n;
	}
	free(l->rest);
	l->rest = NULL;
	return 0;
}

/* Seals @data, or with none what the handshake has to say, and sends it. */
static ssize_t
send_sealed(struct line *l, const struct tcpx_net_ops *net, const void *data, size_t len)
{
	uint8_t room[TCPX_SEAL_BLOCK + TCPX_SEAL_ROOM];
	ssize_t due, n;
	int rc;

	if (len > TCPX_SEAL_BLOCK)
		len = TCPX_SEAL_BLOCK;
	l->due = false;
	due = l->how->take(l->seal, data, len, room, sizeof(room));
	if (due <= 0)
		return due;
	n = net->stream_send(l->stream, room, (size_t)due);
	if (n == due)
		return (ssize_t)len;
	if (n < 0 && n != -EAGAIN)
		return n;
	n = n > 0 ? n : 0;
	rc = keep(l, room + n, (size_t)(due - n), len);
	return rc ? rc : -EAGAIN;
}

ssize_t
tcpx_line_send(struct line *l, const struct tcpx_net_ops *net, const void *data, size_t len)
{
	size_t plain;
	ssize_t rc;

	if (l->rest) {
		plain = l->plain;
		rc = send_rest(l, net);
		if (rc || plain)
			return rc ? rc : (ssize_t)plain;
	}
	if (!l->seal)
		return len ? net->stream_send(l->stream, data, len) : 0;
	if (!tcpx_line_proven(l))
		len = 0;
	if (!len && !l->due)
		return 0;
	return send_sealed(l, net, data, len);
}

/* An acceptor that will not or cannot prove anything refuses in clear: one REFUSE and no more, so
 * nothing of it can stand before the bytes of a peer that proves itself later. A record of TLS
 * never begins with the first byte of a frame's length, which is 0. -EAGAIN: it is not all here;
 * 0: not in clear. */
static ssize_t
in_clear(struct line *l, const uint8_t *bytes, size_t len, void *room, size_t cap)
{
	struct tcpx_frame_head h;
	int rc;

	if (!l->clear && (l->heard || tcpx_line_proven(l) || bytes[0] != 0))
		return 0;
	l->clear = true;
	if (len > cap - l->refusal_len || len > REFUSAL_MAX - l->refusal_len)
		return TCPX_EPROTO;
	if (!l->refusal)
		l->refusal = malloc(REFUSAL_MAX);
	if (!l->refusal)
		return -ENOMEM;
	memcpy(l->refusal + l->refusal_len, bytes, len);
	l->refusal_len += len;
	rc = tcpx_frame_head_read(l->refusal, l->refusal_len, &h);
	if (rc)
		return rc;
	if (h.type != TCPX_FR_REFUSE || h.len < l->refusal_len)
		return TCPX_EPROTO;
	if (h.len > l->refusal_len)
		return -EAGAIN;
	memcpy(room, l->refusal, h.len);
	return (ssize_t)h.len;
}

int
tcpx_line_flush(struct line *l, const struct tcpx_net_ops *net, struct tcpx_ctrl *ctrl)
{
	const uint8_t *data = NULL;
	bool owed;
	size_t len;
	ssize_t n;

	do {
		/* what is owed began with the bytes that pending() gave last */
		owed = tcpx_line_owes(l);
		len = owed ? 0 : tcpx_ctrl_pending(ctrl, &data);
		n = tcpx_line_send(l, net, data, len);
		if (n > 0)
			tcpx_ctrl_written(ctrl, (size_t)n);
	} while (n > 0 || (n == 0 && owed));
	return (int)n;
}

ssize_t
tcpx_line_recv(struct line *l, const struct tcpx_net_ops *net, bool opener, void *room, size_t cap)
{
	uint8_t in[READ_BYTES];
	ssize_t got = 0, n = 0;

	if (!l->seal)
		return net->stream_recv(l->stream, room, cap);
	if (l->more)
		n = l->how->feed(l->seal, NULL, 0, room, cap);
	while (n == 0) {
		got = net->stream_recv(l->stream, in, sizeof(in));
		if (got <= 0)
			return got;
		n = opener ? in_clear(l, in, (size_t)got, room, cap) : 0;
		l->heard = true;
		if (n) {
			l->more = false;
			return n;
		}
		l->due |= !tcpx_line_proven(l);
		n = l->how->feed(l->seal, in, (size_t)got, room, cap);
		if (n == 0 && (size_t)got < sizeof(in)) {
			l->more = false;
			return -EAGAIN;
		}
	}
	l->more = n == (ssize_t)cap || got == (ssize_t)sizeof(in) || !tcpx_line_proven(l);
	return n;
}

int
tcpx_line_key(struct line *l, const char *label, const void *context, size_t context_len,
	      void *out, size_t len)
{
	return l->how->export(l->seal, label, context, context_len, out, len);
}

void
tcpx_line_rest(struct line *l)
{
	if (l->seal)
		l->how->rest(l->seal);
}

void
tcpx_line_close(struct line *l, const struct tcpx_net_ops *net)
{
	if (l->seal)
		l->how->end(l->seal);
	if (l->stream)
		net->stream_close(l->stream);
	free(l->rest);
	free(l->refusal);
	*l = (struct line){ .stream = NULL };
}
