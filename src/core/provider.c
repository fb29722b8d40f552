/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which provider an engine has, and what it gives it: memory for slots, host's or a GPU's,
 * since net/ and device/ do not know each other.
 */
#include <errno.h>
#include <string.h>

#include "core/core.h"

/* A provider that cannot hear a connection break gives it up when this part of the stall deadline
 * has passed in silence: the rest is for sending its chunks again by other channels. */
#define SILENCE 3

#define FALLBACK "sock"

/* ---- memory for slots ---- */

static int
get(void *arg, int gpu, size_t size, void **mem)
{
	struct tcpx_engine *e = arg;
	int rc;

	if (gpu == TCPX_ON_HOST)
		return e->dev_ops->pinned(e->dev, size, mem);
	rc = tcpx_gpu_ready(e, gpu);
	return rc ? rc : e->gpus.ops->alloc(e->gpus.dev, gpu, size, mem);
}

static void
put(void *arg, int gpu, void *mem)
{
	struct tcpx_engine *e = arg;

	if (gpu == TCPX_ON_HOST)
		e->dev_ops->unpin(e->dev, mem);
	else
		e->gpus.ops->free(e->gpus.dev, gpu, mem);
}

static int
enter(void *arg, int gpu)
{
	struct tcpx_engine *e = arg;
	int rc;

	if (gpu == TCPX_ON_HOST)
		return 0;
	rc = tcpx_gpu_ready(e, gpu);
	return rc ? rc : e->gpus.ops->enter(e->gpus.dev, gpu);
}

static void
leave(void *arg, int gpu)
{
	struct tcpx_engine *e = arg;

	if (gpu != TCPX_ON_HOST)
		e->gpus.ops->leave(e->gpus.dev, gpu);
}

static int
read_it(void *arg, int gpu, void *dst, const void *src, size_t len)
{
	struct tcpx_engine *e = arg;

	if (gpu == TCPX_ON_HOST) {
		memcpy(dst, src, len);
		return 0;
	}
	return e->gpus.ops->read(e->gpus.dev, gpu, dst, (uintptr_t)src, len);
}

/* ---- choosing ---- */

static bool
is_auto(const struct tcpx_engine *e)
{
	return strcmp(tcpx_cfg_str(e->cfg, TCPX_SET_PROVIDER), "auto") == 0;
}

int
tcpx_engine_provider(struct tcpx_engine *e, const struct engine_env *env)
{
	const char *name = tcpx_cfg_str(e->cfg, TCPX_SET_PROVIDER);

	if (is_auto(e))
		name = tcpx_cfg_str(e->cfg, TCPX_SET_PLUGIN_PATH)[0] ? "tcpx" : FALLBACK;
	e->ops = env ? env->net : tcpx_net_find(name);
	if (!e->ops)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "no provider named %s", name);
	tcpx_engine_limits(e);
	return 0;
}

/* It has said so where it allows less than was set. */
static void
allow(struct tcpx_engine *e)
{
	struct limits *l = &e->limit;
	uint32_t chunk = e->ops->chunk_max;

	l->slots_max = e->ops->slots_max;
	if (e->ops->limits)
		e->ops->limits(e->net, &chunk, &l->slots_max);
	if (l->chunk > chunk)
		l->chunk = chunk;
	if (l->chunk_max > chunk)
		l->chunk_max = chunk;
	if (l->slots_max && l->window > l->slots_max)
		l->window = l->slots_max;
}

static int
open_net(struct tcpx_engine *e, const struct engine_env *env)
{
	struct tcpx_net_params params = { .nics = e->nic, .nic_count = e->nic_count,
					  .clock = &e->clock,
					  .fabric = env ? env->fabric : NULL,
					  .lend = e->limit.lend, .memory = &e->memory,
					  .plugin = tcpx_cfg_str(e->cfg, TCPX_SET_PLUGIN_PATH),
					  .chunk = e->limit.chunk, .window = e->limit.window,
					  .deadline_ns = e->limit.stall_ns / SILENCE };
	int rc = e->ops->open(&params, &e->net);

	if (rc == 0)
		allow(e);
	return rc;
}

int
tcpx_engine_net(struct tcpx_engine *e, const struct engine_env *env)
{
	const struct tcpx_net_ops *fallback = tcpx_net_find(FALLBACK);
	uint32_t i;
	int rc;

	e->memory = (struct tcpx_net_memory){ .arg = e, .get = get, .put = put, .enter = enter,
					      .leave = leave, .read = read_it };
	rc = env ? 0 : tcpx_engine_map(e);
	if (rc)
		return rc;
	rc = open_net(e, env);
	if (rc == 0 || env || !is_auto(e) || e->ops == fallback)
		return rc;
	tcpx_warn(TCPX_SUB_INIT, "provider %s cannot be had here; using %s: payload crosses the "
		  "host's memory, and the kernel copies it", e->ops->name, fallback->name);
	e->ops = fallback;
	for (i = 0; i < e->nic_count; i++)
		e->nic[i].gpu = TCPX_ON_HOST;
	tcpx_engine_limits(e);
	return open_net(e, env);
}
