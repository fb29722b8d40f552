/* SPDX-License-Identifier: Apache-2.0 */
/* What a babbler puts into a data connection of the sock provider. What the kernel does not take at
 * once is left out: so are messages cut. */
#include <sys/socket.h>

#include "sim/babble/babble.h"
#include "net/sock/chan.h"
#include "net/sock/wire.h"

static void
put(struct tcpx_chan *c, const void *bytes, size_t len)
{
	(void)!send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
babble_wire_ack(struct tcpx_chan *c, const struct tcpx_ack *a, bool summed)
{
	uint8_t room[TCPX_SOCK_ACK_BYTES];

	tcpx_sock_ack_format(a, summed, room);
	put(c, room, sizeof(room));
}

void
babble_wire_message(struct tcpx_chan *c, const struct tcpx_head *h, const void *payload, uint32_t len,
		    bool abandoned)
{
	uint8_t head[TCPX_SOCK_HEAD_BYTES], tail[TCPX_SOCK_TAIL_BYTES];

	tcpx_sock_head_format(h, head);
	tcpx_sock_tail_format(h, abandoned, tail);
	put(c, head, sizeof(head));
	put(c, payload, len);
	put(c, tail, sizeof(tail));
}

uint64_t
babble_wire_slot(const struct tcpx_chan *c)
{
	(void)c;
	return 0;
}
