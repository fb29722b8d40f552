/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer's end. session.lock held; a receive that waits for its send has no session yet. */
#ifndef CORE_TRANSFER_END_H
#define CORE_TRANSFER_END_H

#include "core/transfer/transfer.h"

/* Ends it, once: no byte of its memory is touched afterwards. First cause wins. */
void tcpx_xfer_end(struct tcpx_xfer *x, int code, const char *text);

/* The session has failed: everything on it ends. */
void tcpx_xfers_end(struct session *s);

#endif
