/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs of each NIC: those on which I/O threads serve it. For opening and closing an engine. */
#ifndef CORE_ENGINE_BINDINGS_H
#define CORE_ENGINE_BINDINGS_H

struct tcpx_engine;

/* Fills nics.bind, once the NICs are known: from settings or a plan, by TCPX_BIND. TCPX_ECONFIG
 * (logged), -ENOMEM. */
int tcpx_bind_open(struct tcpx_engine *e);
void tcpx_bind_close(struct tcpx_engine *e);

#endif
