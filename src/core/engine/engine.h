/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an engine on a given network, device, clock and NICs, for tests and simulation;
 * tcpx_open() passes none. With manual set there are no threads: see step.h.
 */
#ifndef CORE_ENGINE_ENGINE_H
#define CORE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/context/context.h"

/* The arguments of tcpx_engine_open() beyond the public options. */
struct engine_env {
	struct tcpx_clock clock;
	const struct tcpx_net_ops *net;
	void *fabric; /* of net: a test's network */
	const struct tcpx_device_ops *device;
	void *device_arg;
	const struct tcpx_device_ops *gpu; /* NULL: the driver */
	void *gpu_arg;
	bool manual; /* no threads: tcpx_engine_step() drives */
	const struct tcpx_nic *nics;
	uint32_t nic_count;
	const struct tcpx_secret *secret; /* borrowed; NULL: TCPX_SECRET_FILE */
};

/* Opens an engine; tcpx_close() ends it. env NULL: the real network, devices, clock and NICs. */
int tcpx_engine_open(const struct tcpx_engine_opts *opts, const struct engine_env *env,
		     struct tcpx_engine **out);

#endif
