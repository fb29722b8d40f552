/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that leave on the control stream. lock held unless noted. */
#ifndef CORE_SESSION_CONTROL_H
#define CORE_SESSION_CONTROL_H

#include <stdint.h>

#include "core/session/identity.h"
#include "core/session/session.h"

#define CONTROL_RETRY_NS (20 * TCPX_MS) /* between attempts to connect */
#define CONTROL_ATTEMPT_NS (1000 * TCPX_MS) /* for one attempt on one address */

int tcpx_control_put(struct session *s, uint8_t type, const struct tcpx_buf *b);
int tcpx_control_put_bulk(struct session *s, uint8_t type, const struct tcpx_buf *b,
			  uint64_t *ticket);
int tcpx_control_put_raw(struct session *s, uint8_t type, const struct tcpx_buf *b);
/* A frame that the peer waits for. If it does not fit, the session fails, and with it what waits. */
void tcpx_control_say(struct session *s, uint8_t type, const struct tcpx_buf *b);
void tcpx_control_say_u64(struct session *s, uint8_t type, uint64_t v);
/* Ends what tcpx_ctrl_begin() began. */
void tcpx_control_commit(struct session *s, uint8_t type, size_t len);
void tcpx_control_watch(struct session *s, unsigned interest);
void tcpx_control_flush(struct session *s);
/* Has a flush anything to do? */
bool tcpx_control_owes(const struct session *s);
/* Transfers wait for memory for their frames: looks soon, and when frames have gone. */
void tcpx_control_wants_room(struct session *s, uint64_t now_ns);
/* Flushes before the session's loop sleeps. Its lease is held. */
void tcpx_control_flush_later(struct session *s);
/* Flushes with the next call that tests a message, or the next turn: many posts share a write. For a loop
 * that is lent, and whose lease the caller need not have. */
void tcpx_control_flush_by_test(struct session *s);
/* A flush that is owed takes place now. lock not held. */
void tcpx_control_flush_owed(struct session *s);
/* Asks the session's loop for a flush. Any thread, with or without the lock. */
void tcpx_control_flush_by_loop(struct session *s);
void tcpx_control_flush_work(struct work *w, uint64_t now_ns);
/* Messages that waited for room in the stream may go, if there is some. */
void tcpx_control_serve_lanes(struct session *s);
void tcpx_control_cut(struct session *s, uint64_t now_ns, const char *why);
/* Is a lost connection replaced by RESUME? An opener that waits for READY may have an acceptor that
 * has the session open, and uses it: another session would lose that. */
bool tcpx_control_resumes(const struct session *s);
/* An engine with many guests may close a connection in a handshake, as does one that restarts, or
 * a firewall: after a cut the opener begins again, for as long as it would wait for a connection; after one
 * amid the proof of the secret a few times. */
bool tcpx_control_may_begin_again(const struct session *s, uint64_t now_ns);
/* ... and a firewall may reset the channels alone. But where no channel ever connects an error should
 * say so soon: a few attempts. */
bool tcpx_control_may_wire_again(const struct session *s, uint64_t now_ns);
/* Opener, before READY: begins again. */
void tcpx_control_start_over(struct session *s, uint64_t now_ns, const char *why);
/* Opener, before READY: hangs up, and begins again when nobody else serves the peer. */
void tcpx_control_stand_back(struct session *s, uint64_t now_ns, const char *why);

/* Opener: the address that it has connected to. */
struct tcpx_addr tcpx_control_dialled(const struct session *s);
/* This side, and the peer of the session. */
struct tcpx_identity tcpx_control_identity(const struct session *s);
/* Opener, before HELLO: what was connected to is no engine. @why goes on with the sentence. */
void tcpx_control_stranger(struct session *s, int code, const char *why);

/* Before loop 0 sleeps: flushes what tcpx_control_flush_later() deferred. Its
 * lease held, no lock. */
void tcpx_control_flush_all(struct tcpx_engine *e);

#endif
