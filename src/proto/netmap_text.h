/* SPDX-License-Identifier: Apache-2.0 */
/* Private to netmap*.c: adds a line to the reasons. */
#ifndef PROTO_NETMAP_TEXT_H
#define PROTO_NETMAP_TEXT_H

#include "proto/netmap.h"

void tcpx_netmap_say(struct tcpx_netmap_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
