/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body of seal/seal.h without cryptography, for the simulator and for harnesses: the same states
 * and the same lengths as TLS, but repeatable. It finds wrong keys, and lost, altered, repeated and
 * foreign records, as long as nobody tries. It hides nothing.
 */
#ifndef FAKE_PLAIN_SEAL_H
#define FAKE_PLAIN_SEAL_H

#include "seal/seal.h"

/* Bytes of the handshake's flights, as TLS's: hello without its identity, answer, proof. */
enum { PLAIN_SEAL_HELLO = 214, PLAIN_SEAL_ANSWER = 187, PLAIN_SEAL_PROOF = 58 };

extern const struct tcpx_seal_ops tcpx_seal_plain_ops;

/* The connections' random numbers follow from @seed and their order. NULL without memory. */
struct tcpx_seal_lib *plain_seal_open(uint64_t seed);
void plain_seal_close(struct tcpx_seal_lib *lib);

#endif
