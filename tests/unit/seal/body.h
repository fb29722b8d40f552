/* SPDX-License-Identifier: Apache-2.0 */
/* The body that body_test.c is compiled with: one file of this header for each. */
#ifndef UNIT_SEAL_BODY_H
#define UNIT_SEAL_BODY_H

#include "seal/seal.h"

/* Bytes of the handshake's flights with an identity of 16 bytes. */
enum { BODY_FLIGHT_0 = 230, BODY_FLIGHT_1 = 187, BODY_FLIGHT_2 = 58 };

/* NULL: what it stands on is not on this machine. */
const struct tcpx_seal_ops *body_open(struct tcpx_seal_lib **lib);
void body_close(struct tcpx_seal_lib *lib);
/* May this byte of a flight be any? */
bool body_ignores(unsigned flight, size_t at);

#endif
