/* SPDX-License-Identifier: Apache-2.0 */
/* Making the channels of a session. lock held. */
#ifndef CORE_CHANNEL_WIRING_H
#define CORE_CHANNEL_WIRING_H

#include <stdint.h>

#include "core/session/session.h"

int tcpx_wiring_listen(struct session *s);  /* acceptor: HANDLES */
/* Handles the peer's HANDLES: once for each side. 0, or why the session fails. */
int tcpx_wiring_handles(struct session *s, const struct tcpx_handles *h);
/* The address that did not answer, as the end of a sentence: "; 172.16.9.2:40001 from eth0: connection refused",
 * or "": the peer alone connects, or nothing failed. */
void tcpx_wiring_tried(struct session *s, char *text, size_t cap);
/* Tries unfinished channels again. */
void tcpx_wiring_step(struct session *s, uint64_t now_ns);

#endif
