/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rendezvous's wire: JSON objects, a line each, over TCP. Small and rare: no data of a
 * measurement goes here.
 */
#ifndef TOOL_MESH_LINE_H
#define TOOL_MESH_LINE_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

enum { MESH_LINE_MAX = 16 << 20 };

/* What has come on a connection and is no whole line yet; zeroed at first. */
struct mesh_line {
	char *text; /* owned */
	size_t len, room;
};

/* Reads what is there. 0; -EPIPE: the other side has closed; TCPX_EBLOB: a line that is too
 * long; -errno. */
TCPX_MUST_CHECK int mesh_line_fill(struct mesh_line *in, int fd);
/* Takes the next whole line as an object, a new reference. -EAGAIN: there is none yet;
 * TCPX_EBLOB (logged): not a JSON object. */
TCPX_MUST_CHECK int mesh_line_take(struct mesh_line *in, json_t **msg);
void mesh_line_fini(struct mesh_line *in);
/* Sends @msg, whose reference it takes, with member "t" = @type; waits for room as long as
 * the socket's own timeout says. */
TCPX_MUST_CHECK int mesh_line_send(int fd, const char *type, json_t *msg);

/* Listens on @port of every address of @host's family. Logged. */
TCPX_MUST_CHECK int mesh_listen(const char *host, uint16_t port, int *fd);
/* Connects, again and again until @timeout_ms have passed. Logged. */
TCPX_MUST_CHECK int mesh_connect(const char *host, uint16_t port, uint64_t timeout_ms, int *fd);

#endif
