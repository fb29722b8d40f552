/* SPDX-License-Identifier: Apache-2.0 */
/* Resuming a cut control stream over a new connection. Lease of loop 0 held. */
#ifndef CORE_SESSION_RESUME_H
#define CORE_SESSION_RESUME_H

#include <stdint.h>

#include "core/session/session.h"

/* Opener, connection up: sends RESUME. session.lock held. */
int tcpx_resume_ask(struct session *s);
/* Opener: RESUMED has come; repeats the frames that the peer lacks. TCPX_EPROTO, TCPX_EAUTH: not a
 * valid answer. session.lock held. */
int tcpx_resume_answered(struct session *s, struct tcpx_buf *b);
/* Acceptor: a new connection begins with RESUME @r. 0: its stream belongs to the session now. Else
 * the caller keeps it: TCPX_EPEERGONE: no such session; TCPX_EAUTH; or another code. Takes
 * session.lock. */
int tcpx_resume_accept(struct tcpx_engine *e, const struct tcpx_resume *r,
		       struct tcpx_stream *stream, uint64_t now_ns);

#endif
