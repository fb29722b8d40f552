/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that others have opened and that are not open yet. Without a secret a stranger may begin
 * as many as he likes: with too many the address with most of them loses its oldest. All with the
 * lease of loop 0.
 */
#ifndef CORE_SESSION_HALF_OPEN_H
#define CORE_SESSION_HALF_OPEN_H

#include <stdint.h>

#include "base/addr.h"

struct session;
struct tcpx_engine;

/* Before another one: ends one that has had half of the handshake's time, if there are too many. No
 * session's lock is held. */
void tcpx_half_open_room(struct tcpx_engine *e, uint64_t now_ns);
/* lock held */
void tcpx_half_open_add(struct session *s, const struct tcpx_addr *from);
/* It is open, or has ended. A no-op for one that is in no chain. */
void tcpx_half_open_remove(struct session *s);

#endif
