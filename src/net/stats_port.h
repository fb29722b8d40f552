/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stats socket of an engine: a UNIX socket in a directory that no other user can write to.
 * Each connection gets one text, in a sealed memfd that is passed over it, so the answering side
 * never waits, however long the text is. Both ends are here: an engine answers, the tool asks.
 */
#ifndef NET_STATS_PORT_H
#define NET_STATS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCPX_STATS_PATH 108 /* sun_path: the longest path of a socket, with its NUL */

/* ---- the engine's end ---- */

struct tcpx_stats_port {
	int fd;                     /* listens, does not block; -1: not open */
	int spare;                  /* descriptor in reserve: closed to accept when none is left */
	char path[TCPX_STATS_PATH];
};

/*
 * The @i-th directory of TCPX_STATS=auto for this process, best first: $XDG_RUNTIME_DIR/tcpx,
 * /run/tcpx (root), /tmp/tcpx-UID. False after the last; "" for one that does not apply here.
 */
bool tcpx_stats_candidate(unsigned i, char dir[TCPX_STATS_PATH]);

/*
 * Makes dir/PID-incarnation.sock, mode 0600, and the directory (0700) if it is missing. The
 * socket appears when it is listening. Some sockets of dead engines are removed, so that a
 * program that crashes again and again does not fill the directory. Failures are not logged,
 * since the caller may try another directory: -EPERM: the directory is another user's, or
 * others may write to it; -ENAMETOOLONG; -ENOTDIR; or the system's error. fd is -1 then.
 */
int tcpx_stats_port_open(struct tcpx_stats_port *p, const char *dir, uint64_t incarnation);
/* Closes and removes the socket. A second call does nothing. */
void tcpx_stats_port_close(struct tcpx_stats_port *p);
/* The next connection of the same user or of root, or -EAGAIN. Connections of others are
 * closed. */
int tcpx_stats_port_accept(struct tcpx_stats_port *p);
/* Sends the text and closes the connection. A failure is not reported: the client sees it. */
void tcpx_stats_port_answer(int conn, const char *text, size_t len);

/* ---- the other end ---- */

/* The process id in the name of a directory entry; 0: no stats socket. *draft: the socket was
 * not listening yet when it got this name. */
int64_t tcpx_stats_name(const char *name, bool *draft);

/* Connects; the result goes to tcpx_stats_take(). -ECONNREFUSED: the engine is dead. Not
 * logged. */
int tcpx_stats_ask(const char *path);
/*
 * The answer as text (free()), within timeout_ms. Closes conn. The other side is not trusted:
 * -EPROTO for anything but a sealed memfd of at most 64 MiB. -ETIMEDOUT. -EACCES: it closed the
 * connection, which a port does to other users. Not logged.
 */
int tcpx_stats_take(int conn, int timeout_ms, char **text, size_t *len);

#endif
