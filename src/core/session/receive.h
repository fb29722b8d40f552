/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that arrive on the control stream. */
#ifndef CORE_SESSION_RECEIVE_H
#define CORE_SESSION_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/loop/loop.h"

struct session;

/* What a session may cost in one turn of the loop, in entries of lists: then others have theirs. A
 * list that is longer is read on in the next. An OPEN may be refused, with a line for the log and an
 * answer: 4 us and more. */
#define TURN_BUDGET (8u << 10)
#define FRAME_COST  64u
#define OPEN_COST   192u /* beside that of a frame */
#define REFUSE_COST 512u /* beside that of an OPEN */
#define COST_BYTES  16u  /* cost as much as an entry */

/* Takes the frames that the turn before left. */
void tcpx_control_read_work(struct work *w, uint64_t now_ns);
/* Are the peer's frames read? Those that waited for the toll are from the time on when it is paid:
 * call again then, as a timer is set for. */
bool tcpx_control_has_paid(struct session *s, uint64_t now_ns);
void tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns);

#endif
