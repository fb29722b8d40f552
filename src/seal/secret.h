/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that engines share, as keys of the handshake. */
#ifndef SEAL_SECRET_H
#define SEAL_SECRET_H

#include "seal/seal.h"

/* Openers use the first key, acceptors take all: so a secret is exchanged while engines run. */
struct tcpx_secret {
	const struct tcpx_seal_ops *ops;
	struct tcpx_seal_lib *lib;
	struct tcpx_seal_psk psk[2];
	uint32_t count;
};

/* Reads @files, TCPX_SECRET_FILE: "PATH" or "PATH,PATH2"; loads OpenSSL. TCPX_ECONFIG or the
 * system's error (logged); -ENOMEM. */
int tcpx_secret_open(const char *files, struct tcpx_secret **out);
/* Wipes. NULL allowed. */
void tcpx_secret_close(struct tcpx_secret *s);

#endif
