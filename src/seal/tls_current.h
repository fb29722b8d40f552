/* SPDX-License-Identifier: Apache-2.0 */
/* The connection whose SSL this thread uses. */
#ifndef SEAL_TLS_CURRENT_H
#define SEAL_TLS_CURRENT_H

#include "seal/tls_lib.h"

/*
 * Around each use of an SSL, in one thread: OpenSSL's callbacks reach @proof (NULL: none), and the
 * thread's queue of errors, which the application may use, too, stays as it was. A handshake of
 * OpenSSL empties it.
 * False: the process is at exit() and has begun to take OpenSSL down. Then nothing may be used.
 */
bool tcpx_tls_enter(const struct tcpx_seal_lib *lib, struct tcpx_tls_proof *proof);
/* That of the callback that runs. */
struct tcpx_tls_proof *tcpx_tls_current(void);
void tcpx_tls_leave(const struct tcpx_seal_lib *lib);

#endif
