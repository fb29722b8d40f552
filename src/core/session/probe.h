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
void tcpx_probe_end(struct session *s);

#endif
