/* SPDX-License-Identifier: Apache-2.0 */
/* A channel's connection: watched, lost, fenced, closed. */
#ifndef CORE_CHANNEL_CONNECTION_H
#define CORE_CHANNEL_CONNECTION_H

#include <stdint.h>

#include "core/channel/channel.h"

void tcpx_channel_watch(struct channel *c, unsigned interest);
/* Stops reading until the channel's work is queued: by the OPEN, or by a free buffer. -EAGAIN. */
int tcpx_channel_hold(struct channel *c);
int tcpx_channel_up(struct channel *c, struct tcpx_chan *chan); /* lock held */
/* Breaks a connection that has lent pages, so that they are read no more. Its loop finds it broken. lock
 * held. */
void tcpx_channel_recall(struct channel *c);
/* Lease of its loop held, lock not: closes the channel and frees its state. Once. */
void tcpx_channel_close(struct channel *c);
/* Lease held, lock not: the connection has failed. */
void tcpx_channel_down(struct channel *c, int code, const char *why);
void tcpx_channel_fenced(struct channel *c, uint64_t now_ns);
/* lock held: one that stands and sends, with nothing in flight, is to rest. The peer closes it. */
void tcpx_channel_rest(struct channel *c);

/* Its listener, or an attempt to connect, ends; another may begin. lock held. */
void tcpx_channel_unwire(struct channel *c);
/* It stands, or is closed: its listener, or an attempt to connect, ends. lock held. */
void tcpx_channel_wired(struct channel *c);

#endif
