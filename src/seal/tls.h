/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 (RFC 8446) with an external pre-shared key and (EC)DHE, by OpenSSL over memory. The
 * engines' room of seal/seal.h; its tcpx_seal_lib comes from tcpx_tls_lib_open().
 *
 * A record of n bytes takes n + 22 on the connection. After 2^22 records the sender changes its key.
 */
#ifndef SEAL_TLS_H
#define SEAL_TLS_H

#include "seal/seal.h"

extern const struct tcpx_seal_ops tcpx_seal_tls_ops;

#endif
