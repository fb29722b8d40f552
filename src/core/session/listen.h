/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of an engine. */
#ifndef CORE_SESSION_LISTEN_H
#define CORE_SESSION_LISTEN_H

#include <stdint.h>

struct tcpx_engine;
struct listening;

/* Opens them. @text: "PORT" for the control NIC and all others, "ADDR:PORT", "off"; NULL: by the
 * settings. */
int tcpx_listen_open(struct tcpx_engine *e, const char *text);
/* Does not look at it for a while: connections that nobody can take now would make it ready in
 * every turn. Lease of loop 0. */
void tcpx_listen_rest(struct listening *at, uint64_t rest_ns, uint64_t now_ns);
/* Looks again at those that have rested. */
void tcpx_listen_rested(struct tcpx_engine *e, uint64_t now_ns);

#endif
