/* SPDX-License-Identifier: Apache-2.0 */
/* TCPX_ADVERTISE: where peers reach the NICs behind an address translation. */
#ifndef CORE_ENGINE_ADVERTISE_H
#define CORE_ENGINE_ADVERTISE_H

struct tcpx_engine;

/* Reads the setting for the engine's NICs. TCPX_ECONFIG, logged. */
int tcpx_engine_advertise(struct tcpx_engine *e);

#endif
