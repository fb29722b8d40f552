/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an engine can be asked how it is doing: a UNIX socket of its own in a directory that
 * nobody else can write to. Each connection is answered with one text, in a sealed memfd that
 * is passed over it, so that its length never makes the answering side wait. Both ends are here.
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
	int spare;                  /* given up for a moment when no descriptor is left */
	char path[TCPX_STATS_PATH];
};

/*
 * The @i-th directory that TCPX_STATS=auto means for this process, best first:
 * $XDG_RUNTIME_DIR/tcpx, /run/tcpx (root), /tmp/tcpx-UID. False behind the last; "" for one
 * that does not apply here.
 */
bool tcpx_stats_candidate(unsigned i, char dir[TCPX_STATS_PATH]);

/*
 * Makes dir/PID-incarnation.sock, mode 0600, and the directory (0700) if it is not there. It
 * appears only when it listens. Some that dead engines left there are removed: a program that
 * crashes again and again does not fill the directory. Not logged, since it is for the caller to try another directory:
 * -EPERM the directory is not ours or others may write to it, -ENAMETOOLONG, -ENOTDIR, or what
 * the system says. fd is -1 then.
 */
int tcpx_stats_port_open(struct tcpx_stats_port *p, const char *dir, uint64_t incarnation);
/* Removes it. Once more is nothing. */
void tcpx_stats_port_close(struct tcpx_stats_port *p);
/* The next who asks and may: same user, or root. Others are hung up on. The connection, or
 * -EAGAIN. */
int tcpx_stats_port_accept(struct tcpx_stats_port *p);
/* Sends the text and closes the connection. What fails is the asker's loss: nothing is told. */
void tcpx_stats_port_answer(int conn, const char *text, size_t len);

/* ---- the other end ---- */

/* The process id of an entry of such a directory, *draft: that did not listen yet when it got this
 * name; 0: none of ours. */
int64_t tcpx_stats_name(const char *name, bool *draft);

/* Asks; the connection, to be given to tcpx_stats_take(). -ECONNREFUSED: nobody listens there
 * any more. Not logged. */
int tcpx_stats_ask(const char *path);
/*
 * The answer, waited for until timeout_ms from now, as text (free()). Closes conn. The answerer
 * is not trusted: -EPROTO for anything but a sealed memfd of at most 64 MiB; -ETIMEDOUT;
 * -EACCES it hung up, which a port does to other users. Not logged.
 */
int tcpx_stats_take(int conn, int timeout_ms, char **text, size_t *len);

#endif
