/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider of an engine, and its memory: slots in host memory or a GPU's, since net/
 * and device/ do not know each other.
 */
#include "core/engine/provider.h"

#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/engine/engine.h"
#include "core/engine/mapping.h"
#include "core/engine/options.h"
#include "core/memory/gpu.h"
#include "core/memory/memory.h"
#include "core/session/gate.h"
#include "core/session/timer.h"
#include "net/registry.h"

/* A provider that cannot notice a broken connection gives it up after this part of the
 * stall deadline in silence. The rest is for sending its chunks by other channels. */
#define SILENCE 3

/* ---- memory for slots ---- */

static int
get(void *arg, int gpu, size_t size, void **mem)
{
	struct tcpx_engine *e = arg;
	int rc;

	if (gpu == TCPX_ON_HOST)
		return e->memory->host_ops->pinned(e->memory->host, size, mem);
	rc = tcpx_gpu_ready(e, gpu);
	return rc ? rc : e->memory->gpus.ops->alloc(e->memory->gpus.dev, gpu, size, mem);
}

static void
put(void *arg, int gpu, void *mem)
{
	struct tcpx_engine *e = arg;

	if (gpu == TCPX_ON_HOST)
		e->memory->host_ops->unpin(e->memory->host, mem);
	else
		e->memory->gpus.ops->free(e->memory->gpus.dev, gpu, mem);
}

static int
enter(void *arg, int gpu)
{
	struct tcpx_engine *e = arg;
	int rc;

	if (gpu == TCPX_ON_HOST)
		return 0;
	rc = tcpx_gpu_ready(e, gpu);
	return rc ? rc : e->memory->gpus.ops->enter(e->memory->gpus.dev, gpu);
}

static void
leave(void *arg, int gpu)
{
	struct tcpx_engine *e = arg;

	if (gpu != TCPX_ON_HOST)
		e->memory->gpus.ops->leave(e->memory->gpus.dev, gpu);
}

static int
read_it(void *arg, int gpu, void *dst, const void *src, size_t len)
{
	struct tcpx_engine *e = arg;

	if (gpu == TCPX_ON_HOST) {
		memcpy(dst, src, len);
		return 0;
	}
	return e->memory->gpus.ops->read(e->memory->gpus.dev, gpu, dst, (uintptr_t)src, len);
}

/* ---- choosing ---- */

int
tcpx_engine_provider(struct tcpx_engine *e, const struct engine_env *env)
{
	const char *name = tcpx_net_name(tcpx_cfg_str(e->cfg, TCPX_SET_PROVIDER),
					 tcpx_cfg_str(e->cfg, TCPX_SET_PLUGIN_PATH));

	e->ops = env ? env->net : tcpx_net_find(name);
	if (!e->ops)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "no provider named %s", name);
	return tcpx_engine_limits(e);
}

/* The provider logs it if it allows less than was set. */
static void
allow(struct tcpx_engine *e)
{
	struct limits *l = &e->limit;
	const struct tcpx_net_facts *f = &e->facts;

	if (l->chunk > f->chunk_max)
		l->chunk = f->chunk_max;
	if (l->chunk_max > f->chunk_max)
		l->chunk_max = f->chunk_max;
	if (f->slots_max && l->window > f->slots_max)
		l->window = f->slots_max;
}

static int
open_net(struct tcpx_engine *e, const struct engine_env *env)
{
	uint64_t ports = tcpx_cfg_num(e->cfg, TCPX_SET_PORTS);
	struct tcpx_net_params params = { .nics = e->nics.at, .nic_count = e->nics.count,
					  .port_first = (uint16_t)(ports >> 16),
					  .port_last = (uint16_t)ports,
					  .clock = &e->clock,
					  .fabric = env ? env->fabric : NULL,
					  .lend = e->limit.lend, .memory = &e->memory->for_provider,
					  .gate = { e, tcpx_gate_admits, tcpx_session_arrived },
					  .congestion = tcpx_cfg_str(e->cfg, TCPX_SET_CONGESTION),
					  .plugin = tcpx_cfg_str(e->cfg, TCPX_SET_PLUGIN_PATH),
					  .chunk = e->limit.chunk, .window = e->limit.window,
					  .deadline_ns = e->limit.stall_ns / SILENCE };
	int rc = e->ops->open(&params, &e->net, &e->facts);

	if (rc == 0)
		allow(e);
	return rc;
}

int
tcpx_engine_net(struct tcpx_engine *e, const struct engine_env *env)
{
	int rc;

	e->memory->for_provider = (struct tcpx_net_memory){
		.arg = e, .get = get, .put = put, .enter = enter, .leave = leave, .read = read_it
	};
	rc = env ? 0 : tcpx_engine_map(e);
	return rc ? rc : open_net(e, env);
}
