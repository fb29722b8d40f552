/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the formatters of frames and blobs. Private to proto/. */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include "proto/frame.h"

/* Ends a parser: 0 when all bytes were there and none is left over, else TCPX_EPROTO. */
int tcpx_wire_end(const struct tcpx_buf *b);

/* Appends the string in s, an array of cap bytes; one without a NUL is cut. */
void tcpx_wire_put_text(struct tcpx_buf *b, const char *s, size_t cap);
/* Reads text for people: bytes that could garble a log become '?'. */
void tcpx_wire_get_text(struct tcpx_buf *b, char *dst, size_t cap);
/* Reads a name: control characters mark b bad. */
void tcpx_wire_get_name(struct tcpx_buf *b, char *dst, size_t cap);
/* Reads 0 or 1; anything else marks b bad. */
bool tcpx_wire_get_bool(struct tcpx_buf *b);

/* Reads a code: 0 or negative, else b is bad. One that may not travel (unknown here, or -EAGAIN,
 * which would mean "not yet") becomes TCPX_EPROTO. */
int32_t tcpx_wire_get_code(struct tcpx_buf *b);

/* One NIC, as HELLO and the endpoint blob carry it. */
/* Address and port; family 0: none. */
void tcpx_wire_put_place(struct tcpx_buf *b, const struct tcpx_addr *a);
void tcpx_wire_get_place(struct tcpx_buf *b, struct tcpx_addr *a);
void tcpx_wire_put_nic(struct tcpx_buf *b, const struct tcpx_hello_nic *n);
void tcpx_wire_get_nic(struct tcpx_buf *b, struct tcpx_hello_nic *n);

#endif
