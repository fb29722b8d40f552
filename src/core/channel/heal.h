/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening lost channels of an open session again, those that came too late for its set-up, and
 * those that rested.
 * The side that connects asks for the next generation (CHANNEL_ASK), the other listens and answers
 * with a handle and a token (CHANNEL_HANDLE). Each side uses the channel as soon as it stands
 * there. The peer's frames about a channel arrive in order, so its fence always comes first.
 * lock held.
 */
#ifndef CORE_CHANNEL_HEAL_H
#define CORE_CHANNEL_HEAL_H

#include <stdint.h>

#include "core/session/session.h"

/* Something changed in this host's network: lost channels are tried now. */
void tcpx_heal_hurry(struct session *s, uint64_t now_ns);
/* Goes on with every lost channel. */
void tcpx_heal_all(struct session *s, uint64_t now_ns);
/* Asks for the next generation of a channel, by its present pair of NICs. */
void tcpx_heal_ask(struct channel *c);
/* Listens for the generation that the peer has asked for, and answers. */
void tcpx_heal_listen(struct channel *c, uint64_t now_ns);
/* The peer wants to connect a channel again. 0, or TCPX_EPROTO. */
int tcpx_heal_asked(struct session *s, const struct tcpx_chan_event *ev);
/* The peer listens for one, or cannot. */
void tcpx_heal_handle(struct session *s, const struct tcpx_chan_handle *h);

#endif
