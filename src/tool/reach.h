/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `tcpx doctor` and `tcpx serve` try each other's ways. The doctor asks in a session (message
 * "reach" with a token); the server answers with its NICs and a port at each ("reach_at"). Both use
 * the engine's own sockets. A connection there carries questions one by one; an answer says whether
 * the server could connect to that port of the address that the connection is from. So nobody can
 * have other machines tried.
 */
#ifndef TOOL_REACH_H
#define TOOL_REACH_H

#include <stdint.h>

enum {
	REACH_TRY_MS = 2000,     /* for a connection                          */
	REACH_FULL_MS = 1000,    /* for full-size packets to arrive           */
	REACH_SERVE_MS = 60000,  /* the server's ports are open for this long */
	REACH_CONNS = 64,        /* to the server at the same time            */
	REACH_BYTES = 1 << 18,   /* most that a question brings or asks for   */
	REACH_PIECE = 1 << 16,   /* of those in one call                      */
	REACH_PORT_MIN = 1024,   /* least port that may be asked for          */
	REACH_OPEN = 'o',
	REACH_REFUSED = 'r',
	REACH_SILENT = 's',
	REACH_FAILED = 'f'       /* no route, and the like                    */
};

/* Numbers are big-endian. */
struct reach_question {
	uint64_t token;
	uint32_t fill;  /* bytes that follow it; the answer comes when they are here */
	uint32_t bytes; /* to follow the answer, in one piece                        */
	uint16_t port;  /* for the way back; 0: it is not asked for                  */
} __attribute__((packed));

/* Numbers likewise. */
struct reach_answer {
	char back;     /* REACH_OPEN...; 0: it was not asked for       */
	char to[63];   /* the address and port that were tried for it  */
	uint32_t full; /* bytes of the server's full-size packets here */
	uint32_t mtu;  /* of the server, for the way here              */
} __attribute__((packed));

extern const char reach_fill[REACH_PIECE]; /* for bytes that mean nothing */

/* Bytes of a connection's packets, as this host's kernel has them. */
struct reach_packets {
	uint32_t head; /* headers of each                                */
	uint32_t full; /* a full-size one, with its headers              */
	uint32_t mtu;  /* the greatest that the way is known to take     */
};

/* Untouched where the kernel cannot be asked. */
void reach_packets(int fd, struct reach_packets *out);

#endif
