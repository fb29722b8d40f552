/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a poller drives, and when one is given up. */
#ifndef NET_PLUGNET_BUSY_H
#define NET_PLUGNET_BUSY_H

#include "net/plugnet/plugnet.h"

#define PLUGNET_NAP_MIN_NS (20 * 1000ll) /* a chunk of 512 KiB at 200 Gb/s */

int tcpx_plugnet_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			    unsigned interest);
/* Marks the channel dead; returns the first code. The caller has logged the cause. */
int tcpx_plugnet_chan_die(struct tcpx_chan *c, int code);
/* Counts a new outstanding request. */
void tcpx_plugnet_chan_begin(struct tcpx_chan *c, uint64_t now_ns);
/* Whether its oldest outstanding message, seq, is past the deadline; then the channel dies. */
bool tcpx_plugnet_chan_late(struct tcpx_chan *c, uint64_t seq, uint64_t now_ns);
/* Puts the channel into the poller's list of busy ones or takes it out. */
void tcpx_plugnet_chan_relist(struct tcpx_chan *c);
/* Its events. slept: the poller has slept since the last call. */
unsigned tcpx_plugnet_chan_ready(const struct tcpx_chan *c, bool slept);

/* A message moved: the poller goes on without sleeping for a while. */
void tcpx_plugnet_poller_moved(struct tcpx_poller *p, uint64_t now_ns);

#endif
