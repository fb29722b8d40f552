/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of the GPU data path: engines with scripted GPUs
 * (fake/slow_device.h), on a scripted network, under virtual time. No threads; time moves
 * only when no engine has work left.
 */
#ifndef UNIT_CORE_GPU_RIG_H
#define UNIT_CORE_GPU_RIG_H

#include "rig.h"

#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "fake/slow_device.h"
#include "fabric/loop.h"

#define GPU_ENGINES 3
#define GPU_AREAS   8
#define HOST        TCPX_ON_HOST

/* Registered memory of engine side[owner], and its name at every other engine. */
struct area {
	uint8_t *at;
	size_t len;
	int owner;
	uint64_t id, far[GPU_ENGINES];
};

struct side {
	tcpx_engine *e;
	struct tcpx_nic nic[2];
	struct tcpx_slow_device gpu;
	tcpx_peer *to[GPU_ENGINES];
};

struct gpu_rig {
	struct tcpx_fabric *fabric;
	uint64_t tick_ns, looks; /* each look at the clock takes so long (0) */
	const struct tcpx_net_ops *net;
	struct tcpx_device_ops ops; /* the slow device, to be changed by a test */
	struct side side[GPU_ENGINES];
	uint32_t count;
	struct area area[GPU_AREAS];
	uint32_t areas;
	char said[512]; /* newest line of the log at WARN or worse */
};

/* Opens count engines that know each other, with two channels a pair and no inlining unless
 * the settings (to NULL) say otherwise. A copy takes 50 to 200 us. */
void gpu_begin(struct gpu_rig *r, const struct tcpx_net_ops *net, uint32_t count,
	       const struct tcpx_fabric_script *script, const char *const *settings);
/* Closes what is open. Neither device nor network may have anything to complain about. */
void gpu_end(struct gpu_rig *r);
void gpu_close(struct gpu_rig *r, uint32_t side);
/* Memory filled with pattern seed. */
struct area *gpu_area(struct gpu_rig *r, int owner, int place, size_t len, uint32_t seed);
/* One turn of every engine; time moves when nothing has happened for a while. */
void gpu_turn(struct gpu_rig *r);
void gpu_turns(struct gpu_rig *r, uint32_t n);
/* Turns until so much time has passed. */
void gpu_pass(struct gpu_rig *r, uint64_t ns);
/* Turns until the transfer has ended. */
int gpu_wait(struct gpu_rig *r, tcpx_xfer *x);
int gpu_finish(struct gpu_rig *r, tcpx_xfer *x); /* and frees it */
uint64_t gpu_now(const struct gpu_rig *r);
/* All of a local area to all of a remote one, or back. */
tcpx_xfer *gpu_post(struct gpu_rig *r, enum tcpx_op op, const struct area *near,
		    const struct area *far, uint64_t len);

#endif
