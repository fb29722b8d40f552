/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of headers in and out. */
#include "emu/ctrl.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(sizeof(struct emu_header) == 16, "as the real one");

bool
emu_ctrl_room(const struct emu_ctrl *c)
{
	return c->out_len + sizeof(struct emu_header) <= sizeof(c->out);
}

void
emu_ctrl_put(struct emu_ctrl *c, const struct emu_header *h)
{
	memcpy(c->out + c->out_len, h, sizeof(*h));
	c->out_len += sizeof(*h);
}

void
emu_ctrl_flush(struct emu_ctrl *c)
{
	ssize_t n;

	if (!c->out_len || c->broken)
		return;
	n = send(c->fd, c->out, c->out_len, MSG_DONTWAIT);
	if (n > 0) {
		memmove(c->out, c->out + n, c->out_len - (size_t)n);
		c->out_len -= (unsigned)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		c->broken = true;
	}
}

bool
emu_ctrl_peek(struct emu_ctrl *c, struct emu_header *h)
{
	ssize_t n;

	if (c->in_len < sizeof(c->in) && !c->broken) {
		n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);
		if (n > 0)
			c->in_len += (unsigned)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			c->broken = true;
	}
	if (c->in_len < sizeof(c->in))
		return false;
	memcpy(h, c->in, sizeof(*h));
	return true;
}

void
emu_ctrl_taken(struct emu_ctrl *c)
{
	c->in_len = 0;
}
