/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connecting side of channel set-up: connect from the NIC's address, send the preamble
 * that names the channel, read the answer. It reads no byte more, since messages may follow
 * the answer at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "net/sock/chan.h"
#include "net/sock/dial.h"
#include "net/sock/fd.h"
#include "net/sock/poller.h"
#include "net/sock/wire.h"

/* A connection attempt; *state points here between calls. */
struct dial {
	int fd;
	struct tcpx_poller *poller; /* reports its steps; NULL: none does */
	struct tcpx_addr to;
	bool up;
	size_t sent, got;
	uint8_t preamble[TCPX_SOCK_PREAMBLE_BYTES];
	uint8_t answer[TCPX_SOCK_ANSWER_BYTES];
};

static int
dial_open(struct tcpx_net *net, int nic_index, const struct tcpx_chan_id *id,
	  const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, struct dial **out)
{
	const struct tcpx_nic *nic = tcpx_sock_nic(net, nic_index);
	struct tcpx_chan_id expected;
	struct tcpx_addr to;
	struct dial *d;
	int rc;

	if (!nic)
		return -EINVAL;
	if (sending != !!id->sending_side_is_opener)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL,
				 "channel %u connected as %s: the acceptor is that side",
				 id->channel, sending ? "sending" : "receiving");
	if (!tcpx_sock_handle_parse(handle, &to, &expected))
		return tcpx_fail(TCPX_SUB_NET, TCPX_EPROTO,
				 "channel %u: not a handle of this provider and version",
				 id->channel);
	if (!tcpx_sock_id_same(&expected, id))
		return tcpx_fail(TCPX_SUB_NET, TCPX_EPROTO,
				 "channel %u generation %u: handle of channel %u generation %u",
				 id->channel, id->generation, expected.channel,
				 expected.generation);
	d = calloc(1, sizeof(*d));
	if (!d)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "channel %u", id->channel);
	d->to = to;
	rc = tcpx_sock_connect_fd(nic, &to, id->packet, &d->fd);
	if (rc) {
		free(d);
		return rc;
	}
	tcpx_sock_preamble_format(id, d->preamble);
	*out = d;
	return 0;
}

/* The attempt ended before the connection was there; `tcpx doctor` reads it. */
static void
dial_failed(const struct dial *d, const char *how)
{
	char text[64];

	tcpx_addr_format(&d->to, text, sizeof(text));
	tcpx_debug(TCPX_SUB_NET, "channel set-up: data port %s is %s", text, how);
}

static int
dial_lost(ssize_t n)
{
	if (n < 0 && tcpx_sock_later(errno))
		return -EAGAIN;
	tcpx_debug(TCPX_SUB_NET, "channel set-up: the acceptor %s",
		   n ? tcpx_err_name(-errno) : "closed without an answer");
	return TCPX_ECHANNEL;
}

/* 0 once the acceptor has answered. */
static int
dial_step(struct dial *d)
{
	ssize_t n;
	int rc;

	if (!d->up) {
		rc = tcpx_sock_connected(d->fd);
		if (rc && rc != -EAGAIN)
			dial_failed(d, rc == -ECONNREFUSED ? "refused" : tcpx_err_name(rc));
		if (rc)
			return rc;
		d->up = true;
	}
	while (d->sent < sizeof(d->preamble)) {
		n = send(d->fd, d->preamble + d->sent, sizeof(d->preamble) - d->sent,
			 MSG_NOSIGNAL);
		if (n <= 0)
			return dial_lost(n);
		d->sent += (size_t)n;
	}
	while (d->got < sizeof(d->answer)) {
		n = recv(d->fd, d->answer + d->got, sizeof(d->answer) - d->got, 0);
		if (n <= 0)
			return dial_lost(n);
		d->got += (size_t)n;
	}
	if (memcmp(d->answer, tcpx_sock_answer, sizeof(d->answer)))
		return tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME,
				 "channel set-up: an answer that is not of the protocol");
	return 0;
}

/* A later event would name an owner that may have gone. */
static void
dial_unwatch(struct dial *d)
{
	if (d->poller)
		tcpx_sock_poller_drop(d->poller, d->fd);
	d->poller = NULL;
}

int
tcpx_sock_chan_connect_watch(struct tcpx_net *net, void *state, struct tcpx_poller *p, void *owner)
{
	struct dial *d = state;
	int rc;

	if (d->poller)
		return 0;
	rc = tcpx_sock_poller_edges(p, d->fd, owner);
	if (rc == 0)
		d->poller = p;
	return rc;
}

void
tcpx_sock_chan_target(const uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_addr *to)
{
	struct tcpx_chan_id id;

	if (!tcpx_sock_handle_parse(handle, to, &id))
		to->family = 0;
}

int
tcpx_sock_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
		       const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
		       struct tcpx_chan **chan)
{
	struct dial *d = *state;
	int rc;

	if (!d) {
		rc = dial_open(net, nic, id, handle, sending, &d);
		if (rc)
			return rc;
		*state = d;
	}
	rc = dial_step(d);
	if (rc == -EAGAIN)
		return rc;
	*state = NULL;
	dial_unwatch(d);
	if (rc)
		tcpx_ownfd_close(d->fd);
	else
		rc = tcpx_sock_chan_new(net, id, d->fd, sending, chan);
	free(d);
	return rc;
}

bool
tcpx_sock_chan_connect_heard(const void *state)
{
	return ((const struct dial *)state)->up;
}

void
tcpx_sock_chan_connect_cancel(struct tcpx_net *net, void **state)
{
	struct dial *d = *state;

	if (!d)
		return;
	if (!d->up)
		dial_failed(d, "silent");
	dial_unwatch(d);
	tcpx_ownfd_close(d->fd);
	free(d);
	*state = NULL;
}
