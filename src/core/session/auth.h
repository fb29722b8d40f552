/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that both sides share, and proofs of knowing it. core/engine opens and closes it;
 * engine.auth is NULL without a secret. */
#ifndef CORE_SESSION_AUTH_H
#define CORE_SESSION_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct auth;

/* Reads the secret and loads libsodium. TCPX_ECONFIG or the system's error (logged); -ENOMEM. */
int tcpx_auth_open(const char *secret_file, struct auth **out);
void tcpx_auth_close(struct auth *a);
/* Writes the keyed hash of @data to @mac. Any thread. */
void tcpx_auth_mac(const struct auth *a, const void *data, size_t len, uint8_t mac[32]);

#endif
