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
/* Acceptor: a new connection begins with RESUME @r. 0: @line belongs to the session now. Else
 * the caller keeps it: TCPX_ESTALLED: the session has ended here; TCPX_EPEERGONE: an earlier
 * incarnation was meant; TCPX_EAUTH; or another code. Takes session.lock. */
int tcpx_resume_accept(struct tcpx_engine *e, const struct tcpx_resume *r, struct line *line,
		       uint64_t now_ns);
/* Acceptor, with a secret: the key that resumes session @id. For a session that is not known it is
 * a random one: so a stranger does not learn which are. */
int tcpx_resume_key(struct tcpx_engine *e, uint64_t id, struct tcpx_seal_psk *key);
/* The code that answers a TCPX_START_ASK that reached @at, proven if there is a secret: as of
 * tcpx_identity_ask(); TCPX_EAUTH also if the session is open here, so that it can be resumed: by
 * us, if we have opened it, and had not noticed the cut. Takes session.lock. */
int tcpx_resume_known(struct tcpx_engine *e, const struct tcpx_resume *r,
		      const struct tcpx_addr *at, uint64_t now_ns);

#endif
