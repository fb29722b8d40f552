/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `tcpx doctor` and `tcpx serve` try each other's ports. The doctor asks in a session (message
 * "reach" with a token); the server answers with a port ("reach_at"). Each connection to it carries
 * one question, and one byte comes back: could the server connect to that port of the address that
 * the connection is from? So nobody can have other machines tried.
 */
#ifndef TOOL_REACH_H
#define TOOL_REACH_H

#include <stdint.h>

enum {
	REACH_TRY_MS = 2000,     /* for a connection                        */
	REACH_SERVE_MS = 20000,  /* the server's port is open for this long */
	REACH_PORT_MIN = 1024,   /* least port that may be asked for        */
	REACH_OPEN = 'o',
	REACH_REFUSED = 'r',
	REACH_SILENT = 's',
	REACH_FAILED = 'f'       /* no route, and the like                  */
};

struct reach_question {
	uint64_t token; /* big-endian, as the port */
	uint16_t port;
} __attribute__((packed));

#endif
