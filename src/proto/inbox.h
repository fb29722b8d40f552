/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a control stream that have come and are not taken yet. Private to proto/ctrl. */
#ifndef PROTO_INBOX_H
#define PROTO_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcpx_inbox {
	uint8_t *data;   /* owned                                  */
	uint8_t *wider;  /* owned: takes its place; NULL: none     */
	size_t begin, end, cap;
};

/* 0 or -ENOMEM. */
int tcpx_inbox_init(struct tcpx_inbox *in);
void tcpx_inbox_fini(struct tcpx_inbox *in);
/* From the next room() on it holds the longest frame there is. What is borrowed now stays. 0 or -ENOMEM. */
int tcpx_inbox_widen(struct tcpx_inbox *in);
bool tcpx_inbox_is_wide(const struct tcpx_inbox *in);
/* Space for more, at least 1 unless complete frames wait. */
size_t tcpx_inbox_room(struct tcpx_inbox *in, uint8_t **data);
size_t tcpx_inbox_memory(const struct tcpx_inbox *in);

#endif
