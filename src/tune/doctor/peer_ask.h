/* SPDX-License-Identifier: Apache-2.0 */
/* A question to `tcpx serve` on a connection (tool/reach.h), and its answer. */
#ifndef TUNE_DOCTOR_PEER_ASK_H
#define TUNE_DOCTOR_PEER_ASK_H

#include <stdbool.h>

#include "tool/reach.h"

struct peer_ask {
	uint64_t token;
	uint16_t port;  /* for the way back; 0: none             */
	uint32_t bytes; /* of the question; or it alone          */
	uint32_t piece; /* in one packet                         */
	uint32_t want;  /* bytes behind the answer               */
};

/* False: it could not be sent in time. */
bool peer_ask_send(int fd, const struct peer_ask *ask, uint64_t end_ns);
/* False: the answer, or a byte behind it, is not here in time. */
bool peer_ask_hear(int fd, const struct peer_ask *ask, struct reach_answer *out, uint64_t end_ns);
/* The time in @ms from now. */
uint64_t peer_ask_end(unsigned ms);

#endif
