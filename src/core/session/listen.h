/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of an engine. */
#ifndef CORE_SESSION_LISTEN_H
#define CORE_SESSION_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct tcpx_engine;
struct listening;

/* Opens them. @text: "PORT" for the control NIC and all others, "ADDR:PORT", "off"; NULL: by the
 * settings. */
int tcpx_listen_open(struct tcpx_engine *e, const char *text);
/* The address by which peers reach the listener that is bound at @bound. */
struct tcpx_addr tcpx_listen_advertised(const struct tcpx_engine *e, const struct tcpx_addr *bound);
/* True: peers reach one of the listeners there. */
bool tcpx_listen_is_advertised(const struct tcpx_engine *e, const struct tcpx_addr *at);
/* Does not look at it for a while: connections that nobody can take now would make it ready in
 * every turn. Lease of loop 0. */
void tcpx_listen_rest(struct listening *at, uint64_t rest_ns, uint64_t now_ns);
/* Looks again at those that have rested. */
void tcpx_listen_rested(struct tcpx_engine *e, uint64_t now_ns);

#endif
