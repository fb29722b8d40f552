/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes on the wire. parse returns true if some version of this library wrote them. */
#ifndef NET_SOCK_WIRE_H
#define NET_SOCK_WIRE_H

#include "net/net.h"

#define TCPX_SOCK_HEAD_BYTES     40
#define TCPX_SOCK_TAIL_BYTES     8
#define TCPX_SOCK_ACK_BYTES      16
#define TCPX_SOCK_PREAMBLE_BYTES 40
#define TCPX_SOCK_ANSWER_BYTES   4

void tcpx_sock_head_format(const struct tcpx_head *h, uint8_t out[TCPX_SOCK_HEAD_BYTES]);
bool tcpx_sock_head_parse(const uint8_t in[TCPX_SOCK_HEAD_BYTES], struct tcpx_head *h);
/* Of the message with that header. */
void tcpx_sock_tail_format(const struct tcpx_head *h, bool abandoned,
			   uint8_t out[TCPX_SOCK_TAIL_BYTES]);
bool tcpx_sock_tail_parse(const uint8_t in[TCPX_SOCK_TAIL_BYTES], const struct tcpx_head *h,
			  bool *abandoned, uint32_t *sum);
/* Summed, as the messages that it is for; then they lie less than 4 billion apart. */
void tcpx_sock_ack_format(const struct tcpx_ack *ack, bool summed, uint8_t out[TCPX_SOCK_ACK_BYTES]);
bool tcpx_sock_ack_parse(const uint8_t in[TCPX_SOCK_ACK_BYTES], bool summed, struct tcpx_ack *ack);
void tcpx_sock_preamble_format(const struct tcpx_chan_id *id,
			       uint8_t out[TCPX_SOCK_PREAMBLE_BYTES]);
bool tcpx_sock_preamble_parse(const uint8_t in[TCPX_SOCK_PREAMBLE_BYTES],
			      struct tcpx_chan_id *id);
/* Whether the first got bytes can still become a preamble. */
bool tcpx_sock_preamble_begins(const uint8_t *in, size_t got);
void tcpx_sock_handle_format(const struct tcpx_addr *addr, const struct tcpx_chan_id *id,
			     uint8_t out[TCPX_HANDLE_BYTES]);
bool tcpx_sock_handle_parse(const uint8_t in[TCPX_HANDLE_BYTES], struct tcpx_addr *addr,
			    struct tcpx_chan_id *id);
extern const uint8_t tcpx_sock_answer[TCPX_SOCK_ANSWER_BYTES];
/* Everything but the token is equal. */
bool tcpx_sock_id_same(const struct tcpx_chan_id *a, const struct tcpx_chan_id *b);

#endif
