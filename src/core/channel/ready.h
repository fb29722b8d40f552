/* SPDX-License-Identifier: Apache-2.0 */
/* READY: each side says which channels stand there; those that stand at both carry. lock held. */
#ifndef CORE_CHANNEL_READY_H
#define CORE_CHANNEL_READY_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Says it: 0, or a code that has failed the session. */
int tcpx_ready_put(struct session *s);
/* Before the acceptor answers, it needs all channels of the opener's READY. */
bool tcpx_ready_has_all(const struct session *s);
/* Both have said it: the session is open, or has failed. */
void tcpx_ready_finish(struct session *s, uint64_t now_ns);

#endif
