/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire of the rendezvous: JSON objects, one a line, over TCP. Small and rare: no
 * measured data passes here.
 */
#ifndef MEASURE_MESH_LINE_H
#define MEASURE_MESH_LINE_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

enum { MESH_LINE_MAX = 16 << 20 };

/* Received bytes that are not yet a whole line; zeroed at first. */
struct mesh_line {
	char *text; /* owned */
	size_t len, room;
};

/* Reads available bytes. 0; -EPIPE: the other side has closed; TCPX_EBLOB: a line
 * too long; -errno. */
TCPX_MUST_CHECK int mesh_line_fill(struct mesh_line *in, int fd);
/* The next whole line as an object, a new reference. -EAGAIN: none yet; TCPX_EBLOB
 * (logged): not a JSON object. */
TCPX_MUST_CHECK int mesh_line_take(struct mesh_line *in, json_t **msg);
void mesh_line_fini(struct mesh_line *in);
/* Sends @msg, whose reference it takes, with member "t" = @type. Waits for room up to the
 * socket's own timeout. */
TCPX_MUST_CHECK int mesh_line_send(int fd, const char *type, json_t *msg);

/* Listens on @port of every address of @host's family. Logged. */
TCPX_MUST_CHECK int mesh_listen(const char *host, uint16_t port, int *fd);
/* Connects, retrying until @timeout_ms have passed. Logged. */
TCPX_MUST_CHECK int mesh_connect(const char *host, uint16_t port, uint64_t timeout_ms, int *fd);

#endif
