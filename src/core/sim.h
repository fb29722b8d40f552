/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine under a test clock: everything the public calls hide. With manual set there
 * are no threads; one call of tcpx_engine_step() is one turn of every loop.
 */
#ifndef CORE_SIM_H
#define CORE_SIM_H

#include "core/core.h"

/* Opens an engine on the given network, device, clock and NICs. */
int tcpx_engine_open(const struct tcpx_engine_opts *opts, const struct engine_env *env,
		     struct tcpx_engine **out);
/* One turn of each loop, no waiting. */
void tcpx_engine_step(struct tcpx_engine *e);
/* The earliest deadline of any loop; UINT64_MAX: none. */
uint64_t tcpx_engine_timer(struct tcpx_engine *e);

#endif
