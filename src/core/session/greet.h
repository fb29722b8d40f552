/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first frame of a pending connection, of a peer that has proved the secret if there is one: HELLO
 * makes a new session of it, RESUME resumes an old one. Lease of loop 0.
 */
#ifndef CORE_SESSION_GREET_H
#define CORE_SESSION_GREET_H

#include <stdint.h>

#include "core/session/pending.h"
#include "proto/frame.h"

/* Decides what becomes of it; or keeps it, with its HELLO, to be judged again later. */
void tcpx_greet_hello(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns);
/* A frame of any type. */
void tcpx_greet_first(struct pending_conn *g, const struct tcpx_frame_head *head,
		      const uint8_t *payload, uint64_t now_ns);

#endif
