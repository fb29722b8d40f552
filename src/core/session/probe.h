/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the opener can resume a session. While it does not, the acceptor asks at the opener's
 * addresses who answers there. Lease and lock held.
 */
#ifndef CORE_SESSION_PROBE_H
#define CORE_SESSION_PROBE_H

#include <stdint.h>

#include "core/session/session.h"

/* Acceptor, cut: a step further. An opener that has gone or knows the session no more fails it. */
void tcpx_probe_step(struct session *s, uint64_t now_ns);
/* The first address to ask at is none that the NIC of address @near leads to, if there is another. */
void tcpx_probe_avoid(struct session *s, const struct tcpx_addr *near);
void tcpx_probe_end(struct session *s);

#endif
