/* SPDX-License-Identifier: Apache-2.0 */
/* A session of an engine of ours with the tcpx serve at a peer, to ask it for a port. */
#ifndef TUNE_DOCTOR_PEER_SESSION_H
#define TUNE_DOCTOR_PEER_SESSION_H

#include "tcpx/tcpx.h"
#include "tune/doctor/peer_route.h"
#include "tune/info/machine.h"

struct peer_session {
	tcpx_engine *engine;
	tcpx_peer *peer;
	char port_text[128]; /* "10.0.0.2:40001 is silent": why no channel came up; "" no such reason */
};

/* False with a sentence in @why, and perhaps @s->port_text; then it is closed. */
bool peer_session_open(const struct machine *m, const struct peer_addr *to,
		       struct peer_session *s, char *why, size_t cap);
/* The server's NICs, each with a port for connections with this token: a list of objects
 * with "name" and "addr"; NULL with a sentence. */
json_t *peer_session_ask(struct peer_session *s, uint64_t token, char *why, size_t cap);
void peer_session_close(const struct machine *m, struct peer_session *s);

#endif
