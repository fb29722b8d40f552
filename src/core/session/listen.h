/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of an engine. */
#ifndef CORE_SESSION_LISTEN_H
#define CORE_SESSION_LISTEN_H

struct tcpx_engine;

/* Opens them. @text: "PORT" for the control NIC and all others, "ADDR:PORT", "off"; NULL: by the
 * settings. */
int tcpx_listen_open(struct tcpx_engine *e, const char *text);

#endif
