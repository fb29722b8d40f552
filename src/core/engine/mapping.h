/* SPDX-License-Identifier: Apache-2.0 */
/* The usable NICs of a GPU. */
#ifndef CORE_ENGINE_MAPPING_H
#define CORE_ENGINE_MAPPING_H

struct tcpx_engine;

/* Of comms: which NICs the engine's GPU can use, and through which GPU. */
int tcpx_engine_map(struct tcpx_engine *e);

#endif
