/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes between two engines: none is dropped because the other side is slow to take them. A side has
 * at most NOTES_AHEAD on the way that the other has not taken over into its queue; NOTED says how many
 * it has. The rest waits at the sender. session.lock held unless noted.
 */
#ifndef CORE_SESSION_NOTE_FLOW_H
#define CORE_SESSION_NOTE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/session/session.h"

#define NOTES_AHEAD 64u
#define NOTES_WAIT  (16u << 20) /* bytes that wait at the sender: more is TCPX_ELIMIT */

struct work;

/* Sends a note, or keeps it until it may go. -ENOMEM, TCPX_ELIMIT. */
int tcpx_notes_send(struct session *s, const void *data, size_t len);
/* May one more go now? Those that wait go first. */
bool tcpx_notes_may_go(const struct session *s);
/* Sends what waits and may go. */
void tcpx_notes_flush(struct session *s);
/* Those that wait go on with @to, which is open. Both locks held. */
void tcpx_notes_move(struct session *s, struct session *to);
/* NOTE has come. 0, -ENOMEM, TCPX_EPROTO: more than it may. */
int tcpx_notes_arrived(struct session *s, const void *data, size_t len);
/* NOTED has come. TCPX_EPROTO: for notes that were never sent. */
int tcpx_notes_told(struct session *s, uint64_t count);
/* Looks for room for those that found none; again in a while, if there is none. Lease. */
void tcpx_notes_look(struct session *s, uint64_t now_ns);
/* The application has taken some: those that found no room are tried again. Work of loop 0. */
void tcpx_notes_retry(struct work *w, uint64_t now_ns);

#endif
