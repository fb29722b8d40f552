/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the self-tests share: two engines of this process that know each other, and points
 * that are checked, each a line.
 */
#ifndef COMPAT_PAIR_H
#define COMPAT_PAIR_H

#include <stdbool.h>
#include <stdio.h>
#include <tcpx/tcpx.h>

enum { EXIT_FINDING = 1, EXIT_USAGE = 2 };

struct pair {
	tcpx_engine *server, *client;
	tcpx_peer *to_server, *to_client;
	unsigned failed, checked;
	const char *tag;
};

/* The settings of both, NULL-terminated, e.g. "TCPX_CHANNELS=4". 0 or a code, printed. They
 * talk by sockets, whatever provider the environment names: nothing is measured. */
int pair_open(struct pair *p, const char *const *server, const char *const *client);
/* The session is there; tcpx_peer_find() on the server's side. */
int pair_meet(struct pair *p);
void pair_close(struct pair *p);
/* "[tag] ok: what" or "[tag] FAILED: what". Returns @good. */
bool pair_check(struct pair *p, bool good, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The last line, "[tag] PASSED (n checks)"; what main() returns. */
int pair_end(struct pair *p);
/* The self-tests take no words but --help; 0 go on, -1 help, else EXIT_USAGE. */
int pair_args(int argc, char **argv, const char *about);

#endif
