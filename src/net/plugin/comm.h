/* SPDX-License-Identifier: Apache-2.0 */
/* Comms: connecting, and their device handles. */
#ifndef NET_PLUGIN_COMM_H
#define NET_PLUGIN_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/plugin/plug.h"

struct plug_listen; /* accepts once                                                      */
struct plug_comm;   /* a send comm or a receive comm                                     */

/* A comm belongs to the calling thread's current GPU. Handles are copied: connect() needs a
 * mutable copy of its own. */
TCPX_MUST_CHECK int plug_listen(struct plug *p, int dev, uint8_t handle[PLUG_HANDLE_BYTES],
				struct plug_listen **l);
/* -EAGAIN until the comm stands; then exactly one comm. plug_listen_close() may come at any
 * time. The plugin begins to accept at the first call: call all listeners before waiting for
 * one. */
TCPX_MUST_CHECK int plug_accept(struct plug_listen *l, struct plug_comm **comm);
void plug_listen_close(struct plug_listen *l);
/* Call again with the same *comm (NULL at first) until 0; a failure frees *comm. It may stand
 * before the acceptor's comm does. Send nothing until that comm is known to stand. */
TCPX_MUST_CHECK int plug_connect(struct plug *p, int dev,
				 const uint8_t handle[PLUG_HANDLE_BYTES],
				 struct plug_comm **comm);
void plug_connect_cancel(struct plug_comm **comm);
/* In any state. Deregisters its memory and gives the pages of landed receives back: no reader
 * may be left. */
void plug_comm_close(struct plug_comm *c);
bool plug_comm_unpacks(const struct plug_comm *c);

/* plug_comm_device() returns where the 24 bytes of the device handle lie in GPU memory; NULL:
 * there are none. The caller copies them from there and passes them to
 * plug_comm_device_is(). An accepted comm of a plugin that unpacks needs them before its first
 * receive. Bad ones break the comm. */
const void *plug_comm_device(const struct plug_comm *c);
void plug_comm_device_is(struct plug_comm *c, const uint8_t bytes[24]);

/* Polls the lost attempts and closes those that have ended; called before a new one. */
void plug_lost_poll(struct plug *p);

#endif
